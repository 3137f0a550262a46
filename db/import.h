#pragma once

#include "db/json_forms.h"
#include "db/recording.h"
#include "db/rows.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace smemtune::db {

/// Names for what a file does not say. Where a name is empty, the file must provide it.
struct ImportNames {
  std::string device = {};  ///< Used if the file names no device.
  // The following apply to files of other tuners:
  std::string space = {};   ///< If empty, the kernel's name is used.
  std::string kernel = {};  ///< Replaces the file's kernel name; T4 has none.
};

/// Whether the runs in our own exports and databases are stored as imported ones or as ours.
enum class Runs { imported, ours };

/// The result of reading a file.
struct ImportedFile {
  Origin origin;
  bool cut_off = false;  ///< True if the file is truncated; what comes before the cut was read.
  OddEntries odd;        ///< Entries that were left out.
};

/// Reads a Kernel Tuner cache, T4, KTT's output, one of our exports (`smemtune-best`,
/// `smemtune-results`) or one of our databases; all but the last may be gzip-compressed. Passes
/// each run to `take` in the order in which the runs began, a run with many results in parts. Each
/// run gets an origin, except that with Runs::ours the runs that we measured have none. Entries
/// that are not results, or whose measurement contradicts itself (contradictions.h), are left out;
/// a file that contains only such entries is refused. Of our exports only results of `only_space`
/// are read, unless it is empty. Throws InputError naming the file and the place, and StoreError
/// for a database that is not ours.
ImportedFile read_runs(const std::filesystem::path& file, const ImportNames& names, Runs runs,
                       const std::function<void(RunRecord&&)>& take,
                       const std::string& only_space = {});

/// An export whose results are not parsed yet.
struct ExportText {
  struct Entry {
    std::string at;  ///< Its place in the document, such as `/best/3`.
    bool is_best = false;
    std::string text;
  };

  Json head;             ///< All but the entries of the lists (JsonEntries).
  bool cut_off = false;  ///< True if the text is truncated.
  std::map<std::string, std::vector<Entry>> entries;  ///< The lists' entries by their space.
  std::string fault;  ///< Place and fault of the first entry that has no space; empty: none.
};

/// Throws InputError naming the file if it cannot be read or is not JSON.
ExportText read_export_text(const std::filesystem::path& file);

}  // namespace smemtune::db
