#!/usr/bin/env bash
# Sets smemtune up on Debian 12 or Ubuntu 24.04: installs what is missing, configures, builds.
#
#   ./bootstrap.sh [--with-cuda]          install, configure, build the program and the library
#   ./bootstrap.sh [--with-cuda] tune     build the program and tune configs/gemm.json on the device that is here
#   ./bootstrap.sh [--with-cuda] test     build everything and run every test that needs no GPU
#
# --with-cuda installs the distribution's CUDA toolkit (Ubuntu multiverse, Debian non-free) where none
# is found. Without a toolkit everything else is built. Running it again is quick and harmless.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'bootstrap: %s\n' "$*"; }
fail() { printf 'bootstrap: %s\n' "$*" >&2; exit 2; }

usage() { sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

action=build
with_cuda=no
for argument in "$@"; do
  case "$argument" in
    --with-cuda) with_cuda=yes ;;
    build | tune | test) action=$argument ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unknown argument '$argument': --with-cuda, tune or test (--help says more)" ;;
  esac
done

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

need_root() {  # need_root "what root would run"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
    fail "installing needs root, and there is no sudo here; as root run
  $1
and then this again"
}

# Packages that dpkg does not know as installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
  done
}

install_packages() {
  local missing
  missing=$(missing_packages "$@")
  [ -z "$missing" ] && return 0
  command -v apt-get >/dev/null || fail "no apt-get here; install by hand: $missing"
  need_root "apt-get update && apt-get install -y --no-install-recommends $missing"
  say "installing $missing"
  as_root apt-get update -qq
  # shellcheck disable=SC2086  # a list of package names
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# The root of a CUDA toolkit's headers and libraries, or nothing.
cuda_root() {
  local root
  for root in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
    if [ -n "$root" ] && [ -f "$root/include/cuda.h" ]; then printf '%s\n' "$root"; return; fi
  done
  if [ -f /usr/include/cuda.h ]; then printf '/usr\n'; fi
}

# Lets apt see the packages that the distribution keeps apart because of their licence.
enable_component() {  # enable_component non-free | multiverse
  # shellcheck disable=SC1091
  . /etc/os-release
  local file
  if [ "$ID" = ubuntu ]; then
    install_packages software-properties-common
    as_root add-apt-repository -y -n "$1" >/dev/null
    return
  fi
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [ -f "$file" ] || continue
    # The space or the end behind the name: non-free-firmware is another component.
    as_root sed -i -E "/ $1( |\$)/! s/^(deb .* main|Components:.*)/\1 contrib $1/" "$file"
  done
}

packages=(build-essential cmake ninja-build nlohmann-json3-dev libcli11-dev libsqlite3-dev \
  zlib1g-dev libssl-dev libsimdjson-dev libboost-context-dev libclang-dev libjs-chart.js)
if [ "$action" = test ]; then
  packages+=(libgtest-dev libgmock-dev python3-venv python3-numpy patchelf)
  options=(-DSMEMTUNE_TESTS=ON)
elif [ -f build/release/CMakeCache.txt ]; then
  options=()  # Tests stay configured where they were.
else
  options=(-DSMEMTUNE_TESTS=OFF)
fi
[ "${SMEMTUNE_WERROR:-}" = 1 ] && options+=(-DSMEMTUNE_WERROR=ON)
install_packages "${packages[@]}"

if [ "$with_cuda" = yes ] && [ -z "$(cuda_root)" ]; then
  # shellcheck disable=SC1091
  component=$(. /etc/os-release && [ "$ID" = ubuntu ] && echo multiverse || echo non-free)
  need_root "apt-get install -y --no-install-recommends nvidia-cuda-dev   # of $component: add it to apt's sources"
  if [ -z "$(apt-cache --names-only search '^nvidia-cuda-dev$')" ]; then
    say "enabling the $component packages for the CUDA toolkit"
    enable_component "$component"
  fi
  install_packages nvidia-cuda-dev
fi

root=$(cuda_root)
if [ -n "$root" ]; then options+=(-DSMEMTUNE_CUDA=ON "-DCUDAToolkit_ROOT=$root"); else options+=(-DSMEMTUNE_CUDA=OFF); fi

configure_log=$(mktemp)
trap 'rm -f "$configure_log"' EXIT
if ! cmake --preset release "${options[@]}" >"$configure_log" 2>&1; then
  if [ -n "$root" ] && grep -q 'No CUDA toolkit 11.8 or newer' "$configure_log"; then
    say "the CUDA toolkit in $root is older than 11.8"
    root=
    cmake --preset release "${options[@]}" -DSMEMTUNE_CUDA=OFF >"$configure_log" 2>&1 || { cat "$configure_log" >&2; exit 1; }
  else
    cat "$configure_log" >&2
    exit 1
  fi
fi
if [ -z "$root" ]; then
  [ "${SMEMTUNE_REQUIRE_CUDA:-}" = 1 ] && fail "SMEMTUNE_REQUIRE_CUDA is set, and no CUDA toolkit 11.8 or newer is here"
  say "no CUDA toolkit: built without the CUDA back end; tuning runs on the CPU device"
  [ "$action" = test ] &&
    say "skipped tests: the NVRTC compiler's, the kernel templates' for sm_80 to sm_120, occupancy against cuda_occupancy.h"
  say "(--with-cuda installs the distribution's toolkit)"
fi
say "building (release)"
if [ "$action" = tune ]; then cmake --build --preset release --target smemtune; else cmake --build --preset release; fi

case "$action" in
  tune) exec build/release/tuner/cli/smemtune --space configs/gemm.json ;;
  test) exec ctest --preset release -j "$(nproc)" ;;
  *) say "built build/release/tuner/cli/smemtune; next: ./bootstrap.sh tune" ;;
esac
