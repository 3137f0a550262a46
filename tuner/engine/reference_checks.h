#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/definition_checks.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"
#include "tuner/engine/worker_channel.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Checks the reference against whatever else vouches for it, and how much a comparison with it can
// reveal.

namespace smemtune {

/// Adds to `outputs` what the reference wrote in a workload: `kept`, which launcher.kept()
/// returned. Where an output of the problem is listed already, the larger number of changed elements
/// is kept.
void add_outputs(Launcher& launcher, const std::vector<KeptOutput>& kept,
                 const NumberedWorkload& workload, std::vector<ReferenceOutput>& outputs);

/// Returns a sentence for each output of which the reference changed only a part and for each
/// output that is the same everywhere. The first problem has several sets of data; on a problem
/// with a single set, equal elements may follow from the data and are not reported.
std::vector<std::string> notes_on(const std::vector<ReferenceOutput>& outputs);

/// Measures the comparison with the reference itself: changes a few elements of each output as a
/// wrong kernel might, and compares. Returns a sentence for each output of which the comparison
/// does not notice zeroed elements, two swapped elements, a flipped highest bit (of floating types
/// the sign) or a row that is shifted by one element. Changes that an output does not allow, such
/// as swapping elements that are all equal, are skipped. `kept`: see add_outputs().
Outcome<std::vector<std::string>> blind_spots(Launcher& launcher,
                                              const std::vector<KeptOutput>& kept,
                                              const Check& reference,
                                              const NumberedWorkload& workload);

/// Compares what the reference writes with whatever else vouches for it: definitions, which are
/// evaluated meanwhile, and files of expected outputs.
class ReferenceChecks {
 public:
  ReferenceChecks(Launcher& launcher, WorkerChannel& channel)
      : launcher_(launcher), channel_(channel) {}

  /// Begins to evaluate the request's definitions, unless that has begun.
  void begin(const PrepareRequest& request);
  void buffers_are_filled() {
    if (definitions_) definitions_->buffers_are_filled();
  }
  /// Returns true from begin() to end() if there are definitions to compare with.
  bool has_definitions() const { return definitions_ != nullptr; }
  void end() { definitions_.reset(); }

  /// Compares what the reference has kept of a workload. `tuned`: the problem that files are for.
  std::optional<Failure> hold(const Check& check, const NumberedWorkload& workload,
                              const Problem& tuned, const PrepareRequest& request,
                              PrepareReply& reply);

 private:
  std::optional<Failure> hold_against_definitions(const Check& check, const PrepareRequest& request,
                                                  PrepareReply& reply);
  std::optional<Failure> hold_against_files(const Check& check, const NumberedWorkload& workload,
                                            const std::map<std::string, DataFile>& expected,
                                            PrepareReply& reply);

  Launcher& launcher_;
  WorkerChannel& channel_;
  std::unique_ptr<DefinitionChecks> definitions_;  ///< Null if there is nothing to compare with.
};

}  // namespace smemtune
