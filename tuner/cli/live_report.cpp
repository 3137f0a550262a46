#include "tuner/cli/live_report.h"

#include "db/result_store.h"
#include "reports/report_json.h"
#include "reports/report_page.h"
#include "reports/report_source.h"
#include "tuner/cli/live_server.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace smemtune::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kRunning = "running";
constexpr const char* kGone = "gone";
// Interval of checks for results and for the state of the run.
constexpr std::chrono::milliseconds kLook{500};
// Time for open pages to fetch the last data.
constexpr auto kLastTaking = std::chrono::seconds(10);
constexpr auto kStorePatience = std::chrono::minutes(1);  // How long a database may be unreadable.
constexpr int kBusy_ms = 500;  // Busy timeout of the database, during which pages wait for answers.

db::StoredRun the_run(const ReportOptions& options) {
  const db::ResultStore store(options.database, db::ResultStore::Mode::read_only);
  db::Query query = options.query;
  query.source = "own";
  std::vector<db::StoredRun> runs = store.runs(query);
  std::erase_if(runs, [](const db::StoredRun& run) { return !run.goes_on; });
  if (runs.empty()) {
    throw InputError(
        options.database.string() +
        ": no run is in progress here; without --live the report covers what is stored");
  }
  if (runs.size() == 1) return runs.front();
  std::vector<std::string> all;
  for (const db::StoredRun& run : runs) all.push_back(run.id.substr(0, 8) + " of " + run.space);
  throw InputError(options.database.string() + ": " + counted(runs.size(), "run") +
                   " are in progress; choose with --space or --run: " + joined(all, ", "));
}

/// Returns `running`, `gone`, or the outcome of the run.
std::string state_of(const db::ResultReader& store, const std::string& run_id) {
  const std::vector<db::StoredRun> runs = store.runs({.run = run_id});
  if (runs.empty()) return kGone;
  if (!runs.front().outcome.empty()) return runs.front().outcome;
  return runs.front().goes_on ? kRunning : kGone;
}

/// The served page and its version.
class LivePage {
 public:
  LivePage(const ReportOptions& options, db::StoredRun run, LiveServer& server)
      : options_(options), run_(std::move(run)), server_(server) {}

  /// Shows what has changed since the last call. Returns true while the run goes on.
  bool look() {
    try {
      const bool goes_on = look_once();
      read_ = Clock::now();
      return goes_on;
    } catch (const StoreError&) {
      // Another process holds a lock for long; or a run was killed during a write, and reopening
      // the database rolls it back.
      if (Clock::now() - read_ > kStorePatience) throw;
      store_.reset();
      stored_.reset();
      return true;
    }
  }

  bool is_shown() const { return version_ > 0; }
  const std::string& state() const { return state_; }

 private:
  bool look_once() {
    if (!store_) store_.emplace(options_.database, db::ResultStore::Mode::read_only, kBusy_ms);
    const std::int64_t stored = store_->data_version();
    const std::string state = state_of(*store_, run_.id);
    if (stored == stored_ && state == state_) return state == kRunning;
    nlohmann::ordered_json data = report_json(stored_source(
        *store_,
        {.space = run_.space, .device = options_.query.device, .problem = options_.query.problem},
        static_cast<std::size_t>(options_.max_rows)));
    stored_ = stored;
    state_ = state;
    ++version_;
    data["live"] = {
        {"run", run_.id}, {"device", run_.device}, {"state", state}, {"version", version_}};
    server_.show(report_page(data, run_.space + " - smemtune", embedded_charts()),
                 data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace),
                 version_);
    return state == kRunning;
  }

  std::optional<db::ResultStore> store_;
  Clock::time_point read_ = Clock::now();
  const ReportOptions& options_;
  db::StoredRun run_;
  LiveServer& server_;
  std::optional<std::int64_t> stored_;
  std::string state_;
  std::uint64_t version_ = 0;
};

}  // namespace

int follow_run(const ReportOptions& options, const std::atomic<bool>& stop) {
  const db::StoredRun run = the_run(options);
  LiveServer server(options.port);
  LivePage page(options, run, server);
  for (page.look(); !page.is_shown() && !stop; page.look()) std::this_thread::sleep_for(kLook);
  write_out(server.url() + "\n");
  say("the page is updated until run " + run.id.substr(0, 8) + " of " + run.space + " ends");
  for (;;) {
    const auto began = Clock::now();
    if (stop || !page.look()) break;
    // The run cannot write while the page reads, so reading is rare if it takes long.
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    server.serve_for(std::max(kLook, 9 * took));
  }
  if (stop) return kInterrupted;
  say(page.state() == kGone ? "the run was cut off: its process ended without recording an outcome"
                            : "the run has ended: " + page.state());
  // An open page asks every two seconds.
  const auto deadline = Clock::now() + kLastTaking;
  while (!stop && server.taken() == 0 && Clock::now() < deadline) server.serve_for(kLook);
  // Time for other pages.
  if (server.taken() > 0) server.serve_for(std::chrono::milliseconds(2500));
  return 0;
}

}  // namespace smemtune::cli
