#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Tells which of those that differ from the reference agree with each other: where many do, it may
/// be the reference that is wrong.
class OutputClasses {
 public:
  static constexpr int kNone = -1;

  /// Forgets everything. `reference`: of the workload that others will be compared on.
  void begin(const Check& reference, const NumberedWorkload& workload);

  /// Runs a kernel once more. The number of its class: equal for kernels whose outputs agree within
  /// the check's tolerance; kNone where nothing can be said: outputs that are too large, that seem
  /// to be the reference's (of large ones only some elements are looked at), or one class too many.
  Outcome<int> classify(Launcher& launcher, const Check& check);

 private:
  /// Elements of each result.
  using Sample = std::map<std::string, std::vector<double>>;

  Outcome<Sample> sample(Launcher& launcher, const Check& check) const;
  bool agree(const Sample& a, const Sample& b, const Check& check) const;

  std::optional<Check> reference_;
  std::vector<Argument> results_;
  std::optional<Sample> right_;  ///< Of the reference, once it is needed.
  std::vector<Sample> classes_;
};

}  // namespace smemtune
