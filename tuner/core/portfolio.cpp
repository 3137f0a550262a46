#include "tuner/core/portfolio.h"

#include "tuner/core/measurement.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace smemtune {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Largest number of sets that are all tried.
constexpr double kMostSets = 200'000;

/// Losses of all cases together, and the loss in the worst case.
struct Total {
  double sum = 0;
  double worst = 0;

  bool operator<(const Total& other) const {
    // Differences that come from rounding do not count.
    if (std::abs(sum - other.sum) > 1e-12 || std::isinf(sum) != std::isinf(other.sum)) {
      return sum < other.sum;
    }
    return worst < other.worst - 1e-12;
  }
};

Total total(std::span<const double> losses) {
  Total total;
  for (const double loss : losses) {
    total.sum += loss;
    total.worst = std::max(total.worst, loss);
  }
  return total;
}

/// A variant with its losses by case.
struct Candidate {
  std::size_t variant = 0;
  std::vector<double> losses;
};

/// Returns the candidates that no other one matches in every case: a portfolio needs no others.
std::vector<Candidate> undominated(const TimeTable& table) {
  std::vector<Candidate> all(table.variants());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].variant = i;
    for (std::size_t in = 0; in < table.cases(); ++in) all[i].losses.push_back(table.loss(in, i));
  }
  // Candidates are sorted so that one that is as good everywhere comes first; each is then compared
  // only with those that were kept.
  const auto rank = [](const Candidate& one) {
    double finite = 0;
    std::size_t lost = 0;
    for (const double loss : one.losses) (std::isinf(loss) ? lost += 1, 0.0 : finite += loss);
    return std::pair(lost, finite);
  };
  std::ranges::stable_sort(all, {}, rank);
  std::vector<Candidate> kept;
  for (Candidate& one : all) {
    const bool is_needless = std::ranges::any_of(kept, [&one](const Candidate& other) {
      return std::ranges::equal(other.losses, one.losses, std::less_equal());
    });
    if (!is_needless) kept.push_back(std::move(one));
  }
  return kept;
}

std::vector<double> least(const std::vector<double>& losses, const Candidate& one) {
  std::vector<double> result(losses.size());
  std::ranges::transform(losses, one.losses, result.begin(),
                         [](double a, double b) { return std::min(a, b); });
  return result;
}

double sets_of(std::size_t candidates, std::size_t most) {
  double sets = 1;
  for (std::size_t i = 0; i < most; ++i) {
    sets *= static_cast<double>(candidates - i) / static_cast<double>(i + 1);
  }
  return sets;
}

class Chooser {
 public:
  Chooser(const std::vector<Candidate>& candidates, std::size_t cases)
      : candidates_(candidates), nothing_(cases, kInfinity) {}

  /// Returns the best of all sets, as indices of candidates.
  std::vector<std::size_t> of_all_sets(std::size_t most) {
    best_ = {};
    best_total_ = {.sum = kInfinity, .worst = kInfinity};
    std::vector<std::size_t> chosen;
    extend(chosen, nothing_, most);
    return best_;
  }

  std::vector<std::size_t> by_exchange(std::size_t most) const {
    std::vector<std::size_t> chosen;
    while (chosen.size() < most) chosen.push_back(best_beside(chosen));
    for (bool helps = true; helps;) {
      helps = false;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        std::vector<std::size_t> others = chosen;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        others.push_back(best_beside(others));
        if (total(losses_of(others)) < total(losses_of(chosen))) {
          chosen = std::move(others);
          helps = true;
        }
      }
    }
    return chosen;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the portfolio is large.
  void extend(std::vector<std::size_t>& chosen, const std::vector<double>& losses,
              std::size_t most) {
    if (chosen.size() == most) {
      const Total its = total(losses);
      if (best_.empty() || its < best_total_) {
        best_ = chosen;
        best_total_ = its;
      }
      return;
    }
    const std::size_t missing = most - chosen.size();
    const std::size_t first = chosen.empty() ? 0 : chosen.back() + 1;
    for (std::size_t i = first; i + missing <= candidates_.size(); ++i) {
      chosen.push_back(i);
      extend(chosen, least(losses, candidates_[i]), most);
      chosen.pop_back();
    }
  }

  std::vector<double> losses_of(const std::vector<std::size_t>& chosen) const {
    std::vector<double> losses = nothing_;
    for (const std::size_t i : chosen) losses = least(losses, candidates_[i]);
    return losses;
  }

  std::size_t best_beside(const std::vector<std::size_t>& chosen) const {
    const std::vector<double> losses = losses_of(chosen);
    // While some case has no variant, the number of cases that have one decides.
    const auto rank = [&](std::size_t i) {
      const std::vector<double> together = least(losses, candidates_[i]);
      std::vector<double> finite;
      std::ranges::copy_if(together, std::back_inserter(finite),
                           [](double loss) { return !std::isinf(loss); });
      return std::pair(together.size() - finite.size(), total(finite));
    };
    std::size_t best = 0;
    auto best_rank = rank(0);
    for (std::size_t i = 1; i < candidates_.size(); ++i) {
      const auto its = rank(i);
      if (its.first < best_rank.first ||
          (its.first == best_rank.first && its.second < best_rank.second)) {
        best = i;
        best_rank = its;
      }
    }
    return best;
  }

  const std::vector<Candidate>& candidates_;
  std::vector<double> nothing_;
  std::vector<std::size_t> best_;
  Total best_total_;
};

/// Returns the variant with the least `rank` among those that run everywhere.
template <typename Rank>
std::optional<std::size_t> best_everywhere(const TimeTable& table, Rank rank) {
  std::optional<std::size_t> best;
  for (std::size_t variant = 0; variant < table.variants(); ++variant) {
    bool runs = true;
    for (std::size_t in = 0; in < table.cases() && runs; ++in) {
      runs = !std::isinf(table.loss(in, variant));
    }
    if (runs && (!best || rank(variant) < rank(*best))) best = variant;
  }
  return best;
}

}  // namespace

double TimeTable::share(std::size_t in, std::size_t variant) const {
  const double share = best_ms[in] / ms[in][variant];
  return share > 1 ? 1 : share;
}

double TimeTable::loss(std::size_t in, std::size_t variant) const {
  const double its_ms = ms[in][variant];
  return std::isfinite(its_ms) ? std::max(0.0, std::log(its_ms / best_ms[in])) : kInfinity;
}

std::vector<std::size_t> Portfolio::variants() const {
  const std::set<std::size_t> all(choice.begin(), choice.end());
  return {all.begin(), all.end()};
}

Portfolio portfolio_of(const TimeTable& table, std::vector<std::size_t> choice) {
  std::vector<double> losses;
  for (std::size_t in = 0; in < choice.size(); ++in) losses.push_back(table.loss(in, choice[in]));
  const Total lost = total(losses);
  Portfolio portfolio;
  portfolio.choice = std::move(choice);
  portfolio.mean_percent = to_percent(lost.sum / static_cast<double>(losses.size()));
  portfolio.worst_percent = to_percent(lost.worst);
  return portfolio;
}

std::optional<Portfolio> best_portfolio(const TimeTable& table, std::size_t most) {
  const std::vector<Candidate> candidates = undominated(table);
  most = std::min(most, candidates.size());
  if (most == 0) return std::nullopt;
  const bool is_exact = sets_of(candidates.size(), most) <= kMostSets;
  Chooser chooser(candidates, table.cases());
  const std::vector<std::size_t> chosen =
      is_exact ? chooser.of_all_sets(most) : chooser.by_exchange(most);
  std::vector<std::size_t> choice;
  for (std::size_t in = 0; in < table.cases(); ++in) {
    const std::size_t member = *std::ranges::min_element(
        chosen, {}, [&](std::size_t i) { return candidates[i].losses[in]; });
    if (std::isinf(candidates[member].losses[in])) return std::nullopt;
    choice.push_back(candidates[member].variant);
  }
  Portfolio portfolio = portfolio_of(table, std::move(choice));
  portfolio.is_exact = is_exact;
  return portfolio;
}

std::optional<std::size_t> least_worst(const TimeTable& table) {
  return best_everywhere(table, [&table](std::size_t variant) {
    std::vector<double> losses;
    for (std::size_t in = 0; in < table.cases(); ++in) losses.push_back(table.loss(in, variant));
    const Total its = total(losses);
    return std::pair(its.worst, its.sum);
  });
}

double performance_portability(const TimeTable& table, std::size_t variant) {
  double sum = 0;
  for (std::size_t in = 0; in < table.cases(); ++in) {
    const double share = table.share(in, variant);
    if (!(share > 0)) return 0;
    sum += 1 / share;
  }
  return static_cast<double>(table.cases()) / sum;
}

std::optional<std::size_t> most_portable(const TimeTable& table) {
  return best_everywhere(
      table, [&table](std::size_t variant) { return -performance_portability(table, variant); });
}

}  // namespace smemtune
