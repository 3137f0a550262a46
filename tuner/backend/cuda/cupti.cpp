#include "tuner/backend/cuda/cupti.h"

#include "tuner/backend/cuda/nvrtc.h"
#include "tuner/core/error.h"
#include "tuner/core/library_function.h"

#include <dlfcn.h>

namespace smemtune::cuda {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

// Returns the name of a function that the library lacks; empty if it has all.
std::string find_functions(void* library, Cupti& cupti) {
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    if (!find_function(library, name, function) && missing.empty()) missing = name;
  };
  find("cuptiProfilerInitialize", cupti.begin);
  find("cuptiDeviceGetChipName", cupti.chip_name);
  find("cuptiProfilerHostInitialize", cupti.host_begin);
  find("cuptiProfilerHostDeinitialize", cupti.host_end);
  find("cuptiProfilerHostConfigAddMetrics", cupti.add_metrics);
  find("cuptiProfilerHostGetConfigImageSize", cupti.config_size);
  find("cuptiProfilerHostGetConfigImage", cupti.config);
  find("cuptiProfilerHostEvaluateToGpuValues", cupti.evaluate);
  find("cuptiRangeProfilerEnable", cupti.enable);
  find("cuptiRangeProfilerDisable", cupti.disable);
  find("cuptiRangeProfilerGetCounterDataSize", cupti.data_size);
  find("cuptiRangeProfilerCounterDataImageInitialize", cupti.data_begin);
  find("cuptiRangeProfilerSetConfig", cupti.set_config);
  find("cuptiRangeProfilerStart", cupti.start);
  find("cuptiRangeProfilerStop", cupti.stop);
  find("cuptiRangeProfilerPushRange", cupti.push_range);
  find("cuptiRangeProfilerPopRange", cupti.pop_range);
  find("cuptiRangeProfilerDecodeData", cupti.decode);
  find("cuptiRangeProfilerGetCounterDataInfo", cupti.data_info);
  find("cuptiGetResultString", cupti.text);
  return missing;
}

}  // namespace

void Cupti::check(int code, const char* call) const {
  if (code == 0) return;
  const char* reason = nullptr;
  if (text(code, &reason) != 0 || reason == nullptr) reason = "unknown error";
  throw UnavailableError(std::string(call) + ": " + reason + " (CUPTI error " +
                         std::to_string(code) + ")");
}

std::vector<std::string> cupti_candidates() {
  std::vector<std::string> candidates(std::begin(kNames), std::end(kNames));
  for (const std::filesystem::path& root : toolkit_roots()) {
    for (const char* folder : {"extras/CUPTI/lib64", "lib64", "lib"}) {
      for (const char* name : kNames) {
        const std::filesystem::path candidate = root / folder / name;
        if (std::filesystem::exists(candidate)) candidates.push_back(candidate.string());
      }
    }
  }
  return candidates;
}

Cupti open_cupti(const std::vector<std::string>& candidates) {
  std::string why = "libcupti.so is not there";
  for (const std::string& candidate : candidates) {
    void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Cupti cupti;
    const std::string missing = find_functions(library, cupti);
    if (missing.empty()) return cupti;
    why = candidate + " has no " + missing;
    dlclose(library);
  }
  throw UnavailableError("counters need CUPTI of CUDA 12.6 or newer: " + why);
}

}  // namespace smemtune::cuda
