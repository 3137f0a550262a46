#pragma once

#include "tuner/backend/cpu/kernel_abi.h"
#include "tuner/core/outcome.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// Prefix of the names of sources in a module's debug information.
inline constexpr const char* kSourcesPrefix = "/smemtune-source";
/// Name of the file that includes the kernel's own.
inline constexpr const char* kMainFile = "smemtune_main.cpp";

// Each OS thread that runs blocks has shared memory in this layout: dynamic, then static.
inline constexpr std::size_t kDynamicSharedBytes = 256 * 1024;
inline constexpr std::size_t kSharedBytes = kDynamicSharedBytes + 1024 * 1024;

/// The places of a module's __shared__ variables, the same for every OS thread.
class SharedLayout {
 public:
  struct Variable {
    const char* name = "";
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  /// Gives the variable its place, with unused space around it. Returns false if there is no room.
  /// Any thread may call it at any time.
  bool reserve(abi::Slot& slot);

  /// Returns the variables that have a place, in ascending order.
  std::span<const Variable> variables() const {
    return std::span(variables_).first(count_.load(std::memory_order_acquire));
  }

 private:
  std::mutex mutex_;
  std::array<Variable, 256> variables_;
  std::atomic<std::size_t> count_ = 0;
};

/// A shared object that was compiled from a kernel's source.
class Module {
 public:
  using Entry = void (*)(void** arguments);

  /// Loads a shared object. Returns a Failure with status `compile` if the dynamic linker refuses
  /// it, as for a function that is declared but nowhere defined.
  static Outcome<std::shared_ptr<Module>> load(std::span<const std::uint8_t> shared_object);

  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Returns null if there is no entry of that name.
  Entry entry(const std::string& lowered_name) const;

  /// Returns the size of a parameter of an entry; -1 behind the last parameter.
  long parameter_bytes(const std::string& lowered_name, unsigned index) const;

  struct Symbol {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  /// Returns the place of a __constant__ variable.
  Symbol symbol(const std::string& lowered_name) const;

  /// Returns the source line, `tiled.cu:12`, of the code that returns to `place`; empty if that
  /// cannot be told: without debug information, or without addr2line.
  std::string line_of(const void* place) const;

  SharedLayout& layout() { return layout_; }

 private:
  Module(int file, void* handle) : file_(file), handle_(handle) {}

  void* find(const std::string& name) const;

  int file_;  ///< Open while the object is loaded: the linker knows it by this number.
  void* handle_;
  SharedLayout layout_;
};

/// The resources that code uses, itself and through the functions that it calls.
struct Uses {
  std::int64_t shared_bytes = 0;       ///< Size of its __shared__ variables, each aligned.
  std::vector<std::string> undefined;  ///< Names of functions and variables in other modules.
};

/// Follows the relocations of a relocatable ELF object, compiled with a section for each function
/// and variable, from the function `entry`. Throws UnavailableError for a file of another form.
Uses uses_of(std::span<const std::uint8_t> object, const std::string& entry);

}  // namespace smemtune::cpu
