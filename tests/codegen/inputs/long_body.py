# A function of statements on whole vectors, which may all be one loop; or, with a second argument, of calls: each function
# calls the one before it twice.
import sys

n = int(sys.argv[1])
if len(sys.argv) > 2:
    print("fn h0(x: f64[n]) -> f64[n] { [for i < n: sin(x[i]) * exp(x[n - 1 - i])] }")
    for i in range(1, n):
        print(f"fn h{i}(x: f64[n]) -> f64[n] {{ h{i - 1}(x) + h{i - 1}(0.5 * x) }}")
    print(f"fn g(x: f64[n]) -> f64 {{ sum(h{n - 1}(x)) }}\nexport g;\nexport grad(g);")
else:
    print("fn f(x: f64[n]) -> f64[n] {\n  let a0 = 0.5 * x;")
    for i in range(1, n):
        print(f"  let a{i} = a{i - 1} * {f'0.{i} + sin(x)' if i % 3 == 0 else f'x - 0.{i}'};")
    print(f"  a{n - 1}\n}}\nexport f;\nexport vjp(f);")
