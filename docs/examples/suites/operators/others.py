"""The operators of other packages. One that is not installed skips its cases, and says what to install."""
import gbench
import numpy

from formulas import EPSILON

OPSET = 20  # of ONNX; the first that has Gelu


def prepare(package, operation, inputs):
    """A call without arguments, and a function that makes an array of numpy of its result."""
    makers = {"torch": of_torch, "jax": of_jax, "onnxruntime": of_onnxruntime}
    try:
        return makers[package](operation, inputs)
    except ModuleNotFoundError as missing:
        packages = "onnx onnxruntime" if package == "onnxruntime" else package
        gbench.skip("has no module `%s`: install it with `python3 -m pip install %s`" % (missing.name, packages))


def of_torch(operation, inputs):
    import torch
    from torch.nn import functional

    arguments = [torch.from_numpy(array) for array in inputs]
    dimension = inputs[0].shape[-1]
    calls = {
        "LayerNorm": lambda x, scale, shift: functional.layer_norm(x, (dimension,), scale, shift, EPSILON),
        "GELU": lambda x: functional.gelu(x, approximate="tanh"),
        "Swish": functional.silu,
        "MSE": functional.mse_loss,
        "CrossEntropy": lambda x, classes: functional.cross_entropy(x.reshape(-1, dimension), classes.reshape(-1)),
    }

    def call():
        with torch.inference_mode():
            return calls[operation](*arguments)

    return call, lambda result: result.numpy()


def of_jax(operation, inputs):
    import jax
    import jax.numpy as jnp

    def layer_norm(x, scale, shift):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON) * scale + shift

    def cross_entropy(x, classes):
        return -jnp.take_along_axis(jax.nn.log_softmax(x), classes[..., None], axis=-1).mean()

    calls = {
        "LayerNorm": layer_norm,
        "GELU": lambda x: jax.nn.gelu(x, approximate=True),
        "Swish": jax.nn.silu,
        "MSE": lambda x, target: ((x - target) ** 2).mean(),
        "CrossEntropy": cross_entropy,
    }
    compiled = jax.jit(calls[operation])
    arguments = [jnp.asarray(array) for array in inputs]
    # The driver waits for what it returns.
    return lambda: compiled(*arguments), numpy.asarray


def of_onnxruntime(operation, inputs):
    """A graph of one operator of ONNX, or of the few that make it up."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    names = ["x", "y", "z"][: len(inputs)]
    flat = operation == "CrossEntropy"  # it wants the classes in the second dimension
    arrays = [array.reshape(-1, *array.shape[2:]) if flat else array for array in inputs]
    nodes = {
        "LayerNorm": [helper.make_node("LayerNormalization", names, ["out"], axis=-1, epsilon=EPSILON)],
        "GELU": [helper.make_node("Gelu", names, ["out"], approximate="tanh")],
        "Swish": [helper.make_node("Sigmoid", names, ["share"]), helper.make_node("Mul", ["x", "share"], ["out"])],
        "MSE": [
            helper.make_node("Sub", names, ["difference"]),
            helper.make_node("Mul", ["difference", "difference"], ["squares"]),
            helper.make_node("ReduceMean", ["squares"], ["out"], keepdims=0),
        ],
        "CrossEntropy": [helper.make_node("SoftmaxCrossEntropyLoss", names, ["out"])],
    }[operation]

    def told(name, array):
        kind = TensorProto.INT64 if array.dtype == numpy.int64 else TensorProto.FLOAT
        return helper.make_tensor_value_info(name, kind, array.shape)

    wanted = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, operation, [told(*pair) for pair in zip(names, arrays)], [wanted])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = dict(zip(names, arrays))
    return lambda: session.run(None, feed)[0], lambda result: numpy.asarray(result)
