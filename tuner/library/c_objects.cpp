#include "tuner/library/c_objects.h"

#include "tuner/backend/contents.h"
#include "tuner/core/error.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string_view>

namespace smemtune {

namespace {

thread_local std::string last_error;

smemtune_status keep(std::string_view message, smemtune_status status) noexcept {
  try {
    last_error = message;
  } catch (const std::exception&) {
    last_error.clear();
  }
  return status;
}

smemtune_role role_of(const Argument& argument) {
  if (!argument.is_buffer()) return SMEMTUNE_SCALAR;
  switch (argument.role) {
    case Role::input:
      return SMEMTUNE_INPUT_BUFFER;
    case Role::output:
      return SMEMTUNE_OUTPUT;
    case Role::inout:
      return SMEMTUNE_INOUT;
    case Role::scratch:
      break;
  }
  return argument.is_scratch() ? SMEMTUNE_SCRATCH : SMEMTUNE_INOUT;
}

smemtune_memory memory_of(const Argument& argument) {
  if (argument.in_constant_memory()) return SMEMTUNE_CONSTANT;
  if (argument.is_texture()) return SMEMTUNE_TEXTURE;
  return argument.is_tensor_map() ? SMEMTUNE_TENSOR_MAP : SMEMTUNE_GLOBAL;
}

smemtune_argument c_argument(const Argument& argument, const std::vector<std::uint8_t>& scalar) {
  return {
      .name = argument.name.c_str(),
      .type = cuda_name(argument.type).data(),
      .role = role_of(argument),
      .memory = memory_of(argument),
      .dimensions = argument.shape.size(),
      .shape = argument.shape.data(),
      .bytes = argument.is_buffer() ? argument.bytes() : static_cast<std::int64_t>(scalar.size()),
      .value = argument.is_buffer() ? nullptr : scalar.data()};
}

/// Returns the position of a launch's argument among all of the kernel's.
std::size_t index_of(const std::vector<Argument>& arguments, const std::string& name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  if (found == arguments.end()) throw Error("the kernel has no argument " + name);
  return static_cast<std::size_t>(found - arguments.begin());
}

}  // namespace

const char* last_message() noexcept { return last_error.c_str(); }

smemtune_status keep_error() noexcept {
  try {
    throw;
  } catch (const InputError& error) {
    return keep(error.what(), SMEMTUNE_INPUT);
  } catch (const StoreError& error) {
    return keep(error.what(), SMEMTUNE_STORE);
  } catch (const UnavailableError& error) {
    return keep(error.what(), SMEMTUNE_UNAVAILABLE);
  } catch (const std::exception& error) {
    return keep(error.what(), SMEMTUNE_FAILED);
  } catch (...) {
    return keep("an unknown error", SMEMTUNE_FAILED);
  }
}

void need(const void* pointer, const char* what) {
  if (pointer == nullptr) throw InputError(std::string(what) + " is NULL");
}

SelectionObject::SelectionObject(Selection chosen, smemtune_match how)
    : smemtune_selection(),
      selection(std::move(chosen)),
      configuration_key(key(selection.parameters)),
      problem_key(key(selection.problem)),
      measured_problem_key(key(selection.measured_problem)),
      in_words(how == SMEMTUNE_GIVEN
                   ? selection.kernel + " " + configuration_key + " (given by the caller)"
                   : selection.text()) {
  match = how;
  size_ratio = selection.size_ratio;
  space = selection.space.c_str();
  kernel = selection.kernel.c_str();
  configuration = configuration_key.c_str();
  problem = problem_key.c_str();
  measured_problem = measured_problem_key.c_str();
  measured_device = selection.measured_device.c_str();
  time_ms = selection.time_ms;
  kernel_hash = selection.kernel_hash.c_str();
  shared_from = selection.shared_from.c_str();
  compared_with = selection.compared_with.c_str();
  stale = selection.stale ? 1 : 0;
  text = in_words.c_str();
}

PlanObject::PlanObject(PlannedKernel kernel, Target for_target, int gpu_index)
    : smemtune_plan(),
      planned(std::move(kernel)),
      compute_capability(for_target.compute_capability),
      gpu(gpu_index),
      turns(turns_of(planned.instance.launches)) {
  const std::vector<Argument>& all = planned.instance.arguments;
  std::size_t changes = 0;
  for (const Turn& turn : turns) changes += turn.as.scalars.size();
  changed_scalars.reserve(changes);
  for (const Argument& argument : all) {
    scalars.push_back(argument.is_buffer() ? std::vector<std::uint8_t>() : scalar_bytes(argument));
    argument_list.push_back(c_argument(argument, scalars.back()));
  }
  for (const Turn& turn : turns) add(turn);
  // The lists no longer grow: what lies in them keeps its place.
  for (std::size_t i = 0; i < launch_list.size(); ++i) {
    launch_list[i].argument_count = launch_arguments[i].size();
    launch_list[i].arguments = launch_arguments[i].data();
  }
  launch_count = launch_list.size();
  launches = launch_list.data();
  argument_count = argument_list.size();
  arguments = argument_list.data();
  edited = planned.plan.edited ? 1 : 0;
}

void PlanObject::add(const Turn& turn) {
  std::vector<smemtune_launch_argument>& taken = launch_arguments.emplace_back();
  for (const std::string& name : turn.as.arguments) {
    const Argument* const changed = find_argument(turn.as.scalars, name);
    if (changed) changed_scalars.push_back(scalar_bytes(*changed));
    taken.push_back({.index = index_of(planned.instance.arguments, name),
                     .value = changed ? changed_scalars.back().data() : nullptr});
  }
  const LaunchShape& shape = planned.instance.launches[turn.launch];
  smemtune_launch_shape& launch = launch_list.emplace_back();
  launch.entry = shape.name_expression.c_str();
  std::ranges::copy(turn.as.grid, launch.grid);
  std::ranges::copy(turn.as.block, launch.block);
  std::ranges::copy(shape.cluster, launch.cluster);
  launch.dynamic_shared_bytes = turn.as.dynamic_shared_bytes;
  launch.cooperative = shape.cooperative ? 1 : 0;
  launch.shared_carveout = shape.shared_carveout.value_or(-1);
  launch.programmatic = static_cast<int>(shape.programmatic.value_or(0));
}

ModuleObject::ModuleObject(const PlanObject& plan, CompiledKernel compiled_kernel, bool is_ptx)
    : smemtune_module(), compiled(std::move(compiled_kernel)) {
  if (is_ptx && (compiled.image.empty() || compiled.image.back() != 0)) compiled.image.push_back(0);
  names.reserve(plan.turns.size() + plan.planned.instance.arguments.size());
  for (const Turn& turn : plan.turns) {
    const std::string& entry = plan.planned.instance.launches[turn.launch].name_expression;
    const CompiledEntry* const found = compiled.entry(entry);
    if (found == nullptr) throw Error(entry + " was not compiled");
    entry_names.push_back(names.emplace_back(found->lowered_name).c_str());
  }
  for (const Argument& argument : plan.planned.instance.arguments) {
    const CompiledSymbol* const found =
        argument.in_constant_memory()
            ? compiled.symbol(argument.symbol.empty() ? argument.name : argument.symbol)
            : nullptr;
    symbol_names.push_back(names.emplace_back(found ? found->lowered_name : "").c_str());
  }
  image = compiled.image.data();
  image_bytes = compiled.image.size();
  entry_count = entry_names.size();
  entries = entry_names.data();
  symbol_count = symbol_names.size();
  symbols = symbol_names.data();
  log = compiled.log.c_str();
}

}  // namespace smemtune
