#pragma once

#include "tuner/core/device.h"
#include "tuner/core/objective.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// Tells people what a run found: per problem each kernel's best and default side by side, which
/// configuration won, why, what it is tied with, and what was rejected for which reason.
/// Finalists whose energy was measured are ranked by the objective; what is called the best is so by
/// time.
std::string summary_text(const Space& space, const TuningSummary& summary, const Device& device,
                         const Objective& objective = Objective());

/// Where a best was compared with nothing but itself, as loud as what is said of the CPU device;
/// else empty.
std::string unverified_warning(const Space& space, const TuningSummary& summary);

/// "gemm  K=1024,M=1024,N=1024  on NVIDIA H200 (sm_90, 132 SMs)" and how much was evaluated.
std::string summary_heading(const Space& space, const ProblemSummary& problem,
                            const Device& device);

/// A warning for each parameter that changes nothing.
std::string without_effect_lines(const ProblemSummary& problem);

/// Returns the result of a dry run as text: resources and occupancy of every configuration that
/// fits, and why the others are rejected.
std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device);

/// A row per kernel, its best, in two tables of at most 160 columns. How fast it is: time, speed-up
/// over the first kernel's default, where the articles begin, and over its own default, rates, and
/// on a GPU the share of what its clocks and widths allow. What it takes: shared memory, registers,
/// stack, spills, occupancy. `*` marks the winner.
std::string kernel_table_text(const Space& space, const ProblemSummary& problem,
                              const Device& device);

/// The best of a problem that has one, and why it is: what it was compared with, what it gains over
/// its default and the other kernels, what it takes, what one changed parameter costs, its ties.
std::string why_best(const Space& space, const ProblemSummary& problem, const Device& device);

/// Returns a sentence on how good the best is among the valid configurations of its problem, like
/// `within 1 % of the best of this space with 95 % confidence, after 214 of 1,789`; empty where
/// nothing is known. It claims nothing finer than the noise of the finals, and says where a run ended
/// before them.
std::string how_sure(const ProblemSummary& problem);

/// One of a run's winners, and how it would do on another device.
struct WinnerFit {
  Result winner;
  /// Status `fits`, or the reason why it does not fit; the launches are those on the other device.
  Result there;
};

/// The winners of a run on another device: those that would fit it, and those that would not.
struct AlsoFits {
  Device device;
  /// Why nothing could be compiled for the device, so that the winners are judged by the resources
  /// that they use where they were tuned; empty if they were compiled for it.
  std::string not_compiled;
  bool registers_known = true;  ///< False if they were tuned on a CPU, which has no registers.
  std::vector<WinnerFit> winners;
};

/// Returns the results of a run as JSON, `"format": "smemtune-run", "version": 2`, with every
/// result.
std::string summary_json(const Space& space, const TuningSummary& summary, const Device& device,
                         const std::vector<AlsoFits>& also_fits,
                         const Objective& objective = Objective());

/// A configuration with its predicted and measured time, both relative to its kernel's default.
struct ExpectedPoint {
  const Result* result = nullptr;  ///< nullptr if the configuration was not timed.
  Configuration configuration;
  double predicted = 0;
  double measured = 0;
  bool seen = false;
};

/// The predicted and measured times of one kernel.
struct Curve {
  const KernelTemplate* kernel = nullptr;
  std::vector<ExpectedPoint> points;  ///< Points in the order of the search space.
};

/// Returns a curve for every kernel that has an expectation and whose default was timed. Empty on a
/// CPU, because expectations are about GPUs.
std::vector<Curve> curves(const Space& space, const ProblemSummary& problem, const Device& device);

/// Returns a table for each curve, with the number of points where the prediction was seen.
std::string curves_text(const std::vector<Curve>& curves);

/// Returns `expectations` of a problem in a run's JSON.
nlohmann::ordered_json curves_json(const std::vector<Curve>& curves);

/// Returns a problem's winners, each once: the best, those tied with it, and each kernel's best.
std::vector<Result> winners(const ProblemSummary& problem);

/// Returns text for the end of a run's summary: which winners fit which device, and why the others
/// do not.
std::string also_fits_text(const std::vector<AlsoFits>& all);

/// Returns `also_fits` of a run's JSON.
nlohmann::ordered_json also_fits_json(const std::vector<AlsoFits>& all);

}  // namespace smemtune
