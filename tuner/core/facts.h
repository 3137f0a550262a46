#pragma once

#include <map>
#include <optional>
#include <string>

namespace smemtune {

/// Figures of a launch beside its time, by name; the names, with their units, are listed in
/// db/EXPORT.md and never change. A figure that is not known has no entry.
using Facts = std::map<std::string, double>;

/// Facts of a kernel's machine code begin with one of these: counts of instructions in all of it,
/// and in the loop that does most of its work. Where `code.instructions` is known, a kind without
/// an entry does not occur; a kernel without a loop has no entry of the second.
constexpr const char* kCodeFacts = "code.";
constexpr const char* kMainLoopFacts = "main_loop.";

/// Facts that hardware counters told, of one evaluation.
constexpr const char* kCounterFacts = "counter.";

/// Facts of the energy that a finalist takes when it is repeated. They are of a launch of the whole
/// kernel, and stand with the first of its launches.
constexpr const char* kEnergyFacts = "energy.";

/// Returns a fact, or a metric, of which results have several by name; nullopt if it is not known.
inline std::optional<double> find_figure(const std::map<std::string, double>& figures,
                                         const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace smemtune
