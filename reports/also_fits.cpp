#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace smemtune {
namespace {

using db::Json;

std::string fit_text(const WinnerFit& fit, bool registers_known) {
  if (fit.there.failed()) {
    return "does not fit (" + status_text(fit.there) + "): " + first_line(fit.there.detail);
  }
  const LaunchResult* launch = tightest_launch(fit.there);
  if (launch == nullptr || !registers_known) return "fits";
  return "fits, " + std::to_string(launch->resources.registers_per_thread) + " registers, " +
         std::to_string(std::lround(launch->occupancy.percent)) + " % occupancy";
}

}  // namespace

std::vector<Result> winners(const ProblemSummary& problem) {
  std::vector<Result> all;
  const auto add = [&](const Result& result) {
    const bool known = std::ranges::any_of(all, [&](const Result& other) {
      return other.kernel == result.kernel && other.configuration == result.configuration;
    });
    if (!known) all.push_back(result);
  };
  if (problem.best() != nullptr) add(*problem.best());
  for (const Result& tie : problem.bests.tied) add(tie);
  for (const Result& best : problem.bests.kernels) add(best);
  return all;
}

std::string also_fits_text(const std::vector<AlsoFits>& all) {
  std::string text;
  for (const AlsoFits& fits : all) {
    const auto fitting = std::ranges::count_if(
        fits.winners, [](const WinnerFit& fit) { return !fit.there.failed(); });
    text += "\nalso on " + fits.device.name + " (" + fits.device.architecture +
            "): " + std::to_string(fitting) + " of " + std::to_string(fits.winners.size()) +
            " winners fit\n";
    if (!fits.not_compiled.empty()) {
      text += std::string("  judged by the ") +
              (fits.registers_known ? "registers and shared memory" : "threads and shared memory") +
              " that they take here: " + fits.not_compiled + "\n";
    }
    for (const WinnerFit& fit : fits.winners) {
      text += "  " + fit.winner.kernel + " " + key(fit.winner.configuration) + "  " +
              key(fit.winner.problem) + ": " + fit_text(fit, fits.registers_known) + "\n";
    }
  }
  return text;
}

Json also_fits_json(const std::vector<AlsoFits>& all) {
  const auto winner_json = [](const WinnerFit& fit) {
    Json winner = db::result_json(fit.there);
    winner["fits"] = !fit.there.failed();
    return winner;
  };
  return db::list_json(all, [&](const AlsoFits& fits) {
    Json entry = {{"device", db::device_json(fits.device)},
                  {"compiled_for_it", fits.not_compiled.empty()}};
    if (!fits.not_compiled.empty()) entry["not_compiled_because"] = fits.not_compiled;
    entry["winners"] = db::list_json(fits.winners, winner_json);
    return entry;
  });
}

}  // namespace smemtune
