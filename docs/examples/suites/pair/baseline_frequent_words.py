"""The most frequent words of a text, by a dictionary and a sort of everything in it."""
from words import COUNT, Words


class FrequentWords(Words):
    def benchmark_fn(self):
        counts = {}
        for word in self.words:
            if word in counts:
                counts[word] += 1
            else:
                counts[word] = 1
        ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        self.found = ordered[:COUNT]
