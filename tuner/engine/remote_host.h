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

/// Returns the first line that the agent prints, which must be equal at both ends of a link between
/// hosts: `smemtune-host 0.2.0 2` (the version and kWireVersion).
std::string host_line(const std::string& version);

/// How to reach another host.
struct HostAddress {
  std::string name;                  ///< For people.
  std::vector<std::string> carrier;  ///< Command line that starts the agent there (host_agent.h).
  std::string version;               ///< Version of this smemtune, which the agent's must equal.
  double silence_s = 8;  ///< Either end takes the other for lost when it hears nothing for so long.
  double connect_timeout_s = 60;
  double pause_s = 1;  ///< Before the first new call; each further pause is twice as long.
  HostWelcome welcome;
};

/// A WorkerHost on another machine: its agent is started there by a carrier, a program that
/// connects the agent's standard input and output to this process. A host that is lost is called
/// again, at growing intervals.
class RemoteHost final : public WorkerHost {
 public:
  /// Starts the carrier. take() reports how that ended.
  explicit RemoteHost(HostAddress address);
  ~RemoteHost() override;

  const std::string& name() const { return address_.name; }

  /// The host's latest hello; nullopt until it was up.
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
    calling,   ///< The agent's first line has not come.
    greeting,  ///< The agent's hello has not come.
    up,
    waiting,  ///< Lost; will be called again.
    refused,  ///< Another version runs there.
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
  std::unique_ptr<FrameLink> link_;  ///< Uses the carrier's socket; destroyed before it.
  std::string first_bytes_;          ///< Bytes read before and behind the first line.
  std::optional<HostHello> hello_;
  std::set<std::string> provided_;  ///< SHA-256 of the files that are there.
  /// Modules whose images are there: each crosses the link once, in one direction.
  std::map<std::uint64_t, std::weak_ptr<const NumberedModule>> modules_;
  std::size_t modules_needed_ = 0;  ///< Modules in use at the last drop_modules().
  Clock::time_point act_at_;        ///< Calling: when to give up; waiting: when to call.
  int failed_calls_ = 0;            ///< Consecutive failures.
};

}  // namespace smemtune
