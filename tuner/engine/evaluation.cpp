#include "tuner/engine/evaluation.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"
#include "tuner/source/kept_variables.h"

#include <cstddef>
#include <string>

namespace smemtune {

namespace {

std::string ms_text(double ms) { return significant(ms, 4) + " ms"; }

std::string loss_text(const EvaluateReply& reply, const LossLimits& limits) {
  const bool was_sampled = !reply.time.samples_ms.empty();
  const double limit_ms = was_sampled ? limits.sampled_above_ms : limits.lost_above_ms;
  return "its first launch took " + ms_text(reply.first_launch_ms) +
         (was_sampled ? " and a sample " + ms_text(reply.time.samples_ms.front()) : "") +
         "; above " + ms_text(limit_ms) +
         " it cannot win, so it was verified on the first set of data only and not timed further "
         "(--no-early-loss does both in full)";
}

}  // namespace

EvaluateReply read_evaluation(const DeviceAnswer& answer, const EvaluateRequest& asked,
                              DeviceSession& device) {
  EvaluateReply reply;
  if (!answer.reply) {
    reply.failure = answer.failure;
    return reply;
  }
  try {
    if (answer.reply->type != MessageType::evaluated) throw WireError("no evaluation");
    reply = unpack<EvaluateReply>(answer.reply->payload);
    check(reply, asked);
  } catch (const WireError& error) {
    device.context_is_lost();
    reply = EvaluateReply();
    reply.failure = failure({Status::runtime, "crash"},
                            std::string("the device worker answered with ") + error.what());
    return reply;
  }
  if (reply.failure && reply.failure->context_lost) device.context_is_lost();
  return reply;
}

void refuse_unlike_itself(const KernelOnProblems& kernel, const Result& result) {
  if (!kernel.is_self_verified() || !result.is_default || result.reason != "mismatch") return;
  throw ReferenceError(kernel.kernel().name + " (" + key(result.configuration) +
                       "), which the others are compared with, does not agree with itself from "
                       "run to run: " +
                       result.detail + kept_variables_hint(*kernel.source));
}

void take_launch_times(const EvaluateReply& reply, Result& result) {
  const std::vector<double>& launches_ms = reply.time.launches_ms;
  for (std::size_t i = 0; i < launches_ms.size() && i < result.launches.size(); ++i) {
    result.launches[i].time_ms = launches_ms[i];
  }
}

void take_screening(const EvaluateReply& reply, const EvaluateRequest& asked, Result& result) {
  result.verify_ms = reply.verify_ms;
  result.first_launch_ms = reply.first_launch_ms;
  if (reply.failure) {
    set_failure(result, *reply.failure);
    return;
  }
  if (reply.lost) {
    set_failure(result, failure(kBehind, loss_text(reply, asked.loss)));
    return;
  }
  const TimeReport& time = reply.time;
  result.max_absolute_error = reply.max_absolute_error;
  result.max_relative_error = reply.max_relative_error;
  result.stage = Stage::screen;
  result.measurement = summarize(time.samples_ms, time.launches_per_sample);
  result.measurement.discarded = time.discarded;
  result.measurement.sm_clock_mhz = time.sm_clock_mhz;
  result.measurement.throttled = time.throttled;
  take_launch_times(reply, result);
  const std::string differences = cross_check(result, reply.loaded);
  if (!differences.empty()) result.detail = "compiler and driver differ: " + differences;
  const bool is_short = time.samples_ms.size() < static_cast<std::size_t>(asked.screen_samples);
  if (is_short && asked.stop_above_ms > 0 && time.samples_ms.back() > asked.stop_above_ms) {
    result.detail += std::string(result.detail.empty() ? "" : "; ") +
                     "not sampled further: its first sample is far slower than its kernel's best";
  }
}

}  // namespace smemtune
