#include "tuner/backend/cuda/device_kernels.h"

#include "tuner/core/error.h"

#include <array>
#include <vector>

namespace smemtune::cuda {
namespace {

constexpr int kThreads = 256;

constexpr std::array kTypes = {ScalarType::int8,     ScalarType::uint8,   ScalarType::int16,
                               ScalarType::uint16,   ScalarType::int32,   ScalarType::uint32,
                               ScalarType::int64,    ScalarType::uint64,  ScalarType::float16,
                               ScalarType::bfloat16, ScalarType::float32, ScalarType::float64};

constexpr std::array kPlainEntries = {"fill_guards", "check_guards", "compare_bytes",
                                      "block",       "stamp",        "spin"};

// No includes, so that it compiles in milliseconds and without a toolkit's headers.
constexpr const char* kSource = R"(
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct Kind { u64 first; u64 count; };
struct Comparison { Kind unwritten, not_finite, mismatch; u64 max_absolute_bits, max_relative_bits; };
struct ByteDifference { i64 first; u64 count; };
struct __align__(16) ClockStamp { u64 cycles; u64 nanoseconds; };

struct Half { unsigned short bits; };
struct Bfloat { unsigned short bits; };

template <typename T> __device__ double number(T x) { return static_cast<double>(x); }
template <> __device__ double number<Half>(Half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
template <> __device__ double number<Bfloat>(Bfloat x) {
  return __uint_as_float(static_cast<u32>(x.bits) << 16);
}

template <typename T> struct Floating { static constexpr bool value = false; };
template <> struct Floating<Half> { static constexpr bool value = true; };
template <> struct Floating<Bfloat> { static constexpr bool value = true; };
template <> struct Floating<float> { static constexpr bool value = true; };
template <> struct Floating<double> { static constexpr bool value = true; };

template <typename T> __device__ bool is_all_ones(const T& x) {
  const u8* bytes = reinterpret_cast<const u8*>(&x);
  bool ones = true;
#pragma unroll
  for (int i = 0; i < sizeof(T); ++i) ones = ones && bytes[i] == 0xFF;
  return ones;
}

// Written so that an exact equality of 64-bit integers is one, and that NaN fails.
template <typename T>
__device__ bool agrees(T x, T r, double difference, double tolerance) {
  if constexpr (Floating<T>::value) {
    return difference <= tolerance;
  } else {
    return x == r || (tolerance > 0 && difference <= tolerance);
  }
}

__device__ void note(Kind& kind, u64 index) {
  if (index < kind.first) kind.first = index;
  ++kind.count;
}

__device__ void gather(const Kind& mine, Kind* all) {
  if (mine.count == 0) return;
  atomicMin(&all->first, mine.first);
  atomicAdd(&all->count, mine.count);
}

// Doubles >= 0 are ordered as their bits are.
__device__ void gather_maximum(double mine, u64* all) {
  u64 bits = static_cast<u64>(__double_as_longlong(mine));
  for (int lane = 16; lane > 0; lane /= 2) {
    const u64 other = __shfl_xor_sync(0xFFFFFFFFu, bits, lane);
    if (other > bits) bits = other;
  }
  if (bits != 0 && threadIdx.x % 32 == 0) atomicMax(all, bits);
}

template <typename T>
__global__ void compare(const T* actual, const T* expected, i64 elements, double absolute,
                        double relative, int poisoned, Comparison* found) {
  const u64 none = ~0ull;
  Kind unwritten = {none, 0};
  Kind not_finite = {none, 0};
  Kind mismatch = {none, 0};
  double max_absolute = 0;
  double max_relative = 0;
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += stride) {
    const T x = actual[i];
    const T r = expected[i];
    const double value = number(x);
    const double reference = number(r);
    const double difference = fabs(value - reference);
    const bool finite = isfinite(value);
    if (finite && isfinite(reference)) {
      if (difference > max_absolute) max_absolute = difference;
      if (reference != 0) {
        const double ratio = difference / fabs(reference);
        if (ratio > max_relative) max_relative = ratio;
      }
    }
    if (finite && agrees(x, r, difference, absolute + relative * fabs(reference))) continue;
    if (poisoned && is_all_ones(x)) {
      note(unwritten, i);
    } else if (!finite) {
      note(not_finite, i);
    } else {
      note(mismatch, i);
    }
  }
  gather(unwritten, &found->unwritten);
  gather(not_finite, &found->not_finite);
  gather(mismatch, &found->mismatch);
  gather_maximum(max_absolute, &found->max_absolute_bits);
  gather_maximum(max_relative, &found->max_relative_bits);
}

// Depends on the buffer and the place, so that what is read from one buffer's guard zone and written
// to another's, or a few bytes further, does not look untouched.
__device__ u8 guard_byte(i64 offset, u32 salt) {
  u32 x = (static_cast<u32>(offset) ^ salt) * 0x9E3779B1u;
  x = (x ^ (x >> 15)) * 0x85EBCA77u;
  return static_cast<u8>(x >> 24);
}

// The i-th byte of the two zones, as an offset from the data.
__device__ i64 guard_offset(i64 i, i64 bytes, i64 before) {
  return i < before ? i - before : bytes + (i - before);
}

extern "C" __global__ void fill_guards(u8* data, i64 bytes, i64 before, i64 after, u32 salt) {
  for (i64 i = threadIdx.x; i < before + after; i += blockDim.x) {
    const i64 offset = guard_offset(i, bytes, before);
    data[offset] = guard_byte(offset, salt);
  }
}

extern "C" __global__ void check_guards(const u8* data, i64 bytes, i64 before, i64 after, u32 salt,
                                        ByteDifference* found) {
  for (i64 i = threadIdx.x; i < before + after; i += blockDim.x) {
    const i64 offset = guard_offset(i, bytes, before);
    if (data[offset] == guard_byte(offset, salt)) continue;
    atomicMin(&found->first, offset);
    atomicAdd(&found->count, 1ull);
  }
}

__device__ void compare_byte(const u8* left, const u8* right, i64 i, ByteDifference* found) {
  if (left[i] == right[i]) return;
  atomicMin(&found->first, i);
  atomicAdd(&found->count, 1ull);
}

extern "C" __global__ void compare_bytes(const u8* left, const u8* right, i64 bytes,
                                         ByteDifference* found) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const u64* left_words = reinterpret_cast<const u64*>(left);
  const u64* right_words = reinterpret_cast<const u64*>(right);
  for (i64 i = thread; i < bytes / 8; i += stride) {
    if (left_words[i] == right_words[i]) continue;
    for (i64 k = 8 * i; k < 8 * i + 8; ++k) compare_byte(left, right, k, found);
  }
  if (thread < bytes % 8) compare_byte(left, right, bytes / 8 * 8 + thread, found);
}

__device__ u64 timer() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

extern "C" __global__ void block(const volatile u32* flag, volatile u32* timed_out, u32 ticket,
                                 u64 timeout_ns) {
  const u64 start = timer();
  while (*flag < ticket) {
    if (timer() - start > timeout_ns) {
      *timed_out = ticket;
      __threadfence_system();
      return;
    }
  }
}

extern "C" __global__ void stamp(ClockStamp* stamps, u32 slots) {
  u32 sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  // One 16-byte store, so that two blocks of one multiprocessor do not mix theirs.
  const u64 cycles = clock64();
  const u64 nanoseconds = timer();
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(stamps + sm % slots), "l"(cycles),
               "l"(nanoseconds) : "memory");
}

extern "C" __global__ void spin(u64 nanoseconds, float* sink) {
  const u64 start = timer();
  float x = threadIdx.x;
  while (timer() - start < nanoseconds) {
#pragma unroll
    for (int i = 0; i < 256; ++i) x = x * 0.999f + 1.0f;
  }
  // Never true; keeps the arithmetic.
  if (x < 0) *sink = x;
}
)";

template <typename T>
void* address(T& argument) {
  return const_cast<void*>(static_cast<const void*>(&argument));
}

}  // namespace

const char* device_kernels_source() { return kSource; }

std::string compare_entry(ScalarType type) {
  std::string element(cuda_name(type));
  if (type == ScalarType::float16) element = "Half";
  if (type == ScalarType::bfloat16) element = "Bfloat";
  return "compare<" + element + ">";
}

DeviceKernels::DeviceKernels(const Driver& driver, Compiler& compiler,
                             const std::string& architecture, int sm_count)
    : driver_(driver), sm_count_(sm_count) {
  CompileRequest request;
  request.architecture = architecture;
  request.source.files.push_back({"device_kernels.cu", kSource});
  request.name_expressions.assign(kPlainEntries.begin(), kPlainEntries.end());
  for (const ScalarType type : kTypes) request.name_expressions.push_back(compare_entry(type));
  const Outcome<CompiledKernel> compiled = compiler.compile(request);
  if (!compiled) {
    throw UnavailableError(compiler.version() + " cannot compile the checking kernels:\n" +
                           compiled.failure().detail);
  }
  module_ = make_module(driver_, compiled->image);
  for (const CompiledEntry& entry : compiled->entries) {
    CUfunction function = nullptr;
    driver_.check(driver_.module_get_function(&function, module_.get(), entry.lowered_name.c_str()),
                  "cuModuleGetFunction");
    functions_[entry.name_expression] = function;
  }
}

template <typename... Arguments>
void DeviceKernels::launch(CUfunction function, int blocks, int threads, CUstream stream,
                           Arguments... arguments) const {
  std::array<void*, sizeof...(Arguments)> pointers = {address(arguments)...};
  driver_.check(driver_.launch_kernel(function, static_cast<unsigned>(blocks), 1, 1,
                                      static_cast<unsigned>(threads), 1, 1, 0, stream,
                                      pointers.data(), nullptr),
                "cuLaunchKernel of a checking kernel");
}

void DeviceKernels::fill_guards(CUstream stream, CUdeviceptr data, std::int64_t bytes,
                                std::int64_t bytes_after, std::uint32_t salt) const {
  launch(functions_.at("fill_guards"), 1, kThreads, stream, data, bytes, kGuardBytes, bytes_after,
         salt);
}

void DeviceKernels::check_guards(CUstream stream, CUdeviceptr data, std::int64_t bytes,
                                 std::int64_t bytes_after, std::uint32_t salt,
                                 CUdeviceptr found) const {
  launch(functions_.at("check_guards"), 1, kThreads, stream, data, bytes, kGuardBytes, bytes_after,
         salt, found);
}

void DeviceKernels::compare_bytes(CUstream stream, CUdeviceptr left, CUdeviceptr right,
                                  std::int64_t bytes, CUdeviceptr found) const {
  launch(functions_.at("compare_bytes"), 8 * sm_count_, kThreads, stream, left, right, bytes,
         found);
}

void DeviceKernels::compare(CUstream stream, ScalarType type, CUdeviceptr actual,
                            CUdeviceptr expected, std::int64_t elements, const CompareRule& rule,
                            CUdeviceptr found) const {
  launch(functions_.at(compare_entry(type)), 8 * sm_count_, kThreads, stream, actual, expected,
         elements, rule.absolute, rule.relative, rule.poisoned ? 1 : 0, found);
}

void DeviceKernels::block(CUstream stream, CUdeviceptr flag, CUdeviceptr timed_out,
                          std::uint32_t ticket, std::uint64_t timeout_ns) const {
  launch(functions_.at("block"), 1, 1, stream, flag, timed_out, ticket, timeout_ns);
}

void DeviceKernels::stamp(CUstream stream, CUdeviceptr stamps, std::uint32_t slots) const {
  launch(functions_.at("stamp"), sm_count_, 1, stream, stamps, slots);
}

void DeviceKernels::spin(CUstream stream, std::uint64_t nanoseconds, CUdeviceptr sink) const {
  launch(functions_.at("spin"), 2 * sm_count_, kThreads, stream, nanoseconds, sink);
}

}  // namespace smemtune::cuda
