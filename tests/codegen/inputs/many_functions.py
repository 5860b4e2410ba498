"""A straight function of as many sines as asked for: many_functions.py N."""
import sys

n = int(sys.argv[1])
print("fn f(x: f64) -> f64 {\n  let y0 = x;")
for i in range(n):
    print(f"  let y{i + 1} = 0.99 * y{i} + 0.01 * sin(y{max(i - 3, 0)});")
print(f"  y{n}\n}}\nexport value_and_grad(f);")
