#include "tuner/backend/cuda/machine_code.h"

#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/core/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::cuda {
namespace {

using Words = std::pair<std::uint64_t, std::uint64_t>;

// Instructions as nvdisasm shows them.
constexpr Words kLoad16{0x0000000402047981, 0x000ea2000c1e1d00};    // LDG.E.128 R4, [R2.64]
constexpr Words kLoadByte{0x0000000402047981, 0x000ea2000c1e1100};  // LDG.E.U8 R4, [R2.64]
constexpr Words kMatrices{0x000000000404783b, 0x000fe20000000200};  // LDSM.16.M88.4 R4, [R4]
constexpr Words kFma{0x0000000504047223, 0x000fe20000000004};       // FFMA R4, R4, R5, R4
constexpr Words kFmaIfP0{0x0000000504040223, 0x000fe20000000004};   // @P0 FFMA R4, R4, R5, R4
constexpr Words kNop{0x0000000000007918, 0x000fc00000000000};       // NOP
constexpr Words kUnknown{0x00000000000071ff, 0x000fc00000000000};   // None.

std::vector<std::uint8_t> code(std::initializer_list<Words> instructions) {
  std::vector<std::uint8_t> bytes(instructions.size() * 16);
  std::uint8_t* at = bytes.data();
  for (const auto& [low, high] : instructions) {
    std::memcpy(at, &low, sizeof low);
    std::memcpy(at + 8, &high, sizeof high);
    at += 16;
  }
  return bytes;
}

// Returns a branch over so many instructions, backward where it is negative, as 8.0 encodes it.
Words branch_of_80(std::int64_t instructions) {
  const auto distance = static_cast<std::uint64_t>((instructions - 1) * 4);
  return {0x7947 | distance << 34, (distance >> 30 & 0x3ffff) | 0x000fea0000000000};
}

// ... and as 9.0 does.
Words branch_of_90(std::int64_t instructions) {
  const auto distance = static_cast<std::uint64_t>((instructions - 1) * 4);
  return {0x7947 | (distance & 0xff) << 16 | distance >> 8 << 34,
          (distance >> 38 & 0x3ffff) | 0x000fea0000000000};
}

TEST(MachineCodeFacts, CountsKindsAndBytesPerThread) {
  const Facts facts =
      machine_code_facts(code({kLoad16, kLoadByte, kMatrices, kFma, kFmaIfP0, kUnknown, kNop}), 90);
  EXPECT_EQ(facts, (Facts{{"code.instructions", 6},
                          {"code.predicated", 1},
                          {"code.loops", 0},
                          {"code.global_load_16_bytes", 1},
                          {"code.global_load_1_bytes", 1},
                          {"code.shared_load_16_bytes", 1},
                          {"code.fp32_fma", 2},
                          {"code.other", 1}}));
}

TEST(MachineCodeFacts, SaysNothingOfEncodingsThatAreNotKnown) {
  EXPECT_FALSE(machine_code_facts(code({kFma}), 70).empty());
  EXPECT_TRUE(machine_code_facts(code({kFma}), 61).empty());
  EXPECT_TRUE(machine_code_facts(code({kFma}), 130).empty());
  EXPECT_TRUE(machine_code_facts({}, 90).empty());
  std::vector<std::uint8_t> cut = code({kFma, kFma});
  cut.pop_back();
  EXPECT_TRUE(machine_code_facts(cut, 90).empty());
}

TEST(MachineCodeFacts, TellsInstructionsOfOneOpcodeByTheArchitecture) {
  constexpr Words kTensorOrAdd{0x0000000504047236, 0x000fe20000000004};
  EXPECT_EQ(machine_code_facts(code({kTensorOrAdd}), 75).count("code.tensor"), 1u);
  EXPECT_EQ(machine_code_facts(code({kTensorOrAdd}), 86).count("code.other"), 1u);
  EXPECT_EQ(machine_code_facts(code({kTensorOrAdd}), 90).count("code.integer"), 1u);
  constexpr Words kHalvesOrAdd{0x0000000504047235, 0x000fe20000000004};
  EXPECT_EQ(machine_code_facts(code({kHalvesOrAdd}), 103).count("code.fp16"), 1u);
  EXPECT_EQ(machine_code_facts(code({kHalvesOrAdd}), 120).count("code.integer"), 1u);
}

TEST(MachineCodeFacts, FindsTheLoopThatDoesTheWorkAndNotTheOneThatWaits) {
  const auto loops = [](auto branch, int capability) {
    return machine_code_facts(code({kFma, kLoad16,                                // Before.
                                    kNop, branch(-1),                             // Waits.
                                    kLoadByte, kUnknown, branch(-1), kFma, kFma,  // The main loop
                                    branch(-5),                                   // ends here.
                                    kFma, branch(-1),                             // The rest.
                                    branch(0)}),                                  // Padding.
                              capability);
  };
  for (const Facts& facts : {loops(branch_of_80, 80), loops(branch_of_90, 90)}) {
    EXPECT_EQ(facts.at("code.loops"), 4);
    EXPECT_EQ(facts.at("code.fp32_fma"), 4);
    EXPECT_EQ(facts.at("main_loop.instructions"), 6);
    EXPECT_EQ(facts.at("main_loop.fp32_fma"), 2);
    EXPECT_EQ(facts.at("main_loop.global_load_1_bytes"), 1);
    EXPECT_EQ(facts.count("main_loop.global_load_16_bytes"), 0u);
  }
}

TEST(MachineCodeFacts, TakesTheInnerLoopWhereItDoesMostOfTheWork) {
  const Facts facts = machine_code_facts(
      code({kLoad16, kFma, kFma, kFma, branch_of_90(-3), kLoadByte, branch_of_90(-6)}), 90);
  EXPECT_EQ(facts.at("code.loops"), 2);
  EXPECT_EQ(facts.at("main_loop.instructions"), 4);
  EXPECT_EQ(facts.count("main_loop.global_load_16_bytes"), 0u);
}

// Returns the facts of a kernel `k` that NVRTC compiles; nullopt where there is no NVRTC for it.
std::optional<Facts> compiled_facts(const std::string& architecture, const std::string& source) {
  try {
    NvrtcCompiler compiler(open_nvrtc());
    const auto compiled = compiler.compile({.architecture = architecture,
                                            .source = {.files = {{"kernel.cu", source}}},
                                            .name_expressions = {"k"},
                                            .symbol_expressions = {},
                                            .options = {}});
    if (!compiled) throw InputError(compiled.failure().detail);
    return compiled->entry("k")->code;
  } catch (const UnavailableError&) {
    return std::nullopt;
  }
}

class MachineCodeOf : public testing::TestWithParam<const char*> {};

TEST_P(MachineCodeOf, AKernelHasWhatItsSourceSays) {
  const auto facts = compiled_facts(GetParam(), R"(
    extern "C" __global__ void k(const float4* in, float2* out, double* wide, int n) {
      __shared__ float4 tile[32];
      __shared__ unsigned bins[4];
      tile[threadIdx.x] = in[threadIdx.x];
      __syncthreads();
      const float4 v = tile[threadIdx.x ^ 1];
      float sum = v.x;
      for (int i = 0; i < n; ++i) sum = __fmaf_rn(sum, v.y, v.z);
      out[threadIdx.x] = {sum, v.w};
      wide[threadIdx.x] = fma(wide[threadIdx.x], 3.0, 1.0);
      atomicExch(&bins[threadIdx.x & 3], 1u);
    })");
  if (!facts) GTEST_SKIP() << "no NVRTC compiles for " << GetParam();
  EXPECT_EQ(facts->at("code.global_load_16_bytes"), 1);
  EXPECT_EQ(facts->at("code.global_load_8_bytes"), 1);
  EXPECT_EQ(facts->at("code.global_store_8_bytes"), 2);
  EXPECT_EQ(facts->at("code.shared_store_16_bytes"), 1);
  EXPECT_EQ(facts->at("code.shared_load_16_bytes"), 1);
  EXPECT_EQ(facts->at("code.barrier"), 1);
  EXPECT_EQ(facts->at("code.fp64"), 1);
  EXPECT_EQ(facts->at("code.shared_atomic"), 1);
  EXPECT_EQ(facts->count("code.other"), 0u);
  EXPECT_EQ(facts->count("code.local_load_4_bytes"), 0u);
  EXPECT_GE(facts->at("main_loop.fp32_fma"), 4) << "it is unrolled";
  EXPECT_EQ(facts->count("main_loop.shared_load_16_bytes"), 0u);
}

TEST(MachineCodeFacts, CountsWhatOnlyBlackwellHas) {
  const auto facts = compiled_facts("sm_100", R"(
    extern "C" __global__ void k(float* out, const float* in, const float2* pairs, float2* sums) {
      __shared__ float tile[64];
      float x[8];
      asm volatile("ld.global.v8.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                   : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]), "=f"(x[4]), "=f"(x[5]),
                     "=f"(x[6]), "=f"(x[7])
                   : "l"(in + 8 * threadIdx.x));
      const auto place = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(in));
      asm volatile("cp.async.wait_all;");
      sums[threadIdx.x] = __ffma2_rn(pairs[0], pairs[1], pairs[2]);
      out[threadIdx.x] = fmaxf(fmaxf(x[0], x[1]), x[7]) + tile[threadIdx.x ^ 1];
    })");
  if (!facts) GTEST_SKIP() << "no NVRTC compiles for sm_100";
  EXPECT_EQ(facts->at("code.global_load_32_bytes"), 1);
  EXPECT_EQ(facts->at("code.async_copy_4_bytes"), 1);
  EXPECT_EQ(facts->at("code.fp32_fma_2"), 1);
  EXPECT_EQ(facts->count("code.other"), 0u);
}

INSTANTIATE_TEST_SUITE_P(Each, MachineCodeOf,
                         testing::Values("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100",
                                         "sm_103", "sm_110", "sm_120", "sm_121"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace smemtune::cuda
