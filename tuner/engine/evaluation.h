#pragma once

#include "tuner/core/result.h"
#include "tuner/engine/device_session.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/variant.h"

namespace smemtune {

/// What a device made of an evaluation, checked. Where it made nothing, as its worker was lost or
/// sent what is no answer to this, the reply's failure says so. A worker that has lost its context
/// is replaced. `asked` needs no modules.
EvaluateReply read_evaluation(const DeviceAnswer& answer, const EvaluateRequest& asked,
                              DeviceSession& device);

/// Throws ReferenceError for the default of a kernel that is compared with nothing else, where it
/// differs from what it gave before: two runs may agree by luck while blocks race for an element.
void refuse_unlike_itself(const KernelOnProblems& kernel, const Result& result);

/// What each launch took by itself, where that was measured.
void take_launch_times(const EvaluateReply& reply, Result& result);

/// Makes what was found in screening a configuration its result.
void take_screening(const EvaluateReply& reply, const EvaluateRequest& asked, Result& result);

}  // namespace smemtune
