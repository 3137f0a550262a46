#include "tuner/core/space.h"

#include <algorithm>

namespace smemtune {

std::string init_fault(const Init& init) {
  if (init.kind == Init::Kind::uniform && init.a > init.b) return "LOW is above HIGH";
  if (init.kind == Init::Kind::normal && init.b < 0) return "the deviation is negative";
  return {};
}

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

bool Space::has_other_answers(const KernelTemplate& kernel) const {
  const auto is_defined = [&](const std::string& output) {
    if (verify.definition_is_a_guess) return false;
    return std::ranges::any_of(verify.definitions, [&](const ExpressionText& definition) {
      const std::size_t begin = definition.text.find_first_not_of(" \t\n");
      return begin != std::string::npos && definition.text.substr(begin).starts_with(output) &&
             definition.text.find_first_not_of(" \t\n", begin + output.size()) ==
                 definition.text.find('[');
    });
  };
  const bool has_witness = !verify.also_reference.empty() && !verify.also.empty();
  if (has_witness && kernel.name != verify.also_reference) return true;
  if (kernel.name != verify.reference) return true;
  return std::ranges::all_of(kernel.arguments, [&](const ArgumentTemplate& argument) {
    const bool is_result =
        !argument.shape.empty() && (argument.role == Role::output || argument.role == Role::inout);
    return !is_result || is_defined(argument.name) || verify.expected.contains(argument.name);
  });
}

bool Space::derives_tolerances() const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelTemplate& k) { return k.tolerance.derived.has_value(); });
}

}  // namespace smemtune
