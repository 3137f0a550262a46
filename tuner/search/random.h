#pragma once

#include "tuner/core/search_space.h"
#include "tuner/search/strategy.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace smemtune {

/// Visits every space in a random order, and each configuration once: first every kernel's default,
/// then so many of every kernel that it can show what it is worth, then more of the kernels whose
/// best is nearer to the best of all.
class Random final : public Strategy {
 public:
  Random(std::vector<SearchedKernel> kernels, std::uint64_t seed);

  std::optional<Candidate> ask() override;
  void tell(const Candidate& candidate, const Result& result) override;

 private:
  struct Kernel {
    SearchedKernel searched;
    Permutation order;
    std::uint64_t position = 0;  ///< In `order`, of what is asked next.
    std::uint64_t asked = 0;
    std::uint64_t failed = 0;
    std::optional<double> best_ms = std::nullopt;

    bool exhausted() const { return asked == searched.space->size(); }
  };

  Candidate take(std::size_t kernel);
  double weight(const Kernel& kernel) const;

  std::vector<Kernel> kernels_;
  std::optional<double> best_ms_;
  std::mt19937_64 random_;
};

}  // namespace smemtune
