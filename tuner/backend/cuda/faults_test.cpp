#include "tuner/backend/cuda/driver.h"

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

namespace smemtune::cuda {
namespace {

TEST(Faults, AreThoseOfTheRuntimesHeader) {
  const std::pair<cudaError_t, const char*> faults[] = {
      {cudaErrorIllegalAddress, "illegal_address"},
      {cudaErrorLaunchTimeout, "launch_timeout"},
      {cudaErrorAssert, "assert"},
      {cudaErrorHardwareStackError, "hardware_stack"},
      {cudaErrorIllegalInstruction, "illegal_instruction"},
      {cudaErrorMisalignedAddress, "misaligned_address"},
      {cudaErrorInvalidAddressSpace, "invalid_address_space"},
      {cudaErrorInvalidPc, "invalid_pc"},
      {cudaErrorLaunchFailure, "launch_failure"}};
  for (const auto& [code, reason] : faults) {
    const auto failure = kernel_fault(code, "sync: it failed");
    ASSERT_TRUE(failure) << reason;
    EXPECT_EQ(failure->status, Status::runtime);
    EXPECT_EQ(failure->reason, reason);
    EXPECT_EQ(failure->detail, "sync: it failed");
    EXPECT_TRUE(failure->context_lost) << reason;
  }
}

TEST(Faults, MemoryThatRanOutLosesNoContext) {
  const auto failure = kernel_fault(cudaErrorMemoryAllocation, "");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, "device_memory");
  EXPECT_FALSE(failure->context_lost);
}

TEST(Faults, ErrorsOfTheMachineAreNone) {
  for (const auto code : {cudaErrorInvalidValue, cudaErrorNoDevice, cudaErrorInsufficientDriver,
                          cudaErrorECCUncorrectable, cudaErrorUnknown}) {
    EXPECT_FALSE(kernel_fault(code, "")) << code;
  }
}

TEST(Faults, ARefusedLaunchSaysWhyAndKeepsTheContext) {
  EXPECT_EQ(refused_launch(cudaErrorLaunchOutOfResources, "").reason, "launch_resources");
  EXPECT_EQ(refused_launch(cudaErrorInvalidValue, "").reason, "launch_configuration");
  EXPECT_EQ(refused_launch(cudaErrorNotSupported, "").reason, "launch_refused");
  EXPECT_FALSE(refused_launch(cudaErrorLaunchOutOfResources, "").context_lost);
  EXPECT_TRUE(refused_launch(cudaErrorIllegalAddress, "").context_lost);
}

}  // namespace
}  // namespace smemtune::cuda
