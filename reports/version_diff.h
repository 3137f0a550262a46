#pragma once

#include "reports/comparison.h"
#include "tuner/core/measurement.h"
#include "tuner/core/result.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A configuration of the old version and one of the new version, compared on one problem.
struct VersionPair {
  Problem problem;
  std::string what;  ///< Label such as `winner`, `default of tiled`.
  KernelConfiguration old_one;
  KernelConfiguration new_one;
  bool same_code = false;  ///< True if both versions have the same code; nothing is measured then.
  /// nullopt if there is no valid configuration for this problem.
  std::optional<Result> old_result = {};
  std::optional<Result> new_result = {};
  /// Slowdown of the new configuration relative to the old one, from rounds that measured both.
  std::optional<Slowdown> slower = {};
  double same_percent = 0.5;  ///< Differences up to this are treated as noise or irrelevant.

  /// Returns true if the new configuration is a regression: it fails where the old one worked, or
  /// it is slower by the verdict and its estimated slowdown exceeds the tolerance.
  bool is_loss(double tolerance_percent) const;
};

struct VersionDiff {
  std::string space;
  std::string old_name;
  std::string new_name;
  std::string device;
  double tolerance_percent = 3;
  std::vector<VersionPair> pairs = {};
  std::vector<std::string> notes = {};  ///< Comparisons that were not possible.

  bool has_loss() const;
};

/// Returns text like `gemm on NVIDIA H200: main:gemm.json -> gemm.json`.
std::string version_diff_title(const VersionDiff& diff);

std::string version_diff_text(const VersionDiff& diff, Markup markup = Markup::text);

/// Returns a JSON document, `"format": "smemtune-diff", "version": 1`.
std::string version_diff_json(const VersionDiff& diff);

/// Reads such a document. Throws nlohmann::json::exception, or InputError, with the position of the
/// pair.
VersionDiff version_diff_from(const nlohmann::ordered_json& document);

/// Returns conclusions, a sentence each, including the notes.
std::vector<std::string> version_diff_findings(const VersionDiff& diff);

/// Returns the data that the report's page draws.
nlohmann::ordered_json version_diff_view(const VersionDiff& diff);

}  // namespace smemtune
