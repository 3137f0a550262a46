#include "tuner/source/kernel_function.h"

#include "tuner/core/names.h"
#include "tuner/source/directive.h"

#include <algorithm>
#include <utility>

namespace smemtune {
namespace {

/// Returns T of the first `tex1Dfetch<T>(name, ...)`, or an empty text.
std::string texel_of(const CppTokens& tokens, std::size_t first, std::size_t end,
                     const std::string& name) {
  for (std::size_t i = first; i + 3 < end; ++i) {
    if (!tokens[i].is("tex1Dfetch") || !tokens[i + 1].is("<")) continue;
    std::string type;
    std::size_t j = i + 2;
    for (; j < end && !tokens[j].is(">"); ++j) {
      type += (type.empty() ? "" : " ") + std::string(tokens[j].text);
    }
    if (j + 2 < end && tokens[j + 1].is("(") && tokens[j + 2].is(name)) return type;
  }
  return "";
}

/// Returns the ; that ends the declaration that `at` lies in.
std::size_t end_of_statement(const CppTokens& tokens, std::size_t at, std::size_t end) {
  for (; at < end && !tokens[at].is(";"); ++at) {
    if (tokens[at].is("(", "[", "{")) at = closing(tokens, at);
  }
  return std::min(at, end);
}

/// Returns the token that names the variable of one declarator, or its end.
std::size_t declared_name(const CppTokens& tokens, TokenRange part) {
  for (std::size_t i = part.first; i < part.end; ++i) {
    const bool ends = i + 1 == part.end || tokens[i + 1].is("[", "=");
    if (tokens[i].is_word() && ends) return i;
    if (tokens[i].is("(")) i = closing(tokens, i);
  }
  return part.end;
}

std::vector<std::string> extents_in_brackets(const CppTokens& tokens, TokenRange range) {
  std::vector<std::string> extents;
  for (std::size_t i = range.first; i < range.end && tokens[i].is("[");) {
    const std::size_t close = std::min(closing(tokens, i), range.end);
    if (close > i + 1) extents.push_back(joined(tokens, {i + 1, close}));
    i = close + 1;
  }
  return extents;
}

/// Returns the highest of x, y, z that is used of a built-in such as threadIdx: 1 to 3; 0 if none
/// is.
int dimensions_of(const CppTokens& tokens, TokenRange body, std::string_view builtin) {
  int dimensions = 0;
  for (std::size_t i = body.first; i + 2 < body.end; ++i) {
    if (!tokens[i].is(builtin) || !tokens[i + 1].is(".")) continue;
    const std::string_view axis = tokens[i + 2].text;
    dimensions = std::max(dimensions, axis == "z" ? 3 : axis == "y" ? 2 : axis == "x" ? 1 : 0);
  }
  return dimensions;
}

/// Returns the tokens of the arguments; of the branches of an #if only those of the first.
CppTokens first_branches(const CppTokens& tokens, std::size_t first, std::size_t end) {
  CppTokens result;
  std::vector<bool> skips;
  for (std::size_t i = first; i < end; ++i) {
    if (tokens[i].kind != CppToken::Kind::directive) {
      if (std::ranges::find(skips, true) == skips.end()) result.push_back(tokens[i]);
      continue;
    }
    const std::string name = directive_of(tokens[i]).name;
    if (name.starts_with("if")) skips.push_back(false);
    if (name.starts_with("el") && !skips.empty()) skips.back() = true;
    if (name == "endif" && !skips.empty()) skips.pop_back();
  }
  return result;
}

/// Also for a macro that is called so: `SQRT`.
bool takes_positive_numbers(const CppToken& token) {
  return is_one_of(
      lower_case(token.text),
      {"sqrt", "sqrtf", "rsqrt", "rsqrtf", "log", "logf", "log2", "log2f", "log10", "log10f",
       "log1p", "pow", "powf", "__logf", "__powf", "__log2f", "__fsqrt_rn", "hsqrt"});
}

/// Returns true if a text contains a name that is neither a macro's nor a function's.
bool has_variable(const CppTokens& tokens, TokenRange range) {
  for (std::size_t i = range.first; i < std::min(range.end, tokens.size()); ++i) {
    const bool is_lower =
        std::ranges::any_of(tokens[i].text, [](char c) { return c >= 'a' && c <= 'z'; });
    if (tokens[i].is_word() && is_lower && !tokens[i + 1].is("(")) return true;
  }
  return false;
}

/// Adds the names in the condition of the loop at token i, unless its step has a variable, as where
/// all threads share the loop: `i += stride`.
void add_loop_bounds(const CppTokens& tokens, std::size_t i, std::set<std::string>& bounds) {
  const std::size_t close = closing(tokens, i + 1);
  std::array<std::size_t, 2> ends = {kNoToken, kNoToken};
  for (std::size_t j = i + 2; j < close && j < tokens.size(); ++j) {
    if (tokens[j].is(";")) ends[ends[0] == kNoToken ? 0 : 1] = j;
  }
  if (ends[1] == kNoToken) return;
  const std::string step = joined(tokens, {ends[1] + 1, close});
  const std::size_t by = std::min(step.size(), step.find('='));
  const bool has_variable =
      std::ranges::any_of(step.substr(by), [](char c) { return c >= 'a' && c <= 'z'; });
  if (has_variable) return;
  for (std::size_t j = ends[0] + 1; j < ends[1]; ++j) {
    if (tokens[j].is_word()) bounds.emplace(tokens[j].text);
  }
}

}  // namespace

std::vector<TemplateParameter> template_parameters(const CppTokens& tokens,
                                                   const SourceItem& item) {
  std::vector<TemplateParameter> parameters;
  if (!tokens[item.first].is("template") || item.first + 1 >= item.end) return parameters;
  const std::size_t open = item.first + 1;
  const std::size_t close = tokens[open].is("<") ? closing(tokens, open) : tokens.size();
  if (close >= item.end) return parameters;
  for (const TokenRange& part : split(tokens, {open + 1, close})) {
    TemplateParameter parameter;
    const std::size_t first = part.first + (tokens[part.first].is("const") ? 1 : 0);
    std::size_t end = part.end;
    for (std::size_t i = first; i < part.end; ++i) {
      if (!tokens[i].is("=")) continue;
      parameter.default_text = joined(tokens, {i + 1, part.end});
      end = i;
      break;
    }
    if (end < first + 2 || !tokens[end - 1].is_word()) continue;
    parameter.name = tokens[end - 1].text;
    parameter.kind = joined(tokens, {first, end - 1});
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::optional<KernelParameter> kernel_parameter(const CppTokens& tokens, TokenRange part) {
  for (std::size_t i = part.first; i < part.end; ++i) {
    if (tokens[i].is("=")) part.end = i;
  }
  KernelParameter parameter;
  while (part.end > part.first && tokens[part.end - 1].is("]")) {
    while (part.end > part.first && !tokens[part.end - 1].is("[")) --part.end;
    if (part.end > part.first) --part.end;
    ++parameter.pointers;
  }
  if (part.empty()) return std::nullopt;
  static const std::initializer_list<std::string_view> kQualifiers = {
      "const",    "volatile",          "__restrict__", "__restrict",
      "restrict", "__grid_constant__", "struct",       "typename"};
  std::vector<std::size_t> words;  // Words that make up the type and the name.
  bool seen_star = false;
  for (std::size_t i = part.first; i < part.end; ++i) {
    const CppToken& token = tokens[i];
    if (token.is("*")) {
      ++parameter.pointers;
      seen_star = true;
    } else if (token.is("const") && !seen_star) {
      parameter.is_const = true;
    } else if (token.is("&") || is_one_of(token.text, kQualifiers)) {
      continue;
    } else {
      words.push_back(i);
    }
  }
  if (words.empty()) return std::nullopt;
  if (words.size() > 1 && tokens[words.back()].is_word()) {
    parameter.name = tokens[words.back()].text;
    words.pop_back();
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool joins = i > 0 && tokens[words[i]].is_word() && tokens[words[i - 1]].is_word();
    if (joins) parameter.type += ' ';
    parameter.type += tokens[words[i]].text;
  }
  return parameter;
}

std::vector<SharedArray> arrays_of(const CppTokens& tokens, TokenRange range,
                                   std::string_view space) {
  std::vector<SharedArray> arrays;
  for (std::size_t i = range.first; i < range.end; ++i) {
    if (!tokens[i].is(space)) continue;
    bool is_dynamic = false;
    for (std::size_t j = i; j > range.first && tokens[j - 1].is_word(); --j) {
      is_dynamic = is_dynamic || tokens[j - 1].is("extern");
    }
    const std::size_t stop = end_of_statement(tokens, i + 1, range.end);
    std::string type;
    for (const TokenRange& part : split(tokens, {i + 1, stop})) {
      const std::size_t name = declared_name(tokens, part);
      if (name >= part.end) continue;
      if (type.empty()) type = joined(tokens, {part.first, name});
      arrays.push_back({.type = type,
                        .name = std::string(tokens[name].text),
                        .extents = extents_in_brackets(tokens, {name + 1, part.end}),
                        .is_dynamic = is_dynamic});
    }
    i = stop;
  }
  return arrays;
}

void KernelFunction::add_uses_of(const KernelFunction& other) {
  reached.insert(other.reached.begin(), other.reached.end());
  loop_bounds.insert(other.loop_bounds.begin(), other.loop_bounds.end());
  block_dimensions = std::max(block_dimensions, other.block_dimensions);
  grid_dimensions = std::max(grid_dimensions, other.grid_dimensions);
  uses_block_size = uses_block_size || other.uses_block_size;
  needs_positive_numbers = needs_positive_numbers || other.needs_positive_numbers;
}

void use_body(const CppTokens& tokens, TokenRange body, KernelFunction& kernel) {
  for (std::size_t i = body.first; i + 1 < body.end; ++i) {
    if (tokens[i].is("for") && tokens[i + 1].is("("))
      add_loop_bounds(tokens, i, kernel.loop_bounds);
  }
  const int block = dimensions_of(tokens, body, "blockDim");
  kernel.uses_block_size = kernel.uses_block_size || block > 0;
  kernel.block_dimensions =
      std::max({kernel.block_dimensions, block, dimensions_of(tokens, body, "threadIdx")});
  kernel.grid_dimensions =
      std::max({kernel.grid_dimensions, dimensions_of(tokens, body, "blockIdx"),
                dimensions_of(tokens, body, "gridDim")});
  for (std::size_t i = body.first; i + 1 < body.end; ++i) {
    if (takes_positive_numbers(tokens[i]) && tokens[i + 1].is("(") &&
        has_variable(tokens, {i + 2, closing(tokens, i + 1)})) {
      kernel.needs_positive_numbers = true;
    }
  }
}

KernelFunction kernel_of(const CppTokens& tokens, const SourceItem& item) {
  KernelFunction kernel;
  kernel.name = item.name_space + item.declares.front();
  kernel.line = tokens[item.name].line;
  kernel.template_parameters = template_parameters(tokens, item);
  const std::size_t close = std::min(closing(tokens, item.list), item.end);
  const CppTokens list = first_branches(tokens, item.list + 1, close);
  for (const TokenRange& part : split(list, {0, list.size()})) {
    std::optional<KernelParameter> parameter = kernel_parameter(list, part);
    if (!parameter || (parameter->type == "void" && parameter->pointers == 0)) continue;
    if (parameter->name.empty()) {
      parameter->name = "argument_" + std::to_string(kernel.parameters.size());
    }
    if (parameter->is_texture()) {
      parameter->texel = texel_of(tokens, item.body + 1, item.end, parameter->name);
    }
    kernel.parameters.push_back(std::move(*parameter));
  }
  for (std::size_t i = item.first; i + 1 < item.body; ++i) {
    if (!tokens[i].is("__launch_bounds__") || !tokens[i + 1].is("(")) continue;
    const std::size_t end = std::min(closing(tokens, i + 1), item.body);
    kernel.launch_bounds = texts(tokens, split(tokens, {i + 2, end}));
  }
  const TokenRange body = {item.body, item.end};
  kernel.shared = arrays_of(tokens, body, "__shared__");
  use_body(tokens, body, kernel);
  return kernel;
}

}  // namespace smemtune
