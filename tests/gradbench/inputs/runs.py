"""min_runs and min_seconds: one time for each run, at least so many, and at least so long.  usage: runs.py TOOL"""

import sys

from tool import Tool


def run(**wanted):
    answer = tool.ask(kind="evaluate", module="lse", function="primal", input={"x": [0.0, 1.0], **wanted})
    assert answer["success"] and all(time["name"] == "evaluate" for time in answer["timings"])
    return [time["nanoseconds"] for time in answer["timings"]]


tool = Tool(sys.argv[1])
assert len(run()) == 1
assert len(run(min_runs=1, min_seconds=0)) == 1
assert len(run(min_runs=17)) == 17
assert sum(run(min_runs=3, min_seconds=0.01)) >= 1e7
assert len(run(min_runs=1000, min_seconds=1e-9)) == 1000
tool.close()
