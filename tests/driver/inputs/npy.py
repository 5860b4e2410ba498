"""npy.py write FOLDER | read FILE ..: .npy files made and read without NumPy, for tests of our own reader and writer."""

import ast
import struct
import sys

CODES = {"<f8": "d", "<f4": "f", "<i8": "q", "<i4": "i", "|b1": "?", "|u1": "B", "<i2": "h"}


def write(path, descr, shape, values, fortran=False, version=1):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    size = 2 if version == 1 else 4
    header += b" " * (-(8 + size + len(header) + 1) % 64) + b"\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header)
        out.write(struct.pack(f"<{len(values)}{CODES[descr]}", *values) if descr in CODES else b"")


def read(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + size].decode())
    assert (10 + size) % 64 == 0 and data[9 + size : 10 + size] == b"\n"
    count = 1
    for n in header["shape"]:
        count *= n
    values = struct.unpack(f"<{count}{CODES[header['descr']]}", data[10 + size :])
    print(header["descr"], header["shape"], list(values))


if sys.argv[1] == "read":
    for path in sys.argv[2:]:
        read(path)
else:
    folder = sys.argv[2]
    write(f"{folder}/f8.npy", "<f8", (2, 3), [1, 2, 3, 4, 5, 6.5])
    write(f"{folder}/f4.npy", "<f4", (3,), [1, 0.5, -2], version=2)
    write(f"{folder}/i4.npy", "<i4", (3,), [1, -2, 3])
    write(f"{folder}/i8.npy", "<i8", (), [1 << 62])
    write(f"{folder}/b1.npy", "|b1", (2,), [True, False])
    write(f"{folder}/u1.npy", "|u1", (2,), [255, 0])
    write(f"{folder}/empty.npy", "<f8", (0, 3), [])
    write(f"{folder}/fortran.npy", "<f8", (2, 3), [1, 2, 3, 4, 5, 6], fortran=True)
    write(f"{folder}/big_endian.npy", ">f8", (1,), [])
    write(f"{folder}/short.npy", "<f8", (2, 3), [1, 2])
    write(f"{folder}/huge.npy", "<f8", (1 << 40, 1 << 40), [])
    open(f"{folder}/cut.npy", "wb").write(b"\x93NUMPY\x01\x00\xff\xff{'descr'")
    open(f"{folder}/no.npy", "wb").write(b"hello")
