#include "tuner/init/definition_draft.h"

#include "tuner/core/definition.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_terms.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Terms = std::vector<std::pair<std::string, std::string>>;
using Product = std::vector<std::string>;  // A product's factors.

constexpr std::size_t kMostProducts = 8;

/// Returns a range without the parentheses around all of it.
TokenRange unwrapped(const CppTokens& tokens, TokenRange range) {
  while (range.first + 1 < range.end && tokens[range.first].is("(") &&
         closing(tokens, range.first) + 1 == range.end) {
    ++range.first;
    --range.end;
  }
  return range;
}

/// Returns the parts of a range that a sign separates outside of brackets.
std::vector<TokenRange> parts_at(const CppTokens& tokens, TokenRange range, std::string_view sign) {
  std::vector<TokenRange> parts = {{range.first, range.first}};
  for (std::size_t i = range.first; i < range.end; ++i) {
    if (tokens[i].is(sign)) {
      parts.push_back({i + 1, i + 1});
      continue;
    }
    if (tokens[i].is("(") || tokens[i].is("[")) i = std::min(closing(tokens, i), range.end - 1);
    parts.back().end = i + 1;
  }
  return parts;
}

/// Returns a sum of products: `z H W`, `y W`, `x` for `(z * H + y) * W + x`.
std::vector<Product> products_of(const CppTokens& tokens, TokenRange range) {
  std::vector<Product> sum;
  range = unwrapped(tokens, range);
  for (const TokenRange& term : parts_at(tokens, range, "+")) {
    std::vector<Product> all = {{}};
    for (const TokenRange& part : parts_at(tokens, unwrapped(tokens, term), "*")) {
      const TokenRange factor = unwrapped(tokens, part);
      const bool is_sum =
          parts_at(tokens, factor, "+").size() > 1 || parts_at(tokens, factor, "*").size() > 1;
      const std::vector<Product> inner =
          is_sum ? products_of(tokens, factor) : std::vector<Product>{{joined(tokens, factor)}};
      std::vector<Product> longer;
      for (const Product& left : all) {
        for (const Product& right : inner) {
          longer.push_back(left);
          longer.back().insert(longer.back().end(), right.begin(), right.end());
        }
      }
      all = std::move(longer);
      if (all.size() > kMostProducts) return {};
    }
    sum.insert(sum.end(), all.begin(), all.end());
    if (sum.size() > kMostProducts) return {};
  }
  return sum;
}

/// The distance between the elements that a thread and its neighbor in a dimension write.
struct Stride {
  std::string axis;
  Product extents;
};

/// Returns the strides in an index, in the order of its terms; empty if it is no such sum.
std::vector<Stride> strides_of(const std::string& index) {
  const CppTokens tokens = cpp_tokens(index);
  std::vector<Stride> strides;
  for (const Product& product : products_of(tokens, {0, tokens.size()})) {
    Stride stride;
    for (const std::string& factor : product) {
      const bool is_axis = factor.starts_with("axis_") && factor.size() == 6;
      if (is_axis && !stride.axis.empty()) return {};
      if (is_axis) {
        stride.axis = factor;
      } else if (factor.find("axis_") == std::string::npos) {
        stride.extents.push_back(factor);
      } else {
        return {};
      }
    }
    if (stride.axis.empty()) return {};
    strides.push_back(std::move(stride));
  }
  std::ranges::sort(strides, {}, [](const Stride& stride) { return stride.extents.size(); });
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i].extents.size() != i) return {};
  }
  return strides;
}

bool is_fraction(const std::string_view number) {
  return number.find_first_of(".fFeE") != std::string_view::npos && !number.starts_with("0x");
}

class DefinitionDrafter {
 public:
  DefinitionDrafter(const KernelFunction& kernel, const SpaceNames& names, const Json& arguments,
                    SingleStore store)
      : kernel_(kernel), names_(names), arguments_(arguments), store_(std::move(store)) {}

  std::optional<std::string> draft() {
    const Json* const output = argument(store_.array);
    if (output == nullptr || !output->contains("shape") || (*output)["shape"].size() != 1) {
      return std::nullopt;
    }
    choose_names();
    const std::vector<Stride> strides = strides_of(in_our_names(store_.index));
    if (strides.empty() || !name_axes(strides)) return std::nullopt;
    const bool keeps = (*output)["role"] == "inout";
    std::string conditions;
    for (const std::string& condition : store_.conditions) {
      if (!keeps && is_upper_bound(condition)) continue;
      conditions += (conditions.empty() ? "(" : " && (") + condition + ")";
    }
    const std::string own = SpaceNames::argument_name(store_.array) + "[" + index_ + "]";
    const auto value = translated(without_parentheses(in_our_names(store_.value)));
    const auto condition = translated(in_our_names(conditions));
    if (!value || !condition || (!keeps && !conditions.empty())) return std::nullopt;
    const std::string text = plain_tokens(
        own + " = " + (condition->empty() ? *value : *condition + " ? " + *value + " : " + own));
    return is_definition(text) ? std::optional(text) : std::nullopt;
  }

 private:
  const Json* argument(const std::string& name) const {
    const std::string ours = SpaceNames::argument_name(name);
    for (const Json& one : arguments_) {
      if (one["name"] == ours) return &one;
    }
    return nullptr;
  }

  /// Chooses the name of the output's index, `i` or another, and adds our names of the host's
  /// sizes.
  void choose_names() {
    for (const std::string_view name : {"i", "j", "e", "index", "element"}) {
      index_ = name;
      const bool is_taken = names_.problem().contains(index_) || argument(index_) != nullptr;
      if (!is_taken) break;
    }
    for (const auto& [size, chosen] : names_.sizes()) ours_.emplace_back(size, chosen);
    for (const KernelParameter& parameter : kernel_.parameters) {
      const std::string ours = SpaceNames::argument_name(parameter.name);
      if (ours != parameter.name) ours_.emplace_back(parameter.name, ours);
    }
  }

  std::string in_our_names(const std::string& text) const {
    return without_casts(names_.expanded(substituted(text, ours_), names_.parameters()));
  }

  /// Expresses each thread's number by the element's index. Returns false if two dimensions are
  /// one.
  bool name_axes(const std::vector<Stride>& strides) {
    std::string inner;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      std::string extent;
      if (i + 1 < strides.size()) {
        Product next = strides[i + 1].extents;
        for (const std::string& factor : strides[i].extents) {
          const auto known = std::ranges::find(next, factor);
          if (known == next.end()) return false;
          next.erase(known);
        }
        extent = in_parentheses(next.front());
      }
      const std::string whole = inner.empty() ? index_ : "(" + index_ + " / " + inner + ")";
      axes_.push_back({.name = strides[i].axis,
                       .in_index = extent.empty() ? whole : "(" + whole + " % " + extent + ")",
                       .as_value = "floor(" + index_ + " / " + inner + ")"});
      if (inner.empty()) axes_.back().as_value = index_;
      if (!extent.empty()) {
        axes_.back().as_value = "(" + axes_.back().as_value + " % " + extent + ")";
        inner = inner.empty() ? extent : "(" + inner + " * " + extent + ")";
      }
    }
    return true;
  }

  /// Returns true for `axis_x < n`, which the output's size implies; for several of these, and for
  /// the opposite of a condition under which a thread returns.
  static bool is_upper_bound(const std::string& condition) {
    CppTokens tokens = cpp_tokens(condition);
    TokenRange all = {0, tokens.size()};
    const bool is_negated = !tokens.empty() && tokens[0].is("!");
    if (is_negated) ++all.first;
    all = unwrapped(tokens, all);
    for (const TokenRange& part : parts_at(tokens, all, is_negated ? "||" : "&&")) {
      const TokenRange one = unwrapped(tokens, part);
      const bool is_bound = one.first + 2 < one.end &&
                            tokens[one.first].text.starts_with("axis_") &&
                            tokens[one.first + 1].is(is_negated ? ">=" : "<");
      if (!is_bound) return false;
      for (std::size_t i = one.first + 2; i < one.end; ++i) {
        if (tokens[i].is("-") || tokens[i].is("/") || tokens[i].text.starts_with("axis_")) {
          return false;
        }
      }
    }
    return true;
  }

  /// Returns a text in the language of definitions; nullopt if C++ means something else by it.
  std::optional<std::string> translated(const std::string& text) const {
    const std::string plain = with_functions_of_definitions(text);
    const CppTokens tokens = cpp_tokens(plain);
    std::string result;
    return translate(tokens, {0, tokens.size()}, false, result) ? std::optional(result)
                                                                : std::nullopt;
  }

  bool translate(const CppTokens& tokens, TokenRange range, bool in_index,
                 std::string& result) const {
    for (std::size_t i = range.first; i < range.end; ++i) {
      const CppToken& token = tokens[i];
      const bool is_spaced = i > range.first && token.begin > tokens[i - 1].end();
      if (is_spaced) result += ' ';
      if (token.is("__ldg") && i + 2 < range.end && tokens[i + 2].is("&")) {
        const std::size_t close = closing(tokens, i + 1);
        if (close >= range.end || !translate(tokens, {i + 3, close}, false, result)) return false;
        i = close;
        continue;
      }
      if (token.is("[")) {
        const bool is_bound = i > 0 && tokens[i - 1].is("bound_of");
        const std::size_t close = closing(tokens, i);
        if (close >= range.end) return false;
        if (!is_bound) result += '[';
        if (!translate(tokens, {i + 1, close}, true, result)) return false;
        if (!is_bound) result += ']';
        i = close;
        continue;
      }
      if (token.is("bound_of")) continue;
      if (token.is("/") && !in_index && !is_real_quotient(tokens, i)) return false;
      result += word(token, in_index);
    }
    return true;
  }

  std::string word(const CppToken& token, bool in_index) const {
    for (const Axis& axis : axes_) {
      if (token.is(axis.name)) return in_index ? axis.in_index : axis.as_value;
    }
    const std::string text(token.text);
    return token.kind == CppToken::Kind::number ? without_suffixes(text) : text;
  }

  /// Returns true if an operand beside the slash may have a fraction: an element, a number, a
  /// scalar.
  bool is_real_quotient(const CppTokens& tokens, std::size_t slash) const {
    const auto is_real = [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        const Json* const known =
            tokens[i].is_word() ? argument(std::string(tokens[i].text)) : nullptr;
        if (known != nullptr && is_real_type((*known)["type"])) return true;
        if (tokens[i].kind == CppToken::Kind::number && is_fraction(tokens[i].text)) return true;
        if (tokens[i].is("exp") || tokens[i].is("sqrt") || tokens[i].is("log")) return true;
      }
      return false;
    };
    std::size_t first = slash;
    while (first > 0) {
      const CppToken& before = tokens[first - 1];
      if (before.is(")") || before.is("]")) {
        const std::size_t open = opening(tokens, first - 1);
        if (open == kNoToken) return false;
        first = open;
        continue;
      }
      if (!before.is_word() && before.kind != CppToken::Kind::number && !before.is("*")) break;
      --first;
    }
    std::size_t end = slash + 1;
    while (end < tokens.size() &&
           (tokens[end].is_word() || tokens[end].is("(") || tokens[end].is("[") ||
            tokens[end].kind == CppToken::Kind::number)) {
      const bool opens = tokens[end].is("(") || tokens[end].is("[");
      end = (opens ? closing(tokens, end) : end) + 1;
    }
    return is_real(first, slash) || is_real(slash + 1, std::min(end, tokens.size()));
  }

  bool is_real_type(const Json& type) const {
    std::string name = type.is_string() ? type.get<std::string>() : "";
    if (names_.problem().contains(name))
      name = names_.problem()[name].is_string() ? names_.problem()[name].get<std::string>() : "";
    return is_floating_name(name);
  }

  bool is_definition(const std::string& text) const {
    std::map<std::string, std::size_t> arrays;
    std::vector<std::string> scalars;
    for (const Json& one : arguments_) {
      if (one.contains("shape")) {
        arrays.emplace(one["name"].get<std::string>(), one["shape"].size());
      } else {
        scalars.push_back(one["name"].get<std::string>());
      }
    }
    Bindings problem;
    for (const auto& [name, value] : names_.problem().items()) {
      if (value.is_string()) problem.emplace(name, value.get<std::string>());
      if (value.is_number_integer()) problem.emplace(name, value.get<std::int64_t>());
    }
    try {
      return !Definition::compile(text, problem, arrays, scalars).output().empty();
    } catch (const ExpressionError&) {
      return false;
    }
  }

  struct Axis {
    std::string name;
    std::string in_index;
    std::string as_value;
  };

  const KernelFunction& kernel_;
  const SpaceNames& names_;
  const Json& arguments_;
  SingleStore store_;
  std::string index_;
  Terms ours_;
  std::vector<Axis> axes_;
};

}  // namespace

std::optional<std::string> definition_of(const KernelFunction& kernel, const SpaceNames& names,
                                         const Json& arguments) {
  if (!kernel.store) return std::nullopt;
  return DefinitionDrafter(kernel, names, arguments, *kernel.store).draft();
}

}  // namespace smemtune
