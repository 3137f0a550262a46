#include "tuner/core/space.h"

#include "tuner/core/text.h"

#include <algorithm>

namespace smemtune {

std::string init_fault(const Init& init) {
  if (init.kind == Init::Kind::uniform && init.a > init.b) return "LOW is above HIGH";
  if (init.kind == Init::Kind::normal && init.b < 0) return "the deviation is negative";
  return {};
}

bool is_cpp(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool is_behind_name = is_letter(text[i - 1]) || is_digit(text[i - 1]);
    if (is_behind_name && text[i] == '<' && text.find('>', i) != text.npos) return true;
  }
  return text.find("::") != text.npos || text.starts_with("decltype") || text.ends_with('*') ||
         text.ends_with('&') || text.starts_with('\'');
}

bool is_cast(std::string_view entry) {
  return entry.starts_with('(') || entry.starts_with("static_cast<");
}

bool KernelTemplate::names_template_argument(std::string_view wanted) const {
  const auto names = [wanted](const std::string& text) {
    if (text == wanted) return true;
    if (!is_cpp(text) && !is_cast(text)) return false;
    const auto is_part = [&](std::size_t i) {
      return i < text.size() && (is_letter(text[i]) || is_digit(text[i]));
    };
    for (std::size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
      if ((at == 0 || !is_part(at - 1)) && !is_part(at + wanted.size())) return true;
    }
    return false;
  };
  return std::ranges::any_of(launches, [&](const LaunchTemplate& launch) {
    return names(is_cast(launch.entry) ? launch.entry : launch.entry_name) ||
           std::ranges::any_of(launch.template_arguments, [&](const ExpressionText& argument) {
             return names(argument.text);
           });
  });
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
