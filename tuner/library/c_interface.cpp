#include "smemtune/smemtune_c.h"
#include "tuner/core/error.h"
#include "tuner/library/c_objects.h"

#if SMEMTUNE_CUDA_BUILD
#include "tuner/library/planning.h"
#endif

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

[[noreturn]] [[maybe_unused]] void no_cuda() {
  throw UnavailableError(
      "this libsmemtune was built without CUDA: it selects and plans, and neither compiles nor "
      "launches");
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

const KernelTemplate& kernel_of(const smemtune_space& space, const std::string& name) {
  if (name.empty()) return space.loaded.space.kernels.front();
  const KernelTemplate* const kernel = space.loaded.space.kernel(name);
  if (kernel != nullptr) return *kernel;
  std::string known;
  for (const KernelTemplate& one : space.loaded.space.kernels) {
    known += (known.empty() ? "" : ", ") + one.name;
  }
  throw InputError(space.file + " has no kernel " + name + "; its kernels are " + known);
}

Selection of_configuration(const smemtune_space& space, const Problem& problem,
                           const std::string& kernel, const std::string& configuration) {
  const KernelTemplate& of = kernel_of(space, kernel);
  Selection selection;
  selection.match = Match::defaults;
  selection.space = space.loaded.space.name;
  selection.kernel = of.name;
  selection.problem = problem;
  selection.parameters = parse_configuration(of, configuration);
  return selection;
}

Selection best_of(const Results& results, const smemtune_space& space, const std::string& problem,
                  const std::string& kernel, const Target& target) {
  kernel_of(space, kernel);  // Throws for one that the file does not have.
  const Problem parsed = parse_problem(space.loaded.space, problem);
  Selection best = results.select(target, space.loaded.space.name, parsed, kernel);
  if (best.match == Match::none) return of_configuration(space, parsed, kernel, "");
  return best;
}

Target target_of(const smemtune_target* target) {
  need(target, "target");
  need(target->device, "target.device");
  return {target->device, target->compute_capability};
}

Device device_of(const smemtune_target& target, const std::filesystem::path& share) {
#if SMEMTUNE_CUDA_BUILD
  if (target.gpu >= 0) {
    const auto& devices = gpu_devices();
    const auto index = static_cast<std::size_t>(target.gpu);
    if (index < devices.size()) return devices[index];
    throw UnavailableError("there is no GPU " + std::to_string(target.gpu) + ": this machine has " +
                           std::to_string(devices.size()));
  }
#endif
  return assumed_device({target.device, target.compute_capability}, share);
}

smemtune_match match_of(Match match) { return static_cast<smemtune_match>(match); }
static_assert(static_cast<int>(Match::exact) == SMEMTUNE_EXACT);
static_assert(static_cast<int>(Match::nearest_problem) == SMEMTUNE_NEAREST_PROBLEM);
static_assert(static_cast<int>(Match::same_architecture) == SMEMTUNE_SAME_ARCHITECTURE);
static_assert(static_cast<int>(Match::defaults) == SMEMTUNE_DEFAULTS);

}  // namespace
}  // namespace smemtune

using smemtune::guarded;
using smemtune::need;

int smemtune_c_version(void) { return SMEMTUNE_C_VERSION; }

const char* smemtune_version(void) { return SMEMTUNE_VERSION; }

const char* smemtune_error(void) { return smemtune::last_message(); }

smemtune_status smemtune_open_results(const char* const* files, size_t count,
                                      smemtune_results** results) {
  return guarded([&] {
    need(results, "results");
    if (count != 0) need(files, "files");
    std::vector<std::filesystem::path> paths;
    for (size_t i = 0; i < count; ++i) {
      need(files[i], "a file");
      paths.emplace_back(files[i]);
    }
    *results = new smemtune_results{smemtune::Results(paths)};
  });
}

void smemtune_close_results(smemtune_results* results) { delete results; }

smemtune_status smemtune_open_space(const char* file, const char* share, smemtune_space** space) {
  return guarded([&] {
    need(file, "file");
    need(space, "space");
    const std::filesystem::path folder =
        smemtune::share_of({.share = smemtune::text_or_empty(share), .cache = {}});
    *space = new smemtune_space{file, folder, smemtune::load_space(file, folder)};
  });
}

void smemtune_close_space(smemtune_space* space) { delete space; }

smemtune_status smemtune_find_gpu(int index, smemtune_target* target) {
  return guarded([&] {
    need(target, "target");
#if SMEMTUNE_CUDA_BUILD
    const auto& devices = smemtune::gpu_devices();
    if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) {
      throw smemtune::UnavailableError("there is no GPU " + std::to_string(index) +
                                       ": this machine has " + std::to_string(devices.size()));
    }
    const smemtune::Device& device = devices[static_cast<std::size_t>(index)];
    *target = {.device = device.name.c_str(),
               .compute_capability = device.compute_capability(),
               .gpu = index};
#else
    (void)index;
    smemtune::no_cuda();
#endif
  });
}

smemtune_status smemtune_select(const smemtune_results* results, const smemtune_space* space,
                                const char* problem, const char* kernel,
                                const smemtune_target* target,
                                const smemtune_selection** selection) {
  return guarded([&] {
    need(results, "results");
    need(space, "space");
    need(problem, "problem");
    need(selection, "selection");
    smemtune::Selection best =
        smemtune::best_of(results->results, *space, problem, smemtune::text_or_empty(kernel),
                          smemtune::target_of(target));
    const smemtune_match match = smemtune::match_of(best.match);
    *selection = new smemtune::SelectionObject(std::move(best), match);
  });
}

smemtune_status smemtune_select_given(const smemtune_space* space, const char* problem,
                                      const char* kernel, const char* configuration,
                                      const smemtune_selection** selection) {
  return guarded([&] {
    need(space, "space");
    need(problem, "problem");
    need(selection, "selection");
    smemtune::Selection given = smemtune::of_configuration(
        *space, smemtune::parse_problem(space->loaded.space, problem),
        smemtune::text_or_empty(kernel), smemtune::text_or_empty(configuration));
    *selection = new smemtune::SelectionObject(std::move(given), SMEMTUNE_GIVEN);
  });
}

void smemtune_free_selection(const smemtune_selection* selection) {
  delete static_cast<const smemtune::SelectionObject*>(selection);
}

smemtune_status smemtune_plan_selection(const smemtune_space* space,
                                        const smemtune_selection* selection,
                                        const smemtune_target* target, const smemtune_plan** plan) {
  return guarded([&] {
    need(space, "space");
    need(selection, "selection");
    need(plan, "plan");
    const smemtune::Target device = smemtune::target_of(target);
    *plan = new smemtune::PlanObject(
        smemtune::plan_for(space->loaded, space->file,
                           static_cast<const smemtune::SelectionObject*>(selection)->selection,
                           smemtune::device_of(*target, space->share)),
        device, target->gpu);
  });
}

void smemtune_free_plan(const smemtune_plan* plan) {
  delete static_cast<const smemtune::PlanObject*>(plan);
}

smemtune_status smemtune_compile(const smemtune_plan* plan, const char* architecture,
                                 const char* nvrtc, const smemtune_module** module) {
  return guarded([&] {
    need(plan, "plan");
    need(module, "module");
#if SMEMTUNE_CUDA_BUILD
    const auto& object = *static_cast<const smemtune::PlanObject*>(plan);
    *module = smemtune::compile_plan(object, smemtune::text_or_empty(architecture),
                                     smemtune::text_or_empty(nvrtc))
                  .release();
#else
    (void)architecture;
    (void)nvrtc;
    smemtune::no_cuda();
#endif
  });
}

void smemtune_free_module(const smemtune_module* module) {
  delete static_cast<const smemtune::ModuleObject*>(module);
}

#if !SMEMTUNE_CUDA_BUILD

struct smemtune_kernel {};

smemtune_status smemtune_load(const smemtune_plan*, const char*, smemtune_kernel**) {
  return guarded([] { smemtune::no_cuda(); });
}

void smemtune_unload(smemtune_kernel*) {}

smemtune_status smemtune_launch(const smemtune_kernel*, const void* const*, size_t, void*) {
  return guarded([] { smemtune::no_cuda(); });
}

smemtune_status smemtune_texture(smemtune_kernel*, size_t, uint64_t, uint64_t*) {
  return guarded([] { smemtune::no_cuda(); });
}

#endif
