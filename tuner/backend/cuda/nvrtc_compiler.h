#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/nvrtc.h"
#include "tuner/core/limits.h"

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
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

/// Returns the resources that ptxas reports for each entry (by lowered name) in a log written with
/// `--ptxas-options=-v`: registers, static shared memory, stack, spills, barriers and serialized
/// wgmma. The shared bytes do not contain the kilobyte that the system reserves from sm_90 on (the
/// module's .nv.shared section does). Constant bytes and launch bounds are not in the log: see
/// cubin.h.
std::map<std::string, Resources, std::less<>> ptxas_report(std::string_view log);

/// Returns a compiler's log as it may be stored and printed: printable_lines() in which a NUL is a
/// newline, at most `max_bytes` long. If text was cut off, a last line says so.
std::string readable_text(std::string_view text, std::size_t max_bytes = std::size_t{64} * 1024);

}  // namespace smemtune::cuda
