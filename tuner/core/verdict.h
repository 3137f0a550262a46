#pragma once

#include <optional>
#include <span>
#include <string>

namespace smemtune {

/// What two sets of times say of one another.
enum class Verdict { faster, slower, same, cannot_be_told };

/// `faster`, `slower`, `the same`, `cannot be told`.
std::string to_text(Verdict verdict);

/// By how much one is slower than another, in per cent, negative where it is faster: an estimate
/// and its 95 % confidence interval.
struct Slowdown {
  double percent = 0;
  double low_percent = 0;
  double high_percent = 0;

  bool operator==(const Slowdown&) const = default;
};

/// From times that were not taken in turn: the median of the ratios of every time of one to every
/// time of the other (Hodges and Lehmann), and the interval of the rank sum test. Nullopt where
/// there are too few for any interval: four of each are enough, or three and five.
std::optional<Slowdown> slowdown(std::span<const double> ms, std::span<const double> than_ms);

/// What exp(log_ratio) is more than 1, in per cent.
double to_percent(double log_ratio);

/// `same_percent`: differences up to this are of no consequence. Faster, slower or the same where
/// the whole interval is; it cannot be told where that reaches over a border or there is none.
Verdict verdict_of(const std::optional<Slowdown>& slowdown, double same_percent);

/// `1.2 % slower (0.9 to 1.5 %)`, `the same (-0.2 to 0.1 %)`, `cannot be told (-3.1 to 4.0 %)`.
std::string verdict_text(const std::optional<Slowdown>& slowdown, double same_percent);

}  // namespace smemtune
