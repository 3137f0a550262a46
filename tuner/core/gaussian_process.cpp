#include "tuner/core/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace smemtune {

namespace {

constexpr int kAttempts = 160;             // Attempts to find better lengths.
constexpr std::size_t kLikelihoodOf = 64;  // Samples; the cost grows with their third power.
constexpr std::size_t kMostSelected = 200;
constexpr double kLeastNoise = 1e-4;
constexpr double kMostNoise = 0.5;
constexpr double kUsualNoise = 0.02;
constexpr double kLeastVariance = 1e-9;

/// Computes the covariance of two places, or of several pairs in a vector, from how far apart they
/// are in each feature, in lengths.
template <typename Number>
class Covariance {
 public:
  void add(Number step) {
    const Number square = step * step;
    squares_ += square;
    alone_ += near(square);
    ++features_;
  }

  Number value() const {
    return (together() + alone_ / static_cast<float>(std::max(1, features_))) / 2;
  }

  /// Returns the half that depends on the distance of the places, which is near 1 only for places
  /// that are near in every feature.
  Number together() const { return near(squares_); }

 private:
  static Number near(Number square) {
    const Number root = 1 / (1 + square / 4);
    return root * root;
  }

  Number squares_ = {};
  Number alone_ = {};
  int features_ = 0;
};

Covariance<float> compared(std::span<const float> one, std::span<const float> other,
                           std::span<const float> inverse_lengths) {
  Covariance<float> covariance;
  for (std::size_t f = 0; f < one.size(); ++f) {
    covariance.add((one[f] - other[f]) * inverse_lengths[f]);
  }
  return covariance;
}

double dot(std::span<const double> one, std::span<const double> other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

struct Lengths {
  std::vector<float> inverse;
  double noise = 0;
};

struct Likelihood {
  double cost = 0;  ///< Negative log likelihood, and a penalty for lengths far from 1.
  double variance = 1;
};

Likelihood likelihood(std::span<const GaussianProcess::Sample* const> samples, double mean,
                      const Lengths& lengths, std::vector<double>& triangle) {
  const std::size_t n = samples.size();
  triangle.resize(n * n);
  std::vector<double> weights;
  Likelihood found;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<double> row = std::span(triangle).subspan(i * n, i);
    for (std::size_t j = 0; j < i; ++j) {
      const double own = static_cast<double>(
          compared(samples[i]->features, samples[j]->features, lengths.inverse).value());
      const std::span<const double> above = std::span(triangle).subspan(j * n, j);
      row[j] = (own - dot(above, row)) / triangle[j * n + j];
    }
    const double left = std::max(kLeastVariance, 1 + lengths.noise - dot(row, row));
    triangle[i * n + i] = std::sqrt(left);
    weights.push_back((samples[i]->value - mean - dot(row, weights)) / triangle[i * n + i]);
    squares += weights.back() * weights.back();
    found.cost += 0.5 * std::log(left);
  }
  found.variance = std::max(kLeastVariance, squares / static_cast<double>(n));
  found.cost += 0.5 * static_cast<double>(n) * std::log(found.variance);
  for (const float inverse : lengths.inverse) {
    found.cost += 0.5 * std::log(inverse) * std::log(inverse);
  }
  const double noisy = std::log(lengths.noise / kUsualNoise);
  found.cost += 0.25 * noisy * noisy;
  return found;
}

/// Returns a random factor between 1 / most and most, uniform on a logarithmic scale.
double factor(double most, RandomEngine& random) { return std::pow(most, 2 * uniform(random) - 1); }

/// Returns the lengths with a change in the noise, or in one or two lengths.
Lengths varied(Lengths lengths, int attempt, RandomEngine& random) {
  if (attempt % 4 == 3) {
    lengths.noise = std::clamp(lengths.noise * factor(4.5, random), kLeastNoise, kMostNoise);
    return lengths;
  }
  for (int i = 0; i <= attempt % 2; ++i) {
    float& inverse =
        lengths.inverse[static_cast<std::size_t>(below(random, lengths.inverse.size()))];
    inverse = static_cast<float>(std::clamp(inverse * factor(7.4, random), 0.02, 20.0));
  }
  return lengths;
}

}  // namespace

std::vector<std::size_t> GaussianProcess::selection(std::size_t sorted) {
  std::vector<std::size_t> selected;
  const std::size_t first = std::min(sorted, kMostSelected / 2);
  const std::size_t step = 1 + (std::max<std::size_t>(1, sorted - first) - 1) / (kMostSelected / 2);
  for (std::size_t i = 0; i < sorted; i += i < first ? 1 : step) selected.push_back(i);
  return selected;
}

void GaussianProcess::fit(std::vector<Sample> samples, RandomEngine& random) {
  samples_ = std::move(samples);
  double sum = 0;
  for (const Sample& sample : samples_) sum += sample.value;
  mean_ = sum / static_cast<double>(samples_.size());
  inverse_lengths_.resize(samples_.front().features.size(), 1);
  choose_lengths(random);
  blocks_.clear();
  places_.clear();
  triangle_.clear();
  weights_.clear();
  for (const Sample& sample : samples_) solve(sample);
}

void GaussianProcess::choose_lengths(RandomEngine& random) {
  std::vector<const Sample*> some;
  const std::size_t step = 1 + (samples_.size() - 1) / kLikelihoodOf;
  for (std::size_t i = 0; i < samples_.size(); i += step) some.push_back(&samples_[i]);
  std::vector<double> triangle;
  Lengths best = {.inverse = inverse_lengths_, .noise = noise_};
  Likelihood likeliest = likelihood(some, mean_, best, triangle);
  for (int attempt = 0; attempt < kAttempts && !best.inverse.empty(); ++attempt) {
    Lengths lengths = varied(best, attempt, random);
    const Likelihood found = likelihood(some, mean_, lengths, triangle);
    if (!(found.cost < likeliest.cost)) continue;
    likeliest = found;
    best = std::move(lengths);
  }
  inverse_lengths_ = std::move(best.inverse);
  noise_ = best.noise;
  variance_ = likeliest.variance;
}

void GaussianProcess::add(Sample sample) {
  solve(sample);
  samples_.push_back(std::move(sample));
  for (Block& block : blocks_) explain(block, weights_.size() - 1);
}

/// Appends one more row to the triangle.
void GaussianProcess::solve(const Sample& sample) {
  const std::size_t n = weights_.size();
  std::vector<float> place;
  for (std::size_t f = 0; f < sample.features.size(); ++f) {
    place.push_back(sample.features[f] * inverse_lengths_[f]);
  }
  std::vector<double> row;
  const std::vector<float> ones(place.size(), 1);
  for (std::size_t j = 0; j < n; ++j) {
    const double own = static_cast<double>(compared(place, places_[j], ones).value());
    const std::span<const double> above = triangle_row(j);
    row.push_back((own - dot(row, above)) / above.back());
  }
  const double left = std::sqrt(std::max(kLeastVariance, 1 + noise_ - dot(row, row)));
  weights_.push_back((sample.value - mean_ - dot(row, weights_)) / left);
  row.push_back(left);
  triangle_.insert(triangle_.end(), row.begin(), row.end());
  places_.push_back(std::move(place));
}

void GaussianProcess::set_candidates(std::span<const std::vector<float>> features) {
  blocks_.assign((features.size() + kLanes - 1) / kLanes, {});
  for (std::size_t i = 0; i < features.size(); ++i) {
    Block& block = blocks_[i / kLanes];
    block.features.resize(features[i].size());
    for (std::size_t f = 0; f < features[i].size(); ++f) {
      block.features[f].set(i % kLanes, features[i][f] * inverse_lengths_[f]);
    }
  }
  for (Block& block : blocks_) {
    for (std::size_t sample = 0; sample < weights_.size(); ++sample) explain(block, sample);
  }
}

/// Updates a block's predictions by a sample. REQUIRES: all samples before it have been applied.
void GaussianProcess::explain(Block& block, std::size_t sample) const {
  Lanes solved;
  for (std::size_t p = 0; p < solved.parts.size(); ++p) {
    Covariance<Lanes::Floats> covariance;
    for (std::size_t f = 0; f < block.features.size(); ++f) {
      covariance.add(block.features[f].parts[p].floats - places_[sample][f]);
    }
    solved.parts[p].floats = covariance.value();
  }
  const std::span<const double> row = triangle_row(sample);
  for (std::size_t before = 0; before < sample; ++before) {
    const auto share = static_cast<float>(row[before]);
#pragma GCC unroll 4  // Unrolled so that they stay in registers.
    for (std::size_t p = 0; p < solved.parts.size(); ++p) {
      solved.parts[p].floats -= share * block.solved[before].parts[p].floats;
    }
  }
  const auto inverse = static_cast<float>(1 / row.back());
  const auto weight = static_cast<float>(weights_[sample]);
  for (std::size_t p = 0; p < solved.parts.size(); ++p) {
    Lanes::Floats& own = solved.parts[p].floats;
    own *= inverse;
    block.mean.parts[p].floats += weight * own;
    block.explained.parts[p].floats += own * own;
  }
  block.solved.push_back(solved);
}

double GaussianProcess::expected_improvement(std::size_t candidate, double best, double least,
                                             double doubt, double noise_share) const {
  const Block& block = blocks_[candidate / kLanes];
  const std::size_t lane = candidate % kLanes;
  const double unexplained =
      std::max(kLeastVariance, 1.0 - static_cast<double>(block.explained[lane]));
  const double deviation =
      std::sqrt((doubt * doubt * unexplained + noise_share * noise_) * variance_);
  const double ahead = (best - mean_ - static_cast<double>(block.mean[lane])) / deviation;
  // The density is below this bound, as exp(x) > 1 + x + x^2 / 2 + x^3 / 6.
  const double half = ahead * ahead / 2;
  const double bound = 0.4 / (1 + half * (1 + half * (0.5 + half / 6)));
  if (deviation * (std::max(0.0, ahead) + bound) <= least) return 0;
  const double density = std::exp(-half) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const double below = 0.5 * std::erfc(-ahead / std::numbers::sqrt2);
  return deviation * (ahead * below + density);
}

double GaussianProcess::mean(std::size_t candidate) const {
  return mean_ + static_cast<double>(blocks_[candidate / kLanes].mean[candidate % kLanes]);
}

double GaussianProcess::probability_below(std::size_t candidate, double level) const {
  const Block& block = blocks_[candidate / kLanes];
  const std::size_t lane = candidate % kLanes;
  const double unexplained =
      std::max(kLeastVariance, 1.0 - static_cast<double>(block.explained[lane])) + noise_;
  const double ahead =
      (level - mean_ - static_cast<double>(block.mean[lane])) / std::sqrt(unexplained * variance_);
  return 0.5 * std::erfc(-ahead / std::numbers::sqrt2);
}

double GaussianProcess::likeness(std::span<const float> one, std::span<const float> other) const {
  return static_cast<double>(compared(one, other, inverse_lengths_).together());
}

}  // namespace smemtune
