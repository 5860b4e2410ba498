"""Random programs of the IR: code must give what the reference evaluator gives, to the last bit.

They are well typed, with every index in range, and about what is stored where: carries that are updated, replaced whole and
exchanged, accumulators threaded inward, tensors yielded from branches and kept from iterations, views, calls.
Usage: random_ir.py GRADC FOLDER FIRST LAST [OPTION..]: programs FIRST up to LAST, compiled with each of the options.
"""

import os
import random
import subprocess
import sys

EXTENTS = {"n": "%n", "m": "%m", "3": "3"}
TENSORS = [("n",), ("m",), ("n", "m"), ("3",)]
DEEPEST = 3


def spelled(shape):
    """A shape is the tuple of its sizes' names, () a scalar; "bool" and ("index", size) stand for themselves."""
    if shape == "bool":
        return "bool"
    return "f64" + (f"[{', '.join(EXTENTS[d] for d in shape)}]" if shape else "")


def typed_list(names, shapes, values):
    return ", ".join(f"{n}: {spelled(s)} = {v}" for n, s, v in zip(names, shapes, values))


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.count = 0
        self.functions = []
        for k in range(self.random.randint(0, 2)):
            self.function(f"g{k}", self.random.randint(1, 4))
        self.function("f", self.random.randint(1, 6))
        self.text = 'module "random.ad"\n' + "\n".join(self.lines) + "\nexport @f as f\n"

    # -- Names, lines, and the values in scope: a list of (name, shape), the latest last ---------------------------------

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def names(self, n):
        return [self.name() for _ in range(n)]

    def emit(self, depth, text):
        self.lines.append("  " * (depth + 1) + text)

    def define(self, scope, depth, shape, text):
        name = self.name()
        self.emit(depth, f"{name} = {text} : {spelled(shape)}")
        scope.append((name, shape))
        return name

    def known(self, scope, shape):
        names = [name for name, s in scope if s == shape]
        if self.random.random() < 0.6:
            names = names[-4:]
        return self.random.choice(names) if names else None

    def indices(self, scope, shape):
        found = [self.known(scope, ("index", d)) for d in shape]
        return found if all(found) else None

    def value(self, scope, depth, shape):
        name = self.known(scope, shape)
        return name if name and self.random.random() < 0.85 else self.fresh(scope, depth, shape)

    def shape(self, scalars=1):
        return self.random.choice([()] * scalars + TENSORS)

    # -- Making a value of a shape ---------------------------------------------------------------------------------------

    def fresh(self, scope, depth, shape):
        if shape == "bool":
            a, b = self.value(scope, depth, ()), self.value(scope, depth, ())
            return self.define(scope, depth, "bool", f"{self.random.choice(['lt', 'le'])} {a}, {b}")
        if shape == ():
            return self.scalar(scope, depth)
        choice = self.random.random()
        if choice < 0.15 or depth > DEEPEST:
            return self.full(scope, depth, shape)
        if choice < 0.45:
            return self.stack(scope, depth, shape)
        if choice < 0.65:
            return self.update(scope, depth, shape)
        if choice < 0.75:
            return self.branch(scope, depth, shape)
        if choice < 0.8 and shape == ("m",) and self.indices(scope, ("n",)):
            matrix = self.value(scope, depth, ("n", "m"))
            return self.define(scope, depth, shape, f"index {matrix}[{self.indices(scope, ('n',))[0]}]")
        if choice < 0.85 and shape == ("n", "m"):
            flat = self.name()
            self.emit(depth, f"{flat} = reshape {self.value(scope, depth, shape)} : f64[%n * %m]")
            return self.define(scope, depth, shape, f"reshape {flat}")
        return self.sequence(scope, depth, shape)

    def full(self, scope, depth, shape):
        if self.random.random() < 0.5:
            scalar = self.define(scope, depth, (), "const 0.0")
        else:
            scalar = self.value(scope, DEEPEST + 1, ()) if depth > DEEPEST and self.known(scope, ()) else None
            scalar = self.known(scope, ()) or self.define(scope, depth, (), "const 1.5")
        return self.define(scope, depth, shape, f"full {scalar}")

    def scalar(self, scope, depth):
        tensors = [(name, s) for name, s in scope if s != "bool" and s and s[0] != "index"]
        choice = self.random.random()
        if choice < 0.5 and tensors:
            name, shape = self.random.choice(tensors[-6:])
            indices = self.indices(scope, shape)
            if indices:
                return self.define(scope, depth, (), f"index {name}[{', '.join(indices)}]")
        a, b = self.known(scope, ()), self.known(scope, ())
        if choice < 0.6 or not a:
            return self.define(scope, depth, (), f"const {self.random.choice(['1.0', '0.5', '-0.75', '2.0', '0.0'])}")
        op = self.random.choice(["add", "sub", "min", "max", "mulz", "neg", "abs", "mul"])
        if op == "mul":  # numbers stay small
            b = self.define(scope, depth, (), "const 0.5")
        if op == "mulz":
            b = self.define(scope, depth, (), f"sign {b}")
        return self.define(scope, depth, (), f"{op} {a}" if op in ("neg", "abs") else f"{op} {a}, {b}")

    def body(self, scope, depth, most):
        for _ in range(self.random.randint(0, most)):
            self.fresh(scope, depth, self.shape(scalars=3))

    def update(self, scope, depth, shape):
        taken = 1 if len(shape) == 2 and self.random.random() < 0.4 else len(shape)
        indices = self.indices(scope, shape[:taken])
        if not indices:
            return self.sequence(scope, depth, shape)
        old, part = self.value(scope, depth, shape), self.value(scope, depth, shape[taken:])
        return self.define(scope, depth, shape, f"update {old}[{', '.join(indices)}], {part}")

    # -- Operations with regions -----------------------------------------------------------------------------------------

    def stack(self, scope, depth, shape):
        taken = len(shape) if len(shape) == 1 or self.random.random() < 0.6 else 1
        indices, inner, at = self.names(taken), list(scope), len(self.lines)
        inner += [(i, ("index", d)) for i, d in zip(indices, shape)]
        self.body(inner, depth + 1, 1)
        yields, kinds, shapes = [self.value(inner, depth + 1, shape[taken:])], ["stack"], [shape]
        if self.random.random() < 0.3:
            yields.append(self.value(inner, depth + 1, ()))
            kinds.append(self.random.choice(["sum", "min", "max"]))
            shapes.append(())
        self.emit(depth + 1, f"yield {', '.join(yields)}")
        self.emit(depth, "}")
        results = self.names(len(shapes))
        ranges = ", ".join(f"{i} < {EXTENTS[d]}" for i, d in zip(indices, shape))
        types = ", ".join(map(spelled, shapes))
        self.lines.insert(at, "")
        self.lines[at] = "  " * (depth + 1) + f"{', '.join(results)} = loop ({ranges}) out({', '.join(kinds)}) -> {types} {{"
        scope += zip(results, shapes)
        return results[0]

    def branch(self, scope, depth, shape):
        condition = self.value(scope, depth, "bool")
        shapes = [shape] + [self.shape() for _ in range(self.random.randint(0, 2))]
        results = self.names(len(shapes))
        self.emit(depth, f"{', '.join(results)} = if {condition} -> {', '.join(map(spelled, shapes))} {{")
        for end in ["} else {", "}"]:
            inner = list(scope)
            self.body(inner, depth + 1, 1)
            self.emit(depth + 1, f"yield {', '.join([self.value(inner, depth + 1, s) for s in shapes])}")
            self.emit(depth, end)
        scope += zip(results, shapes)
        return results[0]

    def sequence(self, scope, depth, shape):
        if depth > DEEPEST:
            return self.full(scope, depth, shape)
        if self.random.random() < 0.2:
            return self.repeat(scope, depth, shape)
        return self.loop(scope, depth, shape)

    def repeat(self, scope, depth, shape):
        shapes = [shape] + [self.shape() for _ in range(self.random.randint(0, 2))]
        initial = [self.value(scope, depth, s) for s in shapes]
        first, conditions, params = self.names(len(shapes)), self.names(len(shapes)), self.names(len(shapes))
        zero, total, trips, count, limit, go_on, step, one, following = self.names(9)
        types = ", ".join(map(spelled, shapes))
        carries = typed_list(conditions, shapes, initial)
        self.emit(depth, f"{zero} = const 0 : i64")
        self.emit(depth, f"{total}, {', '.join(first)}, {trips} = while ({count}: i64 = {zero}, {carries}) -> i64, {types}, i64 {{")
        self.emit(depth + 1, f"{limit} = const {self.random.randint(0, 4)} : i64")
        self.emit(depth + 1, f"{go_on} = lt {count}, {limit} : bool")
        self.emit(depth + 1, f"yield {go_on}")
        self.emit(depth, f"}} do ({step}: i64, {', '.join(f'{p}: {spelled(s)}' for p, s in zip(params, shapes))}) {{")
        self.emit(depth + 1, f"{one} = const 1 : i64")
        self.emit(depth + 1, f"{following} = add {step}, {one} : i64")
        inner = scope + list(zip(params, shapes))
        self.body(inner, depth + 1, 2)
        self.emit(depth + 1, f"yield {', '.join([following] + [self.value(inner, depth + 1, s) for s in shapes])}")
        self.emit(depth, "}")
        scope += zip(first, shapes)
        return first[0]

    def accumulate(self, scope, depth, handle, shape):
        taken = 1 if len(shape) == 2 and self.random.random() < 0.4 else len(shape)
        indices = self.indices(scope, shape[:taken]) or []
        part = self.value(scope, depth, shape[len(indices) :])
        self.emit(depth, f"acc_add {handle}[{', '.join(indices)}], {part}")

    def add_to(self, scope, depth, handle, shape):
        """Adds at some of: here, in a loop, in a branch."""
        if self.random.random() < 0.5:
            self.accumulate(scope, depth, handle, shape)
        if self.random.random() < 0.6:
            index, size = self.name(), self.random.choice(["n", "m"])
            inner = scope + [(index, ("index", size))]
            self.emit(depth, f"loop ({index} < {EXTENTS[size]}) {{")
            self.body(inner, depth + 1, 1)
            self.accumulate(inner, depth + 1, handle, shape)
            self.emit(depth, "}")
        if self.random.random() < 0.3:
            self.emit(depth, f"if {self.value(scope, depth, 'bool')} {{")
            self.accumulate(list(scope), depth + 1, handle, shape)
            self.emit(depth, "} else {")
            self.emit(depth, "}")

    def loop(self, scope, depth, shape):
        """A loop in order, of which the first result has the shape: a carry, or an accumulator."""
        size, index = self.random.choice(["n", "m", "3"]), self.name()
        with_carry = self.random.random() < 0.8
        carried = [shape] + [self.shape() for _ in range(self.random.randint(0, 2))] if with_carry else []
        added = ([] if with_carry else [shape]) + [self.shape() for _ in range(self.random.choice([0, 0, 1, 2]))]
        carries = (self.names(len(carried)), carried, [self.value(scope, depth, s) for s in carried])
        handles = (self.names(len(added)), added, [self.value(scope, depth, s) for s in added])
        at, inner = len(self.lines), scope + [(index, ("index", size))] + list(zip(*carries[:2]))
        self.body(inner, depth + 1, 2)
        for handle, s in zip(*handles[:2]):
            self.add_to(inner, depth + 1, handle, s)
        yields = [self.value(inner, depth + 1, s) for s in carried]
        kinds, out = [], []
        for _ in range(self.random.choice([0, 0, 1, 2])):
            kinds.append(self.random.choice(["stack", "stack", "sum", "max"]))
            kept = ("m",) if size == "n" and kinds[-1] == "stack" and self.random.random() < 0.5 else ()
            yields.append(self.value(inner, depth + 1, kept))
            out.append((size,) + kept if kinds[-1] == "stack" else ())
        if yields:
            self.emit(depth + 1, f"yield {', '.join(yields)}")
        self.emit(depth, "}")
        shapes = carried + added + out
        results = self.names(len(shapes))
        head = f"{', '.join(results)} = loop ({index} < {EXTENTS[size]})"
        head += f" carry({typed_list(*carries)})" if carried else ""
        head += f" acc({typed_list(*handles)})" if added else ""
        head += f" out({', '.join(kinds)})" if kinds else ""
        self.lines.insert(at, "  " * (depth + 1) + f"{head} -> {', '.join(map(spelled, shapes))} {{")
        scope += zip(results, shapes)
        return results[0]

    # -- Functions -------------------------------------------------------------------------------------------------------

    def call(self, scope):
        name, params, shapes = self.random.choice(self.functions)
        args = ["%n", "%m"] + [self.value(scope, 0, s) for s in params]
        results = self.names(len(shapes))
        self.emit(0, f"{', '.join(results)} = call @{name}({', '.join(args)}) : {', '.join(map(spelled, shapes))}")
        scope += zip(results, shapes)

    def function(self, name, length):
        params = [("%x", ("n",)), ("%y", ("m",)), ("%z", ("n", "m")), ("%w", ("3",)), ("%s", ())]
        at, scope = len(self.lines), list(params)
        for _ in range(length):
            if self.functions and self.random.random() < 0.2:
                self.call(scope)
            else:
                self.fresh(scope, 0, self.shape())
        shapes = [self.shape() for _ in range(self.random.randint(1, 4))]
        self.emit(0, f"return {', '.join([self.value(scope, 0, s) for s in shapes])}")
        self.lines.append("}")
        types = ", ".join(f"{p}: {spelled(s)}" for p, s in params)
        self.lines.insert(at, f"func @{name}(%n: size, %m: size, {types}) -> ({', '.join(map(spelled, shapes))}) {{")
        self.functions.append((name, [s for _, s in params], shapes))


def arguments(seed):
    n, m = random.Random(seed).choice([0, 1, 2, 3, 5]), random.Random(seed + 1).choice([1, 2, 4])
    matrix = [[i * 0.5 - j for j in range(m)] for i in range(n)]
    values = {"x": [0.5 + i * 0.25 for i in range(n)], "y": [1.5 - i for i in range(m)], "z": matrix, "w": [1, -2, 3], "s": 0.25}
    return [f"n={n}", f"m={m}"] + [f"{k}={v}".replace(" ", "") for k, v in values.items()]


def main():
    gradc, folder, first, last, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    os.makedirs(folder, exist_ok=True)
    failed = 0
    for seed in range(first, last):
        path = os.path.join(folder, f"{seed}.ir")
        with open(path, "w") as f:
            f.write(Program(seed).text)
        # What n there is decides whether z has rows; a matrix of none is given by its sizes.
        args = [a if a != "z=[]" else "z=zeros" for a in arguments(seed)]
        common = [gradc, "run", "--passes=", path, "f"] + args
        wanted = subprocess.run(common + ["--evaluate"], capture_output=True, text=True)
        if wanted.returncode:
            failed += 1
            print(f"{path}: {wanted.stdout}{wanted.stderr}")
            continue
        for option in options:
            got = subprocess.run(common + ["--strict", option], capture_output=True, text=True)
            if got.returncode or got.stdout != wanted.stdout:
                failed += 1
                print(f"{path}: differs under {option}; arguments {' '.join(args)}\n{got.stdout}{got.stderr}")
    sys.exit(failed > 0)


main()
