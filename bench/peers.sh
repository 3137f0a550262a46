#!/bin/bash
# Tunes the problems that bench/RESULTS.md holds against vendors' code, and prints their table:
#
#   bench/peers.sh BUILD SECONDS [SPACE...] >> bench/RESULTS.md
#
# BUILD     a build folder, configured with -DSMEMTUNE_BENCH=ON; results are kept in BUILD/peers.sqlite
# SECONDS   of search for each problem that is not known yet; 0: only compare
# SPACE     gemm, gemm_tc, gemm_fp8, gemm_int8, convolution, stencil1d; without any, all of them
set -eu
build=$(realpath "$1")
seconds=$2
shift 2
spaces=${*:-gemm gemm_tc gemm_fp8 gemm_int8 convolution stencil1d}
cd "$(dirname "$0")/.."

fp32="512x512x512 1000x1000x1000 1024x1024x1024 2048x2048x2048 4096x4096x4096 8192x8192x8192
  4095x4097x4099 3072x1024x4096 100x50000x300 64x4096x4096 4096x64x8192 16x16384x4096 8192x8192x64
  256x256x65536 2560x1536x768 256x256x256 768x768x768 6144x6144x6144 32x8192x8192 8192x48x4096
  128x11008x4096 512x512x32768 509x521x523 2039x2053x2063 50000x128x96"
thin="4096x1x4096 3x4096x4096 127x8191x257 31x33x100000 65x63x4001 100003x7x11 2049x2049x2049"
square="2048x2048x2048 4096x4096x4096 6144x6144x6144 8192x8192x8192"
tokens="16x4096x4096 16x14336x4096 64x4096x14336 64x6144x4096 128x14336x4096 256x4096x14336
  512x4096x4096 512x14336x4096"
between="1000x1000x1000 2040x2040x2040 2056x3080x1032 3000x3000x3000 4104x4104x4104"

# of REST SHAPE...: the shapes, M x N x K, as problems.
of() {
  local rest=$1
  shift
  for shape in "$@"; do
    IFS=x read -r m n k <<< "$shape"
    echo "K=$k,M=$m,N=$n,$rest"
  done
}

problems() {
  local bf16=__nv_bfloat16
  case $1 in
    gemm) of T=float $fp32 $thin ;;
    gemm_tc)
      of OUT=$bf16,T=$bf16,TRANSPOSED=0 $square $between
      of OUT=$bf16,T=$bf16,TRANSPOSED=1 $tokens
      of OUT=float,T=__half,TRANSPOSED=0 4096x4096x4096
      ;;
    gemm_fp8) of FAST=0,OUT=$bf16 $square $tokens && of FAST=1,OUT=$bf16 $square ;;
    gemm_int8) of OUT=int $square && of OUT=int8_t $tokens ;;
    convolution) echo filter_height=15,filter_width=15,image_height=4096,image_width=4096 ;;
    stencil1d) printf 'N=16777216,RADIUS=%s,T=float\n' 16 32 ;;
    *) echo "bench/peers.sh: no problems are known of $1" >&2 && exit 2 ;;
  esac
}

# Those that have a chance, and what a kernel is held against.
kernels() {
  case $1 in
    gemm) echo --kernel register_tiled --kernel stream_k --kernel narrow ;;
    gemm_tc | gemm_fp8 | gemm_int8) echo --kernel wgmma ;;
    convolution) echo --kernel rows --kernel tiled ;;
  esac
}

for space in $spaces; do
  for problem in $(problems "$space"); do
    [ "$seconds" = 0 ] && continue
    "$build/tuner/cli/smemtune" --space "configs/$space.json" --problem "$problem" $(kernels "$space") \
      --max-time "$seconds" --db "$build/peers.sqlite" --quiet >&2
  done
done
files=()
for space in $spaces; do files+=("configs/$space.json"); done
"$build/bench/smemtune_peers" "$build/peers.sqlite" 21 "${files[@]}"
