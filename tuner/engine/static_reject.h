#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/result.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace smemtune {

/// Limits within which a variant is worth timing, judged by the compiler's report.
struct StaticLimits {
  std::int64_t spilled_bytes = std::numeric_limits<std::int64_t>::max();  ///< Stores and loads.
  bool serialized_wgmma = true;
};

/// Learns from the fastest variants of one kernel which are not worth timing: those that spill far
/// more than any of them, and those whose wgmma instructions are serialized where none of theirs
/// are. Sets no limits until it has seen enough. The limits do not depend on the order in which
/// results were told.
class StaticReject {
 public:
  /// REQUIRES: result is timed.
  void tell(const Result& result);

  StaticLimits limits() const;

 private:
  struct Timed {
    double median_ms = 0;
    std::int64_t spilled_bytes = 0;
    bool serialized_wgmma = false;
  };
  std::vector<Timed> fastest_;  ///< Sorted; not more than are looked at.
  std::size_t told_ = 0;
};

/// Returns why a compiled configuration is not worth timing: a failure of status `constraints` and
/// reason `spills` or `serialized_wgmma`. A kernel's default is always worth timing.
std::optional<Failure> rejects(const StaticLimits& limits, const Result& result);

/// Whether a result is such a rejection, which is not lasting knowledge of the configuration.
bool is_static_reject(const Result& result);

}  // namespace smemtune
