#include "tuner/init/statements.h"

#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kLongestText = 4000;
constexpr std::size_t kMostLoops = 8;
constexpr std::size_t kMostValues = 1000;  // A function has no more.

using Kind = Syntax::Kind;

/// Thrown for a statement that is not understood: the kernel is not simple.
struct NotSimple {};

/// Reads statements that a kernel and a function of the host have in common.
class Statements {
 public:
  explicit Statements(const ParsedSource& source) : tokens_(source.tokens()) {}

  /// Reads those of a kernel, which stores to what its pointers point to.
  Statements(const ParsedSource& source, const KernelFunction& kernel) : tokens_(source.tokens()) {
    pointers_.emplace();
    for (const KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers == 1) pointers_->insert(parameter.name);
      if (parameter.pointers > 1 || parameter.is_texture()) throw NotSimple();
    }
  }

  SingleStore read(const Syntax& body) {
    statement(body);
    return stored();
  }

 protected:
  /// Returns the store that has been read. Throws if there is none.
  SingleStore stored() const {
    if (!values_.contains(stored_)) throw NotSimple();
    SingleStore store = store_;
    const std::size_t open = stored_.find('[');
    store.array = stored_.substr(0, open);
    store.index = stored_.substr(open + 1, stored_.size() - open - 2);
    store.value = values_.at(stored_);
    return store;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void statement(const Syntax& syntax) {
    if (syntax.kind == Kind::block) {
      expect_no_gaps(syntax);
      for (const Syntax& part : syntax.parts) statement(part);
      return;
    }
    if (is_done_) throw NotSimple();
    switch (syntax.kind) {
      case Kind::variable:
        return declare(syntax);
      case Kind::branch:
        return condition(syntax);
      case Kind::loop:
        return loop(syntax);
      case Kind::assignment:
        return assign(syntax);
      default:
        throw NotSimple();
    }
  }

  /// Throws if there is something in the block that clang has left out.
  void expect_no_gaps(const Syntax& block) const {
    for (const TokenRange& gap : gaps_in(block)) {
      for (std::size_t i = gap.first; i < gap.end; ++i) expect_no_value(tokens_[i]);
    }
  }

  static void expect_no_value(const CppToken& token) {
    const bool is_pragma = token.kind == CppToken::Kind::directive &&
                           token.text.find("pragma") != std::string_view::npos;
    if (!is_pragma && token.kind != CppToken::Kind::symbol) throw NotSimple();
  }

  /// Reads `if (a) return;` or `if (a) { ... }`, which must contain the store.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void condition(const Syntax& syntax) {
    if (syntax.parts.size() != 2) throw NotSimple();
    if (depth_ > 0) return add_on_condition(syntax);
    if (!stored_.empty()) throw NotSimple();
    const std::string text = resolved(syntax.parts[0].range);
    const Syntax& then = syntax.parts[1];
    const bool in_braces = then.kind == Kind::block && then.parts.size() == 1;
    if ((in_braces ? then.parts[0] : then).is(Kind::leave, "return")) {
      store_.conditions.push_back("!(" + text + ")");
      return;
    }
    store_.conditions.push_back(text);
    statement(then);
    if (stored_.empty()) throw NotSimple();
    is_done_ = true;
  }

  /// Reads `if (a) sum += b;` in a loop.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void add_on_condition(const Syntax& syntax) {
    const std::string text = resolved(syntax.parts[0].range);
    std::map<std::string, std::string> before = std::exchange(added_, {});
    const std::map<std::string, std::string> outside = values_;
    statement(syntax.parts[1]);
    values_ = outside;
    const std::map<std::string, std::string> inner = std::exchange(added_, std::move(before));
    for (const auto& [target, value] : inner) {
      add_to(target, "(" + text + ") ? " + value + " : 0");
    }
  }

  /// `for (int counter = first; counter < end; ...)`.
  struct Range {
    std::string counter;
    std::string first;
    std::string end;
    bool by_one = false;  ///< True if each turn adds 1.
  };

  Range range_of(const Syntax& loop) {
    if (loop.text != "for") throw NotSimple();
    const auto [counter, first] = counted_from(loop);
    if (first == nullptr) throw NotSimple();
    const Syntax& compared = loop.parts[Syntax::kCondition];
    const bool to_end = compared.is(Kind::binary, "<=");
    const bool compares = to_end || compared.is(Kind::binary, "<");
    if (!compares || !compared.parts[0].is_name(counter)) throw NotSimple();
    const Syntax& step = loop.parts[Syntax::kStep];
    return {.counter = counter,
            .first = resolved(first->range),
            .end = "(" + resolved(compared.parts[1].range) + ")" + (to_end ? " + 1" : ""),
            .by_one = step.is(Kind::unary, "++") ||
                      (step.is(Kind::assignment, "+=") && step.parts[1].text == "1")};
  }

  /// Reads a loop that adds up, or one whose step is the whole grid.
  void loop(const Syntax& syntax) {
    const auto [counter, start, end, by_one] = range_of(syntax);
    if (start.find("axis_") != std::string::npos && !by_one) {
      return grid_loop(counter, start, syntax);
    }
    if (!by_one || counters_ == kMostLoops) throw NotSimple();
    const std::string bound = end + (start == "0" ? "" : " - (" + start + ")");
    const std::string counted = counter + "_" + std::to_string(counters_++);
    const std::map<std::string, std::string> outside = values_;
    values_[counter] = start == "0" ? counted : "(" + counted + " + " + start + ")";
    std::map<std::string, std::string> sums = std::exchange(added_, {});
    std::set<std::string> read = std::exchange(read_, {});
    ++depth_;
    statement(syntax.parts[Syntax::kBody]);
    --depth_;
    const std::set<std::string> read_here = std::exchange(read_, std::move(read));
    read_.insert(read_here.begin(), read_here.end());
    const std::map<std::string, std::string> inner = std::exchange(added_, std::move(sums));
    values_ = outside;
    for (const auto& [target, text] : inner) {
      // Each turn would read another value.
      if (read_here.contains(target.substr(0, target.find('[')))) throw NotSimple();
      add_to(target, "sum(" + counted + " < bound_of[" + bound + "], " + text + ")");
    }
  }

  void grid_loop(const std::string& counter, const std::string& start, const Syntax& syntax) {
    const Syntax& step = syntax.parts[Syntax::kStep];
    const bool by_grid =
        step.kind == Kind::assignment &&
        substituted(joined(tokens_, step.parts[1].range), terms()).find("gridDim") !=
            std::string::npos;
    if (depth_ > 0 || !by_grid || !step.parts[0].is_name(counter)) throw NotSimple();
    values_[counter] = start;
    store_.conditions.push_back(resolved(syntax.parts[Syntax::kCondition].range));
    statement(syntax.parts[Syntax::kBody]);
    is_done_ = true;
  }

  void declare(const Syntax& syntax) {
    const CXType type = clang().getCanonicalType(clang().getCursorType(syntax.cursor));
    const bool is_plain = type.kind != CXType_Pointer && type.kind != CXType_ConstantArray;
    const bool is_shared = tokens_[syntax.range.first].is("__shared__");
    if (!is_plain || is_shared || syntax.parts.size() != 1) throw NotSimple();
    values_[syntax.text] = thread_or(resolved(syntax.parts[0].range));
  }

  /// Returns the axis for `blockIdx.x * blockDim.x + threadIdx.x`, in any order; another text
  /// unchanged.
  static std::string thread_or(const std::string& text) {
    const CppTokens tokens = cpp_tokens(text);
    std::string axis;
    std::size_t threads = 0;
    std::size_t blocks = 0;
    std::size_t sums = 0;
    std::size_t products = 0;
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      const bool is_thread = tokens[i].is("threadIdx");
      if (!is_thread && !tokens[i].is("blockIdx")) continue;
      if (!axis.empty() && axis != tokens[i + 2].text) return text;
      axis = tokens[i + 2].text;
      ++(is_thread ? threads : blocks);
    }
    for (const CppToken& token : tokens) {
      sums += token.is("+") ? 1 : 0;
      products += token.is("*") ? 1 : 0;
    }
    static constexpr std::array<std::string_view, 7> kOther = {"-", "/", "%", "[", "<", "?", "&"};
    const bool has_other = std::ranges::any_of(tokens, [](const CppToken& token) {
      return std::ranges::find(kOther, token.text) != kOther.end();
    });
    const bool is_all = threads == 1 && blocks == 1 && sums == 1 && products == 1 && !has_other;
    return is_all ? "axis_" + axis : text;
  }

  /// Reads `name = a`, `out[i] += a`.
  void assign(const Syntax& syntax) {
    const Syntax& left = syntax.parts[0];
    const Syntax& right = syntax.parts[1];
    std::string target = left.text;
    if (left.kind == Kind::element && left.parts[0].kind == Kind::name) {
      target = left.parts[0].text;
      if (pointers_ && !pointers_->contains(target)) throw NotSimple();
      target += "[" + resolved(left.parts[1].range) + "]";
      begin_store(target);
    } else if (left.kind != Kind::name || !values_.contains(target)) {
      throw NotSimple();
    }
    const std::size_t first = right.range.first;
    const bool adds = syntax.text == "=" && left.kind == Kind::name && right.kind == Kind::binary &&
                      tokens_[first].is(target) && tokens_[first + 1].is("+");
    if (adds) return add_to(target, resolved({first + 2, right.range.end}));
    const std::string value = resolved(right.range);
    if (syntax.text == "=") {
      set(target, value);
    } else if (syntax.text == "+=") {
      add_to(target, value);
    } else if (syntax.text == "-=") {
      add_to(target, "-(" + value + ")");
    } else if (syntax.text == "*=" && depth_ == 0) {
      set(target, "(" + value_of(target) + ") * (" + value + ")");
    } else {
      throw NotSimple();
    }
  }

  void begin_store(const std::string& target) {
    if (!stored_.empty() && stored_ != target) throw NotSimple();
    stored_ = target;
  }

  std::string value_of(const std::string& target) const {
    const auto known = values_.find(target);
    return known == values_.end() ? target : known->second;
  }

  void set(const std::string& target, const std::string& value) {
    if (depth_ > 0) throw NotSimple();
    values_[target] = value;
  }

  /// Adds a value to the sum of the loop, or outside of loops to the value of the target.
  void add_to(const std::string& target, const std::string& value) {
    if (depth_ == 0) {
      const std::string before = value_of(target);
      const bool is_nothing =
          before == "0" || before == "0.0" || before == "0.0f" || before == "0.f" || before == "0.";
      values_[target] = is_nothing ? value : "(" + before + ") + (" + value + ")";
    } else {
      std::string& sum = added_[target];
      sum += (sum.empty() ? "" : " + ") + ("(" + value + ")");
    }
    if (value.size() > kLongestText) throw NotSimple();
  }

  Terms terms() const {
    Terms terms;
    for (const auto& [name, value] : values_) {
      terms.emplace_back(name, in_parentheses(value));
    }
    return terms;
  }

  std::string resolved(TokenRange range) {
    static constexpr std::array<std::string_view, 7> kOther = {"__shared__", "++", "--", "=",
                                                               "+=",         ";",  "{"};
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (std::ranges::find(kOther, tokens_[i].text) != kOther.end()) throw NotSimple();
      if (unknown_.contains(tokens_[i].text)) throw NotSimple();
      if (depth_ > 0) read_.emplace(tokens_[i].text);
    }
    std::string text = substituted(joined(tokens_, range), terms());
    text = without_casts(thread_or(text));
    if (text.size() > kLongestText) throw NotSimple();
    // Reading the stored element gives the stored value.
    return stored_.empty() || !values_.contains(stored_)
               ? text
               : substituted(text, {{stored_, "(" + values_.at(stored_) + ")"}});
  }

  const CppTokens& tokens_;
  std::optional<std::set<std::string>> pointers_;  ///< Names that may be stored to; null for all.
  std::set<std::string, std::less<>> unknown_;     ///< Names of values that were not understood.
  /// Values of local names, and of the stored element.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> added_;  ///< Sums of the loop that is being read.
  std::set<std::string> read_;                ///< Words of that loop's values.
  std::string stored_;                        ///< `out[index]`; empty before the store.
  std::size_t counters_ = 0;                  ///< Loops that have been read.
  int depth_ = 0;                             ///< Depth of loops.
  bool is_done_ = false;                      ///< True once the code behind a condition has stored.
  SingleStore store_;
};

/// Reads what a function of the host stores to elements of arrays in loops over their indices, and
/// what it compares elements with.
class HostStatements : public Statements {
 public:
  HostStatements(const ParsedSource& source, const Syntax& body)
      : Statements(source), source_(source) {
    note_changed(body);
    walk(body);
  }

  HostValues found() const { return found_; }

 private:
  /// Notes the variables that get a value more than once.
  void note_changed(const Syntax& body) {
    std::map<std::string, int> times;
    for_each(body, [&](const Syntax& syntax) {
      const bool steps = syntax.is(Kind::unary, "++") || syntax.is(Kind::unary, "--");
      if (syntax.kind == Kind::variable && !syntax.parts.empty()) ++times[syntax.text];
      if (syntax.is(Kind::assignment, "=")) ++times[syntax.parts[0].text];
      if (steps || (syntax.kind == Kind::assignment && syntax.text != "=")) {
        times[syntax.parts[0].text] += 2;
      }
    });
    for (const auto& [name, count] : times) {
      if (count > 1) changed_.insert(name);
    }
  }

  /// Reads statements outside of loops over elements.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void walk(const Syntax& syntax) {
    switch (syntax.kind) {
      case Kind::loop:
        return syntax.text == "for" ? nest(syntax) : walk_parts(syntax);
      case Kind::branch:
        compare(syntax);
        [[fallthrough]];
      case Kind::list_loop:
      case Kind::choice:
        return walk_parts(syntax);
      case Kind::block:
        for (const Syntax& part : syntax.parts) walk(part);
        return;
      default:
        compare(syntax);
        simple(syntax);
    }
  }

  /// Reads parts that may be run several times or not at all.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void walk_parts(const Syntax& syntax) {
    forget(assigned_in(syntax));
    for (const Syntax& part : syntax.parts) {
      if (part.kind != Kind::name && part.kind != Kind::literal) walk(part);
    }
    forget(assigned_in(syntax));
  }

  /// Reads a variable or an assignment to one; what anything else changes is forgotten.
  void simple(const Syntax& syntax) {
    const bool assigns = syntax.kind == Kind::assignment && syntax.parts[0].kind == Kind::name;
    const bool declares = syntax.kind == Kind::variable && !syntax.parts.empty();
    const std::string& name = assigns ? syntax.parts[0].text : syntax.text;
    std::set<std::string> names = assigned_in(syntax);
    if (declares) names.insert(name);
    const bool gives = declares || (assigns && syntax.text == "=");
    if (gives && array_.empty() && !changed_.contains(name)) {
      // It is known where the function is called or launches.
      found_.constants[name] = joined(tokens_, syntax.parts.back().whole);
      return;
    }
    try {
      if (!assigns && !declares) throw NotSimple();
      if (gives) {
        set(name, thread_or(resolved(syntax.parts.back().range)));
      } else {
        assign(syntax);
      }
      unknown_.erase(name);
    } catch (const NotSimple&) {
      forget(names);
    }
  }

  void forget(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      if (values_.erase(name) > 0 || changed_.contains(name)) unknown_.insert(name);
    }
  }

  /// Reads a loop outside of others: once for each array whose elements it goes through, or as a
  /// loop that adds up.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void nest(const Syntax& loop) {
    for (const std::string& array : arrays_through(loop)) {
      HostStatements one(*this);
      one.found_.values.clear();
      one.array_ = array;
      try {
        one.through(loop);
        one.keep_store(loop);
      } catch (const NotSimple&) {  // Its comparisons may be known.
      }
      std::ranges::move(one.found_.values, std::back_inserter(found_.values));
    }
    const std::set<std::string> names = assigned_in(loop);
    HostStatements sum(*this);
    try {
      sum.loop(loop);
      if (!sum.stored_.empty()) throw NotSimple();
      values_ = sum.values_;
      counters_ = sum.counters_;
    } catch (const NotSimple&) {
      if (found_.values.size() < kMostValues) walk_parts(loop);
    }
  }

  void keep_store(const Syntax& loop) {
    if (stored_.empty()) return;
    found_.values.push_back({.store = stored(), .line = source_.line(loop.cursor)});
  }

  /// Reads a loop over an index of the array, or one that adds up.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void through(const Syntax& loop) {
    if (loop.kind != Kind::loop) throw NotSimple();
    if (!arrays_through(loop).contains(array_)) return this->loop(loop);
    const Range range = range_of(loop);
    if (!range.by_one || axes_ == kMostLoops) throw NotSimple();
    const std::string axis = std::string("axis_") + static_cast<char>('a' + axes_++);
    if (range.first != "0") store_.conditions.push_back(axis + " >= " + range.first);
    store_.conditions.push_back(axis + " < " + range.end);
    unknown_.erase(range.counter);
    values_[range.counter] = axis;
    turn(loop.parts[Syntax::kBody]);
  }

  /// Reads a statement in a loop over the array's elements.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void turn(const Syntax& syntax) {
    if (syntax.kind == Kind::block) {
      for (const Syntax& part : syntax.parts) turn(part);
      return;
    }
    if (syntax.kind == Kind::loop) return through(syntax);
    if (syntax.kind == Kind::assignment && syntax.parts[0].kind == Kind::element) {
      const Syntax& stored_to = syntax.parts[0].parts[0];
      if (stored_to.is_name(array_)) assign(syntax);
      return;
    }
    const bool may_store =
        syntax.kind != Kind::variable && has_any(syntax, [&](const Syntax& part) {
          return part.kind == Kind::assignment && part.parts[0].kind == Kind::element &&
                 part.parts[0].parts[0].is_name(array_);
        });
    if (may_store) throw NotSimple();
    compare(syntax);
    simple(syntax);
  }

  /// Returns the arrays that the loop stores to, or compares with something, by an index in which
  /// it counts.
  std::set<std::string> arrays_through(const Syntax& loop) const {
    std::set<std::string> arrays;
    const std::pair<std::string, const Syntax*> counted = counted_from(loop);
    if (counted.second == nullptr) return arrays;
    std::map<std::string, std::string> made_of;
    for_each(loop, [&](const Syntax& part) {
      if (part.kind == Kind::variable && part.parts.size() == 1) {
        made_of[part.text] = joined(tokens_, part.parts[0].whole);
      }
    });
    const auto add = [&](const Syntax& target) {
      if (target.kind != Kind::element || target.parts[0].kind != Kind::name) return;
      const std::set<std::string> names =
          names_behind({joined(tokens_, target.parts[1].whole)},
                       [&](const std::string& name) { return value_among(made_of, name); });
      if (names.contains(counted.first)) arrays.insert(target.parts[0].text);
    };
    for_each(loop, [&](const Syntax& part) {
      if (part.kind == Kind::assignment) add(part.parts[0]);
      for (const auto& [one, other] : compared_by(part)) {
        add(*one);
        add(*other);
      }
    });
    return arrays;
  }

  /// Notes what elements of the array are compared with; outside of loops, single values.
  void compare(const Syntax& syntax) {
    if (syntax.kind == Kind::branch) return compare(syntax.parts[0]);
    for_each(syntax, [&](const Syntax& part) {
      for (const auto& [one, other] : compared_by(part)) {
        note_compared(*one, *other);
        note_compared(*other, *one);
      }
    });
  }

  void note_compared(const Syntax& one, const Syntax& other) {
    HostValue value = {.line = source_.line(one.cursor), .is_compared = true};
    try {
      if (one.kind == Kind::element && one.parts[0].kind == Kind::name) {
        value.store.array = one.parts[0].text;
        value.store.index = resolved(one.parts[1].range);
      } else if (one.kind == Kind::name) {
        value.store = {.array = one.text, .index = "0"};
      }
      const bool is_wanted =
          array_.empty() ? value.store.index == "0" : value.store.array == array_;
      if (value.store.array.empty() || !is_wanted) return;
      value.store.value = resolved(other.range);
    } catch (const NotSimple&) {
      return;
    }
    value.store.conditions = store_.conditions;
    found_.values.push_back(std::move(value));
  }

  const ParsedSource& source_;
  std::set<std::string> changed_;  ///< Variables that get other values.
  std::string array_;              ///< The array whose elements are gone through.
  std::size_t axes_ = 0;           ///< Loops over its indices.
  HostValues found_;
};

}  // namespace

std::optional<SingleStore> single_store(const ParsedSource& source, const Syntax& body,
                                        const KernelFunction& kernel) {
  try {
    return Statements(source, kernel).read(body);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::vector<ComparedPair> compared_by(const Syntax& syntax) {
  static constexpr std::array<std::string_view, 3> kDifferences = {"diff", "err", "delta"};
  static constexpr std::array<std::string_view, 4> kSame = {"near", "equal", "close", "same"};
  const std::vector<Syntax>& parts = syntax.parts;
  const auto difference = [](const Syntax& of) -> std::vector<ComparedPair> {
    const bool is_relative = of.is(Kind::binary, "/");
    const Syntax& whole = is_relative ? of.parts[0] : of;
    if (!whole.is(Kind::binary, "-")) return {};
    return {{&whole.parts[0], &whole.parts[1]}};
  };
  if (syntax.is(Kind::binary, "==") || syntax.is(Kind::binary, "!=")) {
    return {{&parts[0], &parts[1]}};
  }
  if (syntax.kind == Kind::variable && parts.size() == 1 && holds_any(syntax.text, kDifferences)) {
    return difference(parts[0]);
  }
  if (syntax.kind == Kind::assignment && holds_any(parts[0].text, kDifferences)) {
    return difference(parts[1]);
  }
  if (syntax.kind != Kind::call) return {};
  if (parts.size() == 2 && lower_case(syntax.text).find("abs") != std::string::npos) {
    return difference(parts[1]);
  }
  if (parts.size() < 3 || !holds_any(syntax.text, kSame)) return {};
  return {{&parts[1], &parts[2]}};
}

HostValues host_values(const ParsedSource& source, const Syntax& body) {
  return HostStatements(source, body).found();
}

}  // namespace smemtune
