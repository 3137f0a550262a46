#include "tuner/engine/conclusions.h"

#include "tuner/core/text.h"
#include "tuner/engine/problem_strategy.h"
#include "tuner/search/chance_of_better.h"

#include <algorithm>
#include <map>

namespace smemtune {

namespace {

/// Whether every valid configuration was evaluated.
bool has_all(const ProblemState& state) {
  return state.summary.valid && state.entries.size() >= *state.summary.valid;
}

}  // namespace

std::optional<Unfinished> unfinished(const Tuning& tuning, const ProblemState& state) {
  if (!tuning.request.only.empty() || has_all(state)) return std::nullopt;
  return state.missed;
}

std::optional<Searched> searched(const Tuning& tuning, const ProblemState& state) {
  const TuningOptions& options = tuning.request.options;
  if (!tuning.request.only.empty() || !state.summary.valid ||
      options.resource_limits.min_occupancy_percent > 0) {
    return std::nullopt;
  }
  Searched searched = {.evaluated = state.entries.size(),
                       .valid = *state.summary.valid,
                       .kernels_sha256 = kernels_sha256(state)};
  if (has_all(state)) return searched;
  if (!state.missed || !state.missed->chance_of_better) return std::nullopt;
  searched.percent = state.missed->percent;
  searched.elsewhere = state.missed->elsewhere;
  searched.chance_of_better = *state.missed->chance_of_better;
  // Results that were still on their way when the search ended may have raised the estimate.
  if (state.missed->by_itself) {
    searched.chance_of_better = std::min(searched.chance_of_better, kSureChance);
  }
  return searched;
}

StaticRejects would_be_lost(const ProblemState& state) {
  StaticRejects rejects;
  std::vector<const Entry*> timed;
  for (const Entry& entry : state.entries) {
    if (entry.hopeless) ++rejects.rejected;
    if (entry.result.timed()) timed.push_back(&entry);
  }
  std::ranges::sort(timed, {},
                    [](const Entry* entry) { return entry->result.measurement.median_ms; });
  timed.resize((timed.size() + 99) / 100);
  rejects.top = timed.size();
  for (const Entry* entry : timed) {
    if (entry->hopeless) rejects.lost.push_back(entry->result);
  }
  return rejects;
}

std::vector<std::string> without_effect(const ProblemState& state) {
  constexpr std::size_t kEnoughPairs = 8;
  const std::size_t least = has_all(state) && state.summary.known == 0 ? 1 : kEnoughPairs;
  std::vector<std::string> lines;
  for (const KernelOnProblems& kernel : state.kernels) {
    for (const Parameter& parameter : kernel.kernel().parameters) {
      std::map<std::string, std::string> identities;  // The first identity for these values of the
                                                      // other parameters.
      std::size_t equal = 0;
      bool has_effect = false;
      for (const Entry& entry : state.entries) {
        if (entry.identity.empty() || entry.result.kernel != kernel.kernel().name) continue;
        Configuration others = entry.result.configuration;
        others.erase(parameter.name);
        const auto [first, is_new] = identities.try_emplace(key(others), entry.identity);
        if (is_new) continue;
        if (first->second == entry.identity) ++equal;
        has_effect = has_effect || first->second != entry.identity;
      }
      if (has_effect || equal < least) continue;
      lines.push_back(parameter.name + " of " + kernel.kernel().name +
                      " has no effect: wherever nothing else differed (" + std::to_string(equal) +
                      (equal == 1 ? " time" : " times") +
                      ") its values gave the same code and launches");
    }
  }
  return lines;
}

std::optional<DefaultInDoubt> default_in_doubt(const ProblemState& state) {
  std::map<std::string, std::uint64_t> classes;
  std::uint64_t others = 0;
  std::uint64_t with_default = 0;
  for (const Entry& entry : state.entries) {
    const Result& result = entry.result;
    if (!state.kernels[entry.candidate.kernel].is_self_verified() || result.is_default) continue;
    if (entry.origin == Entry::Origin::twin)
      continue;  // The same code does not count as another witness.
    const bool is_right = result.status == Status::correct;
    if (!is_right && result.status != Status::correctness) continue;
    ++others;
    if (is_right) ++with_default;
    if (!entry.output_class.empty()) ++classes[entry.output_class];
  }
  std::uint64_t agreeing = 0;
  for (const auto& [name, count] : classes) agreeing = std::max(agreeing, count);
  if (agreeing < 2 || agreeing <= with_default) return std::nullopt;
  return DefaultInDoubt{
      .kernel = state.reference.kernel().name, .agreeing = agreeing, .others = others};
}

std::optional<std::string> rejected_reference(const ProblemState& state) {
  const auto rejected = std::ranges::find_if(state.entries, [](const Entry& entry) {
    return entry.result.is_reference && entry.result.is_default &&
           entry.result.status == Status::constraints;
  });
  if (rejected == state.entries.end()) return std::nullopt;
  const Result& result = rejected->result;
  return "the default of " + result.kernel + ", " + key(result.configuration) +
         ", was rejected: " + first_line(result.detail) +
         "; it is not among the results, but it was run as the reference, and the others were "
         "compared with what it computed";
}

}  // namespace smemtune
