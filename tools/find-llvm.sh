#!/bin/sh
# Finds LLVM 19: tools/find-llvm.sh config|bindir|lit prints the path asked for; `make BUILD` prints make variables for
# compiling and linking against it. LLVM_CONFIG names another llvm-config.
set -u

required=19
cc=${CC:-cc}

find_config() {
  if [ -n "${LLVM_CONFIG:-}" ]; then
    if ! "$LLVM_CONFIG" --version >/dev/null 2>&1; then
      echo "LLVM_CONFIG=$LLVM_CONFIG does not run" >&2
      return 1
    fi
    echo "$LLVM_CONFIG"
    return 0
  fi
  for candidate in llvm-config-$required llvm-config /usr/lib/llvm-$required/bin/llvm-config; do
    case $("$candidate" --version 2>/dev/null) in
    $required.*)
      # The tools alone can stand without the headers.
      if [ -f "$("$candidate" --includedir)/llvm-c/Core.h" ]; then
        command -v "$candidate"
        return 0
      fi
      ;;
    esac
  done
  echo "LLVM $required not found: install llvm-$required-dev, or set LLVM_CONFIG" >&2
  return 1
}

find_bindir() {
  if config=$(find_config 2>/dev/null); then
    "$config" --bindir
  else
    echo /usr/lib/llvm-$required/bin
  fi
}

find_lit() {
  for candidate in "$(dirname "$(find_bindir)")/build/utils/lit/lit.py" /usr/lib/llvm-$required/build/utils/lit/lit.py \
    "$(command -v lit)" "$(command -v llvm-lit)" "$(command -v llvm-lit-$required)"; do
    if [ -n "$candidate" ] && [ -f "$candidate" ]; then
      echo "$candidate"
      return 0
    fi
  done
  echo "lit not found: install llvm-$required-tools" >&2
  return 1
}

# The libraries that LLVM's archives need of the system. The development links (-lzstd) come with packages of their own,
# so name the run-time libraries, which stand wherever LLVM itself does; what is not needed is not linked.
system_libraries() {
  for library in $("$config" --link-static --system-libs); do
    case $library in
    -lrt | -ldl | -lm | -lpthread) echo "$library" ;;
    -l*) named_library "${library#-l}" ;;
    */lib*.so) named_library "$(basename "$library" .so | sed 's/^lib//')" ;;
    *) echo "$library" ;;
    esac
  done
  named_library stdc++
  echo "-lm"
}

# named_library NAME: -lNAME where the linker finds it so, else the newest libNAME.so.N.
named_library() {
  if [ "$("$cc" -print-file-name="lib$1.so")" != "lib$1.so" ]; then
    echo "-l$1"
    return
  fi
  for version in 16 8 6 4 3 2 1; do
    if [ "$("$cc" -print-file-name="lib$1.so.$version")" != "lib$1.so.$version" ]; then
      echo "-l:lib$1.so.$version"
      return
    fi
  done
}

# links LIBRARIES..: a program that makes a pass builder and the targets links with them.
links() {
  directory=$(mktemp -d) || return 1
  {
    printf '#include <llvm-c/Target.h>\n#include <llvm-c/Transforms/PassBuilder.h>\nint main(void) {\n'
    for target in $targets; do
      printf '  LLVMInitialize%sTargetInfo();\n' "$target"
    done
    printf '  LLVMDisposePassBuilderOptions(LLVMCreatePassBuilderOptions());\n  return 0;\n}\n'
  } >"$directory/try.c"
  "$cc" -isystem "$("$config" --includedir)" "$directory/try.c" -o "$directory/try" "$@" >/dev/null 2>&1 &&
    "$directory/try"
  status=$?
  rm -rf "$directory"
  return $status
}

# Static archives of the targets that gradc emits for start in half the time of the shared library of all of LLVM (8 to
# 11 ms against 17 to 20), so they are taken where they link.
print_make() {
  config=$(find_config) || exit 1
  case $("$config" --version) in
  $required.*) ;;
  *)
    echo "gradc is built on LLVM $required; $config is $("$config" --version)" >&2
    exit 1
    ;;
  esac
  targets=
  components=
  for target in X86 AArch64 RISCV WebAssembly ARM; do
    case " $("$config" --targets-built) " in
    *" $target "*)
      targets="$targets $target"
      components="$components $(echo "$target" | tr 'A-Z' 'a-z')"
      ;;
    esac
  done
  table=
  for target in $targets; do table="$table T($target)"; done
  search=$("$config" --ldflags)
  # shellcheck disable=SC2086 # lists of libraries
  static="$search -Wl,--as-needed $("$config" --link-static --libs $components passes linker orcjit irreader bitwriter 2>/dev/null) \
$(system_libraries | tr '\n' ' ')"
  # shellcheck disable=SC2086
  if [ "${LLVM_LINK:-static}" != shared ] && links $static; then
    libraries=$static
    kind=static
  else
    # shellcheck disable=SC2086
    libraries="$search -Wl,-rpath,$("$config" --libdir) $("$config" --link-shared --libs $components passes orcjit \
irreader bitwriter 2>/dev/null)"
    kind=shared
    # shellcheck disable=SC2086
    if ! links $libraries; then
      echo "LLVM at $config does not link: neither its archives nor its shared library" >&2
      exit 1
    fi
  fi
  printf '# Written by tools/find-llvm.sh.\n'
  printf 'LLVM_KIND := %s\n' "$kind"
  printf 'LLVM_BINDIR := %s\n' "$("$config" --bindir)"
  printf "LLVM_CFLAGS := -isystem %s '-DGRADC_LLVM_TARGETS(T)=%s'\n" "$("$config" --includedir)" "${table# }"
  printf 'LLVM_LIBS := %s\n' "$libraries"
}

case ${1:-} in
config) find_config ;;
bindir) find_bindir ;;
lit) find_lit ;;
make) print_make ;;
*)
  echo "usage: find-llvm.sh config|bindir|lit|make" >&2
  exit 2
  ;;
esac
