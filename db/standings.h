#pragma once

#include "db/ranking.h"
#include "db/sqlite.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::db {

/// What is stored of one kernel's configurations for a problem on a device model.
struct Standings {
  std::vector<Timed> newest;  ///< One of each configuration that stands.
  std::vector<Timed> finals;  ///< Every final of those.
  std::vector<Timed> failed;  ///< The newest result of each that does not run, without a time.
};

/// Which results count.
struct StandingsOf {
  bool finalists_only = false;  ///< Of configurations that were ever in finals.
  std::string ids = {};         ///< Of these configurations, a JSON array; empty: all.
  std::string run = {};         ///< Of runs whose id begins so.
};

/// Reads them. A configuration stands where the newest of its results is a time, those aside that
/// say nothing lasting of it: a failure that may pass, and one that was right and not timed.
/// REQUIRES: the connection outlives it.
class StandingsReader {
 public:
  explicit StandingsReader(const Connection& connection, const StandingsOf& of = {});

  Standings read(std::int64_t model_id, std::int64_t kernel_id, std::int64_t problem_id);

 private:
  struct Row;
  void add(const std::vector<Row>& results, Standings& standings);
  bool passes(std::int64_t result_id);

  Statement select_;
  Statement failure_;
};

/// Of one only.
Standings read_standings(const Connection& connection, std::int64_t model_id,
                         std::int64_t kernel_id, std::int64_t problem_id,
                         const StandingsOf& of = {});

/// The query for it: `result_by_configuration` holds all that is read of most results.
std::string standings_sql(const StandingsOf& of = {});

/// A row with the columns of `result` that a time has.
Timed read_timed(const Statement& row);

}  // namespace smemtune::db
