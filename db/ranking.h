#pragma once

#include "tuner/core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace smemtune::db {

/// A timed result that may be the best of its kernel, or of its problem.
struct Candidate {
  std::int64_t result_id = 0;  ///< Grows with time.
  std::int64_t run_id = 0;
  bool run_has_finals = false;  ///< Its run measured finals among the results that are compared.
  bool chosen = false;          ///< By its run's finals, as the best.
  Stage stage = Stage::none;
  double median_ms = 0;
};

/// The index of the fastest; nullopt when there are none. Finals settle what is close: a quick
/// screen does not count beside the finals of its own run, and one from before the newest finals
/// (whose run chose among what was known) only when it is faster by more than 10 %. What finals
/// chose stands for them all: a tie may be quicker by its median. Equal times: the older.
std::optional<std::size_t> fastest(std::span<const Candidate> candidates);

}  // namespace smemtune::db
