"""A copy, or a product of matrices, in torch: what the gate's own figures are held against.

Times as the gate does: the L2 cache is overwritten before each sample, and the device is kept busy until the sample is queued. Speaks
the child protocol; parameters: op (copy, product), mib of a copy, n and dtype (f32, f16, bf16) of a product.
"""

import json
import os
import sys
import time

request = json.loads(
    os.environ.get("GBENCH_REQUEST", '{"iterations": 5, "warmup": 2, "seed": 1, "params": {"op": "copy", "mib": 256}}')
)
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")


def say(event, **keys):
    print(json.dumps({"event": event, **keys}), file=channel, flush=True)


try:
    import torch
except ImportError as error:
    say("skip", reason=f"no torch: {error}")
    sys.exit(0)
if not torch.cuda.is_available():
    say("skip", reason="torch sees no CUDA device")
    sys.exit(0)

say("stage", stage="setup")
torch.manual_seed(request["seed"])
params = request["params"]
device = torch.cuda.get_device_properties(0)
# Older releases do not say how large the cache is.
cache = torch.empty(2 * getattr(device, "L2_cache_size", 64 << 20), device="cuda", dtype=torch.int8)


def uniform(*shape, dtype=torch.float32):
    """From -1 to 1, as the gate fills its own: how much power a card takes goes by the bits."""
    return torch.rand(*shape, device="cuda").mul_(2).sub_(1).to(dtype)


if params["op"] == "copy":
    length = int(params["mib"]) << 18
    source, target = uniform(length), torch.empty(length, device="cuda")
    work = {"bytes": 8 * length}

    def call():
        target.copy_(source)

    def is_right():
        return torch.equal(source, target)

else:
    n = int(params["n"])
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[params["dtype"]]
    a, b = uniform(n, n, dtype=dtype), uniform(n, n, dtype=dtype)
    c = torch.empty(n, n, device="cuda", dtype=dtype)
    work = {"flops": 2 * n**3}

    def call():
        torch.matmul(a, b, out=c)

    def is_right():
        error = (a[0].double() @ b.double() - c[0].double()).abs().max().item()
        return error < 0.02 * n**0.5


say("metadata", **work, device=f"cuda:{device.name}", notes={"torch": torch.__version__, "clock": "cuda events"})


def sample():
    """Seconds of one call."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cache.zero_()
    # About a millisecond, in which the host queues the rest.
    torch.cuda._sleep(2_000_000)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3


say("stage", stage="warmup")
begun = time.monotonic()
while time.monotonic() - begun < 0.5:
    sample()
say("stage", stage="measure")
say("samples", values=[sample() for _ in range(request["iterations"])], unit="s")
say("stage", stage="verify")
say("validation", passed=bool(is_right()))
say("end")
