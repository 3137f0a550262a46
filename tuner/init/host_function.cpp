#include "tuner/init/host_function.h"

#include "tuner/core/text.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/names.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

/// Returns the words of a name in lower case: `sum`, `on`, `host` of `sumOnHost`, `cpu`, `sum` of
/// `CPUSum`.
std::vector<std::string> words_of(const std::string& name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool ends_capitals = i + 1 < name.size() && name[i + 1] >= 'a' && name[i + 1] <= 'z';
    const bool begins = i > 0 && is_upper(name[i]) && (!is_upper(name[i - 1]) || ends_capitals);
    if (name[i] == '_' || begins) words.emplace_back();
    if (name[i] != '_') words.back() += name[i];
  }
  for (std::string& word : words) word = lower_case(word);
  return words;
}

template <std::size_t N>
bool has_word(const std::string& name, const std::array<std::string_view, N>& wanted) {
  return std::ranges::any_of(words_of(name), [&](const std::string& word) {
    return std::ranges::find(wanted, word) != wanted.end();
  });
}

/// Returns true if a word of the name says that the function prepares data or shows them.
bool is_for_data(const std::string& name) {
  static constexpr std::array<std::string_view, 18> kWords = {
      "init", "initialize", "fill", "copy", "print",    "load",   "save", "read",  "write",
      "rand", "random",     "gen",  "swap", "generate", "create", "make", "clear", "reset"};
  return has_word(name, kWords);
}

/// Returns true if a body has a loop and stores to each of these parameters.
bool computes(const CppTokens& tokens, const SourceItem& item,
              const std::set<std::string>& results) {
  std::set<std::string> stored;
  bool has_loop = false;
  for (std::size_t i = item.body; i + 1 < item.end; ++i) {
    has_loop = has_loop || tokens[i].is("for");
    if (!tokens[i].is_word() || !tokens[i + 1].is("[")) continue;
    const std::size_t close = closing(tokens, i + 1);
    if (close + 1 >= item.end) continue;
    const std::string_view sign = tokens[close + 1].text;
    if (sign == "=" || sign == "+=" || sign == "*=" || sign == "++") stored.emplace(tokens[i].text);
  }
  return has_loop && std::ranges::includes(stored, results);
}

/// Returns true for `std::` before a function that the device has as well: `std::max(a, b)`.
bool is_standard(const CppTokens& tokens, std::size_t i) {
  static constexpr std::array<std::string_view, 22> kBoth = {
      "abs",       "ceil", "cos",   "exp",   "exp2", "fabs", "floor", "fma",
      "fmax",      "fmin", "isinf", "isnan", "log",  "log2", "max",   "min",
      "nearbyint", "pow",  "round", "sin",   "sqrt", "tanh"};
  return i + 3 < tokens.size() && tokens[i].is("std") && tokens[i + 1].is("::") &&
         std::ranges::find(kBoth, tokens[i + 2].text) != kBoth.end() && tokens[i + 3].is("(");
}

/// Returns the token behind `std::vector<T>&` at token i; i if there is none.
std::size_t behind_vector(const CppTokens& tokens, std::size_t i) {
  const std::size_t name = tokens[i].is("std") ? i + 2 : i;
  const bool is_vector =
      name + 1 < tokens.size() && tokens[name].is("vector") && tokens[name + 1].is("<");
  if (!is_vector) return i;
  const std::size_t close = closing(tokens, name + 1);
  return close + 1 < tokens.size() && tokens[close + 1].is("&") ? close + 2 : i;
}

/// Returns true if a function does nothing with a vector but reading and storing its elements, or
/// asking for its size.
bool uses_elements(const CppTokens& tokens, const SourceItem& item, const std::string& vector) {
  for (std::size_t i = item.body; i + 2 < item.end; ++i) {
    const bool is_size = tokens[i + 1].is(".") && tokens[i + 2].is("size");
    if (tokens[i].is(vector) && !tokens[i + 1].is("[") && !is_size) return false;
  }
  return true;
}

/// The functions of the host by their names; nullptr for those with several definitions.
using HostFunctions = std::map<std::string, const SourceItem*>;

/// Adds a function of the host, behind the functions that it calls, to those that the device needs.
/// Returns false if one uses what only the host has, or stands behind its use.
// NOLINTNEXTLINE(misc-no-recursion): each function once.
bool add_needed(const CppTokens& tokens, const SourceItem& item, const HostFunctions& hosts,
                std::vector<const SourceItem*>& needed) {
  static constexpr std::array<std::string_view, 18> kHosts = {
      "std", "malloc", "calloc", "free", "new", "delete", "fprintf", "fopen", "cout", "printf",
      "exit", "rand", "static", "vector",
      // Names that mean something else on the device.
      "blockIdx", "threadIdx", "blockDim", "gridDim"};
  const bool is_static = tokens[item.first].is("static");  // Of the function, not of a variable.
  for (std::size_t i = item.first + (is_static ? 1 : 0); i < item.end; ++i) {
    if (i < item.body && needed.empty()) i = behind_vector(tokens, i);
    const bool is_hosts = std::ranges::find(kHosts, tokens[i].text) != kHosts.end();
    if (is_hosts && !is_standard(tokens, i)) return false;
    const bool is_call = i > item.body && i + 1 < item.end && tokens[i + 1].is("(");
    const auto called = is_call ? hosts.find(std::string(tokens[i].text)) : hosts.end();
    if (called != hosts.end() && std::ranges::find(needed, called->second) == needed.end()) {
      const bool is_before = called->second != nullptr && called->second->end <= item.first;
      if (!is_before || !add_needed(tokens, *called->second, hosts, needed)) return false;
    }
    if (tokens[i].text.starts_with("cuda") || tokens[i].text.starts_with("omp_")) return false;
    const bool launches =
        i + 2 < item.end && tokens[i].is("<") && tokens[i + 1].is("<") && tokens[i + 2].is("<");
    if (launches) return false;
  }
  needed.push_back(&item);
  return true;
}

/// Returns the name without affixes: `out` for `d_out`, `out_gpu`.
std::string bare_name(const std::string& name) {
  static constexpr std::array<std::string_view, 12> kWhere = {
      "d", "h", "g", "dev", "device", "host", "gpu", "cpu", "ref", "gold", "p", "global"};
  std::string bare = lower_case(name);
  for (const std::string_view where : kWhere) {
    const std::string before = std::string(where) + "_";
    const std::string behind = "_" + std::string(where);
    if (bare.starts_with(before)) bare.erase(0, before.size());
    if (bare.size() > behind.size() && bare.ends_with(behind)) {
      bare.erase(bare.size() - behind.size());
    }
  }
  return bare;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A function of the host that may compute what a kernel does.
struct Candidate {
  std::vector<KernelParameter> parameters;
  std::set<std::string> types;  ///< Template parameters that are types.
  /// Parameters for the sizes of vectors, and these: the device gets pointers in their place.
  std::map<std::string, std::string> sizes = {};

  /// Returns true if the parameter of the function may stand for the kernel's.
  bool takes(const KernelParameter& own, const KernelParameter& of_kernel) const {
    return own.pointers == of_kernel.pointers &&
           (own.type == of_kernel.type || types.contains(own.type));
  }

  /// Returns true if a call converts the kernel's scalar to the parameter, both of them integers or
  /// both floating-point numbers.
  bool converts(const KernelParameter& own, const KernelParameter& of_kernel) const {
    const bool are_scalars = own.pointers == 0 && of_kernel.pointers == 0 &&
                             scalar_bytes_of(own.type) > 0 && scalar_bytes_of(of_kernel.type) > 0;
    return takes(own, of_kernel) ||
           (are_scalars && is_floating_name(own.type) == is_floating_name(of_kernel.type));
  }
};

/// Returns true for a parameter that says how often all is repeated, as for a measurement.
bool is_repeat(const KernelParameter& parameter) {
  static constexpr std::array<std::string_view, 4> kNames = {"repeat", "iterations", "n_iter",
                                                             "num_iter"};
  return parameter.pointers == 0 && holds_any(parameter.name, kNames);
}

/// Returns true if each template parameter stands for one type.
bool is_consistent(const Candidate& function, const std::vector<KernelParameter>& kernel,
                   const std::vector<std::size_t>& matches) {
  std::map<std::string, std::string> types;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const std::string& own = function.parameters[i].type;
    if (matches[i] == kNone || !function.types.contains(own)) continue;
    if (types.emplace(own, kernel[matches[i]].type).first->second != kernel[matches[i]].type) {
      return false;
    }
  }
  return true;
}

/// The arguments for each parameter of a function.
struct Matches {
  /// Numbers of the kernel's parameters, and behind these of `scalars`; kNone for a number of
  /// repetitions.
  std::vector<std::size_t> numbers;
  std::vector<HostFunction::Scalar> scalars = {};
  std::size_t returned = kNone;  ///< The kernel's parameter that is to have what it returns.
};

/// Returns the kernel's parameter for each of the function's: the one of the same name, else the
/// first one of its type that is left.
std::optional<Matches> matched(const Candidate& candidate,
                               const std::vector<KernelParameter>& kernel) {
  const std::vector<KernelParameter>& function = candidate.parameters;
  std::vector<std::size_t> matches(function.size(), kNone);
  std::vector<bool> used(kernel.size());
  for (std::size_t i = 0; i < function.size(); ++i) {
    for (std::size_t j = 0; j < kernel.size() && matches[i] == kNone; ++j) {
      const bool is_same = bare_name(function[i].name) == bare_name(kernel[j].name);
      if (used[j] || !is_same || !candidate.converts(function[i], kernel[j])) continue;
      matches[i] = j;
      used[j] = true;
    }
  }
  for (std::size_t i = 0; i < function.size(); ++i) {
    if (matches[i] != kNone || is_repeat(function[i])) continue;
    const auto ours = std::ranges::count_if(function, [&](const KernelParameter& other) {
      const auto k = static_cast<std::size_t>(&other - function.data());
      return matches[k] == kNone && !is_repeat(other) && other.type == function[i].type &&
             other.pointers == function[i].pointers;
    });
    std::ptrdiff_t theirs = 0;
    for (std::size_t j = kernel.size(); j-- > 0;) {
      if (used[j] || !candidate.takes(function[i], kernel[j])) continue;
      matches[i] = j;
      ++theirs;
    }
    if (theirs == 0 || ours != theirs) return std::nullopt;
    used[matches[i]] = true;
  }
  return is_consistent(candidate, kernel, matches) ? std::optional(Matches{matches}) : std::nullopt;
}

bool is_written(const KernelParameter& parameter) {
  return parameter.pointers > 0 && !parameter.is_const && parameter.access != Access::read;
}

/// Finds out by the host's calls which of a launch's arguments a function's parameters stand for.
class CallMatcher {
 public:
  CallMatcher(const Candidate& candidate, const KernelFunction& kernel, const HostPart& host,
              const LaunchSite& launch)
      : candidate_(candidate),
        kernel_(kernel.parameters),
        host_(host),
        launch_(launch),
        terms_(launch, {}, [](const std::string& text) { return text; }) {}

  std::optional<Matches> matches(const std::string& function) {
    for (const HostCall& call : host_.calls) {
      const auto frame = std::ranges::find(launch_.frames, call.caller, &HostFrame::function);
      if (call.callee != function || frame == launch_.frames.end()) continue;
      frame_ = static_cast<std::size_t>(frame - launch_.frames.begin());
      if (auto found = matches_of(call)) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<Matches> matches_of(const HostCall& call) const {
    Matches matches;
    for (const KernelParameter& own : candidate_.parameters) {
      const auto vector = candidate_.sizes.find(own.name);
      const bool is_size = vector != candidate_.sizes.end();
      const auto passed = call.passed.find(is_size ? vector->second : own.name);
      if (passed == call.passed.end()) return std::nullopt;
      const std::string text = passed->second + (is_size ? ".size()" : "");
      std::size_t number = own.pointers > 0 ? array(own, text, call) : scalar(own, text);
      const bool is_passed = std::ranges::find(matches.numbers, number) != matches.numbers.end();
      if (own.pointers > 0 && (number == kNone || is_passed)) return std::nullopt;
      if (number == kNone && !is_repeat(own)) {
        if (scalar_bytes_of(own.type) == 0) return std::nullopt;
        number = kernel_.size() + matches.scalars.size();
        matches.scalars.push_back({own, text, frame_});
      }
      matches.numbers.push_back(number);
    }
    return matches;
  }

  std::size_t array(const KernelParameter& own, const std::string& text,
                    const HostCall& call) const {
    std::string name;
    for (const std::string_view word : identifiers(text)) {
      if (word != "data") name = word;
    }
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      if (holds(name, i, Copied::to_device) && candidate_.takes(own, kernel_[i])) return i;
    }
    // It is to have the results: those that are compared with it, that are called the same, or the
    // only ones of that type.
    std::size_t named = kNone;
    std::size_t found = kNone;
    std::size_t count = 0;
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      if (!is_written(kernel_[i]) || own.is_const || !candidate_.takes(own, kernel_[i])) continue;
      if (is_compared(name, i, call.caller)) return i;
      if (bare_name(own.name) == bare_name(kernel_[i].name)) named = i;
      found = i;
      ++count;
    }
    return count == 1 ? found : named;
  }

  enum class Copied { to_device, from_device };

  /// Returns true if an array of the calling function is a kernel's argument or is copied so, there
  /// or in a function on the way to the launch that is passed the array.
  bool holds(const std::string& array, std::size_t argument, Copied copied) const {
    std::set<std::string> names = {array};
    for (std::size_t frame = frame_;; --frame) {
      const std::string passed = terms_.passed(argument, frame);
      for (const std::string& name : passed.empty() ? std::set<std::string>() : names) {
        const auto copy =
            copied == Copied::to_device ? std::pair(passed, name) : std::pair(name, passed);
        if (passed == name || host_.copies.contains(copy)) return true;
      }
      if (frame == 0) return false;
      std::set<std::string> nearer;
      for (const auto& [parameter, text] : launch_.frames[frame].parameters) {
        if (names.contains(text)) nearer.insert(parameter);
      }
      names = std::move(nearer);
    }
  }

  /// Returns true if the host compares an array with what it has of a kernel's argument.
  bool is_compared(const std::string& array, std::size_t argument,
                   const std::string& function) const {
    return std::ranges::any_of(host_.values, [&](const HostValue& value) {
      return value.is_compared && value.function == function &&
             has_name(value.store.value, array) &&
             holds(value.store.array, argument, Copied::from_device);
    });
  }

  std::size_t scalar(const KernelParameter& own, const std::string& text) const {
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      if (candidate_.converts(own, kernel_[i]) && terms_.passed(i, frame_) == text) return i;
    }
    return kNone;
  }

  const Candidate& candidate_;
  const std::vector<KernelParameter>& kernel_;
  const HostPart& host_;
  const LaunchSite& launch_;
  HostTerms terms_;
  std::size_t frame_ = 0;
};

/// Returns true if the function is passed everything that the kernel writes.
bool gets_results(const std::vector<std::size_t>& matches, const KernelFunction& kernel) {
  bool any = false;
  for (std::size_t j = 0; j < kernel.parameters.size(); ++j) {
    if (!is_written(kernel.parameters[j])) continue;
    if (std::ranges::find(matches, j) == matches.end()) return false;
    any = true;
  }
  return any;
}

/// Returns true if a launch is passed memory for one element.
bool is_single(const LaunchSite& launch, std::size_t argument) {
  const HostTerms terms(launch, {}, [](const std::string& text) { return text; });
  for (std::size_t frame = 0; frame < launch.frames.size(); ++frame) {
    const auto& allocated = launch.frames[frame].allocated;
    const auto bytes = allocated.find(terms.passed(argument, frame));
    if (bytes == allocated.end()) continue;
    const CppTokens tokens = cpp_tokens(bytes->second);
    return tokens.size() > 1 && tokens[0].is("sizeof") && closing(tokens, 1) + 1 == tokens.size();
  }
  return false;
}

/// Returns the last word of the type that a function returns, or `*`; empty if there is none.
std::string_view returned_type(const CppTokens& tokens, const SourceItem& item) {
  const bool has_one = item.name != kNoToken && item.name > item.first;
  return has_one ? tokens[item.name - 1].text : std::string_view();
}

/// Finds the kernel's only result, of one element, for a function that is passed all that the kernel
/// reads and returns the result. Returns false if it is no such function.
bool returns_result(const CppTokens& tokens, const SourceItem& item, const KernelFunction& kernel,
                    const LaunchSite& launch, Matches& matches) {
  const std::string_view type = returned_type(tokens, item);
  if (type.empty() || type == "void" || type == "*" || type == "bool") return false;
  bool reads = false;
  for (std::size_t j = 0; j < kernel.parameters.size(); ++j) {
    if (kernel.parameters[j].pointers == 0) continue;
    const bool is_passed = std::ranges::find(matches.numbers, j) != matches.numbers.end();
    if (is_passed == is_written(kernel.parameters[j])) return false;
    reads = reads || is_passed;
    if (is_passed) continue;
    if (matches.returned != kNone || !is_single(launch, j)) return false;
    matches.returned = j;
  }
  return reads && matches.returned != kNone;
}

/// Returns true if the function is passed everything that the kernel reads or writes, which are
/// several things.
bool gets_all(const std::vector<std::size_t>& matches, const KernelFunction& kernel) {
  std::size_t pointers = 0;
  for (std::size_t j = 0; j < kernel.parameters.size(); ++j) {
    if (kernel.parameters[j].pointers == 0) continue;
    if (std::ranges::find(matches, j) == matches.end()) return false;
    ++pointers;
  }
  return pointers > 1;
}

/// Returns the function's parameters that stand for what the kernel writes.
std::set<std::string> results_of(const std::vector<KernelParameter>& function,
                                 const std::vector<std::size_t>& matches,
                                 const KernelFunction& kernel) {
  std::set<std::string> results;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] >= kernel.parameters.size()) continue;
    if (is_written(kernel.parameters[matches[i]])) results.insert(function[i].name);
  }
  return results;
}

std::string declared(const KernelParameter& parameter) {
  return (parameter.is_const ? "const " : "") + parameter.type +
         std::string(static_cast<std::size_t>(parameter.pointers), '*') + " " + parameter.name;
}

/// Returns a kernel that passes `taken` of these parameters to the function.
std::string text_of(const std::string& name, const std::string& function,
                    const std::vector<KernelParameter>& parameters, const Matches& matches,
                    const std::vector<KernelParameter>& taken) {
  const std::string list = joined(taken, ", ", declared);
  const std::string given = joined(matches.numbers, ", ", [&](std::size_t number) -> std::string {
    if (number == kNone) return "1";
    const KernelParameter& parameter = parameters[number];
    if (parameter.pointers <= 0) return parameter.name;
    const std::string stars(static_cast<std::size_t>(parameter.pointers), '*');
    return "(" + parameter.type + stars + ")" + parameter.name;
  });
  return "\n// The host's function, for one thread.\n__global__ void " + name + "(" + list +
         ") {\n  " +
         (matches.returned == kNone ? "" : "*" + parameters[matches.returned].name + " = ") +
         function + "(" + given + ");\n}\n";
}

/// Makes a parameter that is a vector a pointer. Returns false if the function has to have a vector.
bool read_vector(const CppTokens& tokens, const SourceItem& item, TokenRange part,
                 KernelParameter& parameter, Candidate& candidate) {
  const std::size_t first = part.first + (tokens[part.first].is("const") ? 1 : 0);
  const std::size_t end = behind_vector(tokens, first);
  if (end == first) return true;
  const std::string body = joined(tokens, {item.body, item.end});
  const std::string size = parameter.name + "_size";
  if (!uses_elements(tokens, item, parameter.name) || has_name(body, size)) return false;
  const std::size_t open = tokens[first].is("std") ? first + 3 : first + 1;
  parameter.type = joined(tokens, {open + 1, end - 2});
  parameter.pointers = 1;
  if (substituted(body, {{parameter.name + ".size()", size}}) != body) {
    candidate.sizes.emplace(size, parameter.name);
  }
  return true;
}

/// Returns a function of the host; without parameters if a kernel cannot pass one of them.
Candidate candidate_of(const CppTokens& tokens, const SourceItem& item) {
  Candidate candidate;
  for (const TemplateParameter& parameter : template_parameters(tokens, item)) {
    if (!parameter.is_type()) return {};
    candidate.types.insert(parameter.name);
  }
  const std::size_t close = std::min(closing(tokens, item.list), item.end);
  for (const TokenRange& part : split(tokens, {item.list + 1, close})) {
    auto parameter = kernel_parameter(tokens, part);
    if (!parameter || parameter->name.empty() || parameter->pointers > 1) return {};
    if (!read_vector(tokens, item, part, *parameter, candidate)) return {};
    candidate.parameters.push_back(*parameter);
  }
  for (const auto& [size, vector] : candidate.sizes) {
    KernelParameter& added = candidate.parameters.emplace_back();
    added.name = size;
    added.type = "long";
  }
  // Others could not be deduced from what is passed.
  const bool is_deduced = std::ranges::all_of(candidate.types, [&](const std::string& type) {
    return std::ranges::find(candidate.parameters, type, &KernelParameter::type) !=
           candidate.parameters.end();
  });
  return is_deduced ? candidate : Candidate();
}

/// Replaces vectors by pointers, and their sizes by parameters behind all others.
void replace_vectors(const CppTokens& tokens, const SourceItem& item, const Candidate& candidate,
                     std::map<std::size_t, std::pair<std::size_t, std::string>>& edits) {
  for (std::size_t i = item.list; i < item.body; ++i) {
    const std::size_t end = behind_vector(tokens, i);
    if (end == i) continue;
    const std::size_t open = tokens[i].is("std") ? i + 3 : i + 1;
    edits[tokens[i].begin] = {tokens[end - 1].end(), joined(tokens, {open + 1, end - 2}) + "*"};
    i = end;
  }
  for (const auto& [size, vector] : candidate.sizes) {
    edits[tokens[closing(tokens, item.list)].begin].second += ", long " + size;
    for (std::size_t i = item.body; i + 4 < item.end; ++i) {
      const bool is_size = tokens[i].is(vector) && tokens[i + 1].is(".");
      if (is_size) edits[tokens[i].begin] = {tokens[i + 4].end(), size};
    }
  }
}

/// Makes functions of the host the device's as well, the last one of which is the candidate.
void mark_for_device(std::string& source, const CppTokens& tokens,
                     const std::vector<const SourceItem*>& functions, const Candidate& candidate) {
  std::map<std::size_t, std::pair<std::size_t, std::string>>
      edits;  // Key: place; value: end and new text.
  replace_vectors(tokens, *functions.back(), candidate, edits);
  for (const SourceItem* const item : functions) {
    for (std::size_t i = item->first; i < item->end; ++i) {
      if (is_standard(tokens, i)) edits[tokens[i].begin] = {tokens[i + 2].begin, ""};
    }
    std::size_t first = item->first;
    if (tokens[first].is("template")) first = closing(tokens, first + 1) + 1;
    if (tokens[first].is("extern") && tokens[first + 1].text.starts_with('"')) first += 2;
    edits[tokens[first].begin].second = "__host__ __device__ ";
  }
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {  // From the end: none moves.
    const auto& [end, text] = edit->second;
    source.replace(edit->first, std::max(end, edit->first) - edit->first, text);
  }
}

/// Returns the source with these functions for the device as well, and a kernel that calls the last
/// one.
HostFunction wrapped(const std::string& source, const CppTokens& tokens,
                     const std::vector<const SourceItem*>& needed, const Candidate& candidate,
                     const KernelFunction& kernel, const Matches& matches) {
  const SourceItem& item = *needed.back();
  HostFunction found = {
      .name = item.declares.front(), .kernel_name = {}, .arguments = {}, .source = source};
  found.kernel_name = found.name + "_by_one_thread";
  found.scalars = matches.scalars;
  std::vector<KernelParameter> parameters = kernel.parameters;
  for (HostFunction::Scalar& scalar : found.scalars) {
    while (std::ranges::find(parameters, scalar.parameter.name, &KernelParameter::name) !=
           parameters.end()) {
      scalar.parameter.name += "_of_" + found.name;
    }
    parameters.push_back(scalar.parameter);
  }
  std::vector<KernelParameter> taken;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    if (j == matches.returned || std::ranges::find(matches.numbers, j) != matches.numbers.end()) {
      taken.push_back(parameters[j]);
    }
  }
  for (const KernelParameter& parameter : taken) found.arguments.push_back(parameter.name);
  mark_for_device(found.source, tokens, needed, candidate);
  found.source += text_of(found.kernel_name, found.name, parameters, matches, taken);
  return found;
}

/// The reason for which a function is taken to compute what the kernel does: the host calls it with
/// the same arrays, its name says so, or it computes from all that the kernel reads.
enum class How { called, named, computing };

/// Returns true if a function that takes these arguments is to compute what the kernel does.
bool is_certain(How how, const CppTokens& tokens, const SourceItem& item,
                const Candidate& candidate, const KernelFunction& kernel, const LaunchSite& launch,
                Matches& matches) {
  const bool is_computing = how == How::computing;
  if (!gets_results(matches.numbers, kernel) &&
      (is_computing || !returns_result(tokens, item, kernel, launch, matches))) {
    return false;
  }
  const std::string& name = item.declares.front();
  const bool stores =
      computes(tokens, item, results_of(candidate.parameters, matches.numbers, kernel));
  if (!is_computing && is_for_comparison(name)) {
    return stores || matches.returned != kNone || returned_type(tokens, item) == "void";
  }
  return stores && !is_for_data(name) && (how == How::called || gets_all(matches.numbers, kernel));
}

HostFunctions host_functions(const SourceItems& read) {
  HostFunctions hosts;
  for (const SourceItem& item : read.items) {
    if (item.body == kNoToken || !item.is_host) continue;
    const bool is_plain = item.declares.size() == 1 && item.name_space.empty();
    for (const std::string& name : item.declares) {
      const auto [known, is_new] = hosts.emplace(name, is_plain ? &item : nullptr);
      if (!is_new) known->second = nullptr;
    }
  }
  return hosts;
}

bool has_kernel(const std::string& source, const std::string& name) {
  const CppTokens tokens = cpp_tokens(source);
  return std::ranges::any_of(read_items(tokens).items, [&](const SourceItem& item) {
    return item.is_kernel && item.body != kNoToken && !item.declares.empty() &&
           item.declares.front() == name && item.name_space.empty();
  });
}

}  // namespace

bool is_for_comparison(const std::string& name) {
  static constexpr std::array<std::string_view, 13> kWords = {
      "cpu",        "gold",  "golden", "ref",    "reference", "host",    "serial",
      "sequential", "naive", "seq",    "expect", "expected",  "baseline"};
  return has_word(name, kWords);
}

std::optional<HostFunction> host_function_for(const std::string& source,
                                              const KernelFunction& kernel, const HostPart& host,
                                              const LaunchSite& launch) {
  const bool is_open = std::ranges::any_of(kernel.template_parameters, [&](const auto& type) {
    return type.is_type() && std::ranges::find(kernel.parameters, type.name,
                                               &KernelParameter::type) != kernel.parameters.end();
  });
  if (is_open || kernel.name.find("::") != std::string::npos) return std::nullopt;
  const CppTokens tokens = cpp_tokens(source);
  const SourceItems read = read_items(tokens);
  const HostFunctions hosts = host_functions(read);
  for (const How how : {How::called, How::named, How::computing}) {
    for (const SourceItem& item : read.items) {
      const bool is_function = item.body != kNoToken && item.list != kNoToken && !item.is_kernel &&
                               item.declares.size() == 1 && item.name_space.empty();
      if (!is_function) continue;
      const std::string& name = item.declares.front();
      const bool is_wanted = how == How::called || (how == How::named) == is_for_comparison(name);
      std::vector<const SourceItem*> needed;
      if (!is_wanted || !add_needed(tokens, item, hosts, needed)) continue;
      const Candidate candidate = candidate_of(tokens, item);
      if (candidate.parameters.empty()) continue;
      if (how != How::called && !candidate.sizes.empty()) continue;  // Only a call says them.
      auto matches = how == How::called ? CallMatcher(candidate, kernel, host, launch).matches(name)
                                        : matched(candidate, kernel.parameters);
      if (!matches || !is_certain(how, tokens, item, candidate, kernel, launch, *matches)) continue;
      HostFunction found = wrapped(source, tokens, needed, candidate, kernel, *matches);
      // A brace before it may not close.
      return has_kernel(found.source, found.kernel_name) ? std::optional(std::move(found))
                                                         : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace smemtune
