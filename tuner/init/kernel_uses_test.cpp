#include "tuner/init/kernel_uses.h"

#include "tuner/core/repetitions_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <string>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::Pair;

KernelFile file_of(const std::string& text) {
  KernelFile file = read_kernel_file(FlatSource(text));
  add_kernel_uses(file);
  return file;
}

/// Returns the kernel of a source.
KernelFunction kernel_in(const std::string& text) {
  const KernelFile file = file_of(text);
  return file.kernels.empty() ? KernelFunction() : file.kernels.front();
}

/// Returns how a kernel with this body uses its first parameter, `float* p`.
Access access(const std::string& body, const std::string& before = "") {
  return kernel_in(before + "__global__ void k(float* p, float* q) { " + body + " }")
      .parameters.front()
      .access;
}

TEST(KernelUses, TellsReadingFromWriting) {
  EXPECT_EQ(access("p[0] = 1;"), Access::written);
  EXPECT_EQ(access("p[f(q[1])] = 1;", "__device__ int f(float x);"), Access::written);
  EXPECT_EQ(access("*p = 1;"), Access::written);
  EXPECT_EQ(access("if (p[0] == 1) q[0] = 2;"), Access::read);
  EXPECT_EQ(access("q[0] = 2 * p[0];"), Access::read);
  EXPECT_EQ(access("p[0] += 1;"), Access::both);
  EXPECT_EQ(access("++p[0];"), Access::both);
  EXPECT_EQ(access("atomicAdd(&p[0], 1);"), Access::added);
  EXPECT_EQ(access("p += 4; p[0] = 1;"), Access::written);
  EXPECT_EQ(access("float* r = p + 1; *r = 1;"), Access::written);
  EXPECT_EQ(access("const float* r = p + 1; q[0] = r[2] + p[0];"), Access::read);
  EXPECT_EQ(access("float& r = p[1]; r = q[0];"), Access::written);
  EXPECT_EQ(access("float& r = *(p + 1); r = r + q[0];"), Access::both);
  EXPECT_EQ(access("float4& r = *(float4*)(p + 4); r.x = q[0];"), Access::written);
  EXPECT_EQ(access("float& r = p[1]; q[0] = r;"), Access::read);
  EXPECT_EQ(access("float& r = p[1]; atomicAdd(&r, 1);"), Access::added);
  EXPECT_EQ(access("float*& r = p; r[1] = q[0];"), Access::written);
  EXPECT_EQ(access("float r = p[1]; r = q[0];"), Access::read);
  EXPECT_EQ(access("float* p = p;"), Access::unknown);
  EXPECT_EQ(access("q[0] = a.p;"), Access::unknown);
  EXPECT_EQ(access(""), Access::unknown);
}

TEST(KernelUses, FollowsPointersIntoCastsFunctionsAndMacros) {
  const std::string before =
      "#define LDG(a, x) __ldg(x)\n#define AT(x) *(x)\n#define PUT(x, v) x[0] = v\n"
      "__device__ void fill(float* a, int n) { a[n] = 1; }\n"
      "template <int N> __device__ float sum(const float* a) { return a[N]; }\n"
      "__device__ void add(float* a) { a[0] += sum<2>(a); }\n"
      "__device__ void more(float* a) { more(a + 1); }\n"
      "__device__ void turn(float* a) { fill(a + 1, 2); }\n";
  EXPECT_EQ(access("turn(p + 4);", before), Access::written);
  EXPECT_EQ(access("q[0] = sum<3>(p + 4) + p[1];", before), Access::read);
  EXPECT_EQ(access("add(p);", before), Access::both);
  EXPECT_EQ(access("fill(q, p[0]); fill(p, 3);", before), Access::both);
  EXPECT_EQ(access("more(p);", before), Access::unknown);
  EXPECT_EQ(access("elsewhere(p); p[0] = 1;", before), Access::unknown);
  EXPECT_EQ(access("atomicAdd(p + 2, 1);", before), Access::added);
  EXPECT_EQ(access("q[0] = LDG(1, p + q[2]) + AT(p + 1);", before), Access::read);
  EXPECT_EQ(access("PUT(p, 1);", before), Access::written);
  EXPECT_EQ(access("reinterpret_cast<float4*>(p)[1] = q[1];", before), Access::written);
  EXPECT_EQ(access("*reinterpret_cast<float4*>(&p[4]) = v;", before), Access::written);
  EXPECT_EQ(access("v = ((const float4*)p)[1];", before), Access::read);
  EXPECT_EQ(access("float4* r = (float4*)p; r[0] = v;", before), Access::written);
  EXPECT_EQ(access("int n = x & p[0];", before), Access::read);
}

TEST(KernelUses, SeesWhichOutputsMayBeLeftInPart) {
  const auto leaves = [](const std::string& body) {
    return kernel_in(
               "__global__ void k(float* out, const int* where, int n) {\n  int i = "
               "threadIdx.x;\n" +
               body + "\n}\n")
        .parameters.front()
        .leaves_elements;
  };
  EXPECT_FALSE(leaves("if (i < n) out[i] = 1;"));
  EXPECT_FALSE(leaves("if (n > i) { out[i] = 1; }"));
  EXPECT_FALSE(leaves("if (i >= n) return; out[i] = 1;"));
  EXPECT_FALSE(leaves("if (threadIdx.x == 0) out[blockIdx.x] = 1;"));
  EXPECT_FALSE(leaves("if (i > 0) out[i] = 1; else out[i] = 2;"));
  EXPECT_FALSE(leaves("if (i > 0) out[i] = 1; out[i + 1] = 2;"));
  EXPECT_TRUE(leaves("if (i > 0 && i < n) out[i] = 1;"));
  EXPECT_TRUE(leaves("if (i < n - 1) out[i] = 1;"));
  EXPECT_TRUE(leaves("if (i < 1 || i >= n) return; out[i] = 1;"));
  EXPECT_TRUE(leaves("if (where[i]) out[i] = 1;"));
  EXPECT_TRUE(leaves("out[where[i]] = 1;"));
}

TEST(KernelUses, KnowsWhatIndicesAreComparedWith) {
  const KernelFunction kernel = kernel_in(
      "__global__ void k(int h, int w, float* a) {\n"
      "  int by = blockIdx.y, i = threadIdx.y + by * 8, both = blockIdx.x + blockIdx.y;\n"
      "  int j = threadIdx.x + blockIdx.x * 8;\n"
      "  if (j < w && h > 2 && i >= h && both < w) a[both] = 1;\n"
      "}\n");
  EXPECT_THAT(kernel.extents, testing::ElementsAre("w", "h", ""));
  const KernelFunction transpose = kernel_in(
      "__global__ void k(int h, int w, float* a) {\n"
      "  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;\n"
      "  if (x < w && y < h) a[y * w + x] = 1;\n"
      "  x = blockIdx.y * 8 + threadIdx.x, y = blockIdx.x * 8 + threadIdx.y;\n"
      "  if (x < h && y < w) a[y * h + x] = 1;\n"
      "}\n");
  EXPECT_THAT(transpose.extents, testing::ElementsAre("w", "h", ""));
}

TEST(KernelUses, SeesWhichOutputsAreSumsOfBlocks) {
  const auto sums = [](const std::string& body, const std::string& before = "") {
    return kernel_in(
               before +
               "__global__ void k(float* out, const float* in, int n) {\n"
               "  __shared__ float s[256]; int t = threadIdx.x, b = blockIdx.x; float x = 0;\n" +
               body + "\n}\n")
        .parameters.front()
        .is_block_sum;
  };
  const std::string adds =
      "s[t] = in[b * 256 + t];\n"
      "for (int i = 128; i > 0; i >>= 1) { __syncthreads(); if (t < i) s[t] += s[t + i]; }\n";
  const std::string warp =
      "template <int N> __device__ void warp(volatile float* s, int t) { s[t] += s[t + N]; }\n"
      "__device__ float block(float v) { v += __shfl_down_sync(~0u, v, 1); __shared__ float "
      "w[32];\n"
      "  w[0] = v; v = threadIdx.x < 32 ? w[threadIdx.x] : 0; return v + w[1]; }\n";
  EXPECT_TRUE(sums(adds + "if (t == 0) out[blockIdx.x] = s[0];"));
  EXPECT_TRUE(sums(adds + "warp<16>(s, t); if (t == 0) out[b] = s[0];", warp));
  EXPECT_TRUE(
      sums("for (int i = t; i < n; i += 256) x += in[i] * in[i]; out[b] = block(x);", warp));
  EXPECT_TRUE(
      sums("x = in[b]; for (int i = 16; i > 0; i /= 2)\n"
           "  x = x + __shfl_down_sync(~0u, x, i); out[b + gridDim.x] = x;"));
  EXPECT_TRUE(sums("s[t] = x = x + in[t]; out[b] = s[0];"));
  EXPECT_TRUE(sums("int i = t; while (i < n) { x += in[i] * in[i]; i += 256; } out[b] = x;"));
  EXPECT_FALSE(sums("x += in[t]; x = 2 * x; out[b] = x;")) << "twice a sum";
  EXPECT_FALSE(sums("s[t] = in[t]; s[t] += in[b]; x += 2 * s[t]; out[b] = x;"));
  EXPECT_FALSE(sums(adds + "out[t] = s[t];")) << "one of each thread";
  EXPECT_FALSE(sums(adds + "out[n] = s[0];")) << "of no block";
  EXPECT_FALSE(sums(adds + "out[b] = s[0] / n;")) << "a mean";
  EXPECT_FALSE(sums("out[b] = in[b];")) << "nothing is added";
  EXPECT_FALSE(sums("for (int i = t; i < n; ++i) x = fmaxf(x, in[i]); out[b] = x;"));
  EXPECT_FALSE(sums("for (int i = t; i < n; ++i) x = in[i] > x ? in[i] : x; out[b] = x;"));
  EXPECT_FALSE(
      sums("float y = 0; for (int i = t; i < n; ++i) { y += in[i]; if (y > x) x = y; }\n"
           "out[b] = x;"));
  EXPECT_FALSE(sums("x = 1; for (int i = t; i < n; ++i) x *= in[i] + x; out[b] = x;"));
  EXPECT_FALSE(sums("for (int i = t; i < n; ++i) x += in[i]; elsewhere(&x); out[b] = x;"));
  EXPECT_FALSE(sums(adds + "out[b] = s[0]; out[b] += 1;"));
}

TEST(KernelUses, KnowsStoresOfStructuresAndInBranchesThatAreCompiled) {
  EXPECT_EQ(access("((float4*)p)[0] = ((float4*)q)[1];"), Access::written);
  EXPECT_EQ(access("\n#if 0\np[0] += 1;\n#else\np[0] = 1;\n#endif\n"), Access::written);
  EXPECT_EQ(access("\n#if WAY == 1\np[0] = 1;\n#else\nq[0] = p[0];\n#endif\n"), Access::written);
  EXPECT_EQ(access("q[0] = p[LONG(1)];", "#define LONG(x) x##ll\n"), Access::read);
}

TEST(KernelUses, BelievesNothingOfAPointerInWhatClangLeavesOut) {
  EXPECT_EQ(access("p[0] = 1; missing::type<4> t(p);"), Access::unknown);
  EXPECT_EQ(access("p[0] = 1; missing::type<4> t(q);"), Access::written);
}

TEST(KernelUses, GoesOnWhereConstantsTypesAndFunctionsAreMissing) {
  const KernelFunction kernel = kernel_in(
      "__global__ void k(float* out, const Matrix* in, const float* x) {\n"
      "  __shared__ float tile[ROWS][COLUMNS + 1];\n"
      "  uint i = threadIdx.x; const float a = sinf(x[i]) * cosf(x[i]) + look<float>(in, i);\n"
      "  tile[i][0] = a; __syncthreads(); out[i] = std::hypot(tile[0][i], INFINITY);\n}\n");
  EXPECT_EQ(kernel.parameters[0].access, Access::written);
  EXPECT_EQ(kernel.parameters[2].access, Access::read);
}

// Any value may be read.
TEST(KernelUses, ComesToAnEndWithAnyText) {
  std::string calls = "__global__ void k(float* p) { f0(p); }";
  for (int i = 0; i < repetitions(3000); ++i) {
    const std::string next = "f" + std::to_string(i + 1) + "(p)";
    calls += "__device__ void f" + std::to_string(i) + "(float* p) { " + next + "; " + next + "; }";
  }
  EXPECT_EQ(kernel_in(calls).parameters.front().access, Access::unknown);
  std::string chain = "p[0]";
  for (int i = 0; i < repetitions(2000); ++i) chain += i % 2 == 0 ? " & q[0]" : " % q[1]";
  access("int i = " + chain + "; q[i] = 1;");
  const std::string program =
      "template <int N> __global__ void k(float* p, const int* q) {\n"
      "  for (int i = q[0]; i < N; i += 2) { if (q[i] > 1) p[q[i] & 3] += f(&p[i]); else return; "
      "}\n"
      "  float* r = p + 1; do { *r++ = q[0] ? 1 : -1; } while (r->x); switch (N) { case 1: p[0]++; "
      "}\n}\n";
  std::mt19937 random(1);
  const std::string letters = "(){}[]<>;,=*#\"'/\\\n .:&x0R";
  for (int round = 0; round < repetitions(200); ++round) {
    std::string text = program;
    for (int change = 0; change < 6; ++change) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = letters[random() % letters.size()];
      } else {
        text.erase(at, 1 + random() % 20);
      }
    }
    kernel_in(text);
  }
}

TEST(KernelUses, KnowsWhatNothingDefines) {
  const KernelFile file = file_of(
      "#define FACTOR 2\n"
      "#define CACHE read_only\n"
      "#if CACHE == 1\n#define LOAD(p, i) __ldg(p + i)\n#else\n#define LOAD(p, i) p[i]\n#endif\n"
      "#define WIDTH (TILE * FACTOR)\n"
      "namespace cg = cooperative_groups;\n"
      "struct Pair { float a, b; };\n"
      "#ifdef OTHER\n#define SIDE OTHER\n#elif defined(ANOTHER)\n#define SIDE ANOTHER\n"
      "#else\n#define SIDE 4\n#endif\n"
      "template <typename T, int STEPS>\n"
      "__global__ void k(T* out, const Pair* in, int n) {\n"
      "  __shared__ T s[WIDTH][ROWS + 1];\n"
      "  T *p = out, x = 0, y(1);\n"
      "  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
      "  #pragma unroll UNROLL\n"
      "  for (int i = 0, j = STEPS; i < n * blocks; ++i) { x += LOAD(in, i).a * j; }\n"
      "#if VECTOR == 2 || 4 == VECTOR || !FAST\n  x *= (float)DEPTH;\n#endif\n"
      "  out[threadIdx.x] = p[SIDE] + s[x][y] + tile.size() + FLT_MAX;\n}\n"
      "void host() { k<float, HOSTS><<<1, GRID>>>(a, b, 3); }\n");
  std::set<std::string> missing;
  for (const MissingName& name : file.missing) missing.insert(name.name);
  EXPECT_THAT(missing, ElementsAre("DEPTH", "FAST", "ROWS", "TILE", "UNROLL", "VECTOR", "blocks",
                                   "read_only"));
}

TEST(KernelUses, FindsConstantsThatNumberTheThreadsOfABlock) {
  const auto extents = [](const std::string& body) {
    return kernel_in(
               "#ifndef TILE\n#define TILE 32\n#define ROWS 8\n#endif\n"
               "__global__ void k(float* p, float* q) { " +
               body + " }")
        .thread_extents;
  };
  using Names = std::array<std::string, 3>;
  const std::string both =
      "int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;";
  EXPECT_EQ(extents(both), (Names{"TILE", "TILE", ""}));
  EXPECT_EQ(extents(both + "for (int j = 0; j < TILE; j += ROWS) p[threadIdx.y + j] = q[x];"),
            (Names{"TILE", "ROWS", ""}));
  EXPECT_EQ(extents("int tx = threadIdx.x, bx = blockIdx.x; p[tx + TILE * bx] = 1;"),
            (Names{"TILE", "", ""}));
  EXPECT_EQ(extents("int x = blockIdx.x * TILE + threadIdx.x;"
                    "for (int i = threadIdx.x; i < TILE; i += 32) p[x + i] = q[i];"),
            Names());
  EXPECT_EQ(extents("p[blockIdx.x * TILE + threadIdx.x] = q[blockIdx.x * ROWS + threadIdx.x];"),
            Names());
  EXPECT_EQ(extents("p[blockIdx.x * blockDim.x + threadIdx.x] = 1;"), Names());
  const KernelFunction kernel = kernel_in(
      "#define TILE 32\n#define ROWS 8\n__global__ void k(float* p) {\n"
      "  int by = blockIdx.y; p[TILE * by + ROWS * blockIdx.x + TILE * blockIdx.x] = 1; }");
  EXPECT_EQ(kernel.tiles, (Names{"", "TILE", ""}));
}

TEST(KernelUses, SaysWhichTypesAreMissing) {
  const KernelFile file = file_of(
      "enum class Mode { plain, fast = 4 };\nenum { kTwo = 2 };\n"
      "texture<float, 1> field;\n"
      "template <Mode M> __global__ void k(vec3* in, int n) {\n"
      "  namespace cg = cooperative_groups;\n  other_type t;\n"
      "  in[n] = tex1Dfetch(field, TILE + kTwo);\n}\n");
  std::map<std::string, bool> missing;
  for (const MissingName& name : file.missing) missing[name.name] = name.is_type;
  EXPECT_THAT(missing,
              ElementsAre(Pair("TILE", false), Pair("other_type", true), Pair("vec3", true)));
}

TEST(KernelUses, ReadsEveryBranchOfAnIfForWhatNothingDefines) {
  const KernelFile file = file_of(
      "#define STEPS (SIZE / PART)\n"
      "__global__ void k(float* out, const float* in) {\n"
      "#if CACHED == 1\n  __shared__ float tile[TILE];\n#else\n  out[0] = in[STRIDE];\n#endif\n"
      "#if STEPS > 0\n  out[1] = REST;\n#endif\n"
      "#if __CUDA_ARCH__ >= 800 || CUDA_VERSION > 11000\n  out[2] = 1;\n#endif\n}\n");
  std::set<std::string> missing;
  for (const MissingName& name : file.missing) missing.insert(name.name);
  EXPECT_THAT(missing, ElementsAre("CACHED", "PART", "REST", "SIZE", "STRIDE", "TILE"));
}

TEST(KernelUses, TakesNoVariableOfAnUnknownTypeForAMacro) {
  const KernelFile file = file_of(
      "__global__ void k(other::pointer<const int> in, float* out) {\n  out[0] = in[0];\n"
      "  typedef other::Pair<int> pair;\n  pair thread_pair;\n  other::Sum<4> block;\n"
      "  out[static_cast<int>(block.size)] = thread_pair.value;\n}\n");
  EXPECT_THAT(file.missing, testing::IsEmpty());
}

}  // namespace
}  // namespace smemtune
