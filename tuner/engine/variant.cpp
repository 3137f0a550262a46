#include "tuner/engine/variant.h"

#include "tuner/backend/contents.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/limits.h"
#include "tuner/core/reasons.h"
#include "tuner/source/in_double.h"

#include <algorithm>
#include <set>
#include <utility>

namespace smemtune {

namespace {

// The tuned problem's two workloads come first.
constexpr WorkloadId kFirstFurtherWorkload = 2;

Failure no_value(const InputError& error) {
  return failure({Status::constraints, "expression"}, error.what());
}

/// Returns a failure when an expression has no value or a limit is exceeded.
Outcome<KernelInstance> instantiate(const KernelBinding& bound, const Configuration& configuration,
                                    const Device& device) {
  try {
    KernelInstance instance = bound.instantiate(configuration);
    if (auto failure = exceeds_limits(instance, device)) return *failure;
    return instance;
  } catch (const InputError& error) {
    return no_value(error);
  }
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

/// `holds_result`: whether a result is in this buffer after the last launch.
PassedArgument passed(const Argument& argument, bool holds_result) {
  using Kind = PassedArgument::Kind;
  PassedArgument one = {.name = argument.name, .type = argument.type};
  if (argument.is_texture()) {
    one.kind = Kind::texture;
  } else if (argument.is_tensor_map()) {
    one.kind = Kind::tensor_map;
  } else if (argument.is_buffer()) {
    one.kind = Kind::buffer;
    one.is_result = holds_result;
  } else if (argument.raw_bytes > 0) {
    one.kind = Kind::structure;
    one.bytes = argument.raw_bytes;
  } else {
    one.is_zero = !is_floating(argument.type) && argument.integer == 0;
  }
  return one;
}

/// Lists every different launch, including those with buffers swapped between repetitions.
Signature signature_of(const KernelInstance& instance) {
  Signature signature;
  const std::vector<Turn> turns = turns_of(instance.launches);
  std::set<std::string> holders;  // Buffers that hold results when all swaps have been made.
  for (const Argument& argument : instance.arguments) {
    if (argument.is_result()) holders.insert(holder_of(argument.name, turns));
  }
  std::set<std::pair<std::string, std::vector<std::string>>> known;
  const auto add = [&](const std::string& entry, const std::vector<std::string>& names) {
    if (!known.emplace(entry, names).second) return;
    PassedArguments launch = {.name_expression = entry, .arguments = {}};
    for (const std::string& name : names) {
      const Argument* const argument = find_argument(instance.arguments, name);
      launch.arguments.push_back(argument ? passed(*argument, holders.contains(name))
                                          : PassedArgument{.name = name});
    }
    signature.push_back(std::move(launch));
  };
  for (const LaunchShape& launch : instance.launches) {
    add(launch.name_expression, launch.arguments);
    for (const Repetition& one : launch.repetitions) add(launch.name_expression, one.arguments);
  }
  return signature;
}

/// Adds a problem's request and returns its index. Requests that differ only in the arguments
/// passed share one.
std::uint32_t add_request(std::vector<CompileRequest>& requests, CompileRequest wanted) {
  const auto same = std::ranges::find_if(requests, [&](const CompileRequest& request) {
    return of_one_program(request, wanted) && request.name_expressions == wanted.name_expressions &&
           request.symbol_expressions == wanted.symbol_expressions;
  });
  if (same == requests.end()) {
    requests.push_back(std::move(wanted));
    return static_cast<std::uint32_t>(requests.size() - 1);
  }
  for (Signature& signature : wanted.signatures) {
    if (std::ranges::find(same->signatures, signature) != same->signatures.end()) continue;
    same->signatures.push_back(std::move(signature));
  }
  return static_cast<std::uint32_t>(same - requests.begin());
}

CompileRequest make_request(const KernelOnProblems& kernel, const KernelInstance& instance,
                            const Device& device) {
  CompileRequest request;
  request.architecture = device.architecture;
  if (instance.architecture_specific && device.kind == DeviceKind::gpu) {
    request.architecture += 'a';
  }
  request.source = *kernel.source;
  request.options = instance.options;
  for (const LaunchShape& launch : instance.launches) {
    add_once(request.name_expressions, launch.name_expression);
  }
  for (const Argument& argument : instance.arguments) {
    if (!argument.in_constant_memory()) continue;
    add_once(request.symbol_expressions, argument.symbol.empty() ? argument.name : argument.symbol);
  }
  request.signatures = {signature_of(instance)};
  return request;
}

const CompiledEntry& entry_of(const Part& part, const std::vector<Module>& modules,
                              const LaunchShape& launch) {
  const CompiledEntry* entry = modules[part.module]->entry(launch.name_expression);
  if (entry == nullptr) throw UnavailableError("the compiler left out " + launch.name_expression);
  return *entry;
}

/// Hash of the machine code of the part's launches; of the whole module when that is not known.
std::string code_sha256(const Part& part, const std::vector<Module>& modules) {
  std::string codes;
  for (const LaunchShape& launch : part.launches) {
    const std::string& code = entry_of(part, modules, launch).code_sha256;
    if (code.empty()) {
      const std::vector<std::uint8_t>& image = modules[part.module]->image;
      return sha256({reinterpret_cast<const char*>(image.data()), image.size()});
    }
    codes += code;
  }
  return sha256(codes);
}

template <typename T>
std::string packed(const T& value) {
  const std::vector<std::uint8_t> bytes = pack(value);
  return {bytes.begin(), bytes.end()};
}

std::string difference(const std::string& what, std::int64_t compiler, std::int64_t driver) {
  if (compiler == driver) return "";
  return what + ": " + std::to_string(compiler) + " by the compiler, " + std::to_string(driver) +
         " by the driver; ";
}

/// Adds `argument` to `arguments`. Scratch buffers get the largest size that a kernel wants.
void merge(std::vector<Argument>& arguments, const Argument& argument) {
  const auto known = std::ranges::find(arguments, argument.name, &Argument::name);
  if (known == arguments.end()) {
    arguments.push_back(argument);
  } else if (argument.is_scratch() && known->is_scratch() && argument.bytes() > known->bytes()) {
    *known = argument;
  }
}

/// Returns no arguments for a kernel, other than the reference, without a default on this problem.
std::vector<Argument> default_arguments(const KernelOnProblems& kernel, std::size_t problem) {
  try {
    return kernel.bound[problem].instantiate(kernel.kernel().default_configuration).arguments;
  } catch (const InputError&) {
    if (kernel.is_reference) throw;
    return {};
  }
}

}  // namespace

std::vector<WorkloadId> ProblemSet::workloads(std::size_t i) const {
  if (i == 0) return has_second_data ? std::vector<WorkloadId>{0, 1} : std::vector<WorkloadId>{0};
  return {kFirstFurtherWorkload + static_cast<WorkloadId>(i) - 1};
}

Result begin_result(const KernelOnProblems& kernel, const Configuration& configuration) {
  Result result;
  result.kernel = kernel.kernel().name;
  result.problem = kernel.bound.front().problem();
  result.configuration = configuration;
  result.is_default = configuration == kernel.kernel().default_configuration;
  result.is_reference = kernel.is_reference;
  return result;
}

void set_failure(Result& result, const Failure& failure) {
  result.status = failure.status;
  result.reason = failure.reason;
  result.detail = failure.detail;
  result.stage = Stage::none;
  result.measurement = Measurement{};
  result.chosen = result.tied = false;
  result.finals = {};
}

void take_measurement(Result& result, const Result& twin) {
  // A member that is not named here is the twin's, so that a new one is not lost.
  const Result own = std::exchange(result, twin);
  result.kernel = own.kernel;
  result.problem = own.problem;
  result.configuration = own.configuration;
  result.launches = own.launches;
  for (std::size_t i = 0; i < result.launches.size() && i < twin.launches.size(); ++i) {
    result.launches[i].time_ms = twin.launches[i].time_ms;
    result.launches[i].facts = twin.launches[i].facts;
  }
  result.metrics = own.metrics;
  result.compile_ms = own.compile_ms;
  result.verify_ms = own.verify_ms;
  result.cubin_sha256 = own.cubin_sha256;
  result.chosen = result.tied = false;
  result.finals = {};
  result.is_default = own.is_default;
  result.is_reference = own.is_reference;
  result.detail = "measured once with " + twin.kernel + " " + key(twin.configuration) +
                  ", which has the same code and launches";
  if (!twin.detail.empty()) result.detail += "; " + twin.detail;
}

std::optional<Failure> cannot_launch(const KernelBinding& bound, const Configuration& configuration,
                                     const Device& device) {
  const Outcome<KernelInstance> instance = instantiate(bound, configuration, device);
  if (instance) return std::nullopt;
  return instance.failure();
}

std::optional<std::string> cannot_run(const KernelBinding& bound,
                                      const Configuration& configuration, const Device& device) {
  if (const auto violated = bound.violated_constraint(configuration)) {
    return "its constraint `" + *violated + "` does not hold";
  }
  const auto failure = cannot_launch(bound, configuration, device);
  if (!failure) return std::nullopt;
  return failure->detail;
}

Outcome<Variant> plan(const KernelOnProblems& kernel, const ProblemSet& set,
                      const Configuration& configuration, const Device& device) {
  Variant variant;
  for (std::size_t i = 0; i < set.problems.size(); ++i) {
    const KernelBinding& bound = kernel.bound[i];
    const bool is_further = i > 0;  // Where it is not promising either, it is not compiled.
    if (is_further &&
        (bound.why_not_searched(configuration) || cannot_launch(bound, configuration, device))) {
      continue;
    }
    Outcome<KernelInstance> instance = instantiate(bound, configuration, device);
    if (!instance) return instance.failure();
    // One request for each, because other tuned problems have the same further problems.
    const std::uint32_t module =
        add_request(variant.requests, make_request(kernel, *instance, device));
    variant.parts.push_back({.module = module,
                             .launches = instance->launches,
                             .arguments = instance->arguments,
                             .tolerance = instance->tolerance,
                             .workloads = set.workloads(i)});
    variant.instances.push_back(std::move(*instance));
  }
  try {
    variant.metrics = kernel.bound.front().metrics(configuration);
  } catch (const InputError& error) {
    return no_value(error);
  }
  return variant;
}

Variant on_tuned_problem(const Variant& variant) {
  Variant alone;
  alone.instances = {variant.instances.front()};
  alone.requests = {variant.requests[variant.parts.front().module]};
  alone.parts = {variant.parts.front()};
  alone.parts.front().module = 0;
  alone.metrics = variant.metrics;
  return alone;
}

std::optional<CompileRequest> signature_request(const KernelOnProblems& kernel,
                                                const Device& device) {
  const KernelBinding& bound = kernel.bound.front();
  const Configuration& configuration = kernel.kernel().default_configuration;
  try {
    if (!bound.satisfies_constraints(configuration)) return std::nullopt;
    CompileRequest request = make_request(kernel, bound.instantiate(configuration), device);
    request.name_expressions.clear();
    request.symbol_expressions.clear();
    return request;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Outcome<std::unique_ptr<ReferenceInDouble>> plan_in_double(
    const Space& space, const KernelOnProblems& reference, const KernelSource& source,
    const ProblemSet& set, const Variant& narrow, const Device& device) {
  auto result = std::make_unique<ReferenceInDouble>();
  result->kernel = in_double(reference.kernel());
  result->source = source;
  result->set.source = &result->source;
  for (const Problem& problem : set.problems) {
    result->set.bound.emplace_back(space, result->kernel, in_double(problem), device);
  }
  Outcome<Variant> planned = plan(result->set, set, result->kernel.default_configuration, device);
  if (!planned) return planned.failure();
  result->variant = std::move(*planned);
  // The source's own signatures are known from the original.
  for (CompileRequest& request : result->variant.requests) request = without_signatures(request);
  for (std::size_t i = 0; i < result->variant.parts.size(); ++i) {
    Part& part = result->variant.parts[i];
    const auto own = std::ranges::find(narrow.parts, part.workloads, &Part::workloads);
    if (own == narrow.parts.end()) continue;
    KernelInstance& instance = result->variant.instances[i];
    instance = in_double(std::move(instance),
                         narrow.instances[static_cast<std::size_t>(own - narrow.parts.begin())]);
    part.launches = instance.launches;
    part.arguments = instance.arguments;
  }
  return result;
}

std::optional<Failure> judge(const KernelInstance& instance,
                             const std::vector<Resources>& resources, const Device& device,
                             const ResourceLimits& limits, Result& result) {
  result.launches.clear();
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    const LaunchShape& shape = instance.launches[i];
    LaunchResult& launch = result.launches.emplace_back();
    launch.shape = shape;
    launch.resources = resources.at(i);
    launch.occupancy =
        occupancy(device, shape.threads_per_block(), resources[i].registers_per_thread,
                  launch.shared_bytes(), shape.shared_carveout);
  }
  return exceeds_resources(instance, resources, device, limits);
}

std::optional<Failure> judge(const Variant& variant, const std::vector<Module>& modules,
                             const Device& device, const ResourceLimits& limits, Result& result) {
  const KernelInstance& instance = variant.instances.front();
  std::vector<Resources> resources;
  for (const LaunchShape& shape : instance.launches) {
    resources.push_back(entry_of(variant.parts.front(), modules, shape).resources);
  }
  result.compile_ms = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    // A module that was compiled for several configurations costs each of them a share.
    const auto own = static_cast<double>(variant.requests[i].name_expressions.size());
    result.compile_ms +=
        modules[i]->compile_ms * own / static_cast<double>(modules[i]->entries.size());
  }
  result.cubin_sha256 = code_sha256(variant.parts.front(), modules);
  return judge(instance, resources, device, limits, result);
}

void add_code_facts(const Variant& variant, const std::vector<Module>& modules, Result& result) {
  const bool is_same = code_sha256(variant.parts.front(), modules) == result.cubin_sha256;
  for (LaunchResult& launch : result.launches) {
    if (!is_same) launch.facts.clear();
    launch.facts.merge(Facts(entry_of(variant.parts.front(), modules, launch.shape).code));
  }
}

std::string identity(const Variant& variant, const std::vector<Module>& modules) {
  std::string text;
  for (Part part : variant.parts) {
    for (LaunchShape& launch : part.launches) {
      const CompiledEntry& entry = entry_of(part, modules, launch);
      if (entry.code_sha256.empty()) return "";
      launch.name_expression = entry.code_sha256;
      text += packed(entry.resources);
    }
    part.module = 0;
    text += packed(part);
  }
  return sha256(text);
}

Job make_job(const Variant& variant, const std::vector<Module>& modules) {
  Job job;
  std::vector<std::uint32_t> places;  // Requests that were compiled together share a module.
  std::vector<Module> distinct;
  for (const Module& module : modules) {
    const auto same = std::ranges::find_if(distinct, [&module](const Module& other) {
      return other == module ||
             (other->image == module->image && other->entries == module->entries);
    });
    places.push_back(static_cast<std::uint32_t>(same - distinct.begin()));
    if (same != distinct.end()) continue;
    distinct.push_back(module);
    job.images.push_back(module->number);
    // The compiler's log and time are not needed for running it.
    CompiledKernel& its = job.modules.emplace_back();
    its.entries = module->entries;
    its.symbols = module->symbols;
    its.read = module->read;
  }
  job.parts = variant.parts;
  for (Part& part : job.parts) part.module = places[part.module];
  return job;
}

std::string cross_check(const Result& result, const LoadedKernel& loaded) {
  std::string text;
  for (std::size_t i = 0; i < result.launches.size() && i < loaded.launches.size(); ++i) {
    const LaunchResult& ours = result.launches[i];
    const LoadedKernel::Launch& theirs = loaded.launches[i];
    if (theirs.resources.registers_per_thread > 0) {
      text += difference("registers", ours.resources.registers_per_thread,
                         theirs.resources.registers_per_thread);
      text += difference("static shared bytes", ours.resources.static_shared_bytes,
                         theirs.resources.static_shared_bytes);
    }
    if (theirs.blocks_per_sm >= 0) {
      text += difference("blocks per multiprocessor", ours.occupancy.blocks_per_sm,
                         theirs.blocks_per_sm);
    }
  }
  if (!text.empty()) text.resize(text.size() - 2);
  return text;
}

namespace {

/// Makes random elements differ in magnitude and sign from those of the first set of data.
void spread(Argument& argument) {
  if (argument.init.kind == Init::Kind::definition && !depends_on_seed(argument)) return;
  argument.init.is_spread = true;
  std::ranges::for_each(argument.reads, spread);
}

}  // namespace

bool depends_on_seed(const KernelOnProblems& kernel) try {
  return std::ranges::any_of(default_arguments(kernel, 0), [](const Argument& argument) {
    // A file may hold two sets.
    return argument.init.kind == Init::Kind::file || depends_on_seed(argument);
  });
} catch (const InputError&) {
  return true;  // make_workloads() says why there are no data.
}

std::vector<NumberedWorkload> make_workloads(const ProblemSet& set,
                                             const std::vector<const KernelOnProblems*>& kernels,
                                             std::uint64_t seed) {
  std::vector<NumberedWorkload> workloads;
  for (std::size_t i = 0; i < set.problems.size(); ++i) {
    std::vector<Argument> arguments;
    for (const KernelOnProblems* kernel : kernels) {
      for (const Argument& argument : default_arguments(*kernel, i)) merge(arguments, argument);
    }
    for (const WorkloadId id : set.workloads(i)) {
      // The second workload of the tuned problem has its own data, from another distribution.
      const std::uint64_t workload_seed = id == 1 ? seed + 1 : seed;
      std::string label = key(set.problems[i]);
      std::vector<Argument> of_workload = arguments;
      if (id == 1) {
        label += " with a second seed";
        std::ranges::for_each(of_workload, spread);
      }
      workloads.push_back(
          {.id = id,
           .label = std::move(label),
           .problem = set.problems[i],
           .workload = {.arguments = std::move(of_workload), .seed = workload_seed}});
    }
  }
  return workloads;
}

}  // namespace smemtune
