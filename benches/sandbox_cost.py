#!/usr/bin/env python3
"""What the sandbox costs a process: comparisons of one commit with itself, with and without it in turn.

    benches/sandbox_cost.py GBENCH_CI_BINARY [COMPARISONS]

Each comparison starts about 1,000 processes of `true`. Prints milliseconds a process, and the median of the differences.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CASES = 13


def compared(binary, folder, flags):
    """Milliseconds a process of one comparison."""
    began = time.monotonic()
    command = [binary, "compare", "HEAD..HEAD", "--rounds", "40", "--order-seed", "3", "--quiet", *flags]
    subprocess.run(command, cwd=folder, capture_output=True)
    seconds = time.monotonic() - began
    newest = max(folder.glob("artifacts/2*"))
    records = [json.loads((newest / side / "results/record.json").read_text()) for side in ("base", "head")]
    return 1e3 * seconds / sum(len(case["processes"]) for record in records for case in record["cases"])


def main(binary, comparisons="12"):
    binary = str(pathlib.Path(binary).resolve())
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        suite = '[suite]\nname = "s"\n[gate]\nwatch = false\ncontrols = 0\n'
        suite += "".join(f'[[benchmark]]\nid = "c{case}"\ncommand = ["true"]\n' for case in range(CASES))
        (folder / "gbench.toml").write_text(suite)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
            subprocess.run([*git, *words], cwd=folder, check=True)
        compared(binary, folder, [])
        within, without = [], []
        for turn in range(int(comparisons)):
            ways = [(within, []), (without, ["--no-sandbox"])]
            for figures, flags in ways if turn % 2 else reversed(ways):
                figures.append(compared(binary, folder, flags))
        more = [a - b for a, b in zip(within, without)]
        print("| ms a process | median | least | most |\n|---|---|---|---|")
        for name, figures in (("without a sandbox", without), ("in a sandbox", within), ("difference", more)):
            print(f"| {name} | {statistics.median(figures):.3f} | {min(figures):.3f} | {max(figures):.3f} |")


main(*sys.argv[1:])
