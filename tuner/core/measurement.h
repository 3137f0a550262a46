#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace smemtune {

/// The times of one configuration. The median ranks it. Where another tuner told one time and no
/// samples, that time stands in for it, and of what follows from samples nothing is known (NaN).
struct Measurement {
  std::vector<double> samples_ms;  ///< In the order they were taken; each is per launch.
  std::int64_t sample_count = 0;   ///< Also where they themselves are not kept; 0: not known.
  int launches_per_sample = 1;     ///< More for short kernels, timed in a batch.
  int discarded = 0;               ///< Samples thrown away because the clock had dropped.
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  double mean_ms = 0;
  double q1_ms = 0;
  double q3_ms = 0;
  double median_low_ms = 0;   ///< Distribution-free 95 % confidence interval of the median, from
  double median_high_ms = 0;  ///< binomial order statistics; min and max below 6 samples.
  double sm_clock_mhz = 0;    ///< Median over the samples; 0 when not known.
  /// The clock stayed low however often the device was asked: some samples are slower for it.
  bool throttled = false;

  bool operator==(const Measurement&) const = default;

  /// Whether the median is that of samples.
  bool has_median() const { return !std::isnan(median_low_ms); }

  /// (q3 - q1) / median, in per cent.
  double spread_percent() const;
};

/// Whether a launch can have taken so long.
bool is_time(double ms);

/// How much slower one is than another by times of the same rounds, in per cent: the center of the
/// paired differences and its 95 % confidence interval.
struct PairedDifference {
  double percent = 0;
  double low_percent = 0;
  double high_percent = 0;

  bool operator==(const PairedDifference&) const = default;
};

/// What it takes to bring a workload's inputs to the device and its outputs back, from and to
/// pageable host memory.
struct Transfers {
  double to_device_ms = 0;
  double to_host_ms = 0;
  std::int64_t to_device_bytes = 0;
  std::int64_t to_host_bytes = 0;

  bool operator==(const Transfers&) const = default;
};

/// One time that its tuner told without its samples.
Measurement told_time(double ms);

/// Fills the statistics from samples. REQUIRES: samples is not empty and all are finite and > 0.
Measurement summarize(std::span<const double> samples_ms, int launches_per_sample = 1);

/// Linear interpolation between order statistics. REQUIRES: not empty.
double quantile(std::vector<double> values, double fraction);

/// The quantile of 0.5, without sorting. REQUIRES: not empty.
double median(std::vector<double> values);

}  // namespace smemtune
