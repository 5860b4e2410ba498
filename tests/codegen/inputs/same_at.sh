# Whether functions give the same digits at two levels of optimisation.
#   GRADC=gradc same_at.sh FILE LEVEL LEVEL "FUNCTIONS" ARGUMENTS..
file=$1 one=$2 other=$3 functions=$4 bad=0
shift 4
for arguments; do
  for f in $functions; do
    x=$($GRADC run "$one" "$file" "$f" "$arguments" 2>&1)
    y=$($GRADC run "$other" "$file" "$f" "$arguments" 2>&1)
    if [ "$x" != "$y" ] || [ -z "$x" ]; then
      echo "$f $arguments: $one: $x"
      echo "$other: $y"
      bad=1
    fi
  done
done
exit $bad
