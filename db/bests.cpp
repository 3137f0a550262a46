#include "db/bests.h"

#include "db/columns.h"
#include "db/result_sql.h"
#include "db/rows.h"
#include "db/stored_names.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

/// A result that a query asks for.
struct Ranked {
  KernelBest entry;  ///< With its time.
  bool correct = false;
  bool is_transient = false;
};

Ranked read_ranked(const Statement& row) {
  const std::string status = row.text("status");
  return {.entry = {.group = read_group(row),
                    .kernel = row.text("kernel_name"),
                    .stale = row.integer("stale") != 0,
                    .timed = read_timed(row)},
          .correct = status == "correct",
          .is_transient = is_transient(parse_status(status), row.text("reason"))};
}

/// Returns the rows whose indices are the map's values, in their order.
template <typename Key>
std::vector<KernelBest> keep(std::vector<KernelBest> rows,
                             const std::map<Key, std::size_t>& chosen) {
  std::set<std::size_t> kept;
  for (const auto& [group, i] : chosen) kept.insert(i);
  std::vector<KernelBest> result;
  for (const std::size_t i : kept) result.push_back(std::move(rows[i]));
  return result;
}

/// Returns the best of each version of a kernel and problem among the results of some runs, the
/// newest first. `rows`: those results, by id.
std::vector<KernelBest> best_of_results(const std::vector<Ranked>& rows) {
  std::map<ResultGroup, std::map<std::int64_t, std::vector<RankedRow>>> kernels;
  std::map<std::int64_t, const Ranked*> by_id;
  for (const Ranked& row : rows) {
    const Timed& timed = row.entry.timed;
    by_id[timed.result_id] = &row;
    if (row.correct && timed.stage == Stage::none) continue;
    kernels[row.entry.group][timed.configuration_id].push_back(
        {.correct = row.correct, .timed = timed});
  }
  std::vector<KernelBest> bests;
  for (const auto& [kernel, configurations] : kernels) {
    TimingHistory history;
    for (const auto& [id, results] : configurations) {
      add_configuration(history, results, [&](const Timed& failed) {
        return by_id.at(failed.result_id)->is_transient;
      });
    }
    const auto best = best_of(history);
    if (best) bests.push_back(by_id.at(history.newest[*best].result_id)->entry);
  }
  std::ranges::sort(bests, std::greater(), [](const KernelBest& b) { return b.timed.result_id; });
  return bests;
}

/// Keeps of several versions of a kernel the current one, or the newest where that has no best.
std::vector<KernelBest> one_version_each(std::vector<KernelBest> rows) {
  const auto better = [](const KernelBest& one, const KernelBest& other) {
    if (one.stale != other.stale) return !one.stale;
    return one.timed.result_id > other.timed.result_id;
  };
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::size_t> chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [place, added] =
        chosen.try_emplace({rows[i].group.model_id, rows[i].group.problem_id, rows[i].kernel}, i);
    if (!added && better(rows[i], rows[place->second])) place->second = i;
  }
  return keep(std::move(rows), chosen);
}

constexpr std::size_t kMostCandidates = 64;

/// Returns the configurations that are the best most often, and the default ones, as a JSON array
/// of their ids.
std::string candidates(const Connection& connection, std::int64_t kernel_id,
                       const std::vector<const KernelBest*>& bests) {
  std::map<std::int64_t, int> wins;
  for (const KernelBest* best : bests) ++wins[best->timed.configuration_id];
  std::vector<std::pair<int, std::int64_t>> order;
  for (const auto& [id, count] : wins) order.emplace_back(-count, id);
  std::ranges::sort(order);
  if (order.size() > kMostCandidates) order.resize(kMostCandidates);
  std::set<std::int64_t> ids;
  for (const auto& [count, id] : order) ids.insert(id);
  Statement defaults(connection, R"sql(
    SELECT DISTINCT configuration_id FROM result
    WHERE kernel_id = :kernel AND is_default = 1 AND status = 'correct')sql");
  defaults.bind(":kernel", kernel_id);
  while (defaults.step()) ids.insert(defaults.integer("configuration_id"));
  std::string text;
  for (const std::int64_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return "[" + text + "]";
}

}  // namespace

std::vector<KernelBest> best_of_kernels(const Connection& connection, const Query& query) {
  // The table of bests holds those of all runs of ours, and of all imports.
  const bool of_all_runs = query.run.empty() && is_source_word(query.source);
  Statement statement(connection, of_all_runs ? bests_sql() : ranked_sql(query));
  bind_query(statement, connection, query);
  statement.bind(":versions", versions_json(query));
  std::vector<Ranked> rows;
  while (statement.step()) rows.push_back(read_ranked(statement));
  std::vector<KernelBest> bests;
  if (of_all_runs) {
    for (const Ranked& row : rows) bests.push_back(row.entry);
  } else {
    bests = best_of_results(rows);
  }
  return one_version_each(std::move(bests));
}

std::vector<KernelBest> best_of_problems(const Connection& connection,
                                         std::vector<KernelBest> bests) {
  using ModelAndProblem = std::pair<std::int64_t, std::int64_t>;
  std::map<ModelAndProblem, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < bests.size(); ++i) {
    groups[{bests[i].group.model_id, bests[i].group.problem_id}].push_back(i);
  }
  TimingHistoryReader reader(connection, {.finalists_only = true});
  // In parts, each of which SQLite answers from an index.
  Statement other_finals(connection, R"sql(
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem AND run_id > :run
      AND stage = 'final' AND status = 'correct'
    UNION ALL
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem AND run_id < :run
      AND stage = 'final' AND status = 'correct'
    UNION ALL
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND configuration_id = :configuration AND id <> :id
      AND stage = 'final' AND status = 'correct' LIMIT 1)sql");
  const auto was_in_finals_of_one_run = [&](const KernelBest& row) {
    if (row.timed.stage != Stage::final) return false;
    return !bind_group(other_finals, row.group)
                .bind(":run", row.timed.run_id)
                .bind(":configuration", row.timed.configuration_id)
                .bind(":id", row.timed.result_id)
                .has_row();
  };
  std::map<ModelAndProblem, std::size_t> chosen;
  for (auto& [group, members] : groups) {
    const auto stale = [&bests](std::size_t i) { return bests[i].stale; };
    if (!std::all_of(members.begin(), members.end(), stale)) {
      members.erase(std::remove_if(members.begin(), members.end(), stale), members.end());
    }
    // Where there are but one run's finals, and each kernel's best was in them once, it beat all of
    // the kernel's others there.
    const std::int64_t run = bests[members.front()].timed.run_id;
    const bool is_one_run = std::ranges::all_of(members, [&](std::size_t i) {
      return bests[i].timed.run_id == run && was_in_finals_of_one_run(bests[i]);
    });
    TimingHistory history;
    for (const std::size_t i : members) {
      history.newest.push_back(bests[i].timed);
      if (is_one_run || members.size() == 1) continue;
      TimingHistory its = reader.read(bests[i].group);
      std::ranges::move(its.finals, std::back_inserter(history.finals));
      history.choosing_runs.merge(its.choosing_runs);
    }
    if (is_one_run) history.finals = history.newest;
    if (const auto best = best_of(history)) chosen[group] = members[*best];
  }
  return keep(std::move(bests), chosen);
}

std::vector<KernelBest> best_first(const Connection& connection, std::vector<KernelBest> bests) {
  std::set<std::int64_t> best_of_all;
  for (const KernelBest& best : best_of_problems(connection, bests)) {
    best_of_all.insert(best.timed.result_id);
  }
  std::ranges::stable_sort(bests, {}, [&](const KernelBest& one) {
    return std::pair(!best_of_all.contains(one.timed.result_id), one.timed.median_ms);
  });
  return bests;
}

std::vector<std::int64_t> tied_with(const Connection& connection, const KernelBest& best,
                                    const std::vector<std::int64_t>& kernels) {
  if (!best.timed.chosen) return {};
  Statement select(connection, R"sql(
    SELECT id, configuration_id FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem AND run_id = :run
      AND stage = 'final' AND status = 'correct' AND tied)sql");
  std::vector<Timed> tied;
  for (const std::int64_t kernel : kernels) {
    std::set<std::int64_t> ids;
    std::string configurations;
    const ResultGroup group = {best.group.model_id, kernel, best.group.problem_id};
    bind_group(select, group).bind(":run", best.timed.run_id);
    while (select.step()) {
      ids.insert(select.integer("id"));
      configurations +=
          (configurations.empty() ? "" : ",") + std::to_string(select.integer("configuration_id"));
    }
    select.reset();
    if (ids.empty()) continue;
    const TimingHistory history =
        TimingHistoryReader(connection, {.ids = "[" + configurations + "]"}).read(group);
    std::ranges::copy_if(history.newest, std::back_inserter(tied),
                         [&](const Timed& timed) { return ids.contains(timed.result_id); });
  }
  std::ranges::sort(tied, {},
                    [](const Timed& timed) { return std::pair(timed.median_ms, timed.result_id); });
  std::vector<std::int64_t> ids;
  for (const Timed& timed : tied) ids.push_back(timed.result_id);
  return ids;
}

std::vector<std::int64_t> candidate_results(const Connection& connection,
                                            const std::vector<KernelBest>& bests,
                                            const std::string& run) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const KernelBest*>> kernels;
  for (const KernelBest& best : bests) {
    kernels[{best.group.model_id, best.group.kernel_id}].push_back(&best);
  }
  std::vector<std::int64_t> ids;
  for (const auto& [kernel, its] : kernels) {
    TimingHistoryReader reader(connection,
                               {.ids = candidates(connection, kernel.second, its), .run = run});
    for (const KernelBest* best : its) {
      const TimingHistory history = reader.read(best->group);
      for (const std::vector<Timed>& results : {history.newest, history.failed}) {
        for (const Timed& one : results) {
          if (one.configuration_id != best->timed.configuration_id) ids.push_back(one.result_id);
        }
      }
    }
  }
  return ids;
}

TimingHistoryReader::TimingHistoryReader(const Connection& connection, const HistoryFilter& of)
    : select_(connection, timing_history_sql(of)),
      failure_(connection, "SELECT status, reason FROM result WHERE id = :id") {
  if (!of.ids.empty()) select_.bind(":ids", of.ids);
  if (!of.run.empty()) select_.bind(":run", of.run);
}

TimingHistory TimingHistoryReader::read(const ResultGroup& group) {
  bind_group(select_, group);
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

}  // namespace smemtune::db
