#include "tuner/init/kernel_uses.h"

#include "tuner/config/space_words.h"
#include "tuner/init/block_numbers.h"
#include "tuner/init/block_sums.h"
#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/macro_expansion.h"
#include "tuner/init/names.h"
#include "tuner/init/space_names.h"
#include "tuner/init/statements.h"
#include "tuner/init/syntax.h"
#include "tuner/init/thread_sums.h"
#include "tuner/source/directive.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;
using Names = std::set<std::string>;

struct DeviceFunction {
  std::string name;
  std::size_t line = 0;
  std::vector<std::string> parameters = {};
  std::vector<bool> is_const = {};  ///< True for each pointer to what is only read.
  Names pointers = {};
  Names unsigned_pointers = {};
  Syntax body = {};
};

Access both(Access a, Access b) {
  if (a == Access::unknown || b == Access::unknown) return Access::unknown;
  return a == b ? a : Access::both;
}

/// The functions of a device's part.
class Functions {
 public:
  explicit Functions(const ParsedSource& source) : source_(source) {
    for_each_declaration(source.root(), [&](CXCursor declaration) { add(declaration); });
    for (const DeviceFunction& function : all_) by_name_.emplace(function.name, &function);
  }

  const ParsedSource& source() const { return source_; }

  /// Returns the function called `name` in one of these lines, or nullptr.
  const DeviceFunction* find(const KernelFunction& kernel) const {
    const auto [first, end] = by_name_.equal_range(last_name(kernel.name));
    for (auto entry = first; entry != end; ++entry) {
      const std::vector<std::size_t>& others = kernel.other_lines;
      const std::size_t line = entry->second->line;
      const bool is_version = std::ranges::find(others, line) != others.end();
      if (line == kernel.line || is_version) return entry->second;
    }
    return nullptr;
  }

  /// Returns the body of the function called `name`; nullptr if there are none or several.
  const Syntax* body_of(const std::string& name) const {
    return by_name_.count(name) == 1 ? &by_name_.find(name)->second->body : nullptr;
  }

  /// Returns how a function uses what its argument leads to.
  Access of_argument(const std::string& name, std::size_t number);

  /// Returns true for a function of the source that is more than a formula: one with arrays, loops,
  /// or shifts by what is no number.
  bool is_procedure(const std::string& name) const {
    const auto function = by_name_.find(name);
    return function != by_name_.end() && has_any(function->second->body, [](const Syntax& part) {
             const bool shifts = part.is(Kind::binary, "<<") || part.is(Kind::binary, ">>") ||
                                 part.is(Kind::assignment, ">>=") ||
                                 part.is(Kind::assignment, "<<=");
             return part.kind == Kind::element || part.kind == Kind::loop ||
                    (shifts && part.parts[1].kind != Kind::literal);
           });
  }

 private:
  void add(CXCursor cursor) {
    DeviceFunction function = {.name = ParsedSource::name(cursor), .line = source_.line(cursor)};
    bool has_body = false;
    for (const CXCursor child : ParsedSource::children(cursor)) {
      const CXCursorKind kind = ParsedSource::kind(child);
      if (kind == CXCursor_ParmDecl) {
        add_parameter(child, function);
      } else if (kind == CXCursor_CompoundStmt) {
        function.body = syntax_of(source_, child);
        has_body = true;
      }
    }
    if (has_body) all_.push_back(std::move(function));
  }

  static void add_parameter(CXCursor cursor, DeviceFunction& function) {
    const std::string name = ParsedSource::name(cursor);
    const CXType type = clang().getCanonicalType(clang().getCursorType(cursor));
    const CXType element = clang().getPointeeType(type);
    function.parameters.push_back(name);
    function.is_const.push_back(clang().isConstQualifiedType(element) != 0);
    if (type.kind != CXType_Pointer) return;
    function.pointers.insert(name);
    if (ParsedSource::element_type(cursor).starts_with("unsigned"))
      function.unsigned_pointers.insert(name);
  }

  const ParsedSource& source_;
  std::vector<DeviceFunction> all_;
  std::multimap<std::string, const DeviceFunction*> by_name_;
  std::map<const DeviceFunction*, std::map<std::string, Access>> known_;
  int depth_ = 0;  ///< Depth of calls that are followed.
};

/// Follows a function's pointers, and copies of them, through its body.
class PointerReader {
 public:
  PointerReader(Functions& functions, const DeviceFunction& function)
      : functions_(functions), tokens_(functions.source().tokens()), function_(function) {
    statement(function.body);
  }

  const std::map<std::string, Access>& access() const { return access_; }

  /// Returns true if the body leaves some of the elements unchanged that it writes through the
  /// pointer, as far as its text shows.
  bool leaves_elements(const std::string& pointer) const {
    const auto stores = stores_.find(pointer);
    return stores != stores_.end() && !stores->second;
  }

 private:
  enum class Use { value, store, change };

  /// A condition that holds where it stands on the stack; its opposite if it is negated.
  struct Condition {
    const Syntax* text;
    bool negated;
  };

  void statement(const Syntax& syntax) {
    switch (syntax.kind) {
      case Kind::block:
        note_gaps(syntax);
        for (const Syntax& part : syntax.parts) statement(part);
        break;
      case Kind::variable:
        for (const Syntax& part : syntax.parts) {
          is_reference(syntax) ? refer(syntax.text, part) : declare(syntax.text, part);
        }
        break;
      case Kind::branch:
        branch(syntax);
        break;
      case Kind::loop:
        loop(syntax);
        break;
      default:
        expression(syntax);
    }
  }

  /// Notes pointers in what clang could not resolve and left out.
  void note_gaps(const Syntax& block) {
    for (const TokenRange& gap : gaps_in(block)) {
      for (std::size_t i = gap.first; i < gap.end; ++i) {
        const bool is_member = i > 0 && tokens_[i - 1].is(".", "->");
        if (!is_member) touch(roots_of(std::string(tokens_[i].text)), Access::unknown);
      }
    }
  }

  static bool is_reference(const Syntax& variable) {
    return clang().getCursorType(variable.cursor).kind == CXType_LValueReference;
  }

  /// Reads `float& name = p[i]`: what is done with the name is done with the element.
  void refer(const std::string& name, const Syntax& value) {
    const Names roots = element_roots(value);
    if (roots.empty()) return declare(name, value);
    references_[name].insert(roots.begin(), roots.end());
    indices(value);
  }

  void declare(const std::string& name, const Syntax& value) {
    if (const Names roots = roots_of(value); !roots.empty()) {
      copies_[name].insert(roots.begin(), roots.end());
      indices(value);
    } else {
      expression(value);
    }
  }

  void branch(const Syntax& syntax) {
    expression(syntax.parts[0]);
    if (syntax.parts.size() < 2) return;
    const Syntax& then = syntax.parts[1];
    const Syntax& first =
        then.kind == Kind::block && !then.parts.empty() ? then.parts.front() : then;
    // The else branch may write what this one does not.
    const bool is_alone = syntax.parts.size() == 2;
    const bool returns = first.is(Kind::leave, "return");
    if (is_alone && !returns) {
      under_condition(syntax.parts[0], then);
    } else {
      statement(then);
    }
    if (!is_alone) statement(syntax.parts[2]);
    if (is_alone && returns) conditions_.push_back({&syntax.parts[0], true});
  }

  /// Reads a body. A `return` under a condition in it holds for all that follows.
  void under_condition(const Syntax& condition, const Syntax& body) {
    const auto place = static_cast<std::ptrdiff_t>(conditions_.size());
    conditions_.push_back({&condition, false});
    statement(body);
    conditions_.erase(conditions_.begin() + place);
  }

  void loop(const Syntax& syntax) {
    statement(syntax.parts[Syntax::kBeginning]);
    expression(syntax.parts[Syntax::kCondition]);
    expression(syntax.parts[Syntax::kStep]);
    const bool counts = syntax.text == "for" && !syntax.parts[Syntax::kCondition].is_empty();
    if (counts) {
      under_condition(syntax.parts[Syntax::kCondition], syntax.parts[Syntax::kBody]);
    } else {
      statement(syntax.parts[Syntax::kBody]);
    }
  }

  /// Returns the pointers that a name stands for.
  Names roots_of(const std::string& name) const {
    Names roots;
    if (const auto copy = copies_.find(name); copy != copies_.end()) roots = copy->second;
    if (function_.pointers.contains(name)) roots.insert(name);
    return roots;
  }

  /// Returns the pointers of which an expression is one; empty if it is none.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  Names roots_of(const Syntax& syntax) const {
    const std::vector<Syntax>& parts = syntax.parts;
    if (syntax.kind == Kind::name) return roots_of(syntax.text);
    if (syntax.is(Kind::unary, "&")) return element_roots(parts[0]);
    const bool is_sum = syntax.is(Kind::binary, "+") || syntax.is(Kind::binary, "-");
    if (!is_sum && syntax.kind != Kind::conditional && syntax.kind != Kind::unary) return {};
    if (syntax.kind == Kind::unary && syntax.text != "++" && syntax.text != "--") return {};
    Names all;
    for (const Syntax& part : parts) all.merge(roots_of(part));
    return all;
  }

  /// Returns the pointers that lead to an element, `p[i].x` or `*(p + i)`; empty if it is none.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  Names element_roots(const Syntax& syntax) const {
    const auto reference =
        syntax.kind == Kind::name ? references_.find(syntax.text) : references_.end();
    if (reference != references_.end()) return reference->second;
    if (syntax.parts.empty()) return {};
    const Syntax& base = syntax.parts[0];
    if (syntax.is(Kind::unary, "*")) return roots_of(base);
    if (syntax.kind != Kind::element && syntax.kind != Kind::member) return {};
    Names roots = element_roots(base);
    const bool leads = syntax.kind == Kind::element ||
                       (syntax.range.end > 1 && tokens_[syntax.range.end - 2].is("->"));
    if (roots.empty() && leads) roots = roots_of(base);
    return roots;
  }

  void touch(const Names& roots, Access access) {
    for (const std::string& root : roots) {
      const auto [known, is_new] = access_.emplace(root, access);
      if (!is_new) known->second = both(known->second, access);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void expression(const Syntax& syntax, Use use = Use::value) {
    const std::vector<Syntax>& parts = syntax.parts;
    if (const Names roots = element_roots(syntax); !roots.empty()) {
      touch(roots, use == Use::value   ? Access::read
                   : use == Use::store ? Access::written
                                       : Access::both);
      if (use == Use::store) note_store(syntax);
      return indices(syntax);
    }
    switch (syntax.kind) {
      case Kind::assignment:
        assignment(syntax);
        return;
      case Kind::call:
        call(syntax);
        return;
      case Kind::block:
      case Kind::variable:
      case Kind::branch:
      case Kind::loop:
        statement(syntax);  // In a lambda.
        return;
      case Kind::name:
        // It may lead anywhere from here.
        touch(roots_of(syntax.text), Access::unknown);
        return;
      default:
        break;
    }
    const bool changes = syntax.steps();
    if (changes && !roots_of(parts[0]).empty()) return;  // Only the pointer itself advances.
    if (asks_for_null(syntax)) return;
    const bool goes_on = syntax.kind == Kind::member || syntax.kind == Kind::element;
    for (const Syntax& part : parts) {
      const Use inner = changes ? Use::change : goes_on && &part == &parts[0] ? use : Use::value;
      expression(part, inner);
    }
  }

  static bool asks_for_null(const Syntax& syntax) {
    if (!syntax.is(Kind::binary, "==") && !syntax.is(Kind::binary, "!=")) return false;
    return is_one_of(syntax.parts[1].text, {"nullptr", "NULL", "0", "__null"});
  }

  void assignment(const Syntax& syntax) {
    const Syntax& target = syntax.parts[0];
    const Syntax& value = syntax.parts[1];
    if (target.kind == Kind::name && (!roots_of(target).empty() || !roots_of(value).empty())) {
      if (syntax.text == "=") declare(target.text, value);
      return indices(value);
    }
    expression(value);
    expression(target, syntax.text == "=" ? Use::store : Use::change);
  }

  void call(const Syntax& syntax) {
    if (syntax.parts[0].kind == Kind::member) expression(syntax.parts[0]);
    for (std::size_t i = 1; i < syntax.parts.size(); ++i) {
      const Syntax& argument = syntax.parts[i];
      const Names roots = roots_of(argument);
      if (roots.empty()) {
        expression(argument);
        continue;
      }
      const Access access = functions_.of_argument(syntax.text, i - 1);
      // The address of one element is not passed to leave it alone.
      const bool is_address = argument.is(Kind::unary, "&");
      touch(roots, access == Access::unknown && is_address ? Access::both : access);
      indices(argument);
    }
  }

  /// Reads the indices in `p[i].x`, `*(p + i)`.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void indices(const Syntax& syntax) {
    for (std::size_t i = 0; i < syntax.parts.size(); ++i) {
      const Syntax& part = syntax.parts[i];
      const bool leads = !roots_of(part).empty() || !element_roots(part).empty();
      if (leads && !(syntax.kind == Kind::element && i == 1)) {
        indices(part);
      } else {
        expression(part);
      }
    }
  }

  /// Notes whether `p[i] = ...` may leave elements out.
  void note_store(const Syntax& target) {
    const Syntax* element = &target;
    while (element->kind == Kind::member) element = &element->parts[0];
    if (element->kind != Kind::element || element->parts[0].kind != Kind::name) return;
    const bool scatters =
        has_any(element->parts[1], [](const Syntax& part) { return part.kind == Kind::element; });
    const bool is_partial =
        scatters || std::ranges::any_of(conditions_, [&](const Condition& condition) {
          return leaves_out(*condition.text, condition.negated);
        });
    const auto [known, is_new] = stores_.emplace(element->parts[0].text, !is_partial);
    known->second = known->second || !is_partial;
  }

  /// Returns true if one of the terms of a condition leaves elements out, as all but an upper bound
  /// of an index does.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  bool leaves_out(const Syntax& condition, bool negated) const {
    if (condition.is(Kind::binary, "||") || condition.is(Kind::binary, "&&")) {
      return leaves_out(condition.parts[0], negated) || leaves_out(condition.parts[1], negated);
    }
    if (condition.is(Kind::unary, "!")) return leaves_out(condition.parts[0], !negated);
    const auto has = [](const Syntax& in, auto holds) { return has_any(in, holds); };
    if (has(condition, [](const Syntax& one) { return one.is_name("threadIdx"); })) return false;
    if (has(condition, [](const Syntax& one) { return one.kind == Kind::element; })) return true;
    if (condition.kind != Kind::binary) return false;
    const std::string_view sign = condition.text;
    const bool is_upper = negated ? sign == ">=" || sign == ">" : sign == "<";
    const bool is_lower = negated ? sign == "<" || sign == "<=" : sign == ">" || sign == ">=";
    if (is_upper) {
      return has(condition.parts[1], [](const Syntax& one) { return one.text == "-"; });
    }
    if (!is_lower) return sign == "!=" && !negated;
    // It bounds an index from below, unless it is like `n > i`.
    return !has(condition.parts[0], [&](const Syntax& one) {
      const std::vector<std::string>& own = function_.parameters;
      return one.kind == Kind::name && std::ranges::find(own, one.text) != own.end();
    });
  }

  Functions& functions_;
  const CppTokens& tokens_;
  const DeviceFunction& function_;
  std::map<std::string, Names> copies_;      ///< The pointers that local pointers are made from.
  std::map<std::string, Names> references_;  ///< Likewise, of local references to elements.
  std::map<std::string, Access> access_;
  std::vector<Condition> conditions_;
  std::map<std::string, bool> stores_;  ///< True for pointers of which a store leaves nothing out.
};

Access Functions::of_argument(const std::string& name, std::size_t number) {
  constexpr int kDeepest = 50;
  if (name.starts_with("__st") && number == 0) return Access::written;  // `__stcs` and others.
  if (name.starts_with("__ldg") || name.starts_with("__ldc")) return Access::read;
  if (name.starts_with("atomic") && number == 0) {
    static constexpr std::array<std::string_view, 5> kAdding = {
        "atomicAdd", "atomicSub", "atomicInc", "atomicOr", "atomicXor"};
    const bool adds = std::ranges::any_of(
        kAdding, [&](std::string_view adding) { return name.starts_with(adding); });
    return adds ? Access::added : Access::both;
  }
  std::optional<Access> all;  // The access by all overloads.
  const auto [first, end] = by_name_.equal_range(name);
  for (auto entry = first; entry != end; ++entry) {
    const DeviceFunction& function = *entry->second;
    if (number >= function.parameters.size()) return Access::unknown;
    // Unknown while it is being read, which matters for a function that calls itself.
    const auto [known, is_new] = known_.try_emplace(&function);
    if (is_new && depth_ < kDeepest) {
      ++depth_;
      std::map<std::string, Access> read = PointerReader(*this, function).access();
      --depth_;
      known_[&function] = std::move(read);
    }
    const std::map<std::string, Access>& its = known_[&function];
    const auto found = its.find(function.parameters[number]);
    const Access access = function.is_const[number] ? Access::read
                          : found == its.end()      ? Access::unknown
                                                    : found->second;
    all = all ? both(*all, access) : access;
  }
  return all.value_or(Access::unknown);
}

/// Follows the elements behind a kernel's pointers through the values of its variables.
class ElementFlow {
 public:
  ElementFlow(const Functions& functions, const DeviceFunction& function)
      : functions_(functions), function_(function) {
    // A loop may use a variable before the line that changes it.
    for (int pass = 0; pass < 2; ++pass) {
      for_each(function.body, [&](const Syntax& syntax) { read_value(syntax); });
    }
    for_each(function.body, [&](const Syntax& syntax) { read_use(syntax); });
  }

  const Names& indices() const { return indices_; }
  const Names& counts() const { return counts_; }
  /// Returns KernelParameter::index_of and bounds_of for a pointer.
  const Names& index_of(const std::string& pointer) { return index_of_[pointer]; }
  const Names& bounds_of(const std::string& pointer) { return bounds_of_[pointer]; }

 private:
  /// Returns the pointer that a value is a single element of; empty if it is anything else.
  std::string single_element(const Syntax& syntax) const {
    const bool is_element = syntax.kind == Kind::element && is_pointer(syntax.parts[0]);
    if (is_element) return syntax.parts[0].text;
    const auto variable = syntax.kind == Kind::name ? single_.find(syntax.text) : single_.end();
    return variable == single_.end() ? "" : variable->second;
  }

  void note_single(const std::string& variable, const std::string& element) {
    const auto [known, is_new] = single_.emplace(variable, element);
    if (!is_new && known->second != element) known->second.clear();
  }

  /// Notes the counter of a loop whose bounds are elements of one pointer:
  /// `for (j = rows[r]; j < rows[r + 1]; ++j)`.
  void read_loop(const Syntax& loop) {
    const Syntax& condition = loop.parts[Syntax::kCondition];
    if (!condition.is(Kind::binary, "<") || condition.parts[0].kind != Kind::name) return;
    const std::string pointer = single_element(condition.parts[1]);
    const std::string& counter = condition.parts[0].text;
    if (pointer.empty() || elements_in(condition.parts[0]) != Names{pointer}) return;
    const bool is_local = made_of_.contains(counter);
    if (is_local) counts_over_[counter] = pointer;
  }

  void read_index(const std::string& array, const Syntax& index) {
    const auto counter =
        index.kind == Kind::name ? counts_over_.find(index.text) : counts_over_.end();
    const std::string single = single_element(index);
    for (const std::string& name : elements_in(index)) {
      if (name == array) continue;
      indices_.insert(name);
      const bool is_bound = counter != counts_over_.end() && counter->second == name;
      if (!single.empty() && single != name) continue;  // It only chooses that element.
      (is_bound ? bounds_of_ : index_of_)[name].insert(is_bound || single == name ? array : "");
    }
  }

  void read_value(const Syntax& syntax) {
    if (syntax.kind == Kind::loop) read_loop(syntax);
    if (syntax.kind == Kind::unary && syntax.text.size() == 2 && !syntax.parts.empty()) {
      if (syntax.parts[0].kind == Kind::name) note_single(syntax.parts[0].text, "");  // `++i`
    }
    if (syntax.kind == Kind::variable) {
      for (const Syntax& part : syntax.parts) made_of_[syntax.text].merge(elements_in(part));
      if (!syntax.parts.empty()) note_single(syntax.text, single_element(syntax.parts[0]));
    }
    if (syntax.kind != Kind::assignment) return;
    if (syntax.parts[0].kind == Kind::name) {
      note_single(syntax.parts[0].text, syntax.text == "=" ? single_element(syntax.parts[1]) : "");
    }
    const Syntax* target = &syntax.parts[0];
    while (target->kind == Kind::element || target->kind == Kind::member) {
      if (target->parts.empty()) return;
      target = &target->parts[0];
    }
    if (target->kind == Kind::name) made_of_[target->text].merge(elements_in(syntax.parts[1]));
  }

  void read_use(const Syntax& syntax) {
    switch (syntax.kind) {
      case Kind::element: {
        read_index(syntax.parts[0].text, syntax.parts[1]);
        break;
      }
      case Kind::loop:
        counts_.merge(elements_in(syntax.parts[Syntax::kCondition]));
        break;
      case Kind::binary:
      case Kind::assignment:
        if (syntax.text.starts_with("<<") || syntax.text.starts_with(">>")) {
          counts_.merge(elements_in(syntax.parts[1]));
        }
        break;
      case Kind::call:
        if (!functions_.is_procedure(syntax.text)) break;
        for (const Syntax& part : syntax.parts) counts_.merge(elements_in(part));
        break;
      default:
        break;
    }
    for (const Syntax& part : syntax.parts) {
      const bool is_indexed = syntax.kind == Kind::element && &part == &syntax.parts[0];
      if (!is_indexed && is_pointer(part)) counts_.insert(part.text);
    }
  }

  bool is_pointer(const Syntax& syntax) const {
    return syntax.kind == Kind::name && function_.pointers.contains(syntax.text);
  }

  /// Returns the pointers whose elements decide how large a value may be.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  Names elements_in(const Syntax& syntax) const {
    const std::vector<Syntax>& parts = syntax.parts;
    if (syntax.kind == Kind::name) {
      const auto variable = made_of_.find(syntax.text);
      return variable == made_of_.end() ? Names() : variable->second;
    }
    std::vector<Names> of_parts;
    for (const Syntax& part : parts) of_parts.push_back(elements_in(part));
    if (syntax.kind == Kind::element && is_pointer(parts[0])) of_parts[0].insert(parts[0].text);
    if (syntax.is(Kind::binary, "%")) {  // A remainder is bounded if it cannot be negative.
      for (const std::string& name : function_.unsigned_pointers) of_parts[0].erase(name);
    }
    if (syntax.is(Kind::binary, "&")) {
      for (std::size_t side = 0; side < 2; ++side) {
        if (of_parts[side].empty() && !is_inverted(parts[side])) return {};  // It is a mask.
      }
    }
    Names found;
    for (Names& names : of_parts) found.merge(names);
    return found;
  }

  static bool is_inverted(const Syntax& syntax) {
    return has_any(syntax, [](const Syntax& part) { return part.is(Kind::unary, "~"); });
  }

  const Functions& functions_;
  const DeviceFunction& function_;
  std::map<std::string, Names> made_of_;            ///< Keyed by local variable or array.
  std::map<std::string, std::string> single_;       ///< Keyed by variable: see single_element().
  std::map<std::string, std::string> counts_over_;  ///< Keyed by a loop's counter: see read_loop().
  /// Pointers whose elements take part in an index of another array.
  Names indices_;
  std::map<std::string, Names> index_of_;
  std::map<std::string, Names> bounds_of_;
  /// Pointers whose elements decide how often a loop runs or how far a value is shifted, or go
  /// where that cannot be seen.
  Names counts_;
};

/// Returns the conditions of static_assert() in a body, with constants replaced by their values.
std::vector<std::string> asserts_in(const ParsedSource& source, const Syntax& body) {
  Terms constants;
  for_each(body, [&](const Syntax& syntax) {
    if (syntax.kind != Kind::variable || syntax.parts.empty()) return;
    if (clang().isConstQualifiedType(clang().getCursorType(syntax.cursor)) == 0) return;
    const std::string value = joined(source.tokens(), syntax.parts.front().range);
    constants.emplace_back(syntax.text, "(" + substituted(value, constants) + ")");
  });
  std::vector<std::string> found;
  const CppTokens& tokens = source.tokens();
  for (std::size_t i = body.range.first; i + 1 < body.range.end; ++i) {
    if (!tokens[i].is("static_assert") || !tokens[i + 1].is("(")) continue;
    const std::vector<TokenRange> parts = split(tokens, {i + 2, closing(tokens, i + 1)});
    found.push_back(substituted(joined(tokens, parts.front()), constants));
  }
  return found;
}

/// Returns the factor of `#pragma unroll FACTOR` in front of a loop; empty if there is none.
std::string unroll_factor(const CppTokens& tokens, std::size_t loop) {
  if (loop == 0 || tokens[loop - 1].kind != CppToken::Kind::directive) return "";
  const Directive directive = directive_of(tokens[loop - 1]);
  const CppTokens words = cpp_tokens(directive.rest);
  if (directive.name != "pragma" || words.size() < 2 || !words[0].is("unroll")) return "";
  return joined(words, {1, words.size()});
}

/// Returns `BOUND % STEP == 0` for loops that count from 0 to BOUND in steps of STEP, or are
/// unrolled that many times.
std::vector<std::string> divisions_in(const ParsedSource& source, const Syntax& body) {
  std::vector<std::string> found;
  for_each(body, [&](const Syntax& syntax) {
    if (!syntax.is(Kind::loop, "for")) return;
    const CountingLoop loop = read_counting_loop(source, syntax);
    const bool counts_up = loop.first == "0" && loop.compares == "<" && loop.operation == '+';
    if (loop.counter.empty() || !counts_up) return;
    const std::string factor = unroll_factor(source.tokens(), loop.place);
    if (loop.step == "1" && factor.empty()) return;
    std::string by = loop.step == "1" ? factor : in_parentheses(loop.step);
    if (loop.step != "1" && !factor.empty()) by += " * " + in_parentheses(factor);
    found.push_back(in_parentheses(loop.bound) + " % " + in_parentheses(by) + " == 0");
  });
  return found;
}

/// Finds which constants of a kernel are the extents of its block and of the tile that a block
/// works on, by how it numbers elements.
class ThreadExtents {
 public:
  ThreadExtents(const ParsedSource& source, const Syntax& body) : tokens_(source.tokens()) {
    for_each(body, [&](const Syntax& syntax) {
      if (syntax.kind != Kind::variable || syntax.parts.empty()) return;
      for (const char* of : {"threadIdx", "blockIdx", "blockDim"}) {
        if (const auto axis = axis_of(syntax.parts.front(), of)) names_[of][syntax.text] = *axis;
      }
    });
    for_each(body, [&](const Syntax& syntax) {
      if (!syntax.is(Kind::loop, "for")) return;
      const CountingLoop loop = read_counting_loop(source, syntax);
      if (loop.operation == '+' && is_identifier(loop.step)) steps_[loop.counter].insert(loop.step);
      for_each(syntax.parts[Syntax::kBeginning], [&](const Syntax& part) {
        if (const auto axis = axis_of(part, "threadIdx")) begins_loop_[*axis] = true;
      });
    });
    for_each(body, [&](const Syntax& syntax) {
      if (syntax.is(Kind::binary, "+")) read_sum(syntax);
      if (syntax.is(Kind::binary, "*")) read_product(syntax);
    });
  }

  /// Returns for each dimension the step of the loops whose counter is added to a thread's number,
  /// or TILE of `blockIdx.x * TILE + threadIdx.x`; empty if there are none or several, or if
  /// threads begin loops at their numbers.
  std::array<std::string, 3> names() const {
    std::array<std::string, 3> names;
    for (std::size_t axis = 0; axis < names.size(); ++axis) {
      const Names& found = by_step_[axis].empty() ? by_block_[axis] : by_step_[axis];
      if (!begins_loop_[axis]) names[axis] = only(found);
    }
    return names;
  }

  /// Notes the dimensions in which blockIdx is multiplied by blockDim.
  void add_strides(KernelFunction& kernel) const {
    for (const std::size_t axis : strides_) kernel.strides_by_block[axis] = true;
  }

  /// Returns for each dimension of the grid what blockIdx is multiplied by; empty if that is
  /// nothing that has a name, or several.
  std::array<std::string, 3> tiles() const {
    return {only(tiles_[0]), only(tiles_[1]), only(tiles_[2])};
  }

 private:
  /// Returns 0 for `of`.x or a variable with its value, 1 for y, 2 for z.
  std::optional<std::size_t> axis_of(const Syntax& syntax, const std::string& of) const {
    constexpr std::string_view kAxes = "xyz";
    const bool is_member = syntax.kind == Kind::member && syntax.text.size() == 1 &&
                           syntax.parts.size() == 1 && syntax.parts.front().is_name(of);
    if (is_member && kAxes.find(syntax.text) != kAxes.npos) return kAxes.find(syntax.text);
    const auto names = names_.find(of);
    if (syntax.kind != Kind::name || names == names_.end()) return std::nullopt;
    const auto known = names->second.find(syntax.text);
    return known == names->second.end() ? std::nullopt : std::optional(known->second);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the source nests sums.
  static void add_addends(const Syntax& sum, std::vector<const Syntax*>& addends) {
    for (const Syntax& part : sum.parts) {
      if (part.is(Kind::binary, "+")) {
        add_addends(part, addends);
      } else {
        addends.push_back(&part);
      }
    }
  }

  void read_sum(const Syntax& sum) {
    std::vector<const Syntax*> addends;
    add_addends(sum, addends);
    for (const Syntax* thread : addends) {
      const std::optional<std::size_t> axis = axis_of(*thread, "threadIdx");
      if (!axis) continue;
      for (const Syntax* other : addends) {
        const auto steps = steps_.find(other->text);
        if (other->kind == Kind::name && steps != steps_.end()) {
          by_step_[*axis].insert(steps->second.begin(), steps->second.end());
        }
        if (!other->is(Kind::binary, "*")) continue;
        if (const auto tile = tile_of(*other)) by_block_[*axis].insert(tile->first);
      }
    }
  }

  void read_product(const Syntax& product) {
    if (const auto tile = tile_of(product)) tiles_[tile->second].insert(tile->first);
    for (const std::size_t side : {0U, 1U}) {
      const auto axis = axis_of(product.parts[side], "blockIdx");
      if (axis && axis == axis_of(product.parts[1 - side], "blockDim")) strides_.insert(*axis);
    }
  }

  /// Returns the name in `name * blockIdx.x`, which may be a macro's, and the dimension.
  std::optional<std::pair<std::string, std::size_t>> tile_of(const Syntax& product) const {
    const auto tile_beside = [&](const Syntax& block, const Syntax& factor) {
      std::optional<std::pair<std::string, std::size_t>> tile;
      const std::string written = joined(tokens_, factor.range);
      const auto axis = axis_of(block, "blockIdx");
      if (axis && is_identifier(written)) tile.emplace(written, *axis);
      return tile;
    };
    const Syntax& left = product.parts.front();
    const Syntax& right = product.parts.back();
    const auto tile = tile_beside(left, right);
    return tile ? tile : tile_beside(right, left);
  }

  static std::string only(const Names& names) { return names.size() == 1 ? *names.begin() : ""; }

  const CppTokens& tokens_;
  /// Variables that are a thread's or a block's number, with its dimension.
  std::map<std::string, std::map<std::string, std::size_t>> names_;
  std::map<std::string, Names> steps_;  ///< Steps of loops, by counter.
  std::array<Names, 3> by_step_;
  std::array<Names, 3> by_block_;
  std::array<Names, 3> tiles_;
  std::array<bool, 3> begins_loop_ = {};
  std::set<std::size_t> strides_;
};

}  // namespace

void add_kernel_uses(KernelFile& file) {
  const ParsedSource source(with_macros_expanded(FlatSource(file.device_lines)),
                            ParsedSource::Part::device, file.compared);
  // Clang may have failed to read the declarations of a kernel's parameters.
  for (const KernelFunction& kernel : file.kernels) {
    for (const KernelParameter& parameter : kernel.parameters) file.declared.insert(parameter.name);
  }
  std::ranges::copy_if(source.missing(), std::back_inserter(file.missing),
                       [&](const MissingName& one) { return !file.declared.contains(one.name); });
  Functions functions(source);
  const BodyOf body_of = [&](const std::string& name) { return functions.body_of(name); };
  for (KernelFunction& kernel : file.kernels) {
    const DeviceFunction* const function = functions.find(kernel);
    if (function == nullptr) continue;
    const PointerReader pointers(functions, *function);
    ElementFlow flow(functions, *function);
    for (KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers == 0) continue;
      const auto access = pointers.access().find(parameter.name);
      if (access != pointers.access().end()) parameter.access = access->second;
      parameter.leaves_elements =
          parameter.access == Access::written && pointers.leaves_elements(parameter.name);
      parameter.indexes = flow.indices().contains(parameter.name);
      parameter.index_of = flow.index_of(parameter.name);
      parameter.bounds_of = flow.bounds_of(parameter.name);
      parameter.counts = flow.counts().contains(parameter.name);
      parameter.is_block_sum = parameter.access == Access::written &&
                               is_block_sum(function->body, parameter.name, body_of);
    }
    const ThreadExtents extents(source, function->body);
    extents.add_strides(kernel);
    for (const std::string& name : kernel.reached) {
      if (const Syntax* const body = body_of(name))
        ThreadExtents(source, *body).add_strides(kernel);
    }
    add_block_numbers(source, function->body, body_of, kernel);
    kernel.asserts = asserts_in(source, function->body);
    kernel.divisions = divisions_in(source, function->body);
    kernel.thread_extents = extents.names();
    kernel.tiles = extents.tiles();
    kernel.store = single_store(source, function->body, kernel);
    for (const KernelParameter& parameter : kernel.parameters) {
      const bool may_be_sum = parameter.is_block_sum || parameter.access == Access::added;
      if (kernel.store || !may_be_sum || holds_any(parameter.type, {"half", "bfloat"})) continue;
      kernel.store = sum_of_threads(source, function->body, kernel, parameter.name, body_of);
    }
  }
}

}  // namespace smemtune
