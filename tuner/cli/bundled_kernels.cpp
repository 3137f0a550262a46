#include "tuner/cli/bundled_kernels.h"

#include "tuner/backend/contents.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/options.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/text.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>
#include <map>
#include <string>

namespace smemtune::cli {
namespace {

constexpr std::size_t kMostLaunches = 4096;

std::string subject(const db::StoredResult& stored) { return printable(stored.subject()); }

FitQuestion question(const db::StoredResult& stored, const LoadedSpace& loaded) {
  const Space& space = loaded.space;
  const std::string what = "--format cubins: " + subject(stored);
  if (stored.device.kind == DeviceKind::cpu) {
    throw InputError(what + " was measured on the CPU device, and cubins are for GPUs: --device");
  }
  const KernelTemplate* const kernel = space.kernel(stored.result.kernel);
  if (kernel == nullptr) {
    throw InputError(what + ": " + space.file.string() + " has no kernel of this name");
  }
  const std::string hash = kernel_hash(space, *kernel, loaded.sources.at(kernel->name),
                                       loaded.sources.at(space.verify.reference));
  if (hash != stored.kernel_hash) {
    throw InputError(what + " would not be what was measured: the kernel in " +
                     space.file.string() + " has been edited since");
  }
  return {.kernel = kernel,
          .problem = stored.result.problem,
          .configuration = stored.result.configuration};
}

const char* tensor_map_type(ScalarType type) {
  switch (type) {
    case ScalarType::int8:
    case ScalarType::uint8:
    case ScalarType::float8_e4m3:
      return "UINT8";
    case ScalarType::int16:
    case ScalarType::uint16:
      return "UINT16";
    case ScalarType::int32:
      return "INT32";
    case ScalarType::uint32:
      return "UINT32";
    case ScalarType::int64:
      return "INT64";
    case ScalarType::uint64:
      return "UINT64";
    case ScalarType::float16:
      return "FLOAT16";
    case ScalarType::bfloat16:
      return "BFLOAT16";
    case ScalarType::float32:
      return "FLOAT32";
    case ScalarType::float64:
      break;
  }
  return "FLOAT64";
}

std::vector<std::int64_t> innermost_first(const std::vector<std::int64_t>& numbers) {
  return {numbers.rbegin(), numbers.rend()};
}

db::BundledKernel::TensorMap tensor_map(const Argument& argument) {
  db::BundledKernel::TensorMap map = {
      .type = tensor_map_type(argument.type),
      .extents = innermost_first(argument.shape),
      .element_bytes = static_cast<std::int64_t>(size_of(argument.type)),
      .box = innermost_first(argument.box),
      .element_strides = innermost_first(argument.element_strides),
      .swizzle_bytes = argument.swizzle};
  map.element_strides.resize(map.extents.size(), 1);
  return map;
}

/// Returns an argument as the launcher passes it.
db::BundledKernel::Parameter parameter(const db::StoredResult& stored, const CompiledFit& fit,
                                       const Argument& argument) {
  if (argument.is_texture()) {
    throw InputError("--format cubins: " + subject(stored) + " takes " + argument.name +
                     " as a texture, which the launcher does not make (--kernel chooses another)");
  }
  if (!argument.members.empty()) {
    throw InputError("--format cubins: " + subject(stored) + " takes " + argument.name +
                     " as a struct made of other arguments, which the launcher does not make "
                     "(--kernel chooses another)");
  }
  db::BundledKernel::Parameter parameter = {.name = argument.name, .bytes = argument.bytes()};
  if (!argument.is_buffer()) parameter.value = scalar_bytes(argument);
  if (argument.in_constant_memory()) {
    const std::string& symbol = argument.symbol.empty() ? argument.name : argument.symbol;
    parameter.symbol = fit.module->symbol(symbol)->lowered_name;
  }
  if (argument.is_tensor_map()) parameter.map = tensor_map(argument);
  return parameter;
}

db::BundledKernel::Launch launch(const CompiledFit& fit, const Turn& turn) {
  const LaunchShape& shape = fit.instance.launches[turn.launch];
  if (shape.shared_carveout.value_or(-1) >= 0 || shape.programmatic.value_or(0) != 0) {
    throw InputError("--format cubins: " + shape.name_expression +
                     " was timed with \"shared_carveout\" or \"programmatic\", which the launcher "
                     "does not set (--kernel chooses another)");
  }
  db::BundledKernel::Launch launch = {
      .entry = fit.module->entry(shape.name_expression)->lowered_name,
      .grid = turn.as.grid,
      .block = turn.as.block,
      .cluster = shape.cluster,
      .dynamic_shared_bytes = turn.as.dynamic_shared_bytes,
      .cooperative = shape.cooperative};
  const std::vector<Argument>& arguments = fit.instance.arguments;
  for (const std::string& name : turn.as.arguments) {
    const auto at = std::ranges::find(arguments, name, &Argument::name) - arguments.begin();
    const Argument* const changed = find_argument(turn.as.scalars, name);
    launch.taken.push_back(
        {.parameter = static_cast<std::size_t>(at),
         .value = changed ? scalar_bytes(*changed) : db::BundledKernel::Bytes{}});
  }
  return launch;
}

db::BundledKernel bundled(const db::StoredResult& stored, const CompiledFit& fit) {
  db::BundledKernel kernel = {.parameters = {}, .launches = {}, .cubin = fit.module->image};
  for (const Argument& argument : fit.instance.arguments) {
    kernel.parameters.push_back(parameter(stored, fit, argument));
  }
  const std::vector<Turn> turns = turns_of(fit.instance.launches);
  if (turns.size() > kMostLaunches) {
    throw InputError("--format cubins: " + subject(stored) + " makes " +
                     std::to_string(turns.size()) + " launches, a bundle has at most " +
                     std::to_string(kMostLaunches));
  }
  for (const Turn& turn : turns) kernel.launches.push_back(launch(fit, turn));
  return kernel;
}

}  // namespace

std::vector<db::BundledKernel> compile_bundle(const std::vector<db::StoredResult>& results,
                                              const std::filesystem::path& space_file) {
  const LoadedSpace loaded = load_space(space_file, share_folder());
  // A pool compiles for one device.
  std::map<std::int64_t, std::vector<std::size_t>> by_model;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Device& device = results[i].device;
    by_model[device.compute_capability()].push_back(i);
  }
  std::vector<db::BundledKernel> kernels(results.size());
  for (const auto& [capability, numbers] : by_model) {
    std::vector<FitQuestion> questions;
    for (const std::size_t i : numbers) questions.push_back(question(results[i], loaded));
    const Device& device = results[numbers.front()].device;
    const auto pool = start_workers(compile_workers_for({}, device));
    const std::vector<CompiledFit> fits =
        compile_fits(loaded.space, loaded.sources, questions, device, *pool);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      kernels[numbers[k]] = bundled(results[numbers[k]], fits[k]);
    }
  }
  return kernels;
}

}  // namespace smemtune::cli
