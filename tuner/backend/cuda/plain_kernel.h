#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/core/kernel_binding.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// The bytes of a kernel's arguments by name: a buffer's address, the texture object over one, a
/// scalar's value, a tensor map.
using ArgumentBytes = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

/// A configuration's launches on the current device, and nothing else: none of this project's own
/// kernels checks or times anything. Throws CudaError for what the driver refuses.
class PlainKernel {
 public:
  PlainKernel(const CompiledKernel& compiled, std::vector<LaunchShape> launches,
              std::vector<Argument> arguments);

  const std::vector<LaunchShape>& launches() const { return launches_; }
  const std::vector<Argument>& arguments() const { return arguments_; }

  const Driver& driver() const { return driver_; }
  /// Returns the function of one of launches().
  CUfunction function(std::size_t launch) const { return functions_.at(launch); }

  /// Enqueues all launches in their order. A struct that is not given is made of its members. Throws
  /// InputError for an argument that is missing or has the wrong size.
  void launch(CUstream stream, const ArgumentBytes& arguments) const;

  /// Returns the address of an argument in constant memory. Throws InputError for any other
  /// argument.
  CUdeviceptr symbol(const std::string& argument) const;

  /// Returns the tensor map that the kernel takes for a buffer at `data`.
  std::vector<std::uint8_t> tensor_map_bytes(const std::string& name, CUdeviceptr data) const;

 private:
  const Argument& argument(const std::string& name) const;
  /// Returns the bytes of an argument of a turn. `own`: scalars that the turn changes, and structs
  /// that were made for it.
  const std::vector<std::uint8_t>& bytes_of(const std::string& name, ArgumentBytes& own,
                                            const ArgumentBytes& arguments) const;

  Driver driver_;
  Module module_;
  std::vector<LaunchShape> launches_;
  std::vector<Argument> arguments_;
  std::vector<CUfunction> functions_;  ///< One for each launch.
  std::map<std::string, CUdeviceptr> symbols_;
};

/// Makes the device current, fills the arguments' buffers by copying, launches once and waits, so
/// that a profiler or compute-sanitizer sees nothing but the kernel in this process. Buffers are as
/// large as the arguments; outputs and scratch are not initialized.
void launch_once(int device, const CompiledKernel& compiled,
                 const std::vector<LaunchShape>& launches, const std::vector<Argument>& arguments,
                 std::uint64_t seed);

/// Returns the bytes of an address, or of a texture object, as an argument.
std::vector<std::uint8_t> address_bytes(CUdeviceptr address);

/// One turn of a launch in the driver's form. Contains pointers into itself, so it can be neither
/// copied nor moved.
class LaunchConfig {
 public:
  LaunchConfig(const LaunchShape& launch, const Repetition& turn, CUstream stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  /// Returns true if every number fits into the driver's types.
  bool is_narrow() const { return is_narrow_; }
  const CUlaunchConfig& get() const { return config_; }

  /// Launches the kernel. Returns CUDA_ERROR_INVALID_VALUE if the numbers are too large.
  CUresult launch(const Driver& driver, CUfunction function, void** parameters) const;

 private:
  CUlaunchConfig config_ = {};
  std::array<CUlaunchAttribute, 3> attributes_ = {};
  bool is_narrow_ = true;
};

/// Sets how much of the memory shared with the L1 cache a function prefers as shared memory, in
/// percent; -1: the driver's choice.
CUresult set_carveout(const Driver& driver, CUfunction function, std::int64_t percent);

}  // namespace smemtune::cuda
