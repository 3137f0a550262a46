#pragma once

#include "db/layered_store.h"
#include "db/result_reader.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

/// The sources of every command that shows stored results: results measured here, then those that
/// others share, imported ones, and those that come with smemtune.
inline constexpr const char* kAllSources = "all";

/// Adds the options that select stored results, except --source.
void add_selection(CLI::App& app, db::Query& query);

/// Adds --no-shipped.
void add_shared(CLI::App& app, bool& no_shipped);

/// The stored results that a command answers from.
struct StoredChoice {
  std::filesystem::path database;
  db::Query query;
  bool no_shipped = false;
};

/// Adds all options that choose stored results. --source is kAllSources until it is given.
void add_choice(CLI::App& app, StoredChoice& choice);

/// Returns the shared files below the user's own database: `$SMEMTUNE_SHARED_DB`, and those that
/// come with smemtune, unless `no_shipped` is set or `$SMEMTUNE_SHIPPED` is `off`.
std::vector<db::SharedFile> shared_files(bool no_shipped);

/// Opens the user's own database and, if the source asks for them, the shared files. Files that
/// cannot be read are left out. Reports on stderr which these are, that a newer smemtune wrote the
/// database, or that there is none and the shared files answer. Throws StoreError.
db::LayeredStore open_results(const StoredChoice& choice);

/// Opens only the shared files, for questions about one space.
db::LayeredStore open_shared(bool no_shipped, const std::string& space);

/// Number of characters of a run's id that are shown.
inline constexpr std::size_t kShownIdCharacters = 8;

/// Throws InputError with the nearest stored name if `asked` names a space, device, run, kernel or
/// size of a problem that is not stored in `database`. REQUIRES: nothing matches `asked`.
void refuse_unknown(const std::filesystem::path& database, const db::Query& asked,
                    const db::ResultReader& store);

/// Returns the best results of the choice, of each kernel if so asked. Throws InputError if nothing
/// matches; says on stderr which are stale, and why.
std::vector<db::StoredResult> best_or_throw(const StoredChoice& choice,
                                            const db::ResultReader& store, bool per_kernel);

/// Sets the space of `query` to the name under which its results are stored. If `given` is a space
/// file, also sets the file and the current versions of its kernels, by which results are judged
/// stale. If the file cannot be read as a space, this is reported on stderr and the version
/// measured last counts.
void ask_for_space(db::Query& query, const std::string& given);

/// Fills StoredResult::stale_because of the stale ones among `results`, by comparing the space file
/// that their run was given with Query::space_file as it is now. Does nothing if no file was given.
void explain_stale(std::vector<db::StoredResult>& results, const db::Query& query,
                   const db::ResultReader& store);

}  // namespace smemtune::cli
