#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the project and sees whether the tests catch it.

usage: mutants.py ROOT WORK [--least=PERCENT] [--only=TEXT] [--fits[=CC]] FILE ..

A FILE is a list of faults:
    # comment
    file passes/linear.c
    test tests/grad/masks.ad ..      what tells the faults in that file, as far as one knows
    mutant NAME
    - lines as they stand in that file, once
    + lines that stand there instead
The last line of each side may be the beginning of one.  A fault counts as caught when the copy no longer compiles a
program that it should, when the fuzzer finds something among its programs, or when one of the tests of derivatives
fails: the test that has the name of the fault, those of its file and the fuzzer for every fault, then the others for
those that are left.
Exit status 0 where PERCENT (95) of them are caught and every entry fits the sources.  --fits: only that they fit, which
takes no time; with a compiler, that they compile too.
"""

import os
import shutil
import subprocess
import sys
import time

ROOMS = ["Makefile", "ir", "frontend", "passes", "codegen", "driver", "runtime", "tools", "lib", "tests"]
FUZZ = ["-n", "400", "-s", "1", "--native=0", "--first"]
TESTS = ["tests/fuzz/found", "tests/grad", "tests/cases", "tests/programs/exact_zeros.ad"]
SECONDS = 900


class Mutant:
    def __init__(self, file, tests, name):
        self.file, self.tests, self.name, self.old, self.new = file, tests, name, [], []


def read_list(path):
    mutants, file, tests = [], None, []
    for number, line in enumerate(open(path).read().splitlines(), 1):
        if line.startswith("file "):
            file, tests = line[5:].strip(), []
        elif line.startswith("test "):
            tests = line[5:].split()
        elif line.startswith("mutant "):
            mutants.append(Mutant(file, tests, line[7:].strip()))
        elif line[:1] == "-":
            mutants[-1].old.append(line[2:])
        elif line[:1] == "+":
            mutants[-1].new.append(line[2:])
        elif line.strip() and not line.startswith("#"):
            sys.exit(f"{path}:{number}: what is '{line}'?")
    return mutants


def run(command, directory, **more):
    """Whether it succeeds; what takes too long does not."""
    try:
        return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=SECONDS, **more).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Copy:
    def __init__(self, root, work):
        self.tree, self.build = os.path.join(work, "tree"), os.path.join(work, "build")
        shutil.rmtree(self.tree, ignore_errors=True)
        os.makedirs(self.tree)
        for room in ROOMS:
            source, target = os.path.join(root, room), os.path.join(self.tree, room)
            shutil.copytree(source, target) if os.path.isdir(source) else shutil.copy2(source, target)
        self.fuzzer = os.path.join(self.build, "tools", "gradc-fuzz")
        bindir = subprocess.run(["sh", "tools/find-llvm.sh", "bindir"], cwd=self.tree, capture_output=True, text=True)
        self.bindir = bindir.stdout.strip()
        self.env = dict(os.environ, GRADC_BUILD=self.build, LIT_ARGS="--max-failures=1")
        self.env.setdefault("LLVM_BINDIR", self.bindir)

    def make(self, goals=None):
        goals = goals or [self.fuzzer, os.path.join(self.build, "gradc"), "stage"]
        # Two links a fault: LLVM's own linker, where there is one, takes a tenth of the time.
        fast = [f"LDFLAGS=-B{self.bindir} -fuse-ld=lld"] if os.path.exists(os.path.join(self.bindir, "ld.lld")) else []
        return run(["make", "-s", f"BUILD={self.build}", "WARNINGS="] + fast + goals, self.tree)

    def passes(self, tests):
        return run(["sh", "tools/run-tests.sh"] + tests, self.tree, env=self.env)

    def caught_soon(self, m):
        """What tells the fault: the test of its name, those of its file, or the fuzzer; or None."""
        own = os.path.join("tests", "grad", m.name.split(":")[0].replace(" ", "_") + ".ad")
        if os.path.exists(os.path.join(self.tree, own)) and not self.passes([own]):
            return own
        if not run([self.fuzzer] + FUZZ, self.tree):
            return "fuzzer"
        return " ".join(m.tests) if m.tests and not self.passes(m.tests) else None

    def caught_late(self, _):
        return None if self.passes(TESTS) else "tests"

    def plant(self, m, catch):
        """How it is caught, or why it cannot be planted, or None."""
        path = os.path.join(self.tree, m.file)
        text = open(path).read()
        old, new = "\n".join(m.old), "\n".join(m.new)
        if text.count(old) != 1:
            return f"stale: {text.count(old)} places"
        open(path, "w").write(text.replace(old, new))
        how = catch(m) if self.make() else "stale: it does not compile"
        open(path, "w").write(text)
        return how


def fit(root, mutants, compiler):
    """Whether each stands in the sources once, and, given a compiler, still compiles."""
    bad = []
    for m in mutants:
        text, old = open(os.path.join(root, m.file)).read(), "\n".join(m.old)
        flags = "-std=c11 -I. -Ibuild -fsyntax-only -x c -".split()
        good = text.count(old) == 1
        if good and compiler:
            planted = text.replace(old, "\n".join(m.new))
            good = subprocess.run([compiler] + flags, cwd=root, input=planted, text=True, capture_output=True).returncode == 0
        if not good:
            bad.append(m)
            print(f"stale: {m.file}: {m.name}")
    print(f"{len(mutants) - len(bad)} of {len(mutants)} faults fit")
    return not bad


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = dict((a[2:] + "=").split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    options = {name: value.rstrip("=") for name, value in options.items()}
    mutants = [m for path in words[2:] for m in read_list(path) if options.get("only", "") in f"{m.file}: {m.name}"]
    if "fits" in options:
        sys.exit(not fit(words[0], mutants, options["fits"]))
    every = sorted({test for m in mutants for test in m.tests})
    copy = Copy(words[0], os.path.abspath(words[1]))
    # The tools of the tests know nothing of derivatives: made once.
    if not copy.make(["all"]) or not copy.make() or copy.caught_soon(Mutant(None, every, "none")) or copy.caught_late(None):
        sys.exit("mutants: the tests fail without any fault")
    # What is quick for all of them first, then what is slow for those that are left.
    found, left = {}, mutants
    for catch in [copy.caught_soon, copy.caught_late]:
        for m in left:
            start = time.time()
            found[m] = copy.plant(m, catch)
            print(f"{m.file}: {m.name}: {found[m] or 'not yet'} ({time.time() - start:.0f} s)", flush=True)
        left = [m for m in left if not found[m]]
    for m in left:
        print(f"missed: {m.file}: {m.name}")
    stale = sum(1 for how in found.values() if how and how.startswith("stale"))
    caught = len(mutants) - stale - len(left)
    percent = 100 * caught / max(1, len(mutants) - stale)
    print(f"{caught} of {len(mutants) - stale} faults caught, {percent:.1f} %; {stale} entries stale")
    sys.exit(stale > 0 or percent < float(options.get("least", 95)))


main()
