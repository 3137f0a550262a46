// The exported header in plain C++, without CUDA: what is best for a device and a problem is known
// at compile time, and parameters can be template arguments.
//
//   smemtune --space examples/scale.json
//   smemtune export --space scale --format header -o best.h
//   g++ -std=c++17 -I. examples/header/main.cpp -o which && ./which "NVIDIA H200" 90 16777216

#include "best.h"

#include <cstdio>
#include <cstdlib>

namespace scale = smemtune_best::scale;

// A kernel that is instantiated with what is best on an H200, or with what comes nearest.
constexpr auto kBest = scale::select({"NVIDIA H200", 90}, {16777216, "float"});
static_assert(kBest, "nothing is known of this kernel");

template <int THREADS, int ITEMS>
constexpr int elements_per_block() {
  return THREADS * ITEMS;
}

int main(int argc, char** argv) {
  const char* const device = argc > 1 ? argv[1] : "NVIDIA H200";
  const int compute_capability = argc > 2 ? std::atoi(argv[2]) : 90;
  const long long n = argc > 3 ? std::atoll(argv[3]) : 16777216;

  const auto best = scale::select({device, compute_capability}, {n, "float"});
  if (!best) return 1;
  const auto match = to_text(best.match);
  std::printf("%s %d, N=%lld: THREADS=%lld ITEMS=%lld (%.*s, size ratio %g)\n", device,
              compute_capability, n, best->parameters.THREADS, best->parameters.ITEMS,
              static_cast<int>(match.size()), match.data(), best.size_ratio);
  std::printf("at compile time: %d elements per block\n",
              elements_per_block<kBest->parameters.THREADS, kBest->parameters.ITEMS>());
}
