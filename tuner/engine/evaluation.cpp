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

std::string loss_text(const EvaluateReply& reply, const EvaluateRequest& asked) {
  const bool is_to_any = reply.fastest_ms == asked.loss.fastest_of_all_ms;
  const std::vector<double>& launches_ms = reply.time.samples_ms;
  return "timed and compared " + std::string(launches_ms.size() > 1 ? "twice" : "once") +
         " only: it took " + ms_text(launches_ms.front()) +
         (launches_ms.size() > 1 ? " and " + ms_text(launches_ms.back()) : "") + " where " +
         (is_to_any ? "the fastest of all kernels" : "its kernel's fastest so far") + " took " +
         ms_text(reply.fastest_ms) + " (--no-early-loss verifies and times it in full)";
}

}  // namespace

EvaluateReply read_evaluation(const DeviceAnswer& answer, const EvaluateRequest& asked,
                              DeviceSession& device) {
  Outcome<EvaluateReply> reply =
      read_reply<EvaluateReply>(answer, MessageType::evaluated, "no evaluation", asked, device);
  if (!reply) {
    EvaluateReply none;
    none.failure = reply.failure();
    return none;
  }
  if (reply->failure && reply->failure->context_lost) device.context_is_lost();
  return std::move(*reply);
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

void take_facts(const FactsReport& report, Result& result) {
  for (std::size_t i = 0; i < report.launches.size() && i < result.launches.size(); ++i) {
    for (const auto& [name, value] : report.launches[i]) result.launches[i].facts[name] = value;
  }
}

double energy_overtime_s(const Result& result) {
  // It waits for the GPU to become idle and to become warm, and for some batches of launches to end.
  constexpr double kOverhead_s = 10;
  constexpr double kLaunches = 10;
  return kEnergy_s + kOverhead_s + kLaunches * 1e-3 * result.measurement.median_ms;
}

FactsReport credible_energy(FactsReport report, const Result& result) {
  // Launches that follow one another may be faster than those that are timed, which begin with a
  // cold L2 cache, but not by more than this unless they no longer do their work.
  constexpr double kLeastRepeated = 0.25;
  if (report.launches.empty()) return report;
  const double repeated_ms = report.launches.front().at("energy.launch_ms");
  if (repeated_ms >= kLeastRepeated * result.measurement.median_ms) return report;
  return {.launches = {},
          .refused = result.kernel + " does less when it is repeated on the same data"};
}

void take_screening(const EvaluateReply& reply, const EvaluateRequest& asked, Result& result) {
  result.verify_ms = reply.verify_ms;
  result.first_launch_ms = reply.first_launch_ms;
  if (reply.failure) {
    set_failure(result, *reply.failure);
    return;
  }
  const TimeReport& time = reply.time;
  result.max_absolute_error = reply.lost ? std::nan("") : reply.max_absolute_error;
  result.max_relative_error = reply.lost ? std::nan("") : reply.max_relative_error;
  result.stage = Stage::screen;
  result.given_up = reply.lost;
  result.measurement = summarize(time.samples_ms, time.launches_per_sample);
  result.measurement.discarded = time.discarded;
  result.measurement.sm_clock_mhz = time.sm_clock_mhz;
  result.measurement.throttled = time.throttled;
  take_launch_times(reply, result);
  const std::string differences = cross_check(result, reply.loaded);
  if (!differences.empty()) result.detail = "compiler and driver differ: " + differences;
  if (reply.lost) {
    result.detail += std::string(result.detail.empty() ? "" : "; ") + loss_text(reply, asked);
    return;
  }
  const bool is_short = time.samples_ms.size() < static_cast<std::size_t>(asked.screen_samples);
  if (is_short && asked.stop_above_ms > 0 && time.samples_ms.back() > asked.stop_above_ms) {
    result.detail += std::string(result.detail.empty() ? "" : "; ") +
                     "not sampled further: its first sample is far slower than its kernel's best";
  }
}

}  // namespace smemtune
