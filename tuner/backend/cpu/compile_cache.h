#pragma once

#include "tuner/backend/compiler.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace smemtune::cpu {

/// Compiled kernels on disk, each in a file named after the hash of all that it was made from.
/// Damaged files are as good as missing; a disk that is full or read-only is no error.
class CompileCache {
 public:
  /// An empty folder name keeps nothing.
  explicit CompileCache(std::filesystem::path folder, std::uintmax_t max_bytes = 256u << 20);

  std::optional<CompiledKernel> find(const std::string& key) const;

  /// Removes the files that were not used for the longest time while there are more than
  /// `max_bytes`.
  void keep(const std::string& key, const CompiledKernel& kernel) const;

 private:
  std::filesystem::path file(const std::string& key) const;
  void remove_oldest() const;

  std::filesystem::path folder_;
  std::uintmax_t max_bytes_;
};

/// `${XDG_CACHE_HOME:-~/.cache}/smemtune/cpu`; empty when the environment says SMEMTUNE_CACHE=off.
std::filesystem::path default_cache_folder();

}  // namespace smemtune::cpu
