#include "tuner/source/host_code.h"

#include "tuner/source/kernel_function.h"

#include <algorithm>
#include <array>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kMostVariables = 100;
constexpr std::size_t kLongestStatement = 1000;  // In tokens.

bool changes(const CppToken& token) {
  static constexpr std::array<std::string_view, 10> kChanges = {
      "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"};
  return std::ranges::find(kChanges, token.text) != kChanges.end();
}

}  // namespace

HostCode::HostCode(const CppTokens& tokens, const std::vector<SourceItem>& items)
    : tokens_(tokens) {
  for (const SourceItem& item : items) {
    if (item.body == kNoToken) continue;
    functions_.push_back(&item);
    if (!item.declares.empty()) by_name_.emplace(item.declares.front(), &item);
  }
  for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
    if (!tokens_[i].is_word() || tokens_[i - 1].is(".") || tokens_[i - 1].is("->")) continue;
    read_assignment(i);
    read_member(i);
    read_container(i);
    read_array(i);
    if (tokens_[i + 1].is("<") && by_name_.contains(tokens_[i].text)) {
      const std::size_t angle = closing(tokens_, i + 1);
      if (angle + 1 < tokens_.size() && tokens_[angle + 1].is("(")) {
        calls_[tokens_[i].text].push_back({.name = i, .open = angle + 1});
      }
    }
    if (!tokens_[i + 1].is("(") && !tokens_[i + 1].is("{")) continue;
    const std::size_t close = closing(tokens_, i + 1);
    if (close >= tokens_.size()) continue;
    if ((tokens_[i - 1].is("dim3") || tokens_[i - 1].is(",")) && declares_dim3(i)) {
      dim3s_[tokens_[i].text].push_back(i);
    }
    if (!tokens_[i + 1].is("(")) continue;
    if (tokens_[i].is("assert")) asserted_.push_back({i + 2, close});
    calls_[tokens_[i].text].push_back({.name = i, .open = i + 1});
    read_allocation(i);
  }
  use_allocators();
  // The bytes of a copy show how large memory is that was allocated out of sight; the host's own
  // memory shows how large memory is that the host may pass as it is.
  allocated_.insert(copied_.begin(), copied_.end());
  allocated_.insert(of_host_.begin(), of_host_.end());
}

/// Reads `cudaMalloc(&a, bytes)`, `cudaMallocPitch(&a, &pitch, width, height)`,
/// `cudaMemcpy(a, b, bytes)`.
void HostCode::read_allocation(std::size_t call) {
  const std::string_view name = tokens_[call].text;
  const bool copies = name == "cudaMemcpy" || name == "cudaMemcpyAsync" || name == "cudaMemset";
  if (!copies && !name.starts_with("cudaMalloc")) return;
  const std::vector<TokenRange> parts = split(tokens_, {call + 2, closing(tokens_, call + 1)});
  const auto pointer = [&](TokenRange part) -> std::string {
    if (!part.empty() && tokens_[part.end - 1].is("]")) {  // `&a[0]`
      part.end = std::max(part.first, opening(tokens_, part.end - 1));
      if (part.end >= tokens_.size()) return "";
    }
    const bool is_name = !part.empty() && tokens_[part.end - 1].is_word();
    return is_name ? std::string(tokens_[part.end - 1].text) : "";
  };
  if (copies && parts.size() > 2) {
    const std::string bytes = joined(tokens_, parts[2]);
    copied_.emplace(pointer(parts[0]), bytes);
    if (name != "cudaMemset") copied_.emplace(pointer(parts[1]), bytes);
  } else if (name == "cudaMallocPitch" && parts.size() > 3) {
    allocated_.emplace(pointer(parts[0]),
                       "(" + joined(tokens_, parts[2]) + ") * (" + joined(tokens_, parts[3]) + ")");
  } else if (!copies && parts.size() > 1) {
    read_allocator(call, pointer(parts[0]), parts[1]);
    if (function_at(call) == nullptr) of_classes_.insert(pointer(parts[0]));
    allocated_.emplace(pointer(parts[0]), joined(tokens_, parts[1]));
  }
}

/// Reads `malloc(bytes)`, `calloc(n, size)`, `new T[n]` in the value of the name at token i.
void HostCode::read_host_allocation(std::size_t i, TokenRange value) {
  for (std::size_t j = value.first; j + 1 < value.end; ++j) {
    const bool is_call =
        tokens_[j + 1].is("(") && (tokens_[j].is("malloc") || tokens_[j].is("calloc"));
    const std::size_t close = is_call ? closing(tokens_, j + 1) : kNoToken;
    const std::vector<TokenRange> parts =
        is_call && close < value.end ? split(tokens_, {j + 2, close}) : std::vector<TokenRange>();
    if (tokens_[j].is("malloc") && parts.size() == 1) {
      of_host_.emplace(tokens_[i].text, joined(tokens_, parts[0]));
    } else if (tokens_[j].is("calloc") && parts.size() == 2) {
      of_host_.emplace(tokens_[i].text,
                       "(" + joined(tokens_, parts[0]) + ") * " + joined(tokens_, parts[1]));
    } else if (tokens_[j].is("new")) {
      std::size_t open = j + 1;
      while (open < value.end && (tokens_[open].is_word() || tokens_[open].is("::"))) ++open;
      const std::size_t end =
          open < value.end && tokens_[open].is("[") ? closing(tokens_, open) : kNoToken;
      if (end >= value.end) return;
      of_host_.emplace(tokens_[i].text, "(" + joined(tokens_, {open + 1, end}) + ") * sizeof(" +
                                            joined(tokens_, {j + 1, open}) + ")");
    }
  }
}

/// Reads `T name[n]`, the name being token i, for the value of `sizeof(name)`.
void HostCode::read_array(std::size_t i) {
  const bool is_declared = tokens_[i + 1].is("[") && tokens_[i - 1].is_word() &&
                           !tokens_[i - 1].is("return") && !tokens_[i - 1].is("new");
  const std::string name(tokens_[i].text);
  if (!is_declared || measured_.contains(name)) return;
  std::string bytes;
  std::size_t j = i + 1;
  while (j < tokens_.size() && tokens_[j].is("[")) {
    const std::size_t close = closing(tokens_, j);
    if (close >= tokens_.size() || close == j + 1 || close - i > kLongestStatement) return;
    bytes += "(" + joined(tokens_, {j + 1, close}) + ") * ";
    j = close + 1;
  }
  bytes += "sizeof(" + std::string(tokens_[i - 1].text) + ")";
  measured_.emplace(name, std::pair("sizeof(" + name + ")", bytes));
  of_host_.emplace(name, bytes);
}

/// Reads `std::vector<T> a(n)`, `thrust::device_vector<T> a(n)` or `a.resize(n)`, the name being
/// token i.
void HostCode::read_container(std::size_t i) {
  const bool resizes = i + 4 < tokens_.size() && tokens_[i + 1].is(".") &&
                       tokens_[i + 2].is("resize") && tokens_[i + 3].is("(");
  const std::size_t open = resizes ? i + 3 : i + 1;
  if (!tokens_[open].is("(") && !tokens_[open].is("{")) return;
  const std::size_t close = closing(tokens_, open);
  if (close >= tokens_.size()) return;
  const std::vector<TokenRange> parts = split(tokens_, {open + 1, close});
  if (parts.empty() || parts[0].empty()) return;
  const std::string name(tokens_[i].text);
  const std::string count = joined(tokens_, parts[0]);
  if (resizes) {
    measured_.emplace(name, std::pair(name + ".size()", count));
    return;
  }
  if (i < 4 || !tokens_[i - 1].is(">")) return;
  const std::size_t less = opening_angle(tokens_, i - 1, 1);
  if (less == kNoToken || !tokens_[less - 1].text.ends_with("vector")) return;
  const bool is_of_device = tokens_[less - 1].is("device_vector");
  if (tokens_[open].is("{") && !is_of_device) return;  // A list of elements.
  measured_.emplace(name, std::pair(name + ".size()", count));
  (is_of_device ? allocated_ : of_host_)
      .emplace(name, "(" + count + ") * sizeof(" + joined(tokens_, {less + 1, i - 1}) + ")");
}

/// Reads a call that allocates for `pointer`, in a function that was passed the pointer by its
/// caller or returns it.
void HostCode::read_allocator(std::size_t call, const std::string& pointer, TokenRange bytes) {
  const SourceItem* const function = function_at(call);
  if (function == nullptr || function->declares.empty() || pointer.empty()) return;
  constexpr std::size_t kMost = 200;
  if (allocators_.size() == kMost) return;
  if (bytes.end == bytes.first + 1) {
    const Assignment* const made_of = last_assignment(tokens_[bytes.first].text, call);
    if (made_of != nullptr && !made_of->value.empty()) bytes = made_of->value;
  }
  const std::vector<std::string> names = parameters_of(*function);
  if (const auto own = std::ranges::find(names, pointer); own != names.end()) {
    allocators_.push_back({.function = function,
                           .parameter = static_cast<std::size_t>(own - names.begin()),
                           .bytes = bytes});
    return;
  }
  for (std::size_t i = call; i + 2 < function->end; ++i) {
    const bool returns =
        tokens_[i].is("return") && tokens_[i + 1].is(pointer) && tokens_[i + 2].is(";");
    if (returns) {
      allocators_.push_back({.function = function, .parameter = std::nullopt, .bytes = bytes});
    }
  }
}

/// Adds the allocations that callers of such functions make.
void HostCode::use_allocators() {
  constexpr std::size_t kMost = 2000;
  std::size_t uses = 0;
  for (const Allocator& allocator : allocators_) {
    const SourceItem& function = *allocator.function;
    const auto calls = calls_.find(function.declares.front());
    if (calls == calls_.end()) continue;
    for (const Call& call : calls->second) {
      if (call.name > function.first && call.name < function.end) continue;
      if (++uses > kMost) return;
      std::string pointer = assigned_before(call.name);
      if (allocator.parameter) {
        const std::vector<std::string> given = given_to(call);
        if (*allocator.parameter >= given.size()) continue;
        const std::vector<std::string_view> names = identifiers(given[*allocator.parameter]);
        pointer = names.empty() ? "" : names.back();
      }
      if (pointer.empty()) continue;
      const std::map<std::string, std::string> passed = passed_by(call, function);
      std::string bytes;
      for (std::size_t i = allocator.bytes.first; i < allocator.bytes.end; ++i) {
        const auto known = passed.find(std::string(tokens_[i].text));
        const bool is_type = i > 1 && tokens_[i - 1].is("(") && tokens_[i - 2].is("sizeof");
        const std::string text =
            known == passed.end() ? std::string(tokens_[i].text) : known->second;
        bytes += known == passed.end() || is_type ? text : "(" + text + ")";
        bytes += ' ';
      }
      allocated_.emplace(pointer, bytes);
    }
  }
}

std::vector<std::string> HostCode::given_to(const Call& call) const {
  return texts(tokens_, split(tokens_, {call.open + 1, closing(tokens_, call.open)}));
}

/// Returns the values of a function's parameters in a call, including those of a template.
std::map<std::string, std::string> HostCode::passed_by(const Call& call,
                                                       const SourceItem& function) const {
  std::map<std::string, std::string> passed;
  const std::vector<std::string> names = parameters_of(function);
  const std::vector<std::string> given = given_to(call);
  for (std::size_t i = 0; i < std::min(names.size(), given.size()); ++i) {
    passed.emplace(names[i], given[i]);
  }
  if (call.open < call.name + 3 || !tokens_[function.first].is("template")) return passed;
  const std::vector<TokenRange> arguments = split(tokens_, {call.name + 2, call.open - 1});
  const std::vector<TokenRange> parameters =
      split(tokens_, {function.first + 2, closing(tokens_, function.first + 1)});
  for (std::size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i) {
    if (parameters[i].empty()) continue;
    passed.emplace(tokens_[parameters[i].end - 1].text, joined(tokens_, arguments[i]));
  }
  return passed;
}

/// Returns the name in `NAME = ` before token i, which a cast may follow; empty if there is none.
std::string HostCode::assigned_before(std::size_t i) const {
  if (i > 0 && tokens_[i - 1].is(")")) {
    const std::size_t open = opening(tokens_, i - 1);
    if (open != kNoToken) i = open;
  }
  const bool is_assigned = i > 1 && tokens_[i - 1].is("=") && tokens_[i - 2].is_word();
  return is_assigned ? std::string(tokens_[i - 2].text) : "";
}

/// Returns the parenthesis or brace of the list that token i stands in, or kNoToken. Sets `number`
/// to the number of elements before it.
std::size_t HostCode::list_around(std::size_t i, std::size_t& number) const {
  number = 0;
  std::size_t open = i;
  constexpr std::size_t kMost = 300;
  while (open > 0 && i - open < kMost) {
    const CppToken& token = tokens_[--open];
    if (token.is("(") || token.is("{")) return open;
    if (token.is(";") || token.is("}")) return kNoToken;
    if (token.is(",")) ++number;
    if (token.is(")") || token.is("]")) {
      open = opening(tokens_, open);
      if (open == kNoToken) return kNoToken;
    }
  }
  return kNoToken;
}

/// Returns the last value that f assigns in `f(&name)`, the name being token i:
/// `*parameter = value;`. Empty if that is not seen.
TokenRange HostCode::given_by_function(std::size_t i) {
  std::size_t number = 0;
  const std::size_t open = list_around(i, number);
  if (open == kNoToken || open == 0 || !tokens_[open].is("(")) return {};
  const auto called = by_name_.find(tokens_[open - 1].text);
  if (called == by_name_.end()) return {};
  const SourceItem& function = *called->second;
  const auto [known, is_new] = given_.try_emplace({&function, number});
  if (!is_new) return known->second;
  const std::vector<std::string> names = parameters_of(function);
  if (number >= names.size() || names[number].empty()) return {};
  for (std::size_t j = function.body + 1; j + 2 < function.end; ++j) {
    const bool assigns = tokens_[j - 1].is("*") && tokens_[j].is(names[number]) &&
                         tokens_[j + 1].is("=") && !tokens_[j - 2].is_word();
    if (assigns) known->second = value_behind(j + 1);
  }
  return known->second;
}

/// Returns true if token i stands in `{&a, &b}`, as passed to cudaLaunchKernel().
bool HostCode::is_listed(std::size_t i) const {
  std::size_t number = 0;
  const std::size_t open = list_around(i, number);
  return open != kNoToken && tokens_[open].is("{");
}

/// Reads an assignment to the name at token i.
void HostCode::read_assignment(std::size_t i) {
  const CppToken& next = tokens_[i + 1];
  // A function may change a variable whose address it is passed.
  const bool is_handed_over =
      i > 1 && tokens_[i - 1].is("&") && (tokens_[i - 2].is("(") || tokens_[i - 2].is(","));
  if (next.is("=")) {
    TokenRange value = value_behind(i + 1);
    while (value.first + 2 < value.end && tokens_[value.first].is_word() &&
           tokens_[value.first + 1].is("=")) {
      value.first += 2;  // `a = b = 2`
    }
    read_host_allocation(i, value);
    assignments_[tokens_[i].text].push_back({.name = i, .value = value});
  } else if (is_handed_over && !next.is("[") && !is_listed(i)) {
    assignments_[tokens_[i].text].push_back({.name = i, .value = given_by_function(i)});
  } else if (changes(next) || changes(tokens_[i - 1])) {
    assignments_[tokens_[i].text].push_back({.name = i, .value = {}});
  } else if (next.is("[")) {
    const std::size_t close = closing(tokens_, i + 1);
    if (close + 2 >= tokens_.size() || !tokens_[close + 1].is("=") || !tokens_[close + 2].is("{")) {
      return;
    }
    const std::size_t end = closing(tokens_, close + 2);
    assignments_[tokens_[i].text].push_back(
        {.name = i, .value = {close + 3, std::min(end, tokens_.size())}, .is_array = true});
  }
}

/// Reads `NAME.x = value`, the name being token i.
void HostCode::read_member(std::size_t i) {
  if (i + 3 >= tokens_.size() || !tokens_[i + 1].is(".") || !tokens_[i + 3].is("=")) return;
  const CppToken& axis = tokens_[i + 2];
  if (!axis.is("x") && !axis.is("y") && !axis.is("z")) return;
  members_[tokens_[i].text].push_back({.name = i, .value = value_behind(i + 3)});
}

/// Returns the dimensions of a dim3, as far as each was assigned before a token.
std::vector<std::string> HostCode::members_of(std::string_view name, std::size_t before) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return {};
  std::vector<std::string> extents;
  constexpr std::ptrdiff_t kMost = 100;
  const auto end = std::ranges::lower_bound(found->second, before, {}, &Assignment::name);
  const auto first = end - std::min(kMost, end - found->second.begin());
  for (const std::string_view axis : {"x", "y", "z"}) {
    const Assignment* last = nullptr;
    for (auto one = first; one != end; ++one) {
      const bool belongs = function_at(one->name) == function_at(before);
      if (belongs && tokens_[one->name + 2].is(axis)) last = &*one;
    }
    if (last == nullptr || last->value.empty()) break;
    extents.push_back(joined(tokens_, last->value));
  }
  return extents;
}

TokenRange HostCode::assigned_to_member(std::string_view name, std::string_view member,
                                        std::size_t before) const {
  const SourceItem* const function = function_at(before);
  const std::size_t first = function == nullptr ? 0 : function->first;
  for (std::size_t i = before; i-- > first + 4;) {
    const bool assigns = tokens_[i].is("=") && tokens_[i - 1].is(member) &&
                         tokens_[i - 2].is(".") && tokens_[i - 3].is(name);
    if (assigns) return value_behind(i);
  }
  return {};
}

/// Returns the tokens up to the comma or semicolon that ends the value; empty if there are too
/// many.
TokenRange HostCode::value_behind(std::size_t equals) const {
  for (std::size_t i = equals + 1; i < std::min(tokens_.size(), equals + kLongestStatement); ++i) {
    if (tokens_[i].is(";") || tokens_[i].is(",") || tokens_[i].is(")")) return {equals + 1, i};
    if (tokens_[i].is("(") || tokens_[i].is("{") || tokens_[i].is("[")) i = closing(tokens_, i);
  }
  return {};
}

const SourceItem* HostCode::function_at(std::size_t i) const {
  const auto next = std::ranges::upper_bound(functions_, i, {}, &SourceItem::first);
  if (next == functions_.begin() || i >= (*std::prev(next))->end) return nullptr;
  return *std::prev(next);
}

/// Looks in the same function first, then outside of all functions.
const HostCode::Assignment* HostCode::last_assignment(std::string_view name,
                                                      std::size_t before) const {
  const auto found = assignments_.find(name);
  if (found == assignments_.end()) return nullptr;
  const std::vector<Assignment>& all = found->second;
  const SourceItem* const function = function_at(before);
  const auto next = std::ranges::lower_bound(all, before, {}, &Assignment::name);
  const auto belongs = [&](const Assignment& one) { return function_at(one.name) == function; };
  if (next != all.begin() && belongs(*std::prev(next))) return &*std::prev(next);
  // A variable that a function changes no longer has its initial value.
  constexpr std::size_t kMost = 100;
  const Assignment* global = nullptr;
  for (std::size_t i = 0; i < std::min(kMost, all.size()); ++i) {
    if (function_at(all[i].name) != nullptr) continue;
    if (global == nullptr) global = &all[i];
  }
  const bool is_const = global != nullptr && is_constant(*global);
  return is_const || (global != nullptr && all.size() == 1) ? global : nullptr;
}

bool HostCode::is_constant(const Assignment& global) const {
  for (std::size_t i = global.name; i-- > 0 && !tokens_[i].is(";") && !tokens_[i].is("}");) {
    if (tokens_[i].is("const") || tokens_[i].is("constexpr")) return true;
  }
  return false;
}

std::vector<std::string> HostCode::listed_in(std::string_view array, std::size_t before) const {
  const Assignment* const list = last_assignment(array, before);
  if (list == nullptr || !list->is_array) return {};
  return texts(tokens_, split(tokens_, list->value));
}

void HostCode::add_variables(const std::string& text, std::size_t before, HostFrame& frame) const {
  for (const std::string_view word : identifiers(text)) {
    if (frame.variables.size() >= kMostVariables) return;
    if (frame.variables.contains(std::string(word))) continue;
    const auto bytes = allocated_.find(std::string(word));
    // Allocations of a class go by the names of its members, which mean nothing outside of it.
    const bool is_members =
        of_classes_.contains(std::string(word)) && function_at(before) != nullptr;
    if (bytes != allocated_.end() && !is_members) {
      const bool is_new = frame.allocated.emplace(*bytes).second;
      if (is_new) add_variables(bytes->second, before, frame);
    }
    if (const auto known = measured_.find(std::string(word)); known != measured_.end()) {
      const bool is_new = frame.variables.insert(known->second).second;
      if (is_new) add_variables(known->second.second, before, frame);
    }
    const Assignment* const last = last_assignment(word, before);
    const bool is_elsewhere = last == nullptr && assignments_.contains(word);
    if (is_elsewhere || (last != nullptr && last->value.empty())) frame.changed.emplace(word);
    if (last == nullptr || last->value.empty()) continue;
    if (last->is_array) {
      const std::vector<std::string> elements = texts(tokens_, split(tokens_, last->value));
      constexpr std::size_t kMostElements = 4;
      for (std::size_t i = 0; i < std::min(elements.size(), kMostElements); ++i) {
        frame.variables.emplace(std::string(word) + "[" + std::to_string(i) + "]", elements[i]);
        add_variables(elements[i], last->name, frame);
      }
      continue;
    }
    const std::string value = joined(tokens_, last->value);
    // A variable that begins with 0 mostly gets its value from a function that takes it by
    // reference.
    if (value == "0" && !is_constant(*last)) continue;
    frame.variables.emplace(word, value);
    const bool is_element = last->value.end > last->value.first + 2 &&
                            tokens_[last->value.first].is_word() &&
                            tokens_[last->value.first + 1].is("[");
    if (is_element) {
      const auto list = listed_in(tokens_[last->value.first].text, last->name);
      if (!list.empty()) frame.choices.emplace(word, list);
    }
    add_variables(value, last->name, frame);
  }
}

std::vector<std::string> HostCode::parameters_of(const SourceItem& function) const {
  const std::size_t close = std::min(closing(tokens_, function.list), function.end);
  std::vector<std::string> names;
  for (const TokenRange& part : split(tokens_, {function.list + 1, close})) {
    const auto parameter = kernel_parameter(tokens_, part);
    names.push_back(parameter ? parameter->name : "");
  }
  return names;
}

/// Returns the first call of a function from another one; nullptr if there is none.
const HostCode::Call* HostCode::call_of(const SourceItem& function) const {
  if (function.declares.empty()) return nullptr;
  const auto found = calls_.find(function.declares.front());
  if (found == calls_.end()) return nullptr;
  for (const Call& call : found->second) {
    const SourceItem* const caller = function_at(call.name);
    if (caller != nullptr && caller != &function && call.name > caller->body) return &call;
  }
  return nullptr;
}

std::vector<HostFrame> HostCode::frames(std::size_t at,
                                        const std::vector<std::string>& used) const {
  constexpr std::size_t kMost = 4;
  std::vector<HostFrame> frames;
  std::vector<std::string> texts_here = used;
  std::map<std::string, std::string> passed;
  for (std::size_t place = at; frames.size() < kMost;) {
    HostFrame frame;
    frame.line = tokens_[place].line;
    frame.parameters = std::move(passed);
    for (const std::string& text : texts_here) add_variables(text, place, frame);
    const SourceItem* const function = function_at(place);
    if (function != nullptr && !function->declares.empty()) {
      frame.function = function->declares.front();
    }
    frames.push_back(std::move(frame));
    const Call* const call = function == nullptr ? nullptr : call_of(*function);
    if (call == nullptr) break;
    texts_here = given_to(*call);
    passed = passed_by(*call, *function);
    place = call->name;
  }
  return frames;
}

std::vector<std::string> HostCode::asserted(std::size_t end) const {
  constexpr std::ptrdiff_t kMost = 20;
  const SourceItem* const function = function_at(end);
  if (function == nullptr) return {};
  const auto next = std::ranges::lower_bound(asserted_, end, {}, &TokenRange::first);
  auto first = std::ranges::lower_bound(asserted_, function->body, {}, &TokenRange::first);
  if (next - first > kMost) first = next - kMost;
  return first < next ? texts(tokens_, {first, next}) : std::vector<std::string>();
}

/// Returns true if the statement that holds token i declares variables of type dim3.
bool HostCode::declares_dim3(std::size_t i) const {
  for (std::size_t steps = 0; i > 0 && steps < kLongestStatement; --i, ++steps) {
    const CppToken& before = tokens_[i - 1];
    if (before.is(";") || before.is("{") || before.is("}")) break;
    if (before.is(")")) {
      const std::size_t open = opening(tokens_, i - 1);
      if (open == kNoToken || open == 0) return false;
      i = open + 1;
    }
  }
  if (tokens_[i].is("const") && i + 1 < tokens_.size()) ++i;
  return tokens_[i].is("dim3");
}

std::vector<std::string> HostCode::dimensions(TokenRange range, std::size_t before,
                                              int depth) const {
  constexpr int kMaxDepth = 4;
  if (range.empty()) return {};
  const CppToken& first = tokens_[range.first];
  const auto in_brackets = [&](std::size_t open) {
    return texts(tokens_, split(tokens_, {open + 1, closing(tokens_, open)}));
  };
  if (first.is("dim3") && range.first + 1 < range.end &&
      (tokens_[range.first + 1].is("(") || tokens_[range.first + 1].is("{"))) {
    const bool is_copy =
        range.end == range.first + 4 && depth < kMaxDepth && tokens_[range.first + 2].is_word();
    if (is_copy) return dimensions({range.first + 2, range.first + 3}, before, depth + 1);
    return in_brackets(range.first + 1);
  }
  const bool is_name = range.end == range.first + 1 && first.is_word();
  if (!is_name || depth >= kMaxDepth) return {joined(tokens_, range)};
  if (const auto members = members_of(first.text, before); !members.empty()) return members;
  const auto declared = dim3s_.find(first.text);
  std::size_t last = 0;  // The last `dim3 NAME(` before, in the same function.
  if (declared != dim3s_.end()) {
    const auto next = std::ranges::lower_bound(declared->second, before);
    if (next != declared->second.begin()) last = *std::prev(next);
    if (last != 0 && function_at(last) != function_at(before)) last = 0;
  }
  const Assignment* const assigned = last_assignment(first.text, before);
  if (assigned != nullptr && assigned->name > last && !assigned->value.empty() &&
      function_at(assigned->name) == function_at(before)) {
    return dimensions(assigned->value, assigned->name, depth + 1);
  }
  if (last != 0) return in_brackets(last + 1);
  return {std::string(first.text)};
}

}  // namespace smemtune
