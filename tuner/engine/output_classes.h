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

/// Groups the kernels whose outputs differ from the reference's into classes that agree with each
/// other: where many agree, the reference may be the one that is wrong.
class OutputClasses {
 public:
  static constexpr int kNone = -1;

  /// Forgets everything. `reference`: a check on the workload that kernels will be compared on.
  void begin(const Check& reference, const NumberedWorkload& workload);

  /// Runs a kernel once more and returns the number of its class. Kernels whose outputs agree
  /// within the check's tolerance share a class. Returns kNone when the outputs are too large or
  /// seem equal to the reference's (of large outputs only some elements are compared), or when
  /// there would be one class too many.
  Outcome<int> classify(Launcher& launcher, const Check& check);

 private:
  /// Elements of each result.
  using Sample = std::map<std::string, std::vector<double>>;

  Outcome<Sample> sample(Launcher& launcher, const Check& check) const;
  bool agree(const Sample& a, const Sample& b, const Check& check) const;

  std::optional<Check> reference_;
  std::vector<Argument> results_;
  std::optional<Sample> right_;  ///< The reference's sample, taken when first needed.
  std::vector<Sample> classes_;
};

}  // namespace smemtune
