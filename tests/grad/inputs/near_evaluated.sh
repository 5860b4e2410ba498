# Whether code gives what the evaluator gives, to rounding.
#   GRADC=gradc CLOSE=close near_evaluated.sh FILE SCRATCH "FUNCTION ARGUMENTS"..
# OF=-O0: what it gives without the passes that make code faster.
file=$1 scratch=$2 bad=0
shift 2
for call; do
  $GRADC run --evaluate $OF "$file" $call 2>&1 | sed 's|^|// EXPECT: |' >"$scratch"
  $GRADC run "$file" $call 2>&1 | $CLOSE --tolerance=1e-11 --absolute=1e-12 "$scratch" || { echo "$call"; bad=1; }
done
exit $bad
