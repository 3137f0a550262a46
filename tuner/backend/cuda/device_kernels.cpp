#include "tuner/backend/cuda/device_kernels.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace smemtune::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostRows = 65535;

/// Kernels that are compiled together. All are in one source, which has those of a program if its
/// name is defined. Several programs compile side by side in a third of the time that one takes.
struct ProgramOfKernels {
  const char* name;
  std::vector<std::string> entries;
};

const std::vector<ProgramOfKernels>& programs() {
  static const std::vector<ProgramOfKernels> all = {
      {"DRAW", {"draw"}},
      {"FILL", {"refill", "apply_mask", "gather_elements"}},
      {"CHECK", {"check_bytes"}},
      {"COMPARE", {"compare"}},
      {"TIME", {"block", "stamp", "spin"}}};
  return all;
}

// The kernels refer to the types by number.
static_assert(static_cast<int>(ScalarType::int8) == 0 &&
              static_cast<int>(ScalarType::uint64) == 7 &&
              static_cast<int>(ScalarType::float8_e4m3) == 8 &&
              static_cast<int>(ScalarType::float64) == 12);
static_assert(static_cast<int>(ElementRule::Kind::spread_integer) == 5);
static_assert(sizeof(ElementRule) == 80);

template <typename T>
void* address(T& argument) {
  return const_cast<void*>(static_cast<const void*>(&argument));
}

}  // namespace

std::vector<CompileRequest> device_kernels_requests(const std::string& architecture) {
  std::vector<CompileRequest> requests;
  for (const ProgramOfKernels& program : programs()) {
    CompileRequest& request = requests.emplace_back();
    request.architecture = architecture;
    request.source.files.push_back({"device_kernels.cu", device_kernels_source()});
    request.name_expressions = program.entries;
    request.options.push_back(std::string("-D") + program.name);
  }
  return requests;
}

std::vector<std::future<CompiledKernel>> compile_device_kernels(
    const std::shared_ptr<Compiler>& compiler, const std::string& architecture) {
  std::vector<std::future<CompiledKernel>> compiled;
  for (CompileRequest& request : device_kernels_requests(architecture)) {
    // The default policy compiles when the kernels are needed if no thread can be started.
    compiled.push_back(std::async([compiler, request = std::move(request)] {
      const Outcome<CompiledKernel> outcome = compiler->compile(request);
      if (!outcome) {
        throw UnavailableError(compiler->version() + " cannot compile the checking kernels:\n" +
                               outcome.failure().detail);
      }
      return *outcome;
    }));
  }
  return compiled;
}

DeviceKernels::DeviceKernels(const Driver& driver,
                             std::vector<std::future<CompiledKernel>> compiled, int sm_count)
    : driver_(driver), sm_count_(sm_count), compiled_(std::move(compiled)) {}

/// Returns the program that has the entry.
std::future<CompiledKernel>& DeviceKernels::program_of(const std::string& entry) const {
  const auto found = std::ranges::find_if(programs(), [&](const ProgramOfKernels& program) {
    return std::ranges::find(program.entries, entry) != program.entries.end();
  });
  return compiled_.at(static_cast<std::size_t>(found - programs().begin()));
}

CUfunction DeviceKernels::function(const std::string& entry) const {
  if (std::future<CompiledKernel>& program = program_of(entry); program.valid()) {
    const CompiledKernel compiled = program.get();
    modules_.push_back(make_module(driver_, compiled.image));
    for (const CompiledEntry& one : compiled.entries) {
      CUfunction function = nullptr;
      driver_.check(
          driver_.module_get_function(&function, modules_.back().get(), one.lowered_name.c_str()),
          "cuModuleGetFunction");
      functions_[one.name_expression] = function;
    }
  }
  return functions_.at(entry);
}

template <typename... Arguments>
void DeviceKernels::launch(const char* entry, Blocks blocks, int threads, CUstream stream,
                           Arguments... arguments) const {
  std::array<void*, sizeof...(Arguments)> pointers = {address(arguments)...};
  driver_.check(
      driver_.launch_kernel(function(entry), static_cast<unsigned>(blocks.x),
                            static_cast<unsigned>(blocks.y), 1, static_cast<unsigned>(threads), 1,
                            1, 0, stream, pointers.data(), nullptr),
      "cuLaunchKernel of a checking kernel");
}

/// Returns a row of blocks for each of `count` jobs, at most kMostRows, wide enough for the largest.
DeviceKernels::Blocks DeviceKernels::rows(int count, std::int64_t largest_bytes) const {
  constexpr std::int64_t kBytesPerBlock = 32 * kThreads;
  return {static_cast<int>(std::clamp<std::int64_t>(largest_bytes / kBytesPerBlock, 1,
                                                    std::int64_t{8} * sm_count_)),
          std::min(count, kMostRows)};
}

bool DeviceKernels::can_draw() const {
  const std::future<CompiledKernel>& program = program_of("draw");
  return !program.valid() || program.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void DeviceKernels::draw(CUstream stream, CUdeviceptr buffer, std::int64_t begin, std::int64_t end,
                         ScalarType type, const ElementRule& rule) const {
  launch("draw", {8 * sm_count_, 1}, kThreads, stream, buffer, begin, end, static_cast<int>(type),
         rule);
}

void DeviceKernels::refill(CUstream stream, CUdeviceptr refills, int count,
                           std::int64_t largest_bytes) const {
  for (int first = 0; first < count; first += kMostRows) {
    launch("refill", rows(count - first, largest_bytes), kThreads, stream,
           refills + static_cast<CUdeviceptr>(first) * sizeof(Refill), kGuardBytes);
  }
}

void DeviceKernels::apply_mask(CUstream stream, CUdeviceptr to, CUdeviceptr from,
                               std::int64_t bytes, std::uint64_t mask) const {
  launch("apply_mask", {8 * sm_count_, 1}, kThreads, stream, to, from, (bytes + 7) / 8, mask);
}

void DeviceKernels::gather(CUstream stream, CUdeviceptr to, CUdeviceptr from, CUdeviceptr at,
                           std::int64_t count, int element_bytes) const {
  launch("gather_elements", {sm_count_, 1}, kThreads, stream, to, from, at, count, element_bytes);
}

void DeviceKernels::check_bytes(CUstream stream, CUdeviceptr checks, int count,
                                std::int64_t largest_bytes, CUdeviceptr found) const {
  for (int first = 0; first < count; first += kMostRows) {
    launch("check_bytes", rows(count - first, largest_bytes), kThreads, stream,
           checks + static_cast<CUdeviceptr>(first) * sizeof(ByteCheck), kGuardBytes,
           found + static_cast<CUdeviceptr>(first) * sizeof(ByteDifference));
  }
}

void DeviceKernels::compare(CUstream stream, ScalarType type, CUdeviceptr actual,
                            CUdeviceptr expected, std::uint64_t mask, std::int64_t elements,
                            const CompareRule& rule, CUdeviceptr found) const {
  launch("compare", {8 * sm_count_, 1}, kThreads, stream, actual, expected, mask, elements,
         static_cast<int>(type), rule.absolute, rule.relative, rule.ulps, rule.digits,
         rule.least_exponent, rule.poison, rule.nan_agrees, found);
}

void DeviceKernels::block(CUstream stream, CUdeviceptr flag, CUdeviceptr timed_out,
                          std::uint32_t ticket, std::uint64_t timeout_ns) const {
  launch("block", {1, 1}, 1, stream, flag, timed_out, ticket, timeout_ns);
}

void DeviceKernels::stamp(CUstream stream, CUdeviceptr stamps, std::uint32_t slots) const {
  launch("stamp", {sm_count_, 1}, 1, stream, stamps, slots);
}

void DeviceKernels::spin(CUstream stream, std::uint64_t nanoseconds, CUdeviceptr sink) const {
  launch("spin", {2 * sm_count_, 1}, kThreads, stream, nanoseconds, sink);
}

}  // namespace smemtune::cuda
