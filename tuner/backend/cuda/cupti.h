#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The part of CUPTI that counts events of a range of launches: the range profiler and the profiler
// host, since CUDA 12.6. The library is opened at run time, and its headers come with few
// installations, so what is passed is declared here; cupti_test holds it against the headers.

namespace smemtune::cuda {

/// The parameters of the library's functions. `size` is the bytes up to the end of the last member, by
/// which the library knows which members there are; `reserved` stays null.
namespace cupti {

struct Plain {
  std::size_t size = sizeof(Plain);
  void* reserved = nullptr;
};

struct ChipName {
  std::size_t size = sizeof(ChipName);
  void* reserved = nullptr;
  std::size_t device = 0;  ///< Number of the device in the CUDA runtime.
  const char* name = nullptr;
};

struct HostBegin {
  std::size_t size = sizeof(HostBegin);
  void* reserved = nullptr;
  int profiler = 0;  ///< The range profiler.
  const char* chip = nullptr;
  const std::uint8_t* availability = nullptr;
  void* host = nullptr;
};

struct HostEnd {
  std::size_t size = sizeof(HostEnd);
  void* reserved = nullptr;
  void* host = nullptr;
};

struct AddMetrics {
  std::size_t size = sizeof(AddMetrics);
  void* reserved = nullptr;
  void* host = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
};

struct ConfigSize {
  std::size_t size = sizeof(ConfigSize);
  void* reserved = nullptr;
  void* host = nullptr;
  std::size_t bytes = 0;
};

struct Config {
  std::size_t size = sizeof(Config);
  void* reserved = nullptr;
  void* host = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* image = nullptr;
};

struct Evaluate {
  std::size_t size = sizeof(Evaluate);
  void* reserved = nullptr;
  void* host = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t data_bytes = 0;
  std::size_t range = 0;
  const char** names = nullptr;
  std::size_t count = 0;
  double* values = nullptr;
};

struct Enable {
  std::size_t size = sizeof(Enable);
  void* reserved = nullptr;
  void* context = nullptr;
  void* profiler = nullptr;
};

/// Disables and starts, and ends a range.
struct OfProfiler {
  std::size_t size = sizeof(OfProfiler);
  void* reserved = nullptr;
  void* profiler = nullptr;
};

struct DataSize {
  std::size_t size = sizeof(DataSize);
  void* reserved = nullptr;
  void* profiler = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
  std::size_t most_ranges = 0;
  std::uint32_t most_nodes = 0;
  std::size_t bytes = 0;
};

struct DataBegin {
  std::size_t size = sizeof(DataBegin);
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* data = nullptr;
};

constexpr int kRangesByUser = 2;
constexpr int kReplayByUser = 3;

struct SetConfig {
  std::size_t size = 0;  ///< offset of `target_level` + 2
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t config_bytes = 0;
  const std::uint8_t* config = nullptr;
  std::size_t data_bytes = 0;
  std::uint8_t* data = nullptr;
  int range = kRangesByUser;
  int replay = kReplayByUser;
  std::size_t most_ranges = 0;
  std::uint16_t levels = 1;
  std::uint16_t least_level = 1;
  std::size_t pass = 0;
  std::uint16_t target_level = 1;
};

struct Stop {
  std::size_t size = 0;  ///< offset of `is_all` + 1
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t pass = 0;
  std::size_t target_level = 0;
  std::uint8_t is_all = 0;
};

struct PushRange {
  std::size_t size = sizeof(PushRange);
  void* reserved = nullptr;
  void* profiler = nullptr;
  const char* name = nullptr;
};

struct Decode {
  std::size_t size = sizeof(Decode);
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t dropped = 0;
};

struct DataInfo {
  std::size_t size = sizeof(DataInfo);
  void* reserved = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t data_bytes = 0;
  std::size_t ranges = 0;
};

}  // namespace cupti

/// The functions of the library that are used here.
struct Cupti {
  template <typename Params>
  using Function = int (*)(Params*);

  Function<cupti::Plain> begin = nullptr;
  Function<cupti::ChipName> chip_name = nullptr;
  Function<cupti::HostBegin> host_begin = nullptr;
  Function<cupti::HostEnd> host_end = nullptr;
  Function<cupti::AddMetrics> add_metrics = nullptr;
  Function<cupti::ConfigSize> config_size = nullptr;
  Function<cupti::Config> config = nullptr;
  Function<cupti::Evaluate> evaluate = nullptr;
  Function<cupti::Enable> enable = nullptr;
  Function<cupti::OfProfiler> disable = nullptr;
  Function<cupti::DataSize> data_size = nullptr;
  Function<cupti::DataBegin> data_begin = nullptr;
  Function<cupti::SetConfig> set_config = nullptr;
  Function<cupti::OfProfiler> start = nullptr;
  Function<cupti::Stop> stop = nullptr;
  Function<cupti::PushRange> push_range = nullptr;
  Function<cupti::OfProfiler> pop_range = nullptr;
  Function<cupti::Decode> decode = nullptr;
  Function<cupti::DataInfo> data_info = nullptr;
  int (*text)(int code, const char** text) = nullptr;

  /// Throws UnavailableError naming the call and the library's reason unless `code` is 0.
  void check(int code, const char* call) const;
};

/// Returns where the library may lie: by its name, in toolkits, in their extras/CUPTI.
std::vector<std::string> cupti_candidates();

/// Throws UnavailableError if none of the candidates is a library of CUDA 12.6 or newer.
Cupti open_cupti(const std::vector<std::string>& candidates = cupti_candidates());

}  // namespace smemtune::cuda
