#pragma once

#include "smemtune/smemtune_c.h"
#include "tuner/library/planning.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

// The objects behind the structs of the C interface: each owns what its struct points to.

namespace smemtune {

/// Keeps the message of the exception that is being handled. Returns its status.
smemtune_status keep_error() noexcept;

/// Returns the message that this thread kept last.
const char* last_message() noexcept;

/// Calls `act` and returns what became of it, with the message of what it threw for
/// smemtune_error().
template <typename Act>
smemtune_status guarded(const Act& act) noexcept {
  try {
    act();
    return SMEMTUNE_OK;
  } catch (...) {
    return keep_error();
  }
}

/// Throws InputError if a pointer that a function needs is null.
void need(const void* pointer, const char* what);

struct SelectionObject : smemtune_selection {
  SelectionObject(Selection chosen, smemtune_match how);
  SelectionObject(const SelectionObject&) = delete;
  SelectionObject& operator=(const SelectionObject&) = delete;

  Selection selection;
  std::string configuration_key;
  std::string problem_key;
  std::string measured_problem_key;
  std::string in_words;
};

struct PlanObject : smemtune_plan {
  PlanObject(PlannedKernel kernel, Target for_target, int gpu_index);
  PlanObject(const PlanObject&) = delete;
  PlanObject& operator=(const PlanObject&) = delete;

  PlannedKernel planned;
  int compute_capability;
  int gpu;
  std::vector<Turn> turns;
  std::vector<smemtune_argument> argument_list;
  std::vector<smemtune_launch_shape> launch_list;
  std::vector<std::vector<smemtune_launch_argument>> launch_arguments;
  std::vector<std::vector<std::uint8_t>> scalars;          ///< Bytes, by argument.
  std::vector<std::vector<std::uint8_t>> changed_scalars;  ///< Those of single launches.

 private:
  /// Adds a launch without its list of arguments.
  void add(const Turn& turn);
};

struct ModuleObject : smemtune_module {
  ModuleObject(const PlanObject& plan, CompiledKernel compiled_kernel, bool is_ptx);
  ModuleObject(const ModuleObject&) = delete;
  ModuleObject& operator=(const ModuleObject&) = delete;

  CompiledKernel compiled;
  std::vector<std::string> names;
  std::vector<const char*> entry_names;
  std::vector<const char*> symbol_names;
};

/// Compiles a plan; an empty architecture or NVRTC is that of smemtune_compile()'s NULL. Throws.
std::unique_ptr<ModuleObject> compile_plan(const PlanObject& plan, const std::string& architecture,
                                           const std::string& nvrtc);

}  // namespace smemtune

struct smemtune_results {
  smemtune::Results results;
};

struct smemtune_space {
  std::string file;
  std::filesystem::path share;
  smemtune::LoadedSpace loaded;
};
