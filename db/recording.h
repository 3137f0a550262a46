#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/result.h"
#include "tuner/core/search_space.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::db {

/// Entries of a file that are not valid results. Each is left out without affecting the others.
struct OddEntries {
  std::uint64_t count = 0;
  std::vector<std::string> faults;  ///< Position and fault of the first kMostListed entries.

  static constexpr std::size_t kMostListed = 20;

  void add(std::string fault) {
    ++count;
    if (faults.size() < kMostListed) faults.push_back(std::move(fault));
  }

  /// Returns text like `; and so 4 other entries`, or nothing, to append to a message about the
  /// first entry.
  std::string others_text() const;
};

/// A tuner's record of one kernel on one device for one problem.
struct Recording {
  struct Evaluation {
    Result result;
    /// The time that its tuner ranked it by: the mean of its samples, or the median for smemtune.
    /// Valid if the result is timed.
    double time_ms = 0;
    double device_ms = 0;  ///< How long the evaluation occupied the device; 0 if unknown.
    double at_unix = -1;   ///< When it was measured; -1 if unknown.
  };
  std::filesystem::path file;
  std::string format;  ///< `kernel-tuner`, `t4`, `ktt`, `smemtune-database`.
  std::string tool;    ///< The program that wrote the file, as far as the file says.
  std::string device;
  std::string kernel;
  std::string problem;
  /// Parameters in the file's order, with the values that it lists.
  std::vector<Parameter> parameters;
  std::vector<Evaluation> evaluations;
  bool cut_off = false;  ///< True if the file is truncated; what comes before the cut was read.
  OddEntries odd;        ///< Entries that were left out.
};

/// The whole contents of a file, decompressed if necessary.
struct FileText {
  std::string text;
  bool cut_off = false;
};
/// Size limit of a file other than a database, both as it is and decompressed.
inline constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 30;

/// Throws InputError if the file cannot be read or exceeds kMostFileBytes.
FileText read_compressed(const std::filesystem::path& file);

/// Returns true if the file begins as SQLite databases do.
bool is_database(const std::filesystem::path& file);

/// Reads a Kernel Tuner cache file (even if a crash truncated it), T4, KTT's output, or one of our
/// databases; all but the last may be gzip-compressed. The format is recognized by the contents. A
/// database yields a recording for each kernel, device and problem. Throws InputError naming the
/// file and the place.
std::vector<Recording> read_recordings(const std::filesystem::path& file);

/// Returns the space of the recorded configurations, whether or not they ran.
SearchSpace recorded_space(const Recording& recording);

/// Takes the evaluations out of what has been read so far.
using TakePart = std::function<void(Recording& so_far)>;

/// Reads the text of a Kernel Tuner cache file, of T4 or of KTT's output. `cut_off`: the text is
/// known to be truncated. With `take_part`, evaluations are passed on in parts, so that few are in
/// memory at a time; the values of each parameter are then only those that the file lists. Throws
/// InputError naming the file.
Recording read_recording_json(const std::filesystem::path& file, std::string text, bool cut_off,
                              const TakePart& take_part = {});

}  // namespace smemtune::db
