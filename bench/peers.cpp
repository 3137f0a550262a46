// Compares the best stored configurations of spaces with their peers, in one run:
//   gemm                  cublasSgemm (CUBLAS_PEDANTIC_MATH: no TF32)
//   gemm_tc               cublasGemmEx (CUBLAS_COMPUTE_32F)
//   gemm_fp8, gemm_int8   cublasLtMatmul, the algorithm that it finds best without trying; of 8-bit
//                         floats with the fast accumulation where FAST
//   convolution           the best stored configuration of the kernel tiled, whose parameters are
//                         the FAIR benchmark hub's
//   reduce, reduce_max,   cub::DeviceReduce, of several rows cub::DeviceSegmentedReduce
//   argmax
//   scan                  cub::DeviceScan
//   histogram...          cub::DeviceHistogram::HistogramEven
//   spmv_csr              cusparseSpMV, preprocessed, where cuSPARSE was there to build with
//   the others            cudaMemcpyAsync, device to device, of as many bytes as the kernel must
//                         move
//
//   smemtune_peers DATABASE ROUNDS SPACE.json...
//
// Every round times both sides once, in random order, each with a cold L2 and its launch queued
// behind the flush. Printed per problem, as a row of a table: both medians and the median of the
// rounds' ratios, the peer's time over ours; then the ratios' geometric mean.

#include "cub_peers.h"
#include "db/result_store.h"
#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/backend/cuda/plain_kernel.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/measurement.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cublasLt.h>
#include <cublas_v2.h>
#ifdef SMEMTUNE_CUSPARSE
#include <cusparse.h>
#endif
#include <functional>
#include <map>
#include <memory>
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

#ifdef SMEMTUNE_CUSPARSE
void check(cusparseStatus_t code, const char* call) {
  if (code != CUSPARSE_STATUS_SUCCESS) {
    throw Error(std::string(call) + ": " + cusparseGetErrorString(code));
  }
}
#endif

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
      : kernel_(compiled(instance, source, architecture), instance.launches, instance.arguments) {
    for (const Argument& argument : instance.arguments) {
      if (!argument.is_buffer()) {
        values_[argument.name] = scalar_bytes(argument);
        continue;
      }
      void* const memory = buffers[argument.name];
      if (argument.in_constant_memory()) {
        check(cudaMemcpy(cuda::as_pointer(kernel_.symbol(argument.name)), memory,
                         static_cast<std::size_t>(argument.bytes()), cudaMemcpyDeviceToDevice),
              "cudaMemcpy");
      } else if (argument.is_tensor_map()) {
        values_[argument.name] = kernel_.tensor_map_bytes(argument.name, cuda::as_address(memory));
      } else {
        values_[argument.name] = cuda::address_bytes(cuda::as_address(memory));
      }
    }
  }

  void launch(cudaStream_t stream) const { kernel_.launch(stream, values_); }

 private:
  static CompiledKernel compiled(const KernelInstance& instance, const KernelSource& source,
                                 const std::string& architecture) {
    CompileRequest request;
    request.architecture = architecture + (instance.architecture_specific ? "a" : "");
    request.source = source;
    request.options = instance.options;
    for (const LaunchShape& launch : instance.launches) {
      request.name_expressions.push_back(launch.name_expression);
    }
    for (const Argument& argument : instance.arguments) {
      if (argument.in_constant_memory()) request.symbol_expressions.push_back(argument.symbol);
    }
    cuda::NvrtcCompiler compiler;
    const Outcome<CompiledKernel> compiled = compiler.compile(request);
    if (!compiled) throw Error(compiled.failure().detail);
    return *compiled;
  }

  cuda::PlainKernel kernel_;
  cuda::ArgumentBytes values_;
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

/// The competitor of the best configuration, ready to launch on the timer's stream.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  virtual void launch() = 0;
};

class Copy final : public Peer {
 public:
  Copy(std::size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream) {
    check(cudaMalloc(&from_, bytes), "cudaMalloc");
    check(cudaMalloc(&to_, bytes), "cudaMalloc");
  }
  ~Copy() override {
    cudaFree(from_);
    cudaFree(to_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  std::string name() const override { return "copy"; }
  void launch() override {
    check(cudaMemcpyAsync(to_, from_, bytes_, cudaMemcpyDeviceToDevice, stream_),
          "cudaMemcpyAsync");
  }

 private:
  std::size_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  void* from_ = nullptr;
  void* to_ = nullptr;
};

int size(const Problem& problem, const char* name) {
  return static_cast<int>(std::get<std::int64_t>(problem.at(name)));
}

class CublasSgemm final : public Peer {
 public:
  CublasSgemm(const Problem& problem, const Buffers& buffers, cudaStream_t stream)
      : m_(size(problem, "M")),
        n_(size(problem, "N")),
        k_(size(problem, "K")),
        a_(static_cast<const float*>(buffers["a"])),
        b_(static_cast<const float*>(buffers["b"])),
        c_(static_cast<float*>(buffers["c"])) {
    check(cublasCreate(&blas_), "cublasCreate");
    check(cublasSetStream(blas_, stream), "cublasSetStream");
    check(cublasSetMathMode(blas_, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
  }
  ~CublasSgemm() override { cublasDestroy(blas_); }
  CublasSgemm(const CublasSgemm&) = delete;
  CublasSgemm& operator=(const CublasSgemm&) = delete;

  std::string name() const override { return "cublasSgemm"; }
  void launch() override {
    const float one = 1;
    const float zero = 0;
    // Row-major c = a b is column-major c' = b' a'.
    check(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, n_, m_, k_, &one, b_, n_, a_, k_, &zero, c_,
                      n_),
          "cublasSgemm");
  }

 private:
  int m_ = 0;
  int n_ = 0;
  int k_ = 0;
  const float* a_ = nullptr;
  const float* b_ = nullptr;
  float* c_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

cudaDataType cuda_type(const Problem& problem, const char* name) {
  const std::string word = to_text(problem.at(name));
  if (word == "int") return CUDA_R_32I;
  if (word == "int8_t") return CUDA_R_8I;
  if (word == "float") return CUDA_R_32F;
  if (word == "double") return CUDA_R_64F;
  return word == "__half" ? CUDA_R_16F : CUDA_R_16BF;
}

class CublasGemmEx final : public Peer {
 public:
  CublasGemmEx(const Problem& problem, const Buffers& buffers, cudaStream_t stream)
      : m_(size(problem, "M")),
        n_(size(problem, "N")),
        k_(size(problem, "K")),
        transposed_(size(problem, "TRANSPOSED") != 0),
        type_(cuda_type(problem, "T")),
        out_(cuda_type(problem, "OUT")),
        a_(buffers["a"]),
        b_(buffers["b"]),
        c_(buffers["c"]) {
    check(cublasCreate(&blas_), "cublasCreate");
    check(cublasSetStream(blas_, stream), "cublasSetStream");
  }
  ~CublasGemmEx() override { cublasDestroy(blas_); }
  CublasGemmEx(const CublasGemmEx&) = delete;
  CublasGemmEx& operator=(const CublasGemmEx&) = delete;

  std::string name() const override { return "cublasGemmEx"; }
  void launch() override {
    const float one = 1;
    const float zero = 0;
    // Row-major c = a b is column-major c' = b' a'.
    check(cublasGemmEx(blas_, transposed_ ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n_, m_, k_,
                       &one, b_, type_, transposed_ ? k_ : n_, a_, type_, k_, &zero, c_, out_, n_,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  }

 private:
  int m_ = 0;
  int n_ = 0;
  int k_ = 0;
  bool transposed_ = false;
  cudaDataType type_ = CUDA_R_16BF;
  cudaDataType out_ = CUDA_R_16BF;
  const void* a_ = nullptr;
  const void* b_ = nullptr;
  void* c_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

/// Products of 8-bit numbers, scaled unless the sums are stored as integers of 32 bits.
class CublasLtMatmul final : public Peer {
 public:
  CublasLtMatmul(const Problem& problem, const Buffers& buffers, cudaStream_t stream)
      : stream_(stream),
        a_(buffers["a"]),
        b_(buffers["b"]),
        c_(buffers["c"]),
        scale_(static_cast<const float*>(buffers["scale"])) {
    const bool floats = problem.contains("FAST");
    const cudaDataType type = floats ? CUDA_R_8F_E4M3 : CUDA_R_8I;
    const cudaDataType out = cuda_type(problem, "OUT");
    const bool scaled = out != CUDA_R_32I;
    check(cublasLtCreate(&handle_), "cublasLtCreate");
    check(cublasLtMatmulDescCreate(&product_, floats ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32I,
                                   scaled ? CUDA_R_32F : CUDA_R_32I),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (floats) {
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(size(problem, "FAST")));
    }
    if (scaled) {
      set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
      check(cudaMalloc(&zero_, sizeof(float)), "cudaMalloc");
      check(cudaMemset(zero_, 0, sizeof(float)), "cudaMemset");
    }
    // Row-major c = a b' (b stored as n x k) is column-major c' = b a'.
    const auto m = static_cast<std::uint64_t>(size(problem, "M"));
    const auto n = static_cast<std::uint64_t>(size(problem, "N"));
    const auto k = static_cast<std::uint64_t>(size(problem, "K"));
    b_layout_ = layout(type, k, n);
    a_layout_ = layout(type, k, m);
    c_layout_ = layout(out, n, m);
    check(cudaMalloc(&workspace_, kWorkspace), "cudaMalloc");
    find_algorithm();
  }
  ~CublasLtMatmul() override {
    cudaFree(workspace_);
    cudaFree(zero_);
    for (cublasLtMatrixLayout_t layout : {a_layout_, b_layout_, c_layout_}) {
      cublasLtMatrixLayoutDestroy(layout);
    }
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
  }
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  std::string name() const override { return "cublasLtMatmul"; }
  void launch() override {
    const std::int32_t one = 1;
    const std::int32_t none = 0;
    const void* const alpha = zero_ == nullptr ? static_cast<const void*>(&one) : scale_;
    const void* const beta = zero_ == nullptr ? static_cast<const void*>(&none) : zero_;
    check(
        cublasLtMatmul(handle_, product_, alpha, b_, b_layout_, a_, a_layout_, beta, c_, c_layout_,
                       c_, c_layout_, &algorithm_.algo, workspace_, kWorkspace, stream_),
        "cublasLtMatmul");
  }

 private:
  static constexpr std::size_t kWorkspace = std::size_t{64} << 20;

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }

  static cublasLtMatrixLayout_t layout(cudaDataType type, std::uint64_t rows,
                                       std::uint64_t columns) {
    cublasLtMatrixLayout_t layout = nullptr;
    check(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, static_cast<std::int64_t>(rows)),
          "cublasLtMatrixLayoutCreate");
    return layout;
  }

  void find_algorithm() {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspace, sizeof(kWorkspace)),
          "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    const cublasStatus_t code =
        cublasLtMatmulAlgoGetHeuristic(handle_, product_, b_layout_, a_layout_, c_layout_,
                                       c_layout_, preference, 1, &algorithm_, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check(code, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw Error("cublasLtMatmul has no algorithm for this problem");
  }

  cudaStream_t stream_ = nullptr;
  const void* a_ = nullptr;
  const void* b_ = nullptr;
  void* c_ = nullptr;
  const float* scale_ = nullptr;
  void* zero_ = nullptr;
  void* workspace_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_layout_ = nullptr;
  cublasLtMatrixLayout_t b_layout_ = nullptr;
  cublasLtMatrixLayout_t c_layout_ = nullptr;
  cublasLtMatmulHeuristicResult_t algorithm_ = {};
};

#ifdef SMEMTUNE_CUSPARSE
class CusparseSpMV final : public Peer {
 public:
  CusparseSpMV(const Problem& problem, const Buffers& buffers, cudaStream_t stream)
      : type_(cuda_type(problem, "T")) {
    const std::int64_t m = size(problem, "M");
    check(cusparseCreate(&handle_), "cusparseCreate");
    check(cusparseSetStream(handle_, stream), "cusparseSetStream");
    check(cusparseCreateCsr(&matrix_, m, m, m * size(problem, "LENGTH"), buffers["row"],
                            buffers["column"], buffers["value"], CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_),
          "cusparseCreateCsr");
    check(cusparseCreateDnVec(&x_, m, buffers["x"], type_), "cusparseCreateDnVec");
    check(cusparseCreateDnVec(&y_, m, buffers["y"], type_), "cusparseCreateDnVec");
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, one(), matrix_, x_,
                                  zero(), y_, type_, CUSPARSE_SPMV_ALG_DEFAULT, &bytes),
          "cusparseSpMV_bufferSize");
    check(cudaMalloc(&workspace_, bytes), "cudaMalloc");
    check(cusparseSpMV_preprocess(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, one(), matrix_, x_,
                                  zero(), y_, type_, CUSPARSE_SPMV_ALG_DEFAULT, workspace_),
          "cusparseSpMV_preprocess");
  }
  ~CusparseSpMV() override {
    cudaFree(workspace_);
    cusparseDestroyDnVec(y_);
    cusparseDestroyDnVec(x_);
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(handle_);
  }
  CusparseSpMV(const CusparseSpMV&) = delete;
  CusparseSpMV& operator=(const CusparseSpMV&) = delete;

  std::string name() const override { return "cusparseSpMV"; }
  void launch() override {
    check(cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, one(), matrix_, x_, zero(), y_,
                       type_, CUSPARSE_SPMV_ALG_DEFAULT, workspace_),
          "cusparseSpMV");
  }

 private:
  const void* one() const {
    return type_ == CUDA_R_32F ? static_cast<const void*>(&one_) : &one_double_;
  }
  const void* zero() const { return &zero_; }  // As a float, too.

  float one_ = 1;
  double one_double_ = 1;
  double zero_ = 0;
  cudaDataType type_ = CUDA_R_32F;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t x_ = nullptr;
  cusparseDnVecDescr_t y_ = nullptr;
  void* workspace_ = nullptr;
};
#endif

/// A problem as CUB computes it: `Work` is CubRows, CubScan or CubHistogram.
template <typename Work>
class Cub final : public Peer {
 public:
  Cub(const Work& work, cudaStream_t stream)
      : work_(work), bytes_(cub_workspace(work)), stream_(stream) {
    check(cudaMalloc(&workspace_, bytes_), "cudaMalloc");
  }
  ~Cub() override { cudaFree(workspace_); }
  Cub(const Cub&) = delete;
  Cub& operator=(const Cub&) = delete;

  std::string name() const override { return "CUB"; }
  void launch() override { cub_launch(work_, workspace_, bytes_, stream_); }

 private:
  Work work_;
  std::size_t bytes_ = 0;
  void* workspace_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

CubRows cub_rows(CubOperation operation, const Problem& problem, const Buffers& buffers) {
  const bool finds_index = operation == CubOperation::index_of_largest;
  return {.operation = operation,
          .in = buffers["in"],
          .type = to_text(problem.at("T")),
          .out = buffers[finds_index ? "value" : "out"],
          .out_type = to_text(problem.at("OUT")),
          .index = finds_index ? buffers["index"] : nullptr,
          .rows = size(problem, "M"),
          .length = size(problem, "N")};
}

CubScan cub_scan(const Problem& problem, const Buffers& buffers) {
  return {.in = buffers["in"],
          .type = to_text(problem.at("T")),
          .out = buffers["out"],
          .exclusive = size(problem, "EXCLUSIVE") != 0,
          .length = size(problem, "N")};
}

CubHistogram cub_histogram(const Problem& problem, const Buffers& buffers) {
  return {.in = buffers["in"],
          .type = to_text(problem.at("T")),
          .out = buffers["out"],
          .bins = size(problem, "BINS"),
          .range = size(problem, "RANGE"),
          .length = size(problem, "N")};
}

/// A stored configuration and what it needs to be launched.
class Stored {
 public:
  Stored(const LoadedSpace& loaded, const db::StoredResult& result)
      : bound_(loaded.space, kernel(loaded, result), result.result.problem, result.device),
        instance_(bound_.instantiate(result.result.configuration)),
        buffers_(instance_.arguments),
        kernel_(instance_, loaded.sources.at(result.result.kernel), result.device.architecture,
                buffers_) {}

  const Buffers& buffers() const { return buffers_; }
  void launch(cudaStream_t stream) const { kernel_.launch(stream); }

 private:
  static const KernelTemplate& kernel(const LoadedSpace& loaded, const db::StoredResult& result) {
    const KernelTemplate* found = loaded.space.kernel(result.result.kernel);
    if (found == nullptr) throw InputError("the space has no kernel " + result.result.kernel);
    return *found;
  }

  KernelBinding bound_;
  KernelInstance instance_;
  Buffers buffers_;
  BestKernel kernel_;
};

class OtherKernel final : public Peer {
 public:
  OtherKernel(const LoadedSpace& loaded, const db::StoredResult& result, cudaStream_t stream)
      : name_(result.result.kernel + " " + key(result.result.configuration)),
        stored_(loaded, result),
        stream_(stream) {}

  std::string name() const override { return name_; }
  void launch() override { stored_.launch(stream_); }

 private:
  std::string name_;
  Stored stored_;
  cudaStream_t stream_ = nullptr;
};

std::unique_ptr<Peer> peer_of(const LoadedSpace& loaded, const db::ResultStore& store,
                              const db::StoredResult& best, const Stored& ours, double bytes,
                              cudaStream_t stream) {
  const std::string& space = loaded.space.name;
  const Problem& problem = best.result.problem;
  if (space == "gemm") return std::make_unique<CublasSgemm>(problem, ours.buffers(), stream);
  if (space == "gemm_tc") return std::make_unique<CublasGemmEx>(problem, ours.buffers(), stream);
  if (space == "gemm_fp8" || space == "gemm_int8") {
    return std::make_unique<CublasLtMatmul>(problem, ours.buffers(), stream);
  }
  if (space == "convolution") {
    const std::vector<db::StoredResult> hubs = store.best(
        {.space = space, .kernel = "tiled", .device = best.device.name, .problem = key(problem)},
        true);
    if (hubs.empty()) throw InputError("no result of the kernel tiled on " + key(problem));
    return std::make_unique<OtherKernel>(loaded, hubs.front(), stream);
  }
  const std::map<std::string, CubOperation> reductions = {
      {"reduce", CubOperation::sum},
      {"reduce_max", CubOperation::largest},
      {"argmax", CubOperation::index_of_largest}};
  if (const auto found = reductions.find(space); found != reductions.end()) {
    return std::make_unique<Cub<CubRows>>(cub_rows(found->second, problem, ours.buffers()), stream);
  }
  if (space == "scan") {
    return std::make_unique<Cub<CubScan>>(cub_scan(problem, ours.buffers()), stream);
  }
  if (space.starts_with("histogram")) {
    return std::make_unique<Cub<CubHistogram>>(cub_histogram(problem, ours.buffers()), stream);
  }
#ifdef SMEMTUNE_CUSPARSE
  if (space == "spmv_csr") return std::make_unique<CusparseSpMV>(problem, ours.buffers(), stream);
#endif
  return std::make_unique<Copy>(static_cast<std::size_t>(bytes / 2), stream);
}

/// Times both sides and returns the median of the rounds' ratios.
double compare(const LoadedSpace& loaded, const db::ResultStore& store,
               const db::StoredResult& best, int rounds) {
  const KernelBinding bound(loaded.space, *loaded.space.kernel(best.result.kernel),
                            best.result.problem, best.device);
  const std::map<std::string, double> metrics = bound.metrics(best.result.configuration);
  Stored ours(loaded, best);
  Timer timer;
  const auto peer = peer_of(loaded, store, best, ours, metrics.at("bytes"), timer.stream());

  const auto launch_ours = [&] { ours.launch(timer.stream()); };
  const auto launch_peer = [&] { peer->launch(); };
  std::mt19937 random(1);
  std::vector<double> our_ms;
  std::vector<double> peer_ms;
  std::vector<double> ratios;
  for (int round = -5; round < rounds; ++round) {
    const bool ours_first = (random() & 1u) != 0;
    double ours_now = ours_first ? timer.time_ms(launch_ours) : 0;
    const double peer_now = timer.time_ms(launch_peer);
    if (!ours_first) ours_now = timer.time_ms(launch_ours);
    if (round < 0) continue;  // A round for warming up.
    our_ms.push_back(ours_now);
    peer_ms.push_back(peer_now);
    ratios.push_back(peer_now / ours_now);
  }
  const double ours_median = quantile(our_ms, 0.5);
  const double peer_median = quantile(peer_ms, 0.5);
  const double ratio = quantile(ratios, 0.5);
  const std::string& space = loaded.space.name;
  const bool computes = space.starts_with("gemm") || space == "convolution";
  const double work = metrics.at(computes ? "flops" : "bytes") * (computes ? 1e-9 : 1e-6);
  const char* unit = computes ? "TFLOP/s" : "GB/s";
  std::printf("| %s %s | %s %s | %.2f us, %.2f %s | %s %.2f us, %.2f %s | %.3f (%.3f-%.3f) |\n",
              loaded.space.name.c_str(), key(best.result.problem).c_str(),
              best.result.kernel.c_str(), key(best.result.configuration).c_str(), ours_median * 1e3,
              work / ours_median, unit, peer->name().c_str(), peer_median * 1e3, work / peer_median,
              unit, ratio, quantile(ratios, 0.25), quantile(ratios, 0.75));
  std::fflush(stdout);
  return ratio;
}

void compare_all(const std::string& file, const db::ResultStore& store, int rounds) {
  const LoadedSpace loaded =
      load_space(file, std::filesystem::path(file).parent_path().parent_path());
  double logarithms = 0;
  int compared = 0;
  for (const db::StoredResult& best : store.best({.space = loaded.space.name}, false)) {
    if (best.device.kind != DeviceKind::gpu) continue;
    if (loaded.space.name == "gemm" && best.result.problem.at("T") != Value(std::string("float"))) {
      continue;
    }
    logarithms += std::log(compare(loaded, store, best, rounds));
    ++compared;
  }
  if (compared == 0) throw InputError(file + ": no GPU result of this space is stored");
  std::printf("| %s, geometric mean of %d | | | | %.3f |\n", loaded.space.name.c_str(), compared,
              std::exp(logarithms / compared));
}

int run(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: smemtune_peers DATABASE ROUNDS SPACE.json...\n");
    return 2;
  }
  const db::ResultStore store(argv[1], db::ResultStore::Mode::read_only);
  const int rounds = std::atoi(argv[2]);
  if (rounds < 1) throw InputError("ROUNDS must be 1 or more");
  std::printf(
      "| problem | best configuration | ours | peer | peer / ours (quartiles) |\n"
      "|---|---|---|---|---|\n");
  for (int i = 3; i < argc; ++i) compare_all(argv[i], store, rounds);
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
