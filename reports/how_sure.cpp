#include "reports/how_sure.h"

#include <algorithm>

namespace smemtune {

std::string how_sure(const ProblemSummary& problem) {
  if (!problem.valid || problem.best() == nullptr) return "";
  const std::string all = format_count(*problem.valid);
  if (!problem.unfinished) {
    if (problem.evaluated + problem.known < *problem.valid) return "";
    return *problem.valid == 1 ? "the only configuration of this space" : "the best of all " + all;
  }
  const Unfinished& unfinished = *problem.unfinished;
  if (!unfinished.chance_of_better) return "";
  std::string after = "after " + format_count(unfinished.evaluations) + " of " + all;
  if (unfinished.elsewhere > 0) {
    after += " here, which confirm an earlier search of " + format_count(unfinished.elsewhere) +
             " on this model";
  }
  const double noise_percent = problem.best()->finals.noise_percent.value_or(0);
  if (unfinished.by_itself) {
    return "within " + significant(std::max(unfinished.percent, noise_percent), 2) +
           " % of the best of this space with 95 % confidence, " + after;
  }
  return "stopped " + after + ": the chance that something more than " +
         significant(unfinished.percent, 2) + " % faster is left is about " +
         decimal(100 * *unfinished.chance_of_better, 0) + " %";
}

}  // namespace smemtune
