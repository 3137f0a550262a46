#include "tuner/backend/cuda/cuda_kernel.h"

#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/plain_kernel.h"
#include "tuner/core/error.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <utility>

namespace smemtune::cuda {
namespace {

/// Dynamic shared memory that a function may use without opting in to more.
constexpr std::int64_t kDefaultSharedBytes = 49152;

int attribute(const Driver& driver, CUfunction function, CUfunction_attribute name) {
  int value = 0;
  driver.check(driver.func_get_attribute(&value, name, function), "cuFuncGetAttribute");
  return value;
}

/// Returns the kernel's fault, or else `otherwise` with the reason.
Failure fault_or(CUresult code, const Reason& otherwise, const std::string& message) {
  if (auto fault = kernel_fault(static_cast<int>(code), message)) return *fault;
  return failure(otherwise, message);
}

void find_functions(const Driver& driver, const CompiledKernel& compiled,
                    const std::vector<LaunchShape>& launches, CudaKernel& kernel) {
  for (const LaunchShape& shape : launches) {
    const CompiledEntry* const entry = compiled.entry(shape.name_expression);
    if (entry == nullptr) throw Error(shape.name_expression + " was not compiled");
    for (const std::string& name : shape.arguments) {
      if (find_argument(kernel.arguments, name) == nullptr) {
        throw Error("no argument is named " + name);
      }
    }
    CudaKernel::Launch& launch = kernel.launches.emplace_back();
    launch.shape = shape;
    driver.check(driver.module_get_function(&launch.function, kernel.module.get(),
                                            entry->lowered_name.c_str()),
                 "cuModuleGetFunction");
    if (!shape.shared_carveout) continue;
    driver.check(set_carveout(driver, launch.function, *shape.shared_carveout),
                 "cuFuncSetAttribute of the shared memory's carve-out");
  }
}

std::optional<Failure> find_symbols(const Driver& driver, const CompiledKernel& compiled,
                                    CudaKernel& kernel) {
  for (const Argument& argument : kernel.arguments) {
    if (!argument.in_constant_memory()) continue;
    const std::string& expression = argument.symbol.empty() ? argument.name : argument.symbol;
    const CompiledSymbol* symbol = compiled.symbol(expression);
    if (symbol == nullptr) throw Error("symbol " + expression + " was not compiled");
    CudaKernel::Constant constant = {.argument = argument};
    std::size_t bytes = 0;
    driver.check(driver.module_get_global(&constant.address, &bytes, kernel.module.get(),
                                          symbol->lowered_name.c_str()),
                 "cuModuleGetGlobal");
    if (static_cast<std::int64_t>(bytes) < argument.bytes()) {
      return argument_failure("the __constant__ symbol " + expression + " has " +
                              std::to_string(bytes) + " bytes, its argument " +
                              std::to_string(argument.bytes()));
    }
    kernel.constants.push_back(std::move(constant));
  }
  return std::nullopt;
}

}  // namespace

Failure argument_failure(std::string detail) {
  return failure({Status::runtime, "arguments"}, std::move(detail));
}

Outcome<std::unique_ptr<CudaKernel>> load_kernel(const Driver& driver,
                                                 const CompiledKernel& compiled,
                                                 const std::vector<LaunchShape>& launches,
                                                 const std::vector<Argument>& arguments) {
  CUmodule module = nullptr;
  const CUresult loaded = driver.module_load_data(&module, compiled.image.data());
  if (loaded != CUDA_SUCCESS) {
    return fault_or(loaded, {Status::runtime, "load"}, "cuModuleLoadData: " + driver.text(loaded));
  }
  auto kernel = std::make_unique<CudaKernel>();
  kernel->module = Module(module, ModuleUnloader{driver.module_unload});
  kernel->turns = turns_of(launches);
  kernel->arguments = arguments;
  find_functions(driver, compiled, launches, *kernel);
  if (auto failed = find_symbols(driver, compiled, *kernel)) return *failed;
  return kernel;
}

std::optional<Failure> allow_shared_memory(const Driver& driver, const CudaKernel& kernel,
                                           const Device& device) {
  constexpr auto kMaxDynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  for (const CudaKernel::Launch& launch : kernel.launches) {
    const std::int64_t dynamic = launch.shape.dynamic_shared_bytes;
    const int fixed = attribute(driver, launch.function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    if (dynamic + fixed <= kDefaultSharedBytes) continue;
    // The limit is only ever raised: two launches may share a function.
    if (dynamic <= attribute(driver, launch.function, kMaxDynamic)) continue;
    const CUresult set =
        std::in_range<int>(dynamic)
            ? driver.func_set_attribute(launch.function, kMaxDynamic, static_cast<int>(dynamic))
            : CUDA_ERROR_INVALID_VALUE;
    if (set == CUDA_SUCCESS) continue;
    return fault_or(set, {Status::runtime, "shared_bytes"},
                    std::to_string(fixed) + " + " + std::to_string(dynamic) +
                        " bytes of shared memory per block, device allows " +
                        std::to_string(device.max_shared_bytes_per_block) + ": " +
                        driver.text(set));
  }
  return std::nullopt;
}

std::optional<Failure> exceeds_clusters(const Driver& driver, const CudaKernel& kernel) {
  for (const Turn& turn : kernel.turns) {
    const CudaKernel::Launch& launch = kernel.launches[turn.launch];
    if (launch.shape.blocks_per_cluster() == 1) continue;
    int clusters = 0;
    const LaunchConfig config(launch.shape, turn.as, nullptr);
    const CUresult code = config.is_narrow() ? driver.occupancy_max_active_clusters(
                                                   &clusters, launch.function, &config.get())
                                             : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && clusters > 0) continue;
    return fault_or(code, {Status::constraints, "occupancy"},
                    "no cluster of " + std::to_string(launch.shape.blocks_per_cluster()) +
                        " blocks of " + std::to_string(launch.shape.threads_per_block()) +
                        " threads with " + std::to_string(launch.shape.dynamic_shared_bytes) +
                        " bytes of dynamic shared memory fits on this GPU" +
                        (code == CUDA_SUCCESS ? "" : ": " + driver.text(code)));
  }
  return std::nullopt;
}

LoadedKernel describe(const Driver& driver, const CudaKernel& kernel) {
  LoadedKernel loaded;
  for (const CudaKernel::Launch& launch : kernel.launches) {
    const auto value = [&](CUfunction_attribute name) {
      return attribute(driver, launch.function, name);
    };
    LoadedKernel::Launch& described = loaded.launches.emplace_back();
    Resources& resources = described.resources;
    resources.registers_per_thread = value(CU_FUNC_ATTRIBUTE_NUM_REGS);
    resources.static_shared_bytes = value(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    resources.stack_bytes = value(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    resources.constant_bytes = value(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    resources.max_threads_per_block = value(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

    int blocks = 0;
    const std::int64_t dynamic = launch.shape.dynamic_shared_bytes;
    const std::int64_t threads = launch.shape.threads_per_block();
    const bool known =
        std::in_range<int>(threads) && dynamic >= 0 &&
        driver.occupancy_max_active_blocks(&blocks, launch.function, static_cast<int>(threads),
                                           static_cast<std::size_t>(dynamic)) == CUDA_SUCCESS;
    described.blocks_per_sm = known ? blocks : -1;
  }
  return loaded;
}

}  // namespace smemtune::cuda
