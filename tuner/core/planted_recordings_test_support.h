#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// Recordings for tests: a blur whose times on six imaginary GPUs follow from a formula, in the
// files that Kernel Tuner and T4 tools write, and the T1 file of its search space.

namespace smemtune {

/// An imaginary GPU and the sizes with which it is fastest.
struct PlantedGpu {
  std::string file;
  std::string name;  ///< Empty if the recording does not name the GPU.
  double threads = 256;
  double elements = 4;
};

inline const std::array<PlantedGpu, 6> kPlantedGpus = {
    PlantedGpu{"one", "Planted GPU 1", 128, 2},   PlantedGpu{"two", "Planted GPU 2", 128, 4},
    PlantedGpu{"three", "Planted GPU 3", 256, 4}, PlantedGpu{"four", "", 256, 8},
    PlantedGpu{"five", "Planted GPU 5", 512, 2},  PlantedGpu{"six", "Planted GPU 6", 768, 12}};

/// A configuration of the blur.
struct PlantedPoint {
  int block_x = 16;
  int block_y = 1;
  int tile_x = 1;
  int tile_y = 1;
  int padding = 0;

  /// Returns whether the configuration meets the conditions of planted_t1().
  bool is_valid() const {
    const int threads = block_x * block_y;
    return threads >= 32 && threads <= 1024 && (padding == 0 || block_x % 32 != 0) &&
           tile_x * tile_y < 15;
  }

  std::array<int, 5> values() const { return {block_x, block_y, tile_x, tile_y, padding}; }

  /// Returns `CompilationFailedConfig`, `RuntimeFailedConfig`, or an empty text if the
  /// configuration works.
  std::string failure() const {
    if (block_x * block_y * tile_x * tile_y > 8000) return "CompilationFailedConfig";
    return block_x * block_y == 960 ? "RuntimeFailedConfig" : "";
  }

  double ms(const PlantedGpu& gpu) const {
    const double threads = std::abs(std::log2(block_x * block_y / gpu.threads));
    const double elements = std::abs(std::log2(tile_x * tile_y / gpu.elements));
    const double conflicts = block_x % 32 != 0 && padding == 0 ? 0.2 : 0;
    const double rows = 0.1 * std::abs(tile_x - 2) + 0.05 * std::log2(block_y);
    std::uint64_t hash = static_cast<std::uint64_t>(gpu.threads + gpu.elements);
    for (const int value : values()) {
      hash = (hash + static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
    const double noise = 0.08 * static_cast<double>(hash % 1000) / 1000;
    return 1 + 0.3 * threads + 0.25 * elements + conflicts + rows + noise;
  }
};

inline constexpr std::array kPlantedNames = {"block_size_x", "block_size_y", "tile_size_x",
                                             "tile_size_y", "use_padding"};

inline std::vector<std::vector<int>> planted_values() {
  std::vector<int> block_x;
  for (int x = 16; x <= 256; x += 16) block_x.push_back(x);
  return {block_x, {1, 2, 4, 8, 16}, {1, 2, 3, 4}, {1, 2, 3, 4}, {0, 1}};
}

inline std::vector<PlantedPoint> planted_points() {
  std::vector<PlantedPoint> points;
  const std::vector<std::vector<int>> all = planted_values();
  for (const int block_x : all[0])
    for (const int block_y : all[1])
      for (const int tile_x : all[2])
        for (const int tile_y : all[3])
          for (const int padding : all[4]) {
            const PlantedPoint point = {block_x, block_y, tile_x, tile_y, padding};
            if (point.is_valid()) points.push_back(point);
          }
  return points;
}

/// Formats a list: `[1, 2, 4]`.
inline std::string planted_list(const std::vector<int>& values) {
  std::string text = "[";
  for (const int value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

/// Formats the parameters as JSON members: `"block_size_x": 16, "block_size_y": 1, ...`.
inline std::string planted_members(const PlantedPoint& point) {
  std::string text;
  for (std::size_t i = 0; i < kPlantedNames.size(); ++i) {
    text += (i > 0 ? ", \"" : "\"") + std::string(kPlantedNames[i]) +
            "\": " + std::to_string(point.values()[i]);
  }
  return text;
}

inline std::string planted_number(double number) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

inline std::string planted_cache(const PlantedGpu& gpu) {
  std::string keys;
  std::string values;
  for (std::size_t i = 0; i < kPlantedNames.size(); ++i) {
    keys += (i > 0 ? ", \"" : "\"") + std::string(kPlantedNames[i]) + "\"";
    values += (i > 0 ? ", \"" : "\"") + std::string(kPlantedNames[i]) +
              "\": " + planted_list(planted_values()[i]);
  }
  std::string text = "{\n\"device_name\": \"" + gpu.name +
                     "\",\n\"kernel_name\": \"blur_kernel\",\n\"problem_size\": [4096, 4096],\n"
                     "\"tune_params_keys\": [" +
                     keys + "],\n\"tune_params\": {" + values +
                     "},\n\"objective\": \"time\",\n\"cache\": {";
  for (const PlantedPoint& point : planted_points()) {
    std::string key;
    for (const int value : point.values()) key += (key.empty() ? "" : ",") + std::to_string(value);
    text += (text.back() == '{' ? "\n\"" : ",\n\"") + key + "\": {" + planted_members(point);
    if (!point.failure().empty()) {
      text += ", \"time\": \"" + point.failure() + "\"}";
      continue;
    }
    const std::string ms = planted_number(point.ms(gpu));
    text += ", \"time\": " + ms + ", \"times\": [" + ms + ", " + ms + "]}";
  }
  return text + "\n}\n}";
}

inline std::string planted_t4(const PlantedGpu& gpu) {
  std::string text =
      "{\"schema_version\": \"1.0.0\", \"metadata\": {\"timeunit\": \"milliseconds\"}, "
      "\"results\": [";
  for (const PlantedPoint& point : planted_points()) {
    const std::string why = point.failure();
    const std::string ms = planted_number(point.ms(gpu));
    text +=
        (text.back() == '[' ? "\n{" : ",\n{") + ("\"configuration\": {" + planted_members(point));
    text += "}, \"times\": {\"compilation\": 900, \"runtimes\": [" +
            (why.empty() ? ms + ", " + ms : "") + "]}, \"invalidity\": \"" +
            (why.empty()     ? "correct"
             : why[0] == 'C' ? "compile"
                             : "runtime") +
            "\", \"correctness\": " + (why.empty() ? "1" : "0") +
            ", \"measurements\": [{\"name\": \"time\", \"value\": " +
            (why.empty() ? ms : "\"" + why + "\"") + ", \"unit\": \"ms\"}]}";
  }
  return text + "\n]}";
}

inline std::string planted_t1() {
  std::string parameters;
  for (std::size_t i = 0; i < kPlantedNames.size(); ++i) {
    const std::vector<int> values = planted_values()[i];
    parameters += (i > 0 ? ",\n" : "\n") + ("{\"Name\": \"" + std::string(kPlantedNames[i])) +
                  "\", \"Type\": \"int\", \"Values\": \"" + planted_list(values) +
                  "\", \"Default\": " + std::to_string(values.back()) + "}";
  }
  return R"t1({"General": {"BenchmarkName": "planted_blur", "OutputFormat": "JSON"},
"ConfigurationSpace": {"TuningParameters": [)t1" +
         parameters + R"t1(],
"Conditions": [
{"Expression": "block_size_x*block_size_y >= 32", "Parameters": ["block_size_x", "block_size_y"]},
{"Expression": "block_size_x*block_size_y <= 1024", "Parameters": ["block_size_x", "block_size_y"]},
{"Expression": "use_padding == 0 or block_size_x % 32 != 0", "Parameters": ["use_padding", "block_size_x"]},
{"Expression": "tile_size_x*tile_size_y < 15", "Parameters": ["tile_size_x", "tile_size_y"]}]},
"KernelSpecification": {"Language": "CUDA", "KernelName": "blur_kernel", "KernelFile": "blur.cu",
"BenchmarkName": "planted_blur", "GlobalSizeType": "CUDA", "ProblemSize": [4096, 4096],
"LocalSize": {"X": "block_size_x", "Y": "block_size_y", "Z": "1"},
"GlobalSize": {"X": "(262144 // block_size_x) // tile_size_x",
"Y": "(262144 // block_size_y) // tile_size_y", "Z": "1"},
"GridDivX": ["block_size_x", "tile_size_x"], "GridDivY": ["block_size_y", "tile_size_y"],
"Arguments": [
{"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
"FillType": "Constant", "Size": "ProblemSize[0]*ProblemSize[1]", "FillValue": 0.0, "Output": 1},
{"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
"FillType": "Random", "Size": "ProblemSize[0]*ProblemSize[1]", "FillValue": 1.0}]}})t1";
}

/// Writes a cache for each GPU (`one.json` and so on), the T4 file `one_T4.json` for the first GPU,
/// and `blur_T1.json`.
inline void write_planted_recordings(const std::filesystem::path& folder) {
  for (const PlantedGpu& gpu : kPlantedGpus) {
    std::ofstream(folder / (gpu.file + ".json")) << planted_cache(gpu);
  }
  std::ofstream(folder / "one_T4.json") << planted_t4(kPlantedGpus.front());
  std::ofstream(folder / "blur_T1.json") << planted_t1();
}

}  // namespace smemtune
