# The steps of .ci/run by name: what passes here passes in CI.

# List the recipes
default:
    @just --list --unsorted

# Every test, by the README's own command
test:
    .ci/run test

# Programs that tests run besides ours: an emulator of GitHub, a runner of workflows, linters, GitHub's Markdown, CUDA's compiler
tools:
    .ci/run tools

# The layout of the code
fmt:
    .ci/run fmt

# Lints of every target, warnings denied
clippy:
    .ci/run clippy

# The documentation builds, its links point somewhere
doc:
    .ci/run doc

# Every test in its own process, several to a core, with the seconds of each in target/nextest/ci/junit.xml
nextest:
    .ci/run nextest

# What takes too long for every change: 300 kills, hundreds of simulated suites, a browser, the real harnesses, torch. An hour and more
nightly:
    .ci/run nightly

# Five compilers (NVRTC 11.8 to 13.5) with five stand-in drivers and eleven cards: what runs, and what is said to install elsewhere. 230 MB of compilers
compilers:
    .ci/run compilers

# The tests and lints of cargo features: `parquet`, `bucket`
features:
    .ci/run features

# The queries of docs/columns.md in DuckDB, ClickHouse and pandas, which it installs (400 MB)
columns:
    .ci/run columns

# The pages of a simulated year in Chromium: nothing loaded, nothing run, readable for everybody; screenshots in target/ci/site
site:
    .ci/run site

# Shards as jobs of a real Slurm of one machine (Debian: slurm-wlm, munge; as root)
slurm:
    .ci/run slurm

# A history in a bucket of a real server (SeaweedFS): eight writers, 200 of them killed while requests fail
bucket:
    .ci/run bucket

# Plain English in comments, messages and documentation
prose:
    .ci/run prose

# The workflows, by zizmor and actionlint
lint-workflows:
    .ci/run lint-workflows

# Licences, banned crates and sources of the dependencies
deny:
    .ci/run deny

# All of the above, as CI runs it
ci:
    .ci/run

# Figures of gbench-ci itself: comparing, starting, measuring. No part of CI: a shared runner is no place to time
bench:
    cargo bench --no-fail-fast --bench compare --bench decide --bench harnesses --bench runner --bench startup

# The proof of the decision rule: every table of docs/evaluation.md. `just evaluate --quick` in a minute or two; GBENCH_CORPUS names a folder with real traces
evaluate *arguments:
    cargo bench --bench evaluate -- {{arguments}}

# How time and memory of `gbench-ci history` grow with the runs: 1,000, 10,000 and 100,000. `just history million`: only a million points as files
history *arguments:
    cargo bench --features parquet --bench history -- {{arguments}}

# What finds steps and drifts in a history of runs: the tables of docs/trend-evaluation.md, in some minutes. GBENCH_CORPUS names a folder with a real history
trends *arguments:
    cargo bench --bench trends -- {{arguments}}

# Which commit made it worse: how often `gbench-ci bisect` is right and what it costs, beside plain bisection: the tables of docs/bisect.md
bisect *arguments:
    cargo bench --bench bisect -- {{arguments}}

# The same end to end: 40 ranges of 64 commits through the binary; some minutes
bisect-endtoend:
    cargo test --release --test all -- --ignored --nocapture bisect::r2

# The promise with shared screens: 200 whole comparisons of a made-up harness in which nothing changed, at most 2 of them red
shared-screens:
    cargo test --release --lib -- --ignored --nocapture of_200_suites

# 3 % more work found by its instructions, with Google Benchmark, Criterion.rs and Valgrind themselves and both cores busy; half an hour
counts:
    cargo test --test all -- --ignored --nocapture counting_real::

# How often a curve of a serving benchmark is red, without a change and with one point slower: a table of docs/evaluation.md
curves:
    cargo test --release --test all -- --ignored --nocapture curves::the_table

# What sampling the machine costs while processes run, and whether it moves a median: the table of docs/monitoring.md
monitoring:
    cargo bench --bench monitoring

# The gate on this machine, end to end: 60 whole comparisons of a real repository, under load. `just endtoend --output FILE` goes on where it was cut; `--check` looks at the repository alone
endtoend *arguments:
    cargo bench --bench endtoend -- {{arguments}}

# What the gate adds to a CI job: seconds to the first benchmark, and from the last one to the comment in an emulator
overhead:
    cargo bench --bench overhead

# Gates killed at spread moments on a busy machine: what is left of them. Minutes; `cargo test` kills 8
kills count="300":
    GBENCH_TEST_KILLS={{count}} cargo test --test all kill_storm:: -- --nocapture

# The driver's tests with numpy, and with torch where it is installed
python:
    .ci/run python

# Installs torch from PyPI (3 GB to load, 6 GB on disk) below the build folder, and runs the driver's tests with it
torch:
    .ci/run torch

# What the sandbox costs a process: with and without it in turn
sandbox-cost binary="target/release/gbench-ci":
    benches/sandbox_cost.py {{binary}}

# The driver's clock beside timeit, and what it adds to the interpreter's start. GBENCH_PYTHON names an interpreter with numpy
python-timing:
    ${GBENCH_PYTHON:-python3} benches/python_timing.py

# Interpreter starts of 100 cases behind a heavy import, in shared processes and in one each
python-starts:
    cargo test --release --test all -- --ignored --nocapture python_starts::

# 100 whole comparisons of six kernels on the stand-in card: how often a green suite is red, and how often 3 % are found. A quarter of an hour
gpu-gate:
    cargo test --test all -- --ignored --nocapture gpu_gate_table::

# On a machine with a GPU: everything that is done with one, as a table. Says so and exits 77 where there is none
gpu binary="target/release/gbench-ci":
    tests/gpu/accept.sh {{binary}}
