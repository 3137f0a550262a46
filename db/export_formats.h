#pragma once

#include "db/export_bundle.h"
#include "db/export_tuners.h"
#include "db/rows.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace smemtune::db {

/// The content of an export.
struct ExportInput {
  std::vector<StoredResult> results;  ///< The results that ExportFormat::Takes names, unless all.
  EachResult all_results = {};        ///< These, for formats that take them.
  std::vector<KernelDefaults> defaults =
      {};                  ///< The kernels' defaults, unless it takes all results.
  std::string notes = {};  ///< Lines for human readers on the portfolios.
  nlohmann::ordered_json portfolios = nullptr;  ///< An array of their costs, or null.
  /// Other measured configurations of these (ResultReader::candidates()), for the formats that select.
  std::vector<StoredResult> candidates = {};
  std::vector<BundledKernel> compiled = {};  ///< Empty unless the format takes them.
};

/// A format of `smemtune export`.
struct ExportFormat {
  enum class Takes {
    bests,              ///< The best of each kernel, or the members of a portfolio.
    one_configuration,  ///< A single result: the best of all kernels.
    compiled,           ///< The best of all kernels for each problem, with what to launch for it.
    all_results,        ///< The newest of each configuration of one kernel, failures too.
  };

  const char* name;
  const char* help;  ///< Empty if the name says it all.
  Takes takes;
  bool selects;  ///< Whether candidates are of use to it.
  void (*write)(const ExportInput& input, const TextSink& out);
};

/// Returns all formats, in the order in which the help lists them.
const std::vector<ExportFormat>& export_formats();

/// Returns the format of this name. REQUIRES: there is one.
const ExportFormat& export_format(std::string_view name);

}  // namespace smemtune::db
