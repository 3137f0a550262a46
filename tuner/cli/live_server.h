#pragma once

#include "tuner/cli/command_report.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace smemtune::cli {

/// Serves a page and its data to browsers on this machine: on the loopback interface, below an
/// unguessable path, only to GET requests, and only if the request names this address as its host,
/// so that no other site's name can be made to resolve to it (DNS rebinding). Works only during
/// serve_for(); uses one thread.
class LiveServer {
 public:
  /// `port`: 0 for any free one. Throws UnavailableError.
  explicit LiveServer(std::uint16_t port);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  /// Returns an address like `http://127.0.0.1:40123/0123456789abcdef0123456789abcdef/`.
  std::string url() const;

  /// Sets what is served from now on: the page at url(), and the data at `data/N` below it, or the
  /// answer that there is nothing new if N is `version`.
  void show(std::string page, std::string data, std::uint64_t version);

  void serve_for(std::chrono::milliseconds time);

  /// Returns how often the page or new data was served since the last show().
  std::uint64_t taken() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Serves the report of the space that a run is tuning, and prints its address. Ends with the run,
/// or when `stop` is set. Throws InputError if no active run, or more than one, matches the query.
int follow_run(const ReportOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
