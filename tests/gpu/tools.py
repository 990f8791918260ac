# /// script
# dependencies = ["torch", "triton"]
# ///
"""Leaves in the folder that is named what tools of Python print about kernels: a table of Triton's `perf_report`, measurements of
`torch.utils.benchmark` as docs/formats.md exports them, and a Chrome trace of torch's profiler.
"""

import json
import sys
from pathlib import Path

import torch
import torch.utils.benchmark
import triton
import triton.language as tl

OUT = Path(sys.argv[1])


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(16, 25, 2)],
        x_log=True,
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="vector-add-performance",
        args={},
    )
)
def add_report(size, provider):
    x, y = torch.rand(size, device="cuda"), torch.rand(size, device="cuda")
    call = (lambda: add(x, y)) if provider == "triton" else (lambda: x + y)
    ms, least, most = triton.testing.do_bench(call, quantiles=[0.5, 0.2, 0.8])
    rate = lambda time: 12 * size / (time * 1e6)  # noqa: E731
    return rate(ms), rate(most), rate(least)


@triton.testing.perf_report(
    [
        triton.testing.Benchmark(
            x_names=["M", "N"],
            x_vals=[(128 * i, 256) for i in range(1, 5)],
            line_arg="provider",
            line_vals=["eager", "softmax"],
            line_names=["eager (ms)", "torch (ms)"],
            ylabel="ms",
            plot_name=f"softmax-{dtype}",
            args={"dtype": dtype},
        )
        for dtype in ("float16", "float32")
    ]
)
def softmax_report(M, N, provider, dtype):
    x = torch.rand(M, N, device="cuda", dtype=getattr(torch, dtype))
    if provider == "eager":
        return triton.testing.do_bench(lambda: x.exp() / x.exp().sum(1, keepdim=True))
    return triton.testing.do_bench(lambda: torch.softmax(x, 1))


def tables():
    add_report.run(print_data=True, save_path=str(OUT / "triton"))
    softmax_report.run(print_data=True, save_path=str(OUT / "triton"))


def measurements():
    taken = []
    for n in (256, 1024):
        for description, dtype in (("half", torch.float16), ("single", torch.float32)):
            x = torch.rand(n, n, device="cuda", dtype=dtype)
            timer = torch.utils.benchmark.Timer(
                "x @ x", globals={"x": x}, label="product", sub_label=f"[{n}, {n}]", description=description
            )
            taken.append(timer.blocked_autorange(min_run_time=0.2))
    comparison = torch.utils.benchmark.Compare(taken)
    (OUT / "compare.txt").write_text(f"{comparison}\n")
    keys = ("stmt", "label", "sub_label", "description", "env", "num_threads")
    document = [
        {
            "raw_times": m.raw_times,
            "number_per_run": m.number_per_run,
            "task_spec": {key: getattr(m.task_spec, key) for key in keys},
        }
        for m in taken
    ]
    (OUT / "measurements.json").write_text(json.dumps(document))


def trace():
    x = torch.rand(1024, 1024, device="cuda", dtype=torch.float16)
    add(x, x)
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        for _ in range(3):
            y = torch.softmax(x @ x, 1)
            add(y, x)
        torch.cuda.synchronize()
    profile.export_chrome_trace(str(OUT / "trace.json"))
    (OUT / "key_averages.txt").write_text(profile.key_averages().table(sort_by="cuda_time_total", row_limit=12))


(OUT / "triton").mkdir(parents=True, exist_ok=True)
for part in (tables, measurements, trace):
    try:
        part()
    except Exception as error:  # noqa: BLE001 # one tool must not cost the others
        print(f"{part.__name__}: {type(error).__name__}: {error}")
