#pragma once

#include "db/comparison.h"

#include <string>
#include <vector>

namespace smemtune {

enum class Markup { text, markdown };

/// Per space and problem: the bests of the devices, each GPU's time against the fastest GPU's;
/// which share of a GPU's optimum the best of another keeps there; one configuration for all GPUs;
/// which parameters matter; and what follows, in a sentence for each GPU. CPUs stand beside the
/// GPUs and are never held against them.
std::string comparison_text(const db::Comparison& comparison, Markup markup = Markup::text);

/// What one configuration for all GPUs of a row would keep on each; empty where none runs on all.
std::vector<std::string> for_all_sentences(const db::Comparison& comparison,
                                           const db::Comparison::Row& row);

/// What matters on each GPU of a row.
std::vector<std::string> advice_sentences(const db::Comparison& comparison,
                                          const db::Comparison::Row& row);

/// A line for each pair of GPUs (a GPU with itself: its best), for spreadsheets.
std::string comparison_csv(const db::Comparison& comparison);

/// The same as a JSON document, `"format": "smemtune-comparison", "version": 3`.
std::string comparison_json(const db::Comparison& comparison);

}  // namespace smemtune
