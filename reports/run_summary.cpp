#include "reports/run_summary.h"

#include "reports/energy.h"
#include "reports/portfolio_report.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/core/occupancy.h"
#include "tuner/core/roofline.h"

#include <algorithm>
#include <map>
#include <vector>

namespace smemtune {

namespace {

/// Says what the space expects to be seen, and whether it was.
std::string expectations_text(const Space& space, const ProblemSummary& problem,
                              const Device& device) {
  const bool expects = std::ranges::any_of(
      space.kernels, [](const KernelTemplate& kernel) { return kernel.expect.has_value(); });
  if (!expects) return "";
  const std::string text = "\n  " + space.description + ".\n";
  if (device.kind == DeviceKind::cpu)
    return text + "  That holds for GPUs and cannot be seen on the CPU.\n";
  return text + curves_text(curves(space, problem, device));
}

/// "12 samples were discarded and 3 configurations measured at a low clock (throttled)"
std::string throttled_text(const ProblemSummary& problem) {
  std::uint64_t discarded = 0;
  std::uint64_t throttled = 0;
  for (const Result* result : timed_results(problem)) {
    discarded += static_cast<std::uint64_t>(result->measurement.discarded);
    throttled += result->measurement.throttled ? 1 : 0;
  }
  if (discarded == 0 && throttled == 0) return "";
  return "  " + format_count(discarded) +
         " samples were discarded because the clock had dropped; " +
         counted(throttled, "configuration") + " measured at a low clock (throttled)\n";
}

/// "static rejects would have kept 12 from being timed, and lost none of the top 1 % (44)"
std::string static_rejects_text(const StaticRejects& rejects) {
  std::string text = "  static rejects would have skipped timing " +
                     format_count(rejects.rejected) + ", and lost " +
                     (rejects.lost.empty() ? "none" : format_count(rejects.lost.size())) +
                     " of the top 1 % (" + format_count(rejects.top) + ")";
  for (std::size_t i = 0; i < rejects.lost.size(); ++i) {
    const Result& lost = rejects.lost[i];
    text += (i == 0 ? ": " : "; ") + lost.kernel + " " + key(lost.configuration) + " " +
            format_time(lost.measurement.median_ms);
  }
  return text + "\n";
}

std::string device_text(const Device& device) {
  if (device.kind == DeviceKind::cpu) {
    return device.name + " (CPU; limits of " + device.limits_of + ")";
  }
  return device.name + " (" + device.architecture + ", " + std::to_string(device.sm_count) +
         " SMs)";
}

std::string counts_text(const ProblemSummary& problem) {
  std::string text =
      (problem.cartesian == UINT64_MAX ? "more than 1.8e19" : format_count(problem.cartesian)) +
      " points, " +
      (problem.valid ? format_count(*problem.valid) + " valid, "
                     : "too many valid ones to count, ") +
      format_count(problem.evaluated) + " evaluated";
  if (problem.known > 0) text += ", " + format_count(problem.known) + " known before";
  return text;
}

/// Returns, for each kernel, how many configurations fit, the highest occupancy, and why the others
/// do not fit.
std::string fits_text(const Space& space, const ProblemSummary& problem, const Device& device) {
  std::size_t all_fitting = 0;
  Table table({"kernel", ">fit", ">of", ">highest occupancy", "the others"});
  for (const KernelTemplate& kernel : space.kernels) {
    std::size_t fitting = 0;
    std::size_t all = 0;
    double highest = 0;
    std::map<std::string, std::size_t> reasons;
    for (const Result& result : problem.results) {
      if (result.kernel != kernel.name) continue;
      ++all;
      if (result.failed()) {
        ++reasons[status_text(result)];
        continue;
      }
      ++fitting;
      const LaunchResult* launch = tightest_launch(result);
      if (launch != nullptr) highest = std::max(highest, launch->occupancy.percent);
    }
    if (all == 0) continue;
    const auto counted_reason = [](const auto& one) {
      return std::to_string(one.second) + " " + one.first;
    };
    table.add_row({kernel.name, std::to_string(fitting), std::to_string(all),
                   fitting == 0 ? "" : decimal(highest, 0) + " %",
                   joined(reasons, ", ", counted_reason)});
    all_fitting += fitting;
  }
  return "\n  " + std::to_string(all_fitting) + " of " + std::to_string(problem.results.size()) +
         " configurations fit " + device.name + "\n" + table.text("    ");
}

}  // namespace

std::string summary_heading(const Space& space, const ProblemSummary& problem,
                            const Device& device) {
  return "\n" + space.name + "  " + key(problem.problem) + "  on " + device_text(device) + "\n  " +
         counts_text(problem) + "\n";
}

std::string without_effect_lines(const ProblemSummary& problem) {
  std::string text;
  for (const std::string& line : problem.without_effect) text += "  warning: " + line + "\n";
  return text;
}

std::string summary_text(const Space& space, const TuningSummary& summary, const Device& device,
                         const Objective& objective) {
  std::string text;
  if (summary.evaluated_on.size() > 1) {
    text += "\nevaluated on " + std::to_string(summary.evaluated_on.size()) +
            (device.kind == DeviceKind::gpu ? " GPUs:" : " hosts:");
    for (const auto& [unit, count] : summary.evaluated_on) {
      text += "\n  " + unit + "  " + format_count(count);
    }
    text += "\n";
  }
  for (const ProblemSummary& problem : summary.problems) {
    text += summary_heading(space, problem, device);
    if (problem.best()) {
      text += "\n" + kernel_table_text(space, problem, device) + "\n" +
              why_best(space, problem, device);
      text += energy_text(timed_results(problem), objective);
      text += expectations_text(space, problem, device);
    } else {
      text += "  no configuration was timed\n";
    }
    text += failure_lines(problem);
    text += throttled_text(problem);
    text += without_effect_lines(problem);
    if (problem.static_rejects) text += static_rejects_text(*problem.static_rejects);
  }
  if (const auto one = one_for_all(summary)) text += "\n" + one_for_all_text(*one, "  ");
  return text;
}

std::string unverified_warning(const Space& space, const TuningSummary& summary) {
  std::string text;
  for (const ProblemSummary& problem : summary.problems) {
    if (!problem.best()) continue;
    const Coverage coverage = problem.best()->coverage();
    if (coverage.with == ComparedWith::only_itself) {
      return "*** Nothing says that the results of " + space.verify.reference +
             " are right: its configurations were compared with its own default.\n*** Give the "
             "space a \"definition\", \"expected\" files or a simple kernel as the reference.";
    }
    if (!coverage.rests_on_itself()) continue;
    const std::string line = "*** Nothing says that these results of " + problem.best()->kernel +
                             " are right: " + gaps_text(coverage) +
                             ". They were compared with its own default.";
    if (text.find(line) == std::string::npos) text += line + "\n";
  }
  if (text.empty()) return "";
  return text +
         "*** Give the space a \"definition\" of each output that is cheap enough to be "
         "evaluated on every problem, or \"expected\" files.";
}

std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device) {
  std::string text;
  for (const ProblemSummary& problem : summary.problems) {
    text += summary_heading(space, problem, device) + "\n";
    Table table({"kernel", "configuration", "entry", ">block", ">grid", ">registers", ">shared",
                 ">stack", ">spilled", ">occupancy", "limited by"});
    for (const Result& result : problem.results) {
      if (result.failed()) continue;
      for (const LaunchResult& launch : result.launches) {
        table.add_row(
            {result.kernel, key(result.configuration), launch.shape.name_expression,
             extents_text(launch.shape.block), extents_text(launch.shape.grid),
             std::to_string(launch.resources.registers_per_thread),
             format_bytes(static_cast<double>(launch.shared_bytes())),
             std::to_string(launch.resources.stack_bytes),
             std::to_string(launch.resources.spill_store_bytes + launch.resources.spill_load_bytes),
             decimal(launch.occupancy.percent, 0) + " %",
             joined(launch.occupancy.limiters(), ", ")});
      }
    }
    text += table.text("  ") + fits_text(space, problem, device);
    text += failure_lines(problem);
    text += without_effect_lines(problem);
  }
  return text;
}

namespace {

struct KernelRow {
  std::string mark;
  const Result* best = nullptr;
  const Result* start = nullptr;  ///< The kernel's default; null when it was not timed.
};

std::vector<KernelRow> rows_of(const Space& space, const ProblemSummary& problem) {
  std::vector<KernelRow> rows;
  for (const KernelTemplate& kernel : space.kernels) {
    const Result* best = problem.bests.best_of(kernel.name);
    if (best == nullptr) continue;
    rows.push_back({.mark = best == problem.best() ? "* " : "  ",
                    .best = best,
                    .start = default_result(problem, kernel.name)});
  }
  return rows;
}

double median_ms(const Result& result) { return result.measurement.median_ms; }

std::string rate_text(const Result& result, const std::string& name, const std::string& unit) {
  const double work = metric(result, name);
  return work > 0 ? format_rate(work / (median_ms(result) * 1e-3), unit) : "";
}

/// Operands that are needed for each element that is loaded.
std::string reuse_text(const Result& result) {
  const double uses = metric(result, "uses");
  const double loads = metric(result, "loads");
  if (uses <= 0 || loads <= 0) return "";
  return decimal(uses / loads, uses / loads < 10 ? 1 : 0);
}

/// The narrowest type that the kernel's buffers and the problem name, which decides what unit does
/// the arithmetic; `float` where they name none that is known.
ScalarType arithmetic_type(const KernelTemplate* kernel, const Problem& problem,
                           const Device& device) {
  std::optional<ScalarType> narrowest;
  const auto see = [&](const std::string& word) {
    const std::optional<ScalarType> type = scalar_type(word);
    if (!type || operations_per_s(device, *type).empty()) return;
    if (!narrowest || size_of(*type) < size_of(*narrowest)) narrowest = type;
  };
  for (const auto& [name, value] : problem) {
    if (const auto* word = std::get_if<std::string>(&value)) see(*word);
  }
  for (std::size_t i = 0; kernel != nullptr && i < kernel->arguments.size(); ++i) {
    if (kernel->arguments[i].is_buffer()) see(kernel->arguments[i].type);
  }
  return narrowest.value_or(ScalarType::float32);
}

/// Says how results compare with what the device could do at most.
class Shares {
 public:
  Shares(const Space& space, const Device& device) : space_(space), device_(device) {}

  /// `87 %`, of the peak that is reached to the larger part. More than 100 % is marked, and so are
  /// bytes that were measured and not declared.
  std::string text(const Result& result) {
    const double flops = metric(result, "flops");
    const double bandwidth = roofline(device_).bytes_per_s;
    const ScalarType type = arithmetic_type(space_.kernel(result.kernel), result.problem, device_);
    const double peak = peak_for(device_, type, flops, median_ms(result));
    if (flops > 0 && peak > 0 && peak != roofline(device_).flops_per_s) peaks_[peak] = type;
    const std::optional<double> measured = measured_dram_bytes(result);
    const double least_ms = Roofline{.flops_per_s = peak, .bytes_per_s = bandwidth}.least_ms(
        flops, measured.value_or(metric(result, "bytes")));
    if (least_ms <= 0) return "";
    const std::string percent = decimal(100 * least_ms / median_ms(result), 0);
    const bool is_above = percent.size() >= 3 && percent != "100";
    is_above_ = is_above_ || is_above;
    is_measured_ = is_measured_ || measured;
    return percent + (is_above ? " % !" : " %") + (measured ? " m" : "");
  }

  /// The peaks that were meant, other than those of roofline_text(), and what the marks mean.
  std::string notes() const {
    std::string text;
    for (const auto& [peak, type] : peaks_) {
      text += "  roofline for " + std::string(cuda_name(type)) + ": " +
              format_rate(peak, "FLOP/s") + "\n";
    }
    if (is_measured_) {
      text +=
          "  m of the bytes that counters measured in DRAM; without m of `bytes`, as declared\n";
    }
    if (is_above_) {
      text +=
          "  ! above the peak: caches served a part, or `bytes` or `flops` counts more than must "
          "be done\n";
    }
    return text;
  }

 private:
  const Space& space_;
  const Device& device_;
  std::map<double, ScalarType> peaks_;
  bool is_above_ = false;
  bool is_measured_ = false;
};

std::string speed_table(const std::vector<KernelRow>& rows, const ProblemSummary& problem,
                        const Device& device, Shares& shares) {
  const bool on_gpu = device.kind == DeviceKind::gpu;
  std::vector<std::string> columns = {"kernel"};
  for (const char* const title :
       {"time", "spread", "vs first", "vs default", "compute", "memory", "reuse"}) {
    columns.push_back(std::string(">") + title);
  }
  if (on_gpu) columns.push_back(">roofline");
  if (problem.transfers) columns.push_back(">with copies");
  Table table(columns);
  // The first kernel's default: where the articles begin, too.
  const Result& first = *(rows.front().start ? rows.front().start : rows.front().best);
  for (const KernelRow& kernel : rows) {
    const Result& best = *kernel.best;
    std::vector<std::string> row = {
        kernel.mark + best.kernel,
        format_time(median_ms(best)),
        format_spread(best.measurement),
        times(median_ms(first) / median_ms(best)),
        kernel.start == nullptr ? "" : times(median_ms(*kernel.start) / median_ms(best)),
        rate_text(best, "flops", "FLOP/s"),
        rate_text(best, "bytes", "B/s"),
        reuse_text(best)};
    if (on_gpu) row.push_back(shares.text(best));
    if (problem.transfers) {
      row.push_back(format_time(median_ms(best) + problem.transfers->to_device_ms +
                                problem.transfers->to_host_ms));
    }
    table.add_row(std::move(row));
  }
  return table.text("  ");
}

/// Returns the resources of a launch, with its entry if the kernel has several.
std::vector<std::string> resource_row(const KernelRow& kernel, const LaunchResult& launch,
                                      bool on_gpu, bool with_times) {
  const std::vector<LaunchResult>& all = kernel.best->launches;
  const bool is_first = &launch == all.data();
  const Resources& takes = launch.resources;
  std::vector<std::string> row = {kernel.mark + kernel.best->kernel +
                                  (all.size() > 1 ? ", " + launch.shape.name_expression : "")};
  if (with_times) row.push_back(launch.time_ms > 0 ? format_time(launch.time_ms) : "");
  row.push_back(format_bytes(static_cast<double>(launch.shared_bytes())));
  if (on_gpu) {
    row.push_back(std::to_string(takes.registers_per_thread));
    row.push_back(std::to_string(takes.stack_bytes));
    row.push_back(std::to_string(takes.spill_store_bytes + takes.spill_load_bytes));
    row.push_back(decimal(launch.occupancy.percent, 0) + " %");
    row.push_back(joined(launch.occupancy.limiters(), ", "));
  }
  row.push_back(is_first ? key(kernel.best->configuration) : "");
  return row;
}

std::string resource_table(const std::vector<KernelRow>& rows, const Device& device) {
  const bool on_gpu = device.kind == DeviceKind::gpu;
  const bool with_times = std::ranges::any_of(rows, [](const KernelRow& kernel) {
    return std::ranges::any_of(kernel.best->launches,
                               [](const LaunchResult& launch) { return launch.time_ms > 0; });
  });
  std::vector<std::string> columns = {"kernel"};
  if (with_times) columns.push_back(">by itself");
  columns.push_back(">shared");
  if (on_gpu) {
    for (const char* const title : {"registers", "stack", "spilled", "occupancy"}) {
      columns.push_back(std::string(">") + title);
    }
    columns.push_back("limited by");
  }
  columns.push_back("configuration");
  Table table(columns);
  for (const KernelRow& kernel : rows) {
    for (const LaunchResult& launch : kernel.best->launches) {
      table.add_row(resource_row(kernel, launch, on_gpu, with_times));
    }
  }
  return table.text("  ");
}

std::string roofline_text(const Device& device) {
  const Roofline limits = roofline(device);
  if (limits.flops_per_s <= 0 && limits.bytes_per_s <= 0) return "";
  const int cores = single_precision_cores(device.compute_major, device.compute_minor);
  return "  roofline: " + format_rate(limits.flops_per_s, "FLOP/s") + " (" +
         std::to_string(device.sm_count) + " SMs x " + std::to_string(cores) + " FMA x " +
         std::to_string(device.sm_clock_khz / 1000) + " MHz), " +
         format_rate(limits.bytes_per_s, "B/s") + " (" + std::to_string(device.memory_bus_bits) +
         " bits x 2 x " + std::to_string(device.memory_clock_khz / 1000) + " MHz)\n";
}

std::string transfers_text(const Transfers& transfers) {
  if (transfers.to_host_bytes == 0) return "  copies: none, the device is the host\n";
  return "  copies, pageable host memory: " +
         format_bytes(static_cast<double>(transfers.to_device_bytes)) + " to the device in " +
         format_time(transfers.to_device_ms) + ", " +
         format_bytes(static_cast<double>(transfers.to_host_bytes)) + " back in " +
         format_time(transfers.to_host_ms) + "\n";
}

/// A line for each kernel that was tried and of which nothing was timed.
std::string without_survivors_text(const Space& space, const ProblemSummary& problem) {
  std::string text;
  for (const KernelTemplate& kernel : space.kernels) {
    if (problem.bests.best_of(kernel.name) != nullptr) continue;
    std::map<std::string, std::size_t> outcomes;
    std::size_t tried = 0;
    for (const Result& result : problem.results) {
      if (result.kernel != kernel.name) continue;
      ++tried;
      ++outcomes[status_text(result)];
    }
    if (tried == 0) continue;
    const auto part = [](const auto& one) { return std::to_string(one.second) + " " + one.first; };
    text += "  " + kernel.name + ": none of " + counted(tried, "configuration") + " was timed (" +
            joined(outcomes, ", ", part) + ")\n";
  }
  return text;
}

}  // namespace

std::string kernel_table_text(const Space& space, const ProblemSummary& problem,
                              const Device& device) {
  const std::vector<KernelRow> rows = rows_of(space, problem);
  if (rows.empty()) return "";
  Shares shares(space, device);
  std::string text = speed_table(rows, problem, device, shares);
  text += without_survivors_text(space, problem);
  text += roofline_text(device) + shares.notes();
  if (problem.transfers) text += transfers_text(*problem.transfers);
  return text + "\n" + resource_table(rows, device);
}

}  // namespace smemtune
