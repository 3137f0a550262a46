#pragma once

#include "tuner/core/error.h"
#include "tuner/core/outcome.h"

#include <optional>
#include <string>

namespace smemtune::cuda {

/// A call of the CUDA runtime or driver failed. The numbers of both are the same.
class CudaError : public UnavailableError {
 public:
  CudaError(int code, const std::string& call, const std::string& text)
      : UnavailableError(call + ": " + text + " (CUDA error " + std::to_string(code) + ")"),
        code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

/// What a kernel did, if `code` is the error of a kernel: an illegal address, a trap and the like,
/// after which the context is lost; or memory that ran out. Nullopt for errors of the machine.
std::optional<Failure> kernel_fault(int code, const std::string& message);

/// Why the driver refused a launch: too many resources, impossible dimensions. The context lives
/// on, unless `code` is an earlier kernel's fault.
Failure refused_launch(int code, const std::string& message);

}  // namespace smemtune::cuda
