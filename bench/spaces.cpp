// Measures how long it takes to build search spaces: prints, for each space file, the number of
// valid configurations of its kernels and the shortest of several times of finding them, with
// expressions compiled anew each time.
#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace smemtune;

constexpr int kTimes = 5;

void measure(const LoadedSpace& loaded, const KernelTemplate& kernel) {
  const Problem& problem = loaded.space.problems.front();
  double least_ms = 1e300;
  std::uint64_t valid = 0;
  double points = 0;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const KernelBinding bound(loaded.space, kernel, problem, h200_limits());
    valid = bound.search_space().size();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    least_ms = std::min(least_ms, elapsed.count());
    points = bound.search_space().cartesian_size();
  }
  std::printf("%-20s %12.0f points %10llu valid %10.3f ms\n", kernel.name.c_str(), points,
              static_cast<unsigned long long>(valid), least_ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s SPACE.json...\n", argv[0]);
    return 2;
  }
  try {
    for (int i = 1; i < argc; ++i) {
      const std::filesystem::path file = argv[i];
      const LoadedSpace loaded = load_space(file, file.parent_path());
      for (const KernelTemplate& kernel : loaded.space.kernels) measure(loaded, kernel);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
