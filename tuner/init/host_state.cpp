#include "tuner/init/host_state.h"

#include "tuner/init/host_terms.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <utility>

namespace smemtune {
namespace {

constexpr int kMostVersions = 8;
constexpr int kMostLinks = 6;

bool any_names(const std::vector<std::string>& texts, const std::string& name) {
  return std::ranges::any_of(texts, [&](const std::string& text) { return has_name(text, name); });
}

/// Removes what differs from the other map.
template <typename Map>
void keep_common(Map& one, const Map& other) {
  std::erase_if(one, [&](const auto& entry) {
    const auto same = other.find(entry.first);
    return same == other.end() || same->second != entry.second;
  });
}

}  // namespace

bool HostState::mentions(const std::string& name) const {
  const auto in_texts = [&](const auto& entry) { return has_name(entry.second, name); };
  const auto in_lists = [&](const auto& entry) { return any_names(entry.second, name); };
  return std::ranges::any_of(variables_, in_texts) || std::ranges::any_of(allocated_, in_texts) ||
         std::ranges::any_of(shapes_, in_lists) || std::ranges::any_of(lists_, in_lists);
}

void HostState::rename(const std::string& name, const std::string& former) {
  const auto change = [&](std::string& text) {
    if (has_name(text, name)) text = substituted(text, {{name, former}});
  };
  for (auto& [key, text] : variables_) change(text);
  for (auto& [key, text] : allocated_) change(text);
  for (auto* const lists : {&shapes_, &lists_}) {
    for (auto& [key, all] : *lists) std::ranges::for_each(all, change);
  }
}

void HostState::assign(const std::string& name, std::optional<std::string> value,
                       std::size_t line) {
  const bool is_made_of_itself = value && has_name(*value, name);
  if (is_made_of_itself || mentions(name)) {
    if (versions_[name] >= kMostVersions) {
      const auto is_of_it = [&](const auto& entry) { return has_name(entry.second, name); };
      std::erase_if(variables_, is_of_it);
      if (is_made_of_itself) value.reset();
    } else {
      const std::string former = keep_former(name);
      if (value) value = substituted(*value, {{name, former}});
    }
  }
  shapes_.erase(name);
  choices_.erase(name);
  variables_.erase(name);
  changed_.erase(name);
  if (!value) {
    changed_.emplace(name, line);
    return;
  }
  variables_[name] = *value;
  const CppTokens tokens = cpp_tokens(*value);
  const bool is_element = tokens.size() > 3 && tokens[0].is_word() && tokens[1].is("[");
  if (!is_element) return;
  if (const auto elements = list(std::string(tokens[0].text)); !elements.empty()) {
    choices_[name] = elements;
  }
}

std::string HostState::keep_former(const std::string& name) {
  const std::optional<std::string> before = value(name);
  const std::string former = name + "__" + std::to_string(++versions_[name]);
  if (before) variables_[former] = *before;
  if (changed_.contains(name)) changed_.emplace(former, changed_[name]);
  former_[former] = name;
  rename(name, former);
  return former;
}

void HostState::make_counter(const std::string& name) {
  assign(name, std::nullopt);
  changed_.erase(name);
}

void HostState::set_extent(const std::string& name, std::size_t axis, const std::string& value) {
  std::vector<std::string>& extents = shapes_[name];
  while (extents.size() <= axis) extents.emplace_back("1");
  extents[axis] = value;
}

void HostState::set_list(const std::string& name, std::vector<std::string> elements) {
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(kMost, elements.size()); ++i) {
    variables_[name + "[" + std::to_string(i) + "]"] = elements[i];
  }
  lists_[name] = std::move(elements);
}

std::vector<std::string> HostState::list(const std::string& name) const {
  const auto found = lists_.find(name);
  return found == lists_.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::string> HostState::value(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> HostState::extents(const std::string& text, int depth) const {
  if (depth == kMostLinks) return {text};
  if (const auto shape = shapes_.find(text); shape != shapes_.end()) return shape->second;
  const CppTokens tokens = cpp_tokens(text);
  if (tokens.empty()) return {};
  const bool is_element = tokens.size() == 4 && tokens[1].is("[");  // `grid[2]`
  if (const auto shape = is_element ? value(without_blanks(text)) : std::nullopt) {
    return extents(*shape, depth + 1);
  }
  if (tokens.size() > 1 && tokens[0].is("dim3") && tokens[1].is("(", "{") &&
      closing(tokens, 1) + 1 == tokens.size()) {
    const std::vector<std::string> parts = texts(tokens, split(tokens, {2, tokens.size() - 1}));
    const bool is_copy = parts.size() == 1 && shapes_.contains(parts[0]);
    return is_copy ? extents(parts[0], depth + 1) : parts;
  }
  if (tokens.size() > 1 || !tokens[0].is_word() || choices_.contains(text)) return {text};
  const std::optional<std::string> made_of = value(text);
  return made_of ? extents(*made_of, depth + 1) : std::vector<std::string>{text};
}

bool HostState::uses(const std::string& text, const std::set<std::string>& wanted) const {
  const auto values = [&](const std::string& name) {
    std::vector<std::string> found = value_among(variables_, name);
    const auto shape = shapes_.find(name);
    if (shape != shapes_.end()) {
      found.insert(found.end(), shape->second.begin(), shape->second.end());
    }
    return found;
  };
  const std::set<std::string> names = names_behind({text}, values);
  return std::ranges::any_of(wanted, [&](const std::string& name) { return names.contains(name); });
}

void HostState::join(const HostState& other) {
  changed_.insert(other.changed_.begin(), other.changed_.end());
  for (const auto& [name, value] : variables_) {
    const auto same = other.variables_.find(name);
    if (same == other.variables_.end() || same->second != value) changed_.emplace(name, 0);
  }
  for (const auto& [name, value] : other.variables_) {
    if (!variables_.contains(name)) changed_.emplace(name, 0);
  }
  keep_common(variables_, other.variables_);
  keep_common(shapes_, other.shapes_);
  keep_common(lists_, other.lists_);
  keep_common(choices_, other.choices_);
  allocated_.insert(other.allocated_.begin(), other.allocated_.end());
  former_.insert(other.former_.begin(), other.former_.end());
  for (const auto& [name, version] : other.versions_) {
    versions_[name] = std::max(versions_[name], version);
  }
}

void HostState::join_if(const HostState& other) {
  constexpr std::size_t kLongest = 300;
  const auto condition = [](const HostState& state) {
    return state.value(state.condition_name()).value_or("");
  };
  // The side that changes a variable of the condition has the name of its former value.
  const bool is_mine = condition(*this).find("__") != std::string::npos;
  const std::string asked = condition(is_mine ? *this : other);
  std::map<std::string, std::string> chosen;
  for (const auto& [name, mine] : variables_) {
    const auto theirs = other.variables_.find(name);
    if (theirs == other.variables_.end()) {
      if (former_.contains(name) && !other.former_.contains(name)) chosen[name] = mine;
      continue;
    }
    const bool is_short = asked.size() + mine.size() + theirs->second.size() < kLongest;
    if (mine == theirs->second || name.starts_with(kCondition) || !is_short) continue;
    chosen[name] = "((" + asked + ") ? (" + mine + ") : (" + theirs->second + "))";
  }
  for (const auto& [name, theirs] : other.variables_) {
    if (other.former_.contains(name) && !former_.contains(name)) chosen[name] = theirs;
  }
  join(other);
  for (const auto& [name, text] : chosen) {
    variables_[name] = text;
    changed_.erase(name);
  }
}

HostFrame HostState::frame(const std::map<std::string, std::string>& elsewhere) const {
  HostFrame frame;
  frame.variables = variables_;
  frame.choices = choices_;
  frame.changed = changed_;
  frame.allocated = allocated_;
  frame.allocated.insert(elsewhere.begin(), elsewhere.end());
  frame.former = former_;
  std::erase_if(frame.variables,
                [](const auto& entry) { return entry.first.starts_with(kCondition); });
  for (const auto& [name, extents] : shapes_) {
    for (std::size_t i = 0; i < std::min<std::size_t>(3, extents.size()); ++i) {
      frame.variables.emplace(name + "." + "xyz"[i], extents[i]);
    }
  }
  return frame;
}

}  // namespace smemtune
