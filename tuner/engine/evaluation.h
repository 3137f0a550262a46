#pragma once

#include "tuner/core/outcome.h"
#include "tuner/core/result.h"
#include "tuner/engine/device_session.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/variant.h"

#include <string>

namespace smemtune {

/// Returns a device's reply to `asked`, checked; the failure when there is none, because the worker
/// was lost or sent an invalid answer: then it is replaced. `none`: what another message is.
template <typename Reply>
Outcome<Reply> read_reply(const DeviceAnswer& answer, MessageType type, const char* none,
                          const auto& asked, DeviceSession& device) {
  if (!answer.reply) return answer.failure;
  try {
    if (answer.reply->type != type) throw WireError(none);
    auto reply = unpack<Reply>(answer.reply->payload);
    check(reply, asked);
    return reply;
  } catch (const WireError& error) {
    device.context_is_lost();
    return Failure{.status = Status::runtime,
                   .reason = "crash",
                   .detail = std::string("the device worker answered with ") + error.what()};
  }
}

/// Returns a device's reply to an evaluation, checked. When there is none, because the worker was
/// lost or sent an invalid answer, the reply's failure says so. A worker that has lost its context
/// is replaced. `asked` needs no modules.
EvaluateReply read_evaluation(const DeviceAnswer& answer, const EvaluateRequest& asked,
                              DeviceSession& device);

/// Throws ReferenceError for the default of a kernel that is compared only with itself, where it
/// differs from its earlier outputs: two runs may agree by luck while blocks race for an element.
void refuse_unlike_itself(const KernelOnProblems& kernel, const Result& result);

/// Records the time of each launch by itself, where that was measured.
void take_launch_times(const EvaluateReply& reply, Result& result);

/// Adds to the result's launches what the device told of them.
void take_facts(const FactsReport& report, Result& result);

/// A configuration is repeated for so long while its energy is read.
constexpr double kEnergy_s = 2;

/// Returns how much longer than a deadline of its launches that may take.
double energy_overtime_s(const Result& result);

/// Returns what was read of the energy of a timed result; a refusal if it no longer does its work
/// when it is repeated.
FactsReport credible_energy(FactsReport report, const Result& result);

/// Turns the reply to a screening into the configuration's result.
void take_screening(const EvaluateReply& reply, const EvaluateRequest& asked, Result& result);

}  // namespace smemtune
