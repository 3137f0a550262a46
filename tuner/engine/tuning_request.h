#pragma once

#include "tuner/core/findings.h"
#include "tuner/core/result.h"
#include "tuner/core/space.h"
#include "tuner/engine/tuning_options.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// One run: every problem of `problems`, every kernel of `kernels`.
struct TuningRequest {
  const Space* space = nullptr;
  std::vector<const KernelTemplate*> kernels;  ///< To search; the reference need not be among them.
  std::map<std::string, KernelSource> sources;  ///< By kernel name, of all kernels of the space.
  /// The reference's source in double precision, where tolerances are derived from it
  /// (space_file.h).
  std::optional<KernelSource> reference_in_double = std::nullopt;
  std::vector<Problem> problems;
  /// Where not empty: only these, in this order, whatever the strategy says. One that is not among
  /// the problem's valid configurations is left out.
  std::vector<KernelConfiguration> only;
  /// What is stored of other devices and problems, for strategies that use it.
  std::vector<Findings> elsewhere;
  TuningOptions options;
  /// What its time counts from, as the budget has it; nullopt: from when it is tuned.
  std::optional<std::chrono::steady_clock::time_point> begun = std::nullopt;
};

}  // namespace smemtune
