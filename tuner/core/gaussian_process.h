#pragma once

#include "tuner/core/random.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace smemtune {

/// A Gaussian process (Rasmussen, Williams 2006), which predicts a value at candidates from samples
/// of it elsewhere. Its covariance has two halves, both rational quadratic, (1 + d / 4)^-2 for
/// squared distances d, with a length for each feature: one of the distance of places, and the mean
/// of those of each feature alone, by which what a feature does in one place is expected in all. The
/// lengths and the noise are those under which the samples are most likely. Adding a sample costs
/// time in proportion to the number of candidates times the number of earlier samples.
class GaussianProcess {
 public:
  struct Sample {
    std::vector<float> features;  ///< Values from 0 to 1; every sample has the same number.
    double value = 0;
  };

  /// Returns which of so many samples, the least values first, to fit to, because a fit takes long
  /// with many: the first ones, and an even selection of the others.
  static std::vector<std::size_t> selection(std::size_t sorted);

  /// Replaces all samples by these and drops the candidates; the search for lengths starts from the
  /// previous lengths. REQUIRES: samples is not empty.
  void fit(std::vector<Sample> samples, RandomEngine& random);

  /// Adds a sample, keeping the lengths. REQUIRES: fit() was called.
  void add(Sample sample);

  /// Replaces the candidates. REQUIRES: fit() was called.
  void set_candidates(std::span<const std::vector<float>> features);

  std::size_t samples() const { return samples_.size(); }

  /// Returns the expected amount by which the value at a candidate is below `best`, where a value
  /// above `best` counts as 0. If that is at most `least`, may return 0 instead, in less time.
  /// Deviations count as `doubt` times what they would be if the lengths were known. Their variance
  /// includes `noise_share` times that of the noise.
  double expected_improvement(std::size_t candidate, double best, double least, double doubt = 1,
                              double noise_share = 0) const;

  /// Returns the value expected at a candidate.
  double mean(std::size_t candidate) const;

  /// Returns the probability that a measurement at a candidate, its noise included, is below
  /// `level`.
  double probability_below(std::size_t candidate, double level) const;

  /// Returns how near two places are, from 0 to 1 where they are the same.
  double likeness(std::span<const float> one, std::span<const float> other) const;

 private:
  /// One number for each of several candidates, in vectors that any processor has.
  struct Lanes {
    static constexpr std::size_t kWidth = 4;
    using Floats [[gnu::vector_size(kWidth * sizeof(float))]] = float;
    struct Part {
      Floats floats = {};
    };
    std::array<Part, 4> parts = {};

    void set(std::size_t lane, float to) { parts[lane / kWidth].floats[lane % kWidth] = to; }
    float operator[](std::size_t lane) const { return parts[lane / kWidth].floats[lane % kWidth]; }
  };
  static constexpr std::size_t kLanes = 4 * Lanes::kWidth;

  /// A block of candidates that are computed together.
  struct Block {
    std::vector<Lanes> features;  ///< Features divided by their lengths.
    /// For each sample: the triangle's inverse times the covariances.
    std::vector<Lanes> solved;
    Lanes mean = {};       ///< Predicted mean less the samples' mean.
    Lanes explained = {};  ///< Share of the variance, from 0 to 1, that the samples explain.
  };

  void choose_lengths(RandomEngine& random);
  void solve(const Sample& sample);
  void explain(Block& block, std::size_t sample) const;
  std::span<const double> triangle_row(std::size_t i) const {
    return std::span(triangle_).subspan(i * (i + 1) / 2, i + 1);
  }

  std::vector<Sample> samples_;
  double mean_ = 0;
  double variance_ = 1;
  double noise_ = 0.01;
  std::vector<float> inverse_lengths_;
  std::vector<std::vector<float>> places_;  ///< For each sample: features divided by their lengths.
  std::vector<double> triangle_;            ///< Cholesky factor of the covariances, row after row.
  std::vector<double> weights_;             ///< Inverse of the triangle times the values.
  std::vector<Block> blocks_;
};

}  // namespace smemtune
