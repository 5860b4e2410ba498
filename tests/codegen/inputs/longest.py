# Of LLVM IR: "at most N lines", N the power of two above the lines of the longest function that LLVM optimises.
import re
import sys

text = sys.stdin.read()
left = re.findall(r"^attributes (#\d+) = \{[^}]*\boptnone\b", text, re.M)
functions = re.findall(r"^define .*?^}", text, re.M | re.S)
longest = max(len(f.split("\n")) for f in functions if f.split("\n")[0].split()[-2] not in left)
print("at most", 1 << longest.bit_length(), "lines")
