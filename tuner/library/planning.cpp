#include "tuner/library/planning.h"

#include "tuner/config/devices_file.h"
#include "tuner/core/compiler_options.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/engine/variant.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <variant>

namespace smemtune {

namespace {

/// Adds the selected compiler to the kernel's parameters if the search was among several compilers.
void offer_compiler(const Selection& selection, Space& space) {
  const auto compiler = selection.parameters.find(kCompilerParameter);
  const KernelTemplate* const kernel = space.kernel(selection.kernel);
  if (compiler == selection.parameters.end() || kernel == nullptr ||
      kernel->default_configuration.contains(kCompilerParameter)) {
    return;
  }
  if (const auto* const version = std::get_if<std::int64_t>(&compiler->second)) {
    choose_among(space, {version, 1});
  }
}

KernelPlan make_plan(const KernelInstance& instance) {
  KernelPlan plan;
  for (const Turn& turn : turns_of(instance.launches)) {
    KernelLaunch& launch = plan.launches.emplace_back();
    const LaunchShape& shape = instance.launches[turn.launch];
    launch.entry = shape.name_expression;
    std::ranges::copy(turn.as.grid, launch.grid);
    std::ranges::copy(turn.as.block, launch.block);
    std::ranges::copy(shape.cluster, launch.cluster);
    launch.dynamic_shared_bytes = turn.as.dynamic_shared_bytes;
    launch.arguments = turn.as.arguments;
    launch.cooperative = shape.cooperative;
    launch.shared_carveout = shape.shared_carveout.value_or(-1);
    launch.programmatic = shape.programmatic.value_or(0) != 0;
    for (const Argument& scalar : turn.as.scalars) {
      launch.scalars[scalar.name] =
          is_floating(scalar.type) ? static_cast<std::int64_t>(scalar.number) : scalar.integer;
    }
  }
  for (const Argument& argument : instance.arguments) {
    if (!argument.is_buffer()) continue;
    plan.buffers.push_back({.name = argument.name,
                            .bytes = argument.bytes(),
                            .in_constant_memory = argument.in_constant_memory(),
                            .is_texture = argument.is_texture(),
                            .is_tensor_map = argument.is_tensor_map()});
  }
  return plan;
}

}  // namespace

std::filesystem::path share_of(const KernelPlaces& places) {
  if (!places.share.empty()) return places.share;
  const char* share = std::getenv("SMEMTUNE_SHARE");
  return share != nullptr && *share != '\0' ? share : SMEMTUNE_INSTALLED_SHARE;
}

Device assumed_device(const Target& target, const std::filesystem::path& share) {
  const std::filesystem::path published = share / "configs" / "devices.json";
  if (std::filesystem::exists(published)) {
    for (const Device& device : load_devices(published)) {
      const int capability = device.compute_capability();
      if (device.name == target.device && capability == target.compute_capability) return device;
    }
  }
  Device device = h200_limits();
  device.name = target.device;
  device.architecture = "sm_" + std::to_string(target.compute_capability);
  device.compute_major = target.compute_capability / 10;
  device.compute_minor = target.compute_capability % 10;
  device.sm_count = 1;
  return device;
}

PlannedKernel plan_for(const LoadedSpace& loaded, const std::filesystem::path& space_file,
                       const Selection& selection, const Device& device) {
  Space space = loaded.space;
  offer_compiler(selection, space);
  if (selection.match == Match::none) {
    throw InputError("nothing was selected for " + space.name + " on " + key(selection.problem));
  }
  const KernelTemplate* kernel = space.kernel(selection.kernel);
  if (space.name != selection.space || kernel == nullptr) {
    throw InputError(space_file.string() + " is space " + space.name + " and has no kernel " +
                     selection.space + "/" + selection.kernel);
  }
  KernelOnProblems bound;
  bound.bound.emplace_back(space, *kernel, selection.problem, device);
  bound.source = &loaded.sources.at(kernel->name);
  if (const auto reason = cannot_run(bound.bound.front(), selection.parameters, device)) {
    throw InputError(selection.kernel + " " + key(selection.parameters) + " cannot run on " +
                     key(selection.problem) + ": " + *reason);
  }
  const Outcome<Variant> variant =
      smemtune::plan(bound, {.problems = {selection.problem}}, selection.parameters, device);
  if (!variant) throw InputError(variant.failure().detail);
  PlannedKernel planned = {.instance = variant->instances.front(),
                           .request = variant->requests.front(),
                           .plan = make_plan(variant->instances.front())};
  planned.plan.edited =
      !selection.kernel_hash.empty() &&
      selection.kernel_hash !=
          kernel_hash(space, *kernel, *bound.source, loaded.sources.at(space.verify.reference));
  return planned;
}

KernelPlan plan_kernel(const std::filesystem::path& space_file, const Selection& selection,
                       const Target& target, const KernelPlaces& places) {
  const std::filesystem::path share = share_of(places);
  return plan_for(load_space(space_file, share), space_file, selection,
                  assumed_device(target, share))
      .plan;
}

}  // namespace smemtune
