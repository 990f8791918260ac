"""One operator, by one implementation, on one shape: a case of the sweep.

`formulas.py` has the implementations in numpy, `others.py` those of other packages. All get the same input and have to give the
result that `formulas.reference` gives in double precision.
"""
import gbench

try:
    import numpy
except ImportError:
    gbench.skip("has no module `numpy`: install it with `python3 -m pip install numpy`")

import formulas
import others

TOLERANCE = 1e-4  # of float32, relative to the largest entry


class Operator:
    def __init__(self, operation, implementation, batch_size, sequence_length, tensor_dimension):
        self.operation, self.implementation = operation, implementation
        self.shape = batch_size, sequence_length, tensor_dimension

    def setup(self):
        generator = numpy.random.default_rng(3)
        self.inputs = formulas.inputs(self.operation, self.shape, generator)
        if self.implementation in formulas.IMPLEMENTATIONS:
            function = formulas.IMPLEMENTATIONS[self.implementation][self.operation]
            inputs = self.inputs
            self.call, self.result = (lambda: function(*inputs)), numpy.asarray
        else:
            self.call, self.result = others.prepare(self.implementation, self.operation, self.inputs)

    def benchmark_fn(self):
        return self.call()

    def validate_result(self):
        wanted = formulas.reference(self.operation, self.inputs)
        found = self.result(self.call())
        if found.shape != wanted.shape:
            return "the result has the shape %s and not %s" % (found.shape, wanted.shape)
        error = numpy.abs(found - wanted).max() / max(1.0, numpy.abs(wanted).max())
        if not error <= TOLERANCE:
            return "it is off by %.2g of the largest entry; %.2g is allowed" % (error, TOLERANCE)

    def get_workload_metadata(self):
        # What has to be read and written at least.
        written = 4 if self.operation in formulas.LOSSES else self.inputs[0].nbytes
        return {"bytes_per_iteration": sum(array.nbytes for array in self.inputs) + written}
