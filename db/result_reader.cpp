#include "db/result_reader.h"

#include <utility>

namespace smemtune::db {

std::vector<StoredResult> ResultReader::results(const Query& query, std::size_t limit) const {
  std::vector<StoredResult> all;
  each_result(query, limit, [&](StoredResult&& one) { all.push_back(std::move(one)); });
  return all;
}

}  // namespace smemtune::db
