"""The child protocol's few lines that both programs need: the request, and a way to say an event."""

import json
import os

DEFAULTS = '{"iterations": 5, "warmup": 1, "duration": 0, "burnin": 0, "cold": false, "seed": 1337}'
request = json.loads(os.environ.get("GBENCH_REQUEST", DEFAULTS))
_channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")


def say(event, **keys):
    print(json.dumps(dict(event=event, **keys)), file=_channel, flush=True)


def repeated(work, clock):
    """Results of the measured iterations of `work`, after those that warm up; by time where the request gives one."""
    results = []
    for stage, turns, seconds in [
        ("warmup", request["warmup"], request["burnin"]),
        ("measure", request["iterations"], request["duration"]),
    ]:
        if stage == "warmup" and request["cold"]:
            continue
        say("stage", stage=stage)
        results, begin = [], clock()
        while clock() - begin < seconds if seconds else len(results) < turns:
            results.append(work())
    return results
