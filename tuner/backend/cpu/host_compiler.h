#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cpu/compile_cache.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// The two shared objects of an image, from the same source: `fast` is timed; in `checked` each
/// access to memory is looked at.
struct Image {
  std::vector<std::uint8_t> fast;
  std::vector<std::uint8_t> checked;
};

std::vector<std::uint8_t> pack(const Image& image);

/// Throws UnavailableError for bytes that pack() did not write.
Image unpack(std::span<const std::uint8_t> bytes);

/// Compiles kernel templates for the CPU device with the machine's own C++ compiler: the first of
/// $CXX, c++, g++ and clang++ that works.
///
/// What the device does not have (inline PTX that the entry reaches, clusters, tensor cores) is a
/// Failure with status `constraints` and reason `cpu_unsupported`. Of the resources only
/// static_shared_bytes is known. `-D`, `-U`, `-use_fast_math` and `-fmad=false` are obeyed, with
/// one or two dashes; other options are about the GPU's code and ignored.
class HostCompiler final : public Compiler {
 public:
  /// Throws UnavailableError when no compiler works.
  explicit HostCompiler(const std::filesystem::path& cache_folder = default_cache_folder());

  std::string version() const override { return version_; }
  Outcome<CompiledKernel> compile(const CompileRequest& request) override;

 private:
  std::string key(const CompileRequest& request) const;

  std::vector<std::string> command_;  ///< The compiler and what $CXX has behind it.
  std::string version_;
  bool is_clang_ = false;
  CompileCache cache_;
};

}  // namespace smemtune::cpu
