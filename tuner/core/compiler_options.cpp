#include "tuner/core/compiler_options.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smemtune {

namespace {

bool is_switch(std::string_view option) {
  if (option.starts_with("--")) option.remove_prefix(1);
  constexpr std::array<std::string_view, 4> kSwitches = {
      "-fmad=", "-ftz=", "-prec-div=", "-prec-sqrt="};
  return std::ranges::any_of(kSwitches,
                             [&](std::string_view name) { return option.starts_with(name); });
}

constexpr std::string_view kOption = "--nvrtc=";

void refuse_taken_name(const Space& space, const KernelTemplate& kernel) {
  const bool is_parameter = kernel.default_configuration.contains(kCompilerParameter);
  const bool is_size = std::ranges::any_of(
      space.problems, [](const Problem& problem) { return problem.contains(kCompilerParameter); });
  if (!is_parameter && !is_size) return;
  throw InputError(space.file.string() + ": " + kernel.where + ": --nvrtc adds the parameter " +
                   kCompilerParameter + ", and " +
                   (is_parameter ? "the kernel has a parameter" : "the problem has a value") +
                   " of that name already");
}

}  // namespace

std::optional<std::string> name_in_option(std::string_view option) {
  const std::size_t begin = option.find("${");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = option.find('}', begin);
  const std::string_view name = option.substr(begin + 2, end - begin - 2);
  if (end == std::string_view::npos || !is_name(name)) {
    throw InputError(in_quotes(option) + " has no name between ${ and }");
  }
  if (option.find("${", end) != std::string_view::npos) {
    throw InputError(in_quotes(option) + " takes more than one value");
  }
  return std::string(name);
}

std::string bind_option(const std::string& option, const Value& value) {
  const std::size_t begin = option.find("${");
  if (begin == std::string::npos) return option;
  std::string text = to_text(value);
  if (is_switch(option) && text == "0") text = "false";
  if (is_switch(option) && text == "1") text = "true";
  return option.substr(0, begin) + text + option.substr(option.find('}', begin) + 1);
}

void choose_among(Space& space, std::span<const std::int64_t> versions) {
  for (KernelTemplate& kernel : space.kernels) {
    refuse_taken_name(space, kernel);
    kernel.parameters.push_back(
        {.name = kCompilerParameter, .values = {versions.begin(), versions.end()}});
    kernel.default_configuration.emplace(kCompilerParameter, versions.front());
    kernel.options.push_back(std::string(kOption) + "${" + kCompilerParameter + "}");
    kernel.unused_names.insert(kCompilerParameter);  // No macro is defined for it either.
  }
}

std::optional<std::int64_t> take_compiler(std::vector<std::string>& options) {
  const auto found = std::ranges::find_if(
      options, [](const std::string& option) { return option.starts_with(kOption); });
  if (found == options.end()) return std::nullopt;
  const std::int64_t version = std::stoll(found->substr(kOption.size()));
  options.erase(found);
  return version;
}

std::string compiler_hint(std::string_view parameter) {
  if (parameter != kCompilerParameter) return {};
  return std::string("; ") + kCompilerParameter +
         " chooses among the libraries of several --nvrtc: give them again";
}

std::string compiler_version_text(std::int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace smemtune
