#pragma once

#include <cstddef>

namespace smemtune {

/// Chooses how many configurations of one program to compile together. A program has a fixed cost
/// (its source is parsed, a process started, something linked) and a cost for each entry. Both are
/// estimated from what was compiled so far, and batches grow until the fixed part is small.
class BatchSize {
 public:
  /// Records that a module of `entries` entries took `compile_ms` milliseconds to compile.
  void add(std::size_t entries, double compile_ms);

  /// Returns the size of the next batch, at least 1, when `waiting` configurations wait for
  /// `workers` workers. No worker is left without work for the sake of a larger batch, and no batch
  /// takes much longer than kMaxBatch_ms.
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
