"""The global settings of numpy and torch: how they are when the library has just been imported, and how to get them back.

They are kept when the import is over and before the code that imported goes on; later it would not be known what a benchmark has
changed.
"""
import sys

_kept = {}


def keep(name):
    """Remembers the settings of a library that is loaded, once."""
    module = sys.modules.get(name)
    if name in _kept or module is None:
        return
    if name == "numpy" and hasattr(module, "geterr"):
        _kept[name] = module.geterr(), module.get_printoptions()
    if name == "torch" and hasattr(module, "get_default_dtype"):
        _kept[name] = module.get_default_dtype(), _device(module), module.is_grad_enabled()


def put_back():
    """Restores the settings of those that are loaded."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and "numpy" in _kept:
        numpy.seterr(**_kept["numpy"][0])
        numpy.set_printoptions(**_kept["numpy"][1])
    if torch is not None and "torch" in _kept:
        kind, device, grad = _kept["torch"]
        torch.set_default_dtype(kind)
        torch.set_grad_enabled(grad)
        if _device(torch) != device:
            torch.set_default_device(device)


def _device(torch):
    """The device of new tensors as text; None for torch's own default, and where this torch has no such setting."""
    ask = getattr(torch, "get_default_device", None)
    device = str(ask()) if ask else None
    return None if device == "cpu" else device
