"""The operators in numpy, twice: as the formula is written, and with fewer arrays in between."""
import numpy

EPSILON = 1e-5
LOSSES = ("MSE", "CrossEntropy")
ROOT = (2 / numpy.pi) ** 0.5


def inputs(operation, shape, generator):
    """The arguments of an operator: float32, and classes as int64."""
    x = generator.standard_normal(shape, dtype=numpy.float32)
    dimension = shape[-1]
    if operation == "LayerNorm":
        return x, generator.standard_normal(dimension, dtype=numpy.float32), generator.standard_normal(dimension, dtype=numpy.float32)
    if operation == "MSE":
        return x, generator.standard_normal(shape, dtype=numpy.float32)
    if operation == "CrossEntropy":
        return x, generator.integers(0, dimension, shape[:-1])
    return (x,)


def reference(operation, arguments):
    """The right result, in double precision."""
    wide = [array.astype(numpy.float64) if array.dtype == numpy.float32 else array for array in arguments]
    return numpy.asarray(IMPLEMENTATIONS["numpy"][operation](*wide))


def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + EPSILON) * scale + shift


def layer_norm_fused(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    squares = numpy.einsum("...d,...d->...", centred, centred)[..., None]
    centred *= 1 / numpy.sqrt(squares / x.shape[-1] + EPSILON)
    centred *= scale
    centred += shift
    return centred


def gelu(x):
    """By tanh."""
    return 0.5 * x * (1 + numpy.tanh(ROOT * (x + 0.044715 * x**3)))


def gelu_fused(x):
    inner = x * x
    inner *= 0.044715
    inner += 1
    inner *= x
    inner *= ROOT
    numpy.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= 0.5
    return inner


def swish(x):
    return x / (1 + numpy.exp(-x))


def swish_fused(x):
    below = numpy.negative(x)
    numpy.exp(below, out=below)
    below += 1
    return numpy.divide(x, below, out=below)


def mse(x, target):
    return ((x - target) ** 2).mean()


def mse_fused(x, target):
    difference = (x - target).ravel()
    return numpy.dot(difference, difference) / difference.size


def cross_entropy(x, classes):
    powers = numpy.exp(x - x.max(axis=-1, keepdims=True))
    shares = powers / powers.sum(axis=-1, keepdims=True)
    return -numpy.log(numpy.take_along_axis(shares, classes[..., None], axis=-1)).mean()


def cross_entropy_fused(x, classes):
    chosen = numpy.take_along_axis(x, classes[..., None], axis=-1)[..., 0]
    greatest = x.max(axis=-1, keepdims=True)
    powers = x - greatest
    numpy.exp(powers, out=powers)
    return (numpy.log(powers.sum(axis=-1)) + greatest[..., 0] - chosen).mean()


IMPLEMENTATIONS = {
    "numpy": {"LayerNorm": layer_norm, "GELU": gelu, "Swish": swish, "MSE": mse, "CrossEntropy": cross_entropy},
    "fused": {
        "LayerNorm": layer_norm_fused, "GELU": gelu_fused, "Swish": swish_fused, "MSE": mse_fused, "CrossEntropy": cross_entropy_fused,
    },
}
