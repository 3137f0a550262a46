#include "tuner/config/t1_file.h"

#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/text.h"
#include "tuner/source/cpp_tokens.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>

namespace smemtune {

namespace {

constexpr std::size_t kMaxValues = 100'000;
/// Limit on the parameters and characters of conditions that are evaluated to find defaults.
constexpr std::size_t kMostEvaluated = 50'000'000;
constexpr int kMaxNesting = 16;

constexpr const char* kAxes[] = {"X", "Y", "Z"};
constexpr const char* kSizes[] = {"problem_size_x", "problem_size_y", "problem_size_z"};

[[noreturn]] void no_list(std::string_view text) {
  throw InputError(quote(text) +
                   " is not a list of values such as [1, 2, 4], range(1, 9) or "
                   "[2**i for i in range(6)]");
}

bool is_bracketed(std::string_view text, char open, char close) {
  return text.size() >= 2 && text.front() == open && text.back() == close;
}

/// Returns the first position outside brackets and quotes where `find(rest)` holds; npos if there
/// is none.
template <typename Find>
std::size_t outside_if(std::string_view text, Find find) {
  int depth = 0;
  char quoted = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted != 0) {
      if (c == quoted) quoted = 0;
      continue;
    }
    if (depth == 0 && find(text.substr(i))) return i;
    if (c == '\'' || c == '"') quoted = c;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
  }
  return std::string_view::npos;
}

std::size_t outside(std::string_view text, std::string_view what) {
  return outside_if(text, [&](std::string_view rest) { return rest.starts_with(what); });
}

std::vector<std::string> parts(std::string_view text) {
  std::vector<std::string> all;
  for (;;) {
    const std::size_t comma = outside(text, ",");
    const std::string part = trimmed(text.substr(0, comma));
    if (!part.empty()) all.push_back(part);
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
  }
}

/// Converts a Python expression to an expression of space files.
std::string in_python(std::string_view text) { return "python(" + std::string(text) + ")"; }

std::int64_t number(std::string_view text) {
  return Expression::compile(in_python(text), Scope()).evaluate({});
}

Value element(std::string_view text) {
  if (is_bracketed(text, '\'', '\'') || is_bracketed(text, '"', '"')) {
    return std::string(text.substr(1, text.size() - 2));
  }
  return number(text);
}

std::vector<Value> list_of(std::string_view text, int depth);

std::vector<Value> range_of(std::string_view arguments) {
  std::vector<std::int64_t> given;
  for (const std::string& part : parts(arguments)) given.push_back(number(part));
  if (given.empty() || given.size() > 3) no_list("range(" + std::string(arguments) + ")");
  const std::int64_t begin = given.size() == 1 ? 0 : given[0];
  const std::int64_t end = given.size() == 1 ? given[0] : given[1];
  const std::int64_t step = given.size() == 3 ? given[2] : 1;
  if (step == 0) throw InputError("a range with steps of 0");
  std::vector<Value> values;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (values.size() == kMaxValues) throw InputError("a range of more than 100000 values");
    values.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return values;
}

/// Evaluates `EXPRESSION for NAME in LIST if CONDITION`.
std::vector<Value> comprehension(std::string_view text, std::size_t at_for, int depth) {
  const std::string what = trimmed(text.substr(0, at_for));
  std::string_view rest = text.substr(at_for + 5);
  const std::size_t at_in = outside(rest, " in ");
  if (at_in == std::string_view::npos) no_list(text);
  const std::string name = trimmed(rest.substr(0, at_in));
  rest.remove_prefix(at_in + 4);
  const std::size_t at_if = outside(rest, " if ");
  const bool is_limited = at_if != std::string_view::npos;
  Scope scope;
  scope.add_variable(name, 0);
  const Expression expression = Expression::compile(in_python(what), scope);
  const std::string condition = is_limited ? trimmed(rest.substr(at_if + 4)) : "1";
  const Expression is_wanted = Expression::compile(in_python(condition), scope);
  std::vector<Value> values;
  for (const Value& value : list_of(trimmed(rest.substr(0, at_if)), depth + 1)) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) throw InputError(quote(text) + " calculates with a word");
    const std::array<std::int64_t, 1> slots = {*integer};
    if (is_wanted.evaluate(slots) != 0) values.emplace_back(expression.evaluate(slots));
  }
  return values;
}

std::vector<Value> list_of(std::string_view text, int depth) {
  if (depth > kMaxNesting) throw InputError("lists nested deeper than 16");
  if (const std::size_t plus = outside(text, "+"); plus != std::string_view::npos) {
    std::vector<Value> values = list_of(trimmed(text.substr(0, plus)), depth + 1);
    std::ranges::move(list_of(trimmed(text.substr(plus + 1)), depth + 1),
                      std::back_inserter(values));
    if (values.size() > kMaxValues) throw InputError("a list of more than 100000 values");
    return values;
  }
  if (text.starts_with("range(") && text.back() == ')') {
    return range_of(text.substr(6, text.size() - 7));
  }
  for (const std::string_view word : {"list(", "tuple(", "sorted("}) {
    if (!text.starts_with(word) || text.back() != ')') continue;
    const std::string inside = trimmed(text.substr(word.size(), text.size() - word.size() - 1));
    const std::size_t at_for = outside(inside, " for ");
    return at_for == std::string_view::npos ? list_of(inside, depth + 1)
                                            : comprehension(inside, at_for, depth);
  }
  if (!is_bracketed(text, '[', ']') && !is_bracketed(text, '(', ')')) no_list(text);
  const std::string_view inside = text.substr(1, text.size() - 2);
  const std::size_t at_for = outside(inside, " for ");
  if (at_for != std::string_view::npos) return comprehension(inside, at_for, depth);
  std::vector<Value> values;
  for (const std::string& part : parts(inside)) values.push_back(element(part));
  return values;
}

/// Replaces `a if c else b` by `((c) ? (a) : (b))`, in all brackets.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the text has brackets, at most kMaxNesting.
std::string without_if(std::string_view text, int depth) {
  if (depth > kMaxNesting) throw InputError("brackets nested deeper than 16");
  if (const std::size_t comma = outside(text, ","); comma != std::string::npos) {
    return without_if(text.substr(0, comma), depth) + "," +
           without_if(text.substr(comma + 1), depth);
  }
  std::string inner;
  int level = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool opens = text[i] == '(' || text[i] == '[';
    const bool closes = text[i] == ')' || text[i] == ']';
    if (opens && level++ == 0) {
      inner += text.substr(begin, i + 1 - begin);
      begin = i + 1;
    }
    if (closes && level > 0 && --level == 0) {
      inner += without_if(text.substr(begin, i - begin), depth + 1);
      begin = i;
    }
  }
  inner += text.substr(begin);
  const std::size_t at_if = outside(inner, " if ");
  const std::size_t at_else = outside(inner, " else ");
  if (at_if == std::string::npos || at_else == std::string::npos || at_else < at_if) return inner;
  return "((" + inner.substr(at_if + 4, at_else - at_if - 4) + ") ? (" + inner.substr(0, at_if) +
         ") : (" + without_if(inner.substr(at_else + 6), depth + 1) + "))";
}

/// Converts a Python expression of the index `i` to the language of definitions.
std::string in_definition(const std::string& text) {
  if (text.size() > 4096) throw InputError("an expression of more than 4096 characters");
  static const std::regex kModule(R"(\b(math|np|numpy)\s*\.\s*)");
  static const std::regex kFloat(R"(\bfloat\s*\()");
  static const std::regex kInt(R"(\bint\s*\()");
  static const std::regex kPi(R"(\bpi\b)");
  std::string plain = std::regex_replace(text, kModule, "");
  plain = std::regex_replace(plain, kFloat, "(");
  plain = std::regex_replace(plain, kInt, "floor(");
  return without_if(std::regex_replace(plain, kPi, "3.141592653589793"), 0);
}

/// Translates a T1 specification into a space. `where` is the pointer of the value that is being
/// read.
class Translator {
 public:
  Translator(const Json& root, std::string_view source)
      : root_(root), kernel_(root["KernelSpecification"]), source_(source) {}

  Json space() {
    at("/KernelSpecification/Language", [&] {
      const std::string language = kernel_.value("Language", "CUDA");
      if (language != "CUDA") throw InputError(quote(language) + " is not CUDA");
    });
    at("/ConfigurationSpace/TuningParameters", [&] { read_parameters(); });
    const Json conditions = constraints();
    at("/ConfigurationSpace/Conditions", [&] { choose_defaults(conditions); });
    const std::string name = kernel_.value("KernelName", "");
    const Json general = root_.value("General", Json::object());
    Json space = {{"name", identifier(general.value("BenchmarkName", name))},
                  {"problems", Json::array({problem()})},
                  {"arguments", Json::array()},
                  {"verify", {{"reference", "default"}}},
                  {"kernels", Json::array()}};
    at("/KernelSpecification/Arguments", [&] { space["arguments"] = arguments(); });
    if (has_floating_output_) {
      space["verify"]["absolute"] = tolerance();
      space["verify"]["relative"] = 1e-4;
    }
    space["kernels"].push_back({{"name", identifier(name)},
                                {"source", kernel_.value("KernelFile", "")},
                                {"pass", "define"},
                                {"options", options()},
                                {"entry", name},
                                {"parameters", parameters_},
                                {"default", defaults_},
                                {"constraints", conditions},
                                {"block", sizes("LocalSize")},
                                {"grid", grid()}});
    return space;
  }

 private:
  template <typename Read>
  void at(const std::string& where, Read read) {
    try {
      read();
    } catch (const InputError& error) {
      const bool has_place = std::string_view(error.what()).starts_with('/');
      throw InputError(has_place ? error.what() : where + ": " + error.what());
    } catch (const Json::exception&) {
      throw InputError(where + ": is not of the form that T1 prescribes");
    }
  }

  static std::string identifier(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return !is_letter(c) && !is_digit(c); }, '_');
    return name;
  }

  static Json json_of(const Value& value) {
    return std::visit([](const auto& held) { return Json(held); }, value);
  }

  void read_parameters() {
    std::size_t all_values = 0;
    for (const Json& one : root_.at("ConfigurationSpace").at("TuningParameters")) {
      const std::string name = one.at("Name").get<std::string>();
      const std::vector<Value> values = python_list(plain_text(one.at("Values")));
      if (values.empty()) throw InputError(quote(name) + " has no values");
      all_values += values.size();
      if (all_values > kMaxValues) throw InputError("more than 100000 values in all");
      Json list = Json::array();
      std::set<Value> seen;
      for (const Value& value : values) {
        if (seen.insert(value).second) list.push_back(json_of(value));
      }
      parameters_[name] = list;
      Json given = one.value("Default", list.front());
      if (given.is_array() && given.size() == 1) given = given.front();
      if (given.is_boolean()) given = given.get<bool>() ? 1 : 0;
      const bool is_value = std::ranges::find(list, given) != list.end();
      defaults_[name] = is_value ? given : list.front();
    }
  }

  /// Replaces published defaults that violate their conditions by the first values that satisfy
  /// them, if these are found in time. If not, the reader of the space reports the defaults.
  void choose_defaults(const Json& constraints) {
    Scope scope;
    std::vector<std::vector<std::int64_t>> values;
    std::vector<std::int64_t> slots;
    const auto slot = [](const Json& value) {
      return to_slot(value.is_string() ? Value(value.get<std::string>())
                                       : Value(value.get<std::int64_t>()));
    };
    for (const auto& [name, list] : parameters_.items()) {
      const bool is_word = list.front().is_string();
      scope.add_variable(name, slots.size(), is_word ? Scope::Kind::word : Scope::Kind::integer);
      slots.push_back(slot(defaults_[name]));
      values.emplace_back();
      for (const Json& value : list) values.back().push_back(slot(value));
    }
    const Json sizes = problem();
    for (const auto& [name, size] : sizes.items()) {
      if (!scope.contains(name)) scope.add_constant(name, size.get<std::int64_t>());
    }
    struct Condition {
      std::size_t characters;
      Expression expression;
    };
    std::vector<Condition> conditions;
    for (const Json& one : constraints) {
      const auto text = one.get<std::string>();
      conditions.push_back({text.size(), Expression::compile(text, scope)});
    }
    std::size_t evaluated = 0;
    const auto hold = [&] {
      return std::ranges::all_of(conditions, [&](const Condition& one) {
        evaluated += one.characters;
        return one.expression.evaluate(slots) != 0;
      });
    };
    if (hold()) return;
    std::vector<std::size_t> chosen(values.size());
    while (evaluated < kMostEvaluated) {
      for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = values[i][chosen[i]];
      evaluated += slots.size();
      if (hold()) {
        std::size_t i = 0;
        for (const auto& [name, list] : parameters_.items()) defaults_[name] = list[chosen[i++]];
        return;
      }
      std::size_t i = slots.size();
      while (i > 0 && ++chosen[i - 1] == values[i - 1].size()) chosen[--i] = 0;
      if (i == 0) return;
    }
  }

  /// Returns the problem's sizes. KTT's specifications name none; the length of the longest vector
  /// is used then.
  Json problem() {
    Json sizes = Json::object();
    if (!kernel_.contains("ProblemSize") && !has_divisors()) {
      sizes[kSizes[0]] = longest_vector();
      return sizes;
    }
    at("/KernelSpecification/ProblemSize", [&] {
      const Json& given = kernel_.at("ProblemSize");
      const Json list = given.is_array() ? given : Json::array({given});
      if (list.empty() || list.size() > 3) throw InputError("is not one to three sizes");
      for (std::size_t i = 0; i < list.size(); ++i) sizes[kSizes[i]] = number(plain_text(list[i]));
    });
    return sizes;
  }

  bool has_divisors() const {
    return kernel_.contains("GridDivX") || kernel_.contains("GridDivY") ||
           kernel_.contains("GridDivZ");
  }

  std::int64_t longest_vector() {
    std::int64_t longest = 1;
    at("/KernelSpecification/Arguments", [&] {
      for (const Json& one : kernel_.at("Arguments")) {
        const Json size = one.value("Size", Json(1));
        if (size.is_number_integer()) longest = std::max(longest, size.get<std::int64_t>());
      }
    });
    return longest;
  }

  /// Translates an expression for a size: `ProblemSize[0]` becomes its name, and `max(PARAMETER)`,
  /// over all its values, becomes a number. `//` divides as in Python.
  std::string size_expression(std::string text) const {
    if (text.size() > 4096) throw InputError("an expression of more than 4096 characters");
    static const std::regex kSize(R"(ProblemSize\[\s*([012])\s*\])");
    static const std::regex kExtreme(R"(\b(max|min)\(\s*([A-Za-z_]\w*)\s*\))");
    std::smatch found;
    while (std::regex_search(text, found, kSize)) {
      text = found.prefix().str() + kSizes[found[1].str()[0] - '0'] + found.suffix().str();
    }
    std::string result;
    while (std::regex_search(text, found, kExtreme)) {
      const auto parameter = parameters_.find(found[2].str());
      result += found.prefix().str();
      if (parameter == parameters_.end()) {
        result += found.str();
      } else {
        const Json& values = *parameter;
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        result += (found[1] == "max" ? *most : *least).dump();
      }
      text = found.suffix().str();
    }
    result += text;
    return result.find("//") == std::string::npos ? result : in_python(result);
  }

  static std::string cuda_type(const std::string& type) {
    static const std::pair<const char*, const char*> kTypes[] = {
        {"bool", "bool"},           {"int8", "signed char"},      {"uint8", "unsigned char"},
        {"int16", "short"},         {"uint16", "unsigned short"}, {"int32", "int"},
        {"uint32", "unsigned int"}, {"int64", "long long"},       {"uint64", "unsigned long long"},
        {"half", "__half"},         {"float", "float"},           {"double", "double"}};
    for (const auto& [t1, cuda] : kTypes) {
      if (type == t1) return cuda;
    }
    throw InputError("the type " + quote(type) + " is not known here");
  }

  Json arguments() {
    Json all = Json::array();
    const bool takes_all = kernel_parameters() == kernel_.at("Arguments").size();
    for (const Json& one : kernel_.at("Arguments")) {
      const std::string name = one.at("Name").get<std::string>();
      const std::string t1_type = one.at("Type").get<std::string>();
      const std::string type = cuda_type(t1_type);
      const std::string memory = one.at("MemoryType").get<std::string>();
      if (memory == "Scalar") {
        const Json value = one.value("FillValue", Json(0));
        all.push_back({{"name", name},
                       {"type", type},
                       {"value", value.is_number_float() ? value : Json(plain_text(value))}});
        continue;
      }
      if (memory != "Vector" && memory != "Symbol") {
        throw InputError(quote(name) + " lies in the memory " + quote(memory) +
                         "; Vector, Scalar and Symbol are known");
      }
      all.push_back(buffer(one, name, type, memory == "Symbol"));
      const bool is_copied = memory == "Vector" && all.back().contains("memory");
      if (is_copied && takes_all) all.push_back(passed_too(all.back()));
    }
    return all;
  }

  /// Returns how many parameters the source's kernel takes; nullopt if it is not found.
  std::optional<std::size_t> kernel_parameters() const {
    const CppTokens tokens = cpp_tokens(source_);
    const std::string name = kernel_.value("KernelName", "");
    bool is_kernel = false;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].is("__global__")) is_kernel = true;
      if (tokens[i].is("{") || tokens[i].is(";")) is_kernel = false;
      if (!is_kernel || !tokens[i].is(name) || !tokens[i + 1].is("(")) continue;
      return split(tokens, {.first = i + 2, .end = closing(tokens, i + 1)}).size();
    }
    return std::nullopt;
  }

  /// Returns an argument that passes a constant as well: Kernel Tuner does that with everything
  /// that it copies to constant memory, and a kernel may take it.
  static Json passed_too(const Json& constant) {
    Json passed = constant;
    const std::string name = constant["name"].get<std::string>();
    passed["name"] = name + "_passed";
    passed["init"] = name + "_passed[i] = " + name + "[i]";
    passed.erase("memory");
    return passed;
  }

  Json buffer(const Json& one, const std::string& name, const std::string& type, bool is_symbol) {
    const std::string access = one.value("AccessType", "ReadWrite");
    const std::string role = access == "ReadOnly"    ? "input"
                             : access == "WriteOnly" ? "output"
                                                     : "inout";
    const std::string fill = one.value("FillType", "Constant");
    static constexpr std::array<std::string_view, 4> kFills = {"Constant", "Random", "Generator",
                                                               "BinaryRaw"};
    if (std::ranges::find(kFills, fill) == kFills.end()) {
      throw InputError(quote(name) + " is filled by " + quote(fill) +
                       "; Constant, Random, Generator and BinaryRaw are known");
    }
    Json argument = {{"name", name},
                     {"type", type},
                     {"shape", {size_expression(plain_text(one.at("Size")))}},
                     {"role", role}};
    const bool is_floating = type == "float" || type == "double" || type == "__half";
    if (role != "output") {
      const std::string value = plain_text(one.value("FillValue", Json(0)));
      argument["init"] =
          fill == "Generator"
              ? name + "[i] = " + in_definition(one.at("DataSource").get<std::string>())
          : fill == "BinaryRaw" ? "file(\"" + one.at("DataSource").get<std::string>() + "\")"
          : fill == "Constant"  ? "constant(" + value + ")"
          : is_floating         ? "uniform(-1, 1)"
                                : "uniform(0, 100)";
    }
    if (role != "input" && is_floating) has_floating_output_ = true;
    if (is_symbol || one.value("MemType", "") == "Constant") argument["memory"] = "constant";
    return argument;
  }

  double tolerance() const {
    double largest = 1e-4;
    for (const Json& one : kernel_.value("ReferenceArguments", Json::array())) {
      largest = std::max(largest, one.value("ValidationThreshold", 0.0));
    }
    return largest;
  }

  /// Returns the compiler options except for the standard, because kernels are compiled as C++17.
  /// Kernels for Kernel Tuner ask for its macro. NVRTC takes `-use_fast_math` for
  /// `--use_fast_math`.
  Json options() {
    Json all = Json::array({"-Dkernel_tuner=1"});
    at("/KernelSpecification/CompilerOptions", [&] {
      for (const Json& one : kernel_.value("CompilerOptions", Json::array())) {
        std::string option = one.get<std::string>();
        const bool is_long = option.size() > 1 && option[0] == '-' && is_letter(option[1]) &&
                             option[1] >= 'a' && option != "-lineinfo";
        if (is_long) {
          option.insert(0, 1, '-');
        }
        if (!option.empty() && !option.starts_with("--std")) all.push_back(std::move(option));
      }
    });
    return all;
  }

  Json constraints() {
    Json all = Json::array();
    at("/ConfigurationSpace/Conditions", [&] {
      for (const Json& one : root_.at("ConfigurationSpace").value("Conditions", Json::array())) {
        all.push_back(in_python(one.at("Expression").get<std::string>()));
      }
    });
    return all;
  }

  /// Returns a size for each axis that the specification names.
  Json sizes(const char* which) {
    Json all = Json::array();
    at(std::string("/KernelSpecification/") + which, [&] {
      const Json& given = kernel_.at(which);
      for (const char* axis : kAxes) {
        if (given.contains(axis)) all.push_back(size_expression(plain_text(given[axis])));
      }
    });
    return all;
  }

  /// Returns the grid: the problem's sizes divided as in Kernel Tuner, or the specification's own
  /// sizes.
  Json grid() {
    Json all = Json::array();
    const Json problem_sizes = problem();
    if (!has_divisors()) {
      const Json block = sizes("LocalSize");
      const Json threads = sizes("GlobalSize");
      const bool counts_threads = kernel_.value("GlobalSizeType", "CUDA") == "OpenCL";
      for (std::size_t i = 0; i < threads.size(); ++i) {
        const std::string size = threads[i].get<std::string>();
        all.push_back(counts_threads && i < block.size()
                          ? "ceil_div(" + size + ", " + block[i].get<std::string>() + ")"
                          : size);
      }
      return all;
    }
    for (std::size_t i = 0; i < problem_sizes.size(); ++i) {
      std::string divisor;
      const std::string name = std::string("GridDiv") + kAxes[i];
      at("/KernelSpecification/" + name, [&] {
        for (const Json& factor : kernel_.value(name, Json::array())) {
          divisor += (divisor.empty() ? "(" : " * (") + size_expression(plain_text(factor)) + ")";
        }
      });
      all.push_back(divisor.empty() ? kSizes[i]
                                    : std::string("ceil_div(") + kSizes[i] + ", " + divisor + ")");
    }
    return all;
  }

  const Json& root_;
  const Json& kernel_;
  std::string_view source_;
  Json parameters_ = Json::object();
  Json defaults_ = Json::object();
  bool has_floating_output_ = false;
};

}  // namespace

bool is_t1(const Json& root) {
  return root.is_object() && root.contains("ConfigurationSpace") &&
         root.contains("KernelSpecification") && root["ConfigurationSpace"].is_object() &&
         root["KernelSpecification"].is_object();
}

Json space_of_t1(const Json& root, std::string_view source) {
  return Translator(root, source).space();
}

std::vector<Value> python_list(std::string_view text) { return list_of(trimmed(text), 0); }

}  // namespace smemtune
