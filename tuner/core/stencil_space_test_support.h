#pragma once

#include "tuner/core/space.h"

#include <string>
#include <utility>
#include <vector>

// A small space for tests.

namespace smemtune {

inline std::vector<Value> integers(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

inline ExpressionText text(const std::string& expression, const std::string& where) {
  return {.text = expression, .where = where};
}

inline ArgumentTemplate buffer(const std::string& name, Role role, const std::string& shape) {
  ArgumentTemplate argument;
  argument.name = name;
  argument.type = "T";
  argument.role = role;
  argument.where = "/arguments/" + name;
  argument.shape = {text(shape, argument.where + "/shape/0")};
  return argument;
}

inline ArgumentTemplate scalar(const std::string& name, const std::string& type,
                               const std::string& value) {
  ArgumentTemplate argument;
  argument.name = name;
  argument.type = type;
  argument.where = "/arguments/" + name;
  argument.value = text(value, argument.where + "/value");
  return argument;
}

// Computes out[i] = sum of in[i .. i + 2 * RADIUS], with a halo in shared memory.
inline KernelTemplate shared_kernel() {
  KernelTemplate kernel;
  kernel.name = "shared";
  kernel.where = "/kernels/1";
  kernel.source = "stencil1d/stencil1d_shared.cu";
  kernel.parameters = {{"THREADS", integers({64, 128, 256, 512, 1024})},
                       {"ITEMS", integers({1, 2, 4, 8})}};
  kernel.default_configuration = {{"THREADS", std::int64_t{256}}, {"ITEMS", std::int64_t{1}}};
  kernel.constraints = {text("THREADS * ITEMS >= RADIUS", "/kernels/1/constraints/0"),
                        text("THREADS <= max_threads_per_block", "/kernels/1/constraints/1")};
  LaunchTemplate launch;
  launch.entry = "stencil1d_shared<T, RADIUS, THREADS, ITEMS * 1, true>";
  launch.entry_name = "stencil1d_shared";
  for (const char* argument : {"T", "RADIUS", "THREADS", "ITEMS * 1", " true "}) {
    launch.template_arguments.push_back(text(argument, "/kernels/1/entry"));
  }
  launch.block = {text("THREADS", "/kernels/1/block/0")};
  launch.grid = {text("ceil_div(N, THREADS * ITEMS)", "/kernels/1/grid/0"),
                 text("2", "/kernels/1/grid/1")};
  launch.static_shared_bytes =
      text("(THREADS * ITEMS + 2 * RADIUS) * sizeof(T)", "/kernels/1/static_shared_bytes");
  kernel.launches = {launch};
  kernel.arguments = {buffer("in", Role::input, "N + 2 * RADIUS"), buffer("out", Role::output, "N"),
                      scalar("n", "int", "N")};
  kernel.metrics = {{"bytes", text("2 * N * sizeof(T)", "/metrics/bytes")},
                    {"flops", text("2 * RADIUS * N", "/metrics/flops")}};
  return kernel;
}

inline Space stencil(KernelTemplate kernel) {
  Space space;
  space.file = "configs/stencil1d.json";
  space.name = "stencil1d";
  space.problems = {{{"N", std::int64_t{1000}}, {"RADIUS", std::int64_t{3}}, {"T", "int"}},
                    {{"N", std::int64_t{1000}}, {"RADIUS", std::int64_t{300}}, {"T", "double"}}};
  space.kernels = {std::move(kernel)};
  return space;
}

inline Space stencil() { return stencil(shared_kernel()); }

}  // namespace smemtune
