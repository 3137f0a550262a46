#include "tuner/init/host_function.h"

#include "tuner/core/text.h"
#include "tuner/init/copies.h"
#include "tuner/init/device_function.h"
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

bool has_word(const std::string& name, std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(words_of(name),
                             [&](const std::string& word) { return is_one_of(word, wanted); });
}

/// Returns true if a word of the name says that the function prepares data or shows them.
bool is_for_data(const std::string& name) {
  return has_word(
      name, {"init", "initialize", "fill", "copy", "print", "load", "save", "read", "write", "rand",
             "random", "gen", "swap", "generate", "create", "make", "clear", "reset"});
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
    const bool is_stored = sign == "=" || sign == "+=" || sign == "*=" || sign == "++";
    if (is_stored || tokens[i - 1].is("++")) stored.emplace(tokens[i].text);
  }
  return has_loop && std::ranges::includes(stored, results);
}

/// Returns true if a body never gives an element of an array a value but by adding to it.
bool only_adds(const CppTokens& tokens, const SourceItem& item, const std::string& array) {
  for (std::size_t i = item.body; i + 1 < item.end; ++i) {
    const std::size_t close = tokens[i].is(array) ? closing(tokens, i + 1) : item.end;
    if (!tokens[i].is(array) || close + 1 >= item.end) continue;
    if (!tokens[i + 1].is("[") || tokens[close + 1].is("=")) return false;
  }
  return true;
}

/// Returns true if a body stores one result behind the other, `out[n++] = x`, where a kernel would
/// leave each element in its own place.
bool packs(const CppTokens& tokens, const SourceItem& item, const std::set<std::string>& results) {
  for (std::size_t i = item.body; i + 4 < item.end; ++i) {
    const bool is_result = results.contains(std::string(tokens[i].text)) && tokens[i + 1].is("[");
    if (is_result && tokens[i + 3].is("++") && tokens[i + 4].is("]")) return true;
  }
  return false;
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

/// Returns true if a parameter of the function may stand for the kernel's.
bool takes(const HostSignature& function, const KernelParameter& own,
           const KernelParameter& of_kernel) {
  return own.pointers == of_kernel.pointers &&
         (own.type == of_kernel.type || function.types.contains(own.type));
}

/// Returns true if a call converts the kernel's scalar to the parameter, both of them integers or
/// both floating-point numbers.
bool converts(const HostSignature& function, const KernelParameter& own,
              const KernelParameter& of_kernel) {
  const bool are_scalars = own.pointers == 0 && of_kernel.pointers == 0 &&
                           scalar_bytes_of(own.type) > 0 && scalar_bytes_of(of_kernel.type) > 0;
  return takes(function, own, of_kernel) ||
         (are_scalars && is_floating_name(own.type) == is_floating_name(of_kernel.type));
}

/// Returns true for a parameter that says how often all is repeated, as for a measurement.
bool is_repeat(const KernelParameter& parameter) {
  return parameter.pointers == 0 &&
         holds_any(parameter.name, {"repeat", "iterations", "n_iter", "num_iter"});
}

/// Returns true if each template parameter stands for one type.
bool is_consistent(const HostSignature& function, const std::vector<KernelParameter>& kernel,
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
  /// Variables in constant memory that it is passed instead, by number of its parameter.
  std::map<std::size_t, std::string> constants = {};
};

/// Returns the kernel's parameter for each of the function's: the one of the same name, else the
/// first one of its type that is left.
std::optional<Matches> matched(const HostSignature& candidate,
                               const std::vector<KernelParameter>& kernel) {
  const std::vector<KernelParameter>& function = candidate.parameters;
  std::vector<std::size_t> matches(function.size(), kNone);
  std::vector<bool> used(kernel.size());
  for (std::size_t i = 0; i < function.size(); ++i) {
    for (std::size_t j = 0; j < kernel.size() && matches[i] == kNone; ++j) {
      const bool is_same = bare_name(function[i].name) == bare_name(kernel[j].name);
      if (used[j] || !is_same || !converts(candidate, function[i], kernel[j])) continue;
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
      if (used[j] || !takes(candidate, function[i], kernel[j])) continue;
      matches[i] = j;
      ++theirs;
    }
    if (theirs == 0 || ours != theirs) return std::nullopt;
    used[matches[i]] = true;
  }
  return is_consistent(candidate, kernel, matches) ? std::optional(Matches{matches}) : std::nullopt;
}

/// Finds out by the host's calls which of a launch's arguments a function's parameters stand for.
class CallMatcher {
 public:
  /// `check`: what the function is made from; may be nullptr.
  CallMatcher(const HostSignature& candidate, const KernelFunction& kernel, const HostPart& host,
              const LaunchSite& launch, const HostCheck* check)
      : candidate_(candidate),
        kernel_(kernel.parameters),
        host_(host),
        launch_(launch),
        check_(check),
        arrays_(host, launch),
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
  using Copied = HeldArrays::Copied;

  std::optional<Matches> matches_of(const HostCall& call) const {
    Matches matches;
    for (const KernelParameter& own : candidate_.parameters) {
      const auto passed = candidate_.passed(own, call.passed);
      if (!passed) return std::nullopt;
      const std::string& text = *passed;
      std::size_t number = own.pointers > 0 ? array(own, text, call) : scalar(own, text);
      const bool is_passed = std::ranges::find(matches.numbers, number) != matches.numbers.end();
      const std::string constant = own.pointers > 0 && number == kNone ? constant_of(text) : "";
      if (!constant.empty()) {
        matches.constants[matches.numbers.size()] = constant;
      } else if (own.pointers > 0 && (number == kNone || is_passed)) {
        return std::nullopt;
      } else if (number == kNone && !is_repeat(own)) {
        if (scalar_bytes_of(own.type) == 0) return std::nullopt;
        number = kernel_.size() + matches.scalars.size();
        matches.scalars.push_back({own, text, frame_, sized_by(own, matches.numbers)});
      }
      matches.numbers.push_back(number);
    }
    return matches;
  }

  /// Returns the kernel's parameter that stands for a vector whose size the function is passed;
  /// empty if it is passed anything else. `numbers`: those of the function's first parameters.
  std::string sized_by(const KernelParameter& own, const std::vector<std::size_t>& numbers) const {
    const auto piece = candidate_.pieces.find(own.name);
    if (piece == candidate_.pieces.end() || piece->second.is_member) return "";
    const auto vector =
        std::ranges::find(candidate_.parameters, piece->second.parameter, &KernelParameter::name);
    const auto place = static_cast<std::size_t>(vector - candidate_.parameters.begin());
    const std::size_t number = place < numbers.size() ? numbers[place] : kNone;
    return number < kernel_.size() ? kernel_[number].name : "";
  }

  std::size_t array(const KernelParameter& own, const std::string& text,
                    const HostCall& call) const {
    const auto piece = candidate_.pieces.find(own.name);
    const bool is_member = piece != candidate_.pieces.end() && piece->second.is_member;
    const std::string name = is_member ? text : pointer_in(text);
    const bool is_result = check_ != nullptr && check_->array == own.name;
    const bool is_filled = is_result && check_->is_filled;
    for (std::size_t i = 0; i < kernel_.size() && is_result && !is_filled; ++i) {
      if (holds({name}, i, Copied::from_device) && takes(candidate_, own, kernel_[i])) return i;
    }
    for (std::size_t i = 0; i < kernel_.size() && !is_filled; ++i) {
      if (holds({name, without_blanks(text)}, i, Copied::to_device) &&
          takes(candidate_, own, kernel_[i]))
        return i;
    }
    if (check_ != nullptr && !is_filled) return kNone;
    // Otherwise it is for results: those that the host compares it with, the only ones of its type,
    // or those of its name.
    std::size_t named = kNone;
    std::size_t found = kNone;
    std::size_t count = 0;
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      if (!kernel_[i].may_be_written() || own.is_const || !takes(candidate_, own, kernel_[i]))
        continue;
      if (is_compared(name, i, call.caller)) return i;
      if (bare_name(own.name) == bare_name(kernel_[i].name)) named = i;
      found = i;
      ++count;
    }
    return check_ != nullptr ? kNone : count == 1 ? found : named;
  }

  /// Returns the variable in constant memory that the host copies an array to; empty if there is
  /// none, or if the kernel has a parameter of that name.
  std::string constant_of(const std::string& text) const {
    for (const auto& [constant, copied] : host_.copied_to_constants) {
      const bool is_hidden =
          std::ranges::find(kernel_, constant, &KernelParameter::name) != kernel_.end();
      if (!is_hidden && copied.contains(pointer_in(text))) return constant;
    }
    return "";
  }

  bool holds(const std::set<std::string>& names, std::size_t argument, Copied copied) const {
    return arrays_.holds(names, argument, frame_, copied);
  }

  /// Returns true if the host compares an array with what it has of a kernel's argument.
  bool is_compared(const std::string& array, std::size_t argument,
                   const std::string& function) const {
    const auto pairs = host_.compared_arrays.find(function);
    return pairs != host_.compared_arrays.end() &&
           std::ranges::any_of(pairs->second, [&](const auto& pair) {
             return pair.second == array && holds({pair.first}, argument, Copied::from_device);
           });
  }

  std::size_t scalar(const KernelParameter& own, const std::string& text) const {
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      if (converts(candidate_, own, kernel_[i]) && terms_.passed(i, frame_) == text) return i;
    }
    return kNone;
  }

  const HostSignature& candidate_;
  const std::vector<KernelParameter>& kernel_;
  const HostPart& host_;
  const LaunchSite& launch_;
  const HostCheck* check_;
  HeldArrays arrays_;
  HostTerms terms_;
  std::size_t frame_ = 0;
};

/// Returns true if the function is passed all of these parameters of the kernel, and that they are
/// no fewer than `fewest`.
bool gets(const std::vector<std::size_t>& matches, const KernelFunction& kernel,
          bool (*is_wanted)(const KernelParameter&), std::size_t fewest) {
  std::size_t passed = 0;
  for (std::size_t j = 0; j < kernel.parameters.size(); ++j) {
    if (!is_wanted(kernel.parameters[j])) continue;
    if (std::ranges::find(matches, j) == matches.end()) return false;
    ++passed;
  }
  return passed >= fewest;
}

bool is_pointer(const KernelParameter& parameter) { return parameter.pointers > 0; }

bool is_result(const KernelParameter& parameter) { return parameter.may_be_written(); }

bool is_input(const KernelParameter& parameter) {
  return parameter.pointers > 0 && parameter.access == Access::read;
}

/// Returns true for memory that the kernel is not seen to write.
bool may_be_input(const KernelParameter& parameter) {
  return parameter.pointers > 0 && !parameter.is_written();
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

/// Matches what a function returns with the kernel's only result, of one element. Returns false
/// unless the function is passed all arrays that the kernel reads, and no others.
bool returns_result(const CppTokens& tokens, const SourceItem& item, const KernelFunction& kernel,
                    const LaunchSite& launch, Matches& matches) {
  const std::string_view type = returned_type(tokens, item);
  if (type.empty() || type == "void" || type == "*" || type == "bool") return false;
  bool reads = false;
  for (std::size_t j = 0; j < kernel.parameters.size(); ++j) {
    if (kernel.parameters[j].pointers == 0) continue;
    const bool is_passed = std::ranges::find(matches.numbers, j) != matches.numbers.end();
    if (is_passed == kernel.parameters[j].may_be_written()) return false;
    reads = reads || is_passed;
    if (is_passed) continue;
    if (matches.returned != kNone || !is_single(launch, j)) return false;
    matches.returned = j;
  }
  return reads && matches.returned != kNone;
}

/// Returns the names by which a function stores to what the kernel writes: those of its parameters
/// or of their members.
std::set<std::string> results_of(const HostSignature& function,
                                 const std::vector<std::size_t>& matches,
                                 const KernelFunction& kernel) {
  std::set<std::string> results;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] >= kernel.parameters.size() || !kernel.parameters[matches[i]].may_be_written())
      continue;
    const std::string& name = function.parameters[i].name;
    const auto piece = function.pieces.find(name);
    const bool is_member = piece != function.pieces.end() && piece->second.is_member;
    results.insert(is_member ? piece->second.behind.substr(1) : name);
  }
  return results;
}

/// Returns the token behind the statement that begins at token i.
// NOLINTNEXTLINE(misc-no-recursion): as deep as loops lie in each other.
std::size_t behind_statement(const CppTokens& tokens, std::size_t i) {
  const bool has_head = i + 1 < tokens.size() && tokens[i].is("for", "if");
  if (has_head) return behind_statement(tokens, closing(tokens, i + 1) + 1);
  for (; i < tokens.size() && !tokens[i].is(";"); ++i) {
    if (tokens[i].is("{")) return closing(tokens, i) + 1;
    if (tokens[i].is("(")) i = closing(tokens, i);
  }
  return i + 1;
}

/// Returns the names that bound the loops of a function, those of each loop behind those of the
/// loops around it.
std::vector<std::vector<std::string>> nests_of(const CppTokens& tokens, const SourceItem& item) {
  std::vector<std::vector<std::string>> nests;
  std::vector<std::pair<std::size_t, std::vector<std::string>>> around;  // Ends, and names.
  for (std::size_t i = item.body; i + 1 < item.end; ++i) {
    if (!tokens[i].is("for")) continue;
    while (!around.empty() && around.back().first <= i) around.pop_back();
    auto names = around.empty() ? std::vector<std::string>() : around.back().second;
    const std::size_t close = std::min(closing(tokens, i + 1), item.end);
    std::size_t j = i + 2;
    while (j < close && !tokens[j].is(";")) ++j;
    for (++j; j < close && !tokens[j].is(";"); ++j) {
      if (tokens[j].is_word()) names.emplace_back(tokens[j].text);
    }
    nests.push_back(names);
    around.emplace_back(behind_statement(tokens, i), std::move(names));
  }
  return nests;
}

/// Returns a function with the kernel that passes it the arguments that match its parameters.
HostFunction wrapped(const std::string& source, const CppTokens& tokens,
                     const std::vector<NeededFunction>& needed, const HostSignature& signature,
                     const KernelFunction& kernel, const Matches& matches) {
  const SourceItem& item = *needed.back().item;
  HostFunction found = {
      .name = item.declares.front(), .line = tokens[item.name].line, .scalars = matches.scalars};
  found.kernel_name = found.name + "_by_one_thread";
  std::vector<KernelParameter> parameters = kernel.parameters;
  for (HostFunction::Scalar& scalar : found.scalars) {
    while (std::ranges::find(parameters, scalar.parameter.name, &KernelParameter::name) !=
           parameters.end()) {
      scalar.parameter.name += "_of_" + found.name;
    }
    parameters.push_back(scalar.parameter);
  }
  CallingKernel calling;
  calling.name = found.kernel_name;
  calling.function = found.name;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    if (j == matches.returned || std::ranges::find(matches.numbers, j) != matches.numbers.end()) {
      calling.taken.push_back(parameters[j]);
      found.arguments.push_back(parameters[j].name);
    }
  }
  const auto cast_to = [](const KernelParameter& parameter) {
    const std::string stars(static_cast<std::size_t>(parameter.pointers), '*');
    return stars.empty() ? "" : "(" + parameter.type + stars + ")";
  };
  for (std::size_t i = 0; i < matches.numbers.size(); ++i) {
    const std::size_t number = matches.numbers[i];
    const auto constant = matches.constants.find(i);
    calling.given.push_back(
        constant != matches.constants.end() ? cast_to(signature.parameters[i]) + constant->second
        : number == kNone                   ? "1"
                          : cast_to(parameters[number]) + parameters[number].name);
  }
  for (std::size_t i = 0; i < matches.numbers.size(); ++i) {
    const std::size_t number = matches.numbers[i];
    const bool is_result =
        number < kernel.parameters.size() && kernel.parameters[number].may_be_written();
    if (is_result && only_adds(tokens, item, signature.parameters[i].name)) {
      found.added_to.push_back(parameters[number].name);
    }
  }
  found.nests = nests_of(tokens, item);
  for (std::vector<std::string>& nest : found.nests) {
    for (std::string& name : nest) {
      const auto own = std::ranges::find(signature.parameters, name, &KernelParameter::name);
      if (own != signature.parameters.end()) {
        name = calling.given[static_cast<std::size_t>(own - signature.parameters.begin())];
      }
    }
  }
  if (matches.returned != kNone) calling.result = parameters[matches.returned].name;
  found.source = with_functions_for_device(source, tokens, needed, signature, calling);
  return found;
}

/// The reason for which a function is taken to compute what the kernel does: the host calls it with
/// the same arrays, its name says so, or it computes from all that the kernel reads.
enum class How { called, named, computing };

/// The source and the launch that a function is sought for.
struct Sought {
  const CppTokens& tokens;
  const SourceItems& read;
  const KernelFunction& kernel;
  const HostPart& host;
  const LaunchSite& launch;
  const HostCheck* check = nullptr;  ///< Source of the function.
};

/// Returns true if a check says of each result what the kernel leaves there: that does not depend
/// on what was there before, or the host clears it, and the check goes through all that the kernel
/// stores.
bool says_all(const std::vector<std::size_t>& matches, const Sought& sought) {
  const HostTerms terms(sought.launch, {}, [](const std::string& text) { return text; });
  return std::ranges::all_of(matches, [&](std::size_t number) {
    if (number >= sought.kernel.parameters.size()) return true;
    const KernelParameter& parameter = sought.kernel.parameters[number];
    bool is_cleared = false;
    for (std::size_t frame = 0; frame < sought.launch.frames.size(); ++frame) {
      is_cleared = is_cleared || sought.host.zeroed.contains(terms.passed(number, frame));
    }
    const bool is_known = parameter.access == Access::written || is_cleared;
    const bool is_whole = !sought.check->is_part || parameter.leaves_elements;
    return !parameter.may_be_written() || (is_known && is_whole);
  });
}

/// Returns true if a body stores to the first element of an array, `*c = sum`, of which the launch
/// has more.
bool leaves_others(const CppTokens& tokens, const SourceItem& item, const HostSignature& signature,
                   const std::vector<std::size_t>& matches, const LaunchSite& launch) {
  for (std::size_t i = item.body; i + 3 < item.end; ++i) {
    if (!tokens[i].is("{", ";", "}") || !tokens[i + 1].is("*") || !tokens[i + 3].is("=")) continue;
    const auto own =
        std::ranges::find(signature.parameters, tokens[i + 2].text, &KernelParameter::name);
    const auto place = static_cast<std::size_t>(own - signature.parameters.begin());
    if (place < matches.size() && !is_single(launch, matches[place])) return true;
  }
  return false;
}

/// Returns true if a function that takes these arguments is to compute what the kernel does.
bool is_certain(How how, const Sought& sought, const SourceItem& item,
                const HostSignature& signature, Matches& matches) {
  const auto& [tokens, read, kernel, host, launch, check] = sought;
  const bool is_computing = how == How::computing;
  if (!gets(matches.numbers, kernel, is_input, 0)) return false;
  if (!gets(matches.numbers, kernel, is_result, 1) &&
      (is_computing || !returns_result(tokens, item, kernel, launch, matches))) {
    return false;
  }
  const std::string& name = item.declares.front();
  const std::set<std::string> results = results_of(signature, matches.numbers, kernel);
  if (packs(tokens, item, results)) return false;
  if (leaves_others(tokens, item, signature, matches.numbers, launch)) return false;
  const bool stores = computes(tokens, item, results);
  if (check != nullptr) {
    return stores && gets(matches.numbers, kernel, may_be_input, 0) &&
           says_all(matches.numbers, sought);
  }
  if (!is_computing && is_for_comparison(name)) {
    return stores || matches.returned != kNone || returned_type(tokens, item) == "void";
  }
  return stores && !is_for_data(name) &&
         (how == How::called || gets(matches.numbers, kernel, is_pointer, 2));
}

/// Returns an item if it is a function that computes what the kernel does, for that reason.
std::optional<HostFunction> found_in(const std::string& source, const SourceItem& item, How how,
                                     const Sought& sought) {
  const bool is_function = item.body != kNoToken && item.list != kNoToken && !item.is_kernel &&
                           item.declares.size() == 1 && item.name_space.empty();
  if (!is_function) return std::nullopt;
  const std::string& name = item.declares.front();
  if (how != How::called && (how == How::named) != is_for_comparison(name)) return std::nullopt;
  const HostSignature signature = host_signature(sought.tokens, sought.read, item);
  if (signature.parameters.empty()) return std::nullopt;
  if (how != How::called && !signature.pieces.empty())
    return std::nullopt;  // Only a call shows what is passed for them.
  auto matches = how == How::called ? CallMatcher(signature, sought.kernel, sought.host,
                                                  sought.launch, sought.check)
                                          .matches(name)
                                    : matched(signature, sought.kernel.parameters);
  if (!matches || !is_certain(how, sought, item, signature, *matches)) return std::nullopt;
  const auto needed = needed_by(sought.tokens, sought.read, item);
  if (needed.empty()) return std::nullopt;
  return wrapped(source, sought.tokens, needed, signature, sought.kernel, *matches);
}

/// Returns what a check expects as a function; nullopt if that is not what the launch computes.
std::optional<HostFunction> found_in(const std::string& source, const HostCheck& check,
                                     const Sought& sought) {
  const std::string with_check = source + "\n" + check.text + "\n";
  const CppTokens tokens = cpp_tokens(with_check);
  const SourceItems read = read_items(tokens);
  const auto item = std::ranges::find_if(read.items, [&](const SourceItem& one) {
    return one.body != kNoToken && one.declares == std::vector{check.name};
  });
  if (item == read.items.end()) return std::nullopt;
  auto found = found_in(with_check, *item, How::called,
                        {tokens, read, sought.kernel, sought.host, sought.launch, &check});
  if (!found) return std::nullopt;
  found->name = check.function;
  found->line = check.line;
  found->is_check = true;
  return found;
}

/// Returns true if the function that launches also launches a kernel of other arguments before that
/// line, which is passed one of the results.
bool is_changed_before(std::size_t line, const Sought& sought) {
  const LaunchSite& launch = sought.launch;
  return std::ranges::any_of(sought.host.launches, [&](const LaunchSite& other) {
    const bool is_between = !other.frames.empty() && other.line > launch.line &&
                            other.frames.front().function == launch.frames.front().function &&
                            other.line < line && other.arguments != launch.arguments;
    for (std::size_t i = 0; i < launch.arguments.size() && is_between; ++i) {
      const bool is_result =
          i < sought.kernel.parameters.size() && sought.kernel.parameters[i].may_be_written();
      const auto same = std::ranges::find(other.arguments, launch.arguments[i]);
      if (is_result && same != other.arguments.end()) return true;
    }
    return false;
  });
}

/// Returns the checks that may be of a launch, the nearest behind it first.
std::vector<const HostCheck*> checks_of(const Sought& sought) {
  const HostPart& host = sought.host;
  const LaunchSite& launch = sought.launch;
  std::multimap<std::pair<bool, std::size_t>, const HostCheck*> ordered;
  for (const HostCheck& check : host.checks) {
    for (const HostCall& call : host.calls) {
      const auto frame = std::ranges::find(launch.frames, call.caller, &HostFrame::function);
      const bool is_its = call.callee == check.name && !check.text.empty();
      if (!is_its || frame == launch.frames.end()) continue;
      const bool is_here = frame == launch.frames.begin();
      if (is_here && is_changed_before(call.line, sought)) continue;
      const bool is_before = call.line < frame->line;
      ordered.emplace(std::pair(is_before, is_before ? 0 : call.line - frame->line), &check);
    }
  }
  std::vector<const HostCheck*> checks;
  for (const auto& [place, check] : ordered) checks.push_back(check);
  return checks;
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
  return has_word(name, {"cpu", "gold", "golden", "ref", "reference", "host", "serial",
                         "sequential", "naive", "seq", "expect", "expected", "baseline"});
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
  const Sought sought = {tokens, read, kernel, host, launch};
  std::optional<HostFunction> found;
  const auto look = [&](How how) {
    for (const SourceItem& item : read.items) {
      if (!found) found = found_in(source, item, how, sought);
    }
  };
  look(How::called);
  for (const HostCheck* const check : checks_of(sought)) {
    if (!found) found = found_in(source, *check, sought);
  }
  look(How::named);
  look(How::computing);
  // A brace that is not closed may hide the kernel that was added.
  return found && has_kernel(found->source, found->kernel_name) ? std::move(found) : std::nullopt;
}

}  // namespace smemtune
