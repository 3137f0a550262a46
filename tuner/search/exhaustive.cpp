#include "tuner/search/exhaustive.h"

#include "tuner/core/error.h"

#include <utility>

namespace smemtune {

Exhaustive::Exhaustive(std::vector<SearchedKernel> kernels) : kernels_(std::move(kernels)) {
  for (const SearchedKernel& kernel : kernels_) {
    if (kernel.space->is_listed()) continue;
    throw InputError(
        "strategy exhaustive: the valid configurations are too many to list; any other strategy "
        "draws from them");
  }
}

std::optional<Candidate> Exhaustive::ask() {
  while (defaults_asked_ < kernels_.size()) {
    const std::size_t kernel = defaults_asked_++;
    if (const auto& configuration = kernels_[kernel].default_configuration) {
      return Candidate{kernel, *configuration};
    }
  }
  while (next_.kernel < kernels_.size()) {
    const SearchedKernel& kernel = kernels_[next_.kernel];
    if (next_.configuration >= kernel.space->size()) {
      next_ = {next_.kernel + 1, 0};
      continue;
    }
    const Candidate candidate = next_;
    ++next_.configuration;
    if (candidate.configuration != kernel.default_configuration) return candidate;
  }
  return std::nullopt;
}

void Exhaustive::tell(const Candidate& /*candidate*/, const Result& /*result*/) {}

}  // namespace smemtune
