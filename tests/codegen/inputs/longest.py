# Of LLVM IR: "at most N lines", N the power of two above the longest function's lines.
import re
import sys

longest = max(len(f.split("\n")) for f in re.findall(r"^define .*?^}", sys.stdin.read(), re.M | re.S))
print("at most", 1 << longest.bit_length(), "lines")
