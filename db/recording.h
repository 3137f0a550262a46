#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/result.h"
#include "tuner/core/search_space.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::db {

/// Entries of a file that cannot be taken for results: each costs itself, and no other.
struct OddEntries {
  std::uint64_t count = 0;
  std::vector<std::string> faults;  ///< Which they are and why: of the first kMostListed.

  static constexpr std::size_t kMostListed = 20;

  void add(std::string fault) {
    ++count;
    if (faults.size() < kMostListed) faults.push_back(std::move(fault));
  }

  /// `; and so 4 other entries`, or nothing: to end a message that has the first.
  std::string others_text() const;
};

/// What a tuner wrote down of one kernel on one device for one problem.
struct Recording {
  struct Evaluation {
    Result result;
    /// What its tuner ranked it by: the mean of its samples, or our median. Of one that is timed.
    double time_ms = 0;
    double device_ms = 0;  ///< How long the device was kept; 0 where that is not known.
    double at_unix = -1;   ///< When; -1 where that is not known.
  };
  std::filesystem::path file;
  std::string format;  ///< `kernel-tuner`, `t4`, `ktt`, `smemtune-database`.
  std::string tool;    ///< What wrote it, as far as the file says.
  std::string device;
  std::string kernel;
  std::string problem;
  std::vector<Parameter> parameters;  ///< In the file's order, with the values that it lists.
  std::vector<Evaluation> evaluations;
  bool cut_off = false;  ///< The file ends before its end; what came before was read.
  OddEntries odd;        ///< What was left out.
};

/// The whole of a file, decompressed where it is compressed.
struct FileText {
  std::string text;
  bool cut_off = false;
};
/// Of a file that is no database, as it is and decompressed.
inline constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 30;

/// Throws InputError where it cannot be read or has more than kMostFileBytes.
FileText read_compressed(const std::filesystem::path& file);

/// Whether the file begins as SQLite's do.
bool is_database(const std::filesystem::path& file);

/// Reads a Kernel Tuner cache file (also one that a crash cut off), T4, KTT's output, or one of our
/// databases, each also gzip-compressed but for the last; which it is, the contents tell. A
/// database holds a recording for each kernel, device and problem. Throws InputError naming the
/// file and the place.
std::vector<Recording> read_recordings(const std::filesystem::path& file);

/// The space that was recorded: its configurations, whatever came of them.
SearchSpace recorded_space(const Recording& recording);

}  // namespace smemtune::db
