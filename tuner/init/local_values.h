#pragma once

#include "tuner/init/host_terms.h"
#include "tuner/init/syntax.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// The values of a function's variables, and which of them are made of the built-in ones.
class LocalValues {
 public:
  static constexpr std::string_view kDimensions = "xyz";

  explicit LocalValues(const Syntax& body) {
    for_each(body, [&](const Syntax& part) {
      if (part.kind == Kind::variable && !part.parts.empty()) add(part.text, part.parts[0]);
      if (part.kind == Kind::assignment) add(part.parts[0].text, part.parts[1]);
      const bool is_bounded = part.kind == Kind::loop && part.parts.size() > Syntax::kBody;
      const Syntax* const condition = is_bounded ? &part.parts[Syntax::kCondition] : nullptr;
      if (condition == nullptr || condition->kind != Kind::binary) return;
      bounds_[condition->parts[0].text].push_back(&condition->parts[1]);
    });
    for_each(body, [&](const Syntax& part) {
      if (!part.is(Kind::loop, "for")) return;
      const Kind beginning = part.parts[Syntax::kBeginning].kind;
      const bool is_own = beginning == Kind::block || beginning == Kind::variable;
      const bool strides = is_own && is_made_of(part.parts[Syntax::kStep], "blockDim");
      if (strides) striding_.insert(counted_from(part).first);
    });
  }

  /// Returns true if a value is made of `builtin`.x (0), .y or .z. An element is made of nothing.
  bool is_made_of(const Syntax& value, std::string_view builtin, std::size_t axis) const {
    std::set<std::string> seen;
    return holds(value, member(builtin, axis), seen);
  }

  /// Returns true if a value is made of a thread's number in a dimension, other than by the counter
  /// of a loop that goes on by the block's size.
  bool is_of_thread(const Syntax& value, std::size_t axis) const {
    std::set<std::string> seen = striding_;
    return holds(value, member("threadIdx", axis), seen);
  }

  bool is_made_of(const Syntax& value, std::string_view builtin) const {
    return is_made_of(value, builtin, 0) || is_made_of(value, builtin, 1) ||
           is_made_of(value, builtin, 2);
  }

  /// Returns the dimension of blockIdx that a variable's first value is made of, or a later one if
  /// that is made of none or of several; nullopt if there is none.
  std::optional<std::size_t> block_axis(const Syntax& variable) const {
    const auto given = gives_.find(variable.text);
    if (given == gives_.end()) return std::nullopt;
    for (const Syntax* const value : given->second) {
      std::vector<std::size_t> axes;
      for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
        if (is_made_of(*value, "blockIdx", axis)) axes.push_back(axis);
      }
      if (axes.size() == 1) return axes.front();
    }
    return std::nullopt;
  }

  /// Returns true if a value, or the end of a loop that counts to it, is made of blockDim.
  bool follows_block(const Syntax& value) const {
    if (is_made_of(value, "blockDim")) return true;
    const auto bounds = bounds_.find(value.text);
    return value.kind == Kind::name && bounds != bounds_.end() &&
           std::ranges::any_of(bounds->second,
                               [&](const Syntax* bound) { return is_made_of(*bound, "blockDim"); });
  }

  /// Returns the numbers that a value is made of.
  std::set<std::int64_t> numbers(const Syntax& value) const {
    std::set<std::int64_t> found;
    std::set<std::string> seen;
    const Test add_number = [&](const Syntax& part) {
      const auto number = part.kind == Kind::literal ? number_of(part.text) : std::nullopt;
      if (number && *number >= kSmallest) found.insert(*number);
      return false;
    };
    holds(value, add_number, seen);
    return found;
  }

 private:
  using Kind = Syntax::Kind;
  using Test = std::function<bool(const Syntax&)>;

  void add(const std::string& name, const Syntax& value) { gives_[name].push_back(&value); }

  static Test member(std::string_view builtin, std::size_t axis) {
    return [=](const Syntax& part) {
      return part.kind == Kind::member && part.text == kDimensions.substr(axis, 1) &&
             !part.parts.empty() && part.parts[0].is_name(builtin);
    };
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax, and once for each variable.
  bool holds(const Syntax& value, const Test& is_it, std::set<std::string>& seen) const {
    if (is_it(value)) return true;
    if (value.kind == Kind::element) return false;
    const auto inner = [&](const Syntax& part) { return holds(part, is_it, seen); };
    const auto given = value.kind == Kind::name ? gives_.find(value.text) : gives_.end();
    if (given == gives_.end()) return std::ranges::any_of(value.parts, inner);
    return seen.insert(value.text).second &&
           std::ranges::any_of(given->second, [&](const Syntax* part) { return inner(*part); });
  }

  static constexpr std::int64_t kSmallest = 8;  ///< Smaller numbers mostly mean something else.

  std::map<std::string, std::vector<const Syntax*>> gives_;
  std::set<std::string>
      striding_;  ///< Counters of loops in steps of blockDim, which these declare.
  std::map<std::string, std::vector<const Syntax*>> bounds_;  ///< Ends of loops, by their counters.
};

}  // namespace smemtune
