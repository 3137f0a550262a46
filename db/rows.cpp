#include "db/rows.h"

#include <limits>

namespace smemtune::db {

std::string StoredResult::subject() const {
  return space + "/" + result.kernel + " " + key(result.problem) + " on " + device.name;
}

bool is_of_another_tuner(const StoredResult& stored) {
  return stored.origin && !stored.origin->format.starts_with("smemtune-");
}

void forget_untold(StoredResult& stored) {
  if (!is_of_another_tuner(stored)) return;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  stored.result.max_absolute_error = stored.result.max_relative_error = kUnknown;
}

}  // namespace smemtune::db
