#pragma once

#include "reports/report_source.h"
#include "tuner/core/objective.h"
#include "tuner/core/result.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// Why one configuration is faster than another, as far as stored facts say it (docs/why.md).
struct Why {
  /// The cause in a few words: `spills`, `shared memory`; empty where the figures do not single one
  /// out.
  std::string cause;
  std::string sentence;  ///< The cause with its figures; empty like it.
  /// The differences, the first configuration's figure first: `16-byte shared loads 4, there 0`.
  std::vector<std::string> differences;
};

/// Compares a configuration with a slower one of the same problem on a device with so many
/// multiprocessors. Of several launches the one that takes most of the time is looked at.
Why why_faster(const Result& faster, const Result& slower, int sm_count);

/// The best of a problem beside one that it beat.
struct WhyBeats {
  std::string other;  ///< `its default`, `the runner-up`.
  const db::StoredResult* slower = nullptr;
  double factor = 1;  ///< The best is this many times as fast.
  Why why;
};

/// Returns the best beside its kernel's default and beside the fastest finalist that was not tied
/// with it, as far as they were in its finals.
std::vector<WhyBeats> why_best_beats(const ReportSource& source, const db::ProblemResults& section);

/// Returns what there is to say of a problem as JSON: `silent_because`, `of_best`, `beats`.
nlohmann::ordered_json why_json(const ReportSource& source, const db::ProblemResults& section);

/// Returns text for people, a paragraph for each problem. Finalists whose energy was measured in the
/// run that the best is from are ranked by the objective.
std::string why_text(const ReportSource& source, const Objective& objective = Objective());

/// Returns a JSON document, `"format": "smemtune-why", "version": 1`.
std::string why_document(const ReportSource& source, const Objective& objective = Objective());

}  // namespace smemtune
