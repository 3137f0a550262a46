#include "tuner/backend/cuda/faults.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smemtune::cuda {
namespace {

struct Fault {
  int code = 0;
  const char* reason = "";
};

// Those that driver_types.h says "the process must be terminated" of, as far as a kernel causes
// them.
constexpr std::array<Fault, 11> kFaults = {{{226, "contained_fault"},
                                            {700, "illegal_address"},
                                            {702, "launch_timeout"},
                                            {710, "assert"},
                                            {714, "hardware_stack"},
                                            {715, "illegal_instruction"},
                                            {716, "misaligned_address"},
                                            {717, "invalid_address_space"},
                                            {718, "invalid_pc"},
                                            {719, "launch_failure"},
                                            {721, "tensor_memory_leak"}}};

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kOutOfResources = 701;

}  // namespace

std::optional<Failure> kernel_fault(int code, const std::string& message) {
  if (code == kOutOfMemory) {
    return Failure{.status = Status::runtime, .reason = "device_memory", .detail = message};
  }
  const auto* const fault = std::ranges::find(kFaults, code, &Fault::code);
  if (fault == kFaults.end()) return std::nullopt;
  return Failure{
      .status = Status::runtime, .reason = fault->reason, .detail = message, .context_lost = true};
}

Failure refused_launch(int code, const std::string& message) {
  if (auto fault = kernel_fault(code, message)) return *fault;
  std::string reason = "launch_refused";
  if (code == kOutOfResources) reason = "launch_resources";
  if (code == kInvalidValue) reason = "launch_configuration";
  return {.status = Status::runtime, .reason = reason, .detail = message};
}

}  // namespace smemtune::cuda
