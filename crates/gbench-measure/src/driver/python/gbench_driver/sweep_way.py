"""The way `sweep`: a function that measures many points itself and gives back a table of rows.

It is called with one value of each parameter, so that a case is one row. Calls that are equal are made once in a process: several
cases may be rows of one table.
"""
import json

from . import results
from .calls import Called, Signature, check_arguments
from .failures import error, is_out_of_memory
from .function_way import find
from .plain import number, plain, shown

TIMES = (("time_ms", "ms"), ("time_us", "us"), ("time_s", "s"), ("latency_ms", "ms"), ("mean_time_ms", "ms"))
MEMORY = "memory_mb"


class Subject(Called):
    times_itself = True

    def __init__(self, module, place, case):
        self.module, self.place, self.case = module, place, case
        self.what, self.owner, self.function = _function(module, place, case)
        signature = Signature(self.function)
        self.arguments, self.passed = arguments(signature, case["params"])
        check_arguments(self.what, signature, self.arguments)

    def call(self):
        return rows(self.function(**self.arguments), self.owner, self.what)

    def timer(self, settings, cache):
        return SweepTimer(self, cache)


class SweepTimer:
    """One call, one row, one sample: the sweep warms up and repeats by itself."""

    def __init__(self, subject, cache):
        self.subject, self.cache = subject, cache
        self.row, self.unit = {}, "ms"
        self.time = None

    def warm_up(self):
        pass

    def begin(self):
        pass

    def measure(self, samples):
        subject = self.subject
        key = (subject.place.path, subject.what, json.dumps(plain(subject.arguments), sort_keys=True))
        if key not in self.cache:
            self.cache[key] = _kept(subject.call)
        table, failure = self.cache[key]
        if failure is not None:
            raise failure
        self.row = select(table, subject.case["params"], subject.passed, subject.what)
        check_row(self.row, subject.what)
        self.time, samples.unit = next(((name, unit) for name, unit in TIMES if name in self.row), (None, None))
        if self.time is None:
            raise error("bad_result", "the row of %s has no time; one of %s is needed, and it has %s"
                        % (subject.what, ", ".join(name for name, _ in TIMES), ", ".join(map(str, self.row))))
        value = number(self.row[self.time])
        if value is None or not 0 < value < float("inf"):
            raise error("bad_result", "%s gave %s as %s; it has to be a number above 0" % (subject.what, shown(self.row[self.time]), self.time))
        samples.add(float(value))

    def send_more(self, channel):
        """The other figures of the row. Whether more of them is better nobody said, so they are shown and never judged."""
        for name, value in self.row.items():
            if name == MEMORY and number(value) is not None:
                channel.send("sample", metric="memory", value=number(value), unit="MB", better="lower")
            elif name != self.time and name not in self.subject.case["params"] and name not in self.subject.passed.values():
                results.send_figure(channel, name, value, None)

    def notes(self):
        return {"clock": "self"}


def _kept(call):
    """The table or the exception: a sweep that fails is not worth running again for each of its rows."""
    try:
        return call(), None
    except Exception as failure:
        return None, failure


def _function(module, place, case):
    """Words for the function, the object that it belongs to (or None), and the function."""
    name = case["function"] or ""
    owner, _, method = name.rpartition(".")
    if not owner:
        name, function = find(module, place, case)
        return "%s() in %s" % (name, place.file), None, function
    kind = getattr(module, owner, None)
    if not isinstance(kind, type) or not callable(getattr(kind, method, None)):
        raise error("no_function", "%s has no class `%s` with a method `%s`. Name one that it has as `function` in the suite file"
                    % (place.file, owner, method))
    check_arguments("%s() in %s" % (owner, place.file), Signature(kind), {})
    made = kind()
    return "%s() in %s" % (name, place.file), made, getattr(made, method)


def arguments(signature, params):
    """The call's arguments, and the field of a row for each parameter that was passed on (`batch_sizes` holds values of
    `batch_size`).
    """
    given, passed = {}, {}
    for name, value in params.items():
        argument = next((known for known in (name, name + "s", name + "es") if signature.takes(known)), None)
        if argument is None:
            continue
        given[argument] = value if isinstance(value, list) or not takes_list(signature.parameters[argument]) else [value]
        passed[name] = singular(argument)
    return given, passed


def takes_list(parameter):
    """Whether the function wants a list: by its default, its annotation, else by the plural of its name."""
    if isinstance(parameter.default, (list, tuple)):
        return True
    if parameter.annotation is not parameter.empty:
        return "list" in str(parameter.annotation).lower() or "sequence" in str(parameter.annotation).lower()
    if parameter.default is not parameter.empty and parameter.default is not None:
        return False
    return singular(parameter.name) != parameter.name


def singular(name):
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def rows(returned, owner, what):
    """The table as a list of dictionaries."""
    table = getattr(owner, "results", None) if returned is None else returned
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        table = table.to_dict("records")
    if not isinstance(table, (list, tuple)) or not table:
        raise error("no_row", "%s gave no rows: it returned %s%s" % (
            what, shown(returned), "" if returned is not None else " and left none in `results`"))
    return [_row(row, what) for row in table]


def _row(row, what):
    if isinstance(row, dict):
        return row
    if hasattr(row, "_asdict"):
        return row._asdict()
    if hasattr(row, "__dict__"):
        return dict(vars(row))
    raise error("no_row", "%s gave %s as a row; a dictionary or an object with named fields is needed" % (what, shown(row)))


def select(table, params, passed, what):
    """The one row of the case: all its parameters agree, for fields that the rows have."""
    wanted = {}
    for name, value in params.items():
        field = next((field for field in (name, passed.get(name)) if field and any(field in row for row in table)), None)
        if field is not None and not isinstance(value, list):
            wanted[field] = value
        elif field is None and name not in passed:
            raise error("no_row", "%s takes no parameter `%s`, and its rows have no such field; they have %s"
                        % (what, name, ", ".join(map(str, table[0]))))
    found = [row for row in table if all(_equal(row.get(field), value) for field, value in wanted.items())]
    if len(found) == 1:
        return found[0]
    listed = "; ".join(", ".join("%s=%s" % (field, shown(row.get(field))) for field in (wanted or list(row)[:4])) for row in (found or table)[:8])
    if not found:
        raise error("no_row", "%s gave no row for %s; there were: %s" % (what, _words(wanted), listed))
    raise error("many_rows", "%s gave %d rows for %s, and a case is one row; name the parameter in which they differ: %s"
                % (what, len(found), _words(wanted) or "the case", "; ".join(_words(row) for row in found[:4])))


def _words(row):
    return ", ".join("%s=%s" % (name, shown(value)) for name, value in list(row.items())[:6])


def _equal(left, right):
    if isinstance(left, bool) or isinstance(right, bool):
        return str(left).lower() == str(right).lower()
    numbers = number(left), number(right)
    return numbers[0] == numbers[1] if None not in numbers else str(left) == str(right)


def check_row(row, what):
    """A row that says of itself that it failed is an error, whatever time stands in it."""
    fault = row.get("error")
    if fault:
        words = str(fault)
        raise error("out_of_memory" if is_out_of_memory(words) or words.upper() == "OOM" else "row_failed", "%s: %s" % (what, words))
    for name in ("success", "passed", "valid"):
        if row.get(name) is False or row.get(name) == 0:
            raise error("row_failed", "%s: the row says `%s` is %s" % (what, name, row[name]))
