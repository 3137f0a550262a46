#pragma once

#include "tuner/engine/definition_checks.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"
#include "tuner/engine/worker_channel.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace smemtune {

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
