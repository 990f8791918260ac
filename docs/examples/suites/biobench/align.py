"""Times an aligner on the reads of data/, from its start to its last line, and looks where it put them.

Usage: align.py minimap2|bwa
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from prepare import READS, READS_FILE, REFERENCE

LEAST = 0.95  # of the reads have to be back where they are from
NEAR = 10  # bases

COMMAND = {
    "minimap2": ["minimap2", "-t", "1", "-a", "-x", "sr", REFERENCE.replace(".fa", ".mmi"), READS_FILE],
    "bwa": ["bwa", "mem", "-t", "1", REFERENCE, READS_FILE],
}

request = json.loads(os.environ.get("GBENCH_REQUEST", '{"iterations": 3, "warmup": 1, "duration": 0}'))
channel = open(int(os.environ.get("GBENCH_FD", 1)), "w")


def say(event, **keys):
    print(json.dumps(dict(event=event, **keys)), file=channel, flush=True)


def version(aligner):
    """As the program says it: alone, or in its usage."""
    ran = subprocess.run([aligner, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    if ran.returncode != 0:
        ran = subprocess.run([aligner], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    found = re.search(r"\d+\.\d\S*", ran.stdout)
    return found.group() if found else "unknown"


def align(command, output, log):
    """Seconds of one whole run, whose alignments lie in `output`."""
    output.seek(0)
    output.truncate()
    begin = time.perf_counter()
    ran = subprocess.run(command, stdout=output, stderr=log)
    seconds = time.perf_counter() - begin
    if ran.returncode != 0:
        sys.exit("`%s` ended with exit code %d" % (" ".join(command), ran.returncode))
    return seconds


def found(output):
    """How many reads have an alignment, and how many one where they are from, by SAM's columns of the first of each."""
    output.seek(0)
    aligned = right = 0
    for line in output:
        if line.startswith(b"@"):
            continue
        name, flag, _, begin = line.split(b"\t", 4)[:4]
        # Further alignments of a read (0x100, 0x800) do not count, nor does one without a place (0x4).
        if int(flag) & 0x904:
            continue
        aligned += 1
        right += abs(int(begin) - int(name.split(b"_")[1])) <= NEAR
    return aligned, right


def main():
    if sys.argv[1:] not in [[aligner] for aligner in COMMAND]:
        sys.exit(__doc__)
    aligner = sys.argv[1]
    command = COMMAND[aligner]

    say("stage", stage="setup")
    say("metadata", items=READS, notes={aligner: version(aligner)})
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as log:
        try:
            say("stage", stage="warmup")
            for _ in range(request["warmup"]):
                align(command, output, log)
            say("stage", stage="measure")
            times, begin = [], time.perf_counter()
            while time.perf_counter() - begin < request["duration"] or len(times) < request["iterations"]:
                times.append(align(command, output, log))
        finally:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace"))
        say("samples", metric="reads_rate", unit="reads/s", values=[READS / seconds for seconds in times])

        say("stage", stage="verify")
        aligned, right = found(output)
        words = "%d of %d reads aligned, %d of them within %d bases of where they are from"
        words %= aligned, READS, right, NEAR
        errors = {"misplaced_share": 1 - right / READS}
        say("validation", passed=right >= LEAST * READS, errors=errors, message=words)


main()
