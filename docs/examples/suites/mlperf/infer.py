"""A small model of dense layers under LoadGen, MLPerf's load generator: which sample comes when, and whether the run
counts, is LoadGen's word. The figures are those of its summary, which is printed as it stands.

Speaks the child protocol; by hand: python3 infer.py SingleStream
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time

DEFAULTS = '{"duration": 2.0, "warmup": 10, "seed": 1337}'
request = json.loads(os.environ.get("GBENCH_REQUEST", DEFAULTS))
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")


def say(event, **keys):
    print(json.dumps(dict(event=event, **keys)), file=channel, flush=True)


try:
    import mlperf_loadgen as loadgen
    import numpy
except ImportError as error:
    advice = "install it with `python3 -m pip install mlcommons-loadgen numpy`"
    say("skip", reason="%s has no module `%s`: %s" % (sys.executable or "python3", error.name, advice))
    sys.exit(0)

WIDTHS = [256, 1024, 1024, 16]  # inputs, hidden, hidden, classes
SAMPLES = 1024
BATCH = 64  # samples that the model takes at once, where so many are waiting


class Model:
    """Dense layers with ReLU between them. Weights are random by seed: the speed is that of trained ones."""

    def __init__(self, seed):
        source = numpy.random.RandomState(seed)
        sizes = list(zip(WIDTHS, WIDTHS[1:]))
        self.layers = [source.standard_normal(size).astype("f4") / size[0] ** 0.5 for size in sizes]
        self.inputs = source.standard_normal((SAMPLES, WIDTHS[0])).astype("f4")

    def classes(self, indices, precision="f4"):
        values = self.inputs[indices].astype(precision)
        for layer in self.layers[:-1]:
            values = numpy.maximum(values @ layer.astype(precision, copy=False), 0)
        return (values @ self.layers[-1].astype(precision, copy=False)).argmax(axis=1).astype("i4")


class Expected:
    """Seconds that a sample takes alone, and in a batch, by a first try of both."""

    def __init__(self, model):
        self.one = self.least(lambda: model.classes([0]))
        self.of_batch = self.least(lambda: model.classes(list(range(BATCH)))) / BATCH

    @staticmethod
    def least(work):
        times = []
        for _ in range(max(request["warmup"], 100)):
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
        return min(times)


def settings(options, mode, expected):
    chosen = loadgen.TestSettings()
    chosen.scenario = getattr(loadgen.TestScenario, options.scenario)
    chosen.mode = mode
    # LoadGen's own rules want minutes; these are the ones by which it calls a run of this suite valid.
    chosen.min_duration_ms = int(1000 * (request["duration"] or 2))
    chosen.min_query_count = 100
    chosen.single_stream_target_latency_percentile = 0.9
    # How many samples it makes ready: twice as many as the warm-up would get through.
    chosen.single_stream_expected_latency_ns = int(1e9 * expected.one / 2)
    chosen.offline_expected_qps = 2 / expected.of_batch
    chosen.server_target_qps = options.rate
    chosen.server_target_latency_ns = int(1e6 * options.target_ms)
    chosen.server_target_latency_percentile = 0.99
    # The same samples in the same order, at the same times, on every run.
    chosen.qsl_rng_seed = request["seed"]
    chosen.sample_index_rng_seed = request["seed"] + 1
    chosen.schedule_rng_seed = request["seed"] + 2
    return chosen


def run(model, options, mode, expected):
    """One test of LoadGen's: what it wrote as summary, and as accuracy log."""

    def issue(queries):
        for begin in range(0, len(queries), BATCH):
            batch = queries[begin : begin + BATCH]
            answers = model.classes([query.index for query in batch])
            place, width = answers.ctypes.data, answers.itemsize
            responses = [
                loadgen.QuerySampleResponse(query.id, place + width * i, width) for i, query in enumerate(batch)
            ]
            loadgen.QuerySamplesComplete(responses)

    def nothing(*_):
        pass

    with tempfile.TemporaryDirectory() as folder:
        output = loadgen.LogOutputSettings()
        output.outdir = folder
        log = loadgen.LogSettings()
        log.log_output = output
        sut = loadgen.ConstructSUT(issue, nothing)
        samples = loadgen.ConstructQSL(SAMPLES, SAMPLES, nothing, nothing)
        loadgen.StartTestWithLogSettings(sut, samples, settings(options, mode, expected), log)
        loadgen.DestroyQSL(samples)
        loadgen.DestroySUT(sut)
        texts = []
        for name in "mlperf_log_summary.txt", "mlperf_log_accuracy.json":
            with open(os.path.join(folder, name)) as file:
                texts.append(file.read())
    return texts


def figures(scenario, summary):
    """Metric, value and unit of what LoadGen's summary says of the scenario; the rest of it stays in the log."""
    rates = [
        ("Samples per second", "samples_rate"),
        ("Completed samples per second", "completed_rate"),
        ("Scheduled samples per second", "scheduled_rate"),
    ]
    latencies = [("Mean latency (ns)", "latency_mean")]
    latencies += [("%s percentile latency (ns)" % p, "latency_p%g" % float(p)) for p in ("50.00", "90.00", "99.00")]
    # An offline query is the whole run: its latency says nothing that the rate does not.
    latencies = [] if scenario == "Offline" else latencies
    lines = [(words, metric, "samples/s") for words, metric in rates]
    lines += [(words, metric, "ns") for words, metric in latencies]
    for words, metric, unit in lines:
        match = re.search(r"^%s\s*: *([0-9.]+)\s*$" % re.escape(words), summary, re.MULTILINE)
        if match:
            yield metric, float(match.group(1)), unit


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("scenario", choices=["Offline", "SingleStream", "Server"])
    arguments.add_argument("--rate", type=float, default=400, help="Server: samples a second")
    arguments.add_argument("--target-ms", type=float, default=100, help="Server: latency that 99 of 100 must keep")
    options = arguments.parse_args()

    say("stage", stage="setup")
    model = Model(request["seed"])
    say("metadata", notes={"numpy": numpy.__version__, "model": "x".join(map(str, WIDTHS)), "batch": BATCH})
    say("stage", stage="warmup")
    expected = Expected(model)

    say("stage", stage="measure")
    summary, _ = run(model, options, loadgen.TestMode.PerformanceOnly, expected)
    print(summary, file=sys.stderr if channel.fileno() == 1 else sys.stdout, flush=True)
    verdict = re.search(r"^Result is : (\w+)", summary, re.MULTILINE)
    if not verdict or verdict.group(1) != "VALID":
        reasons = re.findall(r"^  (.* satisfied *: *no)\b", summary, re.MULTILINE | re.IGNORECASE)
        words = "; ".join(" ".join(reason.split()) for reason in reasons) or "its summary is in the process's log"
        sys.exit("LoadGen calls the result %s: %s" % (verdict.group(1) if verdict else "nothing", words))
    for metric, value, unit in figures(options.scenario, summary):
        say("sample", metric=metric, value=value, unit=unit)

    say("stage", stage="verify")
    _, answers = run(model, options, loadgen.TestMode.AccuracyOnly, expected)
    exact = model.classes(list(range(SAMPLES)), "f8")
    given = {}
    for answer in json.loads(answers):
        given[answer["qsl_idx"]] = int.from_bytes(bytes.fromhex(answer["data"]), "little")
    right = sum(int(given.get(index, -1) == exact[index]) for index in range(SAMPLES))
    passed = right >= 0.99 * SAMPLES
    words = "%d of %d answers are those of the same model in double precision" % (right, SAMPLES)
    say("validation", passed=passed, errors={"wrong_share": 1 - right / SAMPLES}, message=words)


main()
