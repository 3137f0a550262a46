#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/core/temporary_folder.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// The two shared objects of an image, from the same source: `fast` is timed; `checked` has each
/// memory access checked.
struct Image {
  std::vector<std::uint8_t> fast;
  std::vector<std::uint8_t> checked;
};

std::vector<std::uint8_t> pack(const Image& image);

/// Reads what pack() wrote. Throws UnavailableError for other bytes.
Image unpack(std::span<const std::uint8_t> bytes);

/// Compiles kernel templates for the CPU device with the machine's own C++ compiler: the first of
/// $CXX, c++, g++ and clang++ that works.
///
/// A feature that the device does not have (inline PTX that the entry reaches, clusters, tensor
/// cores) is a Failure with status `constraints` and reason `cpu_unsupported`. Of the resources
/// only static_shared_bytes is known. `-D`, `-U`, `-use_fast_math` and `-fmad=false` are obeyed,
/// with one or two dashes; other options concern the GPU's code and are ignored.
class HostCompiler final : public Compiler {
 public:
  /// Throws UnavailableError when no compiler works.
  HostCompiler();

  std::string version() const override { return version_; }

  /// Returns a hash of everything but the compiler's version that decides the code: its command,
  /// the headers that take CUDA's place and the processor that the code is made for.
  std::string sha256() const override { return sha256_; }

  Outcome<CompiledKernel> compile(const CompileRequest& request) override;

 private:
  std::optional<Failure> run(const std::vector<std::string>& options,
                             const std::filesystem::path& folder, std::string& log) const;
  std::vector<std::string> with_headers(std::vector<std::string> options);

  TemporaryFolder headers_;                      ///< The device's headers, also precompiled.
  std::map<std::string, std::size_t> requests_;  ///< By the folder of the precompiled headers.
  std::vector<std::string> command_;             ///< The compiler and the arguments in $CXX.
  std::string version_;
  std::string sha256_;
  bool is_clang_ = false;
};

}  // namespace smemtune::cpu
