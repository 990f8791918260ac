"""The samples of a file in the text format of OpenMetrics, by name, as the parser of Prometheus' Python client reads them.
It refuses what the format forbids: series that are not adjacent, times that go back, reserved names, a missing end.
"""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

samples = {}
with open(sys.argv[1], encoding="utf-8") as file:
    for family in text_string_to_metric_families(file.read()):
        for sample in family.samples:
            found = {"labels": sample.labels, "value": sample.value, "timestamp": float(sample.timestamp)}
            samples.setdefault(sample.name, []).append(found)
json.dump(samples, sys.stdout)
