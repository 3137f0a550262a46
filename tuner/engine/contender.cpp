#include "tuner/engine/contender.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace smemtune {

namespace {

bool any_of(const ProblemState& state, const Contender& contender,
            const std::function<bool(const Result&)>& is_wanted) {
  return is_wanted(result_of(state, contender)) ||
         std::ranges::any_of(contender.twins, [&](std::size_t twin) {
           return is_wanted(state.entries[twin].result);
         });
}

}  // namespace

std::vector<Contender> find_contenders(const ProblemState& state) {
  std::vector<Contender> contenders;
  std::map<std::string, std::size_t> by_identity;
  for (std::size_t i = 0; i < state.entries.size(); ++i) {
    const Entry& entry = state.entries[i];
    if (!entry.result.timed() || entry.result.given_up) continue;
    if (!entry.identity.empty()) {
      const auto [same, is_new] = by_identity.try_emplace(entry.identity, contenders.size());
      if (!is_new) {
        Contender& contender = contenders[same->second];
        contender.twins.push_back(i);
        // The entry that was compiled and measured first stands for the others.
        if (state.entries[contender.entry].origin == Entry::Origin::twin &&
            entry.origin != Entry::Origin::twin) {
          std::swap(contender.entry, contender.twins.back());
        }
        continue;
      }
    }
    contenders.push_back({.entry = i});
  }
  return contenders;
}

Result& result_of(ProblemState& state, const Contender& contender) {
  return state.entries[contender.entry].result;
}

const Result& result_of(const ProblemState& state, const Contender& contender) {
  return state.entries[contender.entry].result;
}

const KernelOnProblems& kernel_of(const ProblemState& state, const Contender& contender) {
  return state.kernels[state.entries[contender.entry].candidate.kernel];
}

void share_with_twins(ProblemState& state, const Contender& contender) {
  for (const std::size_t i : contender.twins) {
    take_measurement(state.entries[i].result, result_of(state, contender));
  }
}

bool holds_default(const ProblemState& state, const Contender& contender) {
  return any_of(state, contender, [](const Result& result) { return result.is_default; });
}

bool holds(const ProblemState& state, const Contender& contender, const Result& wanted) {
  return any_of(state, contender, [&](const Result& other) {
    return other.kernel == wanted.kernel && other.configuration == wanted.configuration;
  });
}

}  // namespace smemtune
