import json, os, time

request = json.loads(os.environ.get("GBENCH_REQUEST", '{"iterations": 5, "warmup": 1}'))
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")
say = lambda event, **keys: print(json.dumps({"event": event, **keys}), file=channel, flush=True)
work = lambda: sorted(i * 7919 % 100_003 for i in range(20_000))
times = []

def measure(iterations):
    for _ in range(iterations):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)

measure(request["warmup"])
times.clear()
say("stage", stage="measure")
if request.get("turns"):
    say("yield")  # ready
    for line in open(int(os.environ["GBENCH_TURN_FD"])):  # waits for a turn; ends with the last one
        measure(json.loads(line)["turn"]["iterations"])
        say("yield")  # done: the other's turn
else:
    measure(request["iterations"])
say("samples", values=times)
