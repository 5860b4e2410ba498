"""Checks that the examples of Markdown pages are true: check_docs.py GRADC CC-COMMAND PAGE..

  ```ad        a whole program that `gradc check` accepts
  ```ad error  one that it refuses, with the message of each comment that begins `// error: `
  ```ir        a module that is printed as it stands
  ```c         C that compiles; it may include the headers of the programs named above it
  ```console   lines `$ command` are run by sh, and what follows each is what it prints; `..` is any lines

`<!-- file: NAME -->` before a block names it: the block is written to that file, for the commands and blocks below it.
Numbers agree within 1e-6, or 1e-9 from 0: their last digits are the processor's own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


class Page:
    def __init__(self, path, folder, environment):
        self.path, self.folder, self.environment = path, folder, environment
        self.failures = 0

    def fail(self, line, text):
        self.failures += 1
        print(f"{self.path}:{line}: {text}")

    def run(self, command):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, shell=isinstance(command, str), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        return done.returncode, done.stdout

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def blocks_of(text):
    """Yields (line of the fence, its words, the name given before it or None, the text inside)."""
    name, inside = None, None
    for number, line in enumerate(text.split("\n"), 1):
        if inside is None:
            named = re.fullmatch(r"<!-- file: (\S+) -->", line)
            if named:
                name = named.group(1)
            elif line.startswith("```"):
                inside, start, words = [], number, line[3:].split()
            elif line.strip():
                name = None
        elif line == "```":
            yield start, words, name, "".join(part + "\n" for part in inside)
            name, inside = None, None
        else:
            inside.append(line)
    if inside is not None:
        raise SystemExit(f"a block that opens at line {start} never closes")


def check_ad(page, line, words, name, text):
    file = name or "example.ad"
    page.write(file, text)
    status, output = page.run(["gradc", "check", file])
    if "error" not in words[1:]:
        if status or output:
            page.fail(line, f"gradc check: {output}")
        elif name:
            status, output = page.run(["gradc", file, "-o", re.sub(r"\.ad$", ".o", file)])
            if status:
                page.fail(line, output)
        return
    wanted = re.findall(r"// error: (.*)", text)
    if not wanted:
        page.fail(line, "names no error")
    if status != 1:
        page.fail(line, f"is not refused, but ends with {status}")
    for message in wanted:
        if f"error: {message}\n" not in output:
            page.fail(line, f"'{message}' is not among\n{output}")


def check_ir(page, line, words, name, text):
    page.write("example.ir", text)
    _, output = page.run(["gradc", "--emit=ir", "example.ir"])
    if output != text:
        page.fail(line, f"is printed as\n{output}")


def check_c(page, line, words, name, text):
    file = name or "example.c"
    page.write(file, text)
    status, output = page.run(f"cc $(gradc --cflags) -std=c11 -Wall -Wextra -Werror -c {file} -o example.o")
    if status:
        page.fail(line, output)


def same_word(a, b):
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= max(1e-9, 1e-6 * max(abs(x), abs(y)))


def same_line(a, b):
    x, y = (re.findall(r"[^\s,\[\]()]+|[,\[\]()]", line) for line in (a, b))
    return len(x) == len(y) and all(same_word(*pair) for pair in zip(x, y))


def same_output(wanted, got):
    """True if the lines agree; `..` stands for any number of lines."""
    if not wanted:
        return not got
    if wanted[0] == "..":
        return any(same_output(wanted[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and same_line(wanted[0], got[0]) and same_output(wanted[1:], got[1:])


def check_console(page, line, words, name, text):
    for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, wanted = step.partition("\n")
        _, output = page.run(command)
        if not same_output(wanted.rstrip("\n").split("\n"), output.rstrip("\n").split("\n")):
            page.fail(line, f"$ {command}\nprints\n{output}")


CHECKS = {"ad": check_ad, "ir": check_ir, "c": check_c, "console": check_console}


def main(gradc, cc, *paths):
    failures = examples = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder, open(path, encoding="utf-8") as file:
            tools = os.path.join(folder, ".tools")
            os.mkdir(tools)
            for tool, command in [("gradc", gradc), ("cc", cc)]:
                program, *flags = shlex.split(command)
                with open(os.path.join(tools, tool), "w", encoding="utf-8") as script:
                    script.write(f'#!/bin/sh\nexec {shlex.join([shutil.which(program), *flags])} "$@"\n')
                os.chmod(os.path.join(tools, tool), 0o755)
            page = Page(path, folder, {**os.environ, "PATH": tools + os.pathsep + os.environ.get("PATH", "")})
            for line, words, name, text in blocks_of(file.read()):
                if words and words[0] in CHECKS:
                    examples += 1
                    CHECKS[words[0]](page, line, words, name, text)
                elif name:
                    page.write(name, text)
            failures += page.failures
    print(f"{examples} examples, {failures} failures")
    return 1 if failures or not examples else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
