#include "tuner/engine/finals_device.h"

#include "tuner/engine/evaluation.h"
#include "tuner/engine/preparation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace smemtune {

namespace {

bool any_of(const ProblemState& state, const Contender& contender,
            const std::function<bool(const Result&)>& is_wanted) {
  return is_wanted(result_of(state, contender)) ||
         std::ranges::any_of(contender.twins, [&](std::size_t twin) {
           return is_wanted(state.entries[twin].result);
         });
}

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// A round counts as hung after this many times the duration that the screens promise, plus an
// overhead for each entry: flushing the L2 and waiting for the clock to recover take time.
constexpr double kSlowRound = 20;
constexpr double kEntryOverhead_s = 0.5;

// Samples of each single launch of a finalist.
constexpr int kLaunchSamples = 9;

void note_clock(Contender& contender, const RoundSample& sample) {
  if (sample.sm_clock_mhz > 0) contender.clocks_mhz.push_back(sample.sm_clock_mhz);
  contender.discarded += sample.discarded;
  contender.throttled = contender.throttled || sample.throttled;
}

}  // namespace

std::vector<Contender> find_contenders(const ProblemState& state) {
  std::vector<Contender> contenders;
  std::map<std::string, std::size_t> by_identity;
  for (std::size_t i = 0; i < state.entries.size(); ++i) {
    const Entry& entry = state.entries[i];
    if (!entry.result.timed() || entry.result.given_up) continue;
    if (!entry.identity.empty()) {
      const auto [same, is_new] = by_identity.try_emplace(entry.identity, contenders.size());
      if (!is_new) {
        Contender& contender = contenders[same->second];
        contender.twins.push_back(i);
        // The entry that was compiled and measured first stands for the others.
        if (state.entries[contender.entry].origin == Entry::Origin::twin &&
            entry.origin != Entry::Origin::twin) {
          std::swap(contender.entry, contender.twins.back());
        }
        continue;
      }
    }
    contenders.push_back({.entry = i});
  }
  return contenders;
}

Result& result_of(ProblemState& state, const Contender& contender) {
  return state.entries[contender.entry].result;
}

const Result& result_of(const ProblemState& state, const Contender& contender) {
  return state.entries[contender.entry].result;
}

const KernelOnProblems& kernel_of(const ProblemState& state, const Contender& contender) {
  return state.kernels[state.entries[contender.entry].candidate.kernel];
}

void share_with_twins(ProblemState& state, const Contender& contender) {
  for (const std::size_t i : contender.twins) {
    take_measurement(state.entries[i].result, result_of(state, contender));
  }
}

bool holds_default(const ProblemState& state, const Contender& contender) {
  return any_of(state, contender, [](const Result& result) { return result.is_default; });
}

bool holds(const ProblemState& state, const Contender& contender, const Result& wanted) {
  return any_of(state, contender, [&](const Result& other) {
    return other.kernel == wanted.kernel && other.configuration == wanted.configuration;
  });
}

DeviceSession& FinalsDevice::session() {
  const auto is_there = [](const DeviceSession& session) { return !session.gone(); };
  if (!is_there(state_.devices[unit_])) {
    const auto other = std::ranges::find_if(state_.devices, is_there);
    // When all hosts are away, wait for the present one.
    if (other != state_.devices.end()) {
      unit_ = static_cast<std::size_t>(other - state_.devices.begin());
    }
  }
  return state_.devices[unit_];
}

std::vector<double> FinalsDevice::measure(const std::vector<std::size_t>& round) {
  std::vector<double> times_ms;
  while (times_ms.empty() && !tuning_.must_end()) {
    load(round);
    if (tuning_.must_end()) break;
    const double start_s = tuning_.elapsed_s();
    times_ms = sample(round);
    round_s_ = tuning_.elapsed_s() - start_s;
  }
  return times_ms;
}

bool FinalsDevice::verify(Contender& contender, bool screen) {
  want_modules(contender);
  if (contender.failed || !take_modules(contender)) return false;
  const TuningOptions& options = tuning_.request.options;
  if (!evaluate(contender, {.job = make_job(*contender.variant, contender.modules),
                            .verify = true,
                            .screen_samples = screen ? std::max(1, options.screen_samples) : 0,
                            .enough_ms = options.screen_ms,
                            .launch_samples = screen ? 0 : kLaunchSamples})) {
    return false;
  }
  set_compared(result_of(state_, contender), state_, kernel_of(state_, contender),
               contender.variant->parts);
  share_with_twins(state_, contender);
  return true;
}

/// Loads every contender of the round onto the device.
void FinalsDevice::load(const std::vector<std::size_t>& round) {
  for (const std::size_t i : round) want_modules(contenders_[i]);
  for (const std::size_t i : round) {
    Contender& contender = contenders_[i];
    while (!contender.failed && !tuning_.must_end() && !is_kept(contender)) {
      if (take_modules(contender)) keep(contender, i);
    }
  }
}

bool FinalsDevice::is_kept(const Contender& contender) {
  return contender.kept_on == session().generation();
}

void FinalsDevice::want_modules(Contender& contender) {
  if (contender.failed || is_kept(contender) || contender.variant) return;
  Outcome<Variant> variant = plan(kernel_of(state_, contender), state_.set,
                                  result_of(state_, contender).configuration, tuning_.device);
  if (!variant) {
    fail_(contender, variant.failure());
    return;
  }
  contender.numbers = tuning_.queue.add_all(variant->requests, /*first=*/true);
  contender.variant = std::move(*variant);
}

/// Waits for a contender's modules. Returns false when it has failed or the run must end.
bool FinalsDevice::take_modules(Contender& contender) {
  while (!tuning_.queue.all_ready(contender.numbers)) {
    if (tuning_.must_end()) return false;
    work(tuning_, state_);
  }
  if (contender.numbers.empty()) return true;  // The modules were taken before.
  Outcome<std::vector<Module>> modules = tuning_.queue.take(std::exchange(contender.numbers, {}));
  if (!modules) {
    fail_(contender, modules.failure());
    return false;
  }
  contender.modules = std::move(*modules);
  return true;
}

void FinalsDevice::keep(Contender& contender, std::size_t slot) {
  evaluate(contender, {.job = make_job(*contender.variant, contender.modules),
                       .verify = false,
                       .keep_as = static_cast<std::int32_t>(slot)});
}

double FinalsDevice::deadline(const Contender& contender) const {
  const std::size_t kernel = state_.entries[contender.entry].candidate.kernel;
  const bool is_default = result_of(state_, contender).is_default;
  return deadline_s(tuning_.request.options, is_default ? std::nullopt : state_.paces[kernel],
                    state_.slowest_s);
}

FactsReport FinalsDevice::count(Contender& contender) {
  return facts(contender, {.job = make_job(*contender.variant, contender.modules), .count = true},
               0);
}

FactsReport FinalsDevice::energy(Contender& contender) {
  return facts(contender,
               {.job = make_job(*contender.variant, contender.modules), .energy_s = kEnergy_s},
               energy_overtime_s(result_of(state_, contender)));
}

FactsReport FinalsDevice::facts(Contender& contender, EvaluateRequest request, double more_s) {
  request.verify = false;
  std::uint64_t generation = 0;
  const std::optional<EvaluateReply> reply =
      reply_to(contender, std::move(request), generation, more_s);
  if (!reply) return {};
  if (reply->failure) return {.launches = {}, .refused = reply->failure->detail};
  return reply->facts;
}

/// Returns the reply and what generation of the worker gave it; nullopt when the run must end.
/// `more_s` is added to the contender's deadline.
std::optional<EvaluateReply> FinalsDevice::reply_to(Contender& contender, EvaluateRequest request,
                                                    std::uint64_t& generation, double more_s) {
  const std::vector<std::uint8_t> payload = pack(request);
  request.job.modules.clear();
  std::optional<DeviceAnswer> answer;
  do {
    if (!wait_until_ready()) return std::nullopt;
    answer =
        ask(MessageType::evaluate, payload, contender.modules, deadline(contender) + more_s, true);
    if (!answer) return std::nullopt;
  } while (answer->not_asked || (answer->host_lost && ++contender.lost < kMaxLostHosts));
  generation = answer->generation;
  return read_evaluation(*answer, request, session());
}

/// Returns false when the contender has failed or the run must end.
bool FinalsDevice::evaluate(Contender& contender, EvaluateRequest request) {
  const bool is_kept = request.keep_as >= 0;
  std::uint64_t generation = 0;
  const std::optional<EvaluateReply> reply = reply_to(contender, std::move(request), generation);
  if (!reply) return false;
  if (reply->failure) {
    fail_(contender, *reply->failure);
    return false;
  }
  if (is_kept) contender.kept_on = generation;
  if (!reply->time.launches_ms.empty()) {
    take_launch_times(*reply, result_of(state_, contender));
    share_with_twins(state_, contender);
  }
  return true;
}

/// Returns an empty vector when the round must be repeated: a contender has failed or the worker
/// was replaced.
std::vector<double> FinalsDevice::sample(const std::vector<std::size_t>& round) {
  SampleRoundRequest request;
  std::vector<std::size_t> places;  ///< Places in the round of the request's entries.
  double expected_s = 0;
  for (std::size_t place = 0; place < round.size(); ++place) {
    const Contender& contender = contenders_[round[place]];
    if (contender.failed) continue;
    const Measurement& screen = result_of(state_, contender).measurement;
    request.push_back({.slot = static_cast<std::int32_t>(round[place]),
                       .launches_per_sample = screen.launches_per_sample});
    places.push_back(place);
    expected_s += screen.median_ms * 1e-3 * screen.launches_per_sample;
  }
  std::vector<double> times_ms(round.size(), kNotMeasured);
  if (places.empty()) return times_ms;
  if (!wait_until_ready()) return {};
  for (const std::size_t place : places) {
    if (!is_kept(contenders_[round[place]])) return {};
  }
  const double limit_s = tuning_.request.options.min_deadline_s + kSlowRound * expected_s +
                         kEntryOverhead_s * static_cast<double>(places.size());
  const std::optional<DeviceAnswer> answer =
      ask(MessageType::sample_round, pack(request), {}, limit_s, false);
  if (!answer || answer->not_asked || answer->host_lost) return {};
  const Outcome<SampleRoundReply> reply =
      read_reply<SampleRoundReply>(*answer, MessageType::sampled, "no samples", request, session());
  if (!reply) {
    const auto at = static_cast<std::size_t>(std::max(0, answer->phase_number));
    Contender& guilty = contenders_[round[places[std::min(at, places.size() - 1)]]];
    if (!answer->from_outside || ++guilty.lost > 1) fail_(guilty, reply.failure());
    return {};
  }
  bool lost_context = false;
  for (std::size_t i = 0; i < reply->size(); ++i) {
    const RoundSample& sample = (*reply)[i];
    if (sample.failure) {
      lost_context = lost_context || sample.failure->context_lost;
      fail_(contenders_[round[places[i]]], *sample.failure);
    } else {
      times_ms[places[i]] = sample.time_ms;
      // The clock of the leader's second sample, its A/A twin, is not noted.
      const auto here = round.begin() + static_cast<std::ptrdiff_t>(places[i]);
      if (std::find(round.begin(), here, *here) == here) note_clock(contenders_[*here], sample);
    }
  }
  if (!lost_context) return times_ms;
  session().context_is_lost();
  return {};
}

/// Waits until the device is prepared. Returns false when the run must end.
bool FinalsDevice::wait_until_ready() {
  while (!devices_have_preparation(tuning_, state_) || !session().ready()) {
    if (tuning_.must_end()) return false;
    work(tuning_, state_);
  }
  return true;
}

/// Returns nullopt when the run must end before the answer has come. REQUIRES: wait_until_ready().
std::optional<DeviceAnswer> FinalsDevice::ask(MessageType type, std::vector<std::uint8_t> payload,
                                              std::vector<Module> modules, double limit_s,
                                              bool try_again) {
  DeviceSession& asked = session();
  asked.submit(type, std::move(payload), std::move(modules), limit_s, try_again);
  while (!tuning_.must_end()) {
    work(tuning_, state_);
    if (auto answer = asked.take_answer()) return answer;
  }
  return std::nullopt;
}

}  // namespace smemtune
