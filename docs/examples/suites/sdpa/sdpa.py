"""Scaled dot-product attention: as the formula is written, in tiles of keys as FlashAttention does it, and torch's own."""
import gbench

try:
    import numpy
except ImportError:
    gbench.skip("has no module `numpy`: install it with `python3 -m pip install numpy`")

TYPES = {"fp32": numpy.float32, "fp64": numpy.float64}
TOLERANCE = {"fp32": 1e-4, "fp64": 1e-10}
TILE = 64  # keys


def naive(q, k, v):
    """Makes the whole matrix of S times S scores."""
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    scores -= scores.max(axis=-1, keepdims=True)
    numpy.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores @ v


def tiled(q, k, v):
    """Goes through the keys tile by tile and corrects what it has summed up when a greater score comes (Milakov and Gimelshein 2018)."""
    q = q * q.dtype.type(q.shape[-1] ** -0.5)
    greatest = numpy.full((*q.shape[:-1], 1), -numpy.inf, q.dtype)
    total = numpy.zeros_like(greatest)
    result = numpy.zeros_like(q)
    for start in range(0, k.shape[-2], TILE):
        keys, values = k[..., start:start + TILE, :], v[..., start:start + TILE, :]
        scores = q @ keys.swapaxes(-1, -2)
        now = numpy.maximum(greatest, scores.max(axis=-1, keepdims=True))
        scores -= now
        numpy.exp(scores, out=scores)
        correction = numpy.exp(greatest - now)
        total *= correction
        total += scores.sum(axis=-1, keepdims=True)
        result *= correction
        result += scores @ values
        greatest = now
    result /= total
    return result


class Attention:
    def __init__(self, impl, dtype, B, H, S, d):
        self.impl, self.dtype, self.shape = impl, dtype, (B, H, S, d)

    def setup(self):
        generator = numpy.random.default_rng(42)
        self.inputs = [generator.standard_normal(self.shape).astype(TYPES[self.dtype]) for _ in range(3)]
        if self.impl == "torch":
            self.call = self.of_torch()
        else:
            function = {"naive": naive, "tiled": tiled}[self.impl]
            self.call = lambda: function(*self.inputs)

    def of_torch(self):
        try:
            import torch
        except ModuleNotFoundError:
            gbench.skip("has no module `torch`: install it with `python3 -m pip install torch`")
        arguments = [torch.from_numpy(array) for array in self.inputs]
        return lambda: torch.nn.functional.scaled_dot_product_attention(*arguments)

    def benchmark_fn(self):
        return self.call()

    def validate_result(self):
        wanted = naive(*(array.astype(numpy.longdouble) for array in self.small()))
        found = numpy.asarray(self.call())[:1, :1]
        error = numpy.abs(found - wanted).max()
        if not error <= TOLERANCE[self.dtype]:
            return "it is off by %.2g; %.2g is allowed" % (error, TOLERANCE[self.dtype])

    def small(self):
        """One head: the reference is slow."""
        return [array[:1, :1] for array in self.inputs]

    def get_workload_metadata(self):
        batch, _, sequence, _ = self.shape
        return {"samples_per_iteration": batch, "tokens_per_iteration": batch * sequence}
