#pragma once

#include "tuner/engine/messages.h"
#include "tuner/engine/problem_state.h"
#include "tuner/engine/seen_times.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// A configuration that the strategy has asked for and whose result it has not been told yet.
struct InFlight : Entry {
  /// States follow each other in this order, but a configuration whose device was lost, or that has
  /// not lost its trial, is compiled again.
  enum class State {
    compiling,
    compiled,  ///< Waits for a device.
    measuring,
    finished,  ///< Has its result.
    saved,     ///< Has its result in the log, or from it.
  };
  State state = State::compiling;
  std::uint64_t place = 0;  ///< Position in the order asked.
  std::optional<Variant> variant = std::nullopt;
  std::vector<std::uint64_t> numbers = {};  ///< Numbers in the compile queue.
  std::size_t not_compiled = 0;             ///< How many of `numbers` are not ready.
  std::vector<Module> modules = {};         ///< Set once it is compiled.
  StaticLimits limits = {};                 ///< Limits from the results told when it was asked.
  bool never_pruned = false;                ///< True if it is measured in full, however slow it is.
  /// The part of `variant` that is compiled and launched while the configuration is on trial, until
  /// it is known that it has not lost to the fastest.
  std::optional<Variant> tried = std::nullopt;
  bool has_attempt = false;  ///< True if the log knows that it is about to use a device.
  int lost_hosts = 0;        ///< Number of hosts lost while measuring it.

  bool has_result() const { return state >= State::finished; }

  /// The variant to compile and launch now.
  const Variant& launched() const { return tried ? *tried : *variant; }
};

/// Gives compiled configurations to the devices of a problem, in the order asked, and takes the
/// answers. Configurations that run the same code in the same way are measured once.
class DeviceFeed {
 public:
  /// `times`: the times seen so far, by kernel.
  DeviceFeed(Tuning& tuning, ProblemState& state, std::vector<SeenTimes>& times)
      : tuning_(tuning), state_(state), times_(times) {}

  /// Adds a compiled configuration. REQUIRES: `pending` stays in place until it has its result.
  void add(InFlight& pending) {
    pending.state = InFlight::State::compiled;
    compiled_.emplace(pending.place, &pending);
  }

  /// Forgets the configurations that wait for a device.
  void drop_waiting() { compiled_.clear(); }

  bool any_waits_for_device() const { return !compiled_.empty(); }

  /// The next configuration for a device.
  struct Assignment {
    InFlight* pending = nullptr;
    std::size_t device = 0;
  };

  struct Assigned {
    std::vector<Assignment> assignments;
    std::vector<InFlight*> shared;  ///< Configurations that got the result of another with the same
                                    ///< code.
  };

  /// Assigns the first compiled configurations to the devices that are free. `undone`: number of
  /// configurations in flight without a result.
  Assigned assign(std::size_t undone);

  void submit(const Assignment& assignment);

  struct Answered {
    std::vector<InFlight*> finished;   ///< Have their results.
    std::vector<InFlight*> undecided;  ///< Have not lost their trials.
  };

  Answered take_answers();

 private:
  /// A configuration that a device is evaluating.
  struct Evaluation {
    InFlight* pending = nullptr;
    EvaluateRequest asked = {};  ///< Without modules.
  };

  const KernelOnProblems& kernel(const InFlight& pending) const {
    return state_.kernels[pending.candidate.kernel];
  }
  const TuningOptions& options() const { return tuning_.request.options; }

  bool is_being_measured(const std::string& identity) const;
  std::vector<std::size_t> free_devices();
  bool share(InFlight& pending);
  void take_answer(std::size_t device, const DeviceAnswer& answer, Answered& answered);
  void take_result(InFlight& pending, const DeviceAnswer& answer, const Evaluation& evaluation,
                   const EvaluateReply& reply, std::size_t device);

  Tuning& tuning_;
  ProblemState& state_;
  std::vector<SeenTimes>& times_;
  std::map<std::uint64_t, InFlight*> compiled_;    ///< Waiting for a device, in the order asked.
  std::vector<std::deque<Evaluation>> on_device_;  ///< Indexed like ProblemState::devices.
  std::map<std::string, Result> measured_;         ///< Results by identity.
  std::size_t next_device_ = 0;                    ///< The first device to be given work.
};

}  // namespace smemtune
