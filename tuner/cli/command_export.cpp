#include "db/export_formats.h"
#include "db/rows.h"
#include "reports/portfolio_report.h"
#include "reports/table.h"
#include "tuner/backend/contents.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/text.h"
#include "tuner/core/whole_file.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

constexpr std::size_t kMostLaunches = 4096;

std::string subject(const db::StoredResult& stored) { return printable(stored.subject()); }

FitQuestion question(const db::StoredResult& stored, const LoadedSpace& loaded) {
  const Space& space = loaded.space;
  const std::string what = "--format cubins: " + subject(stored);
  if (stored.device.kind == DeviceKind::cpu) {
    throw InputError(what + " was measured on the CPU device, and cubins are for GPUs: --device");
  }
  const KernelTemplate* const kernel = space.kernel(stored.result.kernel);
  if (kernel == nullptr) {
    throw InputError(what + ": " + space.file.string() + " has no kernel of this name");
  }
  const std::string hash = kernel_hash(space, *kernel, loaded.sources.at(kernel->name),
                                       loaded.sources.at(space.verify.reference));
  if (hash != stored.kernel_hash) {
    throw InputError(what + " would not be what was measured: the kernel in " +
                     space.file.string() + " has been edited since");
  }
  return {.kernel = kernel,
          .problem = stored.result.problem,
          .configuration = stored.result.configuration};
}

/// Returns an argument as the launcher passes it.
db::BundledKernel::Parameter parameter(const db::StoredResult& stored, const CompiledFit& fit,
                                       const Argument& argument) {
  if (argument.is_texture()) {
    throw InputError("--format cubins: " + subject(stored) + " takes " + argument.name +
                     " as a texture, which the launcher does not make (--kernel chooses another)");
  }
  if (!argument.members.empty()) {
    throw InputError("--format cubins: " + subject(stored) + " takes " + argument.name +
                     " as a struct made of other arguments, which the launcher does not make "
                     "(--kernel chooses another)");
  }
  db::BundledKernel::Parameter parameter = {.argument = argument};
  if (!argument.is_buffer()) parameter.value = scalar_bytes(argument);
  if (argument.in_constant_memory()) {
    const std::string& symbol = argument.symbol.empty() ? argument.name : argument.symbol;
    parameter.symbol = fit.module->symbol(symbol)->lowered_name;
  }
  return parameter;
}

db::BundledKernel::Launch launch(const CompiledFit& fit, const Turn& turn) {
  const LaunchShape& shape = fit.instance.launches[turn.launch];
  if (shape.shared_carveout.value_or(-1) >= 0 || shape.programmatic.value_or(0) != 0) {
    throw InputError("--format cubins: " + shape.name_expression +
                     " was timed with \"shared_carveout\" or \"programmatic\", which the launcher "
                     "does not set (--kernel chooses another)");
  }
  db::BundledKernel::Launch launch = {
      .entry = fit.module->entry(shape.name_expression)->lowered_name,
      .grid = turn.as.grid,
      .block = turn.as.block,
      .cluster = shape.cluster,
      .dynamic_shared_bytes = turn.as.dynamic_shared_bytes,
      .cooperative = shape.cooperative};
  const std::vector<Argument>& arguments = fit.instance.arguments;
  for (const std::string& name : turn.as.arguments) {
    const auto at = std::ranges::find(arguments, name, &Argument::name) - arguments.begin();
    const Argument* const changed = find_argument(turn.as.scalars, name);
    launch.taken.push_back(
        {.parameter = static_cast<std::size_t>(at),
         .value = changed ? scalar_bytes(*changed) : db::BundledKernel::Bytes{}});
  }
  return launch;
}

db::BundledKernel bundled(const db::StoredResult& stored, const CompiledFit& fit) {
  db::BundledKernel kernel = {.parameters = {}, .launches = {}, .cubin = fit.module->image};
  for (const Argument& argument : fit.instance.arguments) {
    kernel.parameters.push_back(parameter(stored, fit, argument));
  }
  const std::vector<Turn> turns = turns_of(fit.instance.launches);
  if (turns.size() > kMostLaunches) {
    throw InputError("--format cubins: " + subject(stored) + " makes " +
                     std::to_string(turns.size()) + " launches, a bundle has at most " +
                     std::to_string(kMostLaunches));
  }
  for (const Turn& turn : turns) kernel.launches.push_back(launch(fit, turn));
  return kernel;
}

/// Compiles what each result launches, by the space file, for the device that it was measured on.
/// Throws InputError if a result is of the CPU device or of an edited kernel, does not compile, or
/// takes a texture; UnavailableError without NVRTC.
std::vector<db::BundledKernel> compile_bundle(const std::vector<db::StoredResult>& results,
                                              const std::filesystem::path& space_file) {
  const LoadedSpace loaded = load_space(space_file, share_folder());
  // A pool compiles for one device.
  std::map<std::int64_t, std::vector<std::size_t>> by_model;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Device& device = results[i].device;
    by_model[device.compute_capability()].push_back(i);
  }
  std::vector<db::BundledKernel> kernels(results.size());
  for (const auto& [capability, numbers] : by_model) {
    std::vector<FitQuestion> questions;
    for (const std::size_t i : numbers) questions.push_back(question(results[i], loaded));
    const Device& device = results[numbers.front()].device;
    const auto pool = start_workers(compile_workers_for({}, device));
    const std::vector<CompiledFit> fits =
        compile_fits(loaded.space, loaded.sources, questions, device, *pool);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      kernels[numbers[k]] = bundled(results[numbers[k]], fits[k]);
    }
  }
  return kernels;
}

struct ExportOptions : StoredChoice {
  std::string format = "json";  ///< A name in db/export_formats.h.
  std::uint64_t portfolio = 0;  ///< Number of configurations; 0: each problem's best.
  std::string rules;            ///< `cpp` or `python`; empty: no rules.
  std::filesystem::path output = "-";
};

/// Removes what was imported of a device for a problem that has results of our own or shared ones:
/// an export has one answer for each.
std::vector<db::StoredResult> without_answered_imports(std::vector<db::StoredResult> results) {
  const auto question = [](const db::StoredResult& one) {
    return one.space + "\n" + one.device.name + "\n" + key(one.result.problem);
  };
  std::set<std::string> answered;
  for (const db::StoredResult& one : results) {
    if (!one.origin) answered.insert(question(one));
  }
  std::erase_if(results, [&](const db::StoredResult& one) {
    return one.origin && answered.contains(question(one));
  });
  return results;
}

/// Returns what gives the newest result of each configuration. Throws InputError, before any is
/// read, unless all are of one kernel on one device for one problem.
db::EachResult all_or_throw(const ExportOptions& options, const db::ResultReader& store) {
  std::vector<db::StoredResult> of =
      without_answered_imports(store.one_of_each_kernel(options.query));
  // Throws with the reason.
  if (of.empty()) best_or_throw(options, store, /*per_kernel=*/true);
  std::erase_if(of, [](const db::StoredResult& stored) { return stored.stale; });
  if (of.empty()) {
    throw InputError(options.database.string() +
                     ": all that matches is of kernels that have been edited since");
  }
  std::set<std::string> subjects;
  std::set<std::pair<std::string, bool>> sources;
  for (const db::StoredResult& one : of) {
    subjects.insert(one.subject());
    sources.emplace(one.shared_from, one.origin.has_value());
  }
  if (subjects.size() > 1) {
    throw InputError("such a file holds one kernel on one device for one problem, and " +
                     std::to_string(subjects.size()) +
                     " match: --space, --kernel, --device and --problem narrow them down to one:" +
                     db::subject_lines({subjects.begin(), subjects.end()}));
  }
  return [&options, &store, source = *sources.begin()](const auto& take) {
    store.each_newest(options.query, [&](db::StoredResult&& one) {
      if (std::pair(one.shared_from, one.origin.has_value()) == source) take(std::move(one));
    });
  };
}

/// Throws InputError unless there is only one result, as the format needs.
void refuse_several(const std::string& format, const std::vector<db::StoredResult>& best) {
  if (best.size() == 1) return;
  const std::vector<std::string> subjects = texts_of(best, &db::StoredResult::subject);
  throw InputError("--format " + format + " writes one configuration, and " +
                   std::to_string(best.size()) +
                   " match: --space, --problem, --device and --kernel narrow them down to one:" +
                   db::subject_lines(subjects));
}

/// Returns the text that two results of the same configuration of a kernel share.
std::string member_name(const db::StoredResult& one) {
  return one.space + "\n" + one.device.name + "\n" + one.result.kernel + "\n" +
         key(one.result.configuration);
}

/// Puts default values in the place of what was chosen for their problem if they are faster.
void put_faster_default(const db::StoredResult& one, std::vector<db::StoredResult>& chosen) {
  const Result& result = one.result;
  if (!result.is_default || !result.timed()) return;
  for (db::StoredResult& other : chosen) {
    const bool is_same = other.space == one.space && other.device.name == one.device.name &&
                         other.result.problem == result.problem;
    if (is_same && result.measurement.median_ms < other.result.measurement.median_ms) other = one;
  }
}

/// Returns the portfolios of spaces and devices; of what was imported only those that there are no
/// others of.
std::vector<db::StoredPortfolio> portfolios_of(const ExportOptions& options,
                                               const db::ResultReader& store, std::size_t most) {
  std::vector<db::StoredPortfolio> all =
      store.portfolios(options.query, most, /*per_kernel=*/false);
  std::set<std::pair<std::string, std::string>> answered;
  const auto question = [](const db::StoredPortfolio& one) {
    return std::pair(one.bests.front().space, one.bests.front().device.name);
  };
  const auto is_imported = [](const db::StoredPortfolio& one) {
    return one.bests.front().origin.has_value();
  };
  for (const db::StoredPortfolio& one : all) {
    if (!is_imported(one)) answered.insert(question(one));
  }
  std::erase_if(all, [&](const db::StoredPortfolio& one) {
    return is_imported(one) && answered.contains(question(one));
  });
  return all;
}

/// Gives `input` what portfolios of the requested size run for each problem, and what else was
/// measured of their members and of default values; `reports` receives what they cost.
void take_portfolios(const ExportOptions& options, const db::ResultReader& store,
                     db::ExportInput& input, std::vector<PortfolioReport>& reports) {
  const auto most = static_cast<std::size_t>(options.portfolio);
  std::set<std::string> members;
  for (db::StoredPortfolio& stored : portfolios_of(options, store, most)) {
    reports.push_back(portfolio_report(stored));
    if (!stored.portfolio) {
      throw InputError(options.database.string() + ": no choice of " +
                       counted(most, "configuration") + " runs all problems\n" +
                       portfolio_text(reports.back()));
    }
    const db::StoredResult& first = stored.bests.front();
    for (const std::size_t variant : stored.portfolio->variants()) {
      const KernelConfiguration& one = stored.variants[variant];
      members.insert(first.space + "\n" + first.device.name + "\n" + one.kernel + "\n" +
                     key(one.configuration));
    }
    std::ranges::move(stored.chosen, std::back_inserter(input.results));
  }
  if (reports.empty()) best_or_throw(options, store, /*per_kernel=*/false);
  std::vector<db::StoredResult> others = store.best(options.query, /*per_kernel=*/true);
  std::ranges::move(store.candidates(options.query), std::back_inserter(others));
  std::set<std::string> known;
  const auto name = [](const db::StoredResult& one) {
    return member_name(one) + "\n" + key(one.result.problem);
  };
  for (const db::StoredResult& one : input.results) known.insert(name(one));
  for (db::StoredResult& one : others) {
    put_faster_default(one, input.results);
    const bool is_wanted = one.result.is_default || members.contains(member_name(one));
    if (is_wanted && known.insert(name(one)).second) input.candidates.push_back(std::move(one));
  }
}

/// Returns the space file whose kernels are compiled. Throws InputError if --space names none.
std::filesystem::path compiled_space(const ExportOptions& options) {
  if (!options.query.space_file.empty()) return options.query.space_file;
  if (!options.query.space.empty()) return find_space(options.query.space);
  throw InputError("--format " + options.format +
                   " compiles what it writes: --space with a space file, or the name of a space "
                   "that comes with smemtune");
}

/// Returns what else was measured of these results, by the same.
std::vector<db::StoredResult> candidates_of(const std::vector<db::StoredResult>& results,
                                            const ExportOptions& options,
                                            const db::ResultReader& store) {
  const auto by = [](const db::StoredResult& one) {
    return one.shared_from + "\n" + std::to_string(one.model_id) + "\n" + one.space + "\n" +
           key(one.result.problem);
  };
  std::set<std::string> wanted;
  for (const db::StoredResult& one : results) wanted.insert(by(one));
  std::vector<db::StoredResult> candidates = store.candidates(options.query);
  std::erase_if(candidates, [&](const db::StoredResult& one) { return !wanted.contains(by(one)); });
  return candidates;
}

std::string rules_text(const ExportOptions& options, const db::ResultReader& store) {
  const auto most = static_cast<std::size_t>(options.portfolio);
  std::vector<db::DeviceRules> devices;
  for (const db::StoredPortfolio& stored :
       portfolios_of(options, store, std::max(most, std::size_t{1}))) {
    devices.push_back(device_rules(stored, most));
    write_error(wrapped(printable(devices.back().space + " on " + devices.back().device) + ": " +
                        devices.back().notes));
  }
  if (devices.empty()) best_or_throw(options, store, /*per_kernel=*/false);
  return options.rules == "cpp" ? db::export_rules_cpp(devices) : db::export_rules_python(devices);
}

/// Writes the export, once all that it can be refused for is known.
void write_export(const ExportOptions& options, const db::ResultReader& store) {
  if (!options.rules.empty()) {
    return write_whole_file(options.output, rules_text(options, store));
  }
  using Takes = db::ExportFormat::Takes;
  const db::ExportFormat& format = db::export_format(options.format);
  const auto write = [&](const db::ExportInput& input) {
    write_whole_file(options.output, [&](const TextSink& out) { format.write(input, out); });
  };
  if (format.takes == Takes::all_results) {
    return write({.results = {}, .all_results = all_or_throw(options, store)});
  }
  const bool is_one = format.takes == Takes::one_configuration;
  const bool is_compiled = format.takes == Takes::compiled;
  std::vector<PortfolioReport> reports;
  db::ExportInput input = {.results = {}};
  if (options.portfolio > 0) {
    take_portfolios(options, store, input, reports);
  } else {
    input.results =
        without_answered_imports(best_or_throw(options, store, !is_one && !is_compiled));
    if (format.selects) input.candidates = candidates_of(input.results, options, store);
  }
  for (const PortfolioReport& report : reports) {
    input.notes += portfolio_text(report);
    input.portfolios.push_back(portfolio_json(report));
  }
  write_error(wrapped(input.notes));
  if (is_one) refuse_several(options.format, input.results);
  if (is_compiled) input.compiled = compile_bundle(input.results, compiled_space(options));
  input.defaults = store.defaults(options.query);
  write(input);
}

/// Returns a text like `json; header: a C++17 header; kernel-tuner, t4: for other tuners`.
std::string export_formats_help() {
  const std::vector<db::ExportFormat>& formats = db::export_formats();
  std::string text;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const std::string_view help = formats[i].help;
    const bool is_last = i + 1 == formats.size();
    const bool is_same = !is_last && !help.empty() && help == formats[i + 1].help;
    text += formats[i].name;
    if (!help.empty() && !is_same) text += ": " + std::string(help);
    if (!is_last) text += is_same ? ", " : "; ";
  }
  return text;
}

void add_export_options(CLI::App& app, ExportOptions& options) {
  add_choice(app, options);
  const std::vector<std::string> names = texts_of(db::export_formats(), &db::ExportFormat::name);
  add_value(app, "--format", options.format, export_formats_help(), "WORD")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  add_count(app, "--portfolio", options.portfolio, 1, 64,
            "Write only this many configurations for each space and device: those that together "
            "lose least over all problems");
  add_value(app, "--rules", options.rules,
            "Write nested ifs over the sizes instead, as C++ (cpp) or python, with what they "
            "lose; with --portfolio they choose among so many configurations",
            "WORD")
      ->check(CLI::IsMember({"cpp", "python"}))
      ->excludes("--format");
  add_value(app, "-o,--output", options.output, "File to write, - for stdout", "FILE")
      ->capture_default_str();
}

int run_export(const ExportOptions& options) {
  const db::LayeredStore store = open_results(options);
  write_export(options, store);
  return 0;
}

}  // namespace

void add_export_command(Commands& commands) {
  commands.add<ExportOptions>("export", "Write the best configurations for programs",
                              add_export_options, run_export);
}

}  // namespace smemtune::cli
