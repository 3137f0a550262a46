#include "tuner/source/kernel_file.h"

#include "tuner/core/repetitions_test_support.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

// A file like many samples: the kernel, its macros, and a program around it.
constexpr const char* kProgram = R"cu(// A licence.
// Of two lines.

#include <cstdio>
#include <vector>
#include <cuda_fp16.h>
#define FACTOR 2
#include "timer.h"

#define BLOCK 16
#ifndef STEPS
#define STEPS (4)
#endif
#define RADIUS 3
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
const int PADDING = 1;
static const char* kName = "main() { }";

using namespace std;
namespace helpers {
/// Twice.
__device__ inline float twice(float x) { return x * FACTOR; }
float on_the_host(float x) { return x; }
}  // namespace helpers

struct Pair {
  float a, b;
};
struct Options { int device; };

/* Adds up.

   With an empty line. */
template <typename T, int WIDTH = 4, bool FAST>
__global__ void __launch_bounds__(BLOCK * BLOCK, 2)
    sum(T* __restrict__ out, const T* in, float4 const* wide, int* both, Pair pair,
        unsigned long long n, half scale) {
  __shared__ T tile[BLOCK][BLOCK + PADDING], row[STEPS];
  extern __shared__ float more[];
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[x] == wide[x].x ? helpers::twice(pair.a) : 0;
  both[x] += 1;
  out[x] = tile[0][0];
}

void check(const vector<float>& v) { Options options; }

int main() {
  dim3 threads(BLOCK, BLOCK);
  const int blocks = (n + BLOCK - 1) / BLOCK;
  CHECK(cudaMalloc(&d_out, 4));
  sum<float, 4, true><<<dim3(blocks, 2), threads, 2 * sizeof(float)>>>(d_out, d_in, w, b, p, n, h);
  printf("}{");
}
)cu";

/// Reads one text, without the files that it includes.
KernelFile read_text_of(const std::string& text, const std::set<std::string>& guard = {},
                        const std::set<std::string>& only = {}) {
  return read_kernel_file(FlatSource(text), guard, only);
}

TEST(KernelFile, KnowsAKernelsSignature) {
  const KernelFile file = read_text_of(kProgram);
  ASSERT_THAT(file.kernels, SizeIs(1));
  const KernelFunction& sum = file.kernels.front();
  EXPECT_EQ(sum.name, "sum");
  EXPECT_EQ(sum.line, 36u);
  ASSERT_THAT(sum.template_parameters, SizeIs(3));
  EXPECT_TRUE(sum.template_parameters[0].is_type());
  EXPECT_EQ(sum.template_parameters[1].name, "WIDTH");
  EXPECT_EQ(sum.template_parameters[1].default_text, "4");
  EXPECT_EQ(sum.template_parameters[2].kind, "bool");
  ASSERT_THAT(sum.parameters, SizeIs(7));
  const auto& parameters = sum.parameters;
  EXPECT_EQ(parameters[0].type, "T");
  EXPECT_EQ(parameters[0].pointers, 1);
  EXPECT_FALSE(parameters[0].is_const);
  EXPECT_TRUE(parameters[1].is_const);
  EXPECT_EQ(parameters[2].type, "float4");
  EXPECT_TRUE(parameters[2].is_const);
  EXPECT_EQ(parameters[4].type, "Pair");
  EXPECT_EQ(parameters[4].pointers, 0);
  EXPECT_EQ(parameters[5].type, "unsigned long long");
  EXPECT_EQ(parameters[6].name, "scale");
  EXPECT_THAT(sum.launch_bounds, ElementsAre("BLOCK * BLOCK", "2"));
  EXPECT_EQ(sum.block_dimensions, 2);
  EXPECT_EQ(sum.grid_dimensions, 1);
  EXPECT_TRUE(sum.uses_block_size);
}

TEST(KernelFile, KnowsSharedArrays) {
  const KernelFile file = read_text_of(kProgram);
  const std::vector<SharedArray>& shared = file.kernels.front().shared;
  ASSERT_THAT(shared, SizeIs(3));
  EXPECT_EQ(shared[0].type, "T");
  EXPECT_EQ(shared[0].name, "tile");
  EXPECT_THAT(shared[0].extents, ElementsAre("BLOCK", "BLOCK + PADDING"));
  EXPECT_EQ(shared[1].name, "row");
  EXPECT_THAT(shared[1].extents, ElementsAre("STEPS"));
  EXPECT_TRUE(shared[2].is_dynamic);
  EXPECT_THAT(shared[2].extents, IsEmpty());
}

TEST(KernelFile, KnowsTheNumbersThatTheKernelsReach) {
  const KernelFile file = read_text_of(kProgram);
  std::map<std::string, std::pair<std::int64_t, bool>> numbers;
  for (const NamedNumber& number : file.numbers) {
    numbers[number.name] = {number.value, number.is_guarded};
  }
  EXPECT_THAT(numbers, ElementsAre(std::pair(std::string("BLOCK"), std::pair(16, false)),
                                   std::pair(std::string("FACTOR"), std::pair(2, false)),
                                   std::pair(std::string("PADDING"), std::pair(1, false)),
                                   std::pair(std::string("STEPS"), std::pair(4, true))));
}

TEST(KernelFile, KnowsTheNumbersThatNamesAreComparedWith) {
  const KernelFile file = read_text_of(
      "#define CACHE read_only\n"
      "#if CACHE == 1\n#define LOAD(p, i) __ldg(p + i)\n#else\n#define LOAD(p, i) p[i]\n#endif\n"
      "#if defined(OTHER) && SIZE(2) > 3\n#endif\n"
      "__global__ void k(float* out, const float* in, int n) {\n"
      "#if VECTOR == 2 || 4 == VECTOR || !FAST\n  out[n] = LOAD(in, n);\n#endif\n}\n");
  EXPECT_THAT(file.compared,
              ElementsAre(Pair("FAST", ElementsAre(0, 1)), Pair("VECTOR", ElementsAre(2, 4)),
                          Pair("read_only", ElementsAre(1))));
}

TEST(KernelFile, KnowsWhatMacrosAndOtherNamesOfTypesStandFor) {
  const KernelFile file = read_text_of(
      "#if V == 1\ntypedef float vec;\n#define STOP 0\n#else\ntypedef float2 vec;\n"
      "#define STOP 16\n#endif\nusing real = float;\n#define SIDE(x) x\n"
      "__global__ void k(vec* p) { real x = SIDE(STOP); p[0] = x; }\n");
  EXPECT_THAT(file.meanings,
              ElementsAre(Pair("STOP", ElementsAre("0", "16")), Pair("real", ElementsAre("float")),
                          Pair("vec", ElementsAre("float", "float2"))));
  EXPECT_THAT(file.numbers, IsEmpty());  // The value of STOP depends on V.
}

TEST(KernelFile, KeepsTheDevicesPartAndNamesTheRest) {
  const KernelFile file = read_text_of(kProgram, {"BLOCK", "PADDING"});
  const std::string& text = file.device_text;
  for (const char* const kept :
       {"// A licence.", "#include <cstdio>", "#include <cuda_fp16.h>", "#define FACTOR 2",
        "#ifndef BLOCK\n#define BLOCK 16\n#endif", "#ifndef STEPS\n#define STEPS (4)\n#endif",
        "#ifndef PADDING\nconst int PADDING = 1;\n#endif", "/// Twice.", "namespace helpers {",
        "struct Pair", "/* Adds up.\n\n   With an empty line. */\ntemplate",
        "out[x] = tile[0][0];"}) {
    EXPECT_THAT(text, HasSubstr(kept));
  }
  for (const char* const left :
       {"#include <vector>", "#include \"timer.h\"", "#define RADIUS", "#define CHECK",
        "static const char* kName", "using namespace std;", "float on_the_host", "struct Options",
        "void check", "int main"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n") + left)));
  }
  for (const char* const left : {"cudaMalloc", "timer.h\"\n#"}) {
    EXPECT_THAT(text, Not(HasSubstr(left)));
  }
  EXPECT_THAT(text, HasSubstr("// Left out: lines 46-54, check, main\n"));
  std::vector<std::size_t> lines;
  for (const LeftOut& left : file.left_out) lines.push_back(left.first_line);
  EXPECT_THAT(lines, ElementsAre(5, 8, 14, 17, 23, 29, 46));
}

TEST(KernelFile, LeavesNothingOutOfAFileOfKernels) {
  constexpr const char* kText =
      "#include <stdint.h>\nnamespace a {\n#if X > 2\n__device__ int f() { return Y; }\n#else\n"
      "__device__ int f() { return 1; }\n#endif\n#define Y 3\n}\nusing namespace a;\n"
      "extern \"C\" {\n__global__ void k(int* p) { *p = f(); }\n}\n";
  const KernelFile file = read_text_of(kText);
  EXPECT_THAT(file.left_out, IsEmpty()) << file.left_out.front().what;
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_EQ(file.kernels.front().name, "k");
}

TEST(KernelFile, KeepsSpecializationsOfWhatKernelsReach) {
  const KernelFile file = read_text_of(
      "template <class T> struct Shared { T* get(); };\n"
      "template <> struct Shared<double> { double* get(); };\n"
      "template <class T> __device__ T add(T a) { return a; }\n"
      "#if __CUDA_ARCH__ >= 800\n"
      "template <> __device__ int add<int>(int a) { return a; }\n"
      "#endif\n"
      "template <class T> struct Host { }; template <> struct Host<int> { };\n"
      "template <class T> __global__ void k(T* p) { *p = add<T>(Shared<T>().get()[0]); }\n");
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_EQ(file.kernels.front().line, 8u);
  EXPECT_THAT(file.kernels.front().template_parameters, SizeIs(1));
  ASSERT_THAT(file.left_out, SizeIs(1));
  EXPECT_EQ(file.left_out.front().first_line, 7u);
}

TEST(KernelFile, TakesOfWhatIsIncludedWhatTheKernelsNeed) {
  const TemporaryFolder folder;
  folder.write("code/k.cu",
               "#define ENABLE_BF16\n#define OTHER\n"
               "#include \"../common/system.h\"\n#include \"plain.h\"\n#include \"none.h\"\n"
               "__global__ void k(vec<number>* p) { p[SIDE].x = 1; }\n");
  folder.write("common/system.h",
               "#pragma once\n#include <algorithm>\n#include \"types.h\"\n"
               "template <class T> struct vec { T x; };\n"
               "void fill(float* p) { p[0] = rand(); }");
  folder.write("common/types.h",
               "#if defined(ENABLE_BF16)\ntypedef __nv_bfloat16 number;\n"
               "#else\ntypedef float number;\n#endif\n#include \"system.h\"\n");
  folder.write("code/plain.h", "#define SIDE 4\n");
  const FlatSource source = read_flat_source(folder.path() / "code" / "k.cu");
  EXPECT_THAT(source.missing, ElementsAre("\"none.h\""));
  const KernelFile file = read_kernel_file(source);
  EXPECT_EQ(file.device_text,
            "#include <cuda_bf16.h>\n"
            "#define ENABLE_BF16\n// Left out: line 2, #define OTHER\n"
            "// Left out: ../common/system.h:2, #include <algorithm>\n"
            "#if defined(ENABLE_BF16)\ntypedef __nv_bfloat16 number;\n"
            "#else\ntypedef float number;\n#endif\n"
            "\ntemplate <class T> struct vec { T x; };\n"
            "// Left out: ../common/system.h:5, fill\n"
            "\n#define SIDE 4\n// Left out: line 5, #include \"none.h\"\n"
            "__global__ void k(vec<number>* p) { p[SIDE].x = 1; }\n");
  EXPECT_EQ(source.place(file.kernels.front().line), "line 6");
  EXPECT_THAT(file.meanings.at("number"), ElementsAre("__nv_bfloat16"));
}

TEST(KernelFile, KeepsHeadersOfTheCppLibraryWhereKernelsUseIt) {
  const std::string headers = "#include <type_traits>\n#include <algorithm>\n#include <vector>\n";
  const std::string text =
      read_text_of(headers + "__global__ void k(int* x, int n) { *x = std::min(*x, n); }\n")
          .device_text;
  EXPECT_THAT(text, HasSubstr("#include <type_traits>\n#include <algorithm>\n"));
  EXPECT_THAT(text, HasSubstr("\n// Left out: line 3, #include <vector>\n"));
  EXPECT_THAT(
      read_text_of("__global__ void k(float* x) { *x = std::numeric_limits<float>::max(); }")
          .device_text,
      testing::StartsWith("#include <limits>\n"))
      << "the host's headers include it";
  EXPECT_THAT(read_text_of(headers + "__global__ void k(int* x) { *x = 1; }\n").device_text,
              testing::StartsWith("// Left out: lines 1-3, "));
}

TEST(KernelFile, KeepsFunctionsThatAMacroMarksForTheDevice) {
  const std::string text =
      read_text_of(
          "#ifdef __CUDACC__\n#define INNER __device__\n#define OURS inline INNER\n"
          "#else\n#define OURS inline\n#endif\n"
          "OURS int twice(int x) { return 2 * x; }\n"
          "inline int thrice(int x) { return 3 * x; }\n"
          "__global__ void k(int* x) { *x = twice(*x); }\n")
          .device_text;
  EXPECT_THAT(text, AllOf(HasSubstr("#define OURS inline INNER"), HasSubstr("OURS int twice")));
  EXPECT_THAT(text, HasSubstr("Left out: line 8, thrice"));
}

TEST(KernelFile, CarriesHeadersThatTheHostsHeadersIncluded) {
  const auto text = [](const std::string& body) {
    return read_text_of("#include <cublasLt.h>\n__global__ void k(" + body + "* p) { p[0] = 1; }\n")
        .device_text;
  };
  EXPECT_THAT(text("__nv_bfloat16"), testing::StartsWith("#include <cuda_bf16.h>\n"));
  EXPECT_THAT(text("half2"), testing::StartsWith("#include <cuda_fp16.h>\n"));
  EXPECT_THAT(read_text_of("__global__ void half(float* p) { *p /= 2; }\n").device_text,
              testing::StartsWith("__global__"));
  EXPECT_THAT(text("float"), testing::Not(testing::HasSubstr("#include <cuda")));
}

TEST(KernelFile, KnowsTextureReferences) {
  EXPECT_THAT(read_text_of("texture<float, 1> field;\n__global__ void k(float* out, int n) {\n"
                           "  out[n] = tex1Dfetch(field, n);\n}\n")
                  .texture_references,
              ElementsAre("field"));
}

TEST(KernelFile, KeepsOperatorsOfTheTypesThatAreUsed) {
  const std::string text = read_text_of(R"cu(
struct Pair { float a, b; };
struct Other { float a; };
inline __host__ __device__ float2 operator+(float2 x, float2 y) { return make_float2(x.x + y.x, x.y + y.y); }
inline __host__ __device__ void operator+=(Pair& x, Pair y) { x.a += y.a; x.b += y.b; }
inline __host__ __device__ Other operator-(Other x) { return x; }
__device__ float first(float2 x) { return x.x; }
inline std::ostream& operator<<(std::ostream& out, Pair x) { return out << x.a; }
__global__ void sums(float* out, const float2* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Pair pair = {0, 0};
  pair += Pair{1, 2};
  if (i < n) out[i] = first(in[i] + in[i]) + pair.a;
}
)cu")
                               .device_text;
  EXPECT_THAT(text, AllOf(HasSubstr("operator+("), HasSubstr("operator+=("), HasSubstr("first(")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("operator-(")), Not(HasSubstr("operator<<("))));
}

TEST(KernelFile, SeesAKernelBehindAByteOrderMark) {
  const KernelFile file = read_text_of("\xEF\xBB\xBF__global__ void k(int* p) { *p = 1; }\n");
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_EQ(file.device_text, "__global__ void k(int* p) { *p = 1; }\n");
}

// Each of these would take minutes if anything took time that grows with the square of their
// number.
TEST(KernelFile, TakesManyOfAnything) {
  constexpr int kMany = repetitions(20'000);
  std::string kernels;
  std::string numbers;
  for (int i = 0; i < kMany; ++i) {
    const std::string number = std::to_string(i);
    kernels += "__global__ void k" + number + "(float* p) { p[0] = N; }\n";
    numbers += "#define A" + number + " " + number + "\n#define B " + number + "\n";
  }
  EXPECT_THAT(read_text_of(kernels).kernels, SizeIs(kMany));
  EXPECT_THAT(read_text_of(numbers).names, SizeIs(kMany + 1));
}

TEST(KernelFile, KeepsOnlyTheKernelsThatAreWanted) {
  constexpr const char* kText =
      "#define A 1\n#define B missing\n"
      "namespace n { __global__ void f(int* p) { *p = A; } }\n"
      "__global__ void g(int* p) { *p = s[B]; }\n";
  const KernelFile file = read_text_of(kText, {}, {"n::f"});
  EXPECT_THAT(file.kernels, SizeIs(2));
  EXPECT_THAT(file.device_text, AllOf(HasSubstr("*p = A"), Not(HasSubstr("*p = s"))));
  ASSERT_THAT(file.left_out, SizeIs(2));
  EXPECT_EQ(file.left_out.back().what, "g");
}

TEST(KernelFile, KeepsAConditionThatEndsWithinTheKernelsHead) {
  constexpr const char* kText =
      "#if VECTOR > 1\n__global__ __attribute__((hint(x)))\n#endif\n"
      "__global__ void k(int* p) { *p = 1; }\n";
  const KernelFile file = read_text_of(kText);
  EXPECT_EQ(file.device_text, kText);
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_EQ(file.kernels.front().line, 4u);
}

TEST(KernelFile, NamesAKernelWithItsNamespaces) {
  const KernelFile file = read_text_of(
      "namespace a::b { namespace { namespace c { template <class T> __global__ void k(T) {} } } "
      "}");
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_EQ(file.kernels.front().name, "a::b::c::k");
  EXPECT_EQ(file.kernels.front().parameters.front().type, "T");
}

TEST(KernelFile, LooksForDimensionsInWhatTheKernelCalls) {
  const KernelFile file = read_text_of(
      "__device__ void work(float* a) { a[threadIdx.y * gridDim.y + blockDim.z] = 1; }\n"
      "__device__ void other(float* a) { a[threadIdx.z] = 1; }\n"
      "__global__ void k(float* a) { work(a); }\n"
      "__global__ void l(float* a) { a[threadIdx.x] = 1; }\n");
  ASSERT_THAT(file.kernels, SizeIs(2));
  EXPECT_EQ(file.kernels[0].block_dimensions, 3);
  EXPECT_EQ(file.kernels[0].grid_dimensions, 2);
  EXPECT_TRUE(file.kernels[0].uses_block_size);
  EXPECT_EQ(file.kernels[1].block_dimensions, 1);
  EXPECT_FALSE(file.kernels[1].uses_block_size);
}

TEST(KernelFile, TakesKernelsInBranchesForVersionsOfOne) {
  const KernelFile file = read_text_of(
      "#if VECTOR == 2\ntypedef float2 vector;\n#else\ntypedef float vector;\n#endif\n"
      "#if LOCAL == 1\n"
      "__global__ void k(float* out, int n) { out[n] = 1; }\n"
      "#else\n"
      "__global__ void k(\n#if CR == 1\n vector* out,\n#else\n float* out,\n#endif\n int n) {\n"
      "  out[n + threadIdx.y] = vector();\n}\n"
      "#endif\n");
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_THAT(file.kernels[0].parameters, SizeIs(2));
  EXPECT_EQ(file.kernels[0].line, 7u);
  EXPECT_THAT(file.kernels[0].other_lines, ElementsAre(9u));
  EXPECT_TRUE(file.kernels[0].reached.contains("VECTOR"));
  EXPECT_TRUE(file.kernels[0].reached.contains("CR"));
  EXPECT_EQ(file.kernels[0].block_dimensions, 2);
  // The kernels are overloads, with the arguments of the first branch.
  const KernelFile overloads = read_text_of(
      "#if A\n#else\n#endif\n__global__ void k(int* a) {}\n__global__ void k(\n#if CR == 1\n"
      "vector* a\n#else\nfloat* a\n#endif\n) {}\n");
  ASSERT_THAT(overloads.kernels, SizeIs(2));
  ASSERT_THAT(overloads.kernels[1].parameters, SizeIs(1));
  EXPECT_EQ(overloads.kernels[1].parameters[0].type, "vector");
}

// A scanner that sees only text must accept any text.
TEST(KernelFile, TakesAnyTextWhatever) {
  const std::string program = kProgram;
  for (std::size_t length = 0; length <= program.size(); length += 3) {
    read_text_of(program.substr(0, length), {"BLOCK"});
    read_text_of(program.substr(length), {"BLOCK"});
  }
  std::mt19937 random(1);
  const std::string letters = "(){}[]<>;,=*#\"'/\\\n .:&x0R";
  for (int round = 0; round < repetitions(3000); ++round) {
    std::string text = program;
    for (int change = 0; change < 12; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = letters[random() % letters.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 30);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
      if (text.empty()) text = "x";
    }
    const KernelFile file = read_text_of(text, {"BLOCK", "STEPS"});
    EXPECT_LE(file.kernels.size(), 50u);
  }
  for (int round = 0; round < 3000; ++round) {
    std::string text = "__global__ void k(";
    for (std::size_t i = random() % 60; i > 0; --i) text += letters[random() % letters.size()];
    read_text_of(text + ") { __shared__ ");
    read_text_of(text);
  }
}

TEST(FlatSource, IsReadWithFoldersMacrosAndFurtherFiles) {
  const TemporaryFolder folder;
  folder.write("k.cu",
               "#include \"size.h\"\n__global__ void k(int n) { use(SIZE, ROWS, FLAG); }\n");
  folder.write("headers/size.h", "#define SIZE 64\n");
  folder.write("run.cu", "void run() { k<<<SIZE, 32>>>(ROWS); }\n");
  const FlatSource source =
      read_flat_source(folder.path() / "k.cu", {.folders = {folder.path() / "headers"},
                                                .macros = {"ROWS=8", "FLAG"},
                                                .further = {folder.path() / "run.cu"}});
  EXPECT_THAT(source.missing, IsEmpty());
  const KernelFile file = read_kernel_file(source);
  EXPECT_THAT(source.text, HasSubstr("k<<<SIZE, 32>>>(ROWS)"));
  EXPECT_THAT(file.meanings.at("ROWS"), ElementsAre("8"));
  EXPECT_THAT(file.meanings.at("FLAG"), ElementsAre("1"));
  EXPECT_EQ(source.place(file.kernels.front().line), "line 2");
}

TEST(FlatSource, HasHeadersThatLieElsewhereInTheProgram) {
  const TemporaryFolder folder;
  folder.write("code/src/k.cu",
               "#include \"size.h\"\n#include \"both.h\"\n#include <iostream>\n#include <math.h>\n"
               "#include <system.h>\n"
               "__global__ void k(int n) { use(SIZE, BOTH); }\n");
  folder.write("code/include/deep/size.h", "#define SIZE 64\n");
  folder.write("code/include/math.h", "#define SIZE 65\n");
  folder.write("code/include/system.h", "#define SIZE 67\n");
  folder.write("code/a/both.h", "#define BOTH 1\n");
  folder.write("code/b/both.h", "#define BOTH 2\n");
  folder.write("code/.hidden/size.h", "#define SIZE 66\n");
  const auto read = [&] { return read_flat_source(folder.path() / "code/src/k.cu"); };
  EXPECT_THAT(read().files, ElementsAre("size.h"));
  EXPECT_THAT(read().missing, ElementsAre("\"both.h\""));
  ASSERT_THAT(read().elsewhere, SizeIs(1));
  EXPECT_EQ(read().elsewhere.at("\"size.h\"").filename(), "size.h");
  folder.write("code/src/own/both.h", "#define BOTH 3\n");
  EXPECT_THAT(read().text, HasSubstr("#define BOTH 3"))
      << "what lies beneath the source is its own";
}

TEST(KernelFile, LeavesOutWhereANumberThatCanBePassedIsUndefined) {
  const KernelFile file = read_text_of(
      "#define TILE 16\n__global__ void k(float* x) { x[TILE] = 0; }\n#undef TILE\n", {"TILE"});
  EXPECT_THAT(file.device_text, HasSubstr("#ifndef TILE\n#define TILE 16\n#endif\n"));
  EXPECT_THAT(file.device_text, HasSubstr("// Left out: line 3, #undef TILE\n"));
  EXPECT_THAT(file.device_text, Not(HasSubstr("\n#undef")));
}

TEST(KernelFile, HasNoNumberForAMacroThatIsDefinedAgain) {
  const std::string kernel = "__global__ void k(float* x) { x[TILE] = 0; }\n";
  EXPECT_THAT(read_text_of("#define TILE 16\n" + kernel + "#undef TILE\n").numbers, SizeIs(1));
  EXPECT_THAT(read_text_of("#define TILE 16\n" + kernel + "#undef TILE\n#define TILE W\n").numbers,
              SizeIs(0));
}

TEST(KernelFile, KnowsMacrosThatAFunctionDefines) {
  const KernelFile file = read_text_of(
      "__global__ void k(float* x) { x[0] = 0; }\n"
      "void run() {\n  # define RATE 2// as wide\n  #define TWICE(a) (2 * (a))\n"
      "  k<<<TWICE(RATE), 1>>>(x);\n}\n");
  EXPECT_THAT(file.meanings.at("RATE"), ElementsAre("2"));
  EXPECT_EQ(file.function_macros.at("TWICE").text, "(2 * (a))");
}

}  // namespace
}  // namespace smemtune
