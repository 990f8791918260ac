"""Which interpreter and which packages measured, found out without importing any of them.

The versions stand in the names of the folders beside the packages (`torch-2.9.0.dist-info`). Reading those names costs a
millisecond; `importlib.metadata` costs ten, and importing a package costs seconds and may fail.
"""
import gc
import os
import re
import sys

PACKAGES = (
    "torch", "triton", "numpy", "jax", "jaxlib", "onnxruntime", "cupy", "numba", "tensorflow", "pandas", "scipy", "flash-attn",
    "xformers", "cuda-python", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13",
)
FOLDER = re.compile(r"^(.+?)-([^-]+?)(?:-py[\d.]+)?\.(?:dist-info|egg-info)$")


def interpreter():
    """Notes about the interpreter and the packages that are installed."""
    notes = {
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "implementation": sys.implementation.name,
        "interpreter": sys.executable,
        "prefix": sys.prefix,
    }
    notes["packages"] = installed(sys.path)
    return notes


def installed(folders):
    """Versions by package, for those of `PACKAGES` that are there; the first folder counts, as for an import."""
    found = {}
    for folder in folders:
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue
        for name in names:
            match = FOLDER.match(name)
            if match:
                package = re.sub(r"[-_.]+", "-", match.group(1)).lower()
                if package in PACKAGES:
                    found.setdefault(package, match.group(2))
    return found


def of_torch():
    """What only the loaded torch knows. Each question stands alone: a failing one loses no other."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    questions = {
        "torch": lambda: str(torch.__version__),
        "torch_cuda": lambda: torch.version.cuda,
        "cudnn": lambda: torch.backends.cudnn.version(),
        "gpus": lambda: [torch.cuda.get_device_name(device) for device in range(torch.cuda.device_count())],
        "gpu_multiprocessors": lambda: [torch.cuda.get_device_properties(device).multi_processor_count
                                        for device in range(torch.cuda.device_count())],
    }
    notes = {}
    for name, question in questions.items():
        try:
            notes[name] = question()
        except BaseException as failure:
            notes[name + "_unknown"] = "%s: %s" % (type(failure).__name__, str(failure)[:300])
    return {name: value for name, value in notes.items() if value not in (None, [])}


def of_autotuners():
    """The configurations that triton's autotuners have chosen, by kernel. Each process tunes again: two may run different ones."""
    tuner = getattr(sys.modules.get("triton.runtime.autotuner"), "Autotuner", None)
    chosen = {}
    # Not by `isinstance`, which asks an object for its class: a lazy one would import something.
    for found in gc.get_objects() if isinstance(tuner, type) else ():
        if not issubclass(type(found), tuner):
            continue
        try:
            name = getattr(found.base_fn, "__name__", str(found.base_fn))
            configs = {str(config) for config in found.cache.values()}
        except Exception:  # another version of triton keeps them elsewhere
            continue
        if configs:
            chosen[name] = sorted(configs | set(chosen.get(name, ())))
    return {"autotuned": chosen} if chosen else {}
