#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/definition.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/text.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/in_double.h"
#include "tuner/source/kernel_function.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <set>
#include <string_view>

// The part of SpaceReader that checks names, types, sources and expressions after all values have
// been read.

namespace smemtune {
namespace {

std::string last_component(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

/// Returns whether a scalar is a value of the problem under the same name, which then has one
/// meaning.
bool passes_name_of_problem(const ArgumentTemplate& argument) {
  return argument.value && argument.value->text == argument.name;
}

bool is_random(const ArgumentTemplate& argument) {
  const Init::Kind kind = argument.init.kind;
  return kind == Init::Kind::uniform || kind == Init::Kind::normal ||
         kind == Init::Kind::full_range || kind == Init::Kind::permutation ||
         std::ranges::any_of(argument.reads, is_random);
}

/// Returns whether an array is an output without contents of its own.
bool begins_as_poison(const KernelTemplate& kernel, const std::string& name) {
  const auto found = std::ranges::find(kernel.arguments, name, &ArgumentTemplate::name);
  return found->role == Role::output && found->init.kind == Init::Kind::none;
}

/// Tells which parameters of a source's kernels point to const.
class ParameterUses {
 public:
  explicit ParameterUses(const KernelSource& source) : text_(text_of(source)) {
    for (const SourceItem& item : items_) {
      if (item.is_kernel && item.body != kNoToken) kernels_.push_back(kernel_of(tokens_, item));
    }
  }

  /// Returns true if each of the launches that are repeated together, where it takes an argument,
  /// takes it as const.
  bool are_const(const KernelTemplate& kernel, const Repeat& repeat,
                 const std::string& name) const {
    for (std::size_t i = repeat.first; i < repeat.end; ++i) {
      const LaunchTemplate& launch = kernel.launches[i];
      const std::vector<std::string> names = passed_names(kernel, launch);
      const auto number = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
      if (number < names.size() && !is_const(launch, number)) return false;
    }
    return true;
  }

 private:
  static std::vector<std::string> passed_names(const KernelTemplate& kernel,
                                               const LaunchTemplate& launch) {
    std::vector<std::string> names = launch.arguments;
    if (!names.empty()) return names;
    for (const ArgumentTemplate& argument : kernel.arguments) {
      if (argument.is_passed()) names.push_back(argument.name);
    }
    return names;
  }

  bool is_const(const LaunchTemplate& launch, std::size_t parameter) const {
    const auto kernel = std::ranges::find_if(kernels_, [&](const KernelFunction& one) {
      return last_component(one.name) == last_component(launch.entry_name);
    });
    return kernel != kernels_.end() && parameter < kernel->parameters.size() &&
           kernel->parameters[parameter].is_const;
  }

  static std::string text_of(const KernelSource& source) {
    std::string text;
    for (const KernelSource::File& file : source.files) text += file.text + "\n";
    return text;
  }

  std::string text_;
  CppTokens tokens_ = cpp_tokens(text_);
  std::vector<SourceItem> items_ = read_items(tokens_).items;
  std::vector<KernelFunction> kernels_;
};

/// Returns the names of the macros that a kernel's source can rely on.
std::set<std::string> macros_of(const KernelTemplate& kernel, const Problem& problem) {
  std::set<std::string> names;
  for (const std::string& option : kernel.options) {
    if (option.starts_with("-D")) names.insert(option.substr(2, option.find('=') - 2));
  }
  if (kernel.pass != KernelTemplate::Pass::as_define) return names;
  for (const std::string& name : names_of(problem)) names.insert(name);
  for (const Parameter& parameter : kernel.parameters) names.insert(parameter.name);
  return names;
}

}  // namespace

void SpaceReader::check_names() {
  std::map<std::string, std::string> meanings;
  if (!space_.problems.empty()) {
    for (const std::string& name : names_of(space_.problems.front())) {
      check_name(name, child("/problems/0", name), "a name of the problems", meanings);
    }
  }
  const std::map<std::string, std::string> of_problems = meanings;
  for (const ArgumentTemplate& argument : arguments_) {
    if (passes_name_of_problem(argument)) continue;
    check_name(argument.name, child(argument.where, "name"), "an argument", meanings);
  }
  std::vector<std::string> kernels;
  for (const KernelTemplate& kernel : space_.kernels) {
    if (std::find(kernels.begin(), kernels.end(), kernel.name) != kernels.end()) {
      fault(child(kernel.where, "name"), "there are two kernels " + quote(kernel.name));
    }
    kernels.push_back(kernel.name);
    std::map<std::string, std::string> of_kernel = of_problems;
    for (const ArgumentTemplate& argument : kernel.arguments) {
      if (passes_name_of_problem(argument)) continue;
      const bool is_own = argument.where.starts_with(kernel.where + "/");
      if (is_own) {
        check_name(argument.name, child(argument.where, "name"), "an argument", of_kernel);
      } else {
        of_kernel.emplace(argument.name, "an argument");
      }
    }
    const std::string where = child(kernel.where, "parameters");
    for (const Parameter& parameter : kernel.parameters) {
      check_name(parameter.name, child(where, parameter.name), "a parameter", of_kernel);
    }
    for (const Parameter& parameter : kernel.parameters) {
      for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        const auto known = of_kernel.find(to_text(parameter.values[i]));
        if (known == of_kernel.end()) continue;
        fault(child(child(where, parameter.name), i),
              quote(known->first) + " cannot be a value, because it is " + known->second);
      }
    }
  }
}

/// Chooses the only kernel if none is named; the first one if "default" is named.
void SpaceReader::choose_reference() {
  const std::vector<std::string> kernels = texts_of(space_.kernels, &KernelTemplate::name);
  const bool names_default = space_.verify.reference == "default" &&
                             std::find(kernels.begin(), kernels.end(), "default") == kernels.end();
  if (names_default && !kernels.empty()) space_.verify.reference = kernels.front();
  if (space_.verify.reference.empty()) {
    if (kernels.size() > 1) fault("", "lacks /verify/reference, the kernel that gives the answer");
    if (kernels.size() == 1) space_.verify.reference = kernels.front();
  } else if (std::find(kernels.begin(), kernels.end(), space_.verify.reference) == kernels.end()) {
    fault("/verify/reference", "there is no kernel " + quote(space_.verify.reference) +
                                   suggestion(space_.verify.reference, kernels));
  }
  const std::string& witness = space_.verify.also_reference;
  if (witness.empty()) return;
  if (std::find(kernels.begin(), kernels.end(), witness) == kernels.end()) {
    fault("/verify/also_reference",
          "there is no kernel " + quote(witness) + suggestion(witness, kernels));
  } else if (witness == space_.verify.reference) {
    fault("/verify/also_reference", quote(witness) + " is the reference already");
  } else if (space_.verify.also.empty()) {
    fault("/verify/also_reference", "there are no problems in /verify/also for it to answer");
  }
}

void SpaceReader::check_name(const std::string& name, const std::string& pointer,
                             const std::string& meaning,
                             std::map<std::string, std::string>& meanings) {
  if (name.empty()) return;  // This fault has been reported already.
  const std::string reserved = reserved_meaning(name);
  const auto [known, is_new] = meanings.emplace(name, meaning);
  if (!reserved.empty()) {
    fault(pointer, quote(name) + " cannot be " + meaning + ", because it is " + reserved);
  } else if (!is_new && known->second != meaning) {
    fault(pointer, quote(name) + " cannot be " + meaning + ", because it is " + known->second);
  }
}

/// Checks what types and shapes refer to.
void SpaceReader::check_arguments(const KernelTemplate& kernel) {
  for (const ArgumentTemplate& argument : kernel.arguments) {
    const bool may_vary = argument.is_scratch() || !argument.is_buffer();
    const auto parameter =
        std::find_if(kernel.parameters.begin(), kernel.parameters.end(),
                     [&](const Parameter& p) { return p.name == argument.type; });
    const auto check_texel = [&](const std::string& type, const std::string& where) {
      const bool is_texture =
          argument.memory == MemorySpace::texture || argument.memory == MemorySpace::texture_2d;
      if (argument.reading.is_linear && type != "float") {
        fault(where, "only textures of float are filtered, not of " + quote(type));
      }
      if (!is_texture || is_texel_type(*scalar_type(type))) return;
      fault(where, "a texture has no elements of type " + quote(type) +
                       ", only float and integers of 8, 16 or 32 bits");
    };
    const auto check_type = [&](const Value& value, const std::string& where) {
      if (holds_word(value) && scalar_type(std::get<std::string>(value))) {
        return check_texel(std::get<std::string>(value), where);
      }
      fault(where, quote(to_text(value)) + " is not an element type" +
                       suggestion(to_text(value), type_names()));
    };
    if (parameter != kernel.parameters.end()) {
      const std::string where = child(child(kernel.where, "parameters"), parameter->name);
      for (std::size_t i = 0; i < parameter->values.size(); ++i) {
        check_type(parameter->values[i], child(where, i));
      }
      if (!may_vary) {
        fault(child(argument.where, "type"),
              "the parameter " + quote(argument.type) +
                  " would change the problem; only a scratch buffer or a scalar may depend on one");
      }
    } else if (space_.problems.front().contains(argument.type)) {
      const auto check_types = [&](const std::vector<Problem>& problems, const std::string& list) {
        for (std::size_t i = 0; i < problems.size(); ++i) {
          check_type(problems[i].at(argument.type), child(child(list, i), argument.type));
        }
      };
      check_types(space_.problems, "/problems");
      check_types(space_.cpu_problems, "/cpu_problems");
      check_types(space_.verify.also, "/verify/also");
    } else if (!scalar_type(argument.type)) {
      std::vector<std::string> known = type_names();
      for (const std::string& name : names_of(space_.problems.front())) known.push_back(name);
      fault(child(argument.where, "type"),
            quote(argument.type) +
                " is neither an element type nor a name in the problems that stands for one" +
                suggestion(argument.type, known));
    } else {
      check_texel(argument.type, child(argument.where, "type"));
    }
    if (may_vary) continue;
    std::vector<ExpressionText> fixed = argument.shape;
    fixed.insert(fixed.end(), argument.init_numbers.begin(), argument.init_numbers.end());
    for (const ExpressionText& extent : fixed) {
      for (const std::string_view name : identifiers(extent.text)) {
        if (!kernel.default_configuration.contains(name)) continue;
        fault(extent.where,
              "the parameter " + quote(name) +
                  " would change the problem; only a scratch buffer may depend on one");
      }
    }
  }
}

/// Checks that a name means the same in all kernels, because all kernels of a problem run on the
/// same buffers.
void SpaceReader::check_buffers_agree() {
  std::map<std::string, const ArgumentTemplate*> known;
  for (const KernelTemplate& kernel : space_.kernels) {
    for (const ArgumentTemplate& argument : kernel.arguments) {
      const auto [entry, is_new] = known.emplace(argument.name, &argument);
      const ArgumentTemplate& first = *entry->second;
      if (is_new || (argument.is_scratch() && first.is_scratch())) continue;
      const auto same_texts = [](const auto& a, const auto& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return x.text == y.text; });
      };
      std::string difference;
      if (argument.members != first.members) {
        difference = "a struct of other members";
      } else if (argument.is_buffer() != first.is_buffer()) {
        difference = "a buffer in one and a scalar in the other";
      } else if (argument.is_buffer() && argument.role != first.role) {
        difference = "of another role";
      } else if (argument.is_buffer() && argument.type != first.type) {
        difference = "of another type";
      } else if (argument.is_buffer() && !same_texts(argument.shape, first.shape)) {
        difference = "of another shape";
      } else if (argument.is_passed() != first.is_passed()) {
        difference = first.is_passed() ? "not in constant memory" : "in constant memory";
      } else if (argument.is_buffer() && (argument.init != first.init ||
                                          !same_texts(argument.init_numbers, first.init_numbers))) {
        difference = "initialized differently";
      }
      if (difference.empty()) continue;
      fault(argument.where, "all kernels work on the same " + quote(argument.name) + "; in " +
                                first.where + " it is " + difference);
    }
  }
}

void SpaceReader::check_guessed_definition(LoadedSpace& loaded) const {
  const std::vector<ExpressionText>& definitions = space_.verify.definitions;
  if (definitions.empty() || !space_.verify.definition_is_a_guess) return;
  loaded.notes.push_back(
      "/verify/definition: " + quote(definitions.front().text) +
      " is what smemtune init derived from the kernel itself; remove \"definition_is_a_guess\" "
      "once you have confirmed that it is what must be computed");
}

void SpaceReader::check_guess(const KernelTemplate& kernel, LoadedSpace& loaded) const {
  if (!kernel.default_is_a_guess) return;
  const bool is_reference = kernel.name == space_.verify.reference;
  loaded.notes.push_back(
      kernel.where + ": the default " + quote(key(kernel.default_configuration)) +
      " is a guess of smemtune init" +
      (is_reference ? ", and what every configuration is compared with" : "") +
      "; remove \"default_is_a_guess\" once you have confirmed that it is right");
}

void SpaceReader::check_source(KernelTemplate& kernel, LoadedSpace& loaded) {
  const std::string where = child(kernel.where, "source");
  std::vector<SourceFile> files;
  try {
    files = read_sources(kernel, roots_, texts_);
  } catch (const InputError& error) {
    fault(where, error.what());
    return;
  }
  for (const std::string& include : costly_includes(files)) {
    // In CUDA 13.0 these headers include <iterator>.
    const bool holds_host_code = include.find("<cub/cub.cuh>") != std::string::npos ||
                                 include.find("<cub/device/") != std::string::npos;
    const std::string note =
        holds_host_code
            ? include +
                  ": NVRTC cannot read this header, which holds the host's code, too; "
                  "include what the kernel uses, such as <cub/block/block_reduce.cuh>"
            : include +
                  ": reading this header takes 5 to 10 times as long as compiling a small kernel" +
                  (kernel.pass == KernelTemplate::Pass::as_define
                       ? ", for every configuration, because macros differ"
                       : "; configurations that only differ in template arguments share it");
    if (std::find(loaded.notes.begin(), loaded.notes.end(), note) == loaded.notes.end()) {
      loaded.notes.push_back(note);
    }
  }
  const bool is_cooperative = std::ranges::any_of(kernel.launches, &LaunchTemplate::cooperative);
  if (!is_cooperative && uses_macro(files, "this_grid")) {
    loaded.notes.push_back(kernel.where +
                           ": the source uses this_grid(), whose sync() works only "
                           "in launches with \"cooperative\": true");
  }
  KernelSource& source = loaded.sources[kernel.name];
  for (const SourceFile& file : files) {
    source.files.push_back({.name = file.name, .text = file.content->text});
  }

  const std::vector<std::string> entries = kernel_names(files);
  for (std::size_t i = 0; i < kernel.launches.size(); ++i) {
    const std::string name = last_component(kernel.launches[i].entry_name);
    if (std::find(entries.begin(), entries.end(), name) != entries.end()) continue;
    const std::string nearest = suggestion(name, entries);
    // A single launch is part of the kernel's own object.
    const std::string pointer = kernel.launches[i].block.front().where;
    fault(pointer.substr(0, pointer.rfind("/block")) + "/entry",
          kernel.source.generic_string() + " has no __global__ function " + quote(name) +
              (!nearest.empty()  ? nearest
               : entries.empty() ? "; it has none"
                                 : "; it has " + listed(entries)));
  }
  check_effects(kernel, files, loaded);
}

/// Finds parameters that reach neither the compiler nor the launch: searching them would be wasted.
void SpaceReader::check_effects(KernelTemplate& kernel, std::span<const SourceFile> files,
                                LoadedSpace& loaded) {
  std::set<std::string_view> used;
  const auto use = [&](const ExpressionText& expression) {
    for (const std::string_view name : identifiers(expression.text)) used.insert(name);
  };
  const auto use_key = [&](const SpaceKey& key, const auto& given) {
    if (!key.takes_effect) return;
    if constexpr (requires { given.value().text; }) {
      if (given) use(*given);
    } else if constexpr (requires { given.front().text; }) {
      std::ranges::for_each(given, use);
    }
  };
  for (const LaunchTemplate& launch : kernel.launches) {
    for (const ExpressionText& argument : launch.template_arguments) use(argument);
    for (const std::string_view name : identifiers(launch.entry)) used.insert(name);
    visit_launch_keys(use_key, launch);
  }
  for (const Repeat& repeat : kernel.repeats) use(repeat.times);
  for (const std::string& option : kernel.options) {
    for (const std::string_view name : identifiers(option)) used.insert(name);
  }
  for (const ArgumentTemplate& argument : kernel.arguments) {
    used.insert(argument.type);
    visit_argument_keys(use_key, argument);
  }
  const bool as_macros = kernel.pass == KernelTemplate::Pass::as_define;
  const std::set<std::string> handed_over = macros_of(kernel, space_.problems.front());
  if (as_macros) {
    for (const std::string& name : names_of(space_.problems.front())) {
      if (kernel.names_template_argument(name)) continue;
      if (!uses_macro(files, name)) kernel.unused_names.insert(name);
      if (const auto line = redefinition(files, name, handed_over)) {
        fault(child(kernel.where, "source"),
              *line + " overrides the problem's value, which is passed in; put it under #ifndef " +
                  name);
      }
    }
  }
  for (const Parameter& parameter : kernel.parameters) {
    const std::string where = child(child(kernel.where, "parameters"), parameter.name);
    if (as_macros && !kernel.names_template_argument(parameter.name)) {
      if (const auto line = redefinition(files, parameter.name, handed_over)) {
        fault(where, *line + " overrides the value that is passed in; put it under #ifndef " +
                         parameter.name);
        continue;
      }
      if (uses_macro(files, parameter.name)) continue;
    }
    if (used.contains(parameter.name)) continue;
    const std::string no_effect =
        "has no effect: neither " +
        std::string(as_macros ? "the source" : "the entry's template arguments") +
        " nor the launch uses " + quote(parameter.name);
    if (is_t1_) {
      loaded.notes.push_back(kernel.name + ": " + parameter.name + " " + no_effect);
    } else {
      fault(where, no_effect);
    }
  }
}

std::vector<Problem> SpaceReader::every_problem() const {
  std::vector<Problem> problems = space_.problems;
  problems.insert(problems.end(), space_.cpu_problems.begin(), space_.cpu_problems.end());
  problems.insert(problems.end(), space_.verify.also.begin(), space_.verify.also.end());
  return problems;
}

/// Compiles every expression for every problem and evaluates it for the default configuration.
void SpaceReader::check_values(const KernelTemplate& kernel) {
  const Device device = h200_limits();
  const bool is_reference = kernel.name == space_.verify.reference;
  bool is_valid_somewhere = false;
  for (const Problem& problem : every_problem()) {
    try {
      const KernelBinding bound(space_, kernel, problem, device);
      if (const auto violated = bound.violated_constraint(kernel.default_configuration)) {
        if (is_reference) {
          fault(kernel.where, "the reference's default " +
                                  quote(key(kernel.default_configuration)) + " fails `" +
                                  *violated + "` for the problem " + quote(key(problem)) +
                                  ", so there is no answer to compare with");
        }
        continue;
      }
      is_valid_somewhere = true;
      bound.instantiate(kernel.default_configuration);
      bound.metrics(kernel.default_configuration);
      bound.expected_time(kernel.default_configuration);
    } catch (const InputError& error) {
      fault_with_place(error.what());
      return;
    }
  }
  if (!is_valid_somewhere && !is_reference) {
    fault(kernel.where, "the default " + quote(key(kernel.default_configuration)) +
                            " satisfies the constraints for no problem");
  }
}

void SpaceReader::check_expected() {
  if (space_.verify.expected.empty()) return;
  const KernelTemplate* const reference = space_.kernel(space_.verify.reference);
  std::vector<std::string> outputs;
  for (const ArgumentTemplate& argument : reference->arguments) {
    if (!argument.is_buffer() || argument.is_scratch()) continue;
    if (argument.role == Role::output || argument.role == Role::inout)
      outputs.push_back(argument.name);
    if (is_random(argument)) {
      fault(child(argument.where, "init"),
            "/verify/expected holds for one set of data only, but this one is drawn at random; "
            "file(\"NAME.npy\"), iota, zero or constant(NUMBER)");
    }
  }
  for (const auto& [output, file] : space_.verify.expected) {
    if (std::find(outputs.begin(), outputs.end(), output) != outputs.end()) continue;
    fault(
        child("/verify/expected", output),
        quote(output) + " is not an output of the reference kernel" + suggestion(output, outputs));
  }
}

/// Checks that there are exact values to compare with: the reference in double precision, or
/// definitions.
void SpaceReader::check_derived(LoadedSpace& loaded) {
  if (!space_.derives_tolerances() || !faults().empty()) return;
  const KernelTemplate& reference = *space_.kernel(space_.verify.reference);
  const std::string where = "/verify/derived";
  bool is_narrow_anywhere = false;
  std::string why;  // Why there is no run in double precision.
  for (const Problem& problem : every_problem()) {
    const KernelBinding bound(space_, reference, problem, h200_limits());
    for (const Argument& argument : bound.instantiate(reference.default_configuration).arguments) {
      if (argument.is_result() && is_narrow(argument.type)) is_narrow_anywhere = true;
      const auto declared =
          std::ranges::find(reference.arguments, argument.name, &ArgumentTemplate::name);
      if (declared->raw_bytes == 0 && declared->members.empty()) continue;
      why = quote(argument.name) + " is a struct, which cannot be turned into doubles";
    }
  }
  if (!is_narrow_anywhere) {
    fault(where, "no output of the reference " + quote(reference.name) +
                     " has a type that is narrower than double: float, __half, __nv_bfloat16 or "
                     "__nv_fp8_e4m3");
    return;
  }
  try {
    if (why.empty()) loaded.reference_in_double = in_double(loaded.sources.at(reference.name));
  } catch (const InputError& error) {
    why = error.what();
  }
  if (why.empty()) return;
  if (!space_.verify.definitions.empty()) {
    loaded.notes.push_back(why + "; tolerances are derived from the definition");
  } else {
    fault(where, why + "; give absolute, relative or ulps, or a definition");
  }
}

/// Checks swaps of a result with scratch: the result's name must be the one that holds the answer
/// after the repetitions.
void SpaceReader::check_swaps(const KernelTemplate& kernel, const LoadedSpace& loaded) {
  for (const Repeat& repeat : kernel.repeats) {
    for (const auto& [first, second] : repeat.swaps) {
      const auto role_of = [&](const std::string& name) {
        return std::ranges::find(kernel.arguments, name, &ArgumentTemplate::name)->role;
      };
      const bool first_is_scratch = role_of(first) == Role::scratch;
      if (first_is_scratch == (role_of(second) == Role::scratch)) continue;
      const std::string& scratch = first_is_scratch ? first : second;
      const std::string& result = first_is_scratch ? second : first;
      const auto found = loaded.sources.find(kernel.name);
      if (found == loaded.sources.end()) continue;
      const ParameterUses uses(found->second);
      // Host code swaps pointers after a launch has written to one of the buffers, so that the
      // other name then holds the answer.
      const bool keeps_result = uses.are_const(kernel, repeat, result);
      const bool keeps_scratch = uses.are_const(kernel, repeat, scratch);
      if (keeps_result && !keeps_scratch) continue;
      fault(child(repeat.times.where.substr(0, repeat.times.where.rfind('/')), "swap"),
            (keeps_scratch ? "what the last repetition writes to " + quote(result) + " is called " +
                                 quote(scratch) + " once they are swapped"
                           : "neither " + quote(result) + " nor " + quote(scratch) +
                                 " is a pointer to const in the source, which would show which "
                                 "one has the answer once they are swapped") +
                "; scratch is not compared: give the one that has the answer then the role "
                "\"inout\", or none of both the role \"scratch\"");
    }
  }
}

/// Checks the definitions of initial values.
void SpaceReader::check_init_definitions() {
  for (const KernelTemplate& kernel : space_.kernels) {
    for (const ArgumentTemplate& argument : kernel.arguments) {
      if (argument.init.kind != Init::Kind::definition) continue;
      const std::string where = child(argument.where, "init");
      std::map<std::string, std::size_t> arrays = {{argument.name, argument.shape.size()}};
      std::vector<std::string> scalars;
      for (const ArgumentTemplate& other : argument.reads) {
        if (other.is_buffer()) {
          arrays.emplace(other.name, other.shape.size());
        } else if (!passes_name_of_problem(other)) {
          scalars.push_back(other.name);
        }
      }
      try {
        for (const Problem& problem : every_problem()) {
          const auto definition =
              Definition::compile(argument.init.definition, problem, arrays, scalars);
          const std::vector<std::string>& read = definition.arrays();
          if (definition.output() != argument.name) {
            fault(where, "defines " + quote(definition.output()) + ", not " + quote(argument.name));
          } else if (std::find(read.begin(), read.end(), argument.name) != read.end()) {
            fault(where, quote(argument.name) + " cannot be initialized from itself");
          }
        }
      } catch (const InputError& error) {
        fault(where, std::string(error.what()) + "; only arguments before this one can be used");
      }
    }
  }
}

void SpaceReader::check_definitions() {
  const KernelTemplate* const reference = space_.kernel(space_.verify.reference);
  std::map<std::string, std::size_t> arrays;
  std::vector<std::string> scalars;
  std::vector<std::string> outputs;
  for (const ArgumentTemplate& argument : reference->arguments) {
    if (!argument.is_buffer()) {
      if (!passes_name_of_problem(argument)) scalars.push_back(argument.name);
    } else if (!argument.is_scratch()) {
      arrays.emplace(argument.name, argument.shape.size());
      if (argument.role == Role::output || argument.role == Role::inout)
        outputs.push_back(argument.name);
    }
  }
  std::set<std::string> defined;
  for (const ExpressionText& definition : space_.verify.definitions) {
    try {
      std::string output;
      for (const Problem& problem : every_problem()) {
        const auto compiled = Definition::compile(definition.text, problem, arrays, scalars);
        output = compiled.output();
        for (const std::string& read : compiled.arrays()) {
          if (!begins_as_poison(*reference, read) || defined.contains(read)) continue;
          fault(definition.where, "reads " + quote(read) +
                                      ", which has no contents before the launch and no definition "
                                      "before this one");
        }
      }
      if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
        fault(definition.where, quote(output) + " is not an output of the reference kernel" +
                                    suggestion(output, outputs));
      } else if (!defined.insert(output).second) {
        fault(definition.where, quote(output) + " is defined twice");
      }
    } catch (const InputError& error) {
      fault(definition.where, error.what());
    }
  }
}

}  // namespace smemtune
