#pragma once

#include "tuner/backend/cpu/cpu_launcher.h"
#include "tuner/backend/cpu/host_compiler.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Helpers that the tests of the CPU device share.

namespace smemtune::cpu {

inline Device test_limits() {
  Device device;
  device.name = "test limits";
  device.architecture = "sm_90";
  device.max_threads_per_block = 1024;
  return device;
}

inline HostCompiler& test_compiler() {
  static HostCompiler compiler;
  return compiler;
}

inline Outcome<CompiledKernel> compile(const std::string& source,
                                       const std::vector<std::string>& entries,
                                       const std::vector<std::string>& symbols = {},
                                       const std::vector<std::string>& options = {}) {
  return test_compiler().compile({.architecture = "host",
                                  .source = {.files = {{.name = "kernel.cu", .text = source}}},
                                  .name_expressions = entries,
                                  .symbol_expressions = symbols,
                                  .options = options});
}

inline Argument buffer(std::string name, ScalarType type, Role role, std::int64_t elements,
                       Init init = {}) {
  Argument argument;
  argument.name = std::move(name);
  argument.type = type;
  argument.role = role;
  argument.shape = {elements};
  argument.init = std::move(init);
  return argument;
}

inline Argument input(std::string name, ScalarType type, std::int64_t elements) {
  return buffer(std::move(name), type, Role::input, elements,
                {.kind = Init::Kind::uniform, .a = -8, .b = 8, .file = {}});
}

inline Argument output(std::string name, ScalarType type, std::int64_t elements) {
  return buffer(std::move(name), type, Role::output, elements);
}

inline Argument integer(std::string name, std::int64_t value, ScalarType type = ScalarType::int32) {
  Argument argument;
  argument.name = std::move(name);
  argument.type = type;
  argument.integer = value;
  return argument;
}

inline LaunchShape shape(std::string entry, const Dim3& grid, const Dim3& block,
                         std::vector<std::string> arguments, std::int64_t dynamic_bytes = 0) {
  LaunchShape launch;
  launch.name_expression = std::move(entry);
  launch.grid = grid;
  launch.block = block;
  launch.arguments = std::move(arguments);
  launch.dynamic_shared_bytes = dynamic_bytes;
  return launch;
}

/// Loads a kernel and runs it once as a reference; every buffer but scratch is downloaded.
inline Outcome<RunReport> run_once(CpuLauncher& launcher, const CompiledKernel& compiled,
                                   const std::vector<LaunchShape>& launches,
                                   const std::vector<Argument>& arguments) {
  const auto prepared = launcher.prepare(0, {.arguments = arguments, .seed = 1});
  if (!prepared) return prepared.failure();
  const auto loaded = launcher.load(0, compiled, launches, arguments);
  if (!loaded) return loaded.failure();
  RunRequest request;
  request.as_reference = true;
  for (const Argument& argument : arguments) {
    if (argument.is_buffer()) request.download.push_back(argument.name);
  }
  request.download_before = request.download;
  return launcher.run(loaded->handle, request);
}

}  // namespace smemtune::cpu
