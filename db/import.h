#pragma once

#include "db/recording.h"
#include "db/result_store.h"

#include <filesystem>
#include <functional>
#include <string>

namespace smemtune::db {

/// Names of what a file does not say. Empty: what it says itself counts, and is needed.
struct ImportNames {
  std::string device = {};  ///< Where the file names none.
  // Of what other tuners wrote:
  std::string space = {};   ///< Without it the kernel's name.
  std::string kernel = {};  ///< In place of the file's; T4 has none.
};

/// Whose the runs of our own exports and databases are from now on.
enum class Runs { imported, ours };

/// What was read of a file.
struct ImportedFile {
  Origin origin;
  bool cut_off = false;  ///< It ends before its end; what came before was read.
  OddEntries odd;        ///< What was left out.
};

/// Reads a Kernel Tuner cache, T4, KTT's output, an export of ours (`smemtune-best`,
/// `smemtune-results`) or one of our databases; gzip-compressed too, but for the last. Hands over
/// each run that it holds, in the order they began, one with many results in parts. Each has an
/// origin, but where they are to be `ours` what runs of ours measured. Entries that are no results,
/// or whose measurement contradicts itself (contradictions.h), are left out; a file that has no
/// other is refused. Throws InputError naming the file and the place, StoreError for a database that
/// is none of ours.
ImportedFile read_runs(const std::filesystem::path& file, const ImportNames& names, Runs runs,
                       const std::function<void(RunRecord&&)>& take);

}  // namespace smemtune::db
