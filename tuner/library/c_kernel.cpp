// Compiling, loading and launching by the C interface.

#include "smemtune/smemtune_c.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/plain_kernel.h"
#include "tuner/backend/cuda/tensor_map.h"
#include "tuner/backend/cuda/texture.h"
#include "tuner/core/error.h"
#include "tuner/library/c_objects.h"
#include "tuner/library/planning.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

Outcome<CompiledKernel> compiled_for(const PlanObject& plan, const std::string& architecture,
                                     const std::string& nvrtc) {
  CompileRequest request = plan.planned.request;
  if (!architecture.empty()) request.architecture = architecture;
  return compile_cached(std::move(request), {}, nvrtc);
}

CompiledKernel compiled_or_throw(const PlanObject& plan, const std::string& architecture,
                                 const std::string& nvrtc) {
  Outcome<CompiledKernel> compiled = compiled_for(plan, architecture, nvrtc);
  if (!compiled) {
    throw InputError(plan.planned.instance.kernel +
                     " does not compile: " + compiled.failure().detail);
  }
  return *compiled;
}

/// Returns the plan if it is for a GPU of this machine, otherwise throws.
const PlanObject& for_gpu(const PlanObject& plan) {
  if (plan.gpu >= 0) return plan;
  throw InputError("the plan of " + plan.planned.instance.kernel +
                   " is for a device that is not here");
}

}  // namespace

std::unique_ptr<ModuleObject> compile_plan(const PlanObject& plan, const std::string& architecture,
                                           const std::string& nvrtc) {
  return std::make_unique<ModuleObject>(plan, compiled_or_throw(plan, architecture, nvrtc),
                                        architecture.starts_with("compute_"));
}

}  // namespace smemtune

/// A kernel in the primary context of a GPU, with its launches in the form of the plan.
struct smemtune_kernel {
  smemtune_kernel(const smemtune::PlanObject& plan, const std::string& nvrtc)
      : gpu(smemtune::for_gpu(plan).gpu),
        loaded(smemtune::compiled_or_throw(plan, {}, nvrtc), plan.planned.instance.launches,
               plan.planned.instance.arguments),
        turns(plan.turns),
        of_turns(plan.launch_arguments),
        scalars(plan.scalars) {
    // Pointers into the plan's own scalars become pointers into these copies.
    changed.reserve(plan.changed_scalars.size());
    for (auto& taken : of_turns) {
      for (smemtune_launch_argument& one : taken) {
        if (one.value == nullptr) continue;
        one.value = changed.emplace_back(plan.changed_scalars[changed.size()]).data();
      }
    }
  }

  int gpu;
  smemtune::cuda::PlainKernel loaded;
  std::vector<smemtune::Turn> turns;
  std::vector<std::vector<smemtune_launch_argument>> of_turns;
  std::vector<std::vector<std::uint8_t>> scalars;
  std::vector<std::vector<std::uint8_t>> changed;
  std::mutex textures_mutex;
  std::list<smemtune::cuda::Texture> textures;
};

namespace smemtune {
namespace {

/// The values of one call, as the driver takes them.
class CallValues {
 public:
  CallValues(const smemtune_kernel& kernel, const void* const* values) : kernel_(kernel) {
    const std::vector<Argument>& arguments = kernel.loaded.arguments();
    pointers_.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      pointers_.push_back(value_of(arguments[i], i, values[i]));
    }
  }

  const void* operator[](std::size_t index) const { return pointers_[index]; }

 private:
  const void* value_of(const Argument& argument, std::size_t index, const void* given) {
    if (!argument.is_buffer()) return given != nullptr ? given : kernel_.scalars[index].data();
    if (argument.in_constant_memory()) return given;
    if (given == nullptr) throw InputError("the argument " + argument.name + " is not given");
    if (!argument.is_tensor_map()) return given;
    CUdeviceptr address = 0;
    std::memcpy(&address, given, sizeof address);
    return &maps_.emplace_back(cuda::make_tensor_map(kernel_.loaded.driver(), argument, address));
  }

  const smemtune_kernel& kernel_;
  std::vector<const void*> pointers_;
  std::list<cuda::TensorMap> maps_;
};

void fill_constants(const smemtune_kernel& kernel, const CallValues& values, CUstream stream) {
  const std::vector<Argument>& arguments = kernel.loaded.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].in_constant_memory() || values[i] == nullptr) continue;
    CUdeviceptr from = 0;
    std::memcpy(&from, values[i], sizeof from);
    cuda::copy(cuda::as_pointer(kernel.loaded.symbol(arguments[i].name)), cuda::as_pointer(from),
               static_cast<std::size_t>(arguments[i].bytes()), cudaMemcpyDeviceToDevice, stream);
  }
}

void launch_all(const smemtune_kernel& kernel, const CallValues& values, CUstream stream) {
  fill_constants(kernel, values, stream);
  std::vector<void*> parameters;
  for (std::size_t i = 0; i < kernel.turns.size(); ++i) {
    parameters.clear();
    for (const smemtune_launch_argument& one : kernel.of_turns[i]) {
      // The driver only reads the bytes.
      parameters.push_back(const_cast<void*>(one.value != nullptr ? one.value : values[one.index]));
    }
    const Turn& turn = kernel.turns[i];
    const cuda::LaunchConfig config(kernel.loaded.launches()[turn.launch], turn.as, stream);
    kernel.loaded.driver().check(
        config.launch(kernel.loaded.driver(), kernel.loaded.function(turn.launch),
                      parameters.data()),
        "cuLaunchKernelEx");
  }
}

/// Returns true if the calling thread's current device is `gpu` and its context is current.
bool is_current(int gpu) {
  thread_local int prepared = -1;  // The device whose context this thread has made current before.
  int now = -1;
  cuda::check(cudaGetDevice(&now), "cudaGetDevice");
  if (now != gpu) return false;
  if (prepared == gpu) return true;
  // Nothing may have made a context current in this thread yet; cudaSetDevice does.
  cuda::check(cudaSetDevice(gpu), "cudaSetDevice");
#if CUDART_VERSION < 12000
  cuda::check(cudaFree(nullptr), "cudaFree");  // Earlier runtimes make it current only here.
#endif
  prepared = gpu;
  return true;
}

}  // namespace
}  // namespace smemtune

smemtune_status smemtune_load(const smemtune_plan* plan, const char* nvrtc,
                              smemtune_kernel** kernel) {
  return smemtune::guarded([&] {
    smemtune::need(plan, "plan");
    smemtune::need(kernel, "kernel");
    const auto& object = smemtune::for_gpu(*static_cast<const smemtune::PlanObject*>(plan));
    const smemtune::CurrentGpu current(object.gpu);
    *kernel = std::make_unique<smemtune_kernel>(object, nvrtc == nullptr ? "" : nvrtc).release();
  });
}

void smemtune_unload(smemtune_kernel* kernel) {
  if (kernel == nullptr) return;
  // If the context is gone, so is the module; there is nobody to report a failure to.
  (void)smemtune::guarded([&] {
    std::unique_ptr<smemtune_kernel> owned(kernel);
    const smemtune::CurrentGpu current(kernel->gpu);
    owned.reset();  // While its context is current.
  });
}

smemtune_status smemtune_launch(const smemtune_kernel* kernel, const void* const* values,
                                size_t count, void* stream) {
  return smemtune::guarded([&] {
    smemtune::need(kernel, "kernel");
    if (count != kernel->scalars.size()) {
      throw smemtune::InputError("the kernel has " + std::to_string(kernel->scalars.size()) +
                                 " arguments, " + std::to_string(count) + " are given");
    }
    if (count != 0) smemtune::need(values, "values");
    const smemtune::CallValues taken(*kernel, values);
    const auto on = static_cast<CUstream>(stream);
    if (smemtune::is_current(kernel->gpu)) {
      smemtune::launch_all(*kernel, taken, on);
    } else {
      const smemtune::CurrentGpu current(kernel->gpu);
      smemtune::launch_all(*kernel, taken, on);
    }
  });
}

smemtune_status smemtune_texture(smemtune_kernel* kernel, size_t index, uint64_t address,
                                 uint64_t* object) {
  return smemtune::guarded([&] {
    smemtune::need(kernel, "kernel");
    smemtune::need(object, "object");
    const std::vector<smemtune::Argument>& arguments = kernel->loaded.arguments();
    if (index >= arguments.size() || !arguments[index].is_texture()) {
      throw smemtune::InputError("argument " + std::to_string(index) + " is no texture");
    }
    const smemtune::CurrentGpu current(kernel->gpu);
    smemtune::cuda::Texture texture = smemtune::cuda::make_texture(arguments[index], address);
    *object = texture.object();
    const std::lock_guard lock(kernel->textures_mutex);
    kernel->textures.push_back(std::move(texture));
  });
}
