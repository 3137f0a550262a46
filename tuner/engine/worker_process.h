#pragma once

#include "tuner/engine/wire.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace smemtune {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release();
  void reset();

 private:
  int number_ = -1;
};

/// The last bytes of what a worker printed.
class LogRing {
 public:
  static constexpr std::size_t kBytes = 64 * 1024;

  void append(std::string_view text);

  /// Returns at most the last `bytes`, of kBytes, as printable text: control characters but newlines
  /// and tabs are replaced.
  std::string tail(std::size_t bytes) const;

 private:
  std::string kept_;  ///< At most twice kBytes, so that it is seldom cut.
};

/// The activity that a worker has begun.
struct Phase {
  std::string name;         ///< `load`, `verify`, `sample`, ...
  std::int32_t number = 0;  ///< In a round: index of the entry.

  bool operator==(const Phase&) const = default;
};

/// How a worker ended.
struct WorkerDeath {
  enum class Cause {
    ended,     ///< Ended by itself: by a signal or with an exit status.
    deadline,  ///< Killed because an answer was overdue.
    protocol,  ///< Killed because it sent something that is not a message.
    stuck,     ///< Killed but still there: the driver holds it.
    no_start,  ///< It could not be started: `message` says why.
  };
  Cause cause = Cause::ended;
  int signal = 0;  ///< 0 if it exited, with `exit_status`.
  int exit_status = 0;
  std::string phase;  ///< Its last reported phase.
  int phase_number = 0;
  bool shortage = false;  ///< True if it ended because the machine lacks something.
  std::string message;    ///< Its own message, or what was wrong with what it sent.
  std::string log;        ///< The end of what it printed.

  bool operator==(const WorkerDeath&) const = default;

  /// Whether something else on the machine has killed it: the fault may not be the variant's.
  bool from_outside() const;

  /// "killed by signal 11 (Segmentation fault) while verifying; it printed: ..."
  std::string text() const;
};

constexpr WorkerDeath::Cause last_enumerator(WorkerDeath::Cause) {
  return WorkerDeath::Cause::no_start;
}

/// A worker process: this executable, started again in its own process group, ended by SIGKILL to
/// the whole group. It dies with the *thread* that started it, so start it from one that lives on.
///
/// Messages travel over a socket whose number is in the worker's environment; the worker's output
/// goes to a ring of 64 KB. Nothing here blocks but end(), end_gently() and the destructor.
///
/// Alternatively a carrier, a program that carries messages to another host and back: `ssh`,
/// `srun`.
class WorkerProcess {
 public:
  enum class Kind {
    worker,   ///< It has the environment of a worker (worker_environment()) and no input.
    carrier,  ///< Messages travel over its standard input and output; it has our environment.
  };

  /// `max_address_space`: RLIMIT_AS in bytes, 0 for none. A carrier's program is looked for in
  /// PATH. Throws UnavailableError when the executable cannot be started.
  WorkerProcess(const std::vector<std::string>& argv, std::uint64_t max_address_space,
                Kind kind = Kind::worker);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  pid_t pid() const { return pid_; }
  int socket() const { return socket_.number(); }
  int log_descriptor() const { return log_pipe_.number(); }
  bool wants_to_write() const { return sent_ < outbox_.size(); }
  std::string log_tail() const { return log_.tail(2000); }

  /// Queues a message and writes what can be written now.
  void send(const Frame& frame);

  /// Writes what can be written now.
  void write();

  /// Reads the messages that have arrived. Returns false when the worker has closed its end. Throws
  /// WireError.
  bool read(std::vector<Frame>& frames);

  /// Reads what the worker printed.
  void read_log();

  /// Gives the worker `patience_s` to end by itself, kills the group, waits (at most 10 s) and
  /// returns how the worker ended.
  WorkerDeath end(double patience_s);

  /// Kills the worker and processes that it started, unless it has ended, and does not wait.
  void kill_now() const {
    if (pid_ >= 0 && !wait_status_) kill_group();
  }

  /// Closes the socket, which asks the worker to end.
  void hang_up() { socket_.reset(); }

  /// Hangs up and waits for the worker to end before killing it, along with processes that it
  /// started and left behind.
  void end_gently(double patience_s);

 private:
  bool wait_for_end(double patience_s);
  void kill_group() const;

  pid_t pid_ = -1;
  Descriptor socket_;
  Descriptor log_pipe_;
  FrameDecoder decoder_;
  std::vector<std::uint8_t> outbox_;
  std::size_t sent_ = 0;
  LogRing log_;
  std::optional<int> wait_status_;
};

/// Returns the part of an environment that a worker gets: what finding programs, libraries and
/// devices needs, and LC_ALL=C; nothing that changes how NVRTC compiles. Each is `NAME=VALUE`.
std::vector<std::string> worker_environment(const char* const* environment);

}  // namespace smemtune
