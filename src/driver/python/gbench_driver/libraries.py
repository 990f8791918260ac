"""The global settings of numpy and torch: how they are when the library has just been imported, and how to get them back.

They are kept when the import is over and before the code that imported goes on; later it would not be known what a benchmark has
changed. One that turns on TF32 for itself would otherwise make the case behind it faster and less exact.
"""
import sys

# Of torch: how a setting is read and how it is set.
FUNCTIONS = (
    ("get_default_dtype", "set_default_dtype"),
    ("is_grad_enabled", "set_grad_enabled"),
    ("get_num_threads", "set_num_threads"),
    ("get_float32_matmul_precision", "set_float32_matmul_precision"),
    ("are_deterministic_algorithms_enabled", "use_deterministic_algorithms"),
)
FLAGS = ("backends.cudnn.benchmark", "backends.cudnn.deterministic", "backends.cudnn.allow_tf32", "backends.cuda.matmul.allow_tf32")

_kept = {}


def keep(name):
    """Remembers the settings of a library that is loaded, once."""
    module = sys.modules.get(name)
    if name in _kept or module is None:
        return
    if name == "numpy" and hasattr(module, "geterr"):
        _kept[name] = module.geterr(), module.get_printoptions()
    if name == "torch" and hasattr(module, "get_default_dtype"):
        _kept[name] = _settings(module)


def put_back():
    """Restores the settings of those that are loaded."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and "numpy" in _kept:
        numpy.seterr(**_kept["numpy"][0])
        numpy.set_printoptions(**_kept["numpy"][1])
    if torch is not None and "torch" in _kept:
        _restore(torch, _kept["torch"], _settings(torch))


def _settings(torch):
    """Torch's settings by the name of what sets them; those that this torch has."""
    found = {}
    for read, write in FUNCTIONS:
        if hasattr(torch, read):
            found[write] = getattr(torch, read)()
    for flag in FLAGS:
        owner, name = _owner(torch, flag)
        try:
            found[flag] = getattr(owner, name)
        except (AttributeError, RuntimeError):
            pass  # not in this torch, or refused because its newer form is in use
    if hasattr(torch, "get_default_device"):
        device = str(torch.get_default_device())
        found["set_default_device"] = None if device == "cpu" else device
    return found


def _restore(torch, wanted, now):
    for write, value in wanted.items():
        if write in now and now[write] != value:
            if write in FLAGS:
                owner, name = _owner(torch, write)
                setattr(owner, name, value)
            else:
                getattr(torch, write)(value)


def _owner(torch, flag):
    """The object that has the flag, and the flag's own name."""
    owner = torch
    parts = flag.split(".")
    for part in parts[:-1]:
        owner = getattr(owner, part, None)
    return owner, parts[-1]
