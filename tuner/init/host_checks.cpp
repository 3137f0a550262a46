#include "tuner/init/host_checks.h"

#include "tuner/init/comparisons.h"
#include "tuner/init/counting_loop.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/statements.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

/// New texts for ranges of tokens, by the token where each begins.
using TokenEdits = std::map<std::size_t, std::pair<std::size_t, std::string>>;

/// Writes the functions that store what a function of the host expects.
class CheckWriter {
 public:
  CheckWriter(const ParsedSource& source, CXCursor function, const Syntax& body)
      : source_(source),
        tokens_(source.tokens()),
        function_(function),
        body_(body),
        name_(ParsedSource::name(function)),
        comparisons_(comparisons_in(source, body)) {
    name_ = name_.substr(0, name_.find('<'));
    for (const CXCursor child : ParsedSource::children(function)) {
      if (ParsedSource::kind(child) == CXCursor_ParmDecl) add_variable(child, true);
    }
    for_each(body, [&](const Syntax& part) {
      if (part.kind == Kind::variable) add_variable(part.cursor, false);
    });
  }

  void add_to(HostPart& host) {
    std::set<std::string> arrays;
    for (const Comparison& comparison : comparisons_) {
      if (!comparison.expects_number()) arrays.insert(comparison.array);
    }
    for (const std::string& array : arrays) {
      if (parameters_.contains(array)) add_function(array);
    }
    for (const auto& [array, signs] : stores_in(body_)) {
      const bool is_filled = parameters_.contains(array) && signs.front() == "=";
      if (is_filled) checks_.push_back(function_check(array, true));
    }
    add_loops(body_);
    std::ranges::move(checks_, std::back_inserter(host.checks));
    host.compared_arrays[name_].merge(compared());
  }

 private:
  void add_variable(CXCursor cursor, bool is_parameter) {
    const std::string name = ParsedSource::name(cursor);
    variables_.emplace(name, cursor);
    if (is_parameter) parameters_.emplace(name, cursor);
  }

  /// Returns the arrays of which elements are compared, in both orders, also by std::equal or as
  /// vectors.
  ComparedArrays compared() const {
    ComparedArrays pairs;
    for_each(body_, [&](const Syntax& part) {
      const bool is_equal = part.is(Kind::call, "equal") && part.parts.size() > 3;
      const bool is_whole = part.is(Kind::binary, "==") || part.is(Kind::binary, "!=");
      if (!is_equal && !is_whole) return;
      const std::string one = array_at(joined(tokens_, part.parts[is_equal ? 1 : 0].range));
      const std::string other = array_at(joined(tokens_, part.parts[is_equal ? 3 : 1].range));
      if (!is_equal && (!is_vector(part.parts[0]) || !is_vector(part.parts[1]))) return;
      pairs.emplace(one, other);
      pairs.emplace(other, one);
    });
    for (const Comparison& one : comparisons_) {
      for_each(*one.expected, [&](const Syntax& part) {
        if (part.kind != Kind::element) return;
        pairs.emplace(one.array, part.parts[0].text);
        pairs.emplace(part.parts[0].text, one.array);
      });
    }
    return pairs;
  }

  bool is_vector(const Syntax& syntax) const {
    const auto variable = variables_.find(syntax.text);
    return syntax.kind == Kind::name && variable != variables_.end() &&
           !vector_of(variable->second).empty();
  }

  // Functions.

  void add_function(const std::string& array) {
    const TokenRange range = source_.range(function_);
    const std::string name = "expected_by_" + name_;
    TokenEdits edits = stores_to(array, range);
    for (std::size_t i = range.first; i < body_.range.first; ++i) {
      if (tokens_[i].is(name_) && tokens_[i + 1].is("(")) edits[i] = {i + 1, name};
    }
    for (const auto& [parameter, cursor] : parameters_) {
      edit_parameter(cursor, parameter == array, edits);
    }
    HostCheck check = function_check(array, false);
    check.text = text(range, edits);
    check.is_part = is_part(array, range);
    checks_.push_back(std::move(check));
  }

  HostCheck function_check(const std::string& array, bool is_filled) const {
    return {.function = name_,
            .name = "expected_by_" + name_,
            .array = array,
            .line = source_.line(function_),
            .is_filled = is_filled,
            .store = store_of(body_, array, is_filled)};
  }

  /// Makes what is stored to no constant, and passes vectors by reference.
  void edit_parameter(CXCursor cursor, bool is_stored, TokenEdits& edits) const {
    const TokenRange range = source_.range(cursor);
    const CXType type = clang().getCursorType(cursor);
    const bool is_copied = type.kind != CXType_LValueReference && !vector_of(cursor).empty();
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (is_stored && tokens_[i].is("const")) edits[i] = {i + 1, ""};
      if (is_copied && i + 1 == range.end) edits[i] = {i, "& "};
    }
  }

  // Loops.

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void add_loops(const Syntax& syntax) {
    constexpr std::size_t kMost = 50;
    if (checks_.size() > kMost) return;
    if (auto store = filled_by(source_, syntax)) {
      checks_.push_back(check_of(syntax, store->array));
      checks_.back().is_filled = true;
      checks_.back().store = std::move(store);
    }
    const bool is_loop = syntax.is(Kind::loop, "for") || syntax.kind == Kind::list_loop;
    if (!is_loop || uses_device(syntax.range)) {
      for (const Syntax& part : syntax.parts) add_loops(part);
      return;
    }
    add_stores(syntax);
    add_counts(syntax);
  }

  /// Adds what a loop counts in the elements of an array that begins as zeros, or takes off the
  /// elements of results that the host then compares with 0.
  void add_counts(const Syntax& loop) {
    std::map<std::string, bool> arrays;  // True for those that it takes off.
    for_each(loop, [&](const Syntax& part) {
      const bool changes = part.steps() || part.is(Kind::assignment, "+=");
      if (!changes || part.parts[0].kind != Kind::element) return;
      arrays.emplace(part.parts[0].parts[0].text, part.text[0] == '-');
    });
    for (const auto& [array, takes_off] : arrays) {
      auto store = counted(source_, loop, array, takes_off);
      const bool is_known = takes_off ? is_compared_with_zero(array, loop) : is_zero(array, loop);
      if (!store || !is_known) continue;
      checks_.push_back(check_of(loop, array));
      checks_.back().is_filled = !takes_off;
      checks_.back().store = std::move(store);
    }
  }

  bool is_compared_with_zero(const std::string& array, const Syntax& loop) const {
    return std::ranges::any_of(comparisons_, [&](const Comparison& one) {
      return one.array == array && one.statement.first >= loop.whole.end &&
             one.expected->is(Kind::literal, "0");
    });
  }

  /// Returns true if an array has only been set to zeros before a loop: by `calloc(n, 4)`,
  /// `a[n] = {0}`, `std::vector<int> a(n)`, `memset(a, 0, n)`, `a[i] = 0`.
  bool is_zero(const std::string& array, const Syntax& loop) const {
    bool is_set = false;
    for (std::size_t i = body_.range.first + 2; i < loop.whole.first; ++i) {
      if (!tokens_[i].is(array)) continue;
      std::size_t end = i;
      while (end < loop.whole.first && !tokens_[end].is(";")) ++end;
      const std::string rest = without_blanks(joined(tokens_, {i + 1, end}));
      const bool is_sized = tokens_[i - 1].is(">") && rest.find(',') == std::string::npos;
      const bool is_filled = tokens_[i - 1].is(">") || tokens_[i - 2].is("fill");
      const bool clears = rest.ends_with("={0}") || rest.ends_with("={}") ||
                          rest.ends_with("]=0") || (is_filled && rest.ends_with(",0)")) ||
                          (rest.starts_with("(") && is_sized) ||
                          (tokens_[i - 2].is("memset") && rest.starts_with(",0,"));
      const bool is_given = rest.starts_with("=");
      if (!clears && rest.find("]=") != std::string::npos) return false;
      if (clears || is_given) is_set = clears || rest.find("calloc(") != std::string::npos;
    }
    return is_set;
  }

  void add_stores(const Syntax& loop) {
    const auto stores = stores_in(loop);
    for (const auto& [array, has_numbers] : arrays_compared(loop)) {
      add_loop(loop, array, false, stores.empty() && !has_numbers);
    }
    for (const auto& [array, signs] : stores) {
      const bool is_whole = stores_in(body_).at(array).size() == signs.size();
      if (is_whole && signs.front() == "=") add_loop(loop, array, true, stores.size() == 1);
    }
  }

  bool uses_device(TokenRange range) const {
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (tokens_[i].text.starts_with("cuda")) return true;
      if (tokens_[i].is("<") && tokens_[i + 1].is("<") && tokens_[i + 2].is("<")) return true;
    }
    return false;
  }

  /// Returns the arrays whose elements a loop compares, each with true if only with numbers.
  std::map<std::string, bool> arrays_compared(const Syntax& loop) const {
    std::map<std::string, bool> arrays;
    for (const Comparison& one : comparisons_) {
      const bool is_inside =
          one.statement.first >= loop.range.first && one.statement.end <= loop.whole.end;
      if (!is_inside || parameters_.contains(one.array)) continue;
      bool& has_numbers = arrays.emplace(one.array, true).first->second;
      has_numbers = has_numbers && one.expects_number();
    }
    return arrays;
  }

  /// Returns the signs of all assignments to elements, in their order, by array.
  static std::map<std::string, std::vector<std::string>> stores_in(const Syntax& syntax) {
    std::map<std::string, std::vector<std::string>> stores;
    for_each(syntax, [&](const Syntax& part) {
      const bool is_store = part.kind == Kind::assignment && part.parts[0].kind == Kind::element;
      if (is_store) stores[part.parts[0].parts[0].text].push_back(part.text);
    });
    return stores;
  }

  HostCheck check_of(const Syntax& loop, const std::string& array) const {
    const std::size_t line = source_.line(loop.cursor);
    return {.function = name_,
            .name = "expected_by_" + name_ + "_" + std::to_string(line),
            .array = array,
            .line = line,
            .is_loop = true,
            .is_part = is_part(array, loop.whole)};
  }

  void add_loop(const Syntax& loop, const std::string& array, bool is_filled, bool has_text) {
    HostCheck check = check_of(loop, array);
    check.is_filled = is_filled;
    check.store = store_of(loop, array, is_filled);
    if (has_text) write(loop, check);
    checks_.push_back(std::move(check));
  }

  std::optional<SingleStore> store_of(const Syntax& whole, const std::string& array,
                                      bool is_filled) const {
    return checked_store(source_, whole, array,
                         is_filled ? std::vector<Comparison>() : comparisons_);
  }

  /// Writes a function of a loop, unless its variables cannot be parameters.
  void write(const Syntax& loop, HostCheck& check) const {
    const std::string code = text(loop.range, stores_to(check.array, loop.range));
    std::set<std::string> own;
    for_each(loop, [&](const Syntax& part) {
      if (part.kind == Kind::variable) own.insert(part.text);
    });
    const std::set<std::string> assigned = assigned_in(loop);
    std::string parameters;
    std::string begins;
    for (const std::string_view word : identifiers(code)) {
      const std::string name(word);
      const bool is_new = own.insert(name).second && variables_.contains(name);
      if (!is_new) continue;
      const auto declared = declaration_of(name);
      const auto value = assigned.contains(name) ? first_value(name, loop, code) : "";
      if (!declared || !value) return;
      if (assigned.contains(name)) {
        begins += *declared + *value + "; ";
      } else {
        parameters += (parameters.empty() ? "" : ", ") + *declared;
        check.passed.emplace(name, name);
      }
    }
    check.text = "void " + check.name + "(" + parameters + ") { " + begins + code + "; }";
  }

  /// Returns ` = 1` for a variable that begins with that number, and nothing for one that the loop
  /// gives a value before it reads it; nullopt for any other.
  std::optional<std::string> first_value(const std::string& name, const Syntax& loop,
                                         const std::string& code) const {
    const CppTokens tokens = cpp_tokens(code);
    const auto first = std::ranges::find(tokens, name, &CppToken::text);
    if (first != tokens.end() && (first + 1)->is("=")) return "";
    const auto number = first_number(name, loop);
    return number ? std::optional(" = " + *number) : std::nullopt;
  }

  /// Returns the number that a variable begins with, if only the loop changes it.
  std::optional<std::string> first_number(const std::string& name, const Syntax& loop) const {
    const Syntax* initial = nullptr;
    std::size_t changes = 0;
    for_each(body_, [&](const Syntax& part) {
      if (part.kind == Kind::variable && part.text == name) {
        initial = part.parts.size() == 1 ? part.parts.data() : nullptr;
      }
      const bool is_inside =
          part.range.first >= loop.range.first && part.range.end <= loop.range.end;
      if (part.kind == Kind::assignment && part.parts[0].is_name(name) && !is_inside) ++changes;
    });
    if (initial == nullptr || changes > 0 || !is_number(*initial)) return std::nullopt;
    return joined(tokens_, initial->whole);
  }

  /// Returns true if each comparison of an array's elements in a range may leave some out.
  bool is_part(const std::string& array, TokenRange range) const {
    const auto is_its = [&](const Comparison& one) {
      return one.array == array && one.statement.first >= range.first &&
             one.statement.end <= range.end;
    };
    const std::vector<Comparison>& all = comparisons_;
    return std::ranges::any_of(all, is_its) &&
           std::ranges::none_of(all, [&](const auto& one) { return is_its(one) && !one.is_part; });
  }

  // Texts.

  /// Returns the edits that put stores in place of the comparisons in a range, and leave out what
  /// the host prints.
  TokenEdits stores_to(const std::string& array, TokenRange range) const {
    TokenEdits edits;
    for (const Comparison& one : comparisons_) {
      const bool is_inside = one.statement.first >= range.first && one.statement.end <= range.end;
      if (one.array != array || !is_inside) continue;
      const TokenRange whole = one.statement;
      const std::string store =
          joined(tokens_, one.element->range) + " = " + joined(tokens_, one.expected->whole) + "; ";
      edits[whole.first] = {one.is_replaced ? whole.end : whole.first, store};
    }
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (const std::size_t end = end_of_output(i); end != kNoToken) edits.try_emplace(i, end, ";");
    }
    return edits;
  }

  /// Returns the token behind the statement at token i if that prints or ends the program.
  std::size_t end_of_output(std::size_t i) const {
    const bool begins = i > 0 && is_one_of(tokens_[i - 1].text, {"{", "}", ";", ")", "else"});
    const std::size_t name = tokens_[i].is("std") ? i + 2 : i;
    if (!begins || name >= tokens_.size() ||
        !is_one_of(tokens_[name].text,
                   {"printf", "fprintf", "puts", "cout", "cerr", "exit", "abort", "fflush"})) {
      return kNoToken;
    }
    std::size_t end = name;
    while (end < tokens_.size() && !tokens_[end].is(";")) {
      end = (tokens_[end].is("(") ? closing(tokens_, end) : end) + 1;
    }
    return end < tokens_.size() ? end + 1 : kNoToken;
  }

  /// Returns the text of a range with edits, in one line.
  std::string text(TokenRange range, const TokenEdits& edits) const {
    std::string text;
    for (std::size_t i = range.first; i < range.end;) {
      const auto edit = edits.find(i);
      if (edit != edits.end()) text += edit->second.second;
      if (edit != edits.end() && edit->second.first > i) {
        i = edit->second.first;
        continue;
      }
      const bool is_directive = tokens_[i].kind == CppToken::Kind::directive;
      if (!is_directive) text += joined(tokens_, {i, i + 1});
      ++i;
      const bool is_apart = i < tokens_.size() && tokens_[i].begin > tokens_[i - 1].end();
      if (is_apart) text += ' ';
    }
    return text;
  }

  /// Returns the vector type of a variable, without `const` and `&`; empty if it is no vector.
  static std::string vector_of(CXCursor cursor) {
    const std::string type = ParsedSource::type(cursor);
    const std::size_t begin = type.find("vector<");
    const std::size_t end = type.rfind('>');
    if (begin == std::string::npos || end == std::string::npos) return "";
    return "std::" + type.substr(begin, end + 1 - begin);
  }

  /// Returns the declaration of a parameter that may stand for a variable; nullopt if none can.
  std::optional<std::string> declaration_of(const std::string& name) const {
    const CXCursor cursor = variables_.find(name)->second;
    if (const std::string vector = vector_of(cursor); !vector.empty()) return vector + "& " + name;
    CXType type = clang().getCanonicalType(clang().getCursorType(cursor));
    std::string stars;
    const CXType element = clang().getArrayElementType(type);
    if (type.kind == CXType_Pointer || element.kind != CXType_Invalid) {
      const bool is_pointer = type.kind == CXType_Pointer;
      type = clang().getCanonicalType(is_pointer ? clang().getPointeeType(type) : element);
      stars = "*";
    }
    std::string spelled = clang().text(clang().getTypeSpelling(type));
    if (spelled.starts_with("const ")) spelled = spelled.substr(6);
    const bool is_plain = spelled == "bool" || !elements_of(spelled).type.empty();
    return is_plain ? std::optional(spelled + stars + " " + name) : std::nullopt;
  }

  const ParsedSource& source_;
  const CppTokens& tokens_;
  CXCursor function_;
  const Syntax& body_;
  std::string name_;
  std::vector<Comparison> comparisons_;
  std::map<std::string, CXCursor> parameters_;
  std::map<std::string, CXCursor> variables_;  ///< Includes the parameters.
  std::vector<HostCheck> checks_;
};

}  // namespace

void add_checks(const ParsedSource& source, CXCursor cursor, const Syntax& body, HostPart& host) {
  CheckWriter(source, cursor, body).add_to(host);
}

void follow_calls(HostPart& host) {
  constexpr int kDeepest = 3;
  for (int depth = 0; depth < kDeepest; ++depth) {
    for (const HostCall& call : host.calls) {
      const ComparedArrays in_callee = host.compared_arrays[call.callee];
      for (const auto& [one, other] : in_callee) {
        const auto first = call.passed.find(one);
        const auto second = call.passed.find(other);
        if (first == call.passed.end() || second == call.passed.end()) continue;
        host.compared_arrays[call.caller].emplace(pointer_in(first->second),
                                                  pointer_in(second->second));
      }
    }
  }
  const std::vector<HostCall> known = host.calls;
  for (const HostCheck& check : host.checks) {
    if (check.is_loop) {
      host.calls.push_back({check.function, check.name, check.passed, check.line});
      continue;
    }
    for (const HostCall& call : known) {
      if (call.callee == check.function) {
        host.calls.push_back({call.caller, check.name, call.passed, call.line});
      }
    }
  }
}

}  // namespace smemtune
