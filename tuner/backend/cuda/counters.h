#pragma once

#include "tuner/backend/cuda/cupti.h"
#include "tuner/core/facts.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// A counter of the hardware, or a figure that the library derives from some.
struct CounterMetric {
  const char* name = "";  ///< In the library.
  const char* fact = "";  ///< Without `counter.`; ends with its unit.
  bool adds_up = false;   ///< Over several launches; others are averaged.
};

/// Reads hardware counters of launches. Needs rights: RmProfilingAdminOnly is 0, or the user is
/// root.
class Counters {
 public:
  /// Throws UnavailableError if the library refuses the chip (`GH100`) or has none of the metrics.
  Counters(Cupti cupti, const std::string& chip);

  /// Returns the metrics that the chip has.
  const std::vector<CounterMetric>& metrics() const { return metrics_; }

  /// Puts launches on the context's streams, waits for each, and calls `next` before each.
  using Pass = std::function<void(const std::function<void()>& next)>;

  /// Returns the values of metrics(), a row for each of `launches` launches of `pass`. `prepare`
  /// comes before each pass and is not counted. Throws UnavailableError if the library refuses, and
  /// what the two throw.
  std::vector<std::vector<double>> read(void* context, std::size_t launches,
                                        const std::function<void()>& prepare,
                                        const Pass& pass) const;

 private:
  bool has(const CounterMetric& metric, const std::string& chip) const;

  Cupti cupti_;
  std::vector<CounterMetric> metrics_;
  std::vector<const char*> names_;
  std::shared_ptr<void> host_;
  std::vector<std::uint8_t> config_;
};

/// Returns the facts of each of `launches` launches, `rows[i]` being the values of the metrics in a
/// launch of number `of[i]`. Values that are not finite are left out.
std::vector<Facts> facts_of(const std::vector<CounterMetric>& metrics,
                            const std::vector<std::vector<double>>& rows,
                            const std::vector<std::size_t>& of, std::size_t launches);

/// Returns the chip's name in the library, `GH100`. Throws UnavailableError.
std::string chip_name(const Cupti& cupti, int device);

}  // namespace smemtune::cuda
