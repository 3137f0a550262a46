#include "tuner/init/statements.h"

#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kLongestText = 4000;
constexpr std::size_t kMostLoops = 8;

using Kind = Syntax::Kind;

/// Thrown for a statement that is not understood: the kernel is not simple.
struct NotSimple {};

/// Reads statements that a kernel and a function of the host have in common.
class Statements {
 public:
  explicit Statements(const ParsedSource& source) : tokens_(source.tokens()) {}
  virtual ~Statements() = default;

  /// Reads those of a kernel, which stores to what its pointers point to.
  Statements(const ParsedSource& source, const KernelFunction& kernel) : tokens_(source.tokens()) {
    pointers_.emplace();
    for (const KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers == 1) pointers_->insert(parameter.name);
      if (parameter.pointers > 1 || parameter.is_texture()) throw NotSimple();
    }
    for (const TemplateParameter& parameter : kernel.template_parameters) {
      if (parameter.is_type()) types_.push_back(parameter.name);
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
  virtual void statement(const Syntax& syntax) {
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
    if (depth_ > 0) return add_on_condition(syntax.parts[0].range, syntax.parts[1]);
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
  void add_on_condition(TokenRange condition, const Syntax& body) {
    const std::string text = resolved(condition);
    std::map<std::string, std::string> before = std::exchange(added_, {});
    const std::map<std::string, std::string> outside = values_;
    statement(body);
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
    bool by_one = false;     ///< True if each turn adds 1.
    std::string array = {};  ///< If given, `counter` is the name of its elements, one by one.
    /// If given, `counter` goes on from `first` by it, as long as `condition` holds.
    std::string step = {};
    TokenRange condition = {};
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

  /// Reads a loop that adds up, one whose step is the whole grid, or one through elements that a
  /// thread stores.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void loop(const Syntax& syntax) {
    if (const auto grid = depth_ == 0 ? grid_loop_in(syntax) : std::nullopt) {
      return grid_loop(*grid, syntax.parts[Syntax::kCondition]);
    }
    if (depth_ == 0 && pointers_ && chooses(syntax)) {
      expect_one_element(syntax);
      forget(assigned_in(syntax.parts[Syntax::kBody]));
      through(syntax);
      is_done_ = true;
      return;
    }
    add_up(range_of(syntax), syntax.parts[Syntax::kBody]);
  }

  void add_up(const Range& range, const Syntax& body) {
    if (!range.by_one || counters_ == kMostLoops) throw NotSimple();
    const bool is_from_zero = range.first == "0" || !range.step.empty();
    const std::string bound = range.end + (is_from_zero ? "" : " - (" + range.first + ")");
    const std::string counted = range.counter + "_" + std::to_string(counters_++);
    const std::map<std::string, std::string> outside = values_;
    values_[range.counter] = !range.array.empty() ? range.array + "[" + counted + "]"
                             : !range.step.empty()
                                 ? "(" + range.first + " + " + counted + " * " + range.step + ")"
                             : is_from_zero ? counted
                                            : "(" + counted + " + " + range.first + ")";
    unknown_.erase(range.counter);
    std::map<std::string, std::string> sums = std::exchange(added_, {});
    std::set<std::string> read = std::exchange(read_, {});
    ++depth_;
    range.step.empty() ? statement(body) : add_on_condition(range.condition, body);
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

  /// A loop of a kernel that goes from the thread's number on by the number of all threads.
  struct GridLoop {
    std::string counter;
    std::string start = {};
    std::string step = {};
    Syntax body = {};  ///< Without the step.
  };

  /// Reads `for (i = thread; i < n; i += threads)` or `while (i < n) { ...; i += threads; }`.
  std::optional<GridLoop> grid_loop_in(const Syntax& syntax) {
    const Syntax& condition = syntax.parts[Syntax::kCondition];
    const Syntax& body = syntax.parts[Syntax::kBody];
    const bool compares = condition.kind == Kind::binary && condition.parts[0].kind == Kind::name;
    if (!compares || syntax.text == "do") return std::nullopt;
    const bool is_while = syntax.text == "while";
    if (is_while && (body.kind != Kind::block || body.parts.empty())) return std::nullopt;
    const Syntax& step = is_while ? body.parts.back() : syntax.parts[Syntax::kStep];
    if (step.kind != Kind::assignment) return std::nullopt;
    GridLoop loop = {.counter = condition.parts[0].text, .body = body};
    const Syntax& value = step.parts[1];
    const bool is_whole =
        step.text == "=" && value.is(Kind::binary, "+") && value.parts[0].is_name(loop.counter);
    const bool adds = step.parts[0].is_name(loop.counter) && (step.text == "+=" || is_whole);
    if (!adds) return std::nullopt;
    loop.step = in_parentheses(resolved((is_whole ? value.parts[1] : value).range));
    const auto [counter, first] = counted_from(syntax);
    loop.start = first != nullptr && counter == loop.counter ? resolved(first->range)
                                                             : value_of(loop.counter);
    if (is_while) {
      loop.body.range.end = step.whole.first;
      loop.body.parts.pop_back();
    }
    return is_by_all_threads(loop) ? std::optional(loop) : std::nullopt;
  }

  virtual bool is_by_all_threads(const GridLoop& loop) const {
    return loop.step.find("gridDim") != std::string::npos &&
           loop.start.find("axis_") != std::string::npos;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  virtual void grid_loop(const GridLoop& loop, const Syntax& condition) {
    forget(assigned_in(loop.body));
    unknown_.erase(loop.counter);
    values_[loop.counter] = loop.start;
    store_.conditions.push_back(resolved(condition.range));
    statement(loop.body);
    is_done_ = true;
  }

  /// Calls `use` for each element that a statement stores to.
  virtual void for_each_store(const Syntax& syntax,
                              const std::function<void(const Syntax&)>& use) const {
    for_each(syntax, [&](const Syntax& part) {
      if (part.kind != Kind::assignment || part.parts[0].kind != Kind::element) return;
      if (pointers_ && pointers_->contains(part.parts[0].parts[0].text)) use(part.parts[0]);
    });
  }

  /// Returns true if the counter of a loop decides which elements it stores to.
  bool chooses(const Syntax& loop) const {
    std::map<std::string, std::string> made_of;
    for_each(loop, [&](const Syntax& part) {
      if (part.kind == Kind::variable && part.parts.size() == 1) {
        made_of[part.text] = joined(tokens_, part.parts[0].whole);
      }
    });
    bool chooses = false;
    for_each_store(loop, [&](const Syntax& element) {
      const auto value = [&](const std::string& name) { return value_among(made_of, name); };
      const std::string index = joined(tokens_, element.parts.back().whole);
      chooses = chooses || names_behind({index}, value).contains(counted_from(loop).first);
    });
    return chooses;
  }

  /// Throws if a loop has other elements of the array that it stores to: those of other turns.
  void expect_one_element(const Syntax& loop) const {
    std::set<std::string> arrays;
    for_each_store(loop, [&](const Syntax& element) { arrays.insert(element.parts[0].text); });
    std::set<std::string> elements;
    for_each(loop, [&](const Syntax& part) {
      const bool is_its = part.kind == Kind::element && arrays.contains(part.parts[0].text);
      if (is_its) elements.insert(joined(tokens_, part.range));
    });
    if (elements.size() != 1) throw NotSimple();
  }

  /// Reads a loop over an index of the array that is stored to.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void through(const Syntax& loop) {
    const Range range = range_of(loop);
    if (!range.by_one || axes_ == kMostLoops) throw NotSimple();
    const std::string axis = std::string("axis_") + static_cast<char>('a' + axes_++);
    if (range.first != "0") store_.conditions.push_back(axis + " >= " + range.first);
    store_.conditions.push_back(axis + " < " + range.end);
    unknown_.erase(range.counter);
    values_[range.counter] = axis;
    walk(loop.parts[Syntax::kBody]);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  virtual void walk(const Syntax& syntax) { statement(syntax); }

  void declare(const Syntax& syntax) {
    const CXType type = clang().getCanonicalType(clang().getCursorType(syntax.cursor));
    const bool is_plain = type.kind != CXType_Pointer && type.kind != CXType_ConstantArray;
    const bool is_shared = tokens_[syntax.range.first].is("__shared__");
    if (!is_plain || is_shared || syntax.parts.size() != 1) throw NotSimple();
    values_[syntax.text] = thread_or(resolved(syntax.parts[0].range));
    unknown_.erase(syntax.text);
  }

  /// Returns the axis for `blockIdx.x * blockDim.x + threadIdx.x`, in any order, also where a
  /// constant stands for the block's size unless that `may_differ_`; another text unchanged.
  std::string thread_or(const std::string& text) const {
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
    const bool has_other = std::ranges::any_of(tokens, [](const CppToken& token) {
      return is_one_of(token.text, {"-", "/", "%", "[", "<", "?", "&"});
    });
    const bool is_all = threads == 1 && blocks == 1 && sums == 1 && products == 1 && !has_other &&
                        (!may_differ_ || text.find("blockDim") != std::string::npos);
    return is_all ? "axis_" + axis : text;
  }

  /// Reads `name = a`, `out[i] += a`.
  void assign(const Syntax& syntax) {
    const Syntax& left = syntax.parts[0];
    const Syntax& right = syntax.parts[1];
    const std::string target = target_of(left);
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

  /// Returns the variable or the element that an assignment gives a value.
  virtual std::string target_of(const Syntax& left) {
    if (left.kind == Kind::name && values_.contains(left.text)) return left.text;
    if (left.kind != Kind::element || left.parts[0].kind != Kind::name) throw NotSimple();
    std::string target = left.parts[0].text;
    if (pointers_ && !pointers_->contains(target)) throw NotSimple();
    target += "[" + resolved(left.parts[1].range) + "]";
    begin_store(target);
    return target;
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

  void forget(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      values_.erase(name);
      unknown_.insert(name);
    }
  }

  Terms terms() const {
    Terms terms;
    for (const auto& [name, value] : values_) {
      terms.emplace_back(name, in_parentheses(value));
    }
    for (const std::string& type : types_) terms.emplace_back(type + "(", "(");
    return terms;
  }

  std::string resolved(TokenRange range) {
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (is_one_of(tokens_[i].text, {"__shared__", "++", "--", "=", "+=", ";", "{"}))
        throw NotSimple();
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
  std::vector<std::string> types_;                 ///< Template parameters that are types.
  std::set<std::string, std::less<>> unknown_;     ///< Names of values that are not understood.
  /// Values of local names, and of the stored element.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> added_;  ///< Sums of the loop that is being read.
  std::set<std::string> read_;                ///< Words of that loop's values.
  std::string stored_;                        ///< `out[index]`; empty before the store.
  std::size_t counters_ = 0;                  ///< Loops that have been read.
  int depth_ = 0;                             ///< Depth of loops.
  std::size_t axes_ = 0;                      ///< Loops over the stored array's indices.
  bool may_differ_ = false;  ///< True if constants are not taken for the block's size.
  bool is_done_ = false;     ///< True once the code behind a condition has stored.
  SingleStore store_;
};

/// Reads what loops of the host store to the elements of one array, or compare them with.
class CheckStatements : public Statements {
 public:
  CheckStatements(const ParsedSource& source, std::string array,
                  const std::vector<Comparison>& comparisons)
      : Statements(source), array_(std::move(array)) {
    for (const Comparison& one : comparisons) {
      if (one.array == array_) comparisons_.emplace(one.statement.first, &one);
    }
  }

  SingleStore read(const Syntax& whole) {
    unknown_.merge(assigned_in(whole));
    walk(whole);
    return stored();
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void walk(const Syntax& syntax) override {
    const auto comparison = comparisons_.find(syntax.whole.first);
    const bool compares =
        comparison != comparisons_.end() && comparison->second->statement.end == syntax.whole.end;
    if (compares) return compare(*comparison->second);
    switch (syntax.kind) {
      case Kind::block:
        for (const Syntax& part : syntax.parts) walk(part);
        return;
      case Kind::variable:
      case Kind::assignment:
        return simple(syntax);
      case Kind::loop:
        return chooses(syntax) ? through(syntax) : sum(syntax);
      default:
        may_not_run(syntax);
    }
  }

  /// Calls `use` for each element of the array that a statement stores to or compares.
  void for_each_store(const Syntax& syntax,
                      const std::function<void(const Syntax&)>& use) const override {
    auto one = comparisons_.lower_bound(syntax.whole.first);
    for (; one != comparisons_.end() && one->first < syntax.whole.end; ++one) {
      use(*one->second->element);
    }
    for_each(syntax, [&](const Syntax& part) {
      if (part.kind != Kind::assignment || part.parts[0].kind != Kind::element) return;
      if (part.parts[0].parts[0].is_name(array_)) use(part.parts[0]);
    });
  }

  bool may_store(const Syntax& syntax) const {
    bool may = false;
    for_each_store(syntax, [&](const Syntax&) { may = true; });
    return may;
  }

  void compare(const Comparison& comparison) {
    const std::string index = resolved(comparison.element->parts[1].range);
    const std::string value = resolved(comparison.expected->range);
    if (!stored_.empty()) throw NotSimple();
    begin_store(array_ + "[" + index + "]");
    set(stored_, value);
  }

  /// Reads a variable or an assignment; what is not understood is forgotten.
  void simple(const Syntax& syntax) {
    if (may_store(syntax)) return assign(syntax);
    std::set<std::string> names = assigned_in(syntax);
    if (syntax.kind == Kind::variable) names.insert(syntax.text);
    try {
      if (syntax.kind == Kind::variable) {
        declare(syntax);
      } else if (syntax.is(Kind::assignment, "=") && syntax.parts[0].kind == Kind::name) {
        set(syntax.parts[0].text, thread_or(resolved(syntax.parts[1].range)));
      } else if (syntax.parts[0].kind == Kind::name) {
        assign(syntax);
      }
      for (const std::string& name : names) unknown_.erase(name);
    } catch (const NotSimple&) {
      forget(names);
    }
  }

  /// Reads a loop that adds up, or repeats all.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void sum(const Syntax& loop) {
    CheckStatements one(*this);
    try {
      one.loop(loop);
      values_ = one.values_;
      counters_ = one.counters_;
      stored_ = one.stored_;
    } catch (const NotSimple&) {
      may_not_run(loop);
    }
  }

  /// Reads a statement of which parts may be left out.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void may_not_run(const Syntax& syntax) {
    const bool stores = may_store(syntax);
    if (stores && axes_ > 0) throw NotSimple();
    forget(assigned_in(syntax));
    for (const Syntax& part : syntax.parts) {
      if (stores) walk(part);
    }
    forget(assigned_in(syntax));
  }

  std::string array_;
  std::map<std::size_t, const Comparison*> comparisons_;  ///< Keyed by their first tokens.
};

/// Reads a kernel whose threads first work out a term each, and then add these up.
class ThreadSums : public Statements {
 public:
  ThreadSums(const ParsedSource& source, const KernelFunction& kernel, std::string pointer,
             const BodyOf& body_of)
      : Statements(source, kernel), pointer_(std::move(pointer)), body_of_(body_of) {
    for (const SharedArray& array : kernel.shared) {
      shared_.insert(array.name);
      if (is_whole(array.type)) whole_.insert(array.name);
    }
    for (const KernelParameter& parameter : kernel.parameters) {
      has_whole_results_ =
          has_whole_results_ || (parameter.name == pointer_ && is_whole(parameter.type));
    }
    may_differ_ = true;
  }

  SingleStore read(const Syntax& body) {
    expect_no_gaps(body);
    std::size_t first = 0;
    while (first < body.parts.size() && !begins_to_add_up(body.parts[first])) {
      statement(body.parts[first++]);
    }
    sums_ = shared_;
    for (std::size_t i = first; i < body.parts.size(); ++i) choose_term(body.parts[i]);
    for (std::size_t i = first; i < body.parts.size(); ++i) add_up_threads(body.parts[i]);
    const bool rounds = !has_whole_results_ && mentions_any(sums_, whole_);
    if (term_.empty() || !store_.is_of_threads || rounds) throw NotSimple();
    return of_threads();
  }

 private:
  /// Returns true for the first statement that uses what other threads have worked out, or the
  /// result.
  bool begins_to_add_up(const Syntax& syntax) {
    return has_any(syntax, [&](const Syntax& part) {
      if (part.kind == Kind::call) {
        return part.text.starts_with("__sync") || part.text.starts_with("__shfl") ||
               part.text.starts_with("atomic") || body_of_(part.text) != nullptr;
      }
      if (part.kind == Kind::assignment && mentions(part.parts[1], shared_)) return true;
      const bool is_shared = part.kind == Kind::element && shared_.contains(part.parts[0].text);
      return part.is_name(pointer_) || (is_shared && !is_of(part.parts[1], "threadIdx.x"));
    });
  }

  bool is_of(const Syntax& index, std::string_view number) {
    return without_parentheses(resolved(index.range)) == number;
  }

  static bool mentions(const Syntax& syntax, const std::set<std::string>& names) {
    return has_any(syntax, [&](const Syntax& part) {
      return part.kind == Kind::name && names.contains(part.text);
    });
  }

  // The terms.

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void statement(const Syntax& syntax) override {
    if (syntax.kind == Kind::variable) return variable(syntax);
    if (syntax.kind == Kind::branch && depth_ == 0) return branch(syntax);
    Statements::statement(syntax);
  }

  static bool is_whole(const std::string& type) {
    return holds_any(type, {"int", "long", "short", "char", "size_t"});
  }

  static bool mentions_any(const std::set<std::string>& names, const std::set<std::string>& of) {
    return std::ranges::any_of(names, [&](const std::string& name) { return of.contains(name); });
  }

  void variable(const Syntax& syntax) {
    if (shared_.contains(syntax.text)) return;
    if (is_whole(ParsedSource::type(syntax.cursor))) whole_.insert(syntax.text);
    try {
      if (syntax.parts.empty()) values_[syntax.text] = "0";
      if (!syntax.parts.empty()) declare(syntax);
    } catch (const NotSimple&) {
      forget({syntax.text});
    }
  }

  /// Reads `if (i < n) sum += in[i];`, `if (i < n) kept[t] = in[i]; else kept[t] = 0;`.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void branch(const Syntax& syntax) {
    const std::string text = resolved(syntax.parts[0].range);
    const std::map<std::string, std::string> before = values_;
    statement(syntax.parts[1]);
    const std::map<std::string, std::string> then = std::exchange(values_, before);
    if (syntax.parts.size() > 2) statement(syntax.parts[2]);
    for (auto& [name, value] : values_) {
      const auto other = then.find(name);
      if (other == then.end() || other->second == value) continue;
      value = "((" + text + ") ? (" + other->second + ") : (" + value + "))";
    }
  }

  bool is_by_all_threads(const GridLoop& loop) const override {
    return loop.step != "1" && loop.start.find('-') == std::string::npos;
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void grid_loop(const GridLoop& loop, const Syntax& condition) override {
    if (condition.text != "<") throw NotSimple();
    const std::string end = resolved(condition.parts[1].range);
    add_up({.counter = loop.counter,
            .first = loop.start,
            .end = "ceil_div(" + end + ", " + loop.step + ")",
            .by_one = true,
            .step = loop.step,
            .condition = condition.range},
           loop.body);
    forget({loop.counter});
  }

  std::string target_of(const Syntax& left) override {
    if (left.kind == Kind::name && values_.contains(left.text)) return left.text;
    const bool is_shared = left.kind == Kind::element && shared_.contains(left.parts[0].text);
    if (!is_shared || !is_of(left.parts[1], "threadIdx.x")) throw NotSimple();
    values_.try_emplace(left.parts[0].text, "0");
    return left.parts[0].text;
  }

  // The sum.

  /// Takes the only variable that has been made of elements and is used from here on for the term.
  void choose_term(const Syntax& syntax) {
    for_each(syntax, [&](const Syntax& part) {
      const auto known = part.kind == Kind::name ? values_.find(part.text) : values_.end();
      const bool is_term = known != values_.end() && known->second.find('[') != std::string::npos;
      if (!is_term) return;
      if (!term_.empty() && term_ != known->first) throw NotSimple();
      term_ = known->first;
      sums_.insert(term_);
    });
  }

  void add_up_threads(const Syntax& syntax) {
    for_each(syntax, [&](const Syntax& part) {
      const bool is_foreign =
          part.kind == Kind::name && part.text != pointer_ && pointers_->contains(part.text);
      const bool chooses = part.kind == Kind::branch || part.kind == Kind::conditional;
      if (is_foreign || (chooses && mentions(part.parts[0], sums_)) || may_change(part)) {
        throw NotSimple();
      }
      are_exchanged_ = are_exchanged_ || exchanges(part);
      if (part.kind == Kind::variable && part.parts.size() == 1) give(part.text, part.parts[0]);
      if (part.kind == Kind::assignment) assign_sum(part);
      const bool is_atomic = part.kind == Kind::call && part.text.starts_with("atomic");
      if (is_atomic) add_to_first(part, &part == &syntax);
    });
  }

  /// Returns true for a call that may do something else with sums than to add or exchange them.
  bool may_change(const Syntax& part) const {
    if (part.kind != Kind::call || !mentions(part, sums_)) return false;
    return !part.text.starts_with("__") && !part.text.starts_with("atomic") && !only_adds_by(part);
  }

  /// Returns true for what gives a thread the terms of others.
  bool exchanges(const Syntax& part) const {
    if (part.kind == Kind::element) return shared_.contains(part.parts[0].text);
    return part.kind == Kind::call &&
           (part.text.starts_with("__shfl") || body_of_(part.text) != nullptr);
  }

  /// Notes that a variable or array gets a value: that of a sum, or one that is made of none.
  void give(const std::string& name, const Syntax& value) {
    const bool is_zero = is_zero_literal(value);
    if (is_sum(value)) {
      if (!is_zero) sums_.insert(name);
    } else if (sums_.contains(name) || mentions(value, sums_)) {
      throw NotSimple();
    }
  }

  static bool is_zero_literal(const Syntax& value) {
    return value.kind == Kind::literal &&
           value.text.find_first_not_of("0.fFlLuU") == std::string::npos;
  }

  /// Returns true if a value is made of sums by additions, exchanges and choices between these.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  bool is_sum(const Syntax& value) const {
    const std::vector<Syntax>& parts = value.parts;
    switch (value.kind) {
      case Kind::name:
        return sums_.contains(value.text);
      case Kind::element:
        return is_sum(parts[0]);
      case Kind::conditional:
        return is_sum(parts[1]) && is_sum(parts[2]);
      case Kind::assignment:
        return is_sum(parts[1]);
      case Kind::binary:
        return value.text == "+" && is_sum(parts[0]) && is_sum(parts[1]);
      case Kind::call:
        if (value.text.starts_with("__shfl")) return parts.size() > 2 && is_sum(parts[2]);
        return only_adds_by(value);
      default:
        return is_zero_literal(value);
    }
  }

  /// Returns true for a call of a function of the device that gets sums, and only adds these.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  bool only_adds_by(const Syntax& call) const {
    const Syntax* const own = body_of_(call.text);
    if (own == nullptr || !only_adds(*own) || has_any(*own, scales)) return false;
    return std::ranges::all_of(call.parts, [&](const Syntax& argument) {
      const Syntax& value = argument.is(Kind::unary, "&") ? argument.parts[0] : argument;
      return !mentions(value, sums_) || is_sum(value);
    });
  }

  /// Returns true for `return 2 * a;` and `a = a / 2;`.
  static bool scales(const Syntax& syntax) {
    const bool gives = syntax.kind == Kind::leave || syntax.is(Kind::assignment, "=");
    if (!gives || syntax.parts.empty()) return false;
    const Syntax& value = syntax.parts.back();
    if (value.kind != Kind::binary || value.text == "+") return false;
    const bool is_leave = syntax.kind == Kind::leave;
    return is_leave ||
           (syntax.parts[0].kind == Kind::name && mentions(value, {syntax.parts[0].text}));
  }

  void assign_sum(const Syntax& assignment) {
    const Syntax& left = assignment.parts[0];
    const Syntax& base = left.kind == Kind::element ? left.parts[0] : left;
    const bool adds = assignment.text == "=" || assignment.text == "+=";
    if (base.is_name(pointer_)) {
      const bool is_of_block = left.kind == Kind::element && is_of(left.parts[1], "blockIdx.x");
      const bool is_sum_of_block = is_of_block && are_exchanged_ && is_sum(assignment.parts[1]);
      if (assignment.text != "=" || !is_sum_of_block) throw NotSimple();
      begin_sum("axis_x");
    } else if (adds) {
      give(base.text, assignment.parts[1]);
    } else if (sums_.contains(base.text)) {
      throw NotSimple();
    }
  }

  /// Reads `atomicAdd(out, sum)`, `atomicAdd(&out[0], sum)`, and those that add in shared memory.
  void add_to_first(const Syntax& call, bool is_by_all) {
    if (call.text != "atomicAdd" || call.parts.size() != 3) throw NotSimple();
    const std::string target = joined(tokens_, call.parts[1].whole);
    const std::string name = pointer_in(target);
    if (name != pointer_) {
      if (!shared_.contains(name)) throw NotSimple();
      return give(name, call.parts[2]);
    }
    const bool is_first = target.find('[') == std::string::npos || target.ends_with("[0]");
    if (!is_first || !(is_by_all || are_exchanged_) || target.find('+') != std::string::npos ||
        !is_sum(call.parts[2])) {
      throw NotSimple();
    }
    begin_sum("0");
  }

  void begin_sum(const std::string& index) {
    if (store_.is_of_threads) throw NotSimple();
    store_.is_of_threads = true;
    store_.index = index;
  }

  SingleStore of_threads() const {
    SingleStore store = store_;
    const std::string number = std::to_string(counters_);
    const std::string term = substituted(
        substituted(values_.at(term_), {{"axis_x", "(blockIdx.x * blockDim.x + threadIdx.x)"}}),
        {{"threadIdx.x", "thread_" + number}});
    const std::string sum = "sum(thread_" + number + " < bound_of[blockDim.x], " + term + ")";
    const bool is_total = store.index == "0";
    const std::string block = is_total ? "block_" + number : store.index;
    store.array = pointer_;
    store.value = substituted(sum, {{"blockIdx.x", block}});
    if (is_total) {
      store.value =
          pointer_ + "[0] + sum(" + block + " < bound_of[gridDim.x], " + store.value + ")";
    }
    return store;
  }

  std::string pointer_;
  const BodyOf& body_of_;
  std::set<std::string> shared_;
  std::set<std::string> sums_;  ///< Variables and arrays that hold terms or sums of these.
  std::string term_;
  std::set<std::string> whole_;     ///< Variables and arrays of integers.
  bool has_whole_results_ = false;  ///< True if what the pointer leads to are integers.
  bool are_exchanged_ = false;      ///< True once threads have got terms of others.
};

/// Elements of an array of the host from the first on.
struct ElementRange {
  std::string array;
  std::string count;
};

/// Returns the elements between `a` and `a + n`, or `v.begin()` and `v.end()`; nullopt for others.
std::optional<ElementRange> elements_between(const CppTokens& tokens, const Syntax& first,
                                             const Syntax& end) {
  const std::string from = joined(tokens, first.whole);
  const std::string to = joined(tokens, end.whole);
  const bool is_list = from.find("begin") != std::string::npos;
  if (is_list && to.find("end") != std::string::npos) {
    const std::vector<std::string_view> words = identifiers(from);
    const auto is_own = [](std::string_view word) {
      return !is_one_of(word, {"std", "begin", "cbegin"});
    };
    const auto list = std::ranges::find_if(words, is_own);
    if (list == words.end() || !has_name(to, *list)) return std::nullopt;
    return ElementRange{std::string(*list), std::string(*list) + ".size()"};
  }
  const bool is_counted = end.is(Kind::binary, "+") && joined(tokens, end.parts[0].whole) == from;
  const std::string array = pointer_in(from);
  if (!is_counted || array.empty()) return std::nullopt;
  return ElementRange{array, joined(tokens, end.parts[1].whole)};
}

/// Reads what loops of the host add to one variable.
class SumStatements : public Statements {
 public:
  SumStatements(const ParsedSource& source, std::string variable, const std::string& before)
      : Statements(source), variable_(std::move(variable)) {
    values_[variable_] = before;
  }

  std::string read(const Syntax& syntax) {
    statement(syntax);
    return values_.at(variable_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void statement(const Syntax& syntax) override {
    if (syntax.kind == Kind::leave) throw NotSimple();
    if (syntax.kind == Kind::block) return block(syntax);
    if (syntax.kind == Kind::variable) return variable(syntax);
    if (syntax.kind == Kind::list_loop && syntax.parts.size() > 2) return list_loop(syntax);
    if (syntax.is(Kind::call, "for_each") && syntax.parts.size() == 4) return each(syntax);
    if (assigned_in(syntax).contains(variable_)) return Statements::statement(syntax);
    const bool may_matter = has_any(syntax, [&](const Syntax& part) {
      return part.kind == Kind::leave || part.is_name(variable_);
    });
    if (may_matter) throw NotSimple();
    forget(assigned_in(syntax));
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void block(const Syntax& syntax) {
    for (const TokenRange& gap : gaps_in(syntax)) {
      for (std::size_t i = gap.first; i < gap.end; ++i) {
        if (tokens_[i].is(variable_) || is_one_of(tokens_[i].text, {"break", "continue"})) {
          throw NotSimple();
        }
      }
    }
    for (const Syntax& part : syntax.parts) {
      const bool is_store = part.is(Kind::assignment, "=") && part.parts[0].kind == Kind::element &&
                            part.parts[1].kind == Kind::name;
      if (is_store) stored_to_.emplace(part.parts[1].text, &part.parts[0]);
    }
    for (const Syntax& part : syntax.parts) statement(part);
  }

  void variable(const Syntax& syntax) {
    try {
      const auto element = stored_to_.find(syntax.text);
      if (element == stored_to_.end()) return declare(syntax);
      values_[syntax.text] = resolved(element->second->range);
    } catch (const NotSimple&) {
      forget({syntax.text});
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void list_loop(const Syntax& syntax) {
    const auto list = std::ranges::find(syntax.parts, Kind::name, &Syntax::kind);
    const auto name = std::ranges::find(syntax.parts, Kind::variable, &Syntax::kind);
    if (list == syntax.parts.end() || name == syntax.parts.end()) throw NotSimple();
    through({list->text, list->text + ".size()"}, name->text, syntax.parts.back());
  }

  /// Reads `for_each(a, a + n, [&](float x) { ... })`.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void each(const Syntax& call) {
    const auto elements = elements_between(tokens_, call.parts[1], call.parts[2]);
    const Syntax& body = call.parts[3];
    const bool has_one =
        body.kind == Kind::block && body.range.first > 1 && tokens_[body.range.first - 1].is(")");
    if (!elements || !has_one) throw NotSimple();
    through(*elements, std::string(tokens_[body.range.first - 2].text), body);
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void through(const ElementRange& elements, const std::string& name, const Syntax& body) {
    add_up({.counter = name,
            .first = "0",
            .end = elements.count,
            .by_one = true,
            .array = elements.array},
           body);
  }

  std::string variable_;
  std::map<std::string, const Syntax*> stored_to_;  ///< Elements, by the variables stored there.
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

std::optional<SingleStore> sum_of_threads(const ParsedSource& source, const Syntax& body,
                                          const KernelFunction& kernel, const std::string& pointer,
                                          const BodyOf& body_of) {
  try {
    return ThreadSums(source, kernel, pointer, body_of).read(body);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::optional<SingleStore> checked_store(const ParsedSource& source, const Syntax& whole,
                                         const std::string& array,
                                         const std::vector<Comparison>& comparisons) {
  try {
    return CheckStatements(source, array, comparisons).read(whole);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::optional<HostSum> sum_in(const std::string& text) {
  const std::string whole = without_parentheses(text);
  const CppTokens tokens = cpp_tokens(whole);
  const bool is_sum = tokens.size() > 5 && tokens[0].is("sum") && tokens[4].is("bound_of") &&
                      closing(tokens, 1) + 1 == tokens.size();
  const std::size_t close = is_sum ? closing(tokens, 5) : tokens.size();
  if (close + 3 >= tokens.size()) return std::nullopt;
  return HostSum{.counter = std::string(tokens[2].text),
                 .bound = without_parentheses(joined(tokens, {6, close})),
                 .term = without_parentheses(joined(tokens, {close + 2, tokens.size() - 1}))};
}

std::optional<std::string> added_up(const ParsedSource& source, const Syntax& statement,
                                    const std::string& variable, const std::string& before) {
  try {
    const std::string value = SumStatements(source, variable, before).read(statement);
    return value == before ? std::nullopt : std::optional(value);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::optional<std::string> accumulated(const ParsedSource& source, const Syntax& call) {
  const std::vector<Syntax>& parts = call.parts;
  const bool is_sum = call.is(Kind::call, "accumulate") || call.is(Kind::call, "reduce");
  if (!is_sum || parts.size() < 3 || parts.size() > 4) return std::nullopt;
  const CppTokens& tokens = source.tokens();
  const auto elements = elements_between(tokens, parts[1], parts[2]);
  const std::string first = parts.size() < 4 ? "0" : joined(tokens, parts[3].range);
  if (!elements || first.find_first_not_of("0.fLlUu") != std::string::npos) return std::nullopt;
  return "sum(k_0 < bound_of[" + elements->count + "], " + elements->array + "[k_0])";
}

}  // namespace smemtune
