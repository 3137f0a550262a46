#include "db/sections.h"

#include "db/columns.h"
#include "db/result_sql.h"
#include "db/run_log.h"
#include "db/sqlite.h"
#include "db/stored_times.h"
#include "tuner/core/hash.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace smemtune::db {

namespace {

/// A result as the index knows it.
struct Entry {
  std::int64_t id = 0;
  std::int64_t first_id = 0;  ///< Id of the first result of its configuration.
  Result result;              ///< Status, reason, stage, and whether it was chosen.
};

/// A random sample of entries that come one by one: at most `most`, each as likely as any other,
/// and the same every time. It takes those whose ids have the smallest hashes. Taking every nth
/// would miss values of parameters that repeat at the same interval.
class RandomSample {
 public:
  explicit RandomSample(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  void add(const Entry& entry) {
    const std::uint64_t lot = random_bits(0, static_cast<std::uint64_t>(entry.first_id));
    if (lot > highest_) return;
    drawn_.push_back({lot, entry});
    if (drawn_.size() >= 2 * most_) leave_the_least();
  }

  std::vector<Entry> chosen() {
    if (drawn_.size() > most_) leave_the_least();
    std::vector<Entry> chosen;
    for (const Drawn& one : drawn_) chosen.push_back(one.entry);
    return chosen;
  }

 private:
  struct Drawn {
    std::uint64_t lot = 0;
    Entry entry;
  };

  void leave_the_least() {
    const auto last = drawn_.begin() + static_cast<std::ptrdiff_t>(most_ - 1);
    std::ranges::nth_element(drawn_, last, {}, &Drawn::lot);
    highest_ = last->lot;
    drawn_.resize(most_);
  }

  std::size_t most_;
  std::uint64_t highest_ = ~std::uint64_t{0};
  std::vector<Drawn> drawn_;
};

/// The runs that a query means.
struct MeantRuns {
  std::set<std::int64_t> ids;
  std::map<std::int64_t, double> started_unix;
};

MeantRuns read_meant_runs(const Connection& connection, const Query& query) {
  Statement select = select_runs(connection, query);
  MeantRuns runs;
  while (select.step()) {
    runs.ids.insert(select.integer("run_id"));
    runs.started_unix[select.integer("run_id")] = select.real("started_unix");
  }
  return runs;
}

/// A kernel as it is now, met with a problem on a device model.
struct Met {
  ResultGroup group;
  std::string kernel;
};

/// Reads one section after the other.
class SectionReader {
 public:
  SectionReader(const Connection& connection, const MeantRuns& runs, std::size_t most)
      : connection_(connection),
        runs_(runs),
        most_(most),
        entries_(connection, R"sql(
          SELECT configuration_id, id, status, stage, run_id, chosen,
                 CASE WHEN status = 'correct' THEN '' ELSE reason END AS reason
          FROM result
          WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
          ORDER BY configuration_id, id)sql"),
        default_ids_(connection, R"sql(
          SELECT id FROM result
          WHERE kernel_id = :kernel AND is_default = 1 AND status = 'correct'
            AND +model_id = :model AND +problem_id = :problem)sql"),
        result_(connection, result_sql()),
        choice_(most) {}

  void add(const Met& met) {
    bind_group(default_ids_, met.group);
    while (default_ids_.step()) defaults_.insert(default_ids_.integer("id"));
    bind_group(entries_, met.group);
    std::int64_t configuration = 0;
    std::optional<Entry> counting;
    while (entries_.step()) {
      const std::int64_t run = entries_.integer("run_id");
      if (!runs_.ids.contains(run)) continue;
      its_runs_.insert(run);
      Entry entry;
      entry.id = entry.first_id = entries_.integer("id");
      read_column(entries_, "status", entry.result.status);
      read_column(entries_, "stage", entry.result.stage);
      read_column(entries_, "chosen", entry.result.chosen);
      read_column(entries_, "reason", entry.result.reason);
      const std::int64_t its = entries_.integer("configuration_id");
      if (counting && its == configuration) {
        entry.first_id = counting->first_id;
        if (supersedes(entry.result, counting->result)) counting = std::move(entry);
        continue;
      }
      if (counting) count(met, *counting);
      configuration = its;
      counting = std::move(entry);
    }
    if (counting) count(met, *counting);
  }

  /// Returns the section of what was added since the last call.
  ProblemResults take() {
    std::map<std::int64_t, std::int64_t> in_order;  // Ids by the configuration's first.
    for (const Entry& entry : choice_.chosen()) in_order[entry.first_id] = entry.id;
    for (const Entry& entry : always_) in_order[entry.first_id] = entry.id;
    section_.chosen_by = chosen_by_runs(connection_, its_runs_);
    for (const auto& [first, id] : in_order) {
      if (result_.bind(":id", id).step()) section_.results.push_back(read_stored(result_));
      result_.reset();
    }
    if (!section_.results.empty()) {
      const StoredResult& newest = *std::ranges::max_element(
          section_.results, {}, [](const StoredResult& one) { return one.at_unix; });
      section_.device = newest.device;
      section_.model_id = newest.model_id;
      section_.problem = newest.result.problem;
    }
    choice_ = RandomSample(most_);
    always_.clear();
    defaults_.clear();
    its_runs_.clear();
    return std::exchange(section_, {});
  }

 private:
  void count(const Met& met, const Entry& entry) {
    ++section_.configurations;
    const Result& result = entry.result;
    if (result.timed()) ++section_.timed;
    if (result.failed()) {
      ++section_.failures[{met.kernel, to_text(result.status), result.reason}];
    }
    choice_.add(entry);
    const bool always =
        result.stage == Stage::final || result.chosen || defaults_.contains(entry.id);
    if (always) always_.push_back(entry);
  }

  const Connection& connection_;
  const MeantRuns& runs_;
  std::size_t most_;
  Statement entries_;
  Statement default_ids_;
  Statement result_;
  // The section that is being read.
  RandomSample choice_;
  std::vector<Entry> always_;
  std::set<std::int64_t> defaults_;
  std::set<std::int64_t> its_runs_;
  ProblemResults section_;
};

/// How long runs were at work on one problem, the time between them left out.
class WorkClock {
 public:
  WorkClock(const Connection& connection, const MeantRuns& runs)
      : runs_(runs),
        at_(connection, "SELECT at_unix, number FROM result WHERE id = :id"),
        before_(connection,
                "SELECT at_unix FROM result WHERE run_id = :run AND number = :number - 1") {}

  void start() { at_work_.clear(); }

  void met(std::int64_t run, std::int64_t result) {
    const auto [place, is_new] = at_work_.try_emplace(run);
    if (is_new) place->second.began_unix = began(run, result);
    place->second.last_result = result;
  }

  double seconds() {
    double sum = 0;
    for (const auto& [run, one] : at_work_) {
      if (at_.bind(":id", one.last_result).step()) {
        sum += std::max(0.0, at_.real("at_unix") - one.began_unix);
      }
      at_.reset();
    }
    return sum;
  }

 private:
  struct AtWork {
    double began_unix = 0;
    std::int64_t last_result = 0;
  };

  /// When what came before a run's first result was done: another problem's last, or its start.
  double began(std::int64_t run, std::int64_t result) {
    double began_unix = runs_.started_unix.at(run);
    if (at_.bind(":id", result).step() &&
        before_.bind(":run", run).bind(":number", at_.integer("number")).step()) {
      began_unix = std::max(began_unix, before_.real("at_unix"));
    }
    at_.reset();
    before_.reset();
    return began_unix;
  }

  const MeantRuns& runs_;
  Statement at_;
  Statement before_;
  std::map<std::int64_t, AtWork> at_work_;  ///< Keys are runs.
};

class ConvergenceReader {
 public:
  ConvergenceReader(const Connection& connection, const MeantRuns& runs)
      : runs_(runs), clock_(connection, runs), select_(connection, R"sql(
          SELECT id, status, stage, median_ms, run_id FROM result
          WHERE model_id = :model AND problem_id = :problem
            AND kernel_id IN (SELECT value FROM json_each(:kernels))
          ORDER BY id)sql") {}

  /// REQUIRES: `kernels` are of one section, and not empty.
  std::vector<ProblemResults::Step> read(std::span<const Met> kernels) {
    std::string ids = "[";
    for (const Met& met : kernels) {
      ids += (ids.size() > 1 ? "," : "") + std::to_string(met.group.kernel_id);
    }
    select_.bind(":model", kernels.front().group.model_id)
        .bind(":problem", kernels.front().group.problem_id)
        .bind(":kernels", ids + "]");
    clock_.start();
    std::vector<ProblemResults::Step> steps;
    ProblemResults::Step now;
    while (select_.step()) {
      const std::int64_t run = select_.integer("run_id");
      if (!runs_.ids.contains(run)) continue;
      clock_.met(run, select_.integer("id"));
      const std::string stage = select_.text("stage");
      if (stage == "final") continue;  // Timed again, not found.
      ++now.evaluations;
      if (stage == "none" || select_.is_null("median_ms")) continue;
      const double ms = select_.real("median_ms");
      if (now.best_ms > 0 && ms >= now.best_ms) continue;
      now.best_ms = ms;
      now.seconds = clock_.seconds();
      steps.push_back(now);
    }
    if (steps.empty()) return steps;
    now.seconds = clock_.seconds();
    steps.push_back(now);
    if (now.seconds > 0) return steps;
    // Other tuners' files may say no moments, or one for all results.
    for (ProblemResults::Step& step : steps) {
      step.seconds = std::numeric_limits<double>::quiet_NaN();
    }
    return steps;
  }

 private:
  const MeantRuns& runs_;
  WorkClock clock_;
  Statement select_;
};

/// In the order of the sections, those of one section beside each other.
std::vector<Met> read_met(const Connection& connection, const Query& query) {
  Statement select(connection, R"sql(
    SELECT device_model.id AS model_id, problem.id AS problem_id, kernel.id AS kernel_id,
           kernel.name AS kernel_name
    FROM space
    JOIN kernel ON kernel.space_id = space.id
    JOIN problem ON problem.space_id = space.id
    CROSS JOIN device_model
    LEFT JOIN current_kernel ON current_kernel.model_id = device_model.id
      AND current_kernel.space_id = space.id AND current_kernel.name = kernel.name
    WHERE device_model.id IN )sql" +
                                   asked_models_sql() +
                                   R"sql(
      AND (:space = '' OR space.name = :space)
      AND (:kernel = '' OR kernel.name = :kernel OR space.name || '/' || kernel.name = :kernel)
      AND (:problems IS NULL OR problem.id IN (SELECT value FROM json_each(:problems)))
      AND NOT ()sql" + stale_sql() +
                                   R"sql()
      AND EXISTS (SELECT 1 FROM result WHERE result.model_id = device_model.id
                  AND result.kernel_id = kernel.id AND result.problem_id = problem.id)
    ORDER BY device_model.kind = 'cpu', device_model.name, device_model.id, problem.key,
             kernel.id)sql");
  select.bind(":space", query.space)
      .bind(":kernel", query.kernel)
      .bind(":device", query.device)
      .bind(":source", query.source)
      .bind(":versions", versions_json(query))
      .bind(":problems", problem_ids(connection, query.problem));
  std::vector<Met> all;
  while (select.step()) {
    all.push_back({.group = read_group(select), .kernel = select.text("kernel_name")});
  }
  return all;
}

}  // namespace

bool supersedes(const Result& later, const Result& earlier) {
  if (is_transient(later)) return is_transient(earlier);
  return later.failed() || later.timed() || !earlier.timed();
}

std::vector<ProblemResults> read_sections(const Connection& connection, const Query& query,
                                          std::size_t most) {
  const MeantRuns runs = read_meant_runs(connection, query);
  const std::vector<Met> all = read_met(connection, query);
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (const Met& met : all) places.emplace(met.group.model_id, met.group.problem_id);
  if (!places.empty()) most = std::max(kLeastOfASection, most / places.size());
  SectionReader reader(connection, runs, most);
  ConvergenceReader convergence(connection, runs);
  std::vector<ProblemResults> sections;
  for (std::size_t begin = 0; begin < all.size();) {
    const auto place = [&](std::size_t i) {
      return std::pair(all[i].group.model_id, all[i].group.problem_id);
    };
    std::size_t end = begin;
    for (; end < all.size() && place(end) == place(begin); ++end) reader.add(all[end]);
    ProblemResults section = reader.take();
    if (!section.results.empty()) {
      section.convergence = convergence.read(std::span(all).subspan(begin, end - begin));
      sections.push_back(std::move(section));
    }
    begin = end;
  }
  return sections;
}

}  // namespace smemtune::db
