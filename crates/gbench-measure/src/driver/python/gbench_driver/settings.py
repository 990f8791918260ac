"""How much to measure: the gate's request, above it what `bench.yaml` says, and above that what the benchmark's own `get_config()` sets.

A config object carries defaults for every field, and most authors set few of them. Only a field that differs from a freshly made
object of the same class was set on purpose; the others must not override the suite file. What the user pinned on the
command line stays.
"""
from .failures import error
from .plain import number, shown

DEADLINES = {
    "setup": "setup_timeout_seconds", "warmup": "warmup_timeout_seconds", "measure": "measurement_timeout_seconds",
}
_UNSET = object()


class Settings:
    """What holds for one case; seconds where not a count."""

    def __init__(self, request, case):
        self.iterations = request.iterations
        self.warmup = request.warmup
        self.duration = request.duration
        self.burnin = request.burnin
        self.cold = request.cold
        self.pinned = request.pinned
        if "iterations" in self.pinned and "duration" not in self.pinned:
            self.duration = 0.0
        if "warmup" in self.pinned and "burnin" not in self.pinned:
            self.burnin = 0.0
        self.told = {}  # what stands above the request
        for name in ("iterations", "warmup"):
            if case[name] is not None and name not in self.pinned:
                self.count(name, case[name])
                self.told[name] = int(case[name])

    def count(self, name, value):
        """Sets a number of calls. A number that was asked for stands above a time that nobody pinned."""
        setattr(self, name, int(value))
        time = {"iterations": "duration", "warmup": "burnin"}[name]
        if time not in self.pinned:
            setattr(self, time, 0.0)

    def follow(self, config, pinned):
        """Takes what the config object sets, and returns the keys of the event `config`, or None where nothing is set above the request."""
        told = dict(self.told)
        for name, least in (("iterations", 1), ("warmup", 0)):
            value = None if name in pinned else set_value(config, name)
            if value is not None:
                if isinstance(value, bool) or number(value) is None or number(value) != int(number(value)) or value < least:
                    raise error("config", "get_config(): `%s` is %s; it has to be a whole number of at least %d. Set it to one, or leave "
                                "it out" % (name, shown(value), least))
                told[name] = int(value)
                self.count(name, value)
        deadlines = {}
        for stage, field in DEADLINES.items():
            value = None if "deadlines" in pinned else set_value(config, field)
            if value is not None:
                if number(value) is None or not 0 < number(value) < float("inf"):
                    raise error("config", "get_config(): `%s` is %s; it has to be a number of seconds above 0. Set it to one, or "
                                "leave it out" % (field, shown(value)))
                deadlines[stage] = float(value)
        if deadlines:
            told["deadlines"] = deadlines
        return told or None


def set_value(config, name):
    """The value of a field that was set on purpose, else None."""
    if isinstance(config, dict):
        return config.get(name)
    value = getattr(config, name, None)
    if value is None:
        return None
    default = _default(type(config), name)
    if default is _UNSET or default == value:
        return None
    return value


def _default(kind, name):
    """The value that an object of the class has when nothing is set.

    Of a fresh object, else of a dataclass field, else of the class.
    """
    try:
        return getattr(kind(), name, None)
    except BaseException:
        pass  # it needs arguments, or refuses
    field = getattr(kind, "__dataclass_fields__", {}).get(name)
    if field is not None:
        if type(field.default).__name__ != "_MISSING_TYPE":
            return field.default
        if type(field.default_factory).__name__ != "_MISSING_TYPE":
            return field.default_factory()
        return None  # a field without default is always set on purpose
    return getattr(kind, name, _UNSET)
