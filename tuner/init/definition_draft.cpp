#include "tuner/init/definition_draft.h"

#include "tuner/core/definition.h"
#include "tuner/init/agreement.h"
#include "tuner/init/copies.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_calls.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/statements.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

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
    if (tokens[i].is("(", "[")) i = std::min(closing(tokens, i), range.end - 1);
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
  /// `ours`: our names for what the store's texts have others for.
  DefinitionDrafter(const SpaceNames& names, const Json& arguments, SingleStore store, Terms ours)
      : names_(names), arguments_(arguments), store_(std::move(store)), ours_(std::move(ours)) {}

  std::optional<std::string> draft() {
    const Json* const output = argument(store_.array);
    if (output == nullptr || !output->contains("shape") || (*output)["shape"].size() != 1) {
      return std::nullopt;
    }
    choose_index();
    const bool is_single = store_.index == "0" && (*output)["shape"][0] == 1;
    const std::vector<Stride> strides = strides_of(in_our_names(store_.index));
    if (!is_single && (strides.empty() || !name_axes(strides))) return std::nullopt;
    const bool keeps = (*output)["role"] == "inout";
    std::string conditions;
    for (const std::string& condition : store_.conditions) {
      if (is_of_all(condition, *output) || (!keeps && is_upper_bound(condition))) continue;
      conditions += (conditions.empty() ? "(" : " && (") + condition + ")";
    }
    const std::string own = SpaceNames::argument_name(store_.array) + "[" + index_ + "]";
    const auto value = translated(without_parentheses(in_our_names(store_.value)));
    const auto condition = translated(in_our_names(conditions));
    if (!value || !condition || (!keeps && !conditions.empty())) return std::nullopt;
    if (!is_real_type((*output)["type"]) && is_rounded(*value)) return std::nullopt;
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

  /// Chooses the name of the output's index, `i` or another.
  void choose_index() {
    for (const std::string_view name : {"i", "j", "e", "index", "element"}) {
      index_ = name;
      const bool is_taken = names_.problem().contains(index_) || argument(index_) != nullptr;
      if (!is_taken) break;
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
        if (tokens[i].is("-", "/") || tokens[i].text.starts_with("axis_")) {
          return false;
        }
      }
    }
    return true;
  }

  /// Returns true for `axis_x < n` if the output has n elements.
  bool is_of_all(const std::string& condition, const Json& output) const {
    const std::string bound = axes_.size() == 1 ? axes_.front().name + "<" : "";
    const std::string ours = without_blanks(plain_tokens(in_our_names(condition)));
    return !bound.empty() && ours.starts_with(bound) &&
           without_parentheses(ours.substr(bound.size())) ==
               without_blanks(plain_tokens(plain_text(output["shape"][0])));
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
      if (token.is("ceil_div") && !in_index) {
        const std::vector<std::string> parts = parts_in(tokens, i + 1);
        const auto above = parts.size() == 2 ? translated(parts[0]) : std::nullopt;
        const auto below = parts.size() == 2 ? translated(parts[1]) : std::nullopt;
        if (!above || !below) return false;
        result += "-floor(-(" + *above + ") / (" + *below + "))";
        i = closing(tokens, i + 1);
        continue;
      }
      if (token.is("bound_of")) continue;
      if (token.is("/") && !in_index && !is_real_quotient(tokens, i)) {
        const TokenRange right = operands(tokens, i).second;
        if (!is_whole_quotient(tokens, i) || !floor_quotient(tokens, i, result)) return false;
        i = right.end - 1;
        continue;
      }
      result += word(token, in_index);
    }
    return true;
  }

  /// Makes what `result` ends with, the operand before a slash, `floor(operand / other)`. Returns
  /// false if it cannot.
  bool floor_quotient(const CppTokens& tokens, std::size_t slash, std::string& result) const {
    const auto [left, right] = operands(tokens, slash);
    std::string above;
    std::string below;
    if (!translate(tokens, left, false, above) || !translate(tokens, right, false, below)) {
      return false;
    }
    while (result.ends_with(' ')) result.pop_back();
    if (!result.ends_with(above)) return false;
    result.erase(result.size() - above.size());
    result += "floor(" + above + " / " + below + ")";
    return true;
  }

  std::string word(const CppToken& token, bool in_index) const {
    for (const Axis& axis : axes_) {
      if (token.is(axis.name)) return in_index ? axis.in_index : axis.as_value;
    }
    const std::string text(token.text);
    return token.kind == CppToken::Kind::number ? without_suffixes(text) : text;
  }

  /// Returns the operands beside a slash.
  static std::pair<TokenRange, TokenRange> operands(const CppTokens& tokens, std::size_t slash) {
    std::size_t first = slash;
    while (first > 0) {
      const CppToken& before = tokens[first - 1];
      if (before.is(")", "]")) {
        const std::size_t open = opening(tokens, first - 1);
        if (open == kNoToken) return {};
        first = open;
        continue;
      }
      const bool is_sign = is_one_of(before.text, {"*", "/", "%"});
      if (!before.is_word() && before.kind != CppToken::Kind::number && !is_sign) break;
      --first;
    }
    std::size_t end = slash + 1;
    while (end < tokens.size() && (tokens[end].is_word() || tokens[end].is("(", "[") ||
                                   tokens[end].kind == CppToken::Kind::number)) {
      const bool opens = tokens[end].is("(", "[");
      end = (opens ? closing(tokens, end) : end) + 1;
    }
    return {{first, slash}, {slash + 1, std::min(end, tokens.size())}};
  }

  /// Returns true if a range has an element, a number or a scalar that may have a fraction.
  bool is_real(const CppTokens& tokens, TokenRange range) const {
    for (std::size_t i = range.first; i < range.end; ++i) {
      const Json* const known =
          tokens[i].is_word() ? argument(std::string(tokens[i].text)) : nullptr;
      if (known != nullptr && is_real_type((*known)["type"])) return true;
      if (tokens[i].kind == CppToken::Kind::number && is_fraction(tokens[i].text)) return true;
      if (is_one_of(tokens[i].text, {"exp", "sqrt", "log", "sin", "cos", "tanh", "erf", "pow"})) {
        return true;
      }
    }
    return false;
  }

  /// Returns true if an operand beside the slash may have a fraction.
  bool is_real_quotient(const CppTokens& tokens, std::size_t slash) const {
    const auto [left, right] = operands(tokens, slash);
    return is_real(tokens, left) || is_real(tokens, right);
  }

  /// Returns true for a value that C++ rounds where it stores it as an integer, and a definition
  /// does not: one with fractions that neither chooses nor rounds itself.
  bool is_rounded(const std::string& value) const {
    const CppTokens tokens = cpp_tokens(value);
    const bool is_whole = std::ranges::any_of(tokens, [](const CppToken& token) {
      return is_one_of(token.text, {"?", "<", ">", "<=", ">=", "==", "!=", "floor"});
    });
    return !is_whole && is_real(tokens, {0, tokens.size()});
  }

  /// Returns true if both operands are whole numbers of the problem.
  bool is_whole_quotient(const CppTokens& tokens, std::size_t slash) const {
    const auto is_whole = [&](const CppToken& token) {
      if (token.kind == CppToken::Kind::number) return !is_fraction(token.text);
      const Json& problem = names_.problem();
      const std::string name(token.text);
      return token.is_word() ? problem.contains(name) && problem[name].is_number_integer()
                             : is_one_of(name, {"(", ")", "+", "-", "*", "/"});
    };
    const auto [left, right] = operands(tokens, slash);
    const auto all_whole = [&](TokenRange range) {
      return range.first < range.end &&
             std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(range.first),
                         tokens.begin() + static_cast<std::ptrdiff_t>(range.end), is_whole);
    };
    return all_whole(left) && all_whole(right);
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
    try {
      return !Definition::compile(text, bindings_of(names_.problem()), arrays, scalars)
                  .output()
                  .empty();
    } catch (const ExpressionError&) {
      return false;
    }
  }

  struct Axis {
    std::string name;
    std::string in_index;
    std::string as_value;
  };

  const SpaceNames& names_;
  const Json& arguments_;
  SingleStore store_;
  Terms ours_;
  std::string index_;
  std::vector<Axis> axes_;
};

/// Finds what the host expects of a launch's results. A parameter has the value that it has in the
/// source, for which the host checks them, or that of SpaceNames::most_blocks().
class ExpectationDrafter {
 public:
  ExpectationDrafter(const KernelFile& file, const SpaceNames& names, const Json& arguments,
                     const LaunchSite& site)
      : file_(file),
        names_(names),
        arguments_(arguments),
        site_(site),
        arrays_(file, site),
        terms_(names.terms_of(site, names.most_blocks())) {}

  std::optional<ExpectedByHost> draft() {
    for (frame_ = 0; frame_ < site_.frames.size(); ++frame_) {
      for (const HostCall& call : file_.calls) {
        if (call.caller != function()) continue;
        for (const HostCheck& check : file_.checks) {
          if (!check.store || check.name != call.callee) continue;
          if (auto expected = expected_by(check, call)) return expected;
        }
      }
    }
    return std::nullopt;
  }

 private:
  const std::string& function() const { return site_.frames[frame_].function; }

  std::optional<ExpectedByHost> expected_by(const HostCheck& check, const HostCall& call) const {
    const auto definition = definition_by(check, call);
    if (!definition) return std::nullopt;
    ExpectedByHost expected = {
        .definition = *definition, .line = check.line, .is_printed = check.is_printed};
    expected.is_in_total =
        check.is_total && check.is_of_all && (!compares_sums() || !sum_in(check.store->value));
    try {
      const bool reads = reads_others(*definition, names_, arguments_);
      if (reads && !expected.is_in_total) return expected;
      return confirmed(std::move(expected), !reads);
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
  }

  bool compares_sums() const {
    return std::ranges::any_of(arguments_,
                               [](const Json& argument) { return is_cleared(argument); });
  }

  /// Returns the kernel's own definition if it gives what the host expects for the contents that it
  /// gives the inputs (`has_contents`), or for any. Else returns what the host expects, with these
  /// contents unless they are constants, which would hide what is wrong.
  std::optional<ExpectedByHost> confirmed(ExpectedByHost expected, bool has_contents) const {
    bool vary = false;
    for (std::size_t i = 0; has_contents && i < arguments_.size(); ++i) {
      const std::string role = arguments_[i].value("role", "");
      if (role.empty() || role == "output" || is_cleared(arguments_[i])) continue;
      const auto contents = contents_of(i);
      if (!contents) return std::nullopt;
      const std::size_t equals = contents->find('=');
      const std::string index(identifiers(*contents)[1]);
      vary = vary || has_name(contents->substr(equals), index);
      expected.contents.emplace(arguments_[i]["name"], *contents);
    }
    const auto own = definition_of(names_.first(), names_, arguments_);
    const auto agrees = expected.is_in_total ? agree_in_total : agree;
    const auto is_own =
        own ? agrees(*own, expected.definition, names_, arguments_, expected.contents)
            : std::nullopt;
    if (is_own == false) return std::nullopt;
    if (is_own) {
      expected.definition = *own;
      expected.contents.clear();
      return expected;
    }
    return vary && !expected.is_in_total ? std::optional(std::move(expected)) : std::nullopt;
  }

  /// Returns true for results of which only the sum is compared, and that begin with zeros.
  static bool is_cleared(const Json& argument) { return argument.value("compare", "") == "sum"; }

  /// Returns what the host stores to the elements of an argument before it launches.
  std::optional<std::string> contents_of(std::size_t argument) const {
    for (const HostCall& call : file_.calls) {
      for (const HostCheck& check : file_.checks) {
        const bool is_its = call.caller == function() && check.name == call.callee;
        if (!is_its || !check.is_filled || !check.store) continue;
        const SingleStore store = in_caller(*check.store, call);
        if (!arguments_with(store.array, false, frame_).contains(argument)) continue;
        Json arguments = arguments_;
        arguments[argument]["role"] = "output";
        auto ours = in_our_names(store, arguments[argument]["name"]);
        if (ours) return DefinitionDrafter(names_, arguments, std::move(*ours), {}).draft();
      }
    }
    const auto fill = file_.fills.find(arrays_.passed(argument, frame_));
    const bool has_number = fill != file_.fills.end() && smemtune::number_of(fill->second);
    const std::string name = arguments_[argument]["name"];
    return has_number ? std::optional(name + "[i] = " + fill->second) : std::nullopt;
  }

  std::optional<std::string> definition_by(const HostCheck& check, const HostCall& call) const {
    SingleStore store = in_caller(*check.store, call);
    store.value = without_parentheses(store.value);
    const std::set<std::size_t> results = results_of(check, store.array);
    if (results.size() != 1) return std::nullopt;
    const Json& output = arguments_[*results.begin()];
    const std::string copied = check.is_filled ? "" : index_in(store);
    if (!copied.empty()) {
      if (auto product = product_in(store, output["name"])) return product;
    }
    // The host may ask whether a kernel has left its input as it was.
    const bool is_same = !copied.empty() && copied == store.index;
    if (is_same && !definition_of(names_.first(), names_, arguments_)) return std::nullopt;
    if (check.is_total && !is_total_of(check, *results.begin())) return std::nullopt;
    auto ours = in_our_names(store, output["name"]);
    if (!ours || (!choose_parameters(*ours) && !check.is_total)) return std::nullopt;
    const bool is_shared_out = check.is_total && check.is_of_all;
    if (is_shared_out) ours = shared_out(std::move(*ours), plain_text(output["shape"][0]));
    return ours ? DefinitionDrafter(names_, arguments_, std::move(*ours), {}).draft()
                : std::nullopt;
  }

  /// Returns the index of the element that a store takes over from an array, if it does nothing
  /// else; empty if it does.
  static std::string index_in(const SingleStore& store) {
    const CppTokens tokens = cpp_tokens(store.value);
    const bool copies =
        tokens.size() > 1 && tokens[1].is("[") && closing(tokens, 1) + 1 == tokens.size();
    return copies ? joined(tokens, {2, tokens.size() - 1}) : "";
  }

  /// Returns the product that the host has a library compute and copies to an array of whose
  /// elements each result is to be one.
  std::optional<std::string> product_in(const SingleStore& check, const std::string& output) const {
    const CppTokens tokens = cpp_tokens(check.value);
    for (const LibraryProduct& product : file_.products) {
      std::vector<SingleStore> stores;
      if (product.function == function()) stores.push_back(product.store);
      for (const HostCall& call : file_.calls) {
        const bool is_its = call.caller == function() && call.callee == product.function;
        if (is_its) stores.push_back(in_caller(product.store, call));
      }
      for (const SingleStore& store : stores) {
        const std::string array(tokens[0].text);
        const bool is_there = store.array == array || file_.copies.contains({array, store.array});
        const auto its = is_there ? of_results(store, check) : std::nullopt;
        auto ours = its ? in_our_names(*its, output) : std::nullopt;
        if (!ours || !choose_parameters(*ours)) continue;
        auto definition = DefinitionDrafter(names_, arguments_, std::move(*ours), {}).draft();
        if (definition) return definition;
      }
    }
    return std::nullopt;
  }

  /// Returns a product's store with the index of the result that is compared with its element,
  /// which is another one where the host compares with the transpose; nullopt for other elements.
  static std::optional<SingleStore> of_results(SingleStore product, const SingleStore& check) {
    const std::string index = index_in(check);
    if (check.index == index) return product;
    for (const Terms& terms : {Terms(), Terms{{"axis_a", "axis_b"}, {"axis_b", "axis_a"}}}) {
      if (plain_tokens(substituted(product.index, terms)) != plain_tokens(index)) continue;
      product.value = substituted(product.value, terms);
      product.index = check.index;
      return product;
    }
    return std::nullopt;
  }

  /// Returns true if the host's total is one of this output. Where it only prints the two, the
  /// kernel has to add up.
  bool is_total_of(const HostCheck& check, std::size_t output) const {
    const bool is_sum = is_cleared(arguments_[output]);
    const std::vector<KernelParameter>& parameters = names_.first().parameters;
    const bool adds =
        is_sum || (output < parameters.size() &&
                   (parameters[output].access == Access::added || parameters[output].is_block_sum));
    return (check.is_of_all || !is_sum) && (adds || !check.is_printed);
  }

  /// Shares the terms of a sum out among the `count` elements of an output of which only the sum is
  /// compared: the same number to each if that divides them, else to some one more; a number in
  /// equal parts.
  static SingleStore shared_out(SingleStore store, const std::string& count) {
    const auto sum = sum_in(store.value);
    if (!sum) {
      store.index = "axis_a";
      store.value = in_parentheses(store.value) + " / " + in_parentheses(count);
      return store;
    }
    const auto terms_before = [&](const std::string& element) {
      return in_parentheses(sum->bound) + " * " + element + " / " + in_parentheses(count);
    };
    const std::string first = terms_before("axis_a");
    const std::string& counter = sum->counter;
    const std::string moved = first + " + " + counter;
    store.index = "axis_a";
    store.value =
        "sum(" + counter + " < bound_of[" + terms_before("(axis_a + 1)") + " - " + first + "], " +
        substituted(sum->term,
                    {{counter, "(" + moved + ")"}, {"[" + counter + "]", "[" + moved + "]"}}) +
        ")";
    return store;
  }

  /// Gives parameters in a store their values for the most blocks. Returns false if it has none
  /// where there are such: it is right for other blocks only.
  bool choose_parameters(SingleStore& store) const {
    const Terms values = terms_of_values(names_.most_blocks());
    bool has_one = values.empty();
    for (std::string* const text : {&store.index, &store.value}) {
      const std::string chosen = substituted(*text, values);
      has_one = has_one || chosen != *text;
      *text = chosen;
    }
    for (std::string& condition : store.conditions) condition = substituted(condition, values);
    return has_one;
  }

  /// Returns a store of a function in the names of the one that calls it.
  static SingleStore in_caller(SingleStore store, const HostCall& call) {
    const Terms passed = terms_of_call(call.passed);
    store.array = pointer_in(substituted(store.array, passed));
    for (std::string* const text : {&store.index, &store.value}) *text = substituted(*text, passed);
    for (std::string& condition : store.conditions) condition = substituted(condition, passed);
    return store;
  }

  /// Returns the results that the host compares with an array that the device does not get.
  std::set<std::size_t> results_compared_with(const std::string& array) const {
    std::set<std::size_t> results;
    const auto pairs = file_.compared_arrays.find(function());
    if (pairs == file_.compared_arrays.end() || !arguments_with(array, false, frame_).empty()) {
      return {};
    }
    for (const auto& [one, other] : pairs->second) {
      if (other == array) results.merge(arguments_with(one, true, frame_));
    }
    return results;
  }

  /// Returns the arguments whose elements an array of a frame's function has: those that are copied
  /// there, or are copied from there.
  std::set<std::size_t> arguments_with(const std::string& array, bool are_results,
                                       std::size_t frame) const {
    using Copied = HeldArrays::Copied;
    const Copied copied = are_results ? Copied::from_device : Copied::to_device;
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < std::min(arguments_.size(), site_.arguments.size()); ++i) {
      const std::string role = arguments_[i].value("role", "");
      if (role.empty() || (are_results && role == "input")) continue;
      if (arrays_.holds({array}, i, frame, copied)) found.insert(i);
    }
    return found;
  }

  /// Returns the results that a check is of: the array of the function that has it, which may be one
  /// on the way to the launch.
  std::set<std::size_t> results_of(const HostCheck& check, const std::string& array) const {
    if (check.is_filled) return results_compared_with(array);
    for (std::size_t frame = 0; frame <= frame_; ++frame) {
      const std::string& its = check.results_in.empty() ? function() : check.results_in;
      if (site_.frames[frame].function == its) return arguments_with(array, true, frame);
    }
    return {};
  }

  std::optional<SingleStore> in_our_names(const SingleStore& store,
                                          const std::string& output) const {
    SingleStore ours = {.array = output};
    const auto translate = [&](const std::string& text, std::string& to) {
      const auto translated = in_our_names(text, store.array, output);
      if (translated) to = *translated;
      return translated.has_value();
    };
    bool is_known = translate(store.index, ours.index) && translate(store.value, ours.value);
    for (const std::string& condition : store.conditions) {
      is_known = is_known && translate(condition, ours.conditions.emplace_back());
    }
    return is_known ? std::optional(ours) : std::nullopt;
  }

  std::optional<std::string> in_our_names(const std::string& text, const std::string& array,
                                          const std::string& output) const {
    const std::string plain = with_functions_of_definitions(text);
    const CppTokens tokens = cpp_tokens(plain);
    Terms ours;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (is_size_of_vector(tokens, i)) {
        const std::string size = joined(tokens, {i, i + 5});
        const auto known = terms_.in_our_names(size, frame_);
        if (!known) return std::nullopt;
        ours.emplace_back(size, in_parentheses(*known));
        i += 4;
        continue;
      }
      if (tokens[i].is(".", "->", "::")) return std::nullopt;
      if (!tokens[i].is_word() || tokens[i].text.starts_with("axis_")) continue;
      const std::string name(tokens[i].text);
      const bool is_array = i + 1 < tokens.size() && tokens[i + 1].is("[");
      const bool is_called = i + 1 < tokens.size() && tokens[i + 1].is("(");
      if (is_called || name == "bound_of" || is_counter(tokens, name)) continue;
      const auto known = is_array ? array_called(name, array, output) : scalar_called(name);
      if (!known) return std::nullopt;
      ours.emplace_back(name, *known);
    }
    return substituted(plain, ours);
  }

  /// Returns true if `v.size()` begins at token i.
  static bool is_size_of_vector(const CppTokens& tokens, std::size_t i) {
    return i + 4 < tokens.size() && tokens[i].is_word() && tokens[i + 1].is(".") &&
           tokens[i + 2].is("size") && tokens[i + 4].is(")");
  }

  /// Returns true for `k` of `sum(k < n, ...)`.
  static bool is_counter(const CppTokens& tokens, std::string_view name) {
    for (std::size_t i = 2; i < tokens.size(); ++i) {
      if (tokens[i].is(name) && tokens[i - 1].is("(") && tokens[i - 2].is("sum")) return true;
    }
    return false;
  }

  /// `array`: the one that is to have the results, and may have begun as they do.
  std::optional<std::string> array_called(const std::string& name, const std::string& array,
                                          const std::string& output) const {
    const auto inputs = arguments_with(name, false, frame_);
    if (inputs.size() == 1) return arguments_[*inputs.begin()]["name"].get<std::string>();
    return inputs.empty() && name == array ? std::optional(output) : std::nullopt;
  }

  std::optional<std::string> scalar_called(const std::string& name) const {
    for (std::size_t i = 0; i < std::min(arguments_.size(), site_.arguments.size()); ++i) {
      const bool is_scalar = arguments_[i].contains("value");
      if (is_scalar && terms_.passed(i, frame_) == name) {
        const Json& value = arguments_[i]["value"];
        const std::string text = plain_text(value);
        return names_.problem().contains(text) ? text : arguments_[i]["name"].get<std::string>();
      }
    }
    if (const auto whole = terms_.in_our_names(name, frame_)) return in_parentheses(*whole);
    const auto real = terms_.formula(name, names_.numbers_of_problem(), frame_);
    return real ? std::optional(in_parentheses(*real)) : std::nullopt;
  }

  const KernelFile& file_;
  const SpaceNames& names_;
  const Json& arguments_;
  const LaunchSite& site_;
  HeldArrays arrays_;
  HostTerms terms_;
  std::size_t frame_ = 0;
};

}  // namespace

std::optional<std::string> definition_of(const KernelFunction& kernel, const SpaceNames& names,
                                         const Json& arguments) {
  if (!kernel.store) return std::nullopt;
  Terms ours = names.sizes();
  for (const KernelParameter& parameter : kernel.parameters) {
    const std::string name = SpaceNames::argument_name(parameter.name);
    if (name != parameter.name) ours.emplace_back(parameter.name, name);
  }
  if (kernel.store->is_of_threads) {
    if (names.launch().empty()) return std::nullopt;
    ours.insert(ours.end(), names.launch().begin(), names.launch().end());
  }
  return DefinitionDrafter(names, arguments, *kernel.store, std::move(ours)).draft();
}

std::optional<ExpectedByHost> expected_by_host(const KernelFile& file, const SpaceNames& names,
                                               const Json& arguments) {
  const LaunchSite* const site = names.launch_of(names.first().name);
  if (site == nullptr) return std::nullopt;
  return ExpectationDrafter(file, names, arguments, *site).draft();
}

}  // namespace smemtune
