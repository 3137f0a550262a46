#pragma once

#include "db/stored_portfolio.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// What it costs to have few configurations for all problems of a space on a device.
struct PortfolioReport {
  db::StoredPortfolio stored;
  std::vector<db::PortfolioSize> sizes;
};

/// Chooses portfolios of all sizes, also with each problem held back.
PortfolioReport portfolio_report(const db::StoredPortfolio& stored);

/// Lines that end with a newline, for people.
std::string portfolio_text(const PortfolioReport& report);

/// As `export --portfolio` has it.
nlohmann::ordered_json portfolio_json(const PortfolioReport& report);

}  // namespace smemtune
