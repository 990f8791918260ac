import json, os, time

request = json.loads(os.environ.get("GBENCH_REQUEST", '{"iterations": 5, "warmup": 1, "params": {}}'))
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")  # 1: stdout, when run by hand
say = lambda event, **keys: print(json.dumps({"event": event, **keys}), file=channel, flush=True)

say("stage", stage="setup")
n = request["params"].get("n", 100_000)
numbers = [i * 7919 % n for i in range(n)]
say("metadata", items=n)
for stage, turns in ("warmup", request["warmup"]), ("measure", request["iterations"]):
    say("stage", stage=stage)
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        result = sorted(numbers)
        times.append(time.perf_counter() - begin)
say("samples", values=times)
say("validation", passed=all(a <= b for a, b in zip(result, result[1:])))
