"""Device-to-device copies through the CUDA driver alone: no toolkit, no torch, no kernel to compile.

Speaks the child protocol; parameters: mib (size of the copied buffer).
"""

import ctypes
import json
import os
import sys

request = json.loads(os.environ.get("GBENCH_REQUEST", '{"iterations": 5, "warmup": 2, "params": {"mib": 64}}'))
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")


def say(event, **keys):
    print(json.dumps({"event": event, **keys}), file=channel, flush=True)


def check(code, what):
    if code == 2:
        say("error", message=f"{what}: out of device memory", kind="out_of_memory")
        sys.exit(1)
    if code != 0:
        say("error", message=f"{what}: CUDA driver error {code}", kind="cuda")
        sys.exit(1)


say("stage", stage="setup")
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    say("skip", reason=f"no CUDA driver: {error}")
    sys.exit(0)
device, context = ctypes.c_int(), ctypes.c_void_p()
check(cuda.cuInit(0), "cuInit")
check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
name = ctypes.create_string_buffer(256)
check(cuda.cuDeviceGetName(name, 256, device), "cuDeviceGetName")
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
size = int(request["params"].get("mib", 64)) << 20
source, target = ctypes.c_uint64(), ctypes.c_uint64()
check(cuda.cuMemAlloc_v2(ctypes.byref(source), ctypes.c_size_t(size)), "cuMemAlloc")
check(cuda.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(size)), "cuMemAlloc")
check(cuda.cuMemsetD32Async(source, ctypes.c_uint(0x5EED), ctypes.c_size_t(size // 4), None), "cuMemsetD32Async")
begin, end = ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuEventCreate(ctypes.byref(begin), 0), "cuEventCreate")
check(cuda.cuEventCreate(ctypes.byref(end), 0), "cuEventCreate")
# A copy reads and writes every byte.
say("metadata", bytes=2 * size, device=f"cuda:{name.value.decode()}", notes={"clock": "cuEventElapsedTime"})


def copy():
    """Milliseconds of ten copies, between two events of the default stream."""
    check(cuda.cuEventRecord(begin, None), "cuEventRecord")
    for _ in range(10):
        check(cuda.cuMemcpyDtoDAsync_v2(target, source, ctypes.c_size_t(size), None), "cuMemcpyDtoDAsync")
    check(cuda.cuEventRecord(end, None), "cuEventRecord")
    check(cuda.cuEventSynchronize(end), "cuEventSynchronize")
    elapsed = ctypes.c_float()
    check(cuda.cuEventElapsedTime(ctypes.byref(elapsed), begin, end), "cuEventElapsedTime")
    return elapsed.value


say("stage", stage="warmup")
for _ in range(request["warmup"]):
    copy()
say("stage", stage="measure")
times = [copy() / 10 for _ in range(request["iterations"])]
say("samples", values=times, unit="ms")
say("stage", stage="verify")
word = ctypes.c_uint()
check(cuda.cuMemcpyDtoH_v2(ctypes.byref(word), ctypes.c_uint64(target.value + size - 4), ctypes.c_size_t(4)), "cuMemcpyDtoH")
say("validation", passed=word.value == 0x5EED)
say("memory", device_peak_bytes=2 * size)
say("end")
