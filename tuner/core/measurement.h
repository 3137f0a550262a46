#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// The times of one configuration, which is ranked by the median. If another tuner reported one
/// time without samples, `median_ms` is that time and everything that follows from samples is
/// unknown (NaN).
struct Measurement {
  std::vector<double> samples_ms;  ///< Times per launch, in the order they were taken.
  /// Number of samples, also if `samples_ms` is not kept; 0 when not known.
  std::int64_t sample_count = 0;
  int launches_per_sample = 1;  ///< More than 1 for short kernels, timed in a batch.
  int discarded = 0;            ///< Number of samples discarded because the clock had dropped.
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  double mean_ms = 0;
  double q1_ms = 0;
  double q3_ms = 0;
  /// Ends of the distribution-free 95 % confidence interval of the median, from binomial order
  /// statistics; min and max below 6 samples.
  double median_low_ms = 0;
  double median_high_ms = 0;
  double sm_clock_mhz = 0;  ///< Median over the samples; 0 when not known.
  /// True if the clock stayed low however often the device was asked, so that some samples are too
  /// slow.
  bool throttled = false;

  bool operator==(const Measurement&) const = default;

  /// Returns whether the median is that of samples.
  bool has_median() const { return !std::isnan(median_low_ms); }

  /// Returns (q3 - q1) / median, in per cent.
  double spread_percent() const;
};

/// Returns whether a launch can have taken this long: a finite time above 0.
bool is_time(double ms);

/// Cost of bringing a workload's inputs to the device and its outputs back, from and to pageable
/// host memory.
struct Transfers {
  double to_device_ms = 0;
  double to_host_ms = 0;
  std::int64_t to_device_bytes = 0;
  std::int64_t to_host_bytes = 0;

  bool operator==(const Transfers&) const = default;
};

/// Returns a measurement of a single time that another tuner reported without samples.
Measurement told_time(double ms);

/// Computes the statistics of samples. REQUIRES: samples is not empty and all are finite and > 0.
Measurement summarize(std::span<const double> samples_ms, int launches_per_sample = 1);

/// Returns a quantile by linear interpolation between order statistics. REQUIRES: values is not
/// empty.
double quantile(std::vector<double> values, double fraction);

/// Returns the quantile of 0.5 without sorting. REQUIRES: values is not empty.
double median(std::vector<double> values);

/// The result of comparing two sets of times.
enum class Verdict { faster, slower, same, cannot_be_told };

/// Returns `faster`, `slower`, `the same` or `cannot be told`.
std::string to_text(Verdict verdict);

/// States how much slower one configuration is than another, in per cent, negative if it is faster: an
/// estimate and its 95 % confidence interval.
struct Slowdown {
  double percent = 0;
  double low_percent = 0;
  double high_percent = 0;

  bool operator==(const Slowdown&) const = default;
};

/// Compares times that were not taken in turn: returns the ratio of their medians and the interval
/// of that ratio, which follows from the medians' own intervals (MOVER; Zou and Donner:
/// Construction of confidence limits about effect measures. Statistics in Medicine 27, 2008).
/// Nullopt if either has fewer than 3 samples, or they are not known.
std::optional<Slowdown> slowdown(const Measurement& one, const Measurement& other);

/// Returns by how many per cent exp(log_ratio) exceeds 1.
double to_percent(double log_ratio);

/// Judges a slowdown. `same_percent`: differences up to this are of no consequence. The verdict is
/// faster, slower or the same if the whole interval lies in that range; it cannot be told if the
/// interval reaches over a border or there is none.
Verdict verdict_of(const std::optional<Slowdown>& slowdown, double same_percent);

/// Formats a verdict: `1.2 % slower (0.9 to 1.5 %)`, `the same (-0.2 to 0.1 %)`, `cannot be told
/// (-3.1 to 4.0 %)`.
std::string verdict_text(const std::optional<Slowdown>& slowdown, double same_percent);

}  // namespace smemtune
