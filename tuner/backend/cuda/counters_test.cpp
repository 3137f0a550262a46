#include "tuner/backend/cuda/counters.h"

#include "tuner/core/error.h"
#include "tuner/core/objective.h"

#if __has_include(<cupti_range_profiler.h>)
#include <cuda.h>

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define SMEMTUNE_CUPTI_HEADERS 1
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::cuda {
namespace {

using testing::Contains;
using testing::Field;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StrEq;

#ifdef SMEMTUNE_CUPTI_HEADERS
static_assert(sizeof(cupti::Plain) == CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::ChipName) == CUpti_Device_GetChipName_Params_STRUCT_SIZE);
static_assert(offsetof(cupti::ChipName, name) ==
              offsetof(CUpti_Device_GetChipName_Params, pChipName));
static_assert(sizeof(cupti::HostBegin) == CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
static_assert(offsetof(cupti::HostBegin, chip) ==
              offsetof(CUpti_Profiler_Host_Initialize_Params, pChipName));
static_assert(sizeof(cupti::HostEnd) == CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::AddMetrics) == CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::ConfigSize) ==
              CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::Config) == CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::Evaluate) ==
              CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
static_assert(offsetof(cupti::Evaluate, range) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex));
static_assert(sizeof(cupti::Enable) == CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::OfProfiler) == CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::OfProfiler) == CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::DataSize) == CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
static_assert(offsetof(cupti::DataSize, most_nodes) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes));
static_assert(sizeof(cupti::DataBegin) ==
              CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
static_assert(offsetof(cupti::SetConfig, target_level) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel));
static_assert(offsetof(cupti::SetConfig, range) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, range));
static_assert(offsetof(cupti::SetConfig, least_level) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, minNestingLevel));
static_assert(offsetof(cupti::SetConfig, pass) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, passIndex));
static_assert(offsetof(cupti::Stop, is_all) ==
              offsetof(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted));
static_assert(sizeof(cupti::Decode) == CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::DataInfo) == CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
static_assert(sizeof(cupti::PushRange) == CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
static_assert(cupti::kRangesByUser == CUPTI_UserRange);
static_assert(cupti::kReplayByUser == CUPTI_UserReplay);
static_assert(CUPTI_PROFILER_TYPE_RANGE_PROFILER == 0);
#endif

std::optional<Cupti> cupti() {
  try {
    return open_cupti();
  } catch (const UnavailableError&) {
    return std::nullopt;
  }
}

TEST(Cupti, SaysWhatItNeedsWhereThereIsNone) {
  try {
    open_cupti({"/no/such/libcupti.so", "libc.so.6"});
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUDA 12.6 or newer: libc.so.6 has no cupti"));
  }
}

// The host's part needs no GPU.
TEST(Counters, OfHopperHaveAllMetrics) {
  const std::optional<Cupti> library = cupti();
  if (!library) GTEST_SKIP() << "no CUPTI here";
  const Counters counters(*library, "GH100");
  EXPECT_EQ(counters.metrics().size(), 22u);
  EXPECT_THAT(counters.metrics(),
              Contains(Field(&CounterMetric::fact, StrEq("shared_bank_conflicts"))));
  for (const CounterMetric& metric : counters.metrics()) {
    EXPECT_NO_THROW(Objective(std::string(kCounterFacts) + metric.fact)) << "can be ranked by";
  }
}

TEST(Counters, OfAChipThatIsNotKnownAreRefusedWithTheReason) {
  const std::optional<Cupti> library = cupti();
  if (!library) GTEST_SKIP() << "no CUPTI here";
  try {
    const Counters counters(*library, "XY999");
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUPTI"));
  }
}

TEST(Counters, OfSeveralLaunchesAddUpOrAreAveraged) {
  const std::vector<CounterMetric> metrics = {{"a", "read_bytes", true}, {"b", "hit_percent"}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Facts> facts = facts_of(metrics, {{100, 50}, {7, nan}, {20, 30}}, {0, 1, 0}, 3);
  EXPECT_EQ(facts[0], (Facts{{"counter.read_bytes", 120}, {"counter.hit_percent", 40}}));
  EXPECT_EQ(facts[1], (Facts{{"counter.read_bytes", 7}}));
  EXPECT_THAT(facts[2], IsEmpty());
}

}  // namespace
}  // namespace smemtune::cuda
