#pragma once

#include "tuner/core/device.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// A run's winner and what would become of it on another device.
struct WinnerFit {
  Result winner;
  Result there;  ///< `fits`, or why it does not; its launches are those of the other device.
};

/// Which of a run's winners would fit another device.
struct AlsoFits {
  Device device;
  /// Why nothing could be compiled for it, so that the winners are judged by what they take here.
  std::string not_compiled;
  bool registers_known = true;  ///< False where that is a CPU, which has none.
  std::vector<WinnerFit> winners;
};

/// A problem's winners: the best, its ties, and each kernel's best; each once.
std::vector<Result> winners(const ProblemSummary& problem);

/// For the end of a run's summary: what fits where, and why not.
std::string also_fits_text(const std::vector<AlsoFits>& all);

/// `also_fits` of a run's JSON.
nlohmann::ordered_json also_fits_json(const std::vector<AlsoFits>& all);

}  // namespace smemtune
