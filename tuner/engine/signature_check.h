#pragma once

#include "tuner/engine/compile_queue.h"
#include "tuner/engine/problem_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Lets the workers check the default configuration of each kernel on each of the request's
/// problems, without compiling it to the end, while they also compile what the search asks for.
/// Other compile errors are ignored here.
class SignatureCheck {
 public:
  SignatureCheck(const Tuning& tuning, const std::vector<const KernelTemplate*>& kernels);

  /// Has the entries compiled, unless that has begun.
  void begin();

  void pump() { queue_.pump(); }
  void handle(const WorkerEvent& event) { queue_.handle(event); }

  /// Returns true once all are checked. Throws InputError that lists every entry whose arguments
  /// differ from those that the space passes.
  bool is_done();

 private:
  struct Question {
    std::string kernel;
    CompileRequest request;
    std::optional<std::uint64_t> number = std::nullopt;  ///< Number in the queue.
  };

  std::string space_file_;
  CompileQueue queue_;  ///< Its own, because the search counts what its queue compiles.
  std::vector<Question> questions_;
};

}  // namespace smemtune
