#include "tuner/engine/worker_process.h"

#include "tuner/engine/running_clock.h"
#include "tuner/engine/worker_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace smemtune {

namespace {

constexpr double kKillPatience_s = 10;

std::string error_text(int error) { return std::strerror(error); }

[[noreturn]] void fail(const std::string& what) {
  throw UnavailableError(what + ": " + error_text(errno));
}

/// Returns a duplicate numbered above the descriptors that the worker's own will replace.
Descriptor lifted(Descriptor descriptor) {
  Descriptor high(fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 10));
  if (!high) fail("no file descriptor is left for a worker");
  return high;
}

struct Pair {
  Descriptor ours;
  Descriptor theirs;
};

Pair make_socket() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail("cannot create a socket for a worker");
  }
  Pair pair = {Descriptor(ends[0]), Descriptor(ends[1])};
  pair.theirs = lifted(std::move(pair.theirs));
  return pair;
}

/// Returns a pipe of which `ours` is the reading end.
Pair make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot create a pipe for a worker");
  Pair pair = {Descriptor(ends[0]), Descriptor(ends[1])};
  pair.theirs = lifted(std::move(pair.theirs));
  return pair;
}

void set_nonblocking(const Descriptor& descriptor) {
  const int flags = fcntl(descriptor.number(), F_GETFL);
  if (flags < 0 || fcntl(descriptor.number(), F_SETFL, flags | O_NONBLOCK) != 0) {
    fail("a worker's descriptor cannot be made non-blocking");
  }
}

/// Data for the child between fork and exec, where nothing may be allocated.
struct Start {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  int null = -1;
  int socket = -1;
  int log = -1;
  int status = -1;  ///< Receives errno when exec fails.
  pid_t parent = -1;
  std::uint64_t max_address_space = 0;
  WorkerProcess::Kind kind = WorkerProcess::Kind::worker;
};

[[noreturn]] void give_up(const Start& start) {
  const int error = errno;
  // The parent reads a short answer as an error, too.
  [[maybe_unused]] const ssize_t written = ::write(start.status, &error, sizeof error);
  _exit(127);
}

// Runs in the child: only async-signal-safe calls.
[[noreturn]] void become_worker(const Start& start) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(start);
  if (getppid() != start.parent) _exit(127);  // The parent ended before the signal was set up.

  struct sigaction handled = {};
  handled.sa_handler = SIG_DFL;
  for (const int signal : {SIGPIPE, SIGQUIT, SIGCHLD}) sigaction(signal, &handled, nullptr);
  // A batch system sends these to every process of a job; the parent decides how to react.
  handled.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &handled, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  const rlimit no_core = {0, 0};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0) give_up(start);
  if (start.max_address_space > 0) {
    const rlimit address_space = {start.max_address_space, start.max_address_space};
    if (setrlimit(RLIMIT_AS, &address_space) != 0) give_up(start);
  }
  const bool is_carrier = start.kind == WorkerProcess::Kind::carrier;
  if (dup2(is_carrier ? start.socket : start.null, STDIN_FILENO) < 0 ||
      dup2(is_carrier ? start.socket : start.log, STDOUT_FILENO) < 0 ||
      dup2(start.log, STDERR_FILENO) < 0 ||
      (!is_carrier && dup2(start.socket, kWorkerDescriptor) < 0)) {
    give_up(start);
  }
  // Closes descriptors that other libraries have left open without O_CLOEXEC. Kernels before 5.11
  // cannot; the descriptors then stay open, which harms no message.
  close_range(is_carrier ? kWorkerDescriptor : kWorkerDescriptor + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  execvpe(start.path, start.argv, start.environment);
  give_up(start);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::string signal_name(int signal) {
  const char* description = strsignal(signal);
  return std::to_string(signal) +
         (description == nullptr ? "" : " (" + std::string(description) + ")");
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::reset() {
  // close() releases the descriptor even when it reports an error, and nothing was written to a
  // file.
  if (number_ >= 0) close(number_);
  number_ = -1;
}

void LogRing::append(std::string_view text) {
  if (text.size() > kBytes) text.remove_prefix(text.size() - kBytes);
  kept_ += text;
  if (kept_.size() > 2 * kBytes) kept_.erase(0, kept_.size() - kBytes);
}

std::string LogRing::tail(std::size_t bytes) const {
  std::string text = kept_.size() > bytes ? kept_.substr(kept_.size() - bytes) : kept_;
  std::erase(text, '\r');  // ssh ends its lines with it.
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) c = '?';
  }
  return text;
}

bool WorkerDeath::from_outside() const { return cause == Cause::ended && signal == SIGKILL; }

std::string WorkerDeath::text() const {
  std::string text;
  switch (cause) {
    case Cause::deadline:
      text = "no answer in time, killed";
      break;
    case Cause::protocol:
      text = "sent something that is not a message, killed";
      break;
    case Cause::stuck:
      text = "killed, and still there: the driver holds it";
      break;
    case Cause::no_start:
      return message;
    case Cause::ended:
      text = signal != 0 ? "killed by signal " + signal_name(signal)
                         : "ended with status " + std::to_string(exit_status);
  }
  if (!phase.empty()) text += " in phase " + phase;
  if (!message.empty()) text += ": " + message;
  if (!log.empty()) text += "; it printed: " + log;
  return text;
}

std::vector<std::string> worker_environment(const char* const* environment) {
  // CUDA_DEVICE_ORDER belongs to the numbers in CUDA_VISIBLE_DEVICES.
  static constexpr std::array<std::string_view, 14> kKept = {
      "PATH",      "HOME",      "LANG",         "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
      "CUDA_PATH", "CUDA_HOME", "TMPDIR",       "LD_LIBRARY_PATH",      "XDG_CACHE_HOME",
      "CXX",       "TZ",        "ASAN_OPTIONS", "UBSAN_OPTIONS"};
  std::vector<std::string> kept = {"LC_ALL=C"};
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (name == kWorkerVariable) continue;
    if (std::ranges::find(kKept, name) != kKept.end() || name.starts_with("SMEMTUNE_")) {
      kept.emplace_back(entry);
    }
  }
  return kept;
}

WorkerProcess::WorkerProcess(const std::vector<std::string>& argv, std::uint64_t max_address_space,
                             Kind kind) {
  if (argv.empty()) throw UnavailableError("a worker without a command");
  std::vector<std::string> words = argv;
  std::vector<std::string> environment;
  if (kind == Kind::worker) {
    environment = worker_environment(environ);
    environment.push_back(std::string(kWorkerVariable) + "=" + std::to_string(kWorkerDescriptor));
  } else {
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  }
  const std::vector<char*> argv_pointers = pointers(words);
  const std::vector<char*> environment_pointers = pointers(environment);

  Pair socket = make_socket();
  Pair log = make_pipe();
  Pair status = make_pipe();
  Descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) fail("/dev/null");
  null = lifted(std::move(null));
  set_nonblocking(socket.ours);
  set_nonblocking(log.ours);

  const Start start = {.path = words[0].c_str(),
                       .argv = argv_pointers.data(),
                       .environment = environment_pointers.data(),
                       .null = null.number(),
                       .socket = socket.theirs.number(),
                       .log = log.theirs.number(),
                       .status = status.theirs.number(),
                       .parent = getpid(),
                       .max_address_space = max_address_space,
                       .kind = kind};
  pid_ = fork();
  if (pid_ < 0) fail("cannot start a process for a worker");
  if (pid_ == 0) become_worker(start);

  setpgid(pid_, pid_);  // Called in both processes, because the group must exist before it is
                        // killed.
  status.theirs.reset();
  int error = 0;
  ssize_t size = 0;
  do {
    size = ::read(status.ours.number(), &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  if (size != 0) {  // exec closes the pipe without writing to it.
    wait_for_end(kKillPatience_s);
    pid_ = -1;
    throw UnavailableError("cannot start the worker " + argv[0] + ": " + error_text(error));
  }
  socket_ = std::move(socket.ours);
  log_pipe_ = std::move(log.ours);
}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0 || wait_status_) return;
  kill_group();
  wait_for_end(kKillPatience_s);
}

void WorkerProcess::send(const Frame& frame) {
  const std::vector<std::uint8_t> bytes = encode(frame);
  if (!wants_to_write()) {
    outbox_.clear();
    sent_ = 0;
  }
  outbox_.insert(outbox_.end(), bytes.begin(), bytes.end());
  write();
}

void WorkerProcess::write() {
  while (wants_to_write()) {
    const ssize_t size =
        ::send(socket_.number(), outbox_.data() + sent_, outbox_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;  // Full, or the worker is gone, which read() finds.
    sent_ += static_cast<std::size_t>(size);
  }
}

bool WorkerProcess::read(std::vector<Frame>& frames) {
  std::array<std::uint8_t, 65536> buffer = {};
  bool open = true;
  for (;;) {
    const ssize_t size = ::recv(socket_.number(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      // A reset comes when the worker ends before it has read everything.
      open = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      break;
    }
    decoder_.append(std::span(buffer).first(static_cast<std::size_t>(size)));
    while (std::optional<Frame> frame = decoder_.next()) frames.push_back(std::move(*frame));
  }
  return open;
}

void WorkerProcess::read_log() {
  std::array<char, 65536> buffer = {};
  // A worker that prints without end must not keep the parent here.
  for (int i = 0; i < 16 && log_pipe_; ++i) {
    const ssize_t size = ::read(log_pipe_.number(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    if (size == 0) {
      log_pipe_.reset();
      return;
    }
    log_.append({buffer.data(), static_cast<std::size_t>(size)});
  }
}

void WorkerProcess::kill_group() const {
  // ESRCH means that the process has ended, as wanted.
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
}

bool WorkerProcess::wait_for_end(double patience_s) {
  const auto give_up_at = RunningClock::now() + std::chrono::duration<double>(patience_s);
  auto pause = std::chrono::microseconds(100);
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      wait_status_ = status;
      return true;
    }
    if (ended < 0 && errno != EINTR) {
      wait_status_ = 0;  // Another part of the process has waited for it.
      return true;
    }
    if (RunningClock::now() > give_up_at) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(20000));
  }
}

WorkerDeath WorkerProcess::end(double patience_s) {
  WorkerDeath death;
  if (!wait_status_ && !wait_for_end(patience_s)) {
    kill_group();
    if (!wait_for_end(kKillPatience_s)) death.cause = WorkerDeath::Cause::stuck;
  }
  kill(-pid_, SIGKILL);  // Children that the worker left behind.
  read_log();
  death.log = log_tail();
  if (wait_status_) {
    if (WIFSIGNALED(*wait_status_)) death.signal = WTERMSIG(*wait_status_);
    if (WIFEXITED(*wait_status_)) death.exit_status = WEXITSTATUS(*wait_status_);
  }
  return death;
}

void WorkerProcess::end_gently(double patience_s) {
  socket_.reset();
  log_pipe_.reset();
  if (!wait_status_ && !wait_for_end(patience_s)) kill_group();
  kill(-pid_, SIGKILL);  // Children that the worker left behind.
}

}  // namespace smemtune
