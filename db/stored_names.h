#pragma once

#include "db/rows.h"
#include "db/sqlite.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// The stored names that a query may mean.
struct StoredNames {
  std::vector<std::string> devices;
  std::vector<std::string> cpus;  ///< Names of CPU devices.
  std::vector<std::string> uuids;
  std::vector<std::string> spaces;
  std::vector<std::string> runs;   ///< Ids that begin with the query's text.
  std::vector<std::string> files;  ///< Files that results were imported from.
  struct Kernel {
    std::string space;
    std::string name;
  };
  std::vector<Kernel> kernels;

  /// Adds the names in a database, of each kind only if `query` has a name of that kind.
  void add(const Connection& connection, const Query& query);
};

/// Returns true if a query's source is one of the words `own`, `imported` and `all` rather than a
/// file.
bool is_source_word(const std::string& source);

/// Returns `query` with each name replaced by the one of `names` that it means (names.h). A device
/// may also be given by a board's UUID or as `cpu`, a run by the beginning of its id, a file by its
/// name without folder or extension. A name that means nothing stays and matches nothing. Throws
/// InputError with the candidates if a name is ambiguous.
Query exact_query(Query query, const StoredNames& names);

/// Does the same with the names of one database.
Query exact_query(const Connection& connection, const Query& query);

}  // namespace smemtune::db
