#!/bin/sh
# Installs what a purpose needs and the machine lacks: tools/install-deps.sh build|demo|test|peers|format ...
#
# Looks for the tools and headers first, so that nothing is run where all is there; else installs by apt, as root or by
# sudo, or names clearly what to install.
set -u

missing=
# Debian's packages of modules are for Debian's Python, whatever stands before it on the path.
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

# need PACKAGES CHECK...: adds PACKAGES where the command CHECK fails.
need() {
  packages=$1
  shift
  "$@" >/dev/null 2>&1 || missing="$missing $packages"
}

has() { command -v "$1"; }

# has_header HEADER...: the C compiler finds all of them.
has_header() {
  for header in "$@"; do
    printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\n' "$header" | ${CC:-cc} -E -x c - || return 1
  done
}

has_cxx_header() { printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" | ${CXX:-c++} -E -x c++ -; }

has_llvm() { sh "$(dirname "$0")/find-llvm.sh" config; }

# has_llvm_tool NAME: a program of LLVM's, in its own folder or on the path.
has_llvm_tool() {
  [ -x "$(sh "$(dirname "$0")/find-llvm.sh" bindir)/$1" ] || has "$1-19" || has "$1"
}

# has_library NAME: what -lNAME names.
has_library() { [ "$("${CC:-cc}" -print-file-name="lib$1.so")" != "lib$1.so" ]; }

has_lit() { sh "$(dirname "$0")/find-llvm.sh" lit; }

collect() {
  for purpose in "$@"; do
    case $purpose in
    build)
      need flex has flex
      need bison has bison
      need llvm-19-dev has_llvm
      ;;
    demo)
      need liblbfgs-dev has_header lbfgs.h
      ;;
    test)
      need python3 has "$python"
      need python3-psutil "$python" -c 'import psutil'
      need llvm-19 has_llvm_tool FileCheck
      need llvm-19-tools has_lit
      need libmpfr-dev has_header mpfr.h
      need g++ has c++
      need liblapack-dev has_library lapack
      need file has file
      ;;
    peers)
      need libadolc-dev has_cxx_header adolc/adolc.h
      need "libtrilinos-sacado-dev libtrilinos-kokkos-dev libtrilinos-teuchos-dev" has_cxx_header trilinos/Sacado_trad.hpp
      need libopenmpi-dev has mpicxx
      ;;
    format)
      need clang-format-19 has_llvm_tool clang-format
      ;;
    tidy)
      need clang-tidy-19 has_llvm_tool clang-tidy
      ;;
    *)
      echo "install-deps.sh: unknown purpose '$purpose'" >&2
      exit 2
      ;;
    esac
  done
  missing=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')
}

if ! command -v "${CC:-cc}" >/dev/null 2>&1; then
  echo "gradc needs a C compiler (cc, or CC=..): install gcc or clang" >&2
  exit 1
fi

collect "$@"
[ -z "${missing# }" ] && exit 0

by_hand() {
  echo "gradc needs packages that are missing here: $missing" >&2
  echo "$1; on Debian and its kin: apt-get install $missing" >&2
  exit 1
}

command -v apt-get >/dev/null 2>&1 || by_hand "there is no apt-get to install them"
if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root=sudo
elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
  as_root=sudo
else
  by_hand "they can be installed by root or through sudo only"
fi

export DEBIAN_FRONTEND=noninteractive
echo "installing:$missing" | sed 's/: */: /'
$as_root apt-get update -qq || echo "install-deps.sh: apt-get update failed; trying with the lists at hand" >&2
# shellcheck disable=SC2086 # a list of packages
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
  by_hand "apt-get could not install them"

# What installs and is yet not found must not pass in silence.
missing=
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
collect "$@"
[ -z "${missing# }" ] || by_hand "still not found after installing"
