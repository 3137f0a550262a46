#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/nvrtc.h"

#include <mutex>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Compiles with NVRTC for a GPU, which need not be in this machine. NVRTC aborts the process when
/// it runs out of memory, so this class belongs in a worker.
class NvrtcCompiler final : public Compiler {
 public:
  /// Finds out which options this NVRTC knows, and that it can compile at all. Removes the
  /// environment variables NVRTC_*, which change what is compiled. Throws UnavailableError.
  explicit NvrtcCompiler(Nvrtc nvrtc = open_nvrtc());

  std::string version() const override;
  std::string sha256() const override { return library_sha256_; }

  /// Adds options of its own: the architecture, `--ptxas-options=-v`, C++17 unless the request has
  /// a `-std`, no compile cache, no search of the working folder. Several threads may compile.
  Outcome<CompiledKernel> compile(const CompileRequest& request) override;

  const Nvrtc& nvrtc() const { return nvrtc_; }

 private:
  void require_architecture(const std::string& architecture) const;
  void find_options();
  std::vector<std::string> options_for(const CompileRequest& request, bool has_builtins) const;
  Failure failure_of(nvrtcResult code, const std::string& log, const CompileRequest& request) const;

  Nvrtc nvrtc_;
  std::string library_sha256_;
  std::vector<int> architectures_;  ///< Compute capabilities: 75, 90, ...
  std::once_flag has_options_;
  std::vector<std::string> own_options_;  ///< Options for every compilation.
  std::vector<ReadPlace> read_;           ///< The folder of NVRTC's headers.
};

}  // namespace smemtune::cuda
