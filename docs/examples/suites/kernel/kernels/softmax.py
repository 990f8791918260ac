"""Softmax over rows, in the precision that is asked for.

`softmax_kernel` is found by the name of its file. Its arguments are those of `problem_size` in the bench.yaml beside it, and the
precision, because it takes one of that name.
"""
import functools

try:
    import numpy
except ImportError:
    import gbench

    gbench.skip("has no module `numpy`: install it with `python3 -m pip install numpy`")

TYPES = {"fp64": numpy.float64, "fp32": numpy.float32, "fp16": numpy.float16}


@functools.lru_cache(maxsize=None)
def entries(rows, columns):
    """The input. Made once, so that a measured call finds it there."""
    return numpy.random.default_rng(5).normal(size=(rows, columns))


@functools.lru_cache(maxsize=None)
def entries_in(rows, columns, precision):
    return entries(rows, columns).astype(TYPES[precision])


def softmax_kernel(rows, columns, precision="fp64"):
    x = entries_in(rows, columns, precision)
    powers = numpy.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def reference_result(rows, columns):
    """The right answer, by extended precision and another way: without taking the maximum out first."""
    powers = numpy.exp(entries(rows, columns).astype(numpy.longdouble))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(numpy.float64)
