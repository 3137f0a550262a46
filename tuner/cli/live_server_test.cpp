#include "tuner/cli/live_server.h"

#include "db/planted_results.h"
#include "tuner/cli/live_report.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
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

/// `http://127.0.0.1:PORT/TOKEN/` in its parts.
struct Url {
  explicit Url(const std::string& url)
      : host(url.substr(7, url.find('/', 7) - 7)), path(url.substr(url.find('/', 7))) {}

  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(host.substr(host.find(':') + 1)));
  }

  std::string host;
  std::string path;
};

/// What the server sends back, until it closes.
std::string exchanged(const Url& url, const std::string& request) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(url.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(descriptor);
    return "no connection";
  }
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

/// A server at work in a thread of its own.
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
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(url.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(0, connect(silent, reinterpret_cast<sockaddr*>(&address), sizeof address));
  EXPECT_THAT(get(url, url.path, url.host), HasSubstr("the page"));
  close(silent);
}

TEST(LiveServers, HaveAnotherPathEachTime) {
  EXPECT_NE(Url(LiveServer(0).url()).path, Url(LiveServer(0).url()).path);
}

TEST(LiveServers, SayThatAPortIsTaken) {
  LiveServer one(0);
  EXPECT_THROW(LiveServer(Url(one.url()).port()), UnavailableError);
}

struct LiveReport : testing::Test {
  LiveReport()
      : file(std::filesystem::path(testing::TempDir()) /
             ("live_" + std::to_string(getpid()) + ".db")) {
    std::filesystem::remove(file);
    options.database = file;
  }
  ~LiveReport() override { std::filesystem::remove(file); }

  std::filesystem::path file;
  ReportOptions options;
  std::atomic<bool> stop = false;
};

TEST_F(LiveReport, EndsWithItsRun) {
  db::ResultStore store(file);
  const auto log = store.begin_run(db::planted_run(db::planted_device("H200"), "first"));
  log->record("hash", db::planted({{"TILE", std::int64_t{16}}}, 2));
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    store.end_run("first", "complete");
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    stop = true;  // Nobody opens the page: it would wait for who may still ask for its end.
  });
  testing::internal::CaptureStderr();
  EXPECT_EQ(0, follow_run(options, stop));
  ends.join();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the run has ended: complete"));
}

TEST_F(LiveReport, IsOfNoRunWhoseProcessIsGone) {
  const pid_t child = fork();
  if (child == 0) {
    db::ResultStore store(file);
    const auto log = store.begin_run(db::planted_run(db::planted_device("H200"), "first"));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  try {
    follow_run(options, stop);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no run goes on here"));
  }
}

}  // namespace
}  // namespace smemtune::cli
