// The best stored configuration of a space against the vendor's own code, in one run:
//   gemm                  cublasSgemm (CUBLAS_PEDANTIC_MATH: no TF32)
//   stencil1d, add_one    cudaMemcpyAsync, device to device, of as many bytes as the kernel must
//   move
//
//   smemtune_peers SPACE.json DATABASE [ROUNDS]
//
// Every round times each of the two once, in random order, each with a cold L2 and its launch
// queued behind the flush. Printed per problem: both medians and the median of the rounds' ratios.

#include "db/result_store.h"
#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/measurement.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace smemtune;  // NOLINT(google-build-using-namespace): a program, not a library.

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw Error(std::string(call) + ": " + cudaGetErrorString(code));
}

void check(cublasStatus_t code, const char* call) {
  if (code != CUBLAS_STATUS_SUCCESS) {
    throw Error(std::string(call) + ": " + cublasGetStatusString(code));
  }
}

/// Device buffers of a problem, by argument name.
class Buffers {
 public:
  explicit Buffers(const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) {
      if (!argument.is_buffer()) continue;
      void* memory = nullptr;
      check(cudaMalloc(&memory, static_cast<std::size_t>(argument.bytes())), "cudaMalloc");
      memory_[argument.name] = memory;
      const std::vector<std::uint8_t> contents = initial_contents(argument, 1);
      check(cudaMemcpy(memory, contents.data(), contents.size(), cudaMemcpyHostToDevice),
            "cudaMemcpy");
    }
  }
  ~Buffers() {
    for (const auto& [name, memory] : memory_) cudaFree(memory);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  void* operator[](const std::string& name) const { return memory_.at(name); }

 private:
  std::map<std::string, void*> memory_;
};

/// The stored best of one problem, compiled and ready to launch.
class BestKernel {
 public:
  BestKernel(const KernelInstance& instance, const KernelSource& source,
             const std::string& architecture, const Buffers& buffers)
      : instance_(instance) {
    CompileRequest request;
    request.architecture = architecture + (instance.architecture_specific ? "a" : "");
    request.source = source;
    request.options = instance.options;
    for (const LaunchShape& launch : instance.launches) {
      request.name_expressions.push_back(launch.name_expression);
    }
    cuda::NvrtcCompiler compiler;
    const Outcome<CompiledKernel> compiled = compiler.compile(request);
    if (!compiled) throw Error(compiled.failure().detail);
    check(cudaLibraryLoadData(&library_, compiled->image.data(), nullptr, nullptr, 0, nullptr,
                              nullptr, 0),
          "cudaLibraryLoadData");
    for (const LaunchShape& launch : instance.launches) {
      cudaKernel_t kernel = nullptr;
      check(cudaLibraryGetKernel(&kernel, library_,
                                 compiled->entry(launch.name_expression)->lowered_name.c_str()),
            "cudaLibraryGetKernel");
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(launch.dynamic_shared_bytes)),
            "cudaFuncSetAttribute");
      kernels_.push_back(kernel);
    }
    for (const Argument& argument : instance.arguments) {
      if (argument.is_buffer()) {
        void* memory = buffers[argument.name];
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&memory);
        values_[argument.name].assign(bytes, bytes + sizeof memory);
      } else {
        values_[argument.name] = scalar_bytes(argument);
      }
    }
  }
  ~BestKernel() {
    if (library_ != nullptr) cudaLibraryUnload(library_);
  }
  BestKernel(const BestKernel&) = delete;
  BestKernel& operator=(const BestKernel&) = delete;

  void launch(cudaStream_t stream) {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const LaunchShape& shape = instance_.launches[i];
      std::vector<void*> arguments;
      for (const std::string& name : shape.arguments) arguments.push_back(values_.at(name).data());
      const auto dim = [](const Dim3& size) {
        return dim3(static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]),
                    static_cast<unsigned>(size[2]));
      };
      check(cudaLaunchKernel(reinterpret_cast<void*>(kernels_[i]), dim(shape.grid),
                             dim(shape.block), arguments.data(),
                             static_cast<std::size_t>(shape.dynamic_shared_bytes), stream),
            "cudaLaunchKernel");
    }
  }

 private:
  KernelInstance instance_;
  cudaLibrary_t library_ = nullptr;
  std::vector<cudaKernel_t> kernels_;
  std::map<std::string, std::vector<std::uint8_t>> values_;
};

/// Times functions that launch on a stream, each launch behind a flush of the L2.
class Timer {
 public:
  Timer() {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    flush_bytes_ = 4 * static_cast<std::size_t>(properties.l2CacheSize);
    check(cudaMalloc(&flush_, flush_bytes_), "cudaMalloc");
    check(cudaStreamCreate(&stream_), "cudaStreamCreate");
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
  }

  cudaStream_t stream() const { return stream_; }

  double time_ms(const std::function<void()>& work) {
    check(cudaMemsetAsync(flush_, 1, flush_bytes_, stream_), "cudaMemsetAsync");
    check(cudaEventRecord(start_, stream_), "cudaEventRecord");
    work();
    check(cudaEventRecord(stop_, stream_), "cudaEventRecord");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start_, stop_), "cudaEventElapsedTime");
    return ms;
  }

 private:
  std::size_t flush_bytes_ = 0;
  void* flush_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

std::int64_t integer(const Problem& problem, const std::string& name) {
  return std::get<std::int64_t>(problem.at(name));
}

void compare(const LoadedSpace& loaded, const db::StoredResult& best, int rounds) {
  const Space& space = loaded.space;
  const KernelTemplate* kernel = space.kernel(best.result.kernel);
  if (kernel == nullptr) throw InputError("the space has no kernel " + best.result.kernel);
  const KernelBinding bound(space, *kernel, best.result.problem, best.device);
  const KernelInstance instance = bound.instantiate(best.result.configuration);
  const Buffers buffers(instance.arguments);
  BestKernel ours(instance, loaded.sources.at(kernel->name), best.device.architecture, buffers);
  Timer timer;

  std::function<void()> theirs;
  std::string peer;
  cublasHandle_t blas = nullptr;
  const float one = 1;
  const float zero = 0;
  void* copy_from = nullptr;
  void* copy_to = nullptr;
  const std::map<std::string, double> metrics = bound.metrics(best.result.configuration);
  if (space.name == "gemm") {
    peer = "cublasSgemm";
    check(cublasCreate(&blas), "cublasCreate");
    check(cublasSetStream(blas, timer.stream()), "cublasSetStream");
    check(cublasSetMathMode(blas, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    const auto size = [&](const char* name) {
      return static_cast<int>(integer(best.result.problem, name));
    };
    // Row-major c = a b is column-major c' = b' a'.
    theirs = [&, m = size("M"), n = size("N"), k = size("K")] {
      check(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one,
                        static_cast<const float*>(buffers["b"]), n,
                        static_cast<const float*>(buffers["a"]), k, &zero,
                        static_cast<float*>(buffers["c"]), n),
            "cublasSgemm");
    };
  } else {
    peer = "cudaMemcpyAsync";
    const auto bytes = static_cast<std::size_t>(metrics.at("bytes") / 2);
    check(cudaMalloc(&copy_from, bytes), "cudaMalloc");
    check(cudaMalloc(&copy_to, bytes), "cudaMalloc");
    theirs = [&, bytes] {
      check(cudaMemcpyAsync(copy_to, copy_from, bytes, cudaMemcpyDeviceToDevice, timer.stream()),
            "cudaMemcpyAsync");
    };
  }

  const auto launch_ours = [&] { ours.launch(timer.stream()); };
  std::mt19937 random(1);
  std::vector<double> our_ms;
  std::vector<double> their_ms;
  std::vector<double> ratios;
  for (int round = -5; round < rounds; ++round) {
    const bool ours_first = (random() & 1u) != 0;
    double ours_now = ours_first ? timer.time_ms(launch_ours) : 0;
    const double theirs_now = timer.time_ms(theirs);
    if (!ours_first) ours_now = timer.time_ms(launch_ours);
    if (round < 0) continue;  // warm-up
    our_ms.push_back(ours_now);
    their_ms.push_back(theirs_now);
    ratios.push_back(theirs_now / ours_now);
  }
  const double ours_median = quantile(our_ms, 0.5);
  const double theirs_median = quantile(their_ms, 0.5);
  const std::string metric = space.name == "gemm" ? "flops" : "bytes";
  const double work = metrics.at(metric);
  const double scale = space.name == "gemm" ? 1e-9 : 1e-6;  // TFLOP/s, GB/s
  std::printf(
      "%s %s\n  ours  %s %s  %.4f ms  %.2f %s\n  peer  %s  %.4f ms  %.2f\n"
      "  ours / peer: %.3f (quartiles %.3f to %.3f over %d rounds)\n",
      space.name.c_str(), key(best.result.problem).c_str(), best.result.kernel.c_str(),
      key(best.result.configuration).c_str(), ours_median, work / ours_median * scale,
      space.name == "gemm" ? "TFLOP/s" : "GB/s", peer.c_str(), theirs_median,
      work / theirs_median * scale, quantile(ratios, 0.5), quantile(ratios, 0.25),
      quantile(ratios, 0.75), rounds);
  if (blas != nullptr) check(cublasDestroy(blas), "cublasDestroy");
  check(cudaFree(copy_from), "cudaFree");
  check(cudaFree(copy_to), "cudaFree");
}

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: smemtune_peers SPACE.json DATABASE [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 51;
  if (rounds < 1) throw InputError("ROUNDS must be 1 or more");
  const LoadedSpace loaded =
      load_space(argv[1], std::filesystem::path(argv[1]).parent_path().parent_path());
  const db::ResultStore store(argv[2], db::ResultStore::Mode::read_only);
  int compared = 0;
  for (const db::StoredResult& best : store.best({.space = loaded.space.name}, false)) {
    if (best.device.kind != DeviceKind::gpu) continue;
    if (loaded.space.name == "gemm" && best.result.problem.at("T") != Value(std::string("float"))) {
      continue;
    }
    compare(loaded, best, rounds);
    ++compared;
  }
  if (compared == 0) throw InputError(std::string(argv[2]) + ": no GPU result of this space");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smemtune_peers: %s\n", error.what());
    return 1;
  }
}
