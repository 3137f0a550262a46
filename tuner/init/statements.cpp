#include "tuner/init/statements.h"

#include "tuner/init/host_terms.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kLongestText = 4000;
constexpr std::size_t kMostLoops = 4;

using Kind = Syntax::Kind;

/// Thrown for a statement that is not understood: the kernel is not simple.
struct NotSimple {};

class Statements {
 public:
  Statements(const ParsedSource& source, const KernelFunction& kernel) : tokens_(source.tokens()) {
    for (const KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers == 1) pointers_.push_back(parameter.name);
      if (parameter.pointers > 1 || parameter.is_texture()) throw NotSimple();
    }
  }

  SingleStore read(const Syntax& body) {
    statement(body);
    if (!values_.contains(stored_)) throw NotSimple();
    const std::size_t open = stored_.find('[');
    store_.array = stored_.substr(0, open);
    store_.index = stored_.substr(open + 1, stored_.size() - open - 2);
    store_.value = values_.at(stored_);
    return store_;
  }

 private:
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
  void condition(const Syntax& syntax) {
    if (depth_ > 0 || !stored_.empty() || syntax.parts.size() != 2) throw NotSimple();
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

  /// Reads `for (int k = first; k < bound; k++)`, or a loop whose step is the whole grid.
  void loop(const Syntax& syntax) {
    if (syntax.text != "for") throw NotSimple();
    const auto [counter, first] = counted_from(syntax);
    if (first == nullptr) throw NotSimple();
    const Syntax& compared = syntax.parts[Syntax::kCondition];
    const bool to_end = compared.is(Kind::binary, "<=");
    const bool compares = to_end || compared.is(Kind::binary, "<");
    if (!compares || !compared.parts[0].is_name(counter)) throw NotSimple();
    const std::string start = resolved(first->range);
    const Syntax& step = syntax.parts[Syntax::kStep];
    if (start.find("axis_") != std::string::npos) return grid_loop(counter, start, syntax);
    const bool by_one = step.is(Kind::unary, "++") ||
                        (step.is(Kind::assignment, "+=") && step.parts[1].text == "1");
    if (!by_one || store_.counters.size() == kMostLoops) throw NotSimple();
    const std::string bound = "(" + resolved(compared.parts[1].range) + ")" +
                              (to_end ? " + 1" : "") + (start == "0" ? "" : " - (" + start + ")");
    const std::string counted = counter + "_" + std::to_string(store_.counters.size());
    store_.counters.push_back(counted);
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
      if (std::ranges::find(pointers_, target) == pointers_.end()) throw NotSimple();
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

  std::vector<std::pair<std::string, std::string>> terms() const {
    std::vector<std::pair<std::string, std::string>> terms;
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
  std::vector<std::string> pointers_;
  /// Values of local names, and of the stored element.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> added_;  ///< Sums of the loop that is being read.
  std::set<std::string> read_;                ///< Words of that loop's values.
  std::string stored_;                        ///< `out[index]`; empty before the store.
  int depth_ = 0;                             ///< Depth of loops.
  bool is_done_ = false;                      ///< True once the code behind a condition has stored.
  SingleStore store_;
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

}  // namespace smemtune
