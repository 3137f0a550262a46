#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace smemtune::cli {

/// Serves a page and the data that fills it to browsers of this machine: on the loopback interface,
/// below a path that nobody guesses, to nothing but GET, and only where the request names this
/// address as its host, so that no other site's name can be made to stand for it (DNS rebinding).
/// Works while serve_for() does; one thread.
class LiveServer {
 public:
  /// Port 0: any that is free. Throws UnavailableError.
  explicit LiveServer(std::uint16_t port);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  /// `http://127.0.0.1:40123/0123456789abcdef0123456789abcdef/`
  std::string url() const;

  /// What is answered from now on: the page at url(), and at `data/N` below it the data, or that
  /// there is nothing new where N is `version`.
  void show(std::string page, std::string data, std::uint64_t version);

  void serve_for(std::chrono::milliseconds time);

  /// How often the page or new data was handed out since the last show().
  std::uint64_t taken() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smemtune::cli
