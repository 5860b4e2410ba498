# Whether code gives what the evaluator gives, in every digit.
#   GRADC=gradc as_evaluated.sh FILE FLAGS "FUNCTION ARGUMENTS".. ; `@` in FUNCTION's place: each of $FUNCTIONS
file=$1 flags=$2 bad=0
shift 2
for call; do
  first=${call%% *} rest=${call#* }
  [ "$first" = @ ] && first=$FUNCTIONS
  for f in $first; do
    code=$($GRADC run $flags "$file" "$f" $rest 2>&1)
    value=$($GRADC run --evaluate $flags "$file" "$f" $rest 2>&1)
    if [ "$code" != "$value" ] || [ -z "$code" ]; then
      echo "$f $rest:"
      echo "$code"
      echo "the evaluator:"
      echo "$value"
      bad=1
    fi
  done
done
exit $bad
