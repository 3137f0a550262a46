#include "tuner/core/space.h"

#include <algorithm>

namespace smemtune {

bool KernelTemplate::names_template_argument(std::string_view wanted) const {
  for (const LaunchTemplate& launch : launches) {
    for (const ExpressionText& argument : launch.template_arguments) {
      if (argument.text == wanted) return true;
    }
  }
  return false;
}

const KernelTemplate* Space::kernel(std::string_view kernel_name) const {
  const auto found =
      std::find_if(kernels.begin(), kernels.end(),
                   [kernel_name](const KernelTemplate& k) { return k.name == kernel_name; });
  return found == kernels.end() ? nullptr : &*found;
}

ComparedWith Space::compared_with(const KernelTemplate& kernel) const {
  const auto is_defined = [&](const std::string& output) {
    if (verify.definition_is_a_guess) return false;
    return std::ranges::any_of(verify.definitions, [&](const ExpressionText& definition) {
      const std::size_t begin = definition.text.find_first_not_of(" \t\n");
      return begin != std::string::npos && definition.text.substr(begin).starts_with(output) &&
             definition.text.find_first_not_of(" \t\n", begin + output.size()) ==
                 definition.text.find('[');
    });
  };
  bool any_file = false;
  bool all_given = true;
  for (const ArgumentTemplate& argument : kernel.arguments) {
    const bool is_result =
        !argument.shape.empty() && (argument.role == Role::output || argument.role == Role::inout);
    if (!is_result || is_defined(argument.name)) continue;
    const bool in_file = verify.expected.contains(argument.name);
    any_file = any_file || in_file;
    all_given = all_given && in_file;
  }
  if (all_given) return any_file ? ComparedWith::expected_file : ComparedWith::definition;
  const bool has_witness = !verify.also_reference.empty() && !verify.also.empty();
  if (has_witness && kernel.name != verify.also_reference) return ComparedWith::another_kernel;
  return kernel.name == verify.reference ? ComparedWith::only_itself : ComparedWith::another_kernel;
}

bool Space::derives_tolerances() const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelTemplate& k) { return k.tolerance.derived.has_value(); });
}

}  // namespace smemtune
