#pragma once

#include "db/layered_store.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

/// A query's source: what is measured here and, below it, what others share.
inline constexpr const char* kOwnAndShared = "own,shared";

/// Adds --no-shipped, and --source for commands that read shared results as well.
void add_shared(CLI::App& app, bool& no_shipped);
void add_layered_source(CLI::App& app, std::string& source);

/// What lies below one's own database: `$SMEMTUNE_SHARED_DB`, and what comes with smemtune, unless
/// `no_shipped` or `$SMEMTUNE_SHIPPED` is `off`.
std::vector<db::SharedFile> shared_files(bool no_shipped);

/// One's own database and, where `source` means them, the shared files. Files that cannot be read
/// are left out, which stderr says, as it does where a newer smemtune wrote the database, or where
/// there is none and the shared files answer. Throws StoreError.
db::LayeredStore open_results(const std::filesystem::path& database, const std::string& source,
                              bool no_shipped);

/// Only the shared files.
db::LayeredStore open_shared(bool no_shipped);

}  // namespace smemtune::cli
