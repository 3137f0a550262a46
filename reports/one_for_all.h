#pragma once

#include "db/stored_portfolio.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// The one configuration that loses least where every problem has to run the same.
struct OneForAll {
  struct Loss {
    Problem problem;
    double median_ms = 0;
    double best_ms = 0;  ///< Of the problem's best.
    double percent = 0;  ///< By how much it is slower than that.
  };
  std::string kernel;
  Configuration configuration;
  double mean_percent = 0;  ///< Geometric mean of the losses...
  double worst_percent = 0;
  std::vector<Loss> losses;  ///< By problem.
};

/// Among configurations that are correct and timed on all problems of `results`, those of one space
/// on one device; of two results of one configuration on one problem the later one counts. A
/// problem's best comes from finals where it had any. With `kernel` only its configurations are
/// asked for, and compared with the best of all. Nullopt for fewer than two problems, and where
/// nothing runs on all of them.
std::optional<OneForAll> one_for_all(std::span<const Result* const> results,
                                     const std::string& kernel = "");

/// The same of all that a run found.
std::optional<OneForAll> one_for_all(const TuningSummary& summary);

/// The same of what is stored, where a portfolio of one was asked for.
std::optional<OneForAll> one_for_all(const db::StoredPortfolio& stored);

/// Lines that end with a newline, for people.
std::string one_for_all_text(const OneForAll& one, const std::string& indent = "");

/// As the documents of `best --one` and of a run have it.
nlohmann::ordered_json one_for_all_json(const OneForAll& one);

}  // namespace smemtune
