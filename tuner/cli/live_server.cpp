#include "tuner/cli/live_server.h"

#include "db/result_store.h"
#include "reports/report_page.h"
#include "reports/report_source.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace smemtune::cli {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::beast::error_code;

namespace {

// Timeout for a request, and for taking its answer.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr std::uint32_t kHeaderBytes = 8192;
constexpr std::size_t kConnections = 32;

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

}  // namespace

struct LiveServer::State {
  class Connection;

  explicit State(std::uint16_t port)
      : acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), port)),
        host("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())) {
    accept();
  }

  void accept();
  Response answer(const Request& request);

  asio::io_context context{1};
  tcp::acceptor acceptor;
  std::string host;
  std::string path = "/" + random_id() + "/";
  std::string page;
  std::string data;
  std::uint64_t version = 0;
  std::uint64_t taken = 0;
  std::size_t connections = 0;
};

/// A connection that handles one request and its answer.
class LiveServer::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(State& state, tcp::socket socket) : state_(state), stream_(std::move(socket)) {
    ++state_.connections;
    parser_.header_limit(kHeaderBytes);
    parser_.body_limit(std::uint64_t{0});
  }
  ~Connection() { --state_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() {
    stream_.expires_after(kPatience);
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->write();
                            });
  }

 private:
  void write() {
    response_ = state_.answer(parser_.get());
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code, std::size_t) {
      error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  State& state_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  Response response_;
};

void LiveServer::State::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (!error && connections < kConnections) {
      std::make_shared<Connection>(*this, std::move(socket))->start();
    }
    if (acceptor.is_open()) accept();
  });
}

Response LiveServer::State::answer(const Request& request) {
  Response response(http::status::ok, 11);
  response.keep_alive(false);
  response.set(http::field::cache_control, "no-store");
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  const auto refuse = [&](http::status status, const char* why) {
    response.result(status);
    response.body() = why;
  };
  const std::string target(request.target());
  if (request.method() != http::verb::get) {
    refuse(http::status::method_not_allowed, "only GET\n");
    response.set(http::field::allow, "GET");
  } else if (request[http::field::host] != host) {
    refuse(http::status::forbidden, "not this host\n");
  } else if (target == path) {
    response.set(http::field::content_type, "text/html; charset=utf-8");
    response.body() = page;
    ++taken;
  } else if (target == path + "data/" + std::to_string(version)) {
    response.result(http::status::no_content);
  } else if (target.starts_with(path + "data/")) {
    response.set(http::field::content_type, "application/json");
    response.body() = data;
    ++taken;
  } else {
    refuse(http::status::not_found, "nothing here\n");
  }
  response.prepare_payload();
  return response;
}

LiveServer::LiveServer(std::uint16_t port) {
  try {
    state_ = std::make_unique<State>(port);
  } catch (const boost::system::system_error& error) {
    throw UnavailableError("127.0.0.1 port " + std::to_string(port) + ": " +
                           error.code().message());
  }
}

LiveServer::~LiveServer() = default;

std::string LiveServer::url() const { return "http://" + state_->host + state_->path; }

void LiveServer::show(std::string page, std::string data, std::uint64_t version) {
  state_->page = std::move(page);
  state_->data = std::move(data);
  state_->version = version;
  state_->taken = 0;
}

void LiveServer::serve_for(std::chrono::milliseconds time) {
  state_->context.restart();
  state_->context.run_for(time);
}

std::uint64_t LiveServer::taken() const { return state_->taken; }

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kRunning = "running";
constexpr const char* kGone = "gone";
// Interval of checks for results and for the state of the run.
constexpr std::chrono::milliseconds kLook{500};
// Time for open pages to fetch the last data.
constexpr auto kLastTaking = std::chrono::seconds(10);
constexpr auto kStorePatience = std::chrono::minutes(1);  // Time that a database may be unreadable.
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
