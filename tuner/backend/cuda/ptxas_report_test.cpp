#include "tuner/backend/cuda/nvrtc_compiler.h"

#include <gtest/gtest.h>

namespace smemtune::cuda {
namespace {

TEST(PtxasReport, ReadsEachEntryByItsLoweredName) {
  const auto report = ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z5spillPfi' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z5spillPfi\n"
      "ptxas         .     408 bytes stack frame, 848 bytes spill stores, 844 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers, 408 bytes cumulative stack size\n"
      "ptxas info    : Compile time = 74.379 ms\n"
      "ptxas info    : Compiling entry function 'tile' for 'sm_90'\n"
      "ptxas info    : Function properties for tile\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 48 registers, used 1 barriers, 8192 bytes smem\n");
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report.at("_Z5spillPfi"), (Resources{.registers_per_thread = 32,
                                                 .stack_bytes = 408,
                                                 .spill_store_bytes = 848,
                                                 .spill_load_bytes = 844}));
  EXPECT_EQ(report.at("tile"),
            (Resources{.registers_per_thread = 48, .static_shared_bytes = 8192, .barriers = 1}));
}

TEST(PtxasReport, SeesWhoseWgmmaInstructionsAreSerialized) {
  const auto report = ptxas_report(
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources for the wgmma pipeline in the function "
      "'_Z6serialPfmm'\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z4finePf' for 'sm_90a'\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function '_Z6serialPfmm' for 'sm_90a'\n"
      "ptxas info    : Used 30 registers, used 0 barriers\n");
  EXPECT_FALSE(report.at("_Z4finePf").wgmma_serialized);
  EXPECT_TRUE(report.at("_Z6serialPfmm").wgmma_serialized);
}

TEST(PtxasReport, ReadsTheWordingOfOlderToolkits) {
  const auto report = ptxas_report(
      "ptxas info    : 0 bytes gmem, 400 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 10 registers, 128 bytes smem, 360 bytes cmem[0]\n");
  EXPECT_EQ(report.at("_Z1kPf"), (Resources{.registers_per_thread = 10,
                                            .static_shared_bytes = 128,
                                            .stack_bytes = 16,
                                            .spill_store_bytes = 4,
                                            .spill_load_bytes = 8}));
}

TEST(PtxasReport, AddsTheSpillsOfCalledFunctionsAndTakesTheCumulativeStack) {
  const auto report = ptxas_report(
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Function properties for _Z6calledi\n"
      "ptxas         .     96 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 24 registers, used 0 barriers, 104 bytes cumulative stack size\n");
  EXPECT_EQ(report.at("k"), (Resources{.registers_per_thread = 24,
                                       .stack_bytes = 104,
                                       .spill_store_bytes = 20,
                                       .spill_load_bytes = 24}));
}

TEST(PtxasReport, ReadsOnAfterANul) {
  using namespace std::string_literals;
  const auto report = ptxas_report(
      "\0ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Used 7 registers\0ptxas error   : Entry function 'k' uses too much\n"s);
  EXPECT_EQ(report.at("k").registers_per_thread, 7);
}

TEST(PtxasReport, FindsNothingInALogWithoutReport) {
  EXPECT_TRUE(ptxas_report("").empty());
  EXPECT_TRUE(ptxas_report("k.cu(1): warning: Used 4 registers bytes smem\n").empty());
}

}  // namespace
}  // namespace smemtune::cuda
