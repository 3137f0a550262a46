#include "tuner/core/size_rules.h"

#include "tuner/core/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace smemtune {

namespace {

constexpr std::int64_t kReach = 2;
constexpr std::size_t kMostDepth = 8;
constexpr double kLeastSaved = 0.05;

bool answer(const Problem& problem, const std::string& name, const Value& limit) {
  const auto found = problem.find(name);
  if (found == problem.end() || found->second.index() != limit.index()) return false;
  if (std::holds_alternative<std::string>(limit)) return found->second == limit;
  return std::get<std::int64_t>(found->second) <= std::get<std::int64_t>(limit);
}

/// The largest time by that of the default values that may be due to chance.
constexpr double kTolerated = 1.01;

/// Returns the whole number next to the geometric mean, from `low` to `high` - 1.
std::int64_t between(std::int64_t low, std::int64_t high) {
  const double mean =
      std::sqrt(std::max(0.0, static_cast<double>(low)) * static_cast<double>(high));
  return std::clamp(static_cast<std::int64_t>(mean), low, high - 1);
}

class Fitter {
 public:
  Fitter(const SizedTimes& times, std::span<const std::size_t> variants)
      : times_(times), variants_(variants), table_(with_predicted_times(times, variants)) {
    for (const std::size_t variant : variants) {
      std::vector<double>& of_variant = losses_.emplace_back();
      for (std::size_t in = 0; in < table_.cases(); ++in) of_variant.push_back(loss(in, variant));
    }
  }

  SizeRules fit(const std::vector<std::size_t>& cases) {
    rules_.fallback = times_.defaults.empty() ? best_of(cases).variant : times_.defaults.front();
    set_reach(cases);
    grow(cases, 0);
    return std::move(rules_);
  }

 private:
  struct Leaf {
    std::size_t variant = 0;
    double loss = 0;
  };

  struct Split {
    std::string name;
    Value limit;
    double loss = 0;
  };

  /// Returns the loss of a variant in a case; infinity if it is slower than the default values there.
  double loss(std::size_t in, std::size_t variant) const {
    const double known = std::min(table_.loss(in, variant), std::log(kMostToCount));
    if (times_.defaults.empty()) return known;
    const double default_ms = times_.table.ms[in][times_.defaults.front()];
    const double its_ms = times_.table.ms[in][variant];
    const bool is_slower =
        std::isfinite(default_ms) && !std::isnan(its_ms) && its_ms > kTolerated * default_ms;
    return is_slower ? std::numeric_limits<double>::infinity() : known;
  }

  Leaf best_of(const std::vector<std::size_t>& cases) const {
    std::optional<Leaf> best;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      double sum = 0;
      for (const std::size_t in : cases) sum += losses_[i][in];
      if (std::isfinite(sum) && (!best || sum < best->loss)) {
        best = {.variant = variants_[i], .loss = sum};
      }
    }
    return best.value_or(
        Leaf{.variant = rules_.fallback, .loss = std::numeric_limits<double>::max()});
  }

  void set_reach(const std::vector<std::size_t>& cases) {
    for (const std::size_t in : cases) {
      for (const auto& [name, value] : times_.problems[in]) {
        if (const auto* word = std::get_if<std::string>(&value)) {
          rules_.words[name].insert(*word);
          continue;
        }
        const std::int64_t size = std::get<std::int64_t>(value);
        const auto [place, is_new] = rules_.sizes.try_emplace(name, size, size);
        auto& [least, most] = place->second;
        least = std::min(least, size);
        most = std::max(most, size);
      }
    }
    for (auto& [name, range] : rules_.sizes) {
      range.first = range.first > 0 ? (range.first + kReach - 1) / kReach : range.first;
      range.second = range.second < INT64_MAX / kReach ? range.second * kReach : INT64_MAX;
    }
  }

  /// Returns what may be asked of these cases: for each size a limit between each two neighbors.
  std::vector<Split> questions(const std::vector<std::size_t>& cases) const {
    std::map<std::string, std::set<Value>> values;
    for (const std::size_t in : cases) {
      for (const auto& [name, value] : times_.problems[in]) values[name].insert(value);
    }
    std::vector<Split> all;
    for (const auto& [name, its] : values) {
      for (auto value = its.begin(); value != its.end(); ++value) {
        const auto next = std::next(value);
        if (next == its.end()) continue;
        const auto* low = std::get_if<std::int64_t>(&*value);
        const auto* high = std::get_if<std::int64_t>(&*next);
        all.push_back(
            {.name = name,
             .limit = low != nullptr && high != nullptr ? Value(between(*low, *high)) : *value});
      }
    }
    return all;
  }

  std::pair<std::vector<std::size_t>, std::vector<std::size_t>> divided(
      const std::vector<std::size_t>& cases, const Split& by) const {
    std::pair<std::vector<std::size_t>, std::vector<std::size_t>> parts;
    for (const std::size_t in : cases) {
      (answer(times_.problems[in], by.name, by.limit) ? parts.first : parts.second).push_back(in);
    }
    return parts;
  }

  /// Returns the question after which the leaves, or with `ahead` those of a further question on
  /// either side, lose least.
  std::optional<Split> best_question(const std::vector<std::size_t>& cases, bool ahead) const {
    std::optional<Split> best;
    for (Split& one : questions(cases)) {
      const auto [yes, no] = divided(cases, one);
      one.loss = ahead ? loss_after_question(yes) + loss_after_question(no)
                       : best_of(yes).loss + best_of(no).loss;
      if (!best || one.loss < best->loss) best = std::move(one);
    }
    return best;
  }

  double loss_after_question(const std::vector<std::size_t>& cases) const {
    const double as_leaf = best_of(cases).loss;
    const std::optional<Split> best = best_question(cases, /*ahead=*/false);
    return best ? std::min(as_leaf, best->loss + kLeastSaved) : as_leaf;
  }

  /// Returns the question to ask of these cases; nullopt if none saves enough. Where none does by
  /// itself, those that do together with a further one are found as long as there are few cases.
  std::optional<Split> question(const std::vector<std::size_t>& cases, double as_leaf) const {
    std::optional<Split> best = best_question(cases, /*ahead=*/false);
    if (!best || best->loss <= as_leaf - kLeastSaved) return best;
    constexpr std::size_t kFew = 100;
    if (cases.size() > kFew) return std::nullopt;
    best = best_question(cases, /*ahead=*/true);
    return best->loss <= as_leaf - kLeastSaved ? best : std::nullopt;
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most kMostDepth deep.
  std::size_t grow(const std::vector<std::size_t>& cases, std::size_t depth) {
    const std::size_t here = rules_.nodes.size();
    const Leaf leaf = best_of(cases);
    rules_.nodes.push_back({.variant = leaf.variant, .cases = cases});
    const std::optional<Split> split =
        depth < kMostDepth ? question(cases, leaf.loss) : std::nullopt;
    if (!split) return here;
    const auto [yes, no] = divided(cases, *split);
    const std::size_t if_yes = grow(yes, depth + 1);
    const std::size_t if_no = grow(no, depth + 1);
    rules_.nodes[here] = {.name = split->name, .limit = split->limit, .yes = if_yes, .no = if_no};
    return here;
  }

  const SizedTimes& times_;
  std::span<const std::size_t> variants_;
  TimeTable table_;
  std::vector<std::vector<double>> losses_;  ///< Their order: variants_, then cases.
  SizeRules rules_;
};

/// Returns what is known of some cases only.
SizedTimes of_cases(const SizedTimes& times, std::span<const std::size_t> cases) {
  SizedTimes part = {.table = {}, .problems = {}, .defaults = times.defaults};
  for (const std::size_t in : cases) {
    part.table.ms.push_back(times.table.ms[in]);
    part.table.best_ms.push_back(times.table.best_ms[in]);
    part.problems.push_back(times.problems[in]);
  }
  return part;
}

}  // namespace

std::size_t SizeRules::variant(const Problem& problem) const {
  for (const auto& [name, value] : problem) {
    if (const auto* size = std::get_if<std::int64_t>(&value)) {
      const auto range = sizes.find(name);
      const bool is_out =
          range == sizes.end() || *size < range->second.first || *size > range->second.second;
      if (is_out) return fallback;
      continue;
    }
    const auto known = words.find(name);
    if (known == words.end() || !known->second.contains(std::get<std::string>(value))) {
      return fallback;
    }
  }
  std::size_t at = 0;
  while (!nodes[at].name.empty()) {
    at = answer(problem, nodes[at].name, nodes[at].limit) ? nodes[at].yes : nodes[at].no;
  }
  return nodes[at].variant;
}

SizeRules fit_rules(const SizedTimes& times, std::span<const std::size_t> cases,
                    std::span<const std::size_t> variants) {
  return Fitter(times, variants).fit({cases.begin(), cases.end()});
}

ChooseForCase rules_of(const SizedTimes& times) {
  return [&times](std::size_t out,
                  const std::vector<std::size_t>& known) -> std::optional<std::size_t> {
    if (known.empty()) return std::nullopt;
    const SizedTimes part = of_cases(times, known);
    std::vector<std::size_t> all(known.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const SizeRules rules = fit_rules(part, all, candidates_of(part, all));
    return rules.variant(times.problems[out]);
  };
}

}  // namespace smemtune
