"""Asks the tool for every case of a module, and compares.  usage: check.py TOOL MODULE"""

import sys

from reference import cases
from tool import Tool, compare

tool = Tool(sys.argv[1])
module = sys.argv[2]
if not tool.ask(kind="define", module=module)["success"]:
    sys.exit(f"{module} is not known")
counts = {}
for function, given, wanted, tolerance in cases(module):
    n = compare(f"{module} {function}", tool.evaluate(module, function, given), wanted, tolerance)
    counts[function] = counts.get(function, 0) + n
tool.close()
print(f"{module}:", ", ".join(f"{name} {n} numbers" for name, n in counts.items()), "agree")
