#pragma once

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

/// Returns JSON for `export --portfolio`.
nlohmann::ordered_json portfolio_json(const PortfolioReport& report);

}  // namespace smemtune
