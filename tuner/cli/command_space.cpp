#include "reports/space_report.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

struct SpaceOptions {
  std::filesystem::path space;
  std::vector<std::string> kernels;   ///< Empty: all kernels.
  std::vector<std::string> problems;  ///< Empty: the first one of the file.
  std::string device;                 ///< Empty: the first GPU in this machine, otherwise the H200.
  std::filesystem::path database;
  std::uint64_t samples = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

void add_space_options(CLI::App& app, SpaceOptions& options) {
  app.add_option("FILE", options.space, "The space file")->required();
  add_repeatable(app, "--kernel", options.kernels, "Only this kernel; may be repeated [all]",
                 "NAME");
  add_repeatable(app, "--problem", options.problems,
                 "NAME=VALUE,...; may be repeated [the file's first]", "KEY");
  add_value(app, "--device", options.device,
            "Any known GPU, or sm_XX [the first GPU; the H200 where there is none]", "NAME");
  add_database(app, options.database);
  add_count(app, "--samples", options.samples, 0, 1'000'000,
            "Configurations of each kernel to show [5]");
  add_count(app, "--seed", options.seed, 0, UINT64_MAX, "Seed that chooses those shown [1]");
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Prints statistics of the search spaces in a file. Compiles and measures nothing.
int run_space(const SpaceOptions& options) {
  const LoadedSpace loaded = load_space(find_space(options.space), share_folder());
  const Device device = device_to_check(options.device, options.database);
  std::vector<Problem> problems = chosen_problems(loaded.space, options.problems, device.kind);
  if (options.problems.empty() && problems.size() > 1) problems.resize(1);
  std::vector<SpaceSurvey> surveys;
  for (const Problem& problem : problems) {
    for (const KernelTemplate* kernel : chosen_kernels(loaded.space, options.kernels)) {
      surveys.push_back(
          survey(loaded.space, *kernel, problem, device, options.samples, options.seed));
    }
  }
  write_document(options.json ? space_json(surveys) : space_text(surveys));
  return 0;
}

}  // namespace

void add_space_command(Commands& commands) {
  commands.add<SpaceOptions>("space",
                             "Show what a search space is made of, and what removes most of it",
                             add_space_options, run_space);
}

}  // namespace smemtune::cli
