#pragma once

#include "tuner/core/random.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace smemtune {

/// A Gaussian process (Rasmussen, Williams 2006): what a value is likely to be at candidates, from
/// samples of it elsewhere. Its covariance is the rational quadratic one, (1 + d / 4)^-2 for
/// squared distances d, with a length for each feature; the lengths and the noise are those under
/// which the samples are likeliest. A sample costs time in proportion to the candidates times the
/// samples before it.
class GaussianProcess {
 public:
  struct Sample {
    std::vector<float> features;  ///< From 0 to 1; as many for each.
    double value = 0;
  };

  /// Begins anew with these samples, without candidates; the search for lengths goes on from those
  /// it had. REQUIRES: samples is not empty.
  void fit(std::vector<Sample> samples, RandomEngine& random);

  /// One more sample, under the lengths that were found. REQUIRES: fit() was called.
  void add(Sample sample);

  /// In place of those before. REQUIRES: fit() was called.
  void set_candidates(std::span<const std::vector<float>> features);

  std::size_t samples() const { return samples_.size(); }

  /// By how much the value at a candidate is expected to be below `best`, where one above counts as
  /// no difference. Where it is no more than `least`, 0 may be returned instead, in less time.
  double expected_improvement(std::size_t candidate, double best, double least) const;

  /// Of the values at two places: 0 to 1.
  double correlation(std::span<const float> one, std::span<const float> other) const;

 private:
  /// A number for each of some candidates, in vectors that any processor has.
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

  /// Candidates that are calculated with together.
  struct Block {
    std::vector<Lanes> features;  ///< Divided by their lengths.
    std::vector<Lanes> solved;    ///< By sample: the triangle's inverse times the covariances.
    Lanes mean = {};              ///< Less the samples' mean.
    Lanes explained = {};         ///< Of the variance 1.
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
  std::vector<std::vector<float>> places_;  ///< By sample: features divided by their lengths.
  std::vector<double> triangle_;  ///< Cholesky's factor of the covariances, row after row.
  std::vector<double> weights_;   ///< Its inverse times the values.
  std::vector<Block> blocks_;
};

}  // namespace smemtune
