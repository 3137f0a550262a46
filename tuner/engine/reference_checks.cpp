#include "tuner/engine/reference_checks.h"

#include "tuner/core/definition.h"
#include "tuner/core/error.h"
#include "tuner/core/usable_cores.h"
#include "tuner/engine/comparison_check.h"

#include <algorithm>

namespace smemtune {
namespace {

void note_once(PrepareReply& reply, const std::string& note) {
  if (std::ranges::find(reply.notes, note) == reply.notes.end()) reply.notes.push_back(note);
}

void add(const std::vector<ComparedOutput>& compared, PrepareReply& reply) {
  for (const ComparedOutput& one : compared) add_compared(reply.compared, one);
}

}  // namespace

void ReferenceChecks::begin(const PrepareRequest& request) {
  if (request.definitions.empty() || request.again) {
    definitions_.reset();
  } else if (!definitions_ || !definitions_->are_of(request.workloads, request.definitions)) {
    definitions_.reset();
    definitions_ = std::make_unique<DefinitionChecks>(
        launcher_, request.workloads, request.definitions,
        DefinitionBudget{.host_bytes = usable_memory_bytes() / 2});
  }
}

std::optional<Failure> ReferenceChecks::hold(const Check& check, const NumberedWorkload& workload,
                                             const Problem& tuned, const PrepareRequest& request,
                                             PrepareReply& reply) {
  if (definitions_) {
    channel_.tell_phase("definition");
    if (auto failure = hold_against_definitions(check, request, reply)) return failure;
  }
  // The second set of data of the tuned problem has answers in files with two sets.
  const bool has_files = !request.expected.empty() && !request.again && workload.problem == tuned;
  return has_files ? hold_against_files(check, workload, request.expected, reply) : std::nullopt;
}

std::optional<Failure> ReferenceChecks::hold_against_definitions(const Check& check,
                                                                 const PrepareRequest& request,
                                                                 PrepareReply& reply) {
  const auto note_guess = [&](const std::string& why) {
    note_once(reply,
              "the definition that init derived from the kernel is not what the kernel "
              "computes: correct or remove it: " +
                  why);
  };
  try {
    const Outcome<Comparisons> held = definitions_->compare(check);
    if (held) {
      for (const std::string& note : held->notes) note_once(reply, note);
      // Agreement means nothing for a definition that was read from the kernel itself.
      if (!request.definition_is_a_guess) add(held->compared, reply);
      return std::nullopt;
    }
    const Failure& failure = held.failure();
    const bool is_wrong = failure.status == Status::correctness && failure.reason == "definition";
    if (!is_wrong || !request.definition_is_a_guess) return failure;
    note_guess(failure.detail);
  } catch (const ExpressionError& error) {
    const std::string why = "on " + check.label + ": " + error.what();
    if (!request.definition_is_a_guess) throw InputError("the definition " + why);
    note_guess(why);
  }
  return std::nullopt;
}

/// Compares the outputs on the tuned problem, which the files are for.
std::optional<Failure> ReferenceChecks::hold_against_files(
    const Check& check, const NumberedWorkload& workload,
    const std::map<std::string, DataFile>& expected, PrepareReply& reply) {
  channel_.tell_phase("expected");
  try {
    const Outcome<Comparisons> held = check_expected(launcher_, check, workload, expected);
    if (!held) return held.failure();
    add(held->compared, reply);
  } catch (const InputError& error) {
    reply.notes.push_back("the reference was not checked against its expected outputs on " +
                          check.label + ": " + error.what());
  }
  return std::nullopt;
}

}  // namespace smemtune
