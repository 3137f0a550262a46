#include "tuner/cli/command_space.h"

#include "reports/space_report.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"

namespace smemtune::cli {

void add_space_options(CLI::App& app, SpaceOptions& options) {
  app.add_option("FILE", options.space, "The space file")->required();
  add_repeatable(app, "--kernel", options.kernels, "Only this kernel; may be repeated [all]",
                 "NAME");
  add_repeatable(app, "--problem", options.problems,
                 "NAME=VALUE,...; may be repeated [the file's first]", "KEY");
  app.add_option("--device", options.device,
                 "Any known GPU, or sm_XX [the first GPU; the H200 where there is none]")
      ->type_name("NAME");
  add_database(app, options.database);
  add_count(app, "--samples", options.samples, 0, 1'000'000,
            "Configurations of each kernel to show [5]");
  add_count(app, "--seed", options.seed, 0, UINT64_MAX, "Seed that chooses those shown [1]");
  app.add_flag("--json", options.json, "Print as JSON");
}

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

}  // namespace smemtune::cli
