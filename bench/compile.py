#!/usr/bin/env python3
"""What compiling takes: processor time and memory, for the files of bench/ and for generated ones that grow.

    compile.py GRADC [ROWS..]      rows whose names begin with one of the words, or end with it; the row of 100,000 lines,
                                   which takes minutes, has to be asked for by `100000`

Each row is compiled REPEATS times, the least time counts; `growth` is the time by that of the row above, for rows of one
kind, beside the growth of the source."""

import os
import sys
import tempfile

REPEATS = 3
SLOW = 5.0  # seconds: such rows run once


def program(lines):
    """Functions of ten lines, as a model is written that comes out of another program: a product with a matrix, sums,
    scalars; the gradient of each tenth."""
    for i in range(lines // 10):
        yield f"""fn g{i}(w: f64[d], x: f64[n, d], y: f64[n]) -> f64 {{
  let z = x @ w;
  let e = z - {i}.5 * y;
  let s = sum(e * e);
  let t = mean(tanh(z));
  let u = sqrt(s + 1.0);
  let v = u * t;
  s + t + v
}}
{f"export grad(g{i}, wrt = w);" if i % 10 == 0 else f"export g{i};"}
"""


def unlike(lines):
    """The same, but no two functions have loops that are alike."""
    functions = ["tanh", "sin", "exp", "atan", "cos", "sqr", "abs"]
    for i in range(lines // 10):
        term, k = "z[j]", i
        while k:
            term = f"{functions[k % 7]}({term} + {k % 7}.25)"
            k //= 7
        yield f"""fn g{i}(w: f64[d], x: f64[n, d], y: f64[n]) -> f64 {{
  let z[i < n] = sum[k: x[i, k] * sqr(w[k]){" * w[k]" * (i % 5)}];
  let s = sum[j: {term} * y[j]];
  let t = sum[j: {term} / (1.0 + sqr(y[j]))];
  let u = sqrt(sqr(s) + 1.0);
  let v = u * t;
  let r = v - s;
  r + t + v
}}
{f"export grad(g{i}, wrt = w);" if i % 10 == 0 else f"export g{i};"}
"""


def loops(count):
    """One function, whose loops each need the sum of the one before."""
    yield "fn f(x: f64[n]) -> f64 {\n  var s = 0.0;\n"
    for i in range(count):
        term = f"sin(x[i] + s) * {i}.25 + x[n - 1 - i]" if i % 7 else "x[i] * s + exp(x[n - 1 - i])"
        yield f"  let a{i} = [for i < n: {term}];\n  s = 0.5 * s + max(a{i});\n"
    yield "  s\n}\nexport f;\nexport grad(f);\n"


def statements(count):
    """One function of statements on whole vectors, which may all be one loop."""
    yield "fn f(x: f64[n]) -> f64[n] {\n  let a0 = 1.5 * x;\n"
    for i in range(1, count):
        yield f"  let a{i} = a{i - 1} * {f'{i}.25 + sin(x)' if i % 3 == 0 else f'x - {i}.75'};\n"
    yield f"  a{count - 1}\n}}\nexport f;\nexport vjp(f);\n"


def calls(count):
    """Each function calls the one before it twice."""
    yield "fn h0(x: f64[n]) -> f64[n] { [for i < n: sin(x[i]) * exp(x[n - 1 - i])] }\n"
    for i in range(1, count):
        yield f"fn h{i}(x: f64[n]) -> f64[n] {{ h{i - 1}(x) + h{i - 1}(0.5 * x) }}\n"
    yield f"fn g(x: f64[n]) -> f64 {{ sum(h{count - 1}(x)) }}\nexport g;\nexport grad(g);\n"


ROWS = [("start", None, 0), ("gmm", "gradbench/gmm.ad", 0), ("ba", "gradbench/ba.ad", 0), ("networks", "networks.ad", 0)]
ROWS += [(f"program {n}", program, n) for n in (1000, 10000, 100000)]
ROWS += [(f"unlike {n}", unlike, n) for n in (500, 1000, 2000)]
ROWS += [(f"loops {n}", loops, n) for n in (150, 300, 600)]
ROWS += [(f"statements {n}", statements, n) for n in (200, 400, 800)]
ROWS += [(f"calls {n}", calls, n) for n in (8, 16, 32)]


def run(command):
    """Seconds of the processor, and MiB at most."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"compile.py: {' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(command):
    best, memory = run(command)
    for _ in range(REPEATS - 1):
        if best < SLOW:
            best = min(best, run(command)[0])
    return best, memory


def main():
    gradc, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    here = os.path.dirname(os.path.abspath(__file__))
    print("                       lines      time  us a line   growth (source)       MiB  object KiB")
    with tempfile.TemporaryDirectory() as folder:
        source, target, before = os.path.join(folder, "x.ad"), os.path.join(folder, "x.o"), None
        for name, of, size in ROWS:
            asked = any(name.startswith(word) or name.endswith(" " + word) for word in words)
            if "100000" not in words if size == 100000 else words and not asked:
                continue
            if of is None:
                time, memory = measure([gradc, "--version"])
                print(f"{name:20} {'-':>7} {time:8.3f} s {'-':>10} {'-':>17} {memory:9.0f} {'-':>11}", flush=True)
                continue
            if callable(of):
                with open(source, "w") as out:
                    out.writelines(of(size))
            path = source if callable(of) else os.path.join(here, of)
            with open(path) as text:
                lines = sum(1 for _ in text)
            time, memory = measure([gradc, path, "-o", target])
            growth = "-"
            if before and before[0] is of and callable(of):
                growth = f"{time / before[1]:.1f} ({size / before[2]:.1f})"
            before = of, time, size
            print(f"{name:20} {lines:7} {time:8.3f} s {1e6 * time / lines:10.0f} {growth:>17} {memory:9.0f} "
                  f"{os.path.getsize(target) / 1024:11.0f}", flush=True)


if __name__ == "__main__":
    main()
