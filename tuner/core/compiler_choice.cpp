#include "tuner/core/compiler_choice.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <string_view>

namespace smemtune {
namespace {

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
