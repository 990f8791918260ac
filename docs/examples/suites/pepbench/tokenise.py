"""Times a tokeniser of byte pairs: it learns its merges from one text and splits another by them."""

import argparse
import random
import time

from events import repeated, request, say

MERGES = 300


def text(source, count):
    """Words of an invented language, the n-th of them 1/n as frequent as the first, as in real ones."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    vocabulary = ["".join(source.choice(syllables) for _ in range(1 + n % 4)) for n in range(2000)]
    weights = [1 / (n + 1) for n in range(len(vocabulary))]
    return " ".join(source.choices(vocabulary, weights, k=count))


def joined(tokens, pair, new):
    """The tokens, with `new` in place of each such pair."""
    result, at = [], 0
    while at < len(tokens):
        if tokens[at : at + 2] == pair:
            result.append(new)
            at += 2
        else:
            result.append(tokens[at])
            at += 1
    return result


def pieces(sentence):
    """Bytes of each word with the blank before it: no token reaches across words."""
    words = sentence.split(" ")
    return [list((" " * (n > 0) + word).encode()) for n, word in enumerate(words)]


class Tokeniser:
    """Merges in the order in which they were learnt: the most frequent pair first (Gage 1994; Sennrich et al. 2016)."""

    def __init__(self, sentence):
        counts = {}
        for piece in pieces(sentence):
            counts[bytes(piece)] = counts.get(bytes(piece), 0) + 1
        words = [(list(word), count) for word, count in counts.items()]
        self.ranks, self.bytes = {}, [bytes([n]) for n in range(256)]
        for _ in range(MERGES):
            pairs = {}
            for word, count in words:
                for pair in zip(word, word[1:]):
                    pairs[pair] = pairs.get(pair, 0) + count
            if not pairs:
                break
            # The smaller pair of two that are equally frequent, so that the merges are the same everywhere.
            pair = min(pairs, key=lambda pair: (-pairs[pair], pair))
            new = len(self.bytes)
            self.ranks[pair] = new
            self.bytes.append(self.bytes[pair[0]] + self.bytes[pair[1]])
            words = [(joined(word, list(pair), new), count) for word, count in words]

    def encode(self, sentence):
        tokens = []
        for piece in pieces(sentence):
            while len(piece) > 1:
                found = [self.ranks[pair] for pair in zip(piece, piece[1:]) if pair in self.ranks]
                if not found:
                    break
                new = min(found)
                pair = next(pair for pair in zip(piece, piece[1:]) if self.ranks.get(pair) == new)
                piece = joined(piece, list(pair), new)
            tokens += piece
        return tokens

    def decode(self, tokens):
        return b"".join(self.bytes[token] for token in tokens).decode()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--words", type=int, default=5000, help="length of the text that is split")
    options = arguments.parse_args()

    say("stage", stage="setup")
    source = random.Random(request["seed"])
    tokeniser = Tokeniser(text(source, 4 * options.words))
    sentence = text(source, options.words)
    tokens = tokeniser.encode(sentence)
    say("metadata", tokens=len(tokens), bytes=len(sentence), notes={"merges": len(tokeniser.ranks)})

    def work():
        begin = time.perf_counter()
        result = tokeniser.encode(sentence)
        seconds = time.perf_counter() - begin
        return seconds, result

    measured = repeated(work, time.perf_counter)
    say("samples", values=[seconds for seconds, _ in measured])
    say("stage", stage="verify")
    right = all(result == tokens for _, result in measured) and tokeniser.decode(tokens) == sentence
    say("validation", passed=right, message="tokens give the text again" if right else "the text is not what it was")


main()
