# A function of many loops, each of which needs the sum of the one before.
import sys

print("fn f(x: f64[n]) -> f64 {\n  var s = 0.0;")
for i in range(int(sys.argv[1])):
    term = f"sin(x[i] + s) * {i}.25 + x[n - 1 - i]" if i % 7 else "x[i] * s + exp(x[n - 1 - i])"
    print(f"  let a{i} = [for i < n: {term}];\n  s = 0.5 * s / {i + 1}.0 + max(a{i}) / {i + 9}.0;")
print("  s\n}\nexport f;\nexport grad(f);")
