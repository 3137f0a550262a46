#pragma once

#include "tuner/search/strategy.h"

#include <cstddef>
#include <vector>

namespace smemtune {

/// Tries every kernel's default, then every configuration, kernel by kernel, in the space's order.
class Exhaustive final : public Strategy {
 public:
  /// Throws InputError for a space that is not listed.
  explicit Exhaustive(std::vector<SearchedKernel> kernels);

  std::optional<Candidate> ask() override;
  void tell(const Candidate& candidate, const Result& result) override;

 private:
  std::vector<SearchedKernel> kernels_;
  std::size_t defaults_asked_ = 0;  ///< Kernels whose default was asked for or does not exist.
  Candidate next_;
};

}  // namespace smemtune
