#pragma once

#include "tuner/core/measurement.h"

#include <optional>
#include <string>

namespace smemtune {

/// The result of comparing two sets of times.
enum class Verdict { faster, slower, same, cannot_be_told };

/// Returns `faster`, `slower`, `the same` or `cannot be told`.
std::string to_text(Verdict verdict);

/// How much slower one configuration is than another, in per cent, negative if it is faster: an
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
