"""Writes a genome and reads of it into data/, the same on every machine, and lets the aligner index the genome.

Usage: prepare.py minimap2|bwa
"""

import os
import random
import subprocess
import sys

SEED = 1337
GENOME = 1_000_000  # bases; a tenth of them in copies, as real genomes repeat themselves
READS = 20_000
LENGTH = 150
ERRORS = 0.01  # of the bases of a read are read wrongly

FOLDER = "data"
REFERENCE = os.path.join(FOLDER, "reference.fa")
READS_FILE = os.path.join(FOLDER, "reads.fq")

INDEX = {
    "minimap2": ["minimap2", "-x", "sr", "-d", os.path.join(FOLDER, "reference.mmi"), REFERENCE],
    "bwa": ["bwa", "index", REFERENCE],
}


def genome(source):
    bases = "".join(source.choice("ACGT") for _ in range(GENOME * 9 // 10))
    while len(bases) < GENOME:
        begin = source.randrange(len(bases) - 1000)
        bases += mutated(source, bases[begin : begin + 1000], 0.05)
    return bases[:GENOME]


def mutated(source, bases, share):
    changed = list(bases)
    for at in range(len(changed)):
        if source.random() < share:
            changed[at] = source.choice("ACGT".replace(changed[at], ""))
    return "".join(changed)


def reads(source, bases):
    """Records of FASTQ whose names say where each read is from; every other one is of the other strand."""
    complement = str.maketrans("ACGT", "TGCA")
    for number in range(READS):
        begin = source.randrange(GENOME - LENGTH)
        read = mutated(source, bases[begin : begin + LENGTH], ERRORS)
        if number % 2:
            read = read.translate(complement)[::-1]
        yield "@%d_%d\n%s\n+\n%s\n" % (number, begin + 1, read, "I" * LENGTH)


def written(path, lines):
    """Under another name first, so that what is there is whole."""
    with open(path + ".part", "w") as file:
        file.writelines(lines)
    os.replace(path + ".part", path)


def main():
    if sys.argv[1:] not in [[aligner] for aligner in INDEX]:
        sys.exit(__doc__)
    os.makedirs(FOLDER, exist_ok=True)
    source = random.Random(SEED)
    bases = genome(source)
    lines = (bases[at : at + 80] + "\n" for at in range(0, GENOME, 80))
    written(REFERENCE, [">genome\n", *lines])
    written(READS_FILE, reads(source, bases))
    subprocess.run(INDEX[sys.argv[1]], check=True)


if __name__ == "__main__":
    main()
