"""The tool as a process: messages in, answers out; and the comparison of an answer with numbers found otherwise."""

import json
import subprocess
import sys


class Tool:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.id = 0

    def ask(self, **message):
        self.process.stdin.write(json.dumps({"id": self.id, **message}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["id"] != self.id:
            sys.exit(f"message {self.id} was answered as {answer['id']}")
        self.id += 1
        return answer

    def evaluate(self, module, function, given):
        answer = self.ask(kind="evaluate", module=module, function=function, input=given)
        if not answer["success"]:
            sys.exit(f"{module} {function}: {answer['error']}")
        return answer["output"]

    def close(self):
        self.process.stdin.close()
        if self.process.wait():
            sys.exit(f"the tool ended with {self.process.returncode}")


def flatten(value, path=""):
    """The numbers in a tree of lists and objects, each with where it stands."""
    if isinstance(value, dict):
        return [leaf for name in value for leaf in flatten(value[name], f"{path}.{name}")]
    if isinstance(value, list):
        return [leaf for i, item in enumerate(value) for leaf in flatten(item, f"{path}[{i}]")]
    return [(path, value)]


def compare(what, got, wanted, tolerance):
    """Every number to a relative tolerance, or to a hundredth of it of the largest."""
    got, wanted = flatten(got), flatten(wanted)
    if [path for path, _ in got] != [path for path, _ in wanted]:
        sys.exit(f"{what}: the output has not the shape that it should have")
    largest = max((abs(x) for _, x in wanted), default=0.0)
    for (path, a), (_, b) in zip(got, wanted):
        if a is None or not abs(a - b) <= tolerance * max(abs(b), 0.01 * largest):
            sys.exit(f"{what}{path}: {a} where {b} should be")
    return len(got)
