"""Reads a prompt and writes tokens, one after the other, as a server of a language model does.

`benchmark_fn()` returns its own inference times; the driver joins those of all measured calls to the metrics `ttft` and `tpot`.
"""
import random
import time

VOCABULARY = 64
WIDTH = 24


class Model:
    """One layer of attention with random weights. `seen` is its cache: a key and a value for each token."""

    def __init__(self, seed):
        generator = random.Random(seed)

        def matrix(rows, columns):
            return [[generator.gauss(0, columns ** -0.5) for _ in range(columns)] for _ in range(rows)]

        self.embedding = matrix(VOCABULARY, WIDTH)
        self.query, self.key, self.value = matrix(WIDTH, WIDTH), matrix(WIDTH, WIDTH), matrix(WIDTH, WIDTH)
        self.output = matrix(VOCABULARY, WIDTH)

    def read(self, token, seen):
        """Takes a token into the cache, and gives the token that follows."""
        state = self.embedding[token]
        seen.append((product(self.key, state), product(self.value, state)))
        query = product(self.query, state)
        weights = [2.0 ** dot(query, key) for key, _ in seen]
        total = sum(weights)
        mixed = [
            entry + sum(weight * value[column] for weight, (_, value) in zip(weights, seen)) / total
            for column, entry in enumerate(state)
        ]
        scores = product(self.output, mixed)
        return max(range(VOCABULARY), key=scores.__getitem__)


class Decode:
    def __init__(self, prompt, tokens):
        self.prompt_length, self.tokens = prompt, tokens

    def setup(self):
        self.model = Model(seed=11)
        generator = random.Random(12)
        self.prompt = [generator.randrange(VOCABULARY) for _ in range(self.prompt_length)]

    def benchmark_fn(self):
        begin = time.perf_counter()
        seen, written = [], []
        for token in self.prompt:
            following = self.model.read(token, seen)
        first = time.perf_counter()
        written.append(following)
        while len(written) < self.tokens:
            written.append(self.model.read(written[-1], seen))
        end = time.perf_counter()
        self.written = written
        return {
            "ttft_times_ms": [(first - begin) * 1e3],
            "tpot_times_ms": [(end - first) * 1e3 / (self.tokens - 1)],
        }

    def validate_result(self):
        """The last tokens have to be those that the model gives when it reads all of the text anew."""
        for count in range(self.tokens):
            seen = []
            for token in self.prompt + self.written[:count]:
                following = self.model.read(token, seen)
            if following != self.written[count]:
                return "token %d is %d, and %d without the cache" % (count, self.written[count], following)

    def get_workload_metadata(self):
        return {"requests_per_iteration": 1, "tokens_per_iteration": self.tokens}


def dot(left, right):
    return sum(a * b for a, b in zip(left, right))


def product(matrix, vector):
    return [dot(row, vector) for row in matrix]
