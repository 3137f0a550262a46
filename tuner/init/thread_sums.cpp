#include "tuner/init/thread_sums.h"

#include "tuner/init/names.h"
#include "tuner/init/statement_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

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
    if (!is_total) store.conditions.push_back(store.index + " < gridDim.x");
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

}  // namespace

std::optional<SingleStore> sum_of_threads(const ParsedSource& source, const Syntax& body,
                                          const KernelFunction& kernel, const std::string& pointer,
                                          const BodyOf& body_of) {
  try {
    return ThreadSums(source, kernel, pointer, body_of).read(body);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

}  // namespace smemtune
