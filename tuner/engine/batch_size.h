#pragma once

#include <cstddef>

namespace smemtune {

/// How many configurations of one program to compile together. A program costs something by itself
/// (its source is parsed, a process started, something linked) and something for each entry: what
/// was compiled so far tells both, and batches grow until the program's own part is small.
class BatchSize {
 public:
  /// A module of so many entries took so long, in milliseconds.
  void add(std::size_t entries, double compile_ms);

  /// How many make the next batch, when so many configurations wait for so many workers; at
  /// least 1. No worker is left without work for a larger batch, and none takes much longer than
  /// kMaxBatch_ms.
  std::size_t next(std::size_t waiting, std::size_t workers) const;

  static constexpr double kMaxBatch_ms = 2000;
  static constexpr std::size_t kMaxEntries = 64;

 private:
  struct Mean {
    double entries = 0;
    double compile_ms = 0;
    double count = 0;
    void add(double more_entries, double more_ms);
  };

  std::size_t wanted() const;

  Mean singles_;
  Mean batches_;
};

}  // namespace smemtune
