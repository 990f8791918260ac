"""Runs a command that prints protocol events to stdout ten times; shows how far its processes lie apart."""
import collections, json, statistics, subprocess, sys

medians = collections.defaultdict(list)
for _ in range(10):
    lines = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout.splitlines()
    samples = collections.defaultdict(list)
    for event in map(json.loads, lines):
        if event["event"] == "samples":
            samples[event["metric"], event["unit"]] += event["values"]
    for metric, values in samples.items():
        medians[metric].append(statistics.median(values))
for (metric, unit), values in medians.items():
    centre = statistics.median(values)
    apart, variation = (max(values) - min(values)) / centre, statistics.stdev(values) / statistics.mean(values)
    print(f"{metric:12} {centre:10.4g} {unit:8} range {apart:6.1%}  coefficient of variation {variation:6.1%}")
