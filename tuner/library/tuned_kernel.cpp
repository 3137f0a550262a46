#include "smemtune/smemtune.h"
#include "tuner/core/error.h"
#include "tuner/library/planning.h"

#if SMEMTUNE_CUDA_BUILD
#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/plain_kernel.h"
#endif

#include <algorithm>
#include <cstring>
#include <memory>

namespace smemtune {

#if SMEMTUNE_CUDA_BUILD

namespace {

cuda::PlainKernel load(const PlannedKernel& planned, const KernelPlaces& places) {
  const Outcome<CompiledKernel> compiled = compile_cached(planned.request, places.cache, {});
  if (!compiled) {
    throw InputError(planned.instance.kernel + " does not compile: " + compiled.failure().detail);
  }
  return {*compiled, planned.instance.launches, planned.instance.arguments};
}

}  // namespace

struct TunedKernel::Loaded {
  int gpu = 0;
  KernelPlan plan;
  cuda::PlainKernel kernel;
};

std::vector<Gpu> gpus() {
  std::vector<Gpu> gpus;
  for (const Device& device : gpu_devices()) {
    gpus.push_back({.index = static_cast<int>(gpus.size()),
                    .name = device.name,
                    .compute_capability = device.compute_capability()});
  }
  return gpus;
}

TunedKernel::TunedKernel(const std::filesystem::path& space_file, const Selection& selection,
                         const Gpu& gpu, const KernelPlaces& places) {
  const CurrentGpu current(gpu.index);
  const PlannedKernel planned =
      plan_for(load_space(space_file, share_of(places)), space_file, selection,
               gpu_devices().at(static_cast<std::size_t>(gpu.index)));
  loaded_ = std::make_unique<const Loaded>(
      Loaded{.gpu = gpu.index, .plan = planned.plan, .kernel = load(planned, places)});
}

void TunedKernel::launch(const LaunchArguments& arguments, void* stream) const {
  cuda::ArgumentBytes values;
  for (const Argument& argument : loaded_->kernel.arguments()) {
    const bool is_scalar = !argument.is_buffer() && argument.members.empty();
    if (is_scalar) values[argument.name] = scalar_bytes(argument);
  }
  for (const auto& [name, value] : arguments) values[name] = value.bytes();
  for (const auto& [name, bytes] : values) {
    const auto& known = loaded_->kernel.arguments();
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&name = name](const Argument& a) { return a.name == name; });
    if (found == known.end()) throw InputError("the kernel has no argument " + name);
  }
  const CurrentGpu current(loaded_->gpu);
  for (const Argument& argument : loaded_->kernel.arguments()) {
    const auto given = values.find(argument.name);
    if (!argument.is_tensor_map() || given == values.end()) continue;
    CUdeviceptr address = 0;
    if (given->second.size() != sizeof address) {
      throw InputError("the argument " + argument.name + " is a buffer, pass its address");
    }
    std::memcpy(&address, given->second.data(), sizeof address);
    given->second = loaded_->kernel.tensor_map_bytes(argument.name, address);
  }
  loaded_->kernel.launch(static_cast<CUstream>(stream), values);
}

void* TunedKernel::symbol(const std::string& buffer) const {
  return cuda::as_pointer(loaded_->kernel.symbol(buffer));
}

#else

namespace {

[[noreturn]] void no_cuda() {
  throw UnavailableError(
      "this libsmemtune was built without CUDA: it selects and plans, and cannot launch");
}

}  // namespace

struct TunedKernel::Loaded {
  KernelPlan plan;
};

std::vector<Gpu> gpus() { no_cuda(); }

TunedKernel::TunedKernel(const std::filesystem::path&, const Selection&, const Gpu&,
                         const KernelPlaces&) {
  no_cuda();
}

void TunedKernel::launch(const LaunchArguments&, void*) const { no_cuda(); }

void* TunedKernel::symbol(const std::string&) const { no_cuda(); }

#endif

TunedKernel::~TunedKernel() = default;
TunedKernel::TunedKernel(TunedKernel&&) noexcept = default;
TunedKernel& TunedKernel::operator=(TunedKernel&&) noexcept = default;

const KernelPlan& TunedKernel::plan() const { return loaded_->plan; }

}  // namespace smemtune
