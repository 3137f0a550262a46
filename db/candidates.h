#pragma once

#include "db/bests.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::db {

/// Returns the results that show how the candidates for a size that was not measured did at those
/// that were: for each of these bests of kernels, the newest results on its device model, for its
/// problem, of the kernel's default values and of its bests for other problems (at most the 64 that
/// are the best most often), failures that last included. The bests themselves are left out. `run`:
/// only of runs whose id begins with this text.
std::vector<std::int64_t> candidate_results(const Connection& connection,
                                            const std::vector<KernelBest>& bests,
                                            const std::string& run);

}  // namespace smemtune::db
