"""The way `function`: a callable of the module, called with the problem's parameters by name.

Precision and backend are passed on where the function takes them. Where it does not, only the first of each is run, which is the
kernel's own: a second row would be the same measurement under a wrong label.
"""
import functools

from . import originals
from .calls import Called, Signature, check_arguments
from .failures import error, skip
from .standard import standard

NAMES = ("%s_kernel", "run_benchmark", "benchmark", "solve")
PRECISION, BACKEND = ("precision", "dtype"), ("backend", "device")
CHANGEABLE = (list, dict)


class Subject(Called):
    times_itself = False

    def __init__(self, module, place, case):
        self.module, self.place, self.case = module, place, case
        name, function = find(module, place, case)
        self.what = "%s() in %s" % (name, place.file)
        self.arguments = arguments(self.what, function, case)
        self.call = functools.partial(function, **self.copies(self.arguments)) if self.arguments else function

    def wants_cuda(self):
        return self.case["backend"]

    def copies(self, given):
        """The arguments; those that a call may change are copied."""
        return {name: standard("copy").deepcopy(value) if isinstance(value, CHANGEABLE) else value for name, value in given.items()}

    def setup(self):
        """Gives the call its arguments as they were before any call."""
        if self.arguments:
            self.call.keywords.update(self.copies(self.arguments))

    def renewal(self):
        """For `fresh_inputs`: what is called before each sample, or None, and words for the record."""
        named = [name for name, value in self.arguments.items() if isinstance(value, CHANGEABLE)]
        if named:
            return self.setup, "a copy of %s for each sample" % ", ".join(named)
        return None, "not applied: no argument is a list or a table, which a call could change"

    def work(self):
        stated = self.case["work"]
        return {key: stated[key] for key in ("items", "bytes", "flops", "tokens") if stated.get(key) is not None}, {}

    def validate(self):
        """Whether the output agrees with the reference within the tolerances, or None without a reference."""
        with originals.BuiltIn():
            from . import accuracy
        reference = accuracy.find_reference(self.module, self.place, self.case, self.copies(self.arguments))
        if reference is None:
            if self.case["tolerances"] and not self.case["shared_tolerances"]:
                raise error("no_reference", "there are tolerances for %s, and there is nothing to hold its result against. Add a function "
                            "`reference` to the module, or name one as `reference`, or take the tolerances out" % self.what)
            return None
        self.setup()
        return accuracy.judge(self.call(), reference, self.case["tolerances"], self.what)

    def digest_source(self, returned):
        return returned


def find(module, place, case):
    """The function's name and the function."""
    names = [case["function"]] if case["function"] else [name.replace("%s", place.bare) for name in NAMES]
    for name in names:
        found = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return name, found
    own = own_functions(module)
    raise error("no_function", "%s has none of these functions: %s. Its functions are: %s" % (place.file, ", ".join(names), ", ".join(own) or "none"))


def own_functions(module):
    return [name for name, value in vars(module).items()
            if callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) == module.__name__]


def arguments(what, function, case):
    """The parameters of the call, with the precision and the backend where they can be passed on."""
    signature = Signature(function)
    given = dict(case["params"])
    for label, value, is_first, names in (("precision", case["precision"], case["first_precision"], PRECISION),
                                          ("backend", case["backend"], case["first_backend"], BACKEND)):
        if value is None or any(name in given for name in names):
            continue
        name = next((name for name in names if signature.takes(name)), None)
        if name is None and signature.any_name and not is_first:
            name = names[0]
        if name is not None:
            given[name] = value
        elif not is_first:
            raise skip("%s does not take a %s, so it cannot be run as %s; add a parameter `%s` to it" % (what, label, value, names[0]))
    check_arguments(what, signature, given)
    return given
