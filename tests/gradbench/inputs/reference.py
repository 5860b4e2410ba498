"""GradBench's problems again, plainly, by other means: complex numbers in the place of derivatives (f(x + ih) has the
derivative in its imaginary part, to the last digit), exact fractions, formulas by hand.

cases(module) gives (function, input, output, tolerance)."""

import cmath
import math
import random
from fractions import Fraction

STEP = 1e-40
sample = random.Random(20240607).gauss


def numbers(*sizes, scale=1.0):
    if not sizes:
        return scale * sample(0.0, 1.0)
    return [numbers(*sizes[1:], scale=scale) for _ in range(sizes[0])]


def real(x):
    return x.real if isinstance(x, complex) else x


def nudged(x, direction):
    """x + ih direction, both nested lists."""
    if isinstance(x, list):
        return [nudged(a, b) for a, b in zip(x, direction)]
    return complex(x, STEP * direction)


def slope(value):
    return value.imag / STEP if isinstance(value, complex) else 0.0


def zeros_like(x):
    return [zeros_like(item) for item in x] if isinstance(x, list) else 0.0


def units(x):
    """A direction for each number in x, row after row."""
    if not isinstance(x, list):
        yield 1.0
        return
    for i, item in enumerate(x):
        for unit in units(item):
            yield [unit if j == i else zeros_like(other) for j, other in enumerate(x)]


def reshaped(flat, like):
    """Numbers from an iterator in the shape of a nested list."""
    return [reshaped(flat, item) for item in like] if isinstance(like, list) else next(flat)


def gradient(f, x):
    return reshaped((slope(f(nudged(x, unit))) for unit in units(x)), x)


def logsumexp(values):
    most = max(real(v) for v in values)
    return most + cmath.log(sum(cmath.exp(v - most) for v in values))


# -- The small ones


def hello():
    for x in [0.0, 3.0, -1.7e-3, 1e100]:
        yield "square", x, x * x, 0.0
        yield "double", x, 2.0 * x, 0.0


def llsq():
    for n, m in [(2, 1), (16, 5), (17, 1), (1001, 12)]:
        x = numbers(m)
        t = [-1.0 + 2.0 * i / (n - 1.0) for i in range(n)]
        miss = [(t_i > 0) - (t_i < 0) - math.fsum(x[j] * t_i**j for j in range(m)) for t_i in t]
        yield "primal", {"x": x, "n": n}, 0.5 * math.fsum(r * r for r in miss), 1e-12
        slopes = [-math.fsum(r * t_i**j for r, t_i in zip(miss, t)) for j in range(m)]
        yield "gradient", {"x": x, "n": n}, slopes, 1e-12


def lse():
    for x in [[0.7], numbers(9), numbers(1003, scale=5.0), [1000.0, 999.0, -1e5], [-800.0, -801.5]]:
        most = max(x)
        total = math.fsum(math.exp(v - most) for v in x)
        yield "primal", {"x": x}, most + math.log(total), 1e-13
        yield "gradient", {"x": x}, [math.exp(v - most) / total for v in x], 1e-13


def exact_det(a):
    """Elimination in fractions."""
    a, sign = [row[:] for row in a], 1
    for c in range(len(a)):
        pivot = next((r for r in range(c, len(a)) if a[r][c]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != c:
            a[c], a[pivot], sign = a[pivot], a[c], -sign
        for r in range(c + 1, len(a)):
            factor = a[r][c] / a[c][c]
            for k in range(c + 1, len(a)):
                a[r][k] -= factor * a[c][k]
    return sign * math.prod((a[c][c] for c in range(len(a))), start=Fraction(1))


def det():
    for ell in [1, 2, 3, 4, 6, 9]:
        exact = [[Fraction(round(16 * sample(0.0, 1.0)), 16) for _ in range(ell)] for _ in range(ell)]
        given = {"A": [float(x) for row in exact for x in row], "ell": ell}
        yield "primal", given, float(exact_det(exact)), 1e-10
        minor = lambda i, j: [[x for c, x in enumerate(row) if c != j] for r, row in enumerate(exact) if r != i]
        cofactors = [float((-1) ** (i + j) * exact_det(minor(i, j))) for i in range(ell) for j in range(ell)]
        yield "gradient", given, cofactors, 1e-10
    # Singular: the gradient is not zero.
    yield "gradient", {"A": [1.0, 2.0, 2.0, 4.0], "ell": 2}, [4.0, -2.0, -2.0, 1.0], 0.0


def runge_kutta(x, steps):
    rate = lambda y: [x[0]] + [x[i] * y[i - 1] for i in range(1, len(x))]
    ahead = lambda y, h, k: [a + h * b for a, b in zip(y, k)]
    h, y = 2.0 / steps, [0.0] * len(x)
    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(ahead(y, h / 2, k1))
        k3 = rate(ahead(y, h / 2, k2))
        k4 = rate(ahead(y, h, k3))
        y = [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]
    return y


def ode():
    for n, steps in [(1, 1), (2, 3), (5, 10), (4, 100), (37, 50)]:
        x = [0.5 + abs(v) for v in numbers(n)]
        yield "primal", {"x": x, "s": steps}, runge_kutta(x, steps), 1e-12
        yield "gradient", {"x": x, "s": steps}, gradient(lambda v: runge_kutta(v, steps)[-1], x), 1e-12


# -- The models


def kmeans():
    for n, k, d in [(1, 1, 1), (5, 2, 3), (203, 7, 8), (64, 5, 16)]:
        points, centroids = numbers(n, d), []
        while len(centroids) < k:  # each near a point, so that none is without one
            centroids.append([x + 1e-3 * v for x, v in zip(points[len(centroids)], numbers(d))])
        nearest = []
        for p in points:
            distances = [math.fsum((a - b) ** 2 for a, b in zip(c, p)) for c in centroids]
            nearest.append((min(distances), distances.index(min(distances))))
        yield "cost", {"points": points, "centroids": centroids}, math.fsum(m for m, _ in nearest), 1e-11
        steps = []
        for j, c in enumerate(centroids):
            own = [p for p, (_, at) in zip(points, nearest) if at == j]
            steps.append([math.fsum(2 * (c[a] - p[a]) for p in own) / (2.0 * len(own)) for a in range(d)])
        yield "dir", {"points": points, "centroids": centroids}, steps, 1e-10


def mixture(g, alpha, mu, q, l):
    d, k, n, m, gamma = g["d"], g["k"], g["n"], g["m"], g["gamma"]
    below = [(r, c) for c in range(d) for r in range(c + 1, d)]
    total = -0.5 * n * d * math.log(2 * math.pi) - n * logsumexp(alpha)
    scales = [[cmath.exp(v) for v in row] for row in q]
    for x in g["x"]:
        terms = []
        for a in range(k):
            off = [v - w for v, w in zip(x, mu[a])]
            y = [s * v for s, v in zip(scales[a], off)]
            for (r, c), v in zip(below, l[a]):
                y[r] += v * off[c]
            terms.append(alpha[a] + sum(q[a]) - 0.5 * sum(v * v for v in y))
        total += logsumexp(terms)
    nu = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma(nu / 2 + (1 - j) / 2) for j in range(1, d + 1))
    total += k * (nu * d * math.log(gamma / math.sqrt(2)) - log_gamma)
    squares = sum(v * v for rows in (scales, l) for row in rows for v in row)
    return total - 0.5 * gamma**2 * squares + m * sum(v for row in q for v in row)


def mixture_input(n, k, d, m, gamma):
    sizes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2), "x": (n, d)}
    return {"n": n, "k": k, "d": d, "m": m, "gamma": gamma, **{name: numbers(*s) for name, s in sizes.items()}}


def gmm():
    for n, k, d, m, gamma in [(1, 1, 1, 0, 1.0), (5, 3, 2, 0, 1.0), (21, 4, 5, 2, 0.7), (133, 3, 3, 1, 1.5)]:
        given = mixture_input(n, k, d, m, gamma)
        names = ["alpha", "mu", "q", "l"]
        yield "objective", given, real(mixture(given, *(given[name] for name in names))), 1e-12
        by = lambda name: lambda v: mixture(given, *(v if other == name else given[other] for other in names))
        yield "jacobian", given, {name: gradient(by(name), given[name]) for name in names}, 1e-10


def network(main, extra, state, sequence):
    sigmoid = lambda x: 1 / (1 + cmath.exp(-x))
    s = [row[:] for row in state]
    b, total = len(extra[0]), 0.0
    for now, following in zip(sequence, sequence[1:]):
        x = [v * w for v, w in zip(now, extra[0])]
        for k in range(0, len(main), 2):
            w, bias = main[k], main[k + 1]
            for i in range(b):
                forget = sigmoid(x[i] * w[i] + bias[i])
                take = sigmoid(s[k][i] * w[b + i] + bias[b + i])
                out = sigmoid(x[i] * w[2 * b + i] + bias[2 * b + i])
                change = cmath.tanh(s[k][i] * w[3 * b + i] + bias[3 * b + i])
                s[k + 1][i] = s[k + 1][i] * forget + take * change
                s[k][i] = x[i] = out * cmath.tanh(s[k + 1][i])
        y = [v * w + u for v, w, u in zip(x, extra[1], extra[2])]
        log_total = cmath.log(sum(cmath.exp(v) for v in y) + 2)
        total += sum(v * (w - log_total) for v, w in zip(following, y))
    return -total / ((len(sequence) - 1) * b)


def lstm():
    for l, b, c in [(1, 1, 2), (2, 3, 5), (2, 14, 9), (3, 8, 4)]:
        main, extra, state = numbers(2 * l, 4 * b), numbers(3, b), numbers(2 * l, b, scale=0.5)
        sequence = [[float((3 * t + i * i) % 4 == 0) for i in range(b)] for t in range(c)]
        given = {"main_params": main, "extra_params": extra, "state": state, "sequence": sequence}
        yield "objective", given, real(network(main, extra, state, sequence)), 1e-12
        by_main = gradient(lambda v: network(v, extra, state, sequence), main)
        by_extra = gradient(lambda v: network(main, v, state, sequence), extra)
        yield "jacobian", given, [x for row in by_main + by_extra for x in row], 1e-10


# -- Bundles and hands


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def projected(cam, point, w, feat):
    v = [x - c for x, c in zip(point, cam[3:6])]
    if all(real(x) == 0 for x in cam[:3]):
        y = [a + b for a, b in zip(v, cross(cam[:3], v))]
    else:
        angle = cmath.sqrt(dot(cam[:3], cam[:3]))
        axis = [x / angle for x in cam[:3]]
        turned, along = cross(axis, v), dot(axis, v) * (1 - cmath.cos(angle))
        y = [a * cmath.cos(angle) + b * cmath.sin(angle) + c * along for a, b, c in zip(v, turned, axis)]
    u = [y[0] / y[2], y[1] / y[2]]
    rho = dot(u, u)
    scale = cam[6] * (1 + cam[9] * rho + cam[10] * rho * rho)
    return [w * (scale * u[i] + cam[7 + i] - feat[i]) for i in range(2)]


def ba():
    for n, m, p, turn in [(1, 1, 1, 1.0), (2, 3, 5, 1.0), (3, 2, 4, 0.0), (5, 7, 101, 0.3)]:
        cam = [turn * v for v in numbers(3)] + numbers(3) + [1.3, 0.2, -0.1, 0.05, -0.02]
        given = {"n": n, "m": m, "p": p, "cam": cam, "x": [0.3, -0.4, 6.0], "w": 0.8, "feat": [0.1, 0.9]}
        all_in_one = lambda v: projected(v[:11], v[11:14], v[14], given["feat"])
        at = cam + given["x"] + [given["w"]]
        errors = [real(e) for e in all_in_one(at)]
        weight = 1 - given["w"] ** 2
        yield "objective", given, {
            "reproj_error": {"elements": errors, "repeated": p},
            "w_err": {"element": weight, "repeated": p},
        }, 1e-12
        block = [gradient(lambda v, row=row: all_in_one(v)[row], at) for row in range(2)]
        rows, cols, vals = [0], [], []
        for i in range(p):
            columns = [11 * (i % n) + e for e in range(11)] + [11 * n + 3 * (i % m) + e for e in range(3)]
            for row in block:
                cols += columns + [11 * n + 3 * m + i]
                vals += row
                rows.append(len(cols))
        for i in range(p):
            cols.append(11 * n + 3 * m + i)
            vals.append(-2 * given["w"])
            rows.append(len(cols))
        shown = lambda x: x[:30] + x[-1:]
        yield "jacobian", given, {"rows": shown(rows), "cols": shown(cols), "vals": shown(vals)}, 1e-10


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for i in range(len(a))]


def about(axis, angle):
    """The rotation about x, y or z, as a 4 by 4 matrix."""
    r = [[complex(i == j) for j in range(4)] for i in range(4)]
    i, j = (axis + 1) % 3, (axis + 2) % 3
    r[i][i] = r[j][j] = cmath.cos(angle)
    r[j][i] = cmath.sin(angle)
    r[i][j] = -r[j][i]
    return r


def posed_bones(theta, model):
    angles = [[0.0, 0.0] for _ in range(max(model["bone_count"], 22))]
    for finger in range(5):
        flex, side, second, third = theta[6 + 4 * finger : 10 + 4 * finger]
        first = 2 + 4 * finger
        angles[first] = [flex, side]
        angles[first + 1][0], angles[first + 2][0] = second, third
    absolutes = []
    for i, parent in enumerate(model["parents"]):
        relative = product(model["base_relatives"][i], product(about(2, angles[i][1]), about(0, angles[i][0])))
        absolutes.append(relative if parent == -1 else product(absolutes[parent], relative))
    return [product(a, b) for a, b in zip(absolutes, model["inverse_base_absolutes"])]


def global_rotation(r):
    if math.sqrt(sum(real(x) ** 2 for x in r)) < 1e-4:
        return lambda v: v
    angle = cmath.sqrt(dot(r, r))
    axis = [x / angle for x in r]
    c, s = cmath.cos(angle), cmath.sin(angle)
    return lambda v: [
        c * a + s * b + (1 - c) * dot(axis, v) * e for a, b, e in zip(v, cross(axis, v), axis)
    ]


def hand(theta, us, data):
    model = data["model"]
    bones, turned, kept = posed_bones(theta, model), global_rotation(theta[:3]), {}

    def vertex(i):
        if i not in kept:
            v = [0.0, 0.0, 0.0]
            for bone, weight in zip(bones, model["weights"][i]):
                if weight:
                    v = [a + weight * dot(row, model["base_positions"][i]) for a, row in zip(v, bone)]
            if model["is_mirrored"]:
                v[0] = -v[0]
            kept[i] = [a + b for a, b in zip(turned(v), theta[3:6])]
        return kept[i]

    errors = []
    for i, at in enumerate(data["correspondences"]):
        if us:
            a, b, c = (vertex(corner) for corner in model["triangles"][at])
            place = [us[i][0] * x + us[i][1] * y + (1 - us[i][0] - us[i][1]) * z for x, y, z in zip(a, b, c)]
        else:
            place = vertex(at)
        errors += [x - y for x, y in zip(data["points"][i], place)]
    return errors


def hand_cases(given):
    theta, us, data = given["theta"], given["us"], given["data"]
    yield "objective", given, [real(e) for e in hand(theta, us, data)], 1e-11
    columns = []
    if us:
        for first in range(2):
            every = nudged(us, [[1.0 - first, float(first)]] * len(us))
            columns.append([slope(e) for e in hand(theta, every, data)])
    columns += [[slope(e) for e in hand(nudged(theta, unit), us, data)] for unit in units(theta)]
    yield "jacobian", given, [list(row) for row in zip(*columns)], 1e-10


def ht():
    for c, vertices, bones, with_us, mirrored, turn in [
        (1, 3, 22, False, False, 1.0), (5, 9, 22, True, False, 1.0), (11, 20, 22, True, True, 1.0), (9, 8, 24, False, True, 0.0)
    ]:
        matrix = lambda: [numbers(4) for _ in range(3)] + [[0.0, 0.0, 0.0, 1.0]]
        model = {
            "bone_count": bones,
            "bone_names": [f"bone {i} \u00e9" for i in range(bones)],
            "parents": [-1] + [random.Random(i).randrange(i) for i in range(1, bones)],
            "base_relatives": [matrix() for _ in range(bones)],
            "inverse_base_absolutes": [matrix() for _ in range(bones)],
            "base_positions": [numbers(3) + [1.0] for _ in range(vertices)],
            "weights": [[abs(v) / bones for v in numbers(bones)] for _ in range(vertices)],
            "triangles": [[i % vertices, (i + 1) % vertices, (3 * i + 2) % vertices] for i in range(vertices + 3)],
            "is_mirrored": mirrored,
        }
        data = {"model": model, "points": numbers(c, 3)}
        data["correspondences"] = [(7 * i + 2) % (vertices + 3 if with_us else vertices) for i in range(c)]
        theta = [turn * v for v in numbers(3)] + numbers(23, scale=0.5)
        yield from hand_cases({"theta": theta, "us": numbers(c, 2) if with_us else [], "data": data})


# -- Descents


def argmin(f, slopes, start):
    x, eta, i = start, 1e-5, 0
    fx, g = f(x), slopes(x)
    while math.hypot(*g) > 1e-5:
        if i == 10:
            eta, i = 2 * eta, 0
            continue
        following = [a - eta * b for a, b in zip(x, g)]
        if math.hypot(*(a - b for a, b in zip(x, following))) <= 1e-5:
            break
        if f(following) < fx:
            x, i = following, i + 1
            fx, g = f(x), slopes(x)
        else:
            eta, i = eta / 2, 0
    return x


def landing(w):
    x, v = [0.0, 8.0], [0.75, 0.0]
    charges = [[10.0, 10.0 - w], [10.0, 0.0]]
    while real(x[1] + 0.1 * v[1]) > 0:
        pull = [0.0, 0.0]
        for charge in charges:
            away = [a - b for a, b in zip(x, charge)]
            cube = dot(away, away) ** 1.5
            pull = [a + b / cube for a, b in zip(pull, away)]
        x, v = [a + 0.1 * b for a, b in zip(x, v)], [a + 0.1 * b for a, b in zip(v, pull)]
    return x[0] - x[1] * v[0] / v[1]


def particle():
    miss = lambda w: landing(w[0]) ** 2
    for w in [0.0, 0.3]:
        best = argmin(lambda v: real(miss(v)), lambda v: gradient(miss, v), [w])[0]
        for modes in ["ff", "fr", "rf", "rr"]:
            yield modes, {"w": w}, best, 1e-9


def saddle():
    # The inner descent's steps do not depend on x, so the outer gradient is 2x.
    for start in [[1.0, 1.0], [-0.3, 2.0]]:
        y = argmin(lambda v: dot(v, v), lambda v: [2 * a for a in v], start)
        x = argmin(lambda v: dot(v, v) - dot(y, y), lambda v: [2 * a for a in v], start)
        for modes in ["ff", "fr", "rf", "rr"]:
            yield modes, {"start": start}, x + y, 1e-9


def cases(module):
    return globals()[module]()
