#include "tuner/cli/commands.h"

#include "tuner/cli/terminal.h"

#include <csignal>
#include <unistd.h>

namespace smemtune::cli {
namespace {

std::atomic<bool> stop_asked = false;  // NOLINT: a signal handler has nowhere else to write.
static_assert(std::atomic<bool>::is_always_lock_free);

void end_at_once(int) { _exit(kInterrupted); }

void stop_cleanly(int signal) {
  if (stop_asked.exchange(true)) _exit(128 + signal);
}

void on_stop_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, &action, &before);
    // nohup ignores SIGHUP for processes that should outlive their terminal.
    const bool outlives = signal == SIGHUP && before.sa_handler == SIG_IGN;
    if (outlives) sigaction(signal, &before, nullptr);
  }
}

}  // namespace

void end_on_signals() { on_stop_signals(end_at_once); }

const std::atomic<bool>& stop_on_signals() {
  on_stop_signals(stop_cleanly);
  return stop_asked;
}

}  // namespace smemtune::cli
