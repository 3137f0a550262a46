#pragma once

#include "reports/comparison.h"
#include "tuner/core/result.h"
#include "tuner/core/verdict.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A configuration of the old version against one of the new, on one problem.
struct VersionPair {
  Problem problem;
  std::string what;  ///< `winner`, `default of tiled`.
  KernelConfiguration old_one;
  KernelConfiguration new_one;
  bool same_code = false;                 ///< Nothing was measured then.
  std::optional<Result> old_result = {};  ///< Nullopt: no valid configuration for this problem.
  std::optional<Result> new_result = {};
  std::optional<Slowdown> slower = {};  ///< The new one than the old one, from rounds of both.
  double same_percent = 0.5;            ///< Differences up to this are noise or of no consequence.

  /// Whether the new one is a loss: it no longer works where the old one did, or is slower
  /// by the verdict, and by more than the tolerance by the estimate.
  bool is_loss(double tolerance_percent) const;
};

struct VersionDiff {
  std::string space;
  std::string old_name;
  std::string new_name;
  std::string device;
  double tolerance_percent = 3;
  std::vector<VersionPair> pairs = {};
  std::vector<std::string> notes = {};  ///< What could not be compared.

  bool has_loss() const;
};

/// `gemm on NVIDIA H200: main:gemm.json -> gemm.json`
std::string version_diff_title(const VersionDiff& diff);

std::string version_diff_text(const VersionDiff& diff, Markup markup = Markup::text);

/// `"format": "smemtune-diff", "version": 1`.
std::string version_diff_json(const VersionDiff& diff);

/// Reads such a document. Throws nlohmann::json::exception, or InputError, with the pair's place.
VersionDiff version_diff_from(const nlohmann::ordered_json& document);

/// What follows from it, a sentence each, the notes among them.
std::vector<std::string> version_diff_findings(const VersionDiff& diff);

/// What report's page draws of it.
nlohmann::ordered_json version_diff_view(const VersionDiff& diff);

}  // namespace smemtune
