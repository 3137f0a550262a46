#include "tuner/engine/signature_check.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace smemtune {

namespace {

struct Question {
  std::string kernel;
  CompileRequest request;
  std::uint64_t number = 0;
};

/// Returns a question for each different list of types that a kernel is passed on the problems.
std::vector<Question> questions_of(const Tuning& tuning,
                                   const std::vector<const KernelTemplate*>& kernels) {
  std::vector<Question> questions;
  for (const KernelTemplate* const kernel : kernels) {
    const auto source = tuning.request.sources.find(kernel->name);
    if (source == tuning.request.sources.end()) continue;
    const std::size_t first = questions.size();
    for (const Problem& problem : tuning.request.problems) {
      KernelOnProblems bound = {.bound = {}, .source = &source->second, .hash = ""};
      bound.bound.emplace_back(*tuning.request.space, *kernel, problem, tuning.device);
      std::optional<CompileRequest> request = signature_request(bound, tuning.device);
      if (!request) continue;
      const auto is_same = [&](const Question& other) {
        return other.request.signatures == request->signatures;
      };
      if (std::any_of(questions.begin() + static_cast<std::ptrdiff_t>(first), questions.end(),
                      is_same)) {
        continue;
      }
      questions.push_back({.kernel = kernel->name, .request = std::move(*request)});
    }
  }
  return questions;
}

}  // namespace

void require_signatures(Tuning& tuning, const std::vector<const KernelTemplate*>& kernels) {
  // A separate queue, because the search counts what its own compiles.
  CompileQueue queue(tuning.pool);
  Tuning looking = {.request = tuning.request,
                    .device = tuning.device,
                    .pool = tuning.pool,
                    .queue = queue,
                    .observer = tuning.observer,
                    .stop = tuning.stop,
                    .summary = tuning.summary};
  ProblemState nothing;
  std::vector<Question> questions = questions_of(tuning, kernels);
  for (Question& question : questions) question.number = queue.add(std::move(question.request));
  const auto is_ready = [&](const Question& question) { return queue.ready(question.number); };
  while (!std::ranges::all_of(questions, is_ready)) {
    if (tuning.must_end()) return;
    work(looking, nothing);
  }
  std::vector<std::string> faults;
  for (const Question& question : questions) {
    const Outcome<Module> looked = queue.take(question.number);
    if (looked || looked.failure().reason != "signature") continue;
    std::istringstream lines(looked.failure().detail);
    for (std::string fault; std::getline(lines, fault);) {
      faults.push_back("kernel '" + question.kernel + "': " + fault);
    }
  }
  if (faults.empty()) return;
  throw InputError(tuning.request.space->file.string() + ": " + joined(faults, "\n"));
}

}  // namespace smemtune
