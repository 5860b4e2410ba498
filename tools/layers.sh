#!/bin/sh
# Fails where an include runs against the arrows between the rooms (make layers): frontend, passes and codegen include
# ir and themselves; ir and runtime only themselves; the driver all. LLVM's headers stand in codegen/ and the driver's
# JIT (driver/run*) alone.
set -u
cd "$(dirname "$0")/.." || exit 2

# may_include ROOM: the rooms that files of ROOM may include, as a pattern.
may_include() {
  case $1 in
  ir) echo 'ir' ;;
  runtime) echo 'runtime' ;;
  frontend | passes | codegen) echo "ir|$1" ;;
  driver | tools) echo 'ir|frontend|passes|codegen|driver|runtime' ;;
  esac
}

faults=$(
  for room in ir runtime frontend passes codegen driver tools; do
    allowed=$(may_include "$room")
    for file in "$room"/*.c "$room"/*.h "$room"/*.def "$room"/*.l "$room"/*.y; do
      [ -f "$file" ] || continue
      grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z]+/' "$file" |
        grep -vE "^[0-9]+:[^\"]*\"($allowed)/" | sed "s|^|$file:|"
      case $file in
      codegen/* | driver/run*) ;;
      *) grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]llvm' "$file" | sed "s|^|$file:|" ;;
      esac
    done
  done
)

if [ -n "$faults" ]; then
  echo "includes against the arrows between the rooms:" >&2
  echo "$faults" >&2
  exit 1
fi
echo "layers: every include runs the right way"
