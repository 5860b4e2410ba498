#!/bin/sh
# Runs the lit tests (all of tests/, or those named) on the build at GRADC_BUILD and ends with the line
# "N passed, N failed". Fails where a test failed, and where none ran.
set -u
cd "$(dirname "$0")/.." || exit 2

lit=$(sh tools/find-llvm.sh lit) || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
[ $# -gt 0 ] || set -- tests

# Output is shown of tests that fail; the summary at the end counts every outcome.
"${PYTHON:-python3}" "$lit" -j "${LIT_JOBS:-2}" --verbose --show-unsupported ${LIT_ARGS:-} "$@" 2>&1 | tee "$log"

count() {
  total=0
  for outcome in "$@"; do
    number=$(sed -n "s/^ *$outcome *: *\([0-9][0-9]*\).*/\1/p" "$log" | tail -n 1)
    total=$((total + ${number:-0}))
  done
  echo "$total"
}

passed=$(count 'Passed' 'Passed With Retry' 'Expectedly Failed')
failed=$(count 'Failed' 'Unresolved' 'Timed Out' 'Unexpectedly Passed')
# lit that dies before its summary is a failure, not an empty success.
[ "$((passed + failed))" -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
