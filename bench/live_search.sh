#!/bin/bash
# Compares strategies live: each seed searches from empty caches and databases, and knows nothing
# from elsewhere. Then all winners are timed in turn, three times each, and what each seed found is
# told as a share of the fastest of them.
#
#   bench/live_search.sh SMEMTUNE DEVICE SECONDS SEEDS SPACE STRATEGY[,STRATEGY...] [OPTION...]
#
# SMEMTUNE  the built program
# DEVICE    as of --device: 0, cpu
# SECONDS   of each run
# SPACE     a space file, or the name of one that smemtune brings along
# OPTION    of the runs: --kernel NAME, --problem KEY (the first of the file where there is none)
#
# An exhaustive run stands beside them as a run of its own, with seconds enough for it:
# bench/live_search.sh smemtune 0 600 1 SPACE exhaustive. What it prints in brackets, the winner, is
# timed with those of a later call where RIVALS holds it, one on a line. Needs jq.
#
# Hotspot of bench/RESULTS.md: smemtune init its source, as told there, and give the draft as SPACE.
set -eu
[ $# -ge 6 ] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2; }
smemtune=$(realpath "$1")
device=$2
seconds=$3
seeds=$4
space=$5
IFS=, read -ra strategies <<< "$6"
shift 6

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for seed in $(seq "$seeds"); do
  for strategy in "${strategies[@]}"; do
    mkdir "$folder/cache"
    XDG_CACHE_HOME=$folder/cache "$smemtune" --space "$space" --device "$device" \
      --strategy "$strategy" --seed "$seed" --max-time "$seconds" --cold --no-shipped \
      --db "$folder/$strategy-$seed.sqlite" --json "$@" > "$folder/run.json" ||
      echo "$strategy, seed $seed: status $?" >&2
    rm -r "$folder/cache"
    jq -r --arg strategy "$strategy" '
      def key: to_entries | map("\(.key)=\(.value)") | join(",");
      .problems[0] | select(.best != null) |
        [$strategy, .evaluated, .best.time.median_ms, .best.kernel, (.best.problem | key),
         (.best.configuration | key)] | @tsv' "$folder/run.json" | tee -a "$folder/found" >&2
  done
done
[ -s "$folder/found" ] || { echo "no run found anything" >&2; exit 1; }

# The winners, each once, in turn.
{ cut -f 4- "$folder/found"; [ -z "${RIVALS:-}" ] || cat "$RIVALS"; } | sort -u > "$folder/winners"
for _ in 1 2 3; do
  while IFS=$'\t' read -r kernel problem configuration; do
    XDG_CACHE_HOME=$folder/all "$smemtune" run --space "$space" --device "$device" \
      --kernel "$kernel" --problem "$problem" --config "$configuration" --json \
      --db "$folder/all.sqlite" < /dev/null > "$folder/run.json" || continue
    jq -r --arg winner "$kernel"$'\t'"$problem"$'\t'"$configuration" \
      '.problems[0].best | select(. != null) | [$winner, .time.median_ms] | join("\t")' \
      "$folder/run.json"
  done < "$folder/winners"
done | sort -t $'\t' -k 1,3 -k 4,4g > "$folder/timed"

awk -F '\t' '
  # The second of three, the slower of two.
  NR == FNR { name = $1 FS $2 FS $3; if (++count[name] < 3) ms[name] = $4; next }
  FNR == 1 { for (name in ms) if (best == "" || ms[name] + 0 < ms[best] + 0) best = name }
  {
    name = $4 FS $5 FS $6
    if (!(name in ms)) { print "not timed again: " name > "/dev/stderr"; next }
    share = ms[best] / ms[name]
    shares[$1] = shares[$1] (runs[$1]++ ? ", " : "") sprintf("%.3f", share)
    sum[$1] += share
    evaluated[$1] += $2
  }
  END {
    printf "best %.6g ms\n[%s]\n", ms[best], best
    print "| strategy | runs | mean share | shares | evaluations |\n|---|--:|--:|---|--:|"
    for (strategy in runs)
      printf "| %s | %d | %.3f | %s | %d |\n", strategy, runs[strategy],
        sum[strategy] / runs[strategy], shares[strategy], evaluated[strategy] / runs[strategy]
  }' "$folder/timed" "$folder/found"
