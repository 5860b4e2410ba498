# Calls of the exports of a shared object by what its header says, with made-up arguments.
import ctypes, math, os, re, subprocess

CTYPE = {"double": ctypes.c_double, "float": ctypes.c_float, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
         "uint8_t": ctypes.c_uint8}
ELEMENTS = 1 << 12
filled = {}


def base_of(folder, f):
    return os.path.join(folder, "c_" + re.sub(r"\W", "_", f[-60:]))


def run(*command):
    subprocess.run(command, check=True)


def prototypes(header):
    """(result, name, parameters) of each function."""
    text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
    for result, name, params in re.findall(r"^(int|int64_t) (\w+)\(([^)]*)\);", text, flags=re.M):
        yield result, name, [] if params == "void" else [p.strip() for p in re.sub(r"\s+", " ", params).split(",")]


def kind_of(param):
    return param.replace("const ", "").split(" ")[0]


def name_of(param):
    return param.split(" ")[-1].lstrip("*")


def number(kind, k, seed):
    if kind in ("double", "float"):
        return 0.1 + math.fmod(abs(math.sin(12.9898 * k + seed) * 43758.5453), 1.0)
    return (k * 7 + seed) % 3 if kind != "uint8_t" else (k + seed) % 2


def array(kind, seed):
    if (kind, seed) not in filled:
        filled[kind, seed] = (CTYPE[kind] * ELEMENTS)(*[number(kind, k, seed) for k in range(ELEMENTS)])
    return (CTYPE[kind] * ELEMENTS).from_buffer_copy(filled[kind, seed])


def arguments(params, size):
    """By name: arrays for pointers, `size` for sizes and integers, numbers else; and the arrays with their kinds."""
    args, arrays = {}, []
    for seed, p in enumerate(params):
        kind = kind_of(p)
        if kind == "void":
            continue
        if "*" in p:
            args[name_of(p)] = array(kind, seed)
            arrays.append((kind, args[name_of(p)]))
        else:
            args[name_of(p)] = CTYPE[kind](size if kind in ("int64_t", "int32_t") else number(kind, 3, seed))
    return args, arrays


def call(so, result, name, params, args):
    f = getattr(so, name)
    f.restype = ctypes.c_int64 if result == "int64_t" else ctypes.c_int
    return f(*[args[name_of(p)] for p in params])
