"""Calls beside a buffer of its own, as the real one does to empty the cache."""
import torch


def do_bench(fn, warmup=25, rep=100, return_mode="mean"):
    assert return_mode == "all"
    buffer = torch.empty(100000, device="cuda")
    fn()
    del buffer
    return [1.5, 2.5]
