#pragma once

#include "tuner/engine/frame_link.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/worker_host.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// What both ends of a link between hosts must have in common, as the first line that the far end
/// prints: `smemtune-host 0.2.0 2`.
std::string host_line(const std::string& version);

/// How another host is reached.
struct HostAddress {
  std::string name;                  ///< For people.
  std::vector<std::string> carrier;  ///< argv of what starts the agent there (host_agent.h).
  std::string version;               ///< Of this smemtune: the agent's must be the same.
  double silence_s = 8;  ///< Unheard of for so long, either end takes the other for lost.
  double connect_timeout_s = 60;
  double pause_s = 1;  ///< Before it is called again; each further pause is twice as long.
  HostWelcome welcome;
};

/// Another host: its agent, started there by a program that carries its standard input and output
/// here. A host that is lost is tried again, at growing intervals.
class RemoteHost final : public WorkerHost {
 public:
  /// Starts the carrier. Whatever comes of it is told by take().
  explicit RemoteHost(HostAddress address);
  ~RemoteHost() override;

  const std::string& name() const { return address_.name; }

  /// What it said of itself last; nullopt until it was up.
  const std::optional<HostHello>& hello() const { return hello_; }

  bool is_up() const override { return state_ == State::up; }
  bool is_given_up() const override;
  void start(std::uint32_t worker, const WorkerStart& start) override;
  void send(const Frame& frame, std::span<const Module> modules) override;
  void has_compiled(const Module& module) override {
    modules_.insert_or_assign(module->number, module);
  }
  void provide(const DataFile& file) override;
  void end(std::uint32_t worker, WorkerDeath::Cause cause, const std::string& message) override;
  void hang_up() override;
  void add_polled(std::vector<pollfd>& polled) const override;
  Clock::time_point wake_at() const override;
  void take(std::span<const pollfd> polled, std::vector<HostEvent>& events) override;
  bool is_far() const override { return true; }
  pid_t process_id(std::uint32_t) const override { return -1; }

 private:
  enum class State {
    calling,   ///< The agent's first line has not come...
    greeting,  ///< ... its hello has not come...
    up,
    waiting,  ///< ... to be tried again.
    refused,  ///< It is of another version.
  };

  void call();
  void read_first_line();
  void read(std::vector<HostEvent>& events);
  void take(Frame frame, std::vector<HostEvent>& events);
  void provide(const Module& module);
  void drop_modules();
  void lose(const std::string& why, std::vector<HostEvent>& events);

  HostAddress address_;
  State state_ = State::waiting;
  std::unique_ptr<WorkerProcess> carrier_;
  std::unique_ptr<FrameLink> link_;  ///< Over the carrier's socket; ends before it.
  std::string first_bytes_;          ///< Before and behind the first line.
  std::optional<HostHello> hello_;
  std::set<std::string> provided_;  ///< SHA-256 of files that are there.
  /// Whose images are there: each crosses the link once, one way or the other.
  std::map<std::uint64_t, std::weak_ptr<const NumberedModule>> modules_;
  std::size_t modules_needed_ = 0;  ///< When it was last looked which of them are.
  Clock::time_point act_at_;        ///< Calling: give up; waiting: call.
  int failed_calls_ = 0;            ///< One after another.
};

}  // namespace smemtune
