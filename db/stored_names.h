#pragma once

#include "db/result_store.h"
#include "db/sqlite.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// Names that are stored, as far as a query may mean them.
struct StoredNames {
  std::vector<std::string> devices;
  std::vector<std::string> uuids;
  std::vector<std::string> spaces;
  std::vector<std::string> runs;   ///< Whose ids begin as the query says.
  std::vector<std::string> files;  ///< That results were imported from.
  struct Kernel {
    std::string space;
    std::string name;
  };
  std::vector<Kernel> kernels;

  /// Adds those of a database, each kind only where `query` gives a name of it.
  void add(const Connection& connection, const Query& query);
};

/// Whether a query's source is one of the words `own`, `imported` and `all`, and no file.
bool is_source_word(const std::string& source);

/// Return `query` with each name in it replaced by the one of `names` that it means (names.h): a
/// device also by a board's UUID, a run by how its id begins, a file also by its name without its
/// folder or its extension. One that means none stays, and matches nothing. Throws InputError with
/// the candidates of one that may mean several.
Query exact_query(Query query, const StoredNames& names);

/// The same for the names of one database.
Query exact_query(const Connection& connection, const Query& query);

}  // namespace smemtune::db
