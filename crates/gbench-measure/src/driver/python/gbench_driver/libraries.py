"""The global settings of numpy and torch, and the names of their modules and of Python's own: how they are when the module has
just been imported, and how to get them back.

They are kept when the import is over and before the code that imported goes on; later it would not be known what a benchmark has
changed. One that turns on TF32 for itself would otherwise make the case behind it faster and less exact.
"""
import os
import sys
from itertools import islice

from .loading import is_users

FOLDER = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
SMALLEST = sys.float_info.min  # of those that are not denormal

# Of torch: how a setting is read and how it is set.
FUNCTIONS = (
    ("get_default_dtype", "set_default_dtype"),
    ("is_grad_enabled", "set_grad_enabled"),
    ("get_num_threads", "set_num_threads"),
    ("get_float32_matmul_precision", "set_float32_matmul_precision"),
    ("are_deterministic_algorithms_enabled", "use_deterministic_algorithms"),
    ("backends.cuda.flash_sdp_enabled", "backends.cuda.enable_flash_sdp"),
    ("backends.cuda.mem_efficient_sdp_enabled", "backends.cuda.enable_mem_efficient_sdp"),
    ("backends.cuda.math_sdp_enabled", "backends.cuda.enable_math_sdp"),
    ("backends.cuda.cudnn_sdp_enabled", "backends.cuda.enable_cudnn_sdp"),
)
FLAGS = (
    "backends.cudnn.enabled", "backends.cudnn.benchmark", "backends.cudnn.deterministic", "backends.cudnn.allow_tf32",
    "backends.cuda.matmul.allow_tf32", "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_bf16_reduced_precision_reduction", "backends.mkldnn.enabled", "backends.mkldnn.allow_tf32",
)
NAMESPACES = {"numpy": ("numpy",), "torch": ("torch", "torch.nn.functional")}
# Of the standard library, by their names; the interpreter itself adds to the module `sys`.
STANDARD = frozenset(getattr(sys, "stdlib_module_names", ())) - {"sys"}
DATA = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)

environments = {}  # by library: the variables when its import began
_kept = {}
_namespaces = {}  # by module of a library: all of its names, and what can be called
_standard = {}  # by module of the standard library: the module itself, the number of its names, and what can be called


def keep(name):
    """Remembers the settings and the functions of a library that is loaded, once."""
    module = sys.modules.get(name)
    if name in _kept or module is None:
        return
    if name == "numpy" and hasattr(module, "geterr"):
        _kept[name] = module.geterr(), module.get_printoptions()
    if name == "torch" and hasattr(module, "get_default_dtype"):
        _kept[name] = _settings(module)
    if name in _kept:
        for space in NAMESPACES[name]:
            names = vars(sys.modules.get(space, object))
            _namespaces[space] = set(names), {attribute: value for attribute, value in names.items() if callable(value)}


def keep_standard(name=None):
    """Remembers the names of a module of the standard library, or of all that are loaded, once."""
    for name in [name] if name else [name for name in sys.modules if name in STANDARD and name not in _standard]:
        module = sys.modules.get(name)
        if module is not None and not name.startswith("_") and _is_pythons(module):
            names = vars(module)
            functions = {attribute: value for attribute, value in names.items() if callable(value) and not attribute.startswith("_")}
            _standard[name] = module, len(names), functions


def _is_pythons(module):
    file = getattr(module, "__file__", None)
    return file is None or file.startswith(FOLDER) and "-packages" + os.sep not in file


def put_back_standard(root):
    """Restores what a file below `root` has replaced in modules of the standard library, and takes out what was added: another case
    would see it. Returns their names. What another library has replaced stays: it stays loaded, and needs it.
    """
    found = []
    for name, (module, size, functions) in _standard.items():
        now = vars(module)
        for attribute, original in functions.items():
            value = now.get(attribute)
            if value is not original and (isinstance(value, DATA) or _is_from(value, root)):
                setattr(module, attribute, original)
                found.append("%s.%s" % (name, attribute))
        # New names are behind the others.
        for attribute in list(islice(now, size, None)):
            value = now[attribute]
            if not attribute.startswith("_") and attribute not in functions and (
                    type(value) in DATA or getattr(value, "__module__", None) == "builtins" or _is_from(value, root)
                    or _is_from(type(value), root)):
                delattr(module, attribute)
                found.append("%s.%s" % (name, attribute))
    return found


def put_back_functions(root):
    """Restores functions that a file below `root` replaced or added. Returns whether there were any, and words for those that
    somebody else replaced: another library perhaps, which stays loaded and needs it so.
    """
    found, left = False, []
    for space, (names, functions) in _namespaces.items():
        module = sys.modules.get(space)
        now = vars(module) if module is not None else functions
        for attribute, original in functions.items():
            value = now.get(attribute)
            if value is original or _is_its_own(value, attribute, space):
                continue
            if _is_from(value, root) or value is None:
                setattr(module, attribute, original)
                found = True
            else:
                left.append("another function as %s.%s" % (space, attribute))
        for attribute in set(now) - names if now is not functions else ():
            if getattr(now[attribute], "__module__", None) == "builtins" or _is_from(now[attribute], root):
                delattr(module, attribute)
                found = True
    return found, left


def _is_from(value, root):
    """Whether a function or class was defined in a file of the user's."""
    code = getattr(value, "__code__", None)
    file = code.co_filename if code is not None else getattr(sys.modules.get(getattr(value, "__module__", None)), "__file__", None)
    return is_users(file, root)


def _is_its_own(value, attribute, space):
    """Whether the library has replaced its own function by a wrapper of the same name, as torch does when it loads its compiler."""
    code = getattr(value, "__code__", None)
    folder = os.path.dirname(getattr(sys.modules.get(space.split(".")[0]), "__file__", None) or "/nowhere/")
    return code is not None and code.co_filename.startswith(folder + os.sep) and getattr(value, "__name__", None) == attribute


def forget_compiled():
    """Drops what `torch.compile` has compiled: a recompiled function is more general than one that is compiled for the first time."""
    dynamo = sys.modules.get("torch._dynamo")
    if callable(getattr(dynamo, "reset", None)):
        dynamo.reset()


def flushes_denormals():
    """Whether this thread's processor takes the smallest numbers for zero; torch sets it and does not tell."""
    return SMALLEST / 2 == 0.0


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
        owner, name = _owner(torch, read)
        if hasattr(owner, name):
            found[write] = getattr(owner, name)()
    for flag in FLAGS:
        owner, name = _owner(torch, flag)
        try:
            found[flag] = getattr(owner, name)
        except (AttributeError, RuntimeError):
            pass  # not in this torch, or refused because its newer form is in use
    if hasattr(torch, "set_flush_denormal"):
        found["set_flush_denormal"] = flushes_denormals()
    if hasattr(torch, "get_default_device"):
        device = str(torch.get_default_device())
        found["set_default_device"] = None if device == "cpu" else device
    return found


def _restore(torch, wanted, now):
    for write, value in wanted.items():
        if write in now and now[write] != value:
            owner, name = _owner(torch, write)
            if write in FLAGS:
                setattr(owner, name, value)
            else:
                getattr(owner, name)(value)


def _owner(torch, flag):
    """The object that has the flag, and the flag's own name."""
    owner = torch
    parts = flag.split(".")
    for part in parts[:-1]:
        owner = getattr(owner, part, None)
    return owner, parts[-1]
