#include "db/run_log.h"

#include "db/bests.h"
#include "db/columns.h"
#include "db/process_name.h"
#include "db/result_sql.h"
#include "db/rows.h"
#include "tuner/core/fields.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace smemtune::db {

namespace {

/// After this many failures that may be transient, a configuration is not tried again.
constexpr int kMaxAttempts = 2;

}  // namespace

RunLog::RunLog(const Connection& connection, const Run& run)
    : connection_(connection),
      run_(run),
      find_(connection, find_sql()),
      subjects_(connection, /*ours=*/true),
      results_(connection) {
  if (run.device.kind == DeviceKind::gpu && run.device.uuid.empty()) {
    throw InputError("the results of a dry run for " + run.device.name +
                     ", which is not here, are not stored");
  }
  Transaction transaction(connection_);
  model_id_ = store_model(connection_, run.device, /*imported=*/false);
  space_id_ = store_space(connection_, run.space);
  run_id_ = store_run(connection_, run, space_id_, environment_of(run.device.uuid),
                      /*origin_id=*/0, sign_of_life(unix_now(), ""));
  transaction.commit();
}

void RunLog::begin_attempt(const ResultKey& of) {
  write([&] {
    const Subject subject = store_subject(of);
    Statement& insert = prepared(R"sql(
      INSERT INTO attempt (run_id, model_id, kernel_id, problem_id, configuration_id, started_unix)
      VALUES (:run, :model, :kernel, :problem, :configuration, :now))sql");
    bind_subject(insert, subject).bind(":run", run_id_).bind(":now", unix_now()).run();
  });
}

void RunLog::record(const std::string& kernel_hash, const Result& result) {
  write([&] {
    const Subject subject = store_subject(key_of(kernel_hash, result));
    count(subject, result);
    const std::int64_t result_id = store_result(subject, result);
    // A lasting result also closes the attempts of earlier runs that died.
    end_attempts(subject, "recorded", !is_transient(result));
    update_best(subject, result, result_id);
  });
}

int RunLog::lost_attempts(const ResultKey& of) {
  const std::optional<std::int64_t> id = kernel_id(of);
  return id ? lost_attempts(*id, of) : 0;
}

void RunLog::close_attempts(const ResultKey& of) {
  write([&] { end_attempts(store_subject(of), "abandoned", true); });
}

void RunLog::in_transaction(const std::function<void()>& writes) {
  struct Mark {
    bool& is_set;
    explicit Mark(bool& set) : is_set(set) { is_set = true; }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark() { is_set = false; }
  };
  Transaction transaction(connection_);
  const Mark mark(in_transaction_);
  try {
    writes();
    transaction.commit();
  } catch (...) {
    // The rows that these stand for were rolled back.
    made_current_.clear();
    environments_.clear();
    throw;
  }
}

void RunLog::write(const std::function<void()>& writes) {
  if (in_transaction_) {
    writes();
  } else {
    in_transaction(writes);
  }
}

Statement& RunLog::prepared(const char* sql) {
  const auto found = statements_.try_emplace(sql, connection_, sql).first;
  found->second.reset();  // A failed read may have left the statement half-way.
  return found->second;
}

std::optional<std::int64_t> RunLog::kernel_id(const ResultKey& of) {
  Statement& select = prepared(R"sql(
    SELECT id FROM kernel WHERE space_id = :space AND name = :name AND hash = :hash)sql");
  select.bind(":space", space_id_).bind(":name", of.kernel).bind(":hash", of.kernel_hash);
  const std::int64_t id = select.id();
  return id == 0 ? std::nullopt : std::optional(id);
}

std::optional<Result> RunLog::find(const ResultKey& of) {
  const std::optional<std::int64_t> id = kernel_id(of);
  if (!id) return std::nullopt;
  make_current(*id, of.kernel);

  find_.reset();  // A failed read may have left the statement half-way.
  find_.bind(":model", model_id_)
      .bind(":kernel_id", *id)
      .bind(":space_id", space_id_)
      .bind(":kernel_name", of.kernel)
      .bind(":problem_key", key(of.problem))
      .bind(":configuration_key", key(of.configuration));
  std::vector<Result> newest;
  while (find_.step()) newest.push_back(read_result(find_));
  const int lost = lost_attempts(*id, of);
  const bool lasts = !newest.empty() && !is_transient(newest.front());
  if (lasts && lost < kMaxAttempts) return newest.front();
  const auto failed = static_cast<int>(
      std::ranges::find_if_not(newest, [](const Result& result) { return is_transient(result); }) -
      newest.begin());
  if (lost + failed < kMaxAttempts) return std::nullopt;
  if (lost == 0) return newest.front();
  Result quarantined;
  quarantined.kernel = of.kernel;
  quarantined.problem = of.problem;
  quarantined.configuration = of.configuration;
  quarantined.status = kQuarantined.status();
  quarantined.reason = kQuarantined.word();
  quarantined.detail =
      std::to_string(lost) + " attempts were cut off when the machine went down (lost)";
  if (failed > 0) {
    quarantined.detail += ", " + std::to_string(failed) + " with " + newest.front().reason;
  }
  quarantined.detail += "; --retry-quarantined tries this configuration again";
  return quarantined;
}

std::vector<Configuration> RunLog::known(const ResultKey& of) {
  const std::optional<std::int64_t> id = kernel_id(of);
  if (!id) return {};
  Statement& select = prepared(R"sql(
    SELECT configuration.values_json FROM result
    JOIN configuration ON configuration.id = result.configuration_id
    WHERE result.model_id = :model AND result.kernel_id = :kernel AND result.problem_id =
        (SELECT id FROM problem WHERE space_id = :space AND key = :problem)
    GROUP BY result.configuration_id ORDER BY MIN(result.id))sql");
  select.bind(":model", model_id_)
      .bind(":kernel", *id)
      .bind(":space", space_id_)
      .bind(":problem", key(of.problem));
  std::vector<Configuration> known;
  while (select.step()) known.push_back(bindings_from_json(select, "values_json"));
  return known;
}

Bests RunLog::bests(const Problem& problem, const std::map<std::string, std::string>& hashes) {
  Query query = {.space = run_.space, .problem = key(problem), .exact = true};
  query.versions.emplace();
  for (const auto& [kernel, hash] : hashes) query.versions->push_back(version_key(kernel, hash));
  std::vector<KernelBest> bests = best_of_kernels(connection_, query);
  Statement& select = prepared("SELECT id FROM problem WHERE space_id = :space AND key = :key");
  const std::int64_t problem_id = select.bind(":space", space_id_).bind(":key", key(problem)).id();
  std::erase_if(bests, [&](const KernelBest& best) {
    return best.group.model_id != model_id_ || best.group.problem_id != problem_id || best.stale ||
           !hashes.contains(best.kernel);
  });
  if (bests.empty()) return {};
  bests = best_first(connection_, std::move(bests));

  std::vector<std::int64_t> kernel_ids;
  for (const KernelBest& one : bests) kernel_ids.push_back(one.group.kernel_id);
  Statement results(connection_, result_sql());
  results.bind(":versions", versions_json(query));
  const auto read = [&](std::int64_t id) {
    results.bind(":id", id).step();
    Result result = read_stored(results).result;
    results.reset();
    return result;
  };
  Bests found;
  for (const KernelBest& one : bests) found.kernels.push_back(read(one.timed.result_id));
  for (const std::int64_t id : tied_with(connection_, bests.front(), kernel_ids)) {
    found.tied.push_back(read(id));
  }
  return found;
}

Subject RunLog::store_subject(const ResultKey& of) {
  const Subject subject = subjects_.store(model_id_, space_id_, of.kernel_hash, of.kernel,
                                          of.problem, of.configuration);
  store_current(subject.group.kernel_id, of.kernel);
  return subject;
}

std::int64_t RunLog::environment_of(const std::string& unit) {
  const std::string& uuid = unit.empty() ? run_.device.uuid : unit;
  const auto [found, is_new] = environments_.try_emplace(uuid, 0);
  if (is_new) {
    found->second = store_environment(connection_, model_id_, uuid, run_);
  }
  return found->second;
}

void RunLog::count(const Subject& subject, const Result& result) {
  Statement& last = prepared(R"sql(
    SELECT status FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND configuration_id = :configuration AND run_id = :run
    ORDER BY id DESC LIMIT 1)sql");
  bind_subject(last, subject).bind(":run", run_id_);
  const bool is_known = last.step();
  const bool was_correct = is_known && last.text("status") == "correct";
  last.reset();
  prepared(R"sql(
    INSERT INTO run_count (run_id, results, correct) VALUES (:run, :results, :correct)
    ON CONFLICT (run_id) DO UPDATE SET
      results = results + excluded.results, correct = correct + excluded.correct)sql")
      .bind(":run", run_id_)
      .bind(":results", is_known ? 0 : 1)
      .bind(":correct", (result.status == Status::correct ? 1 : 0) - (was_correct ? 1 : 0))
      .run();
}

std::int64_t RunLog::store_result(const Subject& subject, const Result& result) {
  Statement& last = prepared("SELECT max(number) AS id FROM result WHERE run_id = :run");
  const std::int64_t number = last.bind(":run", run_id_).id();
  return results_.store({.run_id = run_id_,
                         .number = number + 1,
                         .environment_id = environment_of(result.unit),
                         .subject = subject,
                         .at_unix = unix_now()},
                        result);
}

void RunLog::end_attempts(const Subject& subject, const char* outcome, bool lost_too) {
  Statement& update = prepared(R"sql(
    UPDATE attempt SET outcome = :outcome
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND configuration_id = :configuration AND outcome IS NULL
      AND (run_id = :run OR :lost_too))sql");
  bind_subject(update, subject)
      .bind(":outcome", outcome)
      .bind(":run", run_id_)
      .bind(":lost_too", lost_too)
      .run();
}

void RunLog::update_best(const Subject& subject, const Result& result, std::int64_t result_id) {
  if (result.status == Status::correct ? !result.timed() : is_transient(result)) return;
  Statement& select = prepared(R"sql(
    SELECT configuration_id, median_ms FROM best
    WHERE model_id = :model AND problem_id = :problem AND kernel_id = :kernel)sql");
  const bool any = bind_group(select, subject.group).step();
  const bool its_own = any && select.integer("configuration_id") == subject.configuration_id;
  const double best_ms = any ? select.real("median_ms") : 0;
  select.reset();

  // A configuration that was in the finals affects others too: it beat them, or would have without
  // its failure.
  if (its_own || result.stage == Stage::final || was_in_finals(subject)) {
    return choose_best(connection_, subject.group);
  }
  // The common case, a result of screening, does not require reading the other results.
  if (!result.timed() || (any && best_ms <= result.measurement.median_ms)) return;
  Statement& finals = prepared(R"sql(
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem AND run_id = :run
      AND stage = 'final' AND status = 'correct' LIMIT 1)sql");
  if (bind_group(finals, subject.group).bind(":run", run_id_).has_row()) {
    choose_best(connection_, subject.group);
  } else {
    keep_best(connection_, result_id);
  }
}

bool RunLog::was_in_finals(const Subject& subject) {
  Statement& select = prepared(R"sql(
    SELECT 1 FROM result WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND configuration_id = :configuration AND stage = 'final' LIMIT 1)sql");
  return bind_subject(select, subject).has_row();
}

void RunLog::make_current(std::int64_t kernel_id, const std::string& kernel) {
  if (!made_current_.insert(kernel_id).second) return;
  write([&] { store_current(kernel_id, kernel); });
}

void RunLog::store_current(std::int64_t kernel_id, const std::string& kernel) {
  prepared(R"sql(
    INSERT INTO current_kernel (model_id, space_id, name, kernel_id)
    VALUES (:model, :space, :name, :kernel)
    ON CONFLICT (model_id, space_id, name) DO UPDATE SET kernel_id = excluded.kernel_id
      WHERE kernel_id <> excluded.kernel_id)sql")
      .bind(":model", model_id_)
      .bind(":space", space_id_)
      .bind(":name", kernel)
      .bind(":kernel", kernel_id)
      .run();
}

int RunLog::lost_attempts(std::int64_t kernel_id, const ResultKey& of) {
  Statement& select = prepared(R"sql(
    SELECT run.process, attempt.started_unix FROM attempt JOIN run ON run.id = attempt.run_id
    WHERE attempt.model_id = :model AND attempt.kernel_id = :kernel
      AND attempt.problem_id =
          (SELECT id FROM problem WHERE space_id = :space AND key = :problem)
      AND attempt.configuration_id =
          (SELECT id FROM configuration
           WHERE space_id = :space AND kernel_name = :name AND key = :configuration)
      AND attempt.outcome IS NULL AND attempt.run_id <> :run)sql");
  select.bind(":model", model_id_)
      .bind(":kernel", kernel_id)
      .bind(":space", space_id_)
      .bind(":problem", key(of.problem))
      .bind(":name", of.kernel)
      .bind(":configuration", key(of.configuration))
      .bind(":run", run_id_);
  int lost = 0;
  while (select.step()) {
    const double begun_s_ago = unix_now() - select.real("started_unix");
    if (went_down_with_machine(select.text("process"), begun_s_ago)) ++lost;
  }
  return lost;
}

Result read_result(const Statement& row) {
  Result result;
  result.kernel = row.text("kernel_name");
  result.problem = bindings_from_json(row, "problem_json");
  result.configuration = bindings_from_json(row, "configuration_json");
  result.launches = launches_from_json(row, "launches_json");
  result.metrics = metrics_from_json(row, "metrics_json");
  const auto read = [&row](const char* name, auto& value) { read_column(row, name, value); };
  visit_fields(result, read);
  if (result.timed()) {
    result.unit = row.text("uuid");
    visit_fields(result.measurement, read);
    result.measurement.samples_ms = samples_from_blob(row.blob("samples"));
  }
  return result;
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace smemtune::db
