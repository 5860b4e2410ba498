"""ADBench's own inputs by way of the tool.  usage: adbench.py TOOL FOLDER"""

import os
import sys

from reference import gradient, hand_cases, mixture, real
from tool import Tool, compare


def words(*path):
    with open(os.path.join(sys.argv[2], *path)) as file:
        return file.read().split()


def fields(*path):
    return [line.split(":") for line in words(*path)]


def rows(numbers, count, size):
    return [[next(numbers) for _ in range(size)] for _ in range(count)]


def hand_model(kind):
    bones = fields("hand", kind, "model", "bones.txt")
    vertices = fields("hand", kind, "model", "vertices.txt")
    square = lambda row: [[float(x) for x in row[4 * i : 4 * i + 4]] for i in range(4)]
    weights = [[0.0] * len(bones) for _ in vertices]
    for row, vertex in zip(weights, vertices):
        for i in range(int(vertex[8])):
            row[int(vertex[9 + 2 * i])] = float(vertex[10 + 2 * i])
    return {
        "bone_count": len(bones),
        "bone_names": [bone[0] for bone in bones],
        "parents": [int(bone[1]) for bone in bones],
        "base_relatives": [square(bone[2:18]) for bone in bones],
        "inverse_base_absolutes": [square(bone[18:34]) for bone in bones],
        "base_positions": [[float(x) for x in vertex[:3]] + [1.0] for vertex in vertices],
        "weights": weights,
        "triangles": [[int(x) for x in row] for row in fields("hand", kind, "model", "triangles.txt")],
        "is_mirrored": False,
    }


def hand_input(kind, name):
    numbers = iter(map(float, words("hand", kind, name)))
    count, angles = int(next(numbers)), int(next(numbers))
    seen = rows(numbers, count, 4)
    us = rows(numbers, count, 2) if kind.startswith("complicated") else []
    data = {"model": hand_model(kind), "correspondences": [int(row[0]) for row in seen], "points": [row[1:] for row in seen]}
    return {"theta": [next(numbers) for _ in range(angles)], "us": us, "data": data}


def mixture_cases(name):
    """ADBench's value for this file is 8.07380408, and has the sign of the prior's last two terms the other way."""
    numbers = iter(map(float, words("gmm", name)))
    d, k, n = (int(next(numbers)) for _ in range(3))
    given = {"d": d, "k": k, "n": n, "alpha": rows(numbers, 1, k)[0], "mu": rows(numbers, k, d)}
    packed = rows(numbers, k, d * (d + 1) // 2)
    given.update(q=[row[:d] for row in packed], l=[row[d:] for row in packed], x=rows(numbers, n, d))
    given.update(gamma=next(numbers), m=int(next(numbers)))
    names = ["alpha", "mu", "q", "l"]
    yield "objective", given, real(mixture(given, *(given[name] for name in names))), 1e-12
    by = lambda name: lambda v: mixture(given, *(v if other == name else given[other] for other in names))
    yield "jacobian", given, {name: gradient(by(name), given[name]) for name in names}, 1e-10


tool = Tool(sys.argv[1])
inputs = [("gmm", "test.txt", mixture_cases("test.txt"))]
for kind in ["simple_small", "complicated_small"]:
    inputs.append(("ht", kind, hand_cases(hand_input(kind, "hand1_t26_c100.txt"))))
for module, name, cases in inputs:
    for function, given, wanted, tolerance in cases:
        n = compare(f"{module} {function}", tool.evaluate(module, function, given), wanted, tolerance)
        print(f"{module} {name} {function}: {n} numbers agree")
tool.close()
