#include "tuner/init/kernel_statements.h"

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
constexpr int kDeepest = 50;  // Depth of statements in statements.

/// Thrown for a statement that is not understood: the kernel is not simple.
struct NotSimple {};

class Statements {
 public:
  Statements(const CppTokens& tokens, const KernelFunction& kernel) : tokens_(tokens) {
    for (const KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers == 1) pointers_.push_back(parameter.name);
      if (parameter.pointers > 1 || parameter.is_texture()) throw NotSimple();
    }
  }

  SingleStore read(TokenRange body) {
    statements(body);
    if (!values_.contains(stored_)) throw NotSimple();
    const std::size_t open = stored_.find('[');
    store_.array = stored_.substr(0, open);
    store_.index = stored_.substr(open + 1, stored_.size() - open - 2);
    store_.value = values_.at(stored_);
    return store_;
  }

 private:
  void statements(TokenRange range) {
    for (std::size_t i = range.first; i < range.end;) i = statement(i, range.end);
  }

  /// Reads a statement. Returns the token behind it.
  std::size_t statement(std::size_t i, std::size_t end) {
    const CppToken& first = tokens_[i];
    if (first.is(";") || (first.kind == CppToken::Kind::directive && is_pragma(first))) {
      return i + 1;
    }
    if (is_done_ || ++nesting_ > kDeepest) throw NotSimple();
    const std::size_t next = first.is("{")     ? group(i, end)
                             : first.is("if")  ? condition(i, end)
                             : first.is("for") ? loop(i, end)
                                               : simple(i, end);
    --nesting_;
    return next;
  }

  std::size_t group(std::size_t i, std::size_t end) {
    const std::size_t close = closed(i, end);
    statements({i + 1, close});
    return close + 1;
  }

  std::size_t simple(std::size_t i, std::size_t end) {
    const std::size_t stop = end_of(i, end);
    if (is_declaration(i)) {
      declare({i, stop});
    } else {
      assign({i, stop});
    }
    return stop + 1;
  }

  static bool is_pragma(const CppToken& token) {
    return token.text.find("pragma") != std::string_view::npos;
  }

  std::size_t closed(std::size_t open, std::size_t end) const {
    const std::size_t close = closing(tokens_, open);
    if (close >= end) throw NotSimple();
    return close;
  }

  /// Returns the token of the semicolon.
  std::size_t end_of(std::size_t i, std::size_t end) const {
    while (i < end && !tokens_[i].is(";")) {
      i = tokens_[i].is("(") || tokens_[i].is("[") ? closed(i, end) + 1 : i + 1;
    }
    if (i >= end) throw NotSimple();
    return i;
  }

  /// Reads `if (a) return;` or `if (a) { ... }`, which must contain the store.
  std::size_t condition(std::size_t i, std::size_t end) {
    if (depth_ > 0 || !stored_.empty() || i + 2 >= end || !tokens_[i + 1].is("(")) {
      throw NotSimple();
    }
    const std::size_t close = closed(i + 1, end);
    const std::string text = resolved({i + 2, close});
    std::size_t next = close + 1;
    const bool in_braces = next + 3 < end && tokens_[next].is("{");
    const std::size_t word = in_braces ? next + 1 : next;
    if (word + 1 < end && tokens_[word].is("return") && tokens_[word + 1].is(";")) {
      store_.conditions.push_back("!(" + text + ")");
      return word + (in_braces ? 3 : 2);
    }
    store_.conditions.push_back(text);
    next = statement(next, end);
    if (stored_.empty() || (next < end && tokens_[next].is("else"))) throw NotSimple();
    is_done_ = true;
    return next;
  }

  /// Reads `for (int k = first; k < bound; k++)`, or a loop whose step is the whole grid.
  std::size_t loop(std::size_t i, std::size_t end) {
    const std::size_t close = closed(i + 1, end);
    const std::size_t first = end_of(i + 2, close + 1);
    const std::size_t second = end_of(first + 1, close + 1);
    std::size_t name = i + 2;
    while (name + 1 < first && !tokens_[name + 1].is("=")) ++name;
    const std::string counter(tokens_[name].text);
    const bool compares = first + 4 <= second && tokens_[first + 1].is(counter) &&
                          (tokens_[first + 2].is("<") || tokens_[first + 2].is("<="));
    if (name + 2 >= first || !compares) throw NotSimple();
    const std::string start = resolved({name + 2, first});
    const std::string step = joined(tokens_, {second + 1, close});
    if (start.find("axis_") != std::string::npos) return grid_loop(counter, start, step, i, end);
    const bool by_one = step == counter + "++" || step == "++" + counter ||
                        step == counter + " += 1" || step == counter + "+=1";
    if (!by_one || store_.counters.size() == kMostLoops) throw NotSimple();
    const bool to_end = tokens_[first + 2].is("<=");
    const std::string bound = "(" + resolved({first + 3, second}) + ")" + (to_end ? " + 1" : "") +
                              (start == "0" ? "" : " - (" + start + ")");
    const std::string counted = counter + "_" + std::to_string(store_.counters.size());
    store_.counters.push_back(counted);
    const std::map<std::string, std::string> outside = values_;
    values_[counter] = start == "0" ? counted : "(" + counted + " + " + start + ")";
    std::map<std::string, std::string> sums = std::exchange(added_, {});
    std::set<std::string> read = std::exchange(read_, {});
    ++depth_;
    const std::size_t next = statement(close + 1, end);
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
    return next;
  }

  std::size_t grid_loop(const std::string& counter, const std::string& start,
                        const std::string& step, std::size_t i, std::size_t end) {
    const std::size_t close = closed(i + 1, end);
    const std::size_t first = end_of(i + 2, close + 1);
    const std::size_t second = end_of(first + 1, close + 1);
    const bool by_grid = substituted(step, terms()).find("gridDim") != std::string::npos;
    if (depth_ > 0 || !by_grid || !step.starts_with(counter)) throw NotSimple();
    values_[counter] = start;
    store_.conditions.push_back(resolved({first + 1, second}));
    const std::size_t next = statement(close + 1, end);
    is_done_ = true;
    return next;
  }

  bool is_declaration(std::size_t i) const {
    static constexpr std::array<std::string_view, 14> kTypes = {
        "const", "int",  "unsigned", "long",     "float",   "double",   "size_t",
        "uint",  "auto", "int32_t",  "uint32_t", "int64_t", "uint64_t", "short"};
    return std::ranges::find(kTypes, tokens_[i].text) != kTypes.end();
  }

  /// Reads `int a = 1, b = 2`.
  void declare(TokenRange range) {
    for (const TokenRange& part : split(tokens_, range)) {
      std::size_t equals = part.first;
      while (equals < part.end && !tokens_[equals].is("=")) {
        if (tokens_[equals].is("*") || tokens_[equals].is("[") || tokens_[equals].is("(")) {
          throw NotSimple();
        }
        ++equals;
      }
      if (equals == part.first || equals == part.end) throw NotSimple();
      values_[std::string(tokens_[equals - 1].text)] = thread_or(resolved({equals + 1, part.end}));
    }
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
  void assign(TokenRange range) {
    if (!tokens_[range.first].is_word()) throw NotSimple();
    std::string target(tokens_[range.first].text);
    std::size_t next = range.first + 1;
    const bool is_element = next < range.end && tokens_[next].is("[");
    if (is_element) {
      if (std::ranges::find(pointers_, target) == pointers_.end()) throw NotSimple();
      const std::size_t close = closed(next, range.end);
      target += "[" + resolved({next + 1, close}) + "]";
      next = close + 1;
      begin_store(target);
    } else if (!values_.contains(target)) {
      throw NotSimple();
    }
    if (next + 1 >= range.end) throw NotSimple();
    const std::string_view sign = tokens_[next].text;
    const bool adds = sign == "=" && next + 3 < range.end && !is_element &&
                      tokens_[next + 1].is(target) && tokens_[next + 2].is("+");
    if (adds) return add_to(target, resolved({next + 3, range.end}));
    const std::string value = resolved({next + 1, range.end});
    if (sign == "=") {
      set(target, value);
    } else if (sign == "+=") {
      add_to(target, value);
    } else if (sign == "-=") {
      add_to(target, "-(" + value + ")");
    } else if (sign == "*=" && depth_ == 0) {
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
      const bool is_plain = cpp_tokens(value).size() == 1;
      terms.emplace_back(name, is_plain ? value : "(" + value + ")");
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
  int nesting_ = 0;                           ///< Depth of statements.
  bool is_done_ = false;                      ///< True once the code behind a condition has stored.
  SingleStore store_;
};

}  // namespace

std::optional<SingleStore> single_store(const std::string& source, const KernelFunction& kernel) {
  const CppTokens tokens = cpp_tokens(source);
  for (const SourceItem& item : read_items(tokens).items) {
    const bool is_this =
        item.is_kernel && item.body != kNoToken && tokens[item.name].line == kernel.line;
    if (!is_this) continue;
    try {
      return Statements(tokens, kernel).read({item.body + 1, item.end - 1});
    } catch (const NotSimple&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace smemtune
