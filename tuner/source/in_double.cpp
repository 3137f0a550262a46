#include "tuner/source/in_double.h"

#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace smemtune {
namespace {

/// Returns the text with types in double: `sizeof(float)` becomes `sizeof(double)`.
std::string text_in_double(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_word_character) - text.begin());
    if (length == 0) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += type_in_double(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return result;
}

void make_double(Bindings& bindings) {
  for (auto& [name, value] : bindings) {
    if (auto* word = std::get_if<std::string>(&value)) *word = type_in_double(*word);
  }
}

void make_double(std::vector<ExpressionText>& texts) {
  for (ExpressionText& text : texts) text.text = text_in_double(text.text);
}

}  // namespace

bool is_narrow(ScalarType type) { return is_floating(type) && type != ScalarType::float64; }

std::string_view type_in_double(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kTypes = {{
      {"float", "double"},
      {"float1", "double1"},
      {"float2", "double2"},
      {"float3", "double3"},
      {"float4", "double4"},
      {"__nv_fp8_e4m3", "double"},
      {"half", "double"},
      {"__half", "double"},
      {"half2", "double2"},
      {"__half2", "double2"},
      {"nv_bfloat16", "double"},
      {"__nv_bfloat16", "double"},
      {"nv_bfloat162", "double2"},
      {"__nv_bfloat162", "double2"},
  }};
  const auto found =
      std::ranges::find(kTypes, word, &std::pair<std::string_view, std::string_view>::first);
  return found == kTypes.end() ? word : found->second;
}

Problem in_double(const Problem& problem) {
  Problem result = problem;
  make_double(result);
  return result;
}

KernelTemplate in_double(const KernelTemplate& kernel) {
  KernelTemplate result = kernel;
  make_double(result.default_configuration);
  result.constraints.clear();
  result.promising.clear();
  for (ArgumentTemplate& argument : result.arguments) {
    argument.symbol = text_in_double(argument.symbol);
  }
  for (LaunchTemplate& launch : result.launches) {
    make_double(launch.template_arguments);
    make_double(launch.block);
    make_double(launch.grid);
    launch.static_shared_bytes.reset();
    if (launch.dynamic_shared_bytes) {
      launch.dynamic_shared_bytes->text = text_in_double(launch.dynamic_shared_bytes->text);
    }
  }
  for (std::string& option : result.options) {
    const std::size_t equals = option.find('=');
    if (!option.starts_with("-D") || equals == std::string::npos) continue;
    option = option.substr(0, equals + 1) + text_in_double(option.substr(equals + 1));
  }
  return result;
}

Argument in_double(const Argument& argument) {
  Argument result = argument;
  result.symbol = text_in_double(argument.symbol);
  if (!is_narrow(argument.type)) return result;
  result.begins_as = argument.type;
  result.type = ScalarType::float64;
  return result;
}

KernelInstance in_double(KernelInstance instance, const KernelInstance& narrow) {
  instance.arguments.clear();
  std::int64_t wider = 1;
  for (const Argument& argument : narrow.arguments) {
    instance.arguments.push_back(in_double(argument));
    const std::size_t times = size_of(instance.arguments.back().type) / size_of(argument.type);
    wider = std::max(wider, static_cast<std::int64_t>(times));
  }
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    std::int64_t& bytes = instance.launches[i].dynamic_shared_bytes;
    bytes = std::max(bytes, wider * narrow.launches[i].dynamic_shared_bytes);
    for (Repetition& one : instance.launches[i].repetitions) {
      one.dynamic_shared_bytes = bytes;
      for (Argument& scalar : one.scalars) scalar = in_double(scalar);
    }
  }
  return instance;
}

}  // namespace smemtune
