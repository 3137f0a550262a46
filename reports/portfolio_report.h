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
};

/// Chooses portfolios of all sizes, and evaluates them also with each problem held back.
PortfolioReport portfolio_report(const db::StoredPortfolio& stored);

/// Returns lines of text, each ending with a newline.
std::string portfolio_text(const PortfolioReport& report);

/// Returns JSON for `export --portfolio`.
nlohmann::ordered_json portfolio_json(const PortfolioReport& report);

}  // namespace smemtune
