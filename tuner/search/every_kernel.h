#pragma once

#include "tuner/core/random.h"
#include "tuner/search/chance_of_better.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/strategy.h"
#include "tuner/search/untried.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace smemtune {

/// Searches every kernel by itself: first what is to be tried first, then the default of each, then
/// enough configurations of each to show what it is worth, kernels that are far behind last, then
/// more of the kernels whose best is nearer to the overall best.
/// Kernels that are far behind, or behind with little chance of something better, share a twentieth
/// of the evaluations, and one whose times leave it next to no chance is left alone as long as the
/// others have anything untried.
class EveryKernel final : public Strategy {
 public:
  using MakeSearch =
      std::function<std::unique_ptr<KernelSearch>(const SearchedKernel&, Untried&, std::uint64_t)>;

  EveryKernel(std::vector<SearchedKernel> kernels, std::uint64_t seed, const MakeSearch& make);

  std::optional<Candidate> ask() override;
  void tell(const Candidate& candidate, const Result& result) override;
  std::optional<double> chance_of_better(double gain) override;

 private:
  struct Kernel {
    SearchedKernel searched;
    std::unique_ptr<Untried> untried = nullptr;
    std::unique_ptr<KernelSearch> search = nullptr;
    std::uint64_t told = 0;
    std::optional<double> best_ms = std::nullopt;
    bool exhausted = false;

    std::uint64_t asked() const { return untried->taken(); }
  };

  std::optional<std::size_t> choose();
  std::optional<std::size_t> drawn();
  KernelBehind behind(const Kernel& kernel, double level_ms) const;
  bool is_far_behind(const Kernel& kernel) const;
  bool is_left_alone(const Kernel& kernel) const;
  bool has_minimum(const Kernel& kernel) const;
  double weight(const Kernel& kernel) const;

  std::vector<Kernel> kernels_;
  LastGain gains_;
  std::optional<double> best_ms_;
  RandomEngine random_;
};

}  // namespace smemtune
