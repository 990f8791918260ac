"""Times a small transformer that writes token by token: TTFT, the time to the first token of every sequence, in which
the prompt is read, and TPOT, the time that each further token takes (of every sequence of the batch at once)."""

import argparse
import math
import operator
import random
import time

from events import repeated, request, say

VOCABULARY, WIDTH, HEADS, LAYERS = 256, 32, 4, 2
EACH = WIDTH // HEADS


def dot(a, b):
    return sum(map(operator.mul, a, b))


def times(matrix, vector):
    return [dot(row, vector) for row in matrix]


def plus(a, b):
    return list(map(operator.add, a, b))


def normed(vector):
    scale = 1 / math.sqrt(dot(vector, vector) / WIDTH + 1e-6)
    return [scale * value for value in vector]


def softmax(values):
    highest = max(values)
    powers = [math.exp(value - highest) for value in values]
    total = sum(powers)
    return [power / total for power in powers]


class Model:
    """Attention and a ReLU layer, twice, with residuals; random weights by seed, shared by input and output."""

    def __init__(self, source):
        def matrix(rows, columns, scale):
            return [[source.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]

        usual = 1 / math.sqrt(WIDTH)
        self.embedding = matrix(VOCABULARY, WIDTH, 1)
        self.layers = [
            {
                "query": matrix(WIDTH, WIDTH, usual),
                "key": matrix(WIDTH, WIDTH, usual),
                "value": matrix(WIDTH, WIDTH, usual),
                "out": matrix(WIDTH, WIDTH, usual),
                "up": matrix(4 * WIDTH, WIDTH, usual),
                "down": matrix(WIDTH, 4 * WIDTH, usual / 2),
            }
            for _ in range(LAYERS)
        ]

    @staticmethod
    def position(at):
        angles = [at / 1000 ** (2 * n / WIDTH) for n in range(WIDTH // 2)]
        return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]

    def read(self, token, cache):
        """Hidden state behind one more token; `cache` has keys and values of those before, and gets its own."""
        at = len(cache[0][0])
        state = plus(self.embedding[token], self.position(at))
        for layer, (keys, values) in zip(self.layers, cache):
            inner = normed(state)
            keys.append(times(layer["key"], inner))
            values.append(times(layer["value"], inner))
            state = plus(state, times(layer["out"], attended(times(layer["query"], inner), keys, values)))
            inner = [max(value, 0.0) for value in times(layer["up"], normed(state))]
            state = plus(state, times(layer["down"], inner))
        return normed(state)

    def next(self, state):
        scores = times(self.embedding, state)
        return scores.index(max(scores))

    def whole(self, tokens):
        """Hidden state behind the last of the tokens, every layer over all of them at once: no cache."""
        states = [plus(self.embedding[token], self.position(at)) for at, token in enumerate(tokens)]
        for layer in self.layers:
            inner = [normed(state) for state in states]
            keys = [times(layer["key"], vector) for vector in inner]
            values = [times(layer["value"], vector) for vector in inner]
            queries = [times(layer["query"], vector) for vector in inner]
            for at, query in enumerate(queries):
                found = attended(query, keys[: at + 1], values[: at + 1])
                state = plus(states[at], times(layer["out"], found))
                inside = [max(value, 0.0) for value in times(layer["up"], normed(state))]
                states[at] = plus(state, times(layer["down"], inside))
        return normed(states[-1])


def attended(query, keys, values):
    result = []
    for begin in range(0, WIDTH, EACH):
        part = slice(begin, begin + EACH)
        weights = softmax([dot(query[part], key[part]) / math.sqrt(EACH) for key in keys])
        columns = zip(*(value[part] for value in values))
        result += [dot(weights, column) for column in columns]
    return result


def answer(model, prompts, count):
    """The `count` likeliest tokens after each prompt; seconds to the first, and for each further one."""
    begin = time.perf_counter()
    caches, last = [], []
    for prompt in prompts:
        cache = [([], []) for _ in range(LAYERS)]
        for token in prompt:
            state = model.read(token, cache)
        caches.append(cache)
        last.append(model.next(state))
    first = time.perf_counter()
    written = [[token] for token in last]
    for _ in range(count - 1):
        last = [model.next(model.read(token, cache)) for token, cache in zip(last, caches)]
        for tokens, token in zip(written, last):
            tokens.append(token)
    end = time.perf_counter()
    return first - begin, (end - first) / (count - 1), written


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--batch", type=int, default=1, help="sequences that are written side by side")
    arguments.add_argument("--prompt", type=int, default=24, help="tokens that are read")
    arguments.add_argument("--tokens", type=int, default=24, help="tokens that are written, at least 2")
    options = arguments.parse_args()
    if min(options.batch, options.prompt) < 1 or options.tokens < 2:
        arguments.error("a batch and a prompt have at least 1, and 2 tokens are written at least")

    say("stage", stage="setup")
    source = random.Random(request["seed"])
    model = Model(source)
    prompts = [[source.randrange(VOCABULARY) for _ in range(options.prompt)] for _ in range(options.batch)]
    say("metadata", notes={"width": WIDTH, "layers": LAYERS, "heads": HEADS, "vocabulary": VOCABULARY})

    measured = repeated(lambda: answer(model, prompts, options.tokens), time.perf_counter)
    say("samples", metric="ttft", unit="ms", values=[1e3 * first for first, _, _ in measured])
    say("samples", metric="tpot", unit="ms", values=[1e3 * each for _, each, _ in measured])
    rates = [options.batch / each for _, each, _ in measured]
    say("samples", metric="decode_rate", unit="tokens/s", values=rates)

    say("stage", stage="verify")
    written = measured[0][2]
    repeats = all(tokens == written for _, _, tokens in measured)
    # Without the cache, the last token follows from all before it.
    alike = all(
        model.next(model.whole(prompt + tokens[:-1])) == tokens[-1] for prompt, tokens in zip(prompts, written)
    )
    wrong = [words for fine, words in [(repeats, "iterations differ"), (alike, "cached and whole differ")] if not fine]
    say("validation", passed=not wrong, message="; ".join(wrong) or "cached and whole agree")


main()
