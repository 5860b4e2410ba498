# Each export of .ad files in a workspace of exactly the bytes that it asks for: same status and bits as without one.
#   worksize.py GRADC FOLDER [--but=REGEX] FILE..      --but: exports that no argument bounds
import ctypes, re, sys
from exports import arguments, base_of, call, prototypes, run

gradc, folder, *files = sys.argv[1:]
but = re.compile(files.pop(0)[len("--but="):] if files[0].startswith("--but=") else "$^")
LARGEST = 1 << 28
bad = checked = 0
for f in files:
    base = base_of(folder, f)
    run(gradc, f, "-o", base + ".so")
    so = ctypes.CDLL(base + ".so")
    functions = {name: (result, params) for result, name, params in prototypes(base + ".h")}
    for name, (result, params) in functions.items():
        if name + "_ws" not in functions or "tape" in " ".join(params) or but.fullmatch(name):
            continue
        for size in (1, 2, 5, 9):
            args, arrays = arguments(params, size)
            room = call(so, *("int64_t", name + "_worksize", functions[name + "_worksize"][1], args))
            status = call(so, result, name, params, args)
            again, copies = arguments(params, size)
            memory = (ctypes.c_uint8 * (min(room, LARGEST) + 64))()
            start = (ctypes.addressof(memory) + 63) // 64 * 64
            again.update(work=ctypes.c_void_p(start), worksize=ctypes.c_int64(room))
            in_it = call(so, result, name + "_ws", functions[name + "_ws"][1], again)
            checked += 1
            same = status or all(bytes(x) == bytes(y) for (_, x), (_, y) in zip(arrays, copies))
            if room > LARGEST or in_it != status or not same:
                bad += 1
                print(f"{f}: {name} at {size}: status {status}, and {in_it} in {room} bytes")
print(f"{checked} calls, {bad} differ")
sys.exit(bad > 0)
