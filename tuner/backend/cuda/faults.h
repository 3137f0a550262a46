#pragma once

#include "tuner/core/error.h"
#include "tuner/core/outcome.h"

#include <optional>
#include <string>

namespace smemtune::cuda {

/// The error of a call of the CUDA runtime or driver. Both number their errors alike.
class CudaError : public UnavailableError {
 public:
  CudaError(int code, const std::string& call, const std::string& text)
      : UnavailableError(call + ": " + text + " (CUDA error " + std::to_string(code) + ")"),
        code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

/// Returns the failure of a kernel if `code` is an error that a kernel caused: an illegal address,
/// a trap and the like, after which the context is lost; or memory that ran out. Nullopt for errors
/// of the machine.
std::optional<Failure> kernel_fault(int code, const std::string& message);

/// Returns the failure of a launch that the driver refused: too many resources, impossible
/// dimensions. The context remains usable, unless `code` is an earlier kernel's fault.
Failure refused_launch(int code, const std::string& message);

}  // namespace smemtune::cuda
