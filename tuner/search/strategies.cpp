#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/search/auto.h"
#include "tuner/search/every_kernel.h"
#include "tuner/search/forest.h"
#include "tuner/search/model.h"
#include "tuner/search/random.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

/// Tries every kernel's default, then every configuration, kernel by kernel, in the space's order.
class Exhaustive final : public Strategy {
 public:
  /// Throws InputError for a space that is not listed.
  explicit Exhaustive(std::vector<SearchedKernel> kernels);

  std::optional<Candidate> ask() override;
  void tell(const Candidate& /*candidate*/, const Result& /*result*/) override {}

 private:
  std::vector<SearchedKernel> kernels_;
  std::size_t defaults_asked_ = 0;  ///< Kernels whose default was asked for or does not exist.
  Candidate next_;
};

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

struct Entry {
  StrategyInfo info;
  EveryKernel::MakeSearch make;  ///< Empty: no search of single kernels.
};

const std::vector<Entry>& table() {
  static const std::vector<Entry> kTable = {
      {{"auto", "what resembles the fastest so far, what may surprise, what was fast elsewhere",
        true, true},
       [](const SearchedKernel& kernel, Untried& untried, std::uint64_t seed) {
         return std::make_unique<Auto>(kernel, untried, seed);
       }},
      {{"exhaustive", "every configuration, kernel by kernel, in the space's order", false}, {}},
      {{"forest", "what resembles the fastest so far, judged by decision trees"},
       [](const SearchedKernel&, Untried& untried, std::uint64_t seed) {
         return std::make_unique<Forest>(untried, seed);
       }},
      {{"model", "what should be fast, judged by launches, occupancy, traffic and registers"},
       [](const SearchedKernel& kernel, Untried& untried, std::uint64_t seed) {
         return std::make_unique<Model>(kernel, untried, seed);
       }},
      {{"random", "every configuration in random order, more of the faster kernels first", false},
       [](const SearchedKernel&, Untried& untried, std::uint64_t) {
         return std::make_unique<Random>(untried);
       }},
  };
  return kTable;
}

const Entry& entry(std::string_view name) {
  std::vector<std::string> known;
  for (const Entry& one : table()) {
    if (one.info.name == name) return one;
    known.push_back(one.info.name);
  }
  throw InputError("no strategy is called " + quote(name) + "; there are " + joined(known, ", ") +
                   suggestion(name, known));
}

}  // namespace

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> kStrategies = [] {
    std::vector<StrategyInfo> infos;
    for (const Entry& entry : table()) infos.push_back(entry.info);
    return infos;
  }();
  return kStrategies;
}

std::size_t in_flight(bool learns, std::size_t compilers, std::size_t devices) {
  constexpr std::size_t kLeastAhead = 64;
  constexpr std::size_t kAheadPerCompiler = 4;
  if (!learns) return std::max(kLeastAhead, kAheadPerCompiler * compilers);
  constexpr std::size_t kPerDevice = 2;  // One more than it measures.
  return compilers + kPerDevice * devices;
}

const StrategyInfo& strategy_info(std::string_view name) { return entry(name).info; }

std::unique_ptr<Strategy> make_strategy(std::string_view name, std::vector<SearchedKernel> kernels,
                                        std::uint64_t seed) {
  const Entry& chosen = entry(name);
  if (!chosen.make) return std::make_unique<Exhaustive>(std::move(kernels));
  return std::make_unique<EveryKernel>(std::move(kernels), seed, chosen.make);
}

}  // namespace smemtune
