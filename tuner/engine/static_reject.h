#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/result.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace smemtune {

/// What a variant may have in the compiler's report and still be worth timing.
struct StaticLimits {
  std::int64_t spilled_bytes = std::numeric_limits<std::int64_t>::max();  ///< Stores and loads.
  bool serialized_wgmma = true;
};

/// Learns from the fastest variants of one kernel what is not worth timing: what spills far more
/// than any of them, and what serializes its wgmma instructions where none of them does. Says
/// nothing until it has seen enough. What it says depends on what it was told, in any order.
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
  std::vector<Timed> fastest_;  ///< In order, not more than are looked at.
  std::size_t told_ = 0;
};

/// Why a compiled configuration is not worth timing: a failure of status `constraints` and reason
/// `spills` or `serialized_wgmma`. A kernel's default is always worth it.
std::optional<Failure> rejects(const StaticLimits& limits, const Result& result);

/// Whether a result is such a rejection: no lasting knowledge of the configuration.
bool is_static_reject(const Result& result);

}  // namespace smemtune
