#pragma once

#include "tuner/core/device.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// One of a run's winners, and how it would do on another device.
struct WinnerFit {
  Result winner;
  /// Status `fits`, or the reason why it does not fit; the launches are those on the other device.
  Result there;
};

/// Which of a run's winners would fit another device.
struct AlsoFits {
  Device device;
  /// Why nothing could be compiled for the device, so that the winners are judged by the resources
  /// that they use where they were tuned; empty if they were compiled for it.
  std::string not_compiled;
  bool registers_known = true;  ///< False if they were tuned on a CPU, which has no registers.
  std::vector<WinnerFit> winners;
};

/// Returns a problem's winners, each once: the best, those tied with it, and each kernel's best.
std::vector<Result> winners(const ProblemSummary& problem);

/// Returns text for the end of a run's summary: which winners fit which device, and why the others
/// do not.
std::string also_fits_text(const std::vector<AlsoFits>& all);

/// Returns `also_fits` of a run's JSON.
nlohmann::ordered_json also_fits_json(const std::vector<AlsoFits>& all);

}  // namespace smemtune
