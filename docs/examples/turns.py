import json, os, time

request = json.loads(os.environ.get("GBENCH_REQUEST", '{"iterations": 5, "warmup": 1}'))
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")
say = lambda event, **keys: print(json.dumps({"event": event, **keys}), file=channel, flush=True)

def turns():  # how many iterations to run now, again and again
    if not request.get("turns"):
        yield request["iterations"]  # alone: all at once
        return
    with open(int(os.environ["GBENCH_TURN_FD"])) as gate:
        say("yield")  # ready
        for line in gate:  # waits; ends when the gate closes it
            yield json.loads(line)["turn"]["iterations"]
            say("yield")  # done: the other's turn

def work():
    return sorted(i * 7919 % 100_003 for i in range(20_000))

for _ in range(request["warmup"]):
    work()
say("stage", stage="measure")
times = []
for iterations in turns():
    for _ in range(iterations):
        begin = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - begin)
say("samples", values=times)
say("validation", passed=all(a <= b for a, b in zip(result, result[1:])))
