#pragma once

#include "tuner/core/boosted_trees.h"
#include "tuner/core/stored_expressions.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// Expressions of a space file for the work of a kernel's launches.
struct LaunchTexts {
  std::vector<std::string> blocks;             ///< The number of blocks of each launch.
  std::vector<std::string> threads;            ///< The number of threads of each launch's blocks.
  std::map<std::string, std::string> metrics;  ///< The space's `metrics`, such as `flops`.

  bool operator==(const LaunchTexts&) const = default;
};

/// Computes what a configuration's launches are like for a problem: the blocks that there are to
/// compute, how evenly the multiprocessors share them, their threads, and the metrics for each block
/// and for each thread.
class LaunchFeatures {
 public:
  /// See StoredExpressions().
  LaunchFeatures(const LaunchTexts& texts, const Configuration& configuration,
                 const Problem& problem);

  /// Returns the number of features.
  std::size_t count() const { return 4 + 2 * metrics_.count(); }

  /// Appends the features to `row`; -1 for what has no value.
  void append_to(std::vector<float>& row, const Configuration& configuration,
                 const Problem& problem, const Bindings& device) const;

 private:
  double blocks(const Configuration& configuration, const Problem& problem,
                const Bindings& device) const;

  StoredExpressions blocks_;
  StoredExpressions threads_;
  StoredExpressions metrics_;
};

/// Predicts the times of configurations for sizes that were not measured from all that was measured
/// on one device, by boosted trees over values, sizes, what divides them, and launches.
class SizeModel {
 public:
  /// A configuration of a kernel for a problem.
  struct Sized {
    std::string kernel;
    Configuration configuration;
    Problem problem;
  };
  struct Measured {
    Sized of;
    double to_best = 1;  ///< Its time by that of the best for the problem; infinity: does not run.
  };

  /// `kernels`: the launches of kernels, as far as they are known. `device`: see device_names().
  /// REQUIRES: something is measured, and all problems have the same names.
  SizeModel(const std::vector<Measured>& measured, std::map<std::string, LaunchFeatures> kernels,
            Bindings device);

  /// Returns what is predicted for the logarithm of a configuration's time by that of the best.
  double log_to_best(const Sized& sized) const { return trees_(row(sized)); }

  /// Returns the number of problems that were measured.
  std::size_t problems() const { return problems_; }

 private:
  std::vector<float> row(const Sized& sized) const;
  BoostedTrees fitted_to(const std::vector<Measured>& measured) const;

  std::map<std::string, LaunchFeatures> kernels_;
  std::size_t launch_features_ = 0;
  Bindings device_;
  std::set<std::string> words_;       ///< All that were measured, names of kernels included.
  std::set<std::string> parameters_;  ///< All that were measured.
  std::size_t problems_ = 0;
  BoostedTrees trees_;
};

}  // namespace smemtune
