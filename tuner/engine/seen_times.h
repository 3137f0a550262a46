#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/result.h"
#include "tuner/engine/messages.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace smemtune {

/// A configuration that takes this many times as long as the fastest of all kernels has lost to it:
/// with one sample, or with two. No launch is disturbed that much.
inline constexpr double kLostToAny = 4;
inline constexpr double kDoubtfulToAny = 2;

/// A launch that takes this long is timed well enough by itself to compare with, and costs too much
/// to repeat where it has lost to another kernel.
inline constexpr double kLongLaunch_ms = 5;

/// Learns how much a configuration's first sample differs from later ones, so that a
/// configuration which is behind by more than that is given up. Sets no limits until it has seen
/// enough.
class EarlyLoss {
 public:
  /// Records a first sample and what later ones of the same configuration took.
  void tell(double first_ms, double time_ms);

  /// Records a configuration that was given up after a single sample.
  void tell_unsampled() { ++unsampled_; }

  /// Adds what another has recorded.
  void add(const EarlyLoss& other);

  /// Returns the present limits.
  LossLimits limits() const;

 private:
  /// Returns this quantile of the ratios' logarithms.
  double quantile_of_ratios(double share) const;

  std::vector<double> log_ratios_;  ///< Logarithms of first over later samples, ascending.
  std::size_t unsampled_ = 0;
};

/// The time that the fastest configuration so far takes at present. Devices drift, so
/// that it is taken again now and then.
class PresentTime {
 public:
  /// Returns true if another time is wanted before ms() is compared with again. Counts the calls.
  bool is_due();

  void add(double ms);

  /// Returns the median of the latest times. REQUIRES: a time was added.
  double ms() const;

 private:
  std::vector<double> latest_ms_;
  int compared_ = 0;  ///< Since the latest time was added.
};

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

/// Returns whether a result is such a rejection, which is not lasting knowledge of the configuration.
bool is_static_reject(const Result& result);

/// Learns from the times of one kernel's configurations which of those that follow are not worth
/// timing or can no longer win. There is one for each kernel, so that a slow kernel of a ladder is
/// measured as well as the others.
class SeenTimes {
 public:
  /// Records a result, whether or not the strategy has been told it.
  void see(const Result& result);

  /// Records a result that the strategy is told. `is_hopeless`: it is beyond the static limits.
  void tell(const Result& result, bool is_hopeless);

  /// Records the time of a first launch and of the samples that followed, if any.
  void see_launches(const EvaluateReply& reply);

  /// Does the same for a result from the log. REQUIRES: it is timed.
  void see_launches(const Result& known);

  /// Depends only on the results told, so that it is the same whatever the workers do.
  StaticLimits static_limits() const { return static_reject_.limits(); }

  /// Its first samples held against later ones.
  const EarlyLoss& loss() const { return loss_; }

  /// The least median seen; HUGE_VAL when nothing was timed.
  double least_ms() const { return least_ms_; }

  /// The least median told of a configuration that was not given up; HUGE_VAL when there is none.
  double least_full_ms() const { return least_full_ms_; }

 private:
  void see_samples(std::span<const double> samples_ms);

  double least_ms_ = HUGE_VAL;
  double least_full_ms_ = HUGE_VAL;
  StaticReject static_reject_;
  EarlyLoss loss_;
};

/// Returns the least median that was seen of any kernel; HUGE_VAL when nothing was timed.
double fastest_of_all_ms(std::span<const SeenTimes> times);

/// Returns the limits beyond which the next configuration of a kernel may be given up. While too
/// little was seen of the kernel, the others that are as fast count as well: the shorter a launch, the
/// more its first sample differs. Then two samples must show the loss.
LossLimits loss_limits(std::span<const SeenTimes> times, std::size_t kernel);

}  // namespace smemtune
