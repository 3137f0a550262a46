#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/search/auto.h"
#include "tuner/search/every_kernel.h"
#include "tuner/search/exhaustive.h"
#include "tuner/search/forest.h"
#include "tuner/search/genetic.h"
#include "tuner/search/local.h"
#include "tuner/search/model.h"
#include "tuner/search/random.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

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
      {{"genetic", "crossovers and mutations of the fastest so far"},
       [](const SearchedKernel&, Untried& untried, std::uint64_t seed) {
         return std::make_unique<Genetic>(untried, seed);
       }},
      {{"local", "neighbors of the fastest so far, from several starts"},
       [](const SearchedKernel&, Untried& untried, std::uint64_t seed) {
         return std::make_unique<Local>(untried, seed);
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
  constexpr std::size_t kLeastBlindly = 64;
  constexpr std::size_t kBlindlyOfCompiler = 4;
  if (!learns) return std::max(kLeastBlindly, kBlindlyOfCompiler * compilers);
  constexpr std::size_t kOfDevice = 2;  // One more than it measures.
  return compilers + kOfDevice * devices;
}

const StrategyInfo& strategy_info(std::string_view name) { return entry(name).info; }

std::unique_ptr<Strategy> make_strategy(std::string_view name, std::vector<SearchedKernel> kernels,
                                        std::uint64_t seed) {
  const Entry& chosen = entry(name);
  if (!chosen.make) return std::make_unique<Exhaustive>(std::move(kernels));
  return std::make_unique<EveryKernel>(std::move(kernels), seed, chosen.make);
}

}  // namespace smemtune
