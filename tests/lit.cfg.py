# How lit runs the tests: `make test`, or, for some of them, `make test TESTS=tests/grad`.
#
# A test is a file with RUN lines, beside its answer. What stands in RUN lines:
#   %gradc        the compiler              %ad_parse ..  build/tools/ad-parse and the other test tools, '-' as '_'
#   %cc           a C compiler with the flags of a user's program; %libs what follows the objects of one
#   %runtime      libgradc.a                %include      the folder of gradc.h
#   %root         the project's folder      %library      the standard library's folder
#   %sanitize     the sanitizers' flags     %cxx          a C++ compiler (feature `cxx`)
#   %gradbench    the tool for GradBench (feature `gradbench`: it is built)
#   %python       the Python that runs lit  %shared       the folder of shared inputs (feature `shared`)
#   FileCheck, not, diff, count             %s %t %S %T   as in lit
# Features: shared, gradbench, cxx, lbfgs, mpfr, x86-64, avx2, valgrind, tsan, qemu-aarch64, qemu-x86-64, asan, quick (under `make check`; REQUIRES: !quick keeps a slow test out).

import glob
import os
import platform
import shutil
import subprocess
import sys

import lit.formats
import lit.util

root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
build = os.path.abspath(os.environ.get("GRADC_BUILD", os.path.join(root, "build")))
sanitize = os.environ.get("SANITIZE", "")

config.name = "gradc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ad", ".ir", ".test"]
config.excludes = ["inputs", "Inputs", "Output", "lit.cfg.py"]
config.test_source_root = os.path.join(root, "tests")
config.test_exec_root = os.path.join(build, "tests")

ok, _ = lit.util.killProcessAndChildrenIsSupported()
if ok:
    lit_config.maxIndividualTestTime = 480 if sanitize else 120
else:
    lit_config.note("tests have no time limit: Python's psutil is missing")

# FileCheck and not stand in LLVM's own folder.
llvm = os.environ.get("LLVM_BINDIR") or next(
    (os.path.dirname(os.path.realpath(tool)) for tool in [shutil.which("FileCheck-19"), shutil.which("FileCheck")] if tool),
    "/usr/lib/llvm-19/bin",
)
config.environment["PATH"] = os.pathsep.join([llvm, os.environ.get("PATH", "")])
for name in ["ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "CC"]:
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["LC_ALL"] = "C"

compiler = os.environ.get("CC", "cc")
runtime = os.path.join(build, "libgradc.a")
substitutions = {
    "%gradc": os.path.join(build, "gradc"),
    "%cc": f"{compiler} -std=c11 -O1 -Wall -Wextra -Werror {sanitize} -I{os.path.join(root, 'runtime')}",
    "%libs": f"{runtime} -lm -lpthread",
    "%runtime": runtime,
    "%include": os.path.join(root, "runtime"),
    "%sanitize": sanitize,
    "%library": os.path.join(root, "lib"),
    "%root": root,
    "%python": sys.executable,
}

# A tool named only in tests of rooms that are not built yet is left as it stands, and its test fails by that name.
for source in glob.glob(os.path.join(root, "tools", "*.c")):
    tool = os.path.splitext(os.path.basename(source))[0]
    substitutions["%" + tool.replace("-", "_")] = os.path.join(build, "tools", tool)

gradbench = os.path.join(build, "gradbench", "gradbench")
if os.path.isfile(gradbench):
    config.available_features.add("gradbench")
    substitutions["%gradbench"] = gradbench
else:
    lit_config.note("tests/gradbench is left out: make gradbench")

shared = os.path.abspath(os.environ.get("GRADC_SHARED", os.path.join(root, "..", "shared")))
if os.path.isdir(shared):
    config.available_features.add("shared")
    substitutions["%shared"] = shared

# Headers that some tests need.
if any(os.path.isfile(os.path.join(folder, "lbfgs.h")) for folder in ["/usr/include", "/usr/local/include"]):
    config.available_features.add("lbfgs")

if any(os.path.isfile(os.path.join(folder, "mpfr.h")) for folder in ["/usr/include", "/usr/local/include"]):
    config.available_features.add("mpfr")

if compiler and os.path.isabs(subprocess.run([compiler, "-print-file-name=liblapack.so"], capture_output=True, text=True).stdout.strip()):
    config.available_features.add("lapack")

# Processors.
if platform.machine() == "x86_64":
    config.available_features.add("x86-64")
if os.path.isfile("/proc/cpuinfo") and {"avx2", "fma"} <= set(open("/proc/cpuinfo").read().split()):
    config.available_features.add("avx2")

if shutil.which("valgrind"):
    config.available_features.add("valgrind")
if compiler and os.path.isabs(subprocess.run([compiler, "-print-file-name=libtsan.so"], capture_output=True, text=True).stdout.strip()):
    config.available_features.add("tsan")
if shutil.which("qemu-x86_64"):
    config.available_features.add("qemu-x86-64")
if shutil.which("qemu-aarch64") and os.path.isdir("/usr/aarch64-linux-gnu"):
    config.available_features.add("qemu-aarch64")
if shutil.which("c++") and not sanitize:
    config.available_features.add("cxx")
    substitutions["%cxx"] = "c++ -Wall -Wextra -Werror -I" + os.path.join(root, "runtime")
if sanitize:
    config.available_features.add("asan")
if os.environ.get("GRADC_QUICK"):
    config.available_features.add("quick")

# Whole words only, so that %cc is not taken out of another name; the longest first for the same reason.
for name in sorted(substitutions, key=len, reverse=True):
    config.substitutions.append((name + r"\b", substitutions[name].replace("\\", "\\\\")))
