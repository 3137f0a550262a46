#include "tuner/cli/selected_kernels.h"

#include "tuner/config/space_file.h"
#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/names.h"
#include "tuner/core/text.h"

#include <algorithm>

namespace smemtune::cli {
namespace {

std::vector<std::string> names_of(const std::vector<const KernelTemplate*>& kernels) {
  return texts_of(kernels, &KernelTemplate::name);
}

const Parameter* find_parameter(const KernelTemplate& kernel, const std::string& name) {
  const auto found = std::ranges::find(kernel.parameters, name, &Parameter::name);
  return found == kernel.parameters.end() ? nullptr : &*found;
}

bool has_all(const KernelTemplate& kernel, const Configuration& given) {
  return std::ranges::all_of(given, [&kernel](const auto& entry) {
    return find_parameter(kernel, entry.first) != nullptr;
  });
}

}  // namespace

const KernelTemplate& chosen_kernel(const Space& space, const std::string& name) {
  const std::vector<std::string> known = names_of(chosen_kernels(space, {}));
  const KernelTemplate* kernel = space.kernel(name);
  if (kernel == nullptr) kernel = space.kernel(meant_name("--kernel: kernel", name, known));
  if (kernel != nullptr) return *kernel;
  throw InputError("--kernel: " + space.file.string() + " has no kernel " + quote(name) +
                   "; it has " + joined(known, ", ") + suggestion(name, known));
}

std::vector<const KernelTemplate*> chosen_kernels(const Space& space,
                                                  const std::vector<std::string>& names) {
  std::vector<const KernelTemplate*> kernels;
  if (names.empty()) {
    for (const KernelTemplate& kernel : space.kernels) {
      if (kernel.name != space.verify.also_reference) kernels.push_back(&kernel);
    }
  }
  for (const std::string& name : names) kernels.push_back(&chosen_kernel(space, name));
  return kernels;
}

std::vector<Problem> chosen_problems(const Space& space, const std::vector<std::string>& texts,
                                     DeviceKind kind) {
  if (texts.empty()) {
    return kind == DeviceKind::cpu && !space.cpu_problems.empty() ? space.cpu_problems
                                                                  : space.problems;
  }
  std::vector<Problem> problems;
  for (const std::string& text : texts) problems.push_back(parse_problem(space, text));
  return problems;
}

namespace {

/// Returns a suggestion for the first name that is no kernel's parameter, or else the known names.
std::string suggested_parameter(const Space& space, const Configuration& given) {
  std::vector<std::string> known;
  for (const KernelTemplate& kernel : space.kernels) {
    for (const Parameter& parameter : kernel.parameters) {
      if (std::ranges::find(known, parameter.name) == known.end()) known.push_back(parameter.name);
    }
  }
  for (const auto& [name, value] : given) {
    if (known.empty() || std::ranges::find(known, name) != known.end()) continue;
    const std::string meant = suggestion(name, known);
    return meant.empty() ? "; there are " + joined(known, ", ") : meant;
  }
  return "";
}

}  // namespace

ChosenConfiguration chosen_configuration(const Space& space, const std::string& name,
                                         const std::string& key_text) {
  const Configuration given = parse_key(key_text);
  std::vector<const KernelTemplate*> kernels;
  if (!name.empty()) {
    kernels = {&chosen_kernel(space, name)};
  } else {
    kernels = chosen_kernels(space, {});
    std::erase_if(kernels, [&](const KernelTemplate* kernel) { return !has_all(*kernel, given); });
    if (kernels.empty()) {
      throw InputError("--config: no kernel of " + space.file.string() +
                       " has the parameters of '" + key_text + "'" +
                       (given.contains(kCompilerParameter) ? compiler_hint(kCompilerParameter)
                                                           : suggested_parameter(space, given)));
    }
    // A kernel whose parameters are all given is preferred to one that needs default values.
    const auto complete = [&given](const KernelTemplate* kernel) {
      return kernel->parameters.size() == given.size();
    };
    if (std::ranges::any_of(kernels, complete)) {
      std::erase_if(kernels, [&](const KernelTemplate* kernel) { return !complete(kernel); });
    }
    if (kernels.size() > 1) {
      throw InputError("--config: '" + key_text + "' fits several kernels (" +
                       joined(names_of(kernels), ", ") + "): name one with --kernel");
    }
  }
  const KernelTemplate& kernel = *kernels.front();
  ChosenConfiguration chosen = {.kernel = &kernel, .configuration = kernel.default_configuration};
  for (const auto& [parameter, value] : given) {
    const Parameter* known = find_parameter(kernel, parameter);
    if (known == nullptr) {
      const std::string list = joined(kernel.parameters, ", ", &Parameter::name);
      const std::string hint = compiler_hint(parameter);
      throw InputError("--config: kernel " + kernel.name + " has no parameter '" + parameter + "'" +
                       (hint.empty() ? "; it has " + list : hint));
    }
    if (known->values.front().index() != value.index()) {
      throw InputError("--config: " + parameter + "=" + to_text(value) + " is " +
                       (value.index() == 0 ? "a number" : "a word") + ", the values of " +
                       parameter + " in " + kernel.name + " are " +
                       (value.index() == 0 ? "words" : "numbers"));
    }
    chosen.configuration[parameter] = value;
  }
  return chosen;
}

}  // namespace smemtune::cli
