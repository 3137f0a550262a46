#include "tuner/source/kept_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> kept(const std::string& text) {
  return kept_variables({.files = {{.name = "k.cu", .text = text}}});
}

TEST(KeptVariables, AreThoseOfTheDeviceThatCodeWrites) {
  EXPECT_THAT(
      kept("__device__ unsigned int arrived;\n__global__ void k() { if (atomicAdd(&arrived, "
           "1u) == 3) return; }"),
      ElementsAre("arrived (k.cu:1)"));
  EXPECT_THAT(kept("\nstatic __device__ int calls[64] = {0}, other;\n"
                   "__global__ void k() { if (++calls[threadIdx.x] > 8) return; }"),
              ElementsAre("calls (k.cu:2)"));
  EXPECT_THAT(kept("namespace a { __device__ volatile float sum; }\n"
                   "__device__ void f() { a::sum += 2; }"),
              ElementsAre("sum (k.cu:1)"));
  EXPECT_THAT(kept("__device__ alignas(16) float4 last;\n__device__ void f() { last.x = 2; }"),
              ElementsAre("last (k.cu:1)"));
  EXPECT_THAT(kept("__device__ int seen[4];\n__device__ void f() { atomicOr(seen + 1, 2); }"),
              ElementsAre("seen (k.cu:1)"));
}

TEST(KeptVariables, AreNoTablesNorFunctions) {
  EXPECT_THAT(kept("__device__ const int table[2] = {1, 2};\n__device__ float weights[4];\n"
                   "__constant__ float c[4];\n__device__ int twice(int x) { return 2 * x; }\n"
                   "__global__ void k(float* o) { o[0] = weights[1] == c[0] ? table[0] : 1; }"),
              IsEmpty());
}

}  // namespace
}  // namespace smemtune
