
import json, os, sys
import asv
from asv import machine, main, runner
from asv.commands import run
from asv.config import Config
out = sys.argv.pop(1)
def from_json(cls, words, made=Config.from_json.__func__):
    conf = made(cls, words)
    conf.results_dir = out
    return conf
Config.from_json = classmethod(from_json)
def load(cls, *args, **words):
    here = cls()
    here.__dict__.update(cls.get_defaults(), machine="here")
    return here
machine.Machine.load = classmethod(load)
def measure(benchmarks, env, *args, measured=runner.run_benchmarks, **words):
    result = measured(benchmarks, env, *args, **words)
    result._filename, result._date = "results.json", 0
    result.save(out)
    beside = {
        "asv": asv.__version__,
        "selected": {name: benchmarks.benchmark_selection.get(name) for name in benchmarks},
        "attributes": words.get("extra_params") or {},
        "stderr": dict(result.stderr),
    }
    with open(os.path.join(out, "beside.json"), "w") as file:
        json.dump(beside, file)
    return result
run.run_benchmarks = measure
sys.exit(main.main())
