# Each export of .ad files, as LLVM compiles it and by --emit=c and the C compiler: same status, same numbers.
#   compare_c.py GRADC CC FOLDER [OPTION..] FILE..      OPTION: of gradc, as --real=f32
import ctypes, math, subprocess, sys
from exports import arguments, base_of, call, prototypes, run

gradc, cc, folder = sys.argv[1:4]
options = [a for a in sys.argv[4:] if a.startswith("-")]
files = [a for a in sys.argv[4:] if not a.startswith("-")]
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized"]
WORK = 1 << 18
flags = subprocess.run([gradc, "--cflags", "--libs"], check=True, capture_output=True, text=True).stdout.split()


def build(f):
    base = base_of(folder, f)
    run(gradc, *options, f, "-o", base + ".llvm.so")
    run(gradc, *options, f, "--emit=c", "-o", base + ".c")
    run(*cc.split(), *STRICT, "-O1", "-fPIC", "-shared", base + ".c", "-o", base + ".c.so", *flags)
    return base


def compared(so, result, name, params, size):
    args, arrays = arguments(params, size)
    args.update(work=(ctypes.c_uint8 * WORK)(), tape=(ctypes.c_uint8 * WORK)(), worksize=ctypes.c_int64(WORK))
    return call(so, result, name, params, args), arrays


def distance(kind, p, q):
    if p == q or (p != p and q != q):
        return 0.0
    if p != p or q != q:
        return math.inf
    d = abs(p - q) / max(1e-3 if kind == "double" else 1e-2, abs(p), abs(q))
    return d if kind != "float" else d * 1e-7


bad = checked = 0
for f in files:
    base = build(f)
    one, two = ctypes.CDLL(base + ".llvm.so"), ctypes.CDLL(base + ".c.so")
    for result, name, params in prototypes(base + ".llvm.h"):
        if name.endswith("_backward"):
            continue  # of a tape that its forward part has filled
        for size in (1, 4):
            (s, a), (t, b) = (compared(so, result, name, params, size) for so in (one, two))
            checked += 1
            worst = 0.0
            if s == t == 0 or result == "int64_t":
                different = [(kind, x, y) for (kind, x), (_, y) in zip(a, b) if bytes(x) != bytes(y)]
                worst = max([distance(kind, p, q) for kind, x, y in different for p, q in zip(x, y)], default=0.0)
            if result != "int64_t" and s != t or worst > 1e-9:
                bad += 1
                print(f"{f}: {name} at {size}: status {s} and {t}, difference {worst:.1e}")
print(f"{checked} calls, {bad} differ")
sys.exit(bad > 0)
