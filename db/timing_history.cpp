#include "db/timing_history.h"

#include "db/columns.h"
#include "tuner/core/reasons.h"

namespace smemtune::db {

TimingHistoryReader::TimingHistoryReader(const Connection& connection, const HistoryFilter& of)
    : select_(connection, timing_history_sql(of)),
      failure_(connection, "SELECT status, reason FROM result WHERE id = :id") {
  if (!of.ids.empty()) select_.bind(":ids", of.ids);
  if (!of.run.empty()) select_.bind(":run", of.run);
}

TimingHistory TimingHistoryReader::read(std::int64_t model_id, std::int64_t kernel_id,
                                        std::int64_t problem_id) {
  select_.bind(":model", model_id).bind(":kernel", kernel_id).bind(":problem", problem_id);
  TimingHistory standings;
  std::vector<RankedRow> rows;
  // A failure's reason lies outside of the index.
  const auto add = [&] {
    add_configuration(standings, rows,
                      [this](const Timed& failed) { return passes(failed.result_id); });
    rows.clear();
  };
  while (select_.step()) {
    const RankedRow row = {.correct = select_.text("status") == "correct",
                           .timed = read_timed(select_)};
    if (!rows.empty() && rows.back().timed.configuration_id != row.timed.configuration_id) add();
    rows.push_back(row);
  }
  add();
  return standings;
}

bool TimingHistoryReader::passes(std::int64_t result_id) {
  failure_.bind(":id", result_id).step();
  const bool passes = is_transient(parse_status(failure_.text("status")), failure_.text("reason"));
  failure_.reset();
  return passes;
}

Timed read_timed(const Statement& row) {
  Stage stage = Stage::none;
  read_column(row, "stage", stage);
  return {.result_id = row.integer("id"),
          .run_id = row.integer("run_id"),
          .configuration_id = row.integer("configuration_id"),
          .stage = stage,
          .chosen = row.integer("chosen") != 0,
          .median_ms = row.real("median_ms")};
}

std::string timing_history_sql(const HistoryFilter& of) {
  std::string sql = R"sql(
    SELECT configuration_id, id, status, stage, median_ms, run_id, chosen FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND NOT (status = 'correct' AND stage = 'none'))sql";
  if (of.finalists_only) {
    sql += R"sql(
      AND configuration_id IN
          (SELECT configuration_id FROM result
           WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
             AND stage = 'final' AND status = 'correct'))sql";
  }
  if (!of.ids.empty()) sql += " AND configuration_id IN (SELECT value FROM json_each(:ids))";
  if (!of.run.empty()) {
    sql += " AND run_id IN (SELECT id FROM run WHERE substr(uid, 1, length(:run)) = :run)";
  }
  return sql + " ORDER BY configuration_id, id";
}

TimingHistory read_timing_history(const Connection& connection, std::int64_t model_id,
                                  std::int64_t kernel_id, std::int64_t problem_id,
                                  const HistoryFilter& of) {
  return TimingHistoryReader(connection, of).read(model_id, kernel_id, problem_id);
}

}  // namespace smemtune::db
