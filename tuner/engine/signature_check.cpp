#include "tuner/engine/signature_check.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace smemtune {

SignatureCheck::SignatureCheck(const Tuning& tuning,
                               const std::vector<const KernelTemplate*>& kernels)
    : space_file_(tuning.request.space->file.string()), queue_(tuning.pool) {
  for (const KernelTemplate* const kernel : kernels) {
    const auto source = tuning.request.sources.find(kernel->name);
    if (source == tuning.request.sources.end()) continue;
    std::vector<std::vector<Signature>> asked;  // One for each different list of types.
    for (const Problem& problem : tuning.request.problems) {
      KernelOnProblems bound = {.bound = {}, .source = &source->second, .hash = ""};
      bound.bound.emplace_back(*tuning.request.space, *kernel, problem, tuning.device);
      std::optional<CompileRequest> request = signature_request(bound, tuning.device);
      if (!request || std::ranges::find(asked, request->signatures) != asked.end()) continue;
      asked.push_back(request->signatures);
      questions_.push_back({.kernel = kernel->name, .request = std::move(*request)});
    }
  }
}

void SignatureCheck::begin() {
  for (Question& question : questions_) {
    if (!question.number) question.number = queue_.add(std::move(question.request));
  }
}

bool SignatureCheck::is_done() {
  const auto is_ready = [&](const Question& question) {
    return question.number && queue_.ready(*question.number);
  };
  if (!std::ranges::all_of(questions_, is_ready)) return false;
  std::vector<std::string> faults;
  for (const Question& question : std::exchange(questions_, {})) {
    const Outcome<Module> looked = queue_.take(*question.number);
    if (looked || looked.failure().reason != "signature") continue;
    std::istringstream lines(looked.failure().detail);
    for (std::string fault; std::getline(lines, fault);) {
      faults.push_back("kernel '" + question.kernel + "': " + fault);
    }
  }
  if (faults.empty()) return true;
  throw InputError(space_file_ + ": " + joined(faults, "\n"));
}

}  // namespace smemtune
