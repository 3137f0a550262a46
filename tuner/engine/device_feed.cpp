#include "tuner/engine/device_feed.h"

#include "tuner/engine/evaluation.h"
#include "tuner/engine/preparation.h"
#include "tuner/engine/too_fast.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace smemtune {

DeviceFeed::Assigned DeviceFeed::assign(std::size_t undone) {
  on_device_.resize(state_.devices.size());  // Devices may have been added.
  std::size_t at_work = 0;
  for (const auto& evaluations : on_device_) at_work += evaluations.size();
  if (state_.devices.empty() || undone == at_work) return {};
  if (!devices_have_preparation(tuning_, state_)) return {};
  const std::vector<std::size_t> free = free_devices();
  Assigned assigned;
  for (auto next = compiled_.begin();
       next != compiled_.end() && assigned.assignments.size() < free.size();) {
    InFlight& pending = *next->second;
    if (share(pending)) {
      assigned.shared.push_back(&pending);
    } else if (is_being_measured(pending.identity)) {
      ++next;
      continue;
    } else {
      const std::size_t device = free[assigned.assignments.size()];
      next_device_ = device + 1;
      pending.state = InFlight::State::measuring;
      on_device_[device].push_back({.pending = &pending});
      assigned.assignments.push_back({.pending = &pending, .device = device});
    }
    next = compiled_.erase(next);
  }
  return assigned;
}

bool DeviceFeed::is_being_measured(const std::string& identity) const {
  const auto is_it = [&](const Evaluation& evaluation) {
    return evaluation.pending->identity == identity;
  };
  return !identity.empty() && std::ranges::any_of(on_device_, [&](const auto& evaluations) {
    return std::ranges::any_of(evaluations, is_it);
  });
}

/// Returns the idle devices, then those that take a request ahead. Begins at another device each
/// time: all are idle while the compilers are behind, and none should be left out.
std::vector<std::size_t> DeviceFeed::free_devices() {
  std::vector<std::size_t> free;
  std::vector<std::size_t> ahead;
  for (std::size_t behind = 0; behind < state_.devices.size(); ++behind) {
    const std::size_t i = (next_device_ + behind) % state_.devices.size();
    // Every device is asked, because ready() is what prepares it.
    const bool is_idle = !state_.devices[i].busy() && state_.devices[i].ready();
    if (is_idle) free.push_back(i);
    if (state_.devices[i].takes_ahead()) ahead.push_back(i);
  }
  free.insert(free.end(), ahead.begin(), ahead.end());
  return free;
}

/// Gives `pending` the result of a configuration that ran the same code in the same way. Returns
/// false when none was measured.
bool DeviceFeed::share(InFlight& pending) {
  const auto found = measured_.find(pending.identity);
  if (found == measured_.end()) return false;
  const Result& twin = found->second;
  const auto samples = static_cast<std::size_t>(options().screen_samples);
  const bool was_cut =
      twin.lost_early() || (twin.timed() && twin.measurement.samples_ms.size() < samples);
  if ((pending.never_pruned || pending.result.is_default) && was_cut) return false;
  take_measurement(pending.result, twin);
  pending.origin = Entry::Origin::twin;
  return true;
}

void DeviceFeed::submit(const Assignment& assignment) {
  const InFlight& pending = *assignment.pending;
  const SeenTimes& times = times_[pending.candidate.kernel];
  const Result& result = pending.result;
  EvaluateRequest asked = {.job = make_job(pending.launched(), pending.modules),
                           .verify = !pending.tried,
                           .screen_samples = std::max(1, options().screen_samples),
                           .enough_ms = options().screen_ms,
                           .classify = kernel(pending).is_self_verified()};
  if (options().early_loss) asked.rivals = static_cast<std::int32_t>(pending.candidate.kernel);
  if (!pending.never_pruned) {
    if (result.is_default) {
      asked.loss.kept_below_ms = kLongLaunch_ms;
    } else {
      asked.loss = loss_limits(times_, pending.candidate.kernel);
    }
    const double fastest_ms = fastest_of_all_ms(times_);
    if (fastest_ms < HUGE_VAL) asked.loss.fastest_of_all_ms = fastest_ms;
  }
  const bool is_cut =
      !result.is_default && times.least_ms() < HUGE_VAL && asked.loss.doubtful_above == 0;
  asked.stop_above_ms = is_cut ? options().cut_factor * times.least_ms() : 0;
  const std::optional<Pace>& pace = state_.paces[pending.candidate.kernel];
  state_.devices[assignment.device].submit(
      MessageType::evaluate, pack(asked), pending.modules,
      deadline_s(options(), result.is_default ? std::nullopt : pace, state_.slowest_s), true);
  asked.job.modules.clear();
  on_device_[assignment.device].back().asked = std::move(asked);
}

DeviceFeed::Answered DeviceFeed::take_answers() {
  on_device_.resize(state_.devices.size());
  Answered answered;
  for (std::size_t i = 0; i < state_.devices.size(); ++i) {
    while (const auto answer = state_.devices[i].take_answer()) take_answer(i, *answer, answered);
  }
  return answered;
}

void DeviceFeed::take_answer(std::size_t device, const DeviceAnswer& answer, Answered& answered) {
  const Evaluation evaluation = std::move(on_device_[device].front());
  on_device_[device].pop_front();
  InFlight* const pending = evaluation.pending;
  // Another device takes it, unless it was already running when two hosts were lost.
  if (answer.not_asked || (answer.host_lost && ++pending->lost_hosts < kMaxLostHosts)) {
    add(*pending);
    return;
  }
  const EvaluateReply reply = read_evaluation(answer, evaluation.asked, state_.devices[device]);
  if (pending->tried && !reply.failure && !reply.lost) {
    answered.undecided.push_back(pending);
    return;
  }
  take_result(*pending, answer, evaluation, reply, device);
  answered.finished.push_back(pending);
}

void DeviceFeed::take_result(InFlight& pending, const DeviceAnswer& answer,
                             const Evaluation& evaluation, const EvaluateReply& reply,
                             std::size_t device) {
  Result& result = pending.result;
  result.unit = state_.devices[device].device().uuid;
  if (reply.output_class >= 0) {
    pending.output_class = result.unit + "/" + std::to_string(answer.generation) + "/" +
                           std::to_string(reply.output_class);
  }
  take_screening(reply, evaluation.asked, result);
  if (const auto failure = too_fast(tuning_, state_, kernel(pending), result)) {
    set_failure(result, *failure);
  }
  set_compared(result, state_, kernel(pending), pending.variant->parts);
  refuse_unlike_itself(kernel(pending), result);
  times_[pending.candidate.kernel].see_launches(reply);
  if (!reply.failure) state_.slowest_s = std::max(state_.slowest_s, answer.elapsed_s);
  note_pace(state_, pending.candidate.kernel, *pending.variant, result, options().screen_samples,
            answer.elapsed_s);
  if (!result.unit.empty()) ++tuning_.summary.evaluated_on[result.unit];
  // A crash or a hang may have been bad luck; right or wrong outputs are repeatable.
  const Status status = result.status;
  if (!pending.identity.empty() && (status == Status::correct || status == Status::correctness)) {
    measured_.insert_or_assign(pending.identity, result);
  }
}

}  // namespace smemtune
