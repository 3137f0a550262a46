#include "tuner/core/failure_pattern.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace smemtune {

namespace {

using Relation = ParameterCondition::Relation;

// Largest accepted probability that any of the conditions that were tried would hold for failures
// only if the failures were random.
constexpr double kMostChance = 0.005;
constexpr std::uint64_t kLeastFailures = 3;
// Fewest failures if the grid should depend on the parameter.
constexpr std::uint64_t kLeastExpected = 2;
constexpr std::size_t kMostPatterns = 3;      // Patterns of one kernel and status.
constexpr std::size_t kMostPairs = 20'000;    // Pairs of conditions that are tried.
constexpr std::size_t kMostResults = 20'000;  // Results of one kernel that are examined.

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// Returns the conditions that hold for some of the results and not for others.
std::vector<ParameterCondition> conditions_of(const std::vector<const Result*>& results) {
  std::map<std::string, std::set<Value>> values;
  for (const Result* result : results) {
    for (const auto& [name, value] : result->configuration) values[name].insert(value);
  }
  std::vector<ParameterCondition> conditions;
  for (const auto& [name, its_values] : values) {
    if (its_values.size() < 2) continue;
    const bool is_ordered = std::ranges::all_of(
        its_values, [](const Value& v) { return std::holds_alternative<std::int64_t>(v); });
    for (const Value& value : its_values) {
      conditions.push_back({name, Relation::equal, value});
      // With two values, `!=` one is `==` the other, and the ends of a range are single values.
      if (its_values.size() > 2) conditions.push_back({name, Relation::unequal, value});
      const bool is_inner = value != *its_values.begin() && value != *its_values.rbegin();
      if (!is_ordered || !is_inner) continue;
      conditions.push_back({name, Relation::at_most, value});
      conditions.push_back({name, Relation::at_least, value});
    }
  }
  return conditions;
}

/// Searches for patterns in the failures of one kernel and status, among all results that could
/// have failed in this way.
class PatternSearch {
 public:
  /// `expected`: parameters for some of whose values failures are no surprise.
  PatternSearch(std::vector<const Result*> results, Status status, std::set<std::string> expected)
      : results_(std::move(results)),
        conditions_(conditions_of(results_)),
        expected_(std::move(expected)) {
    for (const Result* result : results_) {
      failed_.push_back(result->status == status && !result->behind());
    }
    for (const ParameterCondition& condition : conditions_) {
      std::vector<bool>& row = holds_.emplace_back();
      for (const Result* result : results_) row.push_back(condition.holds(result->configuration));
    }
    failures_ = static_cast<std::uint64_t>(std::ranges::count(failed_, true));
  }

  std::vector<FailurePattern> run(FailurePattern pattern) {
    std::vector<FailurePattern> found;
    if (failures_ < kLeastExpected || failures_ == results_.size()) return found;
    std::vector<bool> explained(results_.size(), false);
    while (found.size() < kMostPatterns) {
      std::optional<std::vector<std::size_t>> best = best_of_one(explained);
      if (!best && found.empty()) best = best_of_expected();
      if (!best) best = best_of_two(explained);
      if (!best) break;
      pattern.conditions.clear();
      pattern.reasons.clear();
      pattern.failures = 0;
      for (const std::size_t i : *best) pattern.conditions.push_back(conditions_[i]);
      for (std::size_t r = 0; r < results_.size(); ++r) {
        if (!all_hold(*best, r)) continue;
        explained[r] = true;
        ++pattern.failures;
        ++pattern.reasons[results_[r]->reason];
      }
      found.push_back(pattern);
    }
    return found;
  }

 private:
  bool all_hold(const std::vector<std::size_t>& conditions, std::size_t result) const {
    return std::ranges::all_of(conditions, [&](std::size_t i) { return holds_[i][result]; });
  }

  /// Returns how many failures that are not explained yet the conditions explain; 0 if a result
  /// that did not fail meets the conditions, or if that may be chance.
  std::uint64_t explains(const std::vector<std::size_t>& conditions,
                         const std::vector<bool>& explained, double tried) const {
    std::uint64_t all = 0;
    std::uint64_t further = 0;
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (!all_hold(conditions, r)) continue;
      if (!failed_[r]) return 0;
      ++all;
      if (!explained[r]) ++further;
    }
    if (further < kLeastFailures) return 0;
    const auto n = static_cast<double>(results_.size());
    const auto k = static_cast<double>(all);
    const double log_chance = log_choose(static_cast<double>(failures_), k) - log_choose(n, k);
    return std::log(tried) + log_chance < std::log(kMostChance) ? further : 0;
  }

  std::optional<std::vector<std::size_t>> best_of_one(const std::vector<bool>& explained) const {
    std::optional<std::vector<std::size_t>> best;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const std::uint64_t its = explains({i}, explained, static_cast<double>(conditions_.size()));
      const bool is_simpler =
          best && its == most && conditions_[i].relation < conditions_[best->front()].relation;
      if (its == 0 || (its <= most && !is_simpler)) continue;
      most = its;
      best = {i};
    }
    return best;
  }

  /// Returns a condition on an expected parameter that holds for all failures and for no other
  /// result. Even few failures suffice: it is not by chance that they have such a value.
  std::optional<std::vector<std::size_t>> best_of_expected() const {
    std::optional<std::vector<std::size_t>> best;
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const ParameterCondition& condition = conditions_[i];
      if (!expected_.contains(condition.parameter) || holds_[i] != failed_) continue;
      if (!best || condition.relation < conditions_[best->front()].relation) best = {i};
    }
    return best;
  }

  std::optional<std::vector<std::size_t>> best_of_two(const std::vector<bool>& explained) const {
    const std::size_t count = conditions_.size();
    const std::size_t pairs = count * (count - std::min<std::size_t>(count, 1)) / 2;
    if (pairs > kMostPairs) return std::nullopt;
    std::optional<std::vector<std::size_t>> best;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = i + 1; k < count; ++k) {
        if (conditions_[i].parameter == conditions_[k].parameter) continue;
        const std::uint64_t its = explains({i, k}, explained, static_cast<double>(pairs));
        if (its <= most) continue;
        most = its;
        best = {i, k};
      }
    }
    return best;
  }

  std::vector<const Result*> results_;
  std::vector<ParameterCondition> conditions_;
  std::set<std::string> expected_;
  std::vector<bool> failed_;  ///< True if the result failed; by result.
  /// True if the condition holds; by condition, then result.
  std::vector<std::vector<bool>> holds_;
  std::uint64_t failures_ = 0;
};

/// Returns whether a result could have failed with this status because it got that far.
bool got_to(Status status, const Result& result) {
  if (result.status == Status::constraints) return false;
  return status == Status::compile || result.status != Status::compile;
}

bool names(const std::string& text, const std::string& name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) {
      return true;
    }
  }
  return false;
}

bool any_names(const std::vector<ExpressionText>& texts, const std::string& name) {
  return std::ranges::any_of(texts,
                             [&](const ExpressionText& text) { return names(text.text, name); });
}

/// Returns the parameters that a block depends on and its grid does not, so that the work is not
/// divided among the threads of such blocks.
std::set<std::string> in_blocks_only(const KernelTemplate& kernel) {
  std::set<std::string> found;
  for (const Parameter& parameter : kernel.parameters) {
    const bool is_in_blocks_only =
        std::ranges::any_of(kernel.launches, [&](const LaunchTemplate& launch) {
          return any_names(launch.block, parameter.name) && !any_names(launch.grid, parameter.name);
        });
    if (is_in_blocks_only) found.insert(parameter.name);
  }
  return found;
}

std::string failed_text(Status status) {
  switch (status) {
    case Status::compile:
      return "do not compile";
    case Status::correctness:
      return "are wrong";
    case Status::timeout:
      return "hang";
    default:
      return "fail when they run";
  }
}

}  // namespace

bool ParameterCondition::holds(const Configuration& configuration) const {
  const auto found = configuration.find(parameter);
  if (found == configuration.end()) return false;
  switch (relation) {
    case Relation::equal:
      return found->second == value;
    case Relation::unequal:
      return found->second != value;
    case Relation::at_most:
      return found->second <= value;
    case Relation::at_least:
      return found->second >= value;
  }
  return false;
}

std::string to_text(const ParameterCondition& condition) {
  static const std::map<Relation, std::string> kSigns = {{Relation::equal, " == "},
                                                         {Relation::unequal, " != "},
                                                         {Relation::at_most, " <= "},
                                                         {Relation::at_least, " >= "}};
  return condition.parameter + kSigns.at(condition.relation) + to_text(condition.value);
}

std::vector<FailurePattern> failure_patterns(std::span<const Result> results,
                                             std::span<const KernelTemplate> kernels) {
  std::set<std::pair<std::string, Status>> kinds;
  for (const Result& result : results) {
    const bool failed = result.status != Status::correct && result.status != Status::constraints &&
                        !result.behind();
    if (failed) kinds.emplace(result.kernel, result.status);
  }
  std::vector<FailurePattern> patterns;
  for (const auto& [name, status] : kinds) {
    std::vector<const Result*> comparable;
    for (const Result& result : results) {
      if (result.kernel == name && got_to(status, result)) comparable.push_back(&result);
    }
    if (comparable.size() > kMostResults) continue;
    std::set<std::string> without_grid;
    const auto kernel = std::ranges::find(kernels, name, &KernelTemplate::name);
    if (status == Status::correctness && kernel != kernels.end()) {
      without_grid = in_blocks_only(*kernel);
    }
    FailurePattern kind;
    kind.kernel = name;
    kind.status = status;
    for (FailurePattern& pattern :
         PatternSearch(std::move(comparable), status, without_grid).run(kind)) {
      for (const ParameterCondition& condition : pattern.conditions) {
        if (!without_grid.contains(condition.parameter)) continue;
        pattern.hint = "the grid does not depend on " + condition.parameter;
        break;
      }
      patterns.push_back(std::move(pattern));
    }
  }
  return patterns;
}

std::string to_text(const FailurePattern& pattern) {
  const std::string conditions =
      joined(pattern.conditions, " and ",
             [](const ParameterCondition& condition) { return to_text(condition); });
  const std::string reasons = joined(pattern.reasons, ", ", [&](const auto& reason) {
    return (pattern.reasons.size() > 1 ? std::to_string(reason.second) + " " : "") + reason.first;
  });
  return "all " + std::to_string(pattern.failures) + " of " + pattern.kernel + " with " +
         conditions + " " + failed_text(pattern.status) + " (" + reasons + ")" +
         (pattern.hint.empty() ? "" : ": " + pattern.hint);
}

}  // namespace smemtune
