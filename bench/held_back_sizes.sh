#!/bin/sh
# Records all configurations of small spaces for many sizes, and prints what select(), --rules, the best
# of the nearest size and the default values lose for sizes held back.
#
#   bench/held_back_sizes.sh SMEMTUNE DEVICE [DATABASE]
#
# DEVICE is cpu, or a GPU's index, whose sizes are larger.
set -eu
smemtune=$1
device=$2
database=${3:-held_back_sizes.sqlite}
spaces=$(dirname "$0")/../configs
export SMEMTUNE_SHIPPED=off COLUMNS=140
scale=16
edge=4
if [ "$device" = cpu ]; then
  scale=1
  edge=1
fi

record() {
  "$smemtune" --db "$database" --device "$device" --exhaustive --no-early-loss --quiet "$@"
}

set --
for sizes in 64,64 128,128 256,256 512,512 1024,1024 2048,2048 64,4096 4096,64 17,1000 1000,33 300,300 4096,512; do
  m=${sizes%,*}
  n=${sizes#*,}
  set -- "$@" --problem "M=$((m * edge)),N=$((n * edge)),T=float"
done
record --space "$spaces/transpose.json" --kernel naive --kernel tiled "$@"

set --
for sizes in 32,32,32 64,64,64 128,128,128 256,256,256 1,256,256 256,1,256 16,512,64 512,16,64 100,100,100 \
  384,384,32 32,32,2048 200,50,400; do
  m=${sizes%%,*}
  rest=${sizes#*,}
  set -- "$@" --problem "M=$((m * scale)),N=$((${rest%,*} * scale)),K=$((${rest#*,} * scale)),T=float"
done
record --space "$spaces/gemm.json" --kernel naive --kernel row --kernel row_column --kernel narrow --kernel flat \
  --max-evaluations 300 "$@"

set --
for n in 256 1024 4096 16384 65536 262144 1048576 4194304; do
  for radius in 1 3 16; do set -- "$@" --problem "N=$((n * scale)),RADIUS=$radius,T=float"; done
done
record --space "$spaces/stencil1d.json" "$@"

for space in transpose gemm stencil1d; do
  "$smemtune" export --db "$database" --space "$space" --rules cpp -o "$database.$space.h"
  "$smemtune" export --db "$database" --space "$space" --portfolio 3 --format header -o "$database.$space.best.h"
done
