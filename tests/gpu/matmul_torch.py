"""A matrix product in torch on the GPU. Speaks the child protocol; parameters: n, dtype (fp16, bf16, fp32)."""

import json
import os
import sys

request = json.loads(
    os.environ.get("GBENCH_REQUEST", '{"iterations": 5, "warmup": 2, "seed": 1, "params": {"n": 1024, "dtype": "fp16"}}')
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
n = int(request["params"]["n"])
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[request["params"]["dtype"]]
a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
device = f"cuda:{torch.cuda.get_device_name()}"
say("metadata", flops=2 * n**3, device=device, notes={"torch": torch.__version__, "clock": "cuda events"})


def product():
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    c = a @ b
    end.record()
    end.synchronize()
    return begin.elapsed_time(end), c


say("stage", stage="warmup")
for _ in range(request["warmup"]):
    product()
say("stage", stage="measure")
results = [product() for _ in range(request["iterations"])]
say("samples", values=[time for time, _ in results], unit="ms")
say("stage", stage="verify")
row = results[-1][1][0].double()
error = ((a[0].double() @ b.double()) - row).abs().max().item() / (n**0.5)
say("validation", passed=error < 0.05, errors={"max_error": error})
say("memory", device_peak_bytes=torch.cuda.max_memory_allocated())
say("end")
