"""emit_ad.py GRADC FOLDER PATTERN.. [-FILE..]: whether programs and what --emit=ad makes of them compute the same numbers.

The calls are those of the RUN lines of the files: `%gradc run [options] %s FUNCTION arguments`, made by the evaluator.
What cannot be written as source is told and counted, as its message says what it is."""

import glob
import math
import os
import re
import shlex
import subprocess
import sys

REFUSED = ["cannot be written as source"]
# Options that belong to the compiling of the program, and stay behind when it has become another.
SOURCE_OPTIONS = re.compile(r"--real=|-I|--grad=")


def run(words):
    try:
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=30)
    except subprocess.TimeoutExpired:
        return "takes more than 30 s", ""
    return done.returncode, done.stdout


def calls_of(path):
    """The words of each call in the file, without gradc, `run` and the file; options first."""
    text = open(path, encoding="utf-8").read()
    seen = []
    names = dict(re.findall(r"DEFINE: (%\{\w+\}) = (.*)", text))
    for command in re.findall(r"RUN: (.*)", text):
        command = command.split("|")[0].split(">")[0].split("2>&1")[0].strip()
        for name, value in names.items():
            command = command.replace(name, value)
        if not command.startswith("%gradc run ") or "%s" not in command:
            continue
        words = shlex.split(command)[2:]
        words = [w.replace("%S", os.path.dirname(path)) for w in words if w != "%s"]
        options = [w for w in words if w.startswith("-") and not w.startswith("--digits") and w != "--evaluate"]
        call = options, [w for w in words if not w.startswith("-")]
        if call not in seen:
            yield call
        seen.append(call)


def numbers(output):
    return [float(n) if n not in ("True", "False") else n == "True"
            for n in re.findall(r"(?<![\w.])(?:-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)|True|False)(?![\w.])", output)]


def agree(a, b, tolerance):
    x, y = numbers(a), numbers(b)
    if len(x) != len(y):
        return False
    scale = max([abs(v) for v in x if math.isfinite(v)], default=0)
    for v, w in zip(x, y):
        if v == w or (math.isnan(v) and math.isnan(w)):
            continue
        if not abs(v - w) <= tolerance * max(abs(v), abs(w), 1e-3 * scale):
            return False
    return True


def main(gradc, folder, *patterns):
    os.makedirs(folder, exist_ok=True)
    without = [p[1:] for p in patterns if p.startswith("-")]
    paths = [f for p in patterns for f in sorted(glob.glob(p)) if os.path.basename(f) not in without]
    counts = {"same": 0, "refused": 0, "too slow": 0, "different": 0}
    for path in paths:
        made = {}
        for options, words in calls_of(path):
            key = tuple(o for o in options if SOURCE_OPTIONS.match(o))
            if key not in made:
                made[key] = os.path.join(folder, f"{len(made)}_{os.path.basename(path)}")
                status, output = run([gradc, "--emit=ad", *key, "-o", made[key], path])
                if status:
                    made[key] = None
                    refused = status == 1 and any(text in output for text in REFUSED)
                    counts["refused" if refused else "different"] += 1
                    print(f"{path}: {'refused' if refused else 'fails'}: {output.strip().splitlines()[0]}")
            if not made[key]:
                continue
            rest = [o for o in options if o not in key]
            before = run([gradc, "run", "--evaluate", *options, path, *words])
            after = run([gradc, "run", "--evaluate", *rest, made[key], *words])
            if not isinstance(after[0], int):
                counts["too slow"] += 1
                print(f"{path}: {' '.join(words)}: {after[0]}")
                continue
            single = any("f32" in o for o in options)
            same = before[0] == after[0] and (before[0] or agree(before[1], after[1], 1e-4 if single else 1e-10))
            counts["same" if same else "different"] += 1
            if not same:
                print(f"{path}: {' '.join(words)}\n  before: {before[1][:600]}\n  after:  {after[1][:600]}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return 1 if counts["different"] or not counts["same"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
