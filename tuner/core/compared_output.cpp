#include "tuner/core/compared_output.h"

#include "tuner/core/text.h"

#include <algorithm>

namespace smemtune {

namespace {

constexpr std::size_t kNamedProblems = 2;

bool is_independent(ComparedWith with) {
  return with == ComparedWith::definition || with == ComparedWith::expected_file;
}

/// Ranks references; a definition and a file are equally strong.
int strength(ComparedWith with) {
  if (is_independent(with)) return 3;
  return with == ComparedWith::another_kernel ? 2 : with == ComparedWith::only_itself ? 1 : 0;
}

/// Returns the key of the problem, reduced to the names whose values differ among the problems of
/// the list if there are any.
std::string short_key(const Problem& problem, std::span<const ComparedOutput> list) {
  Problem differing;
  for (const auto& value : problem) {
    const bool differs = std::ranges::any_of(list, [&value](const ComparedOutput& other) {
      const auto found = other.problem.find(value.first);
      return found == other.problem.end() || found->second != value.second;
    });
    if (differs) differing.insert(value);
  }
  return key(differing.empty() ? problem : differing);
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string problems_text(const std::vector<std::string>& problems) {
  const std::size_t named = std::min(problems.size(), kNamedProblems);
  const std::vector<std::string> first(problems.begin(),
                                       problems.begin() + static_cast<std::ptrdiff_t>(named));
  const std::size_t more = problems.size() - named;
  return joined(first, ", ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace

void add_compared(std::vector<ComparedOutput>& list, const ComparedOutput& added) {
  const auto same = std::ranges::find_if(list, [&](const ComparedOutput& one) {
    return one.output == added.output && one.problem == added.problem;
  });
  if (same == list.end()) {
    list.push_back(added);
  } else if (same->compared < added.compared) {
    *same = added;
  }
}

Coverage coverage_of(ComparedWith stored, std::span<const ComparedOutput> list) {
  if (list.empty()) {
    return {.with = stored, .least = stored, .by_old_rule = stored != ComparedWith::unknown};
  }
  Coverage coverage;
  coverage.least = std::ranges::min_element(list, {}, [](const ComparedOutput& one) {
                     return strength(one.with);
                   })->with;
  for (const ComparedOutput& one : list) {
    const bool is_stronger = strength(one.with) > strength(coverage.with);
    // A file counts as the result's reference even if other outputs had definitions.
    if (is_stronger || one.with == ComparedWith::expected_file) {
      coverage.with = one.with;
    }
  }
  const auto counts = [&](const ComparedOutput& one) {
    return strength(one.with) == strength(coverage.with);
  };
  for (const ComparedOutput& one : list) {
    const bool anything_there = std::ranges::any_of(list, [&](const ComparedOutput& other) {
      return other.problem == one.problem && counts(other);
    });
    if (!anything_there) {
      add_name(coverage.other_problems, short_key(one.problem, list));
    } else if (!counts(one)) {
      add_name(coverage.other_outputs, one.output);
    } else {
      coverage.compared += one.compared;
      coverage.elements_total += one.elements_total;
      if (one.only_sum) add_name(coverage.sums, one.output);
    }
  }
  for (const ComparedOutput& one : list) {
    const bool is_other =
        std::ranges::find(coverage.other_outputs, one.output) != coverage.other_outputs.end();
    if (counts(one) && !is_other) add_name(coverage.outputs, one.output);
  }
  return coverage;
}

std::string to_text(const Coverage& coverage) {
  std::vector<std::string> parts;
  if (coverage.by_old_rule) parts.emplace_back("by the old rule");
  if (!coverage.other_outputs.empty()) {
    if (!coverage.outputs.empty()) parts.push_back(joined(coverage.outputs, ", "));
    parts.push_back("not " + joined(coverage.other_outputs, ", "));
  }
  if (!coverage.other_problems.empty()) {
    parts.push_back("not at " + problems_text(coverage.other_problems));
  }
  if (coverage.is_sampled()) parts.emplace_back("sampled");
  if (!coverage.sums.empty()) parts.push_back("only the sum of " + joined(coverage.sums, ", "));
  return to_text(coverage.with) + (parts.empty() ? "" : " (" + joined(parts, "; ") + ")");
}

std::string extent_text(const Coverage& coverage) {
  std::string text;
  if (coverage.is_sampled()) {
    text = " at " + format_count(coverage.compared) + " of " +
           counted(coverage.elements_total, "element");
  }
  if (!coverage.sums.empty()) text += ", only the sum of " + joined(coverage.sums, ", ");
  return text;
}

std::string gaps_text(const Coverage& coverage) {
  std::string text = joined(coverage.other_outputs, ", ");
  if (!coverage.other_problems.empty()) {
    text += (text.empty() ? "anything at " : ", and anything at ") +
            problems_text(coverage.other_problems);
  }
  return text;
}

}  // namespace smemtune
