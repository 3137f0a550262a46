#include "tuner/backend/cuda/plain_kernel.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/tensor_map.h"
#include "tuner/backend/cuda/texture.h"
#include "tuner/core/error.h"

#include <cstring>
#include <utility>

namespace smemtune::cuda {

namespace {

void check_dimensions(const Dim3& shape, const std::string& entry) {
  for (const std::int64_t extent : shape) {
    if (std::in_range<unsigned>(extent) && extent >= 1) continue;
    throw InputError(entry + " cannot be launched over " + std::to_string(extent) +
                     " blocks or threads");
  }
}

}  // namespace

PlainKernel::PlainKernel(const CompiledKernel& compiled, std::vector<LaunchShape> launches,
                         std::vector<Argument> arguments)
    : driver_(fetch_driver()),
      module_(make_module(driver_, compiled.image)),
      launches_(std::move(launches)),
      arguments_(std::move(arguments)) {
  std::map<CUfunction, int> dynamic;  // Two launches may share a function.
  for (const LaunchShape& shape : launches_) {
    const CompiledEntry* const entry = compiled.entry(shape.name_expression);
    if (entry == nullptr) throw Error(shape.name_expression + " was not compiled");
    CUfunction function = nullptr;
    driver_.check(
        driver_.module_get_function(&function, module_.get(), entry->lowered_name.c_str()),
        "cuModuleGetFunction");
    functions_.push_back(function);
    if (shape.shared_carveout) {
      driver_.check(set_carveout(driver_, function, *shape.shared_carveout),
                    "cuFuncSetAttribute of the shared memory's carve-out");
    }
    const auto bytes = static_cast<int>(shape.dynamic_shared_bytes);
    if (bytes <= dynamic[function]) continue;
    dynamic[function] = bytes;
    driver_.check(driver_.func_set_attribute(
                      function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
                  "cuFuncSetAttribute of the dynamic shared memory");
  }
  for (const Argument& one : arguments_) {
    if (!one.in_constant_memory()) continue;
    const CompiledSymbol* symbol = compiled.symbol(one.symbol.empty() ? one.name : one.symbol);
    if (symbol == nullptr) throw Error("symbol " + one.name + " was not compiled");
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    driver_.check(
        driver_.module_get_global(&address, &bytes, module_.get(), symbol->lowered_name.c_str()),
        "cuModuleGetGlobal");
    symbols_[one.name] = address;
  }
}

const Argument& PlainKernel::argument(const std::string& name) const {
  const Argument* const found = find_argument(arguments_, name);
  if (found == nullptr) throw InputError("the kernel has no argument " + name);
  return *found;
}

// NOLINTNEXTLINE(misc-no-recursion): a struct stands behind its members.
const std::vector<std::uint8_t>& PlainKernel::bytes_of(const std::string& name, ArgumentBytes& own,
                                                       const ArgumentBytes& arguments) const {
  const Argument& wanted = argument(name);
  if (!wanted.members.empty() && !own.contains(name) && !arguments.contains(name)) {
    own[name] = struct_bytes(wanted, [&](const std::string& member) {
      return std::span<const std::uint8_t>(bytes_of(member, own, arguments));
    });
  }
  const auto changed = own.find(name);
  const auto given = changed != own.end() ? changed : arguments.find(name);
  if (changed == own.end() && given == arguments.end()) {
    throw InputError("the argument " + name + " is not given");
  }
  const std::size_t bytes = wanted.is_tensor_map() ? sizeof(TensorMap)
                            : wanted.is_buffer()   ? sizeof(CUdeviceptr)
                            : wanted.raw_bytes > 0 ? static_cast<std::size_t>(wanted.raw_bytes)
                                                   : size_of(wanted.type);
  if (given->second.size() != bytes) {
    throw InputError("the argument " + name + " has " + std::to_string(bytes) + " bytes, " +
                     std::to_string(given->second.size()) + " are given");
  }
  return given->second;
}

void PlainKernel::launch(CUstream stream, const ArgumentBytes& arguments) const {
  for (const Turn& turn : turns_of(launches_)) {
    const LaunchShape& shape = launches_[turn.launch];
    ArgumentBytes own;  // Scalars that change from one repetition to the next.
    for (const Argument& scalar : turn.as.scalars) own[scalar.name] = scalar_bytes(scalar);
    std::vector<void*> parameters;
    for (const std::string& name : turn.as.arguments) {
      // The driver only reads the bytes.
      parameters.push_back(const_cast<std::uint8_t*>(bytes_of(name, own, arguments).data()));
    }
    check_dimensions(turn.as.grid, shape.name_expression);
    check_dimensions(turn.as.block, shape.name_expression);
    driver_.check(LaunchConfig(shape, turn.as, stream)
                      .launch(driver_, functions_[turn.launch], parameters.data()),
                  "cuLaunchKernelEx");
  }
}

CUdeviceptr PlainKernel::symbol(const std::string& argument) const {
  const auto found = symbols_.find(argument);
  if (found == symbols_.end()) {
    throw InputError("the kernel has no argument " + argument + " in constant memory");
  }
  return found->second;
}

std::vector<std::uint8_t> PlainKernel::tensor_map_bytes(const std::string& name,
                                                        CUdeviceptr data) const {
  const TensorMap map = make_tensor_map(driver_, argument(name), data);
  std::vector<std::uint8_t> bytes(sizeof map);
  std::memcpy(bytes.data(), &map, sizeof map);
  return bytes;
}

std::vector<std::uint8_t> address_bytes(CUdeviceptr address) {
  std::vector<std::uint8_t> bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

void launch_once(int device, const CompiledKernel& compiled,
                 const std::vector<LaunchShape>& launches, const std::vector<Argument>& arguments,
                 std::uint64_t seed) {
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // Makes the primary context current on every toolkit.
  const PlainKernel kernel(compiled, launches, arguments);
  std::vector<DeviceMemory> buffers;
  std::vector<Texture> textures;
  ArgumentBytes values;
  for (const Argument& argument : arguments) {
    if (!argument.members.empty()) continue;  // launch() makes it of the others.
    if (!argument.is_buffer()) {
      values[argument.name] = scalar_bytes(argument);
      continue;
    }
    void* target = nullptr;
    if (argument.in_constant_memory()) {
      target = as_pointer(kernel.symbol(argument.name));
    } else {
      buffers.push_back(allocate(static_cast<std::size_t>(argument.bytes())));
      target = buffers.back().get();
      values[argument.name] = address_bytes(as_address(target));
      if (argument.is_texture()) {
        textures.push_back(make_texture(argument, as_address(target)));
        values[argument.name] = address_bytes(textures.back().object());
      } else if (argument.is_tensor_map()) {
        values[argument.name] = kernel.tensor_map_bytes(argument.name, as_address(target));
      }
    }
    if (!argument.in_constant_memory() && !begins_with_contents(argument)) continue;
    const std::vector<std::uint8_t> contents = initial_contents(argument, seed);
    check(cudaMemcpy(target, contents.data(), contents.size(), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
  const Stream stream = make_stream();
  kernel.launch(stream.get(), values);
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize after the launch");
}

LaunchConfig::LaunchConfig(const LaunchShape& launch, const Repetition& turn, CUstream stream) {
  const auto narrow = [this](std::int64_t number) {
    is_narrow_ = is_narrow_ && std::in_range<unsigned>(number);
    return is_narrow_ ? static_cast<unsigned>(number) : 0;
  };
  config_.gridDimX = narrow(turn.grid[0]);
  config_.gridDimY = narrow(turn.grid[1]);
  config_.gridDimZ = narrow(turn.grid[2]);
  config_.blockDimX = narrow(turn.block[0]);
  config_.blockDimY = narrow(turn.block[1]);
  config_.blockDimZ = narrow(turn.block[2]);
  config_.sharedMemBytes = narrow(turn.dynamic_shared_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_.data();
  if (launch.cooperative) {
    CUlaunchAttribute& cooperative = attributes_[config_.numAttrs++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  // The first launch has none before it to overlap with.
  if (launch.programmatic.value_or(0) != 0 && turn.turn > 0) {
    CUlaunchAttribute& programmatic = attributes_[config_.numAttrs++];
    programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    programmatic.value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.blocks_per_cluster() == 1) return;
  CUlaunchAttribute& cluster = attributes_[config_.numAttrs++];
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = narrow(launch.cluster[0]);
  cluster.value.clusterDim.y = narrow(launch.cluster[1]);
  cluster.value.clusterDim.z = narrow(launch.cluster[2]);
}

CUresult set_carveout(const Driver& driver, CUfunction function, std::int64_t percent) {
  return driver.func_set_attribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                   static_cast<int>(percent));
}

CUresult LaunchConfig::launch(const Driver& driver, CUfunction function, void** parameters) const {
  if (!is_narrow_) return CUDA_ERROR_INVALID_VALUE;
  return driver.launch_kernel_ex(&config_, function, parameters, nullptr);
}

}  // namespace smemtune::cuda
