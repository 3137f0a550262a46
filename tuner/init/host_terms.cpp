#include "tuner/init/host_terms.h"

#include "tuner/config/json_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/definition.h"
#include "tuner/core/tokens.h"
#include "tuner/init/names.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

namespace smemtune {
namespace {

/// Returns names that people give to functions that a space has under another name.
const Terms& known_functions() {
  static const auto names = [] {
    Terms all = {{"std::min", "min"},
                 {"MIN", "min"},
                 {"std::max", "max"},
                 {"MAX", "max"},
                 {"std::ceil", "ceil"}};
    for (const char* const name :
         {"CEIL_DIV", "cdiv", "DIVUP", "divUp", "div_up", "iDivUp", "DivUp", "ceilDiv", "CeilDiv",
          "ceildiv", "div_ceil", "divCeil", "DIV_UP", "divup"}) {
      all.emplace_back(name, "ceil_div");
    }
    return all;
  }();
  return names;
}

bool is_type_word(const CppToken& token) {
  return is_one_of(
      token.text, {"int", "unsigned", "long", "short", "char", "float", "double", "size_t", "const",
                   "signed", "int32_t", "uint32_t", "int64_t", "uint64_t", "uint", "dim3", "std"});
}

/// Returns true if a value cannot be followed to its origin: `atoi(argv[1])`, `options.size`.
bool is_opaque(const std::string& value) {
  static const std::initializer_list<std::string_view> kFollowed = {
      "sizeof", "min",   "max",  "ceil",        "ceilf", "floor", "floorf", "sqrt",
      "sqrtf",  "exp",   "expf", "log",         "logf",  "fabs",  "fabsf",  "fmax",
      "fmaxf",  "fminf", "abs",  "static_cast", "float", "int"};
  const CppTokens tokens = cpp_tokens(value);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i + 1 >= tokens.size()) continue;
    const bool is_axis = tokens[i + 1].is("x", "y", "z");
    if ((tokens[i].is(".") && !is_axis) || tokens[i].is("->")) return true;
    if (!tokens[i].is_word()) continue;
    const std::size_t close = tokens[i + 1].is("<") ? closing(tokens, i + 1) : i;  // `read<T>(...)`
    const bool is_call = close + 1 < tokens.size() && tokens[close + 1].is("(");
    const bool is_known = is_one_of(tokens[i].text, kFollowed) ||
                          std::ranges::any_of(known_functions(), [&](const auto& known) {
                            return known.first == tokens[i].text || known.second == tokens[i].text;
                          });
    const bool is_macro = is_call && tokens[i].text == upper(tokens[i].text);
    if (is_call && !is_known && !is_macro && !is_type_word(tokens[i])) return true;
  }
  return false;
}

/// Returns a text with functions by their own names: `div_up(n, 16)` for `util::div_up(n, 16)`.
std::string without_namespaces(const std::string& text) {
  const CppTokens tokens = cpp_tokens(text);
  std::string result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_space = i + 3 < tokens.size() && tokens[i].is_word() && tokens[i + 1].is("::") &&
                          tokens[i + 2].is_word() && tokens[i + 3].is("(", "::");
    if (i > 0 && tokens[i].begin > tokens[i - 1].end()) result += ' ';
    if (!is_space) result += tokens[i].text;
    if (is_space) ++i;
  }
  return result;
}

/// Returns a text with `sm_count` for `properties.multiProcessorCount`.
std::string with_sm_count(const std::string& text) {
  const CppTokens tokens = cpp_tokens(text);
  std::string result = text;
  for (std::size_t i = tokens.size(); i-- > 2;) {
    if (!tokens[i].is("multiProcessorCount") || !tokens[i - 1].is(".", "->")) continue;
    result.replace(tokens[i - 2].begin, tokens[i].end() - tokens[i - 2].begin, kSmCount);
  }
  return result;
}

/// Returns the last token of the member of a structure that begins at token i, `matrix->rows`; i if
/// something else does, such as `block.x`.
std::size_t last_of_member(const CppTokens& tokens, std::size_t i) {
  std::size_t last = i;
  while (tokens[last].is_word() && last + 2 < tokens.size() && tokens[last + 2].is_word() &&
         tokens[last + 1].is(".", "->")) {
    last += 2;
  }
  const bool is_called = last + 1 < tokens.size() && tokens[last + 1].is("(", "[");
  const bool is_axis = tokens[last].text.size() == 1 && tokens[last].text >= "x";
  return is_called || is_axis ? i : last;
}

/// Returns the token behind the cast that begins at token i, or i. `float(a)` leaves `(a)`.
std::size_t behind_cast(const CppTokens& tokens, std::size_t i) {
  const bool is_called =
      i + 1 < tokens.size() && tokens[i + 1].is("(") &&
      is_one_of(tokens[i].text, {"float", "double", "int", "size_t", "long", "unsigned", "uint"});
  if (is_called) return i + 1;
  const bool has_name = tokens[i].is("static_cast") && i + 1 < tokens.size();
  std::size_t j = has_name ? i + 1 : i;
  const std::string_view close = has_name ? ">" : ")";
  if (!tokens[j].is(has_name ? "<" : "(")) return i;
  const std::size_t first = ++j;
  while (j < tokens.size() && (is_type_word(tokens[j]) || tokens[j].is("::"))) ++j;
  const bool ends = j > first && j + 1 < tokens.size() && tokens[j].is(close);
  if (!ends) return i;
  const CppToken& next = tokens[j + 1];
  const bool has_value = next.is_word() || next.is("(") || next.kind == CppToken::Kind::number;
  return has_value ? j + 1 : i;
}

/// Returns the / between two tokens if the range is a quotient and nothing else; else kNoToken.
std::size_t quotient(const CppTokens& tokens, TokenRange range) {
  std::size_t slash = kNoToken;
  for (std::size_t i = range.first; i < range.end; ++i) {
    if (tokens[i].is("(")) {
      i = closing(tokens, i);
    } else if (tokens[i].is("/")) {
      if (slash != kNoToken) return kNoToken;
      slash = i;
    } else if (tokens[i].is("+", "-", ",")) {
      return kNoToken;
    }
  }
  return slash;
}

/// Returns an operand of a quotient that is rounded up, with its number as an integer: `128` for
/// `128.0f`.
std::string whole_operand(const CppTokens& tokens, TokenRange range) {
  const std::string text = without_suffixes(without_casts(joined(tokens, range)));
  const std::size_t point = text.find('.');
  const bool is_whole = point != std::string::npos && number_of(text.substr(0, point)) &&
                        text.find_first_not_of('0', point + 1) == std::string::npos;
  return is_whole ? text.substr(0, point) : text;
}

}  // namespace

void HostTerms::add_argument(std::size_t number, const std::string& name) {
  for (std::size_t frame = 0; frame < terms_.size(); ++frame) {
    const std::string text = passed(number, frame);
    if (text.empty() || number_of(text)) continue;
    terms_[frame].emplace_back(text, name);
    const std::string plain = without_parentheses(without_casts(text));
    if (plain != text && !number_of(plain)) terms_[frame].emplace_back(plain, name);
    const auto made_of = site_.frames[frame].variables.find(text);
    if (made_of == site_.frames[frame].variables.end() || number_of(made_of->second)) continue;
    if (cpp_tokens(made_of->second).size() > 1) terms_[frame].emplace_back(made_of->second, name);
  }
}

void HostTerms::add_everywhere(const std::string& text, const std::string& ours) {
  for (Terms& terms : terms_) terms.emplace_back(text, ours);
}

std::string HostTerms::passed(std::size_t number, std::size_t frame) const {
  std::string text = site_.argument(number);
  for (std::size_t i = 1; i <= frame && i < site_.frames.size(); ++i) {
    const std::map<std::string, std::string>& variables = site_.frames[i - 1].variables;
    const auto own = variables.find(text);
    const auto same = site_.frames[i].variables.find(text);
    const bool is_constant = own != variables.end() && same != site_.frames[i].variables.end() &&
                             own->second == same->second && number_of(own->second);
    if (is_constant) continue;  // Both functions see the same constant.
    if (own != variables.end()) text = own->second;
    const std::map<std::string, std::string>& parameters = site_.frames[i].parameters;
    Terms terms;
    const CppTokens tokens = cpp_tokens(text);
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      const bool is_member = j > 0 && tokens[j - 1].is(".", "->");
      if (!tokens[j].is_word() || is_member) continue;
      const std::string word(tokens[j].text);
      const auto parameter = parameters.find(word);
      if (parameter == parameters.end() || variables.contains(word)) return "";
      terms.emplace_back(word, parameter->second);
    }
    text = substituted(text, terms);
  }
  return text;
}

std::vector<std::int64_t> HostTerms::choices(const std::string& name) const {
  std::string here = name;
  for (std::size_t i = 0; i < site_.frames.size(); ++i) {
    const HostFrame& frame = site_.frames[i];
    if (i > 0) {
      const auto parameter = frame.parameters.find(here);
      if (parameter == frame.parameters.end()) return {};
      here = parameter->second;
    }
    if (const auto found = frame.choices.find(here); found != frame.choices.end()) {
      std::vector<std::int64_t> values;
      for (const std::string& text : found->second) {
        if (const auto value = number_of(text)) values.push_back(*value);
      }
      return values.size() == found->second.size() ? values : std::vector<std::int64_t>();
    }
    if (frame.variables.contains(here)) return {};
  }
  return {};
}

bool HostTerms::overrides(const std::string& name) const {
  return site_.frames.size() > 1 && site_.frames[1].parameters.contains(name) &&
         site_.frames[0].variables.contains(name);
}

std::optional<std::string> HostTerms::in_our_names(const std::string& text,
                                                   std::size_t frame) const {
  Unresolved rest;
  return followed(text, frame, std::bind_front(&HostTerms::compiled, this), rest);
}

std::vector<std::pair<std::size_t, std::string>> HostTerms::unknown_names(
    const std::string& text) const {
  Unresolved rest;
  if (followed(text, 0, std::bind_front(&HostTerms::compiled, this), rest)) return {};
  std::vector<std::pair<std::size_t, std::string>> names;
  const CppTokens tokens = cpp_tokens(rest.text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_called = i + 1 < tokens.size() && tokens[i + 1].is("(");
    if (tokens[i].is("sizeof") && is_called) {
      i = closing(tokens, i + 1);
      continue;
    }
    if (const std::size_t last = last_of_member(tokens, i); last != i) {
      names.emplace_back(rest.frame, without_blanks(joined(tokens, {i, last + 1})));
      i = last;
      continue;
    }
    const bool is_member = tokens[i].is(".", "->", "[", "::");
    const std::string name(tokens[i].text);
    const bool is_foreign = is_called && tokens[i].is_word() && reserved_meaning(name).empty();
    if (is_member || is_foreign) return {};
    if (!tokens[i].is_word() || is_called || is_type_word(tokens[i]) || scope_.contains(name) ||
        !reserved_meaning(name).empty()) {
      continue;
    }
    names.emplace_back(rest.frame, name);
  }
  return names;
}

/// Returns an expression of our names; nullopt if the text is none.
std::optional<std::string> HostTerms::compiled(const std::string& text) const {
  try {
    Expression::compile(text, scope_);
    return without_parentheses(plain_tokens(text));
  } catch (const ExpressionError&) {
    return std::nullopt;
  }
}

/// Returns what `read` makes of a text, or of what it stands for: step by step, variables,
/// functions and macros are replaced, then the parameters of the function by what its caller
/// passes. Sets `rest` to what is left of the text if it is not understood.
std::optional<std::string> HostTerms::followed(std::string text, std::size_t frame,
                                               const Reader& read, Unresolved& rest) const {
  constexpr int kMost = 20;
  for (int step = 0; step < kMost && frame < terms_.size(); ++step) {
    text = without_suffixes(without_casts(substituted(with_sm_count(text), terms_[frame])));
    if (std::optional<std::string> found = read(text)) return found;
    std::string next = deeper(text, frame);
    if (next == text) {
      if (frame + 1 >= terms_.size() || has_own_variable(text, frame)) {
        rest = {.text = text, .frame = frame};
        return std::nullopt;
      }
      ++frame;
      Terms passed_here;
      for (const auto& [name, value] : site_.frames[frame].parameters) {
        if (!scope_.contains(name)) passed_here.emplace_back(name, in_parentheses(value));
      }
      next = substituted(text, passed_here);
    }
    text = std::move(next);
  }
  return std::nullopt;
}

/// Returns true if a text has a variable of the frame that is not what the caller passes: another
/// of the same name in the caller is another variable.
bool HostTerms::has_own_variable(const std::string& text, std::size_t frame) const {
  const HostFrame& here = site_.frames[frame];
  const auto& passed = site_.frames[frame + 1].parameters;
  return std::ranges::any_of(identifiers(text), [&](std::string_view word) {
    const std::string name(word);
    return here.changed.contains(name) && !scope_.contains(name) && !passed.contains(name);
  });
}

/// Returns the text with what its names stand for in the frame; unchanged if they stand for
/// nothing.
std::string HostTerms::deeper(const std::string& text, std::size_t frame) const {
  std::string next = substituted(in_variables(text, frame), terms_[frame]);
  if (next == text) next = substituted(text, known_functions());
  if (next == text) next = without_namespaces(text);
  return next == text ? expanded_(text) : next;
}

std::optional<std::string> HostTerms::formula(const std::string& text, const Bindings& sizes,
                                              std::size_t frame) const {
  Unresolved rest;
  const auto read = [&](const std::string& term) -> std::optional<std::string> {
    const std::string ours = with_functions_of_definitions(term);
    try {
      const Definition value = Definition::compile("x[i] = " + ours, sizes, {{"x", 1}}, {});
      const double found = value.evaluate({{"x", {{1}, {}}}}, {}).elements.front();
      if (!std::isfinite(found)) return std::nullopt;
      const std::vector<std::string_view> names = identifiers(ours);
      const bool has_size = std::ranges::any_of(
          names, [&](std::string_view name) { return sizes.contains(std::string(name)); });
      return has_size ? without_parentheses(plain_tokens(ours)) : Json(found).dump();
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
  };
  return followed(text, frame, read, rest);
}

/// Returns a text with the host's variables replaced by their values.
std::string HostTerms::in_variables(const std::string& text, std::size_t frame) const {
  Terms terms;
  const std::map<std::string, std::string>& variables = site_.frames[frame].variables;
  const std::vector<std::string_view> all = identifiers(text);
  for (const std::string_view name : std::set<std::string_view>(all.begin(), all.end())) {
    const auto variable = variables.find(std::string(name));
    if (scope_.contains(name) || variable == variables.end()) continue;
    const std::string& written = variable->second;
    const std::string value = with_sm_count(is_opaque(written) ? expanded_(written) : written);
    if (!is_opaque(value)) terms.emplace_back(name, in_parentheses(value));
  }
  for (const auto& [name, value] : variables) {
    const bool is_text =
        name.ends_with(']') || name.ends_with(')') || name.find('.') != std::string::npos;
    if (is_text) terms.emplace_back(name, in_parentheses(value));
  }
  return substituted(text, terms);
}

std::string substituted(const std::string& text, const Terms& terms) {
  const std::vector<CppToken> tokens = cpp_tokens(text);
  std::vector<CppTokens> wanted_tokens;
  for (const auto& [term, ours] : terms) wanted_tokens.push_back(cpp_tokens(term));
  std::string result;
  for (std::size_t i = 0; i < tokens.size();) {
    const std::string* by = nullptr;
    std::size_t most = 0;
    for (std::size_t number = 0; number < terms.size(); ++number) {
      const CppTokens& wanted = wanted_tokens[number];
      const bool fits =
          !wanted.empty() && i + wanted.size() <= tokens.size() &&
          std::equal(wanted.begin(), wanted.end(), tokens.begin() + static_cast<long>(i),
                     [](const CppToken& a, const CppToken& b) { return a.text == b.text; });
      if (!fits || wanted.size() <= most) continue;
      most = wanted.size();
      by = &terms[number].second;
    }
    if (i > 0 && tokens[i].begin > tokens[i - 1].end()) result += ' ';
    result += by != nullptr ? *by : std::string(tokens[i].text);
    i += std::max<std::size_t>(most, 1);
    // With variables whose values contain each other, the text would double with each step.
    if (result.size() > kMaxCharacters) return text;
  }
  return result;
}

std::string without_casts(const std::string& text) {
  const CppTokens tokens = cpp_tokens(text);
  std::string result;
  const auto add = [&](std::size_t i) {
    if (i > 0 && !result.empty() && tokens[i].begin > tokens[i - 1].end()) result += ' ';
    result += tokens[i].text;
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t behind = behind_cast(tokens, i);
    if (behind != i) {
      i = behind - 1;
      continue;
    }
    const bool rounds_up =
        tokens[i].is("ceil", "ceilf") && i + 1 < tokens.size() && tokens[i + 1].is("(");
    const std::size_t close = rounds_up ? closing(tokens, i + 1) : kNoToken;
    const std::size_t slash =
        rounds_up && close < tokens.size() ? quotient(tokens, {i + 2, close}) : kNoToken;
    if (slash == kNoToken && close < tokens.size()) {
      // Its argument is a whole number already, as in `ceil((float)n) / 16`.
      result += "(" + without_casts(joined(tokens, {i + 2, close})) + ")";
      i = close;
      continue;
    }
    if (slash == kNoToken) {
      add(i);
      continue;
    }
    result += "ceil_div(" + whole_operand(tokens, {i + 2, slash}) + ", " +
              whole_operand(tokens, {slash + 1, close}) + ")";
    i = close;
  }
  return result;
}

std::string without_suffixes(const std::string& text) {
  std::string result;
  std::size_t end = 0;
  for (const CppToken& token : cpp_tokens(text)) {
    if (token.begin > end && !result.empty()) result += ' ';
    end = token.end();
    std::string word(token.text);
    const bool is_hexadecimal = word.starts_with("0x") || word.starts_with("0X");
    if (token.kind == CppToken::Kind::number && !is_hexadecimal) {
      while (!word.empty() &&
             std::string_view("fFlLuU").find(word.back()) != std::string_view::npos)
        word.pop_back();
      if (word.ends_with('.')) word += '0';
      if (word.starts_with('.')) word.insert(0, "0");
    }
    result += word;
  }
  return result;
}

std::string with_functions_of_definitions(const std::string& text) {
  static const Terms names = [] {
    Terms all = {{"std::", ""}, {"M_PI", "3.14159265358979323846"}};
    for (const std::string name : {"exp", "log", "sqrt", "floor", "sin", "cos", "tanh", "pow",
                                   "erf", "fabs", "fmax", "fmin"}) {
      const bool has_letter = name.front() == 'f' && name != "floor";
      const std::string ours = has_letter ? name.substr(1) : name;
      for (const std::string& one : {name, name + "f", "__" + name + "f"}) {
        all.emplace_back(one, ours);
      }
    }
    for (const char* const name :
         {"__half2float", "__float2half", "__bfloat162float", "__float2bfloat16"}) {
      all.emplace_back(name, "");
    }
    return all;
  }();
  return substituted(text, names);
}

std::string in_parentheses(const std::string& text) {
  const CppTokens tokens = cpp_tokens(text);
  const bool is_measured =
      tokens.size() > 1 && tokens[0].is("sizeof") && closing(tokens, 1) + 1 == tokens.size();
  return tokens.size() == 1 || is_measured ? text : "(" + text + ")";
}

std::set<std::string> names_behind(
    std::vector<std::string> texts,
    const std::function<std::vector<std::string>(const std::string&)>& values) {
  std::set<std::string> names;
  while (!texts.empty()) {
    const std::string text = std::move(texts.back());
    texts.pop_back();
    for (const std::string_view word : identifiers(text)) {
      const auto [name, is_new] = names.emplace(word);
      if (!is_new) continue;
      for (std::string& value : values(*name)) texts.push_back(std::move(value));
    }
  }
  return names;
}

std::vector<std::string> value_among(const std::map<std::string, std::string>& variables,
                                     const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::vector<std::string>() : std::vector{found->second};
}

bool has_name(const std::string& text, std::string_view name) {
  if (text.find(name) == std::string::npos) return false;
  const std::vector<std::string_view> all = identifiers(text);
  return std::ranges::find(all, name) != all.end();
}

std::string without_parentheses(const std::string& text) {
  const CppTokens tokens = cpp_tokens(text);
  const bool is_enclosed =
      tokens.size() > 2 && tokens.front().is("(") && closing(tokens, 0) + 1 == tokens.size();
  return is_enclosed ? without_parentheses(joined(tokens, {1, tokens.size() - 1})) : text;
}

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::string plain_tokens(const std::string& text) {
  const CppTokens tokens = cpp_tokens(text);
  std::string result;
  std::size_t end = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].begin > end && !result.empty()) result += ' ';
    const bool is_call = i > 0 && tokens[i - 1].is_word();
    const bool encloses_one =
        !is_call && i + 2 < tokens.size() && tokens[i].is("(") && tokens[i + 2].is(")");
    if (encloses_one) ++i;
    result += tokens[i].text;
    if (encloses_one) ++i;
    end = tokens[i].end();
  }
  return result == text ? text : plain_tokens(result);
}

std::string pointer_in(const std::string& text) {
  CppTokens words = cpp_tokens(text);
  while (!words.empty() && (words.back().is(")") || words.back().is("("))) {
    words.pop_back();  // The parentheses belong to a cast or a call.
    if (words.size() > 2 && words.back().is("data", "get")) words.resize(words.size() - 2);
  }
  if (!words.empty() && words.back().is("]")) {
    const std::size_t open = opening(words, words.size() - 1);
    words.resize(open == kNoToken ? 0 : open);
  }
  return !words.empty() && words.back().is_word() ? std::string(words.back().text) : "";
}

bool is_null_pointer(std::string_view text) { return is_one_of(text, {"0", "NULL", "nullptr"}); }

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace smemtune
