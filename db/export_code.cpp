#include "db/export_code.h"

#include "db/export_order.h"
#include "db/selection_text.h"
#include "tuner/core/error.h"
#include "tuner/core/selection.h"
#include "tuner/core/selection_table.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

constexpr std::size_t kMaxNameBytes = 64;

// Keywords, and macros that any program may define.
constexpr std::string_view kReserved[] = {
    "alignas",      "alignof",      "and",           "and_eq",
    "asm",          "auto",         "bitand",        "bitor",
    "bool",         "break",        "case",          "catch",
    "char",         "char16_t",     "char32_t",      "char8_t",
    "class",        "co_await",     "co_return",     "co_yield",
    "compl",        "concept",      "const",         "const_cast",
    "consteval",    "constexpr",    "constinit",     "continue",
    "decltype",     "default",      "delete",        "do",
    "double",       "dynamic_cast", "else",          "enum",
    "explicit",     "export",       "extern",        "false",
    "float",        "for",          "friend",        "goto",
    "if",           "inline",       "int",           "linux",
    "long",         "mutable",      "namespace",     "new",
    "noexcept",     "not",          "not_eq",        "nullptr",
    "operator",     "or",           "or_eq",         "private",
    "protected",    "public",       "register",      "reinterpret_cast",
    "requires",     "return",       "short",         "signed",
    "sizeof",       "static",       "static_assert", "static_cast",
    "struct",       "switch",       "template",      "this",
    "thread_local", "throw",        "true",          "try",
    "typedef",      "typeid",       "typename",      "union",
    "unix",         "unsigned",     "using",         "virtual",
    "void",         "volatile",     "wchar_t",       "while",
    "xor",          "xor_eq",       "defined",       "NULL",
    "assert",       "errno",        "EOF",
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_reserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != std::end(kReserved);
}

/// Returns true if a program may define this name: an identifier that is not reserved for the
/// compiler (`__LINE__`, `_T`).
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes || is_digit(text.front())) return false;
  if (text.find("__") != std::string_view::npos) return false;
  if (text.front() == '_' && (text.size() == 1 || !(text[1] >= 'a' && text[1] <= 'z'))) {
    return false;
  }
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

/// Returns true for words as space files have them: `float`, `unsigned char`,
/// `cuda::std::plus<float>`.
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && (is_letter(text[0]) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '_' || c == ':' || c == '<' || c == '>' ||
                  c == ' ';
         });
}

/// The names in one scope: stored names and the C++ names that stand for them.
class Names {
 public:
  /// `what`: the kind of name, for error messages. `taken`: names that the scope already contains.
  Names(std::string what, std::set<std::string> taken)
      : what_(std::move(what)), taken_(std::move(taken)) {}

  void add(const std::string& name) {
    if (names_.contains(name)) return;
    if (!is_name(name)) {
      throw InputError(what_ + " " + string_literal(name) + " cannot be a name in C++");
    }
    std::string used = name;
    while (is_reserved(used) || taken_.contains(used)) used += '_';
    taken_.insert(used);
    names_[name] = used;
  }

  const std::string& of(const std::string& name) const { return names_.at(name); }
  const std::map<std::string, std::string>& all() const { return names_; }

 private:
  std::string what_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> names_;
};

/// Generates a struct that holds Bindings of one kind: a member for each name, which is a number if
/// all its values are.
class BindingsStruct {
 public:
  BindingsStruct(std::string name, const std::string& what)
      : name_(std::move(name)), members_(what, {name_}) {}

  void add(const Bindings& bindings) {
    for (const auto& [name, value] : bindings) {
      members_.add(name);
      if (std::holds_alternative<std::string>(value)) words_.insert(name);
    }
  }

  std::string definition() const {
    std::string text = "struct " + name_ + " {\n";
    for (const auto& [name, member] : members_.all()) {
      text += std::string("  ") + (words_.contains(name) ? "::std::string_view " : "long long ") +
              member + ";\n";
    }
    return text + "};\n";
  }

  /// Returns text like `{4096, "float"}`, with 0 or an empty string for what the bindings lack.
  std::string value(const Bindings& bindings) const {
    std::string text;
    for (const auto& [name, member] : members_.all()) {
      const auto found = bindings.find(name);
      const bool known = found != bindings.end();
      text += text.empty() ? "" : ", ";
      if (words_.contains(name)) {
        text += string_literal(known ? to_text(found->second) : "");
      } else {
        text += integer_literal(known ? std::get<std::int64_t>(found->second) : 0);
      }
    }
    return "{" + text + "}";
  }

  /// Returns the definition of size_ratio() for two of these structs.
  std::string ratio_function() const {
    const bool unused = members_.all().empty();
    std::string text = "constexpr double size_ratio(const " + name_ + "&" + (unused ? "" : " one") +
                       ", const " + name_ + "&" + (unused ? "" : " other") +
                       ") {\n  double ratio = 1;\n";
    for (const auto& [name, member] : members_.all()) {
      if (words_.contains(name)) {
        text += "  if (one." + member + " != other." + member + ") return 0;\n";
      } else {
        text += "  ratio = ::smemtune::times_ratio(ratio, ::smemtune::size_ratio(one." + member +
                ", other." + member + "));\n";
      }
    }
    return text + "  return ratio;\n}\n";
  }

 private:
  std::string name_;
  Names members_;
  std::set<std::string> words_;
};

struct SpaceEntries {
  std::vector<const StoredResult*> best;
  std::vector<const StoredResult*> candidates;  ///< What else was measured of these.
  std::vector<KernelDefaults> defaults;
};

/// Returns the rows of `entries`: the bests first, then the candidates, numbered in that order.
/// `defaults`: the one to fall back to first.
std::vector<SelectionRow> rows_of(const SpaceEntries& entries,
                                  const std::vector<const KernelDefaults*>& defaults) {
  std::vector<SelectionRow> rows;
  for (const auto* results : {&entries.best, &entries.candidates}) {
    for (const StoredResult* stored : *results) {
      const Result& result = stored->result;
      const auto its = std::ranges::find(defaults, result.kernel, &KernelDefaults::kernel);
      const bool is_default =
          its != defaults.end() && (*its)->configuration == result.configuration;
      rows.push_back({.measured = stored->device.name + "\n" + key(result.problem),
                      .kernel = result.kernel,
                      .configuration = key(result.configuration),
                      .time_ms = result.timed() ? result.measurement.median_ms : 0,
                      .is_default = is_default,
                      .is_fallback = is_default && its == defaults.begin(),
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
std::string ratio_text(double to_default) {
  return significant(std::min(to_default, kMostToDefault), 4);
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
  double to_default;  // By the time of the first of the defaults for this problem on this device.
  double to_kernel_default;  // By that of its kernel's default values.
  long long shared_bytes;  // Per block, of the launch that takes most; 0 where not known.
  bool stale;              // The kernel has been edited since it was measured.
  // definition, expected file, another kernel, only itself (nothing says it is right), unknown.
  ::std::string_view compared_with;
};

)";

constexpr const char* kSelectFunctions = R"(
// All kernels.
constexpr ::smemtune::Choice<Entry> select(const ::smemtune::Target& target,
                                           const Problem& problem) {
  const auto ratio_of = [&problem](const Entry& entry) {
    return size_ratio(entry.problem, problem);
  };
  return ::smemtune::or_defaults(
      ::smemtune::select_measured(entries, sizeof entries / sizeof *entries, target, ratio_of,
                                  [](const Entry& entry) { return entry.to_default; },
                                  defaults_count > 0),
      defaults, defaults_count, [](const Entry&) { return true; });
}

constexpr bool has_default(Kernel kernel) {
  for (const Entry* one = defaults; one != defaults + defaults_count; ++one) {
    if (one->kernel == kernel) return true;
  }
  return false;
}

// One kernel.
constexpr ::smemtune::Choice<Entry> select(Kernel kernel, const ::smemtune::Target& target,
                                           const Problem& problem) {
  const auto ratio_of = [kernel, &problem](const Entry& entry) {
    return entry.kernel == kernel ? size_ratio(entry.problem, problem) : 0;
  };
  return ::smemtune::or_defaults(
      ::smemtune::select_measured(entries, sizeof entries / sizeof *entries, target, ratio_of,
                                  [](const Entry& entry) { return entry.to_kernel_default; },
                                  has_default(kernel)),
      defaults, defaults_count, [kernel](const Entry& entry) { return entry.kernel == kernel; });
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
    text += problem_.definition() + "\n" + problem_.ratio_function() + "\n";
    text += "// 0, or empty, for what a kernel does not have.\n" + parameters_.definition() + "\n";
    return text + kEntryStruct + tables() + kSelectFunctions + "\n}  // namespace " + name_ + "\n";
  }

 private:
  std::string tables() const {
    std::string text = "inline constexpr Entry entries[] = {\n";
    for (const SelectionRow& row : rows_of(entries_, defaults_)) text += measured(row);
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
                ", -1, false, 0, 1, 1, 0, false, \"\"},\n";
      }
      text += "};\n";
    }
    return text + "inline constexpr ::std::size_t defaults_count = " + count + ";\n";
  }

  std::string measured(const SelectionRow& row) const {
    const bool is_best = row.of < entries_.best.size();
    const StoredResult& stored =
        is_best ? *entries_.best[row.of] : *entries_.candidates[row.of - entries_.best.size()];
    const Device& device = stored.device;
    const bool gpu = device.kind == DeviceKind::gpu;
    const int capability = gpu ? 10 * device.compute_major + device.compute_minor : 0;
    return "    {" + string_literal(device.name) + ", " + std::to_string(capability) + ", " +
           problem_.value(stored.result.problem) +
           ", Kernel::" + kernels_.of(stored.result.kernel) + ", " +
           parameters_.value(stored.result.configuration) + ", " + std::to_string(row.number) +
           (is_best ? ", true, " : ", false, ") + shortest(row.time_ms) + ", " +
           ratio_text(row.to_default) + ", " + ratio_text(row.to_kernel_default) + ", " +
           std::to_string(stored.result.shared_bytes()) + (stored.stale ? ", true" : ", false") +
           ", " + string_literal(to_text(stored.result.coverage())) + "},\n";
  }

  std::string name_;
  const SpaceEntries& entries_;
  Names kernels_;
  BindingsStruct problem_;
  BindingsStruct parameters_;
  std::vector<const KernelDefaults*> defaults_;
};

}  // namespace

std::string string_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (is_letter(c) || is_digit(c) ||
        std::string_view(" _=,.:;<>()[]{}+-*/@#%&|!^~'$").find(c) != std::string_view::npos) {
      literal += c;
    } else {
      // An octal escape ends after three digits, whatever follows; `?` might begin a trigraph.
      const auto byte = static_cast<unsigned char>(c);
      literal += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
                  static_cast<char>('0' + byte % 8)};
    }
  }
  return literal + "\"";
}

std::string for_comment(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 256)) {
    const bool plain = is_letter(c) || is_digit(c) ||
                       std::string_view(" _=,.:;%*<>()+-@/").find(c) != std::string_view::npos;
    result += plain ? c : '.';
  }
  return result;
}

std::string integer_literal(std::int64_t value) {
  // The smallest integer cannot be written as a single literal.
  return value == INT64_MIN ? "-9223372036854775807LL - 1" : std::to_string(value);
}

void need_name(const std::string& what, const std::string& name) {
  if (is_name(name) && !is_reserved(name)) return;
  throw InputError(what + " " + string_literal(name) + " cannot be a name in C++");
}

const std::string& need_word(const std::string& what, const std::string& word) {
  if (is_word(word)) return word;
  throw InputError(what + " is " + string_literal(word) +
                   ", which is neither a type nor an enumerator");
}

bool is_type(const std::string& word) {
  return word.starts_with("__") || is_reserved(word.substr(0, word.find(' ')));
}

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
      (best.stale ? "; stale: " +
                        for_comment(best.stale_because.empty() ? "the kernel has been edited since"
                                                               : best.stale_because) +
                        "\n"
                  : "\n");
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
