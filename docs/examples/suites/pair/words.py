"""What both sides of the pair share: the text and the check of the answer."""
import random

COUNT = 10
WORDS = 20000
VOCABULARY = 2000


class Words:
    def setup(self):
        # Of a generator of its own, so that both sides count the same words.
        generator = random.Random(7)
        vocabulary = ["w%d" % number for number in range(VOCABULARY)]
        # Frequent words are far more frequent than rare ones, as in a text.
        weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
        self.words = generator.choices(vocabulary, weights, k=WORDS)
        self.found = None

    def validate_result(self):
        """A text where the answer is wrong; None where it is right."""
        times = {}
        for word in self.words:
            times[word] = times.get(word, 0) + 1
        wanted = sorted(times, key=lambda word: (-times[word], word))[:COUNT]
        if self.found != [(word, times[word]) for word in wanted]:
            return "the most frequent words are %s, and not %s" % (wanted, self.found)

    def get_workload_metadata(self):
        return {"samples_per_iteration": WORDS}

    def teardown(self):
        self.words = None
