#include "tuner/backend/cuda/devices.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/nvrtc.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/core/compiler_options.h"
#include "tuner/engine/cached_compiler.h"
#include "tuner/library/planning.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace smemtune {

namespace {

constexpr const char* kLoading = "CUDA_MODULE_LOADING";

/// Sets an environment variable back to what it was.
class Kept {
 public:
  explicit Kept(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) value_ = value;
  }
  ~Kept() {
    if (value_) {
      setenv(name_, value_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  const char* name_;
  std::optional<std::string> value_;
};

cuda::Nvrtc open_nvrtc(const std::filesystem::path& path, std::optional<std::int64_t> version) {
  if (!path.empty()) return cuda::open_nvrtc_at(path);
  return version ? cuda::open_nvrtc_version(*version) : cuda::open_nvrtc();
}

}  // namespace

const std::vector<Device>& gpu_devices() {
  static const std::vector<Device> devices = [] {
    // CUDA reads the variable when it is initialized, which this call does. Programs that load many
    // modules want them lazily; cuda_devices() sets the variable for processes that measure.
    int count = 0;
    (void)cudaGetDeviceCount(&count);
    const Kept kept(kLoading);
    return cuda::cuda_devices();
  }();
  return devices;
}

Outcome<CompiledKernel> compile_cached(CompileRequest request, const std::filesystem::path& cache,
                                       const std::filesystem::path& nvrtc) {
  const std::optional<std::int64_t> version = take_compiler(request.options);
  auto compiler = std::make_unique<cuda::NvrtcCompiler>(open_nvrtc(nvrtc, version));
  const std::filesystem::path folder = cache.empty() ? default_cache_folder() : cache;
  if (folder.empty()) return compiler->compile(request);
  return CachedCompiler(std::move(compiler), folder).compile(request);
}

CurrentGpu::CurrentGpu(int gpu) {
  cuda::check(cudaGetDevice(&before_), "cudaGetDevice");
  cuda::check(cudaSetDevice(gpu), "cudaSetDevice");
  cuda::check(cudaFree(nullptr), "cudaFree");  // Makes the primary context current.
}

CurrentGpu::~CurrentGpu() {
  cuda::report(static_cast<int>(cudaSetDevice(before_)), "cudaSetDevice");
}

}  // namespace smemtune
