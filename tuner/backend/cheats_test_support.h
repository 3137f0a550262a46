#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/measurement.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Kernels that give right results when they are checked and save work when they are timed, for
// tests of every device.

namespace smemtune {

struct Cheat {
  const char* name;
  /// True if the timed kernel writes wrong results. The other cheats cannot know the results and
  /// compute them, such as those that remember results of inputs which never come back: they gain
  /// nothing.
  bool is_wrong = true;
};

inline constexpr auto kCheats = std::to_array<Cheat>({
    {"counts_launches"},       // Returns early from the 9th launch on.
    {"every_other_launch"},    // Returns early in every second launch from the 9th on.
    {"returns_if_unchanged"},  // Returns where its element of the input is unchanged.
    {"returns_if_first_is"},   // Returns where the input's first element is unchanged.
    {"remembers_by_place", false},
    {"remembers_by_value", false},
    {"remembers_by_pointer"},  // Returns where it has seen the output's address before.
    {"remembers_many_inputs", false},
    {"knows_inputs"},  // Writes 0 for inputs that it has not seen, from the 9th launch on.
    {"state_in_scratch", false},
    {"state_behind_output"},      // Keeps its state in the output's guard zone.
    {"looks_for_poison", false},  // Returns where its output holds no poison.
    {"looks_whether_right", false},
    {"inout_unchanged"},  // Returns where the inout argument is unchanged.
    {"waits_for_time"},   // Returns once enough cycles have passed since its first launch.
    {"leaves_work"},      // Does in each launch the work that the one before it left.
    {"takes_results"},    // Takes the results that an earlier kernel leaves in scratch.
    {"searches_memory"},  // Searches memory beyond its own buffers for the results.
    {"not_a_number"},     // Writes NaN, which compares with nothing, from the 9th launch on.
    // Writes a constant, within a tolerance for larger numbers, from the 9th launch on.
    {"constant_small"},
    {"half_the_blocks"},  // Skips every second block from the 9th launch on.
});

/// Returns the source of an entry `cheat<NAME>` for each cheat; `honest` does not cheat. The kernel
/// computes out = 2 in, io = 2 io and small = 1e-7 in, slowly, for N elements.
inline const std::string& cheating_source() {
  static const std::string source = [] {
    std::string names = "honest";
    for (const Cheat& cheat : kCheats) names += std::string(", ") + cheat.name;
    return "enum Cheat { " + names + " };" + R"cuda(
constexpr int kMost = 4096;
constexpr unsigned kLater = 8;
__device__ unsigned calls[kMost], seen[kMost], known_at[16 * kMost];
__device__ float last_in[kMost], last_out[kMost], last_io[kMost];
__device__ float known_in[16 * kMost], known_out[16 * kMost];
__device__ const float* former_in[kMost];
__device__ float* former_out[kMost];
__device__ long long born[kMost];

__device__ long long cycles() {
#ifdef __CUDA_ARCH__
  return clock64();
#else
  return __builtin_ia32_rdtsc();
#endif
}

__device__ float twice(float x) {
  float y = x;
  for (int j = 0; j < 4000; ++j) y = y * 0.5f + x;
  return y;
}

__device__ unsigned hash_of(float x) {
  union { float number; unsigned bits; } one;
  one.number = x;
  return one.bits * 2654435761u >> 16;
}

template <Cheat CHEAT>
__device__ float answer(const float* in, float* out, float* state, int i, int n, unsigned call) {
  const float x = in[i];
  if (CHEAT == remembers_by_place) {
    if (call > 1 && last_in[i] == x) return last_out[i];
    last_in[i] = x;
    return last_out[i] = twice(x);
  }
  if (CHEAT == remembers_by_value) {
    const unsigned slot = 16 * i + hash_of(x) % 16;
    if (known_at[slot] != 0 && known_in[slot] == x) return known_out[slot];
    known_at[slot] = 1;
    known_in[slot] = x;
    return known_out[slot] = twice(x);
  }
  if (CHEAT == remembers_many_inputs) {
    for (int k = 0; k < 16; ++k) {
      if (known_at[16 * i + k] != 0 && known_in[16 * i + k] == x) return known_out[16 * i + k];
    }
    const int k = 16 * i + call % 16;
    known_at[k] = 1;
    known_in[k] = x;
    return known_out[k] = twice(x);
  }
  if (CHEAT == knows_inputs) {
    bool known = false;
    for (int k = 0; k < 16; ++k) known = known || known_in[16 * i + k] == x;
    if (call > kLater && !known) return 0;
    known_in[16 * i + call % 16] = x;
  }
  if (CHEAT == takes_results) return state[i];
  if (CHEAT == searches_memory) {
    for (int k = 0; k < 4096; ++k) {
      const float* at = out + i + n + 1024 + k;
      if (*at == 2 * x && x != 0) return *at;
    }
    return 0;
  }
  return twice(x);
}

template <Cheat CHEAT>
__global__ void cheat(float* in, float* out, float* io, float* small, float* state, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const unsigned call = ++calls[i];
  const bool later = call > kLater;
  const float x = in[i];
  if (CHEAT == counts_launches && later) return;
  if (CHEAT == every_other_launch && later && call % 2 == 0) return;
  if (CHEAT == returns_if_unchanged && call > 1 && last_in[i] == x) return;
  if (CHEAT == returns_if_first_is && call > 1 && last_in[i] == in[0]) return;
  if (CHEAT == remembers_by_pointer) {
    const unsigned address = static_cast<unsigned>(reinterpret_cast<unsigned long long>(out));
    for (int k = 0; k < 16; ++k) {
      if (later && known_at[16 * i + k] == address) return;
    }
    known_at[16 * i + call % 16] = address;
  }
  if (CHEAT == state_in_scratch) {
    if (state[i] == 12345) return;
    state[i] = 12345;
  }
  if (CHEAT == state_behind_output) {
    if (out[n + i % 1000] == 12345) return;
    out[n + i % 1000] = 12345;
  }
  if (CHEAT == looks_for_poison && out[i] == out[i]) return;
  if (CHEAT == looks_whether_right && out[i] == 2 * x) return;
  if (CHEAT == inout_unchanged) {
    if (call > 1 && last_io[i] == io[i]) return;
    last_io[i] = io[i];
  }
  if (CHEAT == waits_for_time) {
    if (call == 1) born[i] = cycles();
    if (cycles() - born[i] > 5000000) return;
  }
  if (CHEAT == half_the_blocks && later && blockIdx.x % 2 == 1) return;
  if (CHEAT == returns_if_unchanged) last_in[i] = x;
  if (CHEAT == returns_if_first_is) last_in[i] = in[0];
  if (CHEAT == leaves_work) {
    const float* from = former_in[i];
    float* to = former_out[i];
    former_in[i] = in;
    former_out[i] = out;
    if (later) {
      to[i] = twice(from[i]);
      io[i] = twice(io[i]);
      small[i] = 1e-7f * x;
      return;
    }
  }
  const float result = answer<CHEAT>(in, out, state, i, n, call);
  out[i] = CHEAT == not_a_number && later ? 0 * (x * 1e38f * 1e38f) : result;
  io[i] = twice(io[i]);
  small[i] = CHEAT == constant_small && later ? 1.5e-7f : 1e-7f * x;
  if (CHEAT == honest) state[i] = result;
}
)cuda";
  }();
  return source;
}

inline std::vector<Argument> cheated_arguments(std::int64_t elements) {
  std::vector<Argument> arguments;
  const auto add = [&](const char* name, Role role) {
    Argument& argument = arguments.emplace_back();
    argument.name = name;
    argument.role = role;
    argument.shape = {elements};
    if (role == Role::input || role == Role::inout) {
      argument.init = {.kind = Init::Kind::uniform, .a = 1, .b = 2, .file = {}};
    }
  };
  add("in", Role::input);
  add("out", Role::output);
  add("io", Role::inout);
  add("small", Role::output);
  add("state", Role::scratch);
  Argument& n = arguments.emplace_back();
  n.name = "n";
  n.type = ScalarType::int32;
  n.integer = elements;
  return arguments;
}

inline std::vector<LaunchShape> cheating_launch(const std::string& name, std::int64_t elements) {
  LaunchShape launch;
  launch.name_expression = "cheat<" + name + ">";
  launch.grid = {elements / 64, 1, 1};
  launch.block = {64, 1, 1};
  launch.arguments = {"in", "out", "io", "small", "state", "n"};
  return {launch};
}

inline std::vector<std::string> cheating_entries() {
  std::vector<std::string> entries = {"cheat<honest>"};
  for (const Cheat& cheat : kCheats) entries.push_back(std::string("cheat<") + cheat.name + ">");
  return entries;
}

/// The fate of a kernel: the reason of its failure, or its time.
struct Fate {
  std::string reason;
  double median_ms = 0;
};

/// Treats a loaded kernel as a search and finals do: verifies it on two workloads, 0 and 1, then
/// times it on the first.
inline Fate fate_of(Launcher& launcher, KernelHandle reference, KernelHandle handle, int rounds) {
  const std::map<std::string, Tolerance> tolerances = {
      {"small", {.absolute = 1e-11, .relative = 1e-5}}};
  for (const WorkloadId workload : {0, 1}) {
    const auto report = launcher.run(
        handle, {.workload = workload, .tolerance = {}, .tolerances = tolerances, .download = {}});
    if (!report) return {report.failure().reason};
    if (report->mismatch) return {report->mismatch->reason};
  }
  TimeRequest request = {.workload = 0, .tolerances = tolerances, .samples = 3};
  std::vector<double> samples_ms;
  for (int round = 0; round <= rounds; ++round) {
    if (round > 0) {
      const auto drawn = launcher.draw_data(reference, 0);
      if (!drawn || !*drawn) return {"no data"};
      request.samples = 1;
    }
    const auto report = launcher.time(handle, request);
    if (!report) return {report.failure().reason};
    if (report->mismatch) return {report->mismatch->reason};
    request.launches_per_sample = report->launches_per_sample;
    samples_ms.push_back(report->samples_ms.back());
  }
  return {"", median(samples_ms)};
}

}  // namespace smemtune
