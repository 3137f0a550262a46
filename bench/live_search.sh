#!/bin/bash
# Compares strategies live: each seed searches from empty caches and databases, and knows nothing
# from elsewhere. Prints a row for each strategy, the best of each seed as a share of the best of all.
#
#   bench/live_search.sh SMEMTUNE DEVICE SECONDS SEEDS SPACE KERNEL [STRATEGY...]
#
# SMEMTUNE  the built program
# DEVICE    as of --device: 0, cpu
# SECONDS   of each run
# SPACE     a space file, or the name of one that smemtune brings along
# KERNEL    one kernel of it
# STRATEGY  [auto random]
#
# The best of all runs stands for the optimum. The exhaustive one has a run of its own, with seconds
# enough for it: bench/live_search.sh SMEMTUNE 0 7200 1 SPACE KERNEL exhaustive. Needs jq.
#
# Hotspot of bench/RESULTS.md: smemtune init its source, as told there, and give the draft as SPACE.
set -eu
[ $# -ge 6 ] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2; }
smemtune=$(realpath "$1")
device=$2
seconds=$3
seeds=$4
space=$5
kernel=$6
shift 6
strategies=${*:-auto random}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for seed in $(seq "$seeds"); do
  for strategy in $strategies; do
    mkdir "$folder/cache"
    XDG_CACHE_HOME=$folder/cache "$smemtune" --space "$space" --kernel "$kernel" \
      --device "$device" --strategy "$strategy" --seed "$seed" --max-time "$seconds" --cold \
      --no-shipped --db "$folder/$strategy-$seed.sqlite" --json > "$folder/run.json" ||
      echo "$strategy, seed $seed: status $?" >&2
    rm -r "$folder/cache"
    jq -e '.problems[0].best' "$folder/run.json" > /dev/null || continue
    jq -r --arg run "$strategy $seed" \
      '.problems[0] | "\($run) \(.best.time.median_ms) \(.evaluated)"' \
      "$folder/run.json" >> "$folder/bests"
  done
done

awk '
  { ms[$1, ++count[$1]] = $3; evaluated[$1] += $4 }
  best == "" || $3 + 0 < best { best = $3 + 0 }
  END {
    printf "best %.6g ms\n| strategy | runs | mean share | shares | evaluations |\n|---|--:|--:|---|--:|\n", best
    for (strategy in count) {
      sum = 0
      shares = ""
      for (i = 1; i <= count[strategy]; ++i) {
        share = best / ms[strategy, i]
        sum += share
        shares = shares sprintf("%s%.3f", i > 1 ? ", " : "", share)
      }
      printf "| %s | %d | %.3f | %s | %d |\n", strategy, count[strategy], sum / count[strategy],
        shares, evaluated[strategy] / count[strategy]
    }
  }' "$folder/bests"
