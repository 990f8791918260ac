#!/bin/sh
# Runs hpcc, which has HPL within it, in a folder of its own, and prints HPL's part of what it wrote.
# Usage: hpl.sh N NB P Q; what is left out is 2000 128 1 1.
set -eu
n=${1:-2000} nb=${2:-128} p=${3:-1} q=${4:-1}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' INT TERM
cd "$folder"

# hpcc reads the first word of each line; the order of the lines is HPL's.
cat >hpccinf.txt <<END
first line, not read
second line, not read
- the output's name, which hpcc chooses itself
- the output's device, likewise
1 size
$n unknowns
1 blocking
$nb columns in a block
0 processes by rows
1 grid
$p rows of processes
$q columns of processes
16.0 the residual has to be below this
1 panel factorisation
2 right-looking
1 end of recursion
4 columns
1 way to divide a panel
2 parts
1 recursive factorisation
1 Crout
1 broadcast
1 ring, modified
1 lookahead
1 panel ahead
2 swap: mixed
64 columns, from which on it is the long one
0 L1 transposed
0 U transposed
1 with equilibration
8 doubles: alignment
END

# Under mpirun even for one process: alone, hpcc leaves a daemon of Open MPI behind. The variables let Open MPI have more
# processes than cores, and work for root.
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun -np $((p * q)) hpcc >messages 2>&1 || status=$?
cat messages >&2
if [ "${status:-0}" -ne 0 ]; then
    echo "hpcc ended with exit code $status" >&2
    exit 1
fi

# hpcc itself ends with 0 whatever HPL found, so its words decide.
sed -n '/^Begin of HPL section/,/^End of HPL section/p' hpccoutf.txt >hpl.txt
cat hpl.txt
if grep -q FAILED hpl.txt; then
    echo "HPL's residual check failed: the solution is wrong, and its rate means nothing" >&2
    exit 1
fi
if ! grep -q PASSED hpl.txt; then
    echo "HPL checked no solution; its words stand above" >&2
    exit 1
fi
