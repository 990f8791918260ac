"""Calls a user's function with named parameters, and says in words which of them do not fit.

A bare `TypeError` from a call leaves open whether the call was wrong or something inside the function. So the names are compared
first.
"""
from . import originals
from .failures import error
from .standard import standard


class Called:
    """A benchmark that is a call and nothing more: without setup, settings, figures and verdict of its own."""

    def wants_cuda(self):
        return None

    def config(self):
        return None

    def setup(self):
        pass

    def teardown(self):
        pass

    def work(self):
        return {}, {}

    def validate(self):
        return None

    def send_figures(self, channel):
        pass


class Signature:
    """The names that a callable takes; `any_name` where it takes `**kwargs` or its signature cannot be read."""

    def __init__(self, function):
        inspect = standard("inspect")
        self.names, self.required, self.any_name, self.parameters = [], [], False, {}
        try:
            with originals.BuiltIn():
                parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # some functions of C extensions have none
            self.any_name = True
            return
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                self.any_name = True
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                if parameter.default is parameter.empty:
                    self.required.append(parameter.name)
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                self.names.append(parameter.name)
                self.parameters[parameter.name] = parameter
                if parameter.default is parameter.empty:
                    self.required.append(parameter.name)

    def takes(self, name):
        return name in self.names


def check_arguments(what, signature, arguments):
    """An error of kind `arguments` where the call would not fit the function; `what` names it."""
    unknown = [name for name in arguments if name not in signature.names and not signature.any_name]
    missing = [name for name in signature.required if name not in arguments]
    if not unknown and not missing:
        return
    faults = []
    if unknown:
        faults.append("it does not take %s" % _listed(unknown))
    if missing:
        faults.append("it needs %s" % _listed(missing))
    takes = _listed(signature.names) if signature.names else "no parameters"
    raise error("arguments", "%s: %s; it takes %s" % (what, " and ".join(faults), takes))


def _listed(names):
    return ", ".join("`%s`" % name for name in names)
