#pragma once

#include "tuner/engine/messages.h"
#include "tuner/engine/problem_state.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace smemtune {

/// A configuration in the final race, with all entries that run the same code.
struct Contender {
  std::size_t entry = 0;                ///< Index in ProblemState::entries.
  std::vector<std::size_t> twins = {};  ///< Other entries with the same code and launches.
  std::optional<Variant> variant = std::nullopt;
  std::vector<std::uint64_t> numbers = {};  ///< Numbers in the compile queue.
  std::vector<Module> modules = {};
  std::uint64_t kept_on = 0;            ///< Generation of the worker that keeps the variant loaded.
  std::vector<double> clocks_mhz = {};  ///< SM clocks during the samples of the last stage, where
                                        ///< known.
  int discarded = 0;                    ///< Number of discarded samples in the last stage.
  bool throttled = false;               ///< True if a sample that was kept was throttled.
  int lost = 0;  ///< Times that something else killed the worker during this contender's turn.
  bool failed = false;
};

/// Returns a contender for each distinct code and launches among the timed entries.
std::vector<Contender> find_contenders(const ProblemState& state);

/// Returns the result of the contender's own entry.
Result& result_of(ProblemState& state, const Contender& contender);
const Result& result_of(const ProblemState& state, const Contender& contender);
const KernelOnProblems& kernel_of(const ProblemState& state, const Contender& contender);

/// Copies the contender's measurement to its twins.
void share_with_twins(ProblemState& state, const Contender& contender);

/// Returns whether the contender or one of its twins is its kernel's default.
bool holds_default(const ProblemState& state, const Contender& contender);

/// Returns whether the contender or one of its twins has the kernel and configuration of `wanted`.
bool holds(const ProblemState& state, const Contender& contender, const Result& wanted);

/// The device of the finals: loads contenders onto it, verifies and samples them. It stays the same
/// unit for as long as that exists, because only times of one unit can be compared.
class FinalsDevice {
 public:
  using Fail = std::function<void(Contender&, const Failure&)>;

  /// `fail` is called once for each contender that fails.
  FinalsDevice(Tuning& tuning, ProblemState& state, std::vector<Contender>& contenders, Fail fail)
      : tuning_(tuning), state_(state), contenders_(contenders), fail_(std::move(fail)) {}

  const Device& device() { return session().device(); }

  /// Takes one sample of each contender in `round` (indices); NaN for one that failed. Returns an
  /// empty vector when the run must end.
  std::vector<double> measure(const std::vector<std::size_t>& round);

  /// Duration of the last round, without loading.
  double round_s() const { return round_s_; }

  /// Verifies a contender by itself, and screens it too if asked to. Returns true if it was found
  /// right, false when it has failed or the run must end.
  bool verify(Contender& contender, bool screen = false);

  /// Reads the hardware counters of a contender that was verified. Empty when the run must end.
  FactsReport count(Contender& contender);

  /// Repeats a contender that was verified, and reads its energy. Empty when the run must end.
  FactsReport energy(Contender& contender);

  /// Replaces the worker before the next request, so that nothing of counting or
  /// repeating is left in it.
  void renew() { session().context_is_lost(); }

 private:
  DeviceSession& session();
  void load(const std::vector<std::size_t>& round);
  bool is_kept(const Contender& contender);
  void want_modules(Contender& contender);
  bool take_modules(Contender& contender);
  void keep(Contender& contender, std::size_t slot);
  double deadline(const Contender& contender) const;
  FactsReport facts(Contender& contender, EvaluateRequest request, double more_s);
  std::optional<EvaluateReply> reply_to(Contender& contender, EvaluateRequest request,
                                        std::uint64_t& generation, double more_s = 0);
  bool evaluate(Contender& contender, EvaluateRequest request);
  std::vector<double> sample(const std::vector<std::size_t>& round);
  bool wait_until_ready();
  std::optional<DeviceAnswer> ask(MessageType type, std::vector<std::uint8_t> payload,
                                  std::vector<Module> modules, double limit_s, bool try_again);

  Tuning& tuning_;
  ProblemState& state_;
  std::vector<Contender>& contenders_;
  Fail fail_;
  std::size_t unit_ = 0;  ///< Index in ProblemState::devices.
  double round_s_ = 0;
};

}  // namespace smemtune
