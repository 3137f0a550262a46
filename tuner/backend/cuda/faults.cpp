#include "tuner/backend/cuda/faults.h"

#include "tuner/core/reasons.h"

#include <algorithm>
#include <array>

namespace smemtune::cuda {
namespace {

struct Fault {
  int code;
  Reason reason;
};

// The errors for which driver_types.h says "the process must be terminated", as far as kernels
// cause them.
constexpr auto kFaults = std::to_array<Fault>({{226, {Status::runtime, "contained_fault"}},
                                               {700, {Status::runtime, "illegal_address"}},
                                               {702, {Status::runtime, "launch_timeout"}},
                                               {710, {Status::runtime, "assert"}},
                                               {714, {Status::runtime, "hardware_stack"}},
                                               {715, {Status::runtime, "illegal_instruction"}},
                                               {716, {Status::runtime, "misaligned_address"}},
                                               {717, {Status::runtime, "invalid_address_space"}},
                                               {718, {Status::runtime, "invalid_pc"}},
                                               {719, {Status::runtime, "launch_failure"}},
                                               {721, {Status::runtime, "tensor_memory_leak"}}});

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kOutOfResources = 701;

}  // namespace

std::optional<Failure> kernel_fault(int code, const std::string& message) {
  if (code == kOutOfMemory) {
    return failure({Status::runtime, "device_memory"}, message);
  }
  const auto* const fault = std::ranges::find(kFaults, code, &Fault::code);
  if (fault == kFaults.end()) return std::nullopt;
  return failure(fault->reason, message, true);
}

Failure refused_launch(int code, const std::string& message) {
  if (auto fault = kernel_fault(code, message)) return *fault;
  if (code == kOutOfResources) return failure({Status::runtime, "launch_resources"}, message);
  if (code == kInvalidValue) return failure({Status::runtime, "launch_configuration"}, message);
  return failure({Status::runtime, "launch_refused"}, message);
}

}  // namespace smemtune::cuda
