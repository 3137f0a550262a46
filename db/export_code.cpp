#include "db/code_names.h"
#include "db/export_formats.h"
#include "db/rows.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/selection.h"
#include "tuner/core/selection_table.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

struct SpaceEntries {
  std::vector<const StoredResult*> best;
  std::vector<const StoredResult*> candidates;  ///< Other measured configurations of these.
  std::vector<KernelDefaults> defaults;
};

/// Returns the rows of `entries`: the bests first, then the candidates, numbered in that order.
std::vector<SelectionRow> rows_of(const SpaceEntries& entries) {
  std::vector<SelectionRow> rows;
  for (const auto* results : {&entries.best, &entries.candidates}) {
    for (const StoredResult* stored : *results) {
      const Result& result = stored->result;
      rows.push_back({.measured = stored->device.name + "\n" + key(result.problem),
                      .kernel = result.kernel,
                      .configuration = key(result.configuration),
                      .time_ms = result.timed() ? result.measurement.median_ms : 0,
                      .of = rows.size()});
    }
  }
  return selection_table(std::move(rows));
}

/// Returns, for each kernel, the number of devices and problems on which it is the fastest.
std::map<std::string, int> wins(const std::vector<const StoredResult*>& best) {
  std::map<std::string, int> count;
  std::set<std::tuple<std::string, std::string>> decided;
  for (const StoredResult* stored : best) {  // In export order the fastest comes first.
    if (decided.insert({key(stored->result.problem), stored->device.name}).second) {
      ++count[stored->result.kernel];
    }
  }
  return count;
}

/// Returns a number that selects like this one: selection.h does not tell larger ones apart.
std::string ratio_text(double to_best) {
  return to_best > 1 ? significant(std::min(to_best, kMostToBest), 6) : "1";
}

constexpr const char* kEntryStruct = R"(struct Entry {
  ::std::string_view device;  // As the driver names it; empty for defaults.
  int compute_capability;     // 90 for 9.0; 0 where the times say nothing of other devices.
  Problem problem;
  Kernel kernel;
  Parameters parameters;
  int configuration;  // The same for equal parameters of the same kernel.
  bool is_best;       // The kernel's best for this problem on this device.
  double time_ms;     // Median; 0 for defaults, and where it does not run.
  double to_best;          // Its time by that of the fastest for this problem on this device.
  double to_kernel_best;   // Its time by that of its kernel's fastest there.
  Limits limits;           // The device's.
  long long shared_bytes;  // Per block, of the launch that takes most; 0 where not known.
  bool stale;              // The kernel has been edited since it was measured.
  // definition, expected file, another kernel, only itself (nothing says it is right), unknown.
  ::std::string_view compared_with;
  int words;  // The number of its problem's words in `words`.
};

)";

constexpr const char* kSelectFunctions = R"(
// Computes the size ratios of entries to a problem. Words are compared once, not for each entry.
class SizeRatios {
 public:
  explicit constexpr SizeRatios(const Problem& problem) : problem_(problem) {
    for (::std::size_t i = 0; i < sizeof words / sizeof *words; ++i) {
      of_words_[i] = word_ratio(words[i], problem);
    }
  }

  constexpr double of(const Entry& entry) const {
    const double ratio = of_words_[entry.words];
    return ratio > 0 ? times_sizes(ratio, entry.problem, problem_) : 0;
  }

 private:
  const Problem& problem_;
  double of_words_[sizeof words / sizeof *words] = {};
};

constexpr ::smemtune::Fitness fitness(const Entry& entry, const Problem& problem) {
  if (!runs(entry.kernel, entry.parameters, problem, entry.limits)) return ::smemtune::Fitness::wrong;
  return is_promising(entry.kernel, entry.parameters, problem, entry.limits)
             ? ::smemtune::Fitness::promising
             : ::smemtune::Fitness::right;
}

constexpr ::smemtune::Choice<Entry> or_defaults(const ::smemtune::Choice<Entry>& choice,
                                                const ::smemtune::Target& target,
                                                const Problem& problem, const Kernel* kernel) {
  const Entry* on_target = nullptr;
  for (const Entry& entry : entries) {
    if (on_target == nullptr && entry.device == target.device) on_target = &entry;
  }
  return ::smemtune::or_defaults(choice, defaults, defaults_count, [&](const Entry& entry) {
    return (kernel == nullptr || entry.kernel == *kernel) &&
           (on_target == nullptr ||
            runs(entry.kernel, entry.parameters, problem, on_target->limits));
  });
}

// All kernels.
constexpr ::smemtune::Choice<Entry> select(const ::smemtune::Target& target,
                                           const Problem& problem) {
  const SizeRatios ratios(problem);
  const auto ratio_of = [&ratios](const Entry& entry) { return ratios.of(entry); };
  const auto fitness_of = [&problem](const Entry& entry) { return fitness(entry, problem); };
  return or_defaults(::smemtune::select_measured(
                         entries, sizeof entries / sizeof *entries, target, ratio_of,
                         [](const Entry& entry) { return entry.to_best; }, fitness_of),
                     target, problem, nullptr);
}

// One kernel.
constexpr ::smemtune::Choice<Entry> select(Kernel kernel, const ::smemtune::Target& target,
                                           const Problem& problem) {
  const SizeRatios ratios(problem);
  const auto ratio_of = [kernel, &ratios](const Entry& entry) {
    return entry.kernel == kernel ? ratios.of(entry) : 0;
  };
  const auto fitness_of = [&problem](const Entry& entry) { return fitness(entry, problem); };
  return or_defaults(::smemtune::select_measured(
                         entries, sizeof entries / sizeof *entries, target, ratio_of,
                         [](const Entry& entry) { return entry.to_kernel_best; }, fitness_of),
                     target, problem, &kernel);
}
)";

class SpaceWriter {
 public:
  SpaceWriter(const std::string& space, const std::string& name, const SpaceEntries& entries)
      : name_(name),
        entries_(entries),
        kernels_("space " + space + ": the kernel", {}),
        problem_("Problem", "space " + space + ": the problem's"),
        parameters_("Parameters", "space " + space + ": the parameter") {
    for (const auto* results : {&entries.best, &entries.candidates}) {
      for (const StoredResult* stored : *results) {
        kernels_.add(stored->result.kernel);
        problem_.add(stored->result.problem);
        parameters_.add(stored->result.configuration);
      }
    }
    const std::map<std::string, int> won = wins(entries.best);
    for (const KernelDefaults& defaults : entries.defaults) {
      if (!kernels_.all().contains(defaults.kernel)) continue;
      parameters_.add(defaults.configuration);
      defaults_.push_back(&defaults);
    }
    const auto wins_of = [&won](const KernelDefaults* defaults) {
      const auto found = won.find(defaults->kernel);
      return found == won.end() ? 0 : found->second;
    };
    std::stable_sort(defaults_.begin(), defaults_.end(), [&](const auto* one, const auto* other) {
      return wins_of(one) > wins_of(other);
    });
    constraints_ = code_of_constraints();
  }

  std::string text() const {
    std::string text = "namespace " + name_ + " {\n\nenum class Kernel { ";
    std::string names;
    std::string cases;
    for (const auto& [kernel, enumerator] : kernels_.all()) {
      names += (names.empty() ? "" : ", ") + enumerator;
      cases +=
          "    case Kernel::" + enumerator + ":\n      return " + string_literal(kernel) + ";\n";
    }
    text += names + " };\n\nconstexpr ::std::string_view to_text(Kernel kernel) {\n" +
            "  switch (kernel) {\n" + cases + "  }\n  return \"\";\n}\n\n";
    text += problem_.definition() + "\n" + problem_.ratio_functions() + "\n";
    text += "// 0, or empty, for what a kernel does not have.\n" + parameters_.definition() + "\n";
    text += constraints_->definitions();
    return text + kEntryStruct + tables() + kSelectFunctions + "\n}  // namespace " + name_ + "\n";
  }

 private:
  ConstraintsCode code_of_constraints() const {
    ConstraintsCode::Condition constraints = {
        "runs", "Returns whether the kernel's constraints hold, so that its result is right.", {}};
    ConstraintsCode::Condition promising = {
        "is_promising", "Returns whether a search would try it.", {}};
    for (const KernelDefaults* defaults : defaults_) {
      constraints.of_kernels[kernels_.of(defaults->kernel)] = defaults->constraints;
      promising.of_kernels[kernels_.of(defaults->kernel)] = defaults->promising;
    }
    return {problem_, parameters_, {constraints, promising}};
  }

  std::string tables() const {
    std::vector<Bindings> words;
    std::string text = "inline constexpr Entry entries[] = {\n";
    for (const SelectionRow& row : rows_of(entries_)) text += measured(row, words);
    text +=
        "};\n\n// The combinations of words that the entries' problems have.\ninline constexpr "
        "Problem words[] = {\n";
    for (const Bindings& one : words) text += "    " + problem_.value(one) + ",\n";
    text += "};\n\n";
    const std::string count = std::to_string(defaults_.size());
    if (defaults_.empty()) {
      text += "inline constexpr const Entry* defaults = nullptr;\n";
    } else {
      text += "// The kernel that is the best most often first.\n";
      text += "inline constexpr Entry defaults[] = {\n";
      for (const KernelDefaults* defaults : defaults_) {
        text += "    {\"\", 0, " + problem_.value({}) +
                ", Kernel::" + kernels_.of(defaults->kernel) + ", " +
                parameters_.value(defaults->configuration) +
                ", -1, false, 0, 1, 1, {}, 0, false, \"\", 0},\n";
      }
      text += "};\n";
    }
    return text + "inline constexpr ::std::size_t defaults_count = " + count + ";\n";
  }

  /// Returns the line of a row. `words`: those of the rows so far, to which its own are added.
  std::string measured(const SelectionRow& row, std::vector<Bindings>& words) const {
    const bool is_best = row.of < entries_.best.size();
    const StoredResult& stored =
        is_best ? *entries_.best[row.of] : *entries_.candidates[row.of - entries_.best.size()];
    const Device& device = stored.device;
    const bool gpu = device.kind == DeviceKind::gpu;
    const int capability = gpu ? device.compute_capability() : 0;
    const Bindings its = problem_.words_of(stored.result.problem);
    const auto known = std::ranges::find(words, its);
    const auto number = std::to_string(known - words.begin());
    if (known == words.end()) words.push_back(its);
    return "    {" + string_literal(device.name) + ", " + std::to_string(capability) + ", " +
           problem_.value(stored.result.problem) +
           ", Kernel::" + kernels_.of(stored.result.kernel) + ", " +
           parameters_.value(stored.result.configuration) + ", " + std::to_string(row.number) +
           (is_best ? ", true, " : ", false, ") + shortest(row.time_ms) + ", " +
           ratio_text(row.to_best) + ", " + ratio_text(row.to_kernel_best) + ", " +
           constraints_->limits(device_names(device)) + ", " +
           std::to_string(stored.result.shared_bytes()) + (stored.stale ? ", true" : ", false") +
           ", " + string_literal(to_text(stored.result.coverage())) + ", " + number + "},\n";
  }

  std::string name_;
  const SpaceEntries& entries_;
  Names kernels_;
  BindingsStruct problem_;
  BindingsStruct parameters_;
  std::vector<const KernelDefaults*> defaults_;
  std::optional<ConstraintsCode> constraints_;
};

}  // namespace

std::string export_header(const std::vector<StoredResult>& best,
                          const std::vector<KernelDefaults>& defaults, const std::string& notes,
                          const std::vector<StoredResult>& candidates) {
  std::map<std::string, SpaceEntries> spaces;
  Names names("the space", {"std", "smemtune"});
  for (const StoredResult* stored : in_export_order(best)) {
    names.add(stored->space);
    spaces[stored->space].best.push_back(stored);
  }
  for (const StoredResult* stored : in_export_order(candidates, Failures::included)) {
    names.add(stored->space);
    spaces[stored->space].candidates.push_back(stored);
  }
  for (const KernelDefaults& one : in_export_order(defaults)) {
    const auto space = spaces.find(one.space);
    if (space != spaces.end()) space->second.defaults.push_back(one);
  }
  std::string notes_line;
  std::string text =
      "// The best configurations, written by `smemtune export --format header`: do not edit.\n"
      "//   constexpr auto best = smemtune_best::SPACE::select({\"NVIDIA H200\", 90}, {...});\n"
      "// best->parameters has the values, best.match and best.size_ratio say how far they are\n"
      "// stretched: to another size, to another device of the same compute capability, to "
      "defaults.\n";
  for (std::istringstream lines(notes); std::getline(lines, notes_line);) {
    text += "// " + for_comment(notes_line) + "\n";
  }
  text += "#pragma once\n\n";
  text += selection_text();
  text += constraint_functions();
  text += "\nnamespace smemtune_best {\n";
  for (const auto& [space, entries] : spaces) {
    text += "\n" + SpaceWriter(space, names.of(space), entries).text();
  }
  return text + "\n}  // namespace smemtune_best\n";
}

std::string export_defines(const StoredResult& best) {
  const Result& result = best.result;
  std::string text =
      "// " +
      for_comment(best.space + " " + result.kernel + ", " + key(result.problem) + " on " +
                  best.device.name + ": " + significant(result.measurement.median_ms, 4) +
                  " ms, compared with " + to_text(result.coverage())) +
      (best.stale ? "; stale: " + for_comment(best.why_stale()) : "") + "\n";
  for (const auto& [name, value] : result.configuration) {
    const std::string what = "space " + best.space + ": the parameter";
    need_name(what, name);
    const auto* word = std::get_if<std::string>(&value);
    if (word != nullptr) need_word(what + " " + name, *word);
    text += "#define " + name + " " + to_text(value) + "\n";
  }
  return text;
}

}  // namespace smemtune::db
