"""Prints the IR of every program of the tests and examples, reads it back and prints it again: the bytes must be equal.

usage: round_trip.py GRADC ROOT [STAGE ..]   a stage is the name of a pass to stop after; none: after all
"""
import pathlib
import subprocess
import sys

gradc, root, stages = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:] or [None]


def run(*args):
    return subprocess.run([gradc, *args], capture_output=True, text=True)


compared = 0
faults = []
for path in sorted([*root.glob("tests/**/*.ad"), *root.glob("examples/**/*.ad")]):
    for stage in stages:
        first = run(str(path), "--emit=ir", *([f"--after={stage}"] if stage else []))
        if first.returncode:
            continue  # a program that is meant to be refused
        out = pathlib.Path(f"round_trip.{path.stem}.ir")
        out.write_text(first.stdout)
        again = run(str(out), "--emit=ir")
        out.unlink()
        compared += 1
        if again.stdout != first.stdout:
            faults.append(f"{path} after {stage or 'all passes'}: {again.stderr.strip()[:200]}")
print("\n".join(faults))
print(f"{compared - len(faults)} of {compared} read back byte for byte")
sys.exit(1 if faults or compared < 200 else 0)
