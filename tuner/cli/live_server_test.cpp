#include "tuner/cli/live_server.h"

#include "db/database_file.h"
#include "db/planted_results_test_support.h"
#include "db/result_store.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace smemtune::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The parts of `http://127.0.0.1:PORT/TOKEN/`.
struct Url {
  explicit Url(const std::string& url)
      : host(url.substr(7, url.find('/', 7) - 7)), path(url.substr(url.find('/', 7))) {}

  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(host.substr(host.find(':') + 1)));
  }

  std::string host;
  std::string path;
};

/// Returns a connected socket; -1 if the server does not listen.
int connected(const Url& url) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(url.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

/// Returns what the server sends until it closes the connection.
std::string exchanged(const Url& url, const std::string& request) {
  const int descriptor = connected(url);
  if (descriptor < 0) return "no connection";
  EXPECT_EQ(send(descriptor, request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char part[4096];
  for (ssize_t got = 0; (got = recv(descriptor, part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(got));
  }
  close(descriptor);
  return answer;
}

std::string get(const Url& url, const std::string& path, const std::string& host) {
  return exchanged(url, "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
}

/// Runs a server in a separate thread.
struct Serving : testing::Test {
  Serving() { server.show("the page", "{\"n\":1}", 7); }
  ~Serving() override {
    stop = true;
    thread.join();
  }
  LiveServer server{0};
  Url url{server.url()};
  std::atomic<bool> stop = false;
  std::thread thread{[this] {
    while (!stop) server.serve_for(std::chrono::milliseconds(20));
  }};
};

TEST_F(Serving, GivesThePageAndWhatIsNewToThoseWhoKnowThePath) {
  EXPECT_THAT(get(url, url.path, url.host), HasSubstr("\r\n\r\nthe page"));
  EXPECT_THAT(get(url, url.path + "data/6", url.host), HasSubstr("{\"n\":1}"));
  EXPECT_THAT(get(url, url.path + "data/7", url.host), StartsWith("HTTP/1.1 204"));
}

TEST_F(Serving, GivesNothingToOthers) {
  EXPECT_THAT(get(url, "/", url.host), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(url, "/data/6", url.host), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get(url, url.path, "rebound.example"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get(url, url.path, "localhost:" + std::to_string(url.port())),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(exchanged(url, "GET " + url.path + " HTTP/1.0\r\n\r\n"), Not(HasSubstr("the page")))
      << "no host at all";
  for (const std::string method : {"POST", "HEAD", "OPTIONS", "PUT", "DELETE"}) {
    EXPECT_THAT(exchanged(url, method + " " + url.path + " HTTP/1.1\r\nHost: " + url.host +
                                   "\r\nContent-Length: 0\r\n\r\n"),
                StartsWith("HTTP/1.1 405"))
        << method;
  }
  EXPECT_EQ("", exchanged(url, "GET / HTTP/1.1\r\nHost: " + std::string(20000, 'a') + "\r\n\r\n"));
  EXPECT_EQ("", exchanged(url, "nonsense\r\n\r\n"));
}

TEST_F(Serving, IsNotHeldUpByWhoSendsNothing) {
  const int silent = connected(url);
  ASSERT_GE(silent, 0);
  EXPECT_THAT(get(url, url.path, url.host), HasSubstr("the page"));
  close(silent);
}

TEST_F(Serving, DoesNotMindWhoGoesAwayWithoutTheAnswer) {
  for (int i = 0; i < 10; ++i) {
    const int hasty = connected(url);
    ASSERT_GE(hasty, 0);
    const std::string request = "GET " + url.path + " HTTP/1.1\r\nHost: " + url.host + "\r\n\r\n";
    EXPECT_EQ(static_cast<ssize_t>(request.size()), send(hasty, request.data(), request.size(), 0));
    close(hasty);
  }
  EXPECT_THAT(get(url, url.path, url.host), HasSubstr("the page"));
}

TEST(LiveServers, HaveAnotherPathEachTime) {
  EXPECT_NE(Url(LiveServer(0).url()).path, Url(LiveServer(0).url()).path);
}

TEST(LiveServers, SayThatAPortIsTaken) {
  LiveServer one(0);
  EXPECT_THROW(LiveServer(Url(one.url()).port()), UnavailableError);
}

/// Runs follow_run() in a separate process, as in another terminal.
class Follower {
 public:
  explicit Follower(const ReportOptions& options) {
    int ends[2];
    EXPECT_EQ(0, pipe(ends));
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const std::atomic<bool> stop = false;
      try {
        _exit(follow_run(options, stop));
      } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
        _exit(1);
      }
    }
    close(ends[1]);
    std::string line;
    char c = 0;
    while (read(ends[0], &c, 1) == 1 && c != '\n') line += c;
    close(ends[0]);
    EXPECT_THAT(line, StartsWith("http://127.0.0.1:")) << "it says where the page is";
    url = Url(line);
  }

  std::string page() const { return get(url, url.path, url.host); }

  /// Waits until the data of the page contains this text; false if it never does.
  bool comes_to_say(const std::string& what) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < deadline) {
      if (get(url, url.path + "data/0", url.host).find(what) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  /// Waits for the process to end.
  int exit_status() const {
    int status = 0;
    EXPECT_EQ(child_, waitpid(child_, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  Url url{"http://127.0.0.1:1/"};

 private:
  pid_t child_ = 0;
};

struct LiveReport : testing::Test {
  LiveReport()
      : file(std::filesystem::path(testing::TempDir()) /
             ("live_" + std::to_string(getpid()) + ".db")) {
    std::filesystem::remove(file);
    options.database = file;
  }
  ~LiveReport() override { std::filesystem::remove(file); }

  /// Begins a run with one result in a separate process that stays until it is killed.
  pid_t run_elsewhere() const {
    int ends[2];
    EXPECT_EQ(0, pipe(ends));
    const pid_t child = fork();
    if (child == 0) {
      db::ResultStore store(file);
      const auto log = store.begin_run(db::planted_run(db::planted_device("H200"), "first"));
      log->record("hash", db::planted({{"TILE", std::int64_t{16}}}, 2));
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(0);
    }
    close(ends[1]);
    char began = 0;
    EXPECT_EQ(1, read(ends[0], &began, 1));
    close(ends[0]);
    return child;
  }

  static void kill_and_wait(pid_t child) {
    kill(child, SIGKILL);
    EXPECT_EQ(child, waitpid(child, nullptr, 0));
  }

  std::string refusal() const {
    const std::atomic<bool> stop = false;
    try {
      follow_run(options, stop);
    } catch (const InputError& error) {
      return error.what();
    }
    return "followed";
  }

  std::filesystem::path file;
  ReportOptions options;
};

TEST_F(LiveReport, FillsUpAndEndsWithItsRun) {
  db::ResultStore store(file);
  const auto log = store.begin_run(db::planted_run(db::planted_device("H200"), "first"));
  log->record("hash", db::planted({{"TILE", std::int64_t{16}}}, 2));
  const Follower follower(options);
  EXPECT_THAT(follower.page(), HasSubstr("\"state\":\"running\""));
  log->record("hash", db::planted({{"TILE", std::int64_t{32}}}, 1));
  EXPECT_TRUE(follower.comes_to_say("\"total\":2"));
  store.end_run("first", "complete");
  EXPECT_TRUE(follower.comes_to_say("\"state\":\"complete\""));
  EXPECT_EQ(0, follower.exit_status());
}

TEST_F(LiveReport, EndsWhereItsRunIsKilled) {
  const pid_t run = run_elsewhere();
  const Follower follower(options);
  EXPECT_THAT(follower.page(), HasSubstr("\"state\":\"running\""));
  kill_and_wait(run);
  EXPECT_TRUE(follower.comes_to_say("\"state\":\"gone\""));
  EXPECT_EQ(0, follower.exit_status());
}

TEST_F(LiveReport, ShowsWhatItHasWhileTheDatabaseIsLocked) {
  db::ResultStore store(file);
  const auto log = store.begin_run(db::planted_run(db::planted_device("H200"), "first"));
  log->record("hash", db::planted({{"TILE", std::int64_t{16}}}, 2));
  const Follower follower(options);
  {
    const db::Connection other(file, db::OpenMode::read_write, 60000);
    other.execute("BEGIN EXCLUSIVE");
    for (int i = 0; i < 5; ++i) {
      EXPECT_THAT(follower.page(), HasSubstr("\"state\":\"running\""));
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    other.execute("ROLLBACK");
  }
  store.end_run("first", "complete");
  EXPECT_TRUE(follower.comes_to_say("\"state\":\"complete\""));
  EXPECT_EQ(0, follower.exit_status());
}

TEST_F(LiveReport, IsOfOneRun) {
  db::ResultStore store(file);
  const auto first = store.begin_run(db::planted_run(db::planted_device("H200"), "first"));
  const auto second = store.begin_run(db::planted_run(db::planted_device("H100"), "second"));
  EXPECT_THAT(refusal(), HasSubstr("2 runs are in progress; choose with --space or --run: "));
}

TEST_F(LiveReport, IsOfNoRunWhoseProcessIsGone) {
  kill_and_wait(run_elsewhere());
  EXPECT_THAT(refusal(), HasSubstr("no run is in progress here"));
}

}  // namespace
}  // namespace smemtune::cli
