#pragma once

#include "db/export_rules.h"
#include "db/stored_portfolio.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// The cost of using few configurations for all problems of a space on a device.
struct PortfolioReport {
  db::StoredPortfolio stored;
  std::vector<db::PortfolioSize> sizes;
  std::vector<db::SizeLoss> size_losses;
};

/// Chooses portfolios of all sizes, and evaluates them also with each problem held back.
PortfolioReport portfolio_report(const db::StoredPortfolio& stored);

/// Returns lines of text, each ending with a newline.
std::string portfolio_text(const PortfolioReport& report);

/// Returns lines of text on ways to choose for sizes that were not measured; empty where too few
/// were.
std::string size_losses_text(const std::vector<db::SizeLoss>& losses);

/// Fits rules to a space on a device, for `export --rules`. `most`: the number of configurations
/// that they may choose from, beside the default values; 0: the bests of all problems.
db::DeviceRules device_rules(const db::StoredPortfolio& stored, std::size_t most);

/// Returns JSON for `export --portfolio`.
nlohmann::ordered_json portfolio_json(const PortfolioReport& report);

}  // namespace smemtune
