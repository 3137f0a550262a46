#include "tuner/core/error.h"
#include "tuner/search/exhaustive.h"
#include "tuner/search/random.h"
#include "tuner/search/strategy.h"

#include <utility>

namespace smemtune {

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> kStrategies = {
      {"exhaustive", "every configuration, kernel by kernel, in the space's order"},
      {"random", "every configuration in random order, more of the faster kernels first"},
  };
  return kStrategies;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, std::vector<SearchedKernel> kernels,
                                        std::uint64_t seed) {
  if (name == "exhaustive") return std::make_unique<Exhaustive>(std::move(kernels));
  if (name == "random") return std::make_unique<Random>(std::move(kernels), seed);
  std::string known;
  for (const StrategyInfo& strategy : strategies()) {
    known += (known.empty() ? "" : ", ") + strategy.name;
  }
  throw InputError("no strategy is called \"" + std::string(name) + "\"; there are " + known);
}

}  // namespace smemtune
