#pragma once

#include "db/comparison.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

enum class Markup { text, markdown };

/// Returns, for each space, the answer in a sentence; then for each problem that was measured on
/// several GPUs which configuration to take for all, the devices' bests with each GPU's time
/// relative to the fastest GPU's, the share of its optimum that each GPU reaches with the best of
/// another, and a sentence of advice for each GPU; then the number of other problems. Many GPUs are
/// summed up by architecture unless `all_pairs`. CPUs are listed but never compared with GPUs.
std::string comparison_text(const db::Comparison& comparison, Markup markup = Markup::text,
                            bool all_pairs = false);

/// Returns true if one configuration both keeps most on the worst GPU and is the best on average.
bool has_one_for_all(const db::Comparison::Row& row);

/// Returns a sentence on whether one configuration is enough for all GPUs of a row, and of how many
/// that is the best. `names`: those of the columns, here and below.
std::string for_all_answer(const std::vector<std::string>& names, const db::Comparison::Row& row);

/// Returns what share of its optimum each GPU of a row would keep with one configuration for all;
/// empty if no configuration runs on all.
std::vector<std::string> for_all_sentences(const std::vector<std::string>& names,
                                           const db::Comparison::Row& row);

/// Returns a sentence for each GPU of a row about the parameters that matter there.
std::vector<std::string> advice_sentences(const std::vector<std::string>& names,
                                          const db::Comparison::Row& row);

/// Returns CSV for spreadsheets, a line for each pair of GPUs; a GPU paired with itself gives its
/// best.
std::string comparison_csv(const db::Comparison& comparison);

/// Returns the comparison as a JSON document, `"format": "smemtune-comparison", "version": 4`.
std::string comparison_json(const db::Comparison& comparison);

/// Returns sentences about one row: where the winners of its GPUs differ (`TILE: 32 on A100 and
/// A4000; 64 on A6000`), what one configuration for all would keep, and what matters on each GPU.
std::vector<std::string> devices_sentences(const db::Comparison& comparison,
                                           const db::Comparison::Row& row);

/// Returns what the page shows for several GPUs: for each problem the winners, the shares that each
/// GPU's best and one configuration for all keep on the others, and what parameters explain.
nlohmann::ordered_json devices_json(const db::Comparison& comparison);

}  // namespace smemtune
