#pragma once

#include "tuner/backend/compiler.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// Caches what another compiler made, in files named by a hash of the request (the sources with
/// everything they include, name expressions, options and architecture) and of the compiler (its
/// version and its own hash). A module that serves several requests is one file with several names.
/// A module for which the compiler read further files, headers of a toolkit or of the system, is
/// compiled again when these have changed. Several processes of one user may share the folder. The
/// cached code will be run, so a folder or file that another user owns or may write to is not used.
/// A file that is damaged or too large is compiled again; an error of reading or writing costs the
/// cache, never the result.
class CachedCompiler final : public Compiler {
 public:
  /// `max_bytes`: the oldest files are removed when the folder holds more.
  CachedCompiler(std::unique_ptr<Compiler> compiler, std::filesystem::path folder,
                 std::uint64_t max_bytes = std::uint64_t{1} << 30);

  std::string version() const override { return compiler_->version(); }
  std::string sha256() const override { return compiler_->sha256(); }
  Outcome<CompiledKernel> compile(const CompileRequest& request) override;
  CompiledTogether compile_together(std::span<const CompileRequest> requests) override;

 private:
  std::filesystem::path file(const CompileRequest& request) const;
  std::optional<CompiledKernel> find(const CompileRequest& request);
  void keep(const std::vector<std::filesystem::path>& files, const CompiledKernel& kernel);
  void trim() const;

  std::unique_ptr<Compiler> compiler_;
  std::filesystem::path folder_;
  std::uint64_t max_bytes_;
  std::uint64_t written_since_trim_;
  std::map<std::string, std::string>
      /// States of the files that modules were made from, as first seen by this process; by path.
      states_;
};

/// Returns `$SMEMTUNE_CACHE`, else `$SMEMTUNE_SCRATCH/smemtune-<user id>`, else
/// `${XDG_CACHE_HOME:-~/.cache}/smemtune`; an empty path when SMEMTUNE_CACHE is `off`.
std::filesystem::path default_cache_folder();

}  // namespace smemtune
