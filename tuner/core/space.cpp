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

bool Space::derives_tolerances() const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelTemplate& k) { return k.tolerance.derived.has_value(); });
}

}  // namespace smemtune
