# Each export of .ad files, as LLVM compiles it and by --emit=c and the C compiler: same status, same numbers.
import ctypes, math, os, re, subprocess, sys
#   compare_c.py GRADC CC FOLDER FILE..
gradc, cc, tmp, files = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
CTYPE = {"double": ctypes.c_double, "float": ctypes.c_float, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
         "uint8_t": ctypes.c_uint8}
ELEMENTS, WORK = 4096, 1 << 18


def build(f):
    base = os.path.join(tmp, "c_" + re.sub(r"\W", "_", os.path.basename(f)))
    subprocess.run([gradc, f, "-o", base + ".llvm.so"], check=True)
    subprocess.run([gradc, f, "--emit=c", "-o", base + ".c"], check=True)
    libs = subprocess.run([gradc, "--cflags", "--libs"], check=True, capture_output=True, text=True).stdout.split()
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized"]
    subprocess.run([*cc.split(), *strict, "-O1", "-fPIC", "-shared", base + ".c", "-o", base + ".c.so", *libs], check=True)
    return base


def prototypes(header):
    text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
    for result, name, params in re.findall(r"^(int|int64_t) (\w+)\(([^)]*)\);", text, flags=re.M):
        yield result, name, [] if params == "void" else [p.strip() for p in re.sub(r"\s+", " ", params).split(",")]


def fill(kind, k, seed):
    if kind in ("double", "float"):
        return 0.1 + math.fmod(abs(math.sin(12.9898 * k + seed) * 43758.5453), 1.0)
    return (k * 7 + seed) % 3 if kind != "uint8_t" else (k + seed) % 2


def call(so, result, name, params, size):
    f = getattr(so, name)
    f.restype = ctypes.c_int64 if result == "int64_t" else ctypes.c_int
    args, arrays = [], []
    for number, p in enumerate(params):
        kind = p.replace("const ", "").split(" ")[0]
        if "*" not in p:
            args.append(CTYPE[kind](size if kind == "int64_t" else fill(kind, 3, number)))
            continue
        if kind == "void":
            a = (ctypes.c_uint8 * WORK)()
        else:
            a = (CTYPE[kind] * ELEMENTS)(*[fill(kind, k, number) for k in range(ELEMENTS)])
            arrays.append((kind, a))
        args.append(a)
    if name.endswith("_ws"):
        args[-1] = ctypes.c_int64(WORK)
    return f(*args), arrays


bad = checked = 0
for f in files:
    base = build(f)
    one, two = ctypes.CDLL(base + ".llvm.so"), ctypes.CDLL(base + ".c.so")
    for result, name, params in prototypes(base + ".llvm.h"):
        if "tape" in " ".join(params):
            continue
        for size in (1, 4):
            (s, a), (t, b) = call(one, result, name, params, size), call(two, result, name, params, size)
            checked += 1
            worst = 0.0
            if s == t == 0 or result == "int64_t":
                for (kind, x), (_, y) in zip(a, b):
                    for p, q in zip(x, y):
                        if p == q or (p != p and q != q):
                            continue
                        d = abs(p - q) / max(1e-3 if kind == "double" else 1e-2, abs(p), abs(q)) if p == p and q == q else math.inf
                        worst = max(worst, d if kind != "float" else d * 1e-7)
            if result != "int64_t" and s != t or worst > 1e-9:
                bad += 1
                print(f"{f}: {name} at {size}: status {s} and {t}, difference {worst:.1e}")
print(f"{checked} calls, {bad} differ")
sys.exit(bad > 0)
