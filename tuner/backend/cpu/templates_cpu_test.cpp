#include "tuner/backend/cpu/cpu_launcher.h"
#include "tuner/backend/cpu/host_compiler.h"
#include "tuner/backend/tolerances.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/definition.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/sample_test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace smemtune {
namespace {

const std::filesystem::path kRoot = SMEMTUNE_SOURCE_DIR;

using Arrays = std::map<std::string, std::vector<double>>;

std::vector<std::string> space_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "configs")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".json" && name != "schema" && name != "devices") {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

Device limits() { return find_device(load_devices(kRoot / "configs" / "devices.json"), "h200"); }

/// Returns what the space's definitions make of the arrays before the launch.
Arrays defined(const Space& space, const Problem& problem, const std::vector<Argument>& arguments,
               const std::map<std::string, EncodedArray>& before) {
  std::map<std::string, std::size_t> dimensions;
  std::map<std::string, HostArray> arrays;
  std::vector<std::string> names;
  std::map<std::string, double> scalars;
  for (const Argument& argument : arguments) {
    if (argument.is_buffer()) {
      dimensions[argument.name] = argument.shape.size();
      arrays[argument.name] = {.shape = argument.shape,
                               .elements = {},
                               .type = argument.type,
                               .bytes = before.at(argument.name).bytes};
    } else {
      names.push_back(argument.name);
      scalars[argument.name] =
          is_floating(argument.type) ? argument.number : static_cast<double>(argument.integer);
    }
  }
  Arrays results;
  for (const ExpressionText& text : space.verify.definitions) {
    const Definition definition = Definition::compile(text.text, problem, dimensions, names);
    results[definition.output()] = definition.evaluate(arrays, scalars).elements;
  }
  return results;
}

/// Returns the number of elements that are further from the expected ones than the tolerance
/// allows.
int wrong_elements(const Arrays& expected, const std::map<std::string, EncodedArray>& actual,
                   const std::vector<Argument>& arguments, const Tolerance& tolerance) {
  int wrong = 0;
  for (const Argument& argument : arguments) {
    const auto found = expected.find(argument.name);
    if (found == expected.end()) continue;
    const Tolerance used = tolerance_for(tolerance, argument.type);
    const std::vector<double> values = actual.at(argument.name).doubles();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double want = found->second[i];
      const double allowed = allowed_error(used, argument.type, want);
      wrong += std::abs(values[i] - want) <= allowed ? 0 : 1;
    }
  }
  return wrong;
}

CompileRequest request_for(const KernelSource& source, const KernelInstance& instance) {
  CompileRequest request = {.architecture = "host",
                            .source = source,
                            .name_expressions = {},
                            .symbol_expressions = {},
                            .options = instance.options};
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const LaunchShape& launch : instance.launches) {
    add(request.name_expressions, launch.name_expression);
  }
  for (const Argument& argument : instance.arguments) {
    if (argument.in_constant_memory()) add(request.symbol_expressions, argument.symbol);
  }
  return request;
}

class TemplatesOnTheCpu : public testing::TestWithParam<std::string> {
 protected:
  void check(const LoadedSpace& loaded, const KernelTemplate& kernel, const Problem& problem,
             std::size_t number) {
    const KernelBinding bound(loaded.space, kernel, problem, device);
    const auto instance = sample_instance(bound, device, number);
    if (!instance) return;
    const std::string label = kernel.name + " " + instance->launches.front().name_expression + " " +
                              testing::PrintToString(instance->options) + " on " + key(problem);
    const auto compiled = compiler.compile(request_for(loaded.sources.at(kernel.name), *instance));
    if (!compiled && compiled.failure().reason == "cpu_unsupported") return;
    ASSERT_TRUE(compiled) << label << ": " << compiled.failure().detail;
    for (const LaunchShape& launch : instance->launches) {
      EXPECT_EQ(launch.static_shared_bytes,
                compiled->entry(launch.name_expression)->resources.static_shared_bytes)
          << label;
    }
    const bool is_shuffled = number % 4 >= 2;
    if (number < 2 || !is_shuffled) {
      check(ascending, loaded.space, problem, *instance, *compiled, label);
    }
    if (number < 2 || is_shuffled) {
      check(shuffled, loaded.space, problem, *instance, *compiled, label);
    }
  }

  void check(cpu::CpuLauncher& launcher, const Space& space, const Problem& problem,
             const KernelInstance& instance, const CompiledKernel& compiled,
             const std::string& label) {
    ASSERT_TRUE(launcher.prepare(0, {.arguments = instance.arguments, .seed = 1}));
    const auto loaded = launcher.load(0, compiled, instance.launches, instance.arguments);
    ASSERT_TRUE(loaded) << label << ": " << loaded.failure().detail;
    RunRequest request;
    request.as_reference = true;
    for (const Argument& argument : instance.arguments) {
      if (argument.is_buffer()) request.download.push_back(argument.name);
    }
    request.download_before = request.download;
    const auto report = launcher.run(0, request);
    ASSERT_TRUE(report) << label << ": " << report.failure().reason << ", "
                        << report.failure().detail;
    ASSERT_FALSE(report->mismatch) << label << ": " << report->mismatch->reason;
    if (instance.arguments != arguments || problem != defined_problem) {
      arguments = instance.arguments;
      defined_problem = problem;
      expected = defined(space, problem, arguments, report->before);
    }
    EXPECT_EQ(0, wrong_elements(expected, report->after, arguments, instance.tolerance)) << label;
    ++checked;
  }

  Device device = cpu::cpu_device(limits());
  cpu::HostCompiler compiler;
  cpu::CpuLauncher ascending{device};
  cpu::CpuLauncher shuffled{device, {.threads = 0, .shuffle_threads = true, .seed = 5}};
  int checked = 0;

  // The last evaluation of the definitions; most kernels of a space have the same arguments.
  Arrays expected;
  std::vector<Argument> arguments;
  Problem defined_problem;
};

// Every template, at every second of the space's sizes, with another configuration for each,
// computes what its space defines, while every memory access is checked and the threads of a block
// run in ascending order, in another one, or, at its first size, in both.
TEST_P(TemplatesOnTheCpu, ComputeWhatTheirSpaceDefines) {
  const LoadedSpace loaded = load_space(kRoot / "configs" / (GetParam() + ".json"), kRoot);
  ASSERT_FALSE(loaded.space.verify.definitions.empty());
  std::vector<Problem> problems = loaded.space.cpu_problems;
  problems.insert(problems.end(), loaded.space.verify.also.begin(), loaded.space.verify.also.end());
  const std::vector<KernelTemplate>& kernels = loaded.space.kernels;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      // Most of the time is the compiler's.
      if (problems.size() <= 2 || (i + k) % 2 == 0) check(loaded, kernels[k], problems[i], i);
    }
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Spaces, TemplatesOnTheCpu, testing::ValuesIn(space_names()),
                         [](const auto& space) { return space.param; });

}  // namespace
}  // namespace smemtune
