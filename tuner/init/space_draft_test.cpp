#include "tuner/init/space_draft.h"

#include "tuner/config/json_reader.h"
#include "tuner/config/space_file.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/init/copies.h"
#include "tuner/init/host_function.h"
#include "tuner/init/host_reader.h"
#include "tuner/init/macro_expansion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A source and the draft of a space for its first kernel, in a temporary folder.
class Drafted {
 public:
  explicit Drafted(const std::string& source) {
    folder_.write("mine.cu", with_copy_kernels(FlatSource(source)).text);
    folder_.write("share/kernel_templates/none", "");
    const FlatSource flat = with_copy_kernels(with_kernel_macros_expanded(FlatSource(source)));
    KernelFile file = read_kernel_file(flat);
    add_host(read_host(flat), file);
    request_ = {.name = "mine",
                .written_from = "mine.cu",
                .source = "mine.cu",
                .kernels = {first_kernel(flat, file)->name}};
    request_.together = !kernels_launched_with(file, request_.kernels.front()).empty();
    request_.kernels = computing_the_same(file, kernels_like(file, request_.kernels.front()));
    draft_ = draft_space(flat, file, request_);
    text_ = draft_.text;
    folder_.write("mine.json", text_);
  }

  Json json() const { return parse_json(text_, "mine.json"); }
  const std::vector<std::string>& launches() const { return draft_.launches; }

  /// Returns the output of --check, without the folder's name.
  std::vector<std::string> faults() const {
    std::vector<std::string> faults =
        check_space(folder_.path() / "mine.json", folder_.path() / "share");
    const std::string prefix = (folder_.path() / "mine.json").string() + ": ";
    for (std::string& fault : faults) {
      if (fault.starts_with(prefix)) fault = fault.substr(prefix.size());
    }
    return faults;
  }

  /// Replaces TODOs by values, by JSON pointer.
  void decide(const std::map<std::string, Json>& values) {
    Json json = this->json();
    for (const auto& [pointer, value] : values) json[Json::json_pointer(pointer)] = value;
    text_ = json.dump(2);
    folder_.write("mine.json", text_);
  }

 private:
  TemporaryFolder folder_;
  DraftRequest request_;
  SpaceDraft draft_;
  std::string text_;
};

TEST(DraftSpace, OfATemplateNeedsShapesAndAGrid) {
  Drafted draft(
      "template <typename T, int THREADS, int ITEMS>\n"
      "__global__ void scale(const T* in, T* out, T factor, int n) {\n"
      "  const int first = blockIdx.x * THREADS * ITEMS + threadIdx.x;\n"
      "  for (int j = 0; j < ITEMS; ++j) {\n"
      "    if (first + j * THREADS < n) out[first + j * THREADS] = factor * in[first];\n"
      "  }\n}\n");
  EXPECT_THAT(draft.faults(),
              ElementsAre(HasSubstr("/problems/0/T: TODO: T of the problem, such as float"),
                          HasSubstr("/problems/0/N: TODO: N of the problem, such as 16777216"),
                          HasSubstr("/arguments/0/shape/0: TODO: elements of in, such as N"),
                          HasSubstr("/arguments/1/shape/0: TODO: elements of out"),
                          HasSubstr("/arguments/2/value: TODO: value of factor, such as 0.5"),
                          HasSubstr("/kernels/0/grid/0: TODO: blocks in x, such as ceil_div(N, ")));
  const Json json = draft.json();
  EXPECT_EQ(json["arguments"][0]["role"], "input");
  EXPECT_EQ(json["arguments"][1]["role"], "output");
  EXPECT_EQ(json["arguments"][3]["value"], "N");
  EXPECT_EQ(json["kernels"][0]["entry"], "scale<T, THREADS, ITEMS>");
  EXPECT_EQ(json["kernels"][0]["block"].dump(), R"(["THREADS"])");
  draft.decide({{"/problems/0/T", "float"},
                {"/problems/0/N", 4096},
                {"/arguments/0/shape/0", "N"},
                {"/arguments/1/shape/0", "N"},
                {"/arguments/2/value", 0.5},
                {"/kernels/0/grid/0", "ceil_div(N, THREADS * ITEMS)"}});
  EXPECT_THAT(draft.faults(), IsEmpty());
}

TEST(DraftSpace, ReplacesWhatIsNoUtf8AlsoInNames) {
  const Drafted draft(
      "template <int TI\xACLE>\n__global__ void k(float* out) { out[0] = TI\xACLE; }\n");
  EXPECT_TRUE(draft.json()["kernels"][0]["parameters"].contains("TI\uFFFDLE"));
}

TEST(DraftSpace, OfMacrosTakesTheBlockFromTheHostsLaunch) {
  Drafted draft(
      "#ifndef TILE\n#define TILE 16\n#endif\n"
      "#ifndef STRANGE\n#define STRANGE 3\n#endif\n"
      "#define RADIUS 2\n"
      "__global__ void blur(float* out, const float* in, int width, int N) {\n"
      "  __shared__ float s[TILE + 2 * RADIUS][TILE];\n"
      "  out[blockIdx.y * STRANGE + threadIdx.y] = in[blockIdx.x] + s[0][0];\n}\n"
      "void run() { dim3 block(TILE, TILE); blur<<<dim3(w / TILE, h / TILE), block>>>(o, i, w, 9); "
      "}\n");
  const Json json = draft.json();
  const Json& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["pass"], "define");
  EXPECT_EQ(kernel["block"].dump(), R"(["TILE","TILE"])");
  EXPECT_EQ(kernel["parameters"].dump(), R"({"TILE":[4,8,16,32],"STRANGE":[3]})");
  EXPECT_EQ(kernel["default"]["TILE"], 16);
  EXPECT_THAT(kernel["description"].get<std::string>(),
              HasSubstr("float s[TILE + 2 * RADIUS][TILE]"));
  EXPECT_EQ(json["problems"][0]["RADIUS"], 2);
  // Nothing says what the host's h is, so it becomes a size of the problem.
  EXPECT_EQ(kernel["grid"].dump(), R"(["WIDTH / TILE","H / TILE"])");
  EXPECT_TRUE(json["problems"][0].contains("H"));
  // A macro N would replace the kernel's own argument.
  EXPECT_EQ(json["arguments"][3]["value"], "PROBLEM_N");
  EXPECT_THAT(draft.faults(), SizeIs(4)) << "two sizes, and the elements of two arrays";
  EXPECT_THAT(draft.faults(), Each(HasSubstr("TODO: ")));
}

TEST(DraftSpace, MakesParametersOfWhatATunerIsToDefine) {
  Drafted draft(
      "#define image_height 4096\n#define image_width 4096\n#define filter_size 17\n"
      "#if vector == 1\ntypedef float vec;\n#elif vector == 2\ntypedef float2 vec;\n#endif\n"
      "__constant__ float weights[2 * 33*33], more[filter_size + 1];\n"
      "__global__ void blur(vec* out, const float* in) {\n"
      "  __shared__ float s[block_size_y * tile_size_y][block_size_x + use_padding];\n"
      "  const int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y;\n"
      "  #pragma unroll unroll_factor\n"
      "  for (int i = 0; i < tile_size_y; ++i) s[threadIdx.y][i] = in[y * image_width + x + i];\n"
      "  if (x < image_width && y < image_height) out[y * image_width + x].x = weights[0] + "
      "more[1];"
      "\n}\n");
  const Json json = draft.json();
  EXPECT_EQ(json["problems"][0].dump(),
            R"({"image_height":4096,"image_width":4096,"filter_size":17})");
  EXPECT_EQ(json["cpu_problems"][0].dump(),
            R"({"image_height":256,"image_width":256,"filter_size":17})");
  EXPECT_EQ(json["arguments"][0]["type"], "float");
  EXPECT_EQ(json["arguments"][2]["shape"].dump(), "[2178]");
  EXPECT_EQ(json["arguments"][3]["shape"].dump(), R"(["filter_size + 1"])");
  const Json& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["pass"], "define");
  EXPECT_EQ(kernel["parameters"]["vector"].dump(), "[1,2]");
  EXPECT_EQ(kernel["parameters"]["use_padding"].dump(), "[0,1]");
  EXPECT_EQ(kernel["parameters"].size(), 6u);
  EXPECT_EQ(kernel["block"].dump(), R"(["block_size_x","block_size_y"])");
  EXPECT_THAT(kernel["description"].get<std::string>(),
              HasSubstr("Not defined in the source, so the values are guesses: "));
  EXPECT_THAT(draft.faults(),
              ElementsAre(HasSubstr("elements of out, such as image_height * image_width"),
                          HasSubstr("elements of in, such as"),
                          HasSubstr("such as ceil_div(image_width, block_size_x)"),
                          HasSubstr("ceil_div(image_height, block_size_y * tile_size_y)")));
}

TEST(DraftSpace, TakesFromTheHostWhatItPassesAndAsserts) {
  Drafted draft(
      "#define BLOCK_X 16\n#define STEPS 8\n#define HALO (RADIUS + 1)\n#define RADIUS 8\n"
      "template <typename T> struct Shared { __device__ T* get() { extern __shared__ T s[]; "
      "return s; } };\n"
      "__global__ void rows(float* out, float* in, int width, int height, int pitch, int tiles) {\n"
      "  Shared<float>().get()[threadIdx.x] = in[blockIdx.x * BLOCK_X * STEPS];\n"
      "  out[blockIdx.y * HALO] = 1;\n}\n"
      "void run(float* d, float* s, int w, int h, int n) {\n"
      "  assert(BLOCK_X * STEPS >= HALO);\n  assert(w % (STEPS * BLOCK_X) == 0);\n"
      "  assert(s != d);\n  assert(h > 0);\n"
      "  dim3 blocks(w / (STEPS * BLOCK_X), h), threads(BLOCK_X, 4);\n"
      "  const int tiles = (n + BLOCK_X - 1) / BLOCK_X;\n"
      "  int bytes = (BLOCK_X * sizeof(float));\n"
      "  auto* kernel = &rows;\n"
      "  kernel<<<blocks, threads, bytes>>>(d, s, w, h, w, tiles);\n"
      "  for (int i = 0; i < 9; ++i) kernel<<<blocks, threads, bytes>>>(d, s, w, h, w, tiles);\n"
      "}\n");
  const Json json = draft.json();
  EXPECT_EQ(json["arguments"][4]["value"], "WIDTH");
  EXPECT_THAT(json["arguments"][5]["value"].get<std::string>(),
              HasSubstr("line 19 passes tiles = (n + BLOCK_X - 1) / BLOCK_X"));
  const Json& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["block"].dump(), R"(["BLOCK_X",4])");
  EXPECT_EQ(kernel["grid"].dump(), R"json(["WIDTH / (STEPS * BLOCK_X)","HEIGHT"])json");
  EXPECT_EQ(kernel["dynamic_shared_bytes"], "BLOCK_X * sizeof(float)");
  EXPECT_EQ(kernel["constraints"].dump(),
            R"json(["BLOCK_X * STEPS >= (RADIUS + 1)","WIDTH % (STEPS * BLOCK_X) == 0"])json");
}

TEST(DraftSpace, LeavesOutTilesThatDoNotDivideTheProblemOfAKernelThatDoesNotCompareItsIndex) {
  const auto constraints = [](const std::string& grid, const std::string& n,
                              const std::string& guard = "") {
    return Drafted(
               "template <int TILE> __global__ void k(float* p, int n) {\n"
               "  int i = blockIdx.x * TILE + threadIdx.x;\n  " +
               guard +
               " p[i] = n;\n}\n"
               "int main() { int n = " +
               n +
               "; float* p; cudaMalloc(&p, n * 4);\n"
               "  k<64><<<" +
               grid + ", 64>>>(p, n); }\n")
        .json()["kernels"][0]
        .value("constraints", Json::array())
        .dump();
  };
  EXPECT_EQ(constraints("n / 64", "4096"), R"(["N % TILE == 0"])");
  EXPECT_EQ(constraints("n / 64 / 2", "4096"), R"json(["N % (TILE * 2) == 0"])json");
  EXPECT_EQ(constraints("(n + 63) / 64", "4096"), R"(["N % TILE == 0"])");
  EXPECT_EQ(constraints("(n - 1) / 64 + 1", "4096"), R"(["N % TILE == 0"])");
  EXPECT_EQ(constraints("(n + 63) / 64", "4096", "if (i < n)"), "[]");
  EXPECT_EQ(constraints("n / 64 + 7", "4096"), "[]");
  EXPECT_EQ(constraints("n / 64", "1000"), "[]") << "the host leaves a rest";
}

TEST(DraftSpace, TakesWhatTheKernelAsserts) {
  const Json kernel = Drafted(R"cu(
template <int BM, int THREADS> __global__ void k(float* p, int n) {
  constexpr int kEach = BM / 4;
  static_assert(THREADS % kEach == 0, "whole rows");
  static_assert(sizeof(float) == 4);
  p[blockIdx.x * THREADS + threadIdx.x] = n;
}
void run(float* p, int n) { k<64, 128><<<(n + 127) / 128, 128>>>(p, n); }
)cu")
                          .json()["kernels"][0];
  EXPECT_EQ(kernel["constraints"].dump(), R"(["THREADS % (BM / 4) == 0","N % THREADS == 0"])");
}

TEST(DraftSpace, KeepsStepsAndUnrollFactorsThatDivide) {
  const Json kernel = Drafted(R"cu(
template <int TILE, int ROWS, int UNROLL, int PART> __global__ void k(float* p, const float* q, int n) {
  __shared__ float s[TILE][TILE + 1];
  for (int j = 0; j < TILE; j += ROWS) s[threadIdx.y + j][threadIdx.x] = q[j * n];
  float sum = 0;
  #pragma unroll UNROLL
  for (int j = 0; j < TILE; ++j) sum += s[threadIdx.x][j];
  for (int j = threadIdx.x; j < TILE; j += PART) sum += s[j][0];
  for (int j = 0; j < n; j += PART) sum += q[j];
  for (int j = 0; j < TILE; j += ROWS) sum += s[threadIdx.y + j][threadIdx.x];
  p[blockIdx.x * TILE + threadIdx.x] = sum;
}
void run(float* p, float* q, int n) { k<32, 8, 4, 3><<<n / 32, dim3(32, 8)>>>(p, q, n); }
)cu")
                          .json()["kernels"][0];
  EXPECT_EQ(kernel["constraints"].dump(),
            R"(["TILE % ROWS == 0","TILE % UNROLL == 0","N % TILE == 0"])");
}

TEST(DraftSpace, LetsABlockOfNumbersFollowWhatNumbersItsThreads) {
  const auto shape = [](const std::string& numbers) {
    const Json kernel =
        Drafted(
            "#define TILE 32\n#define ROWS 8\n"
            "__global__ void k(float* out, const float* in, int n) {\n"
            "  __shared__ float tile[TILE][TILE + 1];\n"
            "  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;\n"
            "  for (int j = 0; j < TILE; j += ROWS)\n"
            "    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];\n"
            "  __syncthreads();\n"
            "  for (int j = 0; j < TILE; j += ROWS)\n"
            "    out[(y + j) * n + x] = tile[threadIdx.y + j][threadIdx.x];\n}\n"
            "int main() {\n  const int n = 4096;\n  float *in, *out;\n"
            "  cudaMalloc(&in, n * n * 4);\n  cudaMalloc(&out, n * n * 4);\n"
            "  k<<<dim3(n / 32, n / 32), " +
            numbers + ">>>(out, in, n);\n}\n")
            .json()["kernels"][0];
    return kernel["block"].dump() + kernel["grid"].dump();
  };
  EXPECT_EQ(shape("dim3(32, 8)"), R"(["TILE","ROWS"]["N / TILE","N / TILE"])");
  EXPECT_EQ(shape("dim3(64, 8)"), R"([64,"ROWS"]["N / TILE","N / TILE"])");
}

TEST(DraftSpace, TakesTheValuesThatIfTellsApart) {
  Drafted draft(
      "#ifndef sh_power\n#define sh_power 0\n#endif\n"
      "__global__ void k(float* p, int n) {\n#if sh_power == 1\n  p[threadIdx.x] = num_blocks;\n"
      "#endif\n  p[0] = 1;\n}\n");
  const Json kernel = draft.json()["kernels"][0];
  EXPECT_EQ(kernel["parameters"]["sh_power"].dump(), "[0,1]");
  EXPECT_EQ(kernel["default"]["sh_power"], 0);
  EXPECT_EQ(kernel["grid"][0], "TODO: blocks in x, such as num_blocks");
}

TEST(DraftSpace, MakesAParameterOfABlockThatTheKernelReads) {
  Drafted draft(
      "__global__ void add(const float4* a, int* indices, unsigned char* b, float3 by, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) b[i] += a[indices[i]].x + by.x;\n}\n"
      "int main() { const int threads = 192; add<<<n / threads, threads>>>(a, b, n); }\n");
  const Json json = draft.json();
  const Json& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["block"].dump(), R"(["THREADS"])");
  EXPECT_EQ(kernel["default"]["THREADS"], 192);
  EXPECT_EQ(json["arguments"][0]["type"], "float");
  EXPECT_EQ(json["arguments"][0]["shape"][1], 4);
  EXPECT_THAT(json["arguments"][1]["init"].get<std::string>(), HasSubstr("TODO: they choose elem"));
  EXPECT_EQ(json["arguments"][2]["role"], "inout");
  EXPECT_EQ(json["arguments"][3]["type"], "bytes(12)");
  EXPECT_THAT(draft.faults(), Each(HasSubstr("TODO: ")));
}

TEST(DraftSpace, FindsNoKernelInProseThatNamesACopy) {
  const FlatSource source = with_copy_kernels(FlatSource(R"(
cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
kind: one of
cudaMemcpyDeviceToDevice
)"));
  EXPECT_EQ(first_kernel(source, read_kernel_file(source)), nullptr);
}

TEST(DraftSpace, HoldsTheKernelsThatTakeTheSameArguments) {
  Drafted draft(
      "__constant__ float weights[COUNT];\n"
      "namespace a { __global__ void f(float* p, int n) { p[0] = weights[0]; } }\n"
      "__global__ void g(float* p, int n) { p[0] = 1; }\n"
      "__global__ void h(float* p, float n) { p[0] = 1; }\n");
  const Json json = draft.json();
  ASSERT_THAT(json["kernels"], SizeIs(2));
  EXPECT_EQ(json["kernels"][0]["name"], "f");
  EXPECT_EQ(json["kernels"][0]["entry"], "a::f");
  EXPECT_EQ(json["kernels"][1]["name"], "g");
  EXPECT_EQ(json["verify"]["reference"], "f");
  EXPECT_EQ(json["arguments"][2]["memory"], "constant");
  EXPECT_THAT(draft.faults(), Each(HasSubstr("TODO: ")));
}

TEST(DraftSpace, LeavesOutKernelsThatOnlyReadWhatTheFirstOneWrites) {
  const Drafted drafted(
      "__global__ void add(const float* a, float* c, int n) { c[threadIdx.x] = a[threadIdx.x] + n; "
      "}\n"
      "__global__ void check(const float* a, const float* c, int n) {\n"
      "  if (c[threadIdx.x] != a[threadIdx.x] + n) __trap();\n}\n"
      "__global__ void add_late(float* a, float* c, int n) { c[threadIdx.x] = a[threadIdx.x] + n; "
      "}\n");
  const Json json = drafted.json();
  std::vector<std::string> names;
  for (const Json& kernel : json["kernels"]) names.push_back(kernel["name"]);
  EXPECT_THAT(names, ElementsAre("add", "add_late"));
}

TEST(DraftSpace, ProposesWhatTheKernelsIndicesAndNamesTell) {
  const Drafted drafted(
      "#define VERTICES 600\n"
      "__constant__ float2 corners[VERTICES];\n"
      "extern \"C\" __global__ void k(int h, int w, float* out, int offset) {\n"
      "  __shared__ float tile[BLOCK_ROWS][BLOCK_COLS];\n"
      "  int i = blockIdx.y * BLOCK_ROWS + threadIdx.y;\n"
      "  int j = blockIdx.x * BLOCK_COLS + threadIdx.x;\n"
      "  for (int n = 0; n < WG_NUM && j < w && i < h; ++n) out[i] = corners[n].x;\n"
      "}\n");
  const Json json = drafted.json();
  EXPECT_EQ(json["problems"][0]["VERTICES"], 600);
  EXPECT_EQ(json["arguments"][3]["value"], 0);
  EXPECT_EQ(json["arguments"][4]["shape"], Json({"VERTICES", 2}));
  const Json& kernel = json["kernels"][0];
  EXPECT_THAT(kernel["parameters"]["WG_NUM"].dump(), HasSubstr("256"));
  EXPECT_THAT(kernel["block"][0].get<std::string>(), HasSubstr("such as BLOCK_COLS"));
  EXPECT_THAT(kernel["block"][1].get<std::string>(), HasSubstr("such as BLOCK_ROWS"));
  EXPECT_THAT(kernel["grid"][0].get<std::string>(), HasSubstr("ceil_div(W, BLOCK_COLS)"));
  EXPECT_THAT(kernel["grid"][1].get<std::string>(), HasSubstr("ceil_div(H, BLOCK_ROWS)"));
}

TEST(DraftSpace, ProposesAGridOfTilesOnce) {
  const Drafted drafted(
      "#define TILE_X 32\n#define TILE_Y 16\n"
      "__global__ void k(float* c, int width, int height) {\n"
      "  __shared__ float tile[TILE_Y][TILE_X];\n"
      "  c[blockIdx.y * TILE_Y + threadIdx.y] = blockIdx.x * TILE_X + threadIdx.x;\n"
      "}\n");
  const Json grid = drafted.json()["kernels"][0]["grid"];
  EXPECT_THAT(grid[0].get<std::string>(), HasSubstr("such as ceil_div(WIDTH, TILE_X)"));
  EXPECT_THAT(grid[1].get<std::string>(), HasSubstr("such as ceil_div(HEIGHT, TILE_Y)"));
}

TEST(DraftSpace, ProposesASquareWhereThereIsOneSizeForTwoDimensions) {
  const Drafted drafted(
      "#define WIDTH 4096\n"
      "__global__ void k(float* c) {\n"
      "  c[(blockIdx.y * SIZE_MAX + threadIdx.y) * WIDTH + blockIdx.x + threadIdx.x] = 0;\n"
      "}\n");
  EXPECT_THAT(drafted.json()["arguments"][0]["shape"][0].get<std::string>(),
              HasSubstr("such as WIDTH * WIDTH"));
  EXPECT_FALSE(drafted.json()["kernels"][0].contains("parameters"));
}

TEST(DraftSpace, ProposesShapesOfMacrosThatAreCalledLikeTheArgument) {
  const Drafted drafted(
      "#define image_height 4096\n#define image_width 4096\n"
      "#define filter_height 17\n#define filter_width 17\n"
      "#define input_height (image_height + filter_height - 1)\n"
      "#define input_width (image_width + filter_width - 1)\n"
      "__global__ void k(float* output, const float* input, const float* filter) {\n"
      "  int x = blockIdx.x, y = blockIdx.y;\n"
      "  output[y * image_width + x] = input[y * input_width + x] * filter[filter_width] +\n"
      "      image_height + filter_height;\n"
      "}\n");
  const auto shape = [json = drafted.json()](std::size_t i) {
    return json["arguments"][i]["shape"][0].get<std::string>();
  };
  EXPECT_THAT(shape(0), HasSubstr("such as image_height * image_width"));
  EXPECT_THAT(shape(1), HasSubstr("such as (image_height + filter_height - 1) * "
                                  "(image_width + filter_width - 1)"));
  EXPECT_THAT(shape(2), HasSubstr("such as filter_height * filter_width"));
}

TEST(DraftSpace, MakesTexturesOfTextureObjects) {
  Drafted draft(
      "__global__ void f(cudaTextureObject_t a, cudaTextureObject_t b, float* p, int n) {\n"
      "  const float4 v = tex1Dfetch<float4>(a, threadIdx.x);\n"
      "  p[threadIdx.x] = v.x + tex2D<float>(b, 0, 0);\n"
      "}\n");
  const Json json = draft.json();
  EXPECT_EQ(json["arguments"][0]["type"], "float");
  EXPECT_EQ(json["arguments"][0]["shape"][1], 4);
  EXPECT_EQ(json["arguments"][0]["memory"], "texture");
  EXPECT_EQ(json["arguments"][0]["role"], "input");
  EXPECT_THAT(
      draft.faults(),
      testing::Contains(HasSubstr("/arguments/1/type: TODO: type of the texels that tex1Dfetch")));
  draft.decide({{"/problems/0/N", 4096},
                {"/arguments/0/shape/0", "N"},
                {"/arguments/1/type", "unsigned char"},
                {"/arguments/1/shape/0", "N"},
                {"/arguments/2/shape/0", "N"},
                {"/kernels/0/block/0", 32},
                {"/kernels/0/grid/0", 1}});
  EXPECT_THAT(draft.faults(), IsEmpty());
}

// A source like Rodinia's lud.
constexpr const char* kFactorize = R"cu(
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
__global__ void diagonal(float* m, int dim, int offset) { m[offset * dim + threadIdx.x] /= 2; }
__global__ void internal(float* m, int dim, int offset) { m[blockIdx.x * BLOCK_SIZE + offset] += m[blockIdx.y]; }
void factorize(float* m, int matrix_dim) {
  int i = 0;
  dim3 threads(BLOCK_SIZE, BLOCK_SIZE);
  for (i = 0; i < matrix_dim - BLOCK_SIZE; i += BLOCK_SIZE) {
    diagonal<<<1, BLOCK_SIZE>>>(m, matrix_dim, i);
    dim3 grid((matrix_dim - i) / BLOCK_SIZE - 1, (matrix_dim - i) / BLOCK_SIZE - 1);
    internal<<<grid, threads>>>(m, matrix_dim, i);
  }
  diagonal<<<1, BLOCK_SIZE>>>(m, matrix_dim, i);
}
int main() {
  float* d_m;
  int size = 2048;
  cudaMalloc((void**)&d_m, size * size * sizeof(float));
  factorize(d_m, size);
}
)cu";

TEST(DraftSpace, MakesOneKernelOfLaunchesInALoop) {
  const Drafted drafted(kFactorize);
  const Json json = drafted.json();
  ASSERT_THAT(json["kernels"], SizeIs(1));
  EXPECT_THAT(json["description"].get<std::string>(), Not(HasSubstr("guess")))
      << "the host says how large the matrix is";
  const Json& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["name"], "mine");
  EXPECT_EQ(kernel["parameters"].dump(), R"({"BLOCK_SIZE":[4,8,16,32]})");
  ASSERT_THAT(kernel["launches"], SizeIs(2));
  const Json& loop = kernel["launches"][0];
  EXPECT_EQ(loop["repeat"], "turn < ceil_div(DIM - BLOCK_SIZE, BLOCK_SIZE)");
  ASSERT_THAT(loop["launches"], SizeIs(2));
  EXPECT_EQ(loop["launches"][0]["entry"], "diagonal");
  EXPECT_EQ(loop["launches"][1]["grid"][0], "(DIM - (turn * BLOCK_SIZE)) / BLOCK_SIZE - 1");
  EXPECT_EQ(loop["launches"][1]["arguments"].dump(), R"(["m","dim","offset"])");
  EXPECT_EQ(kernel["launches"][1]["entry"], "diagonal");
  ASSERT_THAT(json["arguments"], SizeIs(3));
  EXPECT_EQ(json["arguments"][2]["value"], "turn * BLOCK_SIZE");
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, PassesWhatSeveralKernelsShareOnce) {
  const Drafted drafted(
      "__global__ void first(float* a, const float* in, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) a[i] = in[i];\n}\n"
      "__global__ void second(float* out, float* in, int n, int step) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i] + step;\n}\n"
      "void run() {\n  int n = 4096, threads = 128;\n  cudaMalloc(&x, n * sizeof(float));\n"
      "  cudaMalloc(&y, n * sizeof(float));\n  cudaMalloc(&z, n * sizeof(float));\n"
      "  first<<<(n + threads - 1) / threads, threads>>>(y, x, n);\n"
      "  second<<<(n + threads - 1) / threads, threads>>>(z, y, n, 7);\n"
      "  for (int i = 0; i < 100; i++) {\n"
      "    first<<<(n + threads - 1) / threads, threads>>>(y, x, n);\n"
      "    second<<<(n + threads - 1) / threads, threads>>>(z, y, n, 7);\n  }\n}\n");
  const Json json = drafted.json();
  ASSERT_THAT(json["kernels"], SizeIs(1));
  const Json& kernel = json["kernels"][0];
  ASSERT_THAT(kernel["launches"], SizeIs(2)) << "those in the loop do the same again";
  EXPECT_EQ(kernel["parameters"].size(), 1u) << "one variable is one parameter";
  EXPECT_EQ(kernel["launches"][0]["arguments"].dump(), R"(["a","in","n"])");
  EXPECT_EQ(kernel["launches"][1]["arguments"].dump(), R"(["out","a","n","step"])");
  EXPECT_EQ(json["arguments"][0]["role"], "output");
  EXPECT_EQ(json["arguments"][1]["role"], "input");
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, ComparesKernelsThatTheHostTriesOneAfterTheOther) {
  const Drafted space(R"cu(
__global__ void naive(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void padded(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }
int main() {
  naive<<<8, 64>>>(d_out, d_in);
  cudaDeviceSynchronize();
  padded<<<8, 64>>>(d_out, d_in);
}
)cu");
  const Json json = space.json();
  ASSERT_THAT(json["kernels"], SizeIs(2));
  EXPECT_EQ("padded", json["kernels"][1]["entry"]);
  EXPECT_EQ("naive", json["verify"]["reference"]);
}

TEST(DraftSpace, FillsConstantsOfAllKernelsAsTheHostDoes) {
  const Drafted space(R"cu(
__constant__ float table[16];
__global__ void plain(float* out, const float* taps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = taps[0];
}
__global__ void cached(float* out, const float* taps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[0];
}
void run(int kind) {
  const int n = 4096;
  float *d_out, *d_taps;
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMalloc(&d_taps, 9 * sizeof(float));
  cudaMemcpy(d_taps, h_taps, 9 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(table, h_taps, 9 * sizeof(float));
  if (kind == 0) plain<<<n / 64, 64>>>(d_out, d_taps, n);
  else cached<<<n / 64, 64>>>(d_out, d_taps, n);
}
)cu");
  const Json table = space.json()["arguments"].back();
  EXPECT_EQ("table", table["name"]);
  EXPECT_EQ("table[i] = taps[min(i, 9 - 1)]", table["init"]);
  EXPECT_THAT(space.faults(), IsEmpty());
}

TEST(DraftSpace, TakesArgumentsOfALaunchCallFromWhatTheHostDeclares) {
  const Json json = Drafted(R"cu(
__global__ void twice(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= 2;
}
int main() {
  int n = 1 << 16;
  float* a;
  cudaMalloc(&a, n * sizeof(float));
  void* list[] = {&a, &n};
  cudaLaunchKernel((void*)twice, dim3(n / 256), dim3(256), list, 0, 0);
}
)cu")
                        .json();
  EXPECT_EQ(65536, json["problems"][0]["N"]);
}

TEST(DraftSpace, LeavesOutOfASequenceWhatSharesNoBuffer) {
  const Json json = Drafted(R"cu(
__global__ void first(float* t, const float* x) { t[threadIdx.x] = x[threadIdx.x]; }
__global__ void other(float* o, const float* i) { o[threadIdx.x] = i[threadIdx.x]; }
__global__ void second(float* y, const float* t) { y[threadIdx.x] = t[threadIdx.x]; }
int main() {
  first<<<1, 64>>>(d_t, d_x);
  other<<<1, 64>>>(d_o, d_i);
  second<<<1, 64>>>(d_y, d_t);
}
)cu")
                        .json();
  ASSERT_THAT(json["kernels"][0]["launches"], SizeIs(2));
  EXPECT_EQ("second", json["kernels"][0]["launches"][1]["entry"]);
}

TEST(DraftSpace, GuessesNeitherABlockNorASizeThatALoopHasChanged) {
  const Drafted drafted(R"cu(
__global__ void step(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
__global__ void last(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
void run(int n, int parts) {
  float* x;
  int m = length();
  cudaMalloc(&x, n * sizeof(float));
  step<<<(n + 255) / 256, 256>>>(x, n);
  for (; m > 9; m -= 3, parts <<= 2) {
    step<<<1, 256>>>(x, m);
  }
  last<<<parts, m>>>(x);
}
int main() { run(4096, 1); }
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(json["kernels"][0]["launches"].back()["block"][0],
            "TODO: threads of a block in x, such as THREADS; line 15 has m = length()");
  EXPECT_THAT(drafted.faults(), testing::Contains(HasSubstr("the loop in line 12 changes it")))
      << json;
}

TEST(DraftSpace, RepeatsStepsOfWhichTheHostSwapsTheBuffers) {
  for (const char* const swap :
       {"std::swap(d_old, d_new);", "float* s = d_old; d_old = d_new; d_new = s;"}) {
    const Drafted drafted(std::string(R"cu(
__global__ void step(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) out[i] = in[i - 1] + in[i + 1];
}
__global__ void edge(float* out, int n) { if (threadIdx.x == 0) out[0] = n; }
int main() {
  const int n = 1000;
  float *d_old, *d_new;
  cudaMalloc(&d_old, n * sizeof(float));
  cudaMalloc(&d_new, n * sizeof(float));
  for (int t = 0; t < 12; ++t) {
    step<<<(n + 127) / 128, 128>>>(d_old, d_new, n);
    edge<<<1, 32>>>(d_new, n);
    )cu") + swap + "\n  }\n}\n");
    const Json json = drafted.json();
    const Json& loop = json["kernels"][0]["launches"][0];
    EXPECT_EQ(R"([["in","out"]])", loop["swap"].dump());
    EXPECT_THAT(loop["repeat"].get<std::string>(), HasSubstr("t < 12"));
    EXPECT_EQ(2u, loop["launches"].size()) << "what no counter names is repeated as well";
    for (const char* const name : {"in", "out"}) {
      const auto argument = std::ranges::find_if(
          json["arguments"], [&](const Json& one) { return one["name"] == name; });
      EXPECT_EQ("inout", (*argument)["role"]) << name;
    }
    EXPECT_THAT(drafted.faults(), IsEmpty());
  }
}

/// Returns a host that launches `count` in turns, with `before` and `behind` in each.
std::string counting(const std::string& before, const std::string& behind) {
  return R"cu(
__global__ void count(const int* in, int* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[in[i] & 63], 1);
}
__global__ void spread(int* out, const int* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sums[i & 63];
}
int main() {
  const int n = 5000;
  int *d_in, *d_sums, *d_out;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_sums, 64 * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(int));
  for (int t = 0; t < 12; ++t) {
    )cu" +
         before +
         "\n    count<<<(n + 127) / 128, 128>>>(d_in, d_sums, n);\n"
         "    spread<<<(n + 127) / 128, 128>>>(d_out, d_sums, n);\n    " +
         behind + "\n  }\n}\n";
}

TEST(DraftSpace, LaunchesWhatTheHostCopiesOnTheDeviceInEachTurn) {
  const Drafted drafted(
      counting("cudaMemset(d_sums, 0, 64 * sizeof(int));",
               "cudaMemcpy(d_in, d_out, n * sizeof(int), cudaMemcpyDeviceToDevice);"));
  const Json json = drafted.json();
  const Json& loop = json["kernels"][0]["launches"][0];
  EXPECT_EQ("t < 12", loop["repeat"]);
  ASSERT_THAT(loop["launches"], SizeIs(4));
  EXPECT_EQ("smemtune_set", loop["launches"][0]["entry"]);
  EXPECT_EQ(R"(["sums","value","bytes"])", loop["launches"][0]["arguments"].dump());
  EXPECT_EQ("smemtune_copy", loop["launches"][3]["entry"]);
  EXPECT_EQ(R"(["in","out","bytes_2"])", loop["launches"][3]["arguments"].dump());
  EXPECT_EQ("int", json["arguments"][0]["type"]) << "as the kernel takes it";
  EXPECT_EQ(R"({"N":5000})", json["problems"][0].dump()) << "bytes are no sizes";
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, LeavesOutCopiesThatOnlyPrepareAMeasurement) {
  const Json json = Drafted(counting("cudaMemset(d_sums, 0, 64 * sizeof(int));", "")).json();
  const Json& launches = json["kernels"][0]["launches"];
  ASSERT_THAT(launches, SizeIs(2));
  EXPECT_EQ("count", launches[0]["entry"]);
}

TEST(DraftSpace, NamesCopiesToTheHostInALoopThatIsDrafted) {
  FlatSource source(
      counting("cudaMemcpy(d_in, h_in, 4, cudaMemcpyHostToDevice);", "std::swap(d_in, d_out);"));
  KernelFile file = read_kernel_file(source);
  add_host(read_host(source), file);
  EXPECT_THAT(left_out_around(source, file, {"count", "spread"}),
              ElementsAre("line 16: for (int t = 0; t < 12; ++t) also has cudaMemcpy in line 17: "
                          "what the host does in between is not in the draft"));
}

TEST(DraftSpace, SwapsWhatTwoLaunchesPassAndAsksWhereNoneHasTheOther) {
  const Drafted both(counting("", "std::swap(d_in, d_out);"));
  EXPECT_EQ(R"([["in","out"]])", both.json()["kernels"][0]["launches"][0]["swap"].dump());
  EXPECT_THAT(both.faults(), IsEmpty());
  EXPECT_THAT(Drafted(counting("", "std::swap(d_in, d_spare);")).faults(),
              testing::Contains(
                  AllOf(HasSubstr("repeat: TODO"), HasSubstr("which swaps d_in and d_spare"))));
}

TEST(DraftSpace, SwapsWhatIsTakenFromAnArrayByNumbersThatChangePlaces) {
  const Drafted drafted(R"cu(
__global__ void step(int steps, const int* from, int* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] + steps;
}
void all(int* both[2], int n) {
  int src = 1, dst = 0;
  for (int t = 0; t < 64; t += 8) {
    int temp = src;
    src = dst;
    dst = temp;
    step<<<(n + 127) / 128, 128>>>(64 - t, both[src], both[dst], n);
  }
}
int main() {
  const int n = 4096;
  int* both[2];
  cudaMalloc((void**)&both[0], n * sizeof(int));
  cudaMalloc((void**)&both[1], n * sizeof(int));
  all(both, n);
}
)cu");
  const Json json = drafted.json();
  const Json& loop = json["kernels"][0]["launches"][0];
  EXPECT_EQ(R"([["from","to"]])", loop["swap"].dump());
  EXPECT_THAT(drafted.faults(), IsEmpty()) << "both have a size";
}

TEST(DraftSpace, LeavesTheHardwaresNumbersAlone) {
  const Json json = Drafted(R"cu(
#define WARP_SIZE 32
#define FULL_MASK 0xffffffff
#define BLOCK_SIZE 128
constexpr int THREADS_PER_WARP = 32;
__global__ void sums(float* out, const float* in) {
  float sum = in[blockIdx.x * BLOCK_SIZE + threadIdx.x];
  for (int i = WARP_SIZE / 2; i > 0; i /= 2) sum += __shfl_down_sync(FULL_MASK, sum, i);
  if (threadIdx.x % THREADS_PER_WARP == 0) {
    out[(blockIdx.x * BLOCK_SIZE + threadIdx.x) / WARP_SIZE] = sum;
  }
}
)cu")
                        .json();
  EXPECT_EQ(R"({"BLOCK_SIZE":[32,64,128,256,512]})", json["kernels"][0]["parameters"].dump());
  for (const auto& [name, value] : json["problems"][0].items()) EXPECT_NE("WARP_SIZE", name);
}

TEST(DraftSpace, ReadsConfiguredLaunches) {
  const Json json = Drafted(R"cu(
__global__ void twice(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= 2;
}
void run(float* a, int n) {
  cudaMalloc(&a, n * sizeof(float));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(n / 256);
  config.blockDim = 256;
  cudaLaunchKernelEx(&config, twice, a, n);
}
)cu")
                        .json();
  const Json& kernel = json["kernels"][0];
  EXPECT_EQ("THREADS", kernel["block"][0]);
  EXPECT_EQ(256, kernel["default"]["THREADS"]);
  EXPECT_EQ("N / THREADS", kernel["grid"][0]);
  EXPECT_EQ("N", json["arguments"][0]["shape"][0]);
}

TEST(DraftSpace, PassesTheHostsZeroAndWhatIsRoundedUp) {
  const Json json = Drafted(R"cu(
__global__ void tiles(float* out, int n, int width, int parts, int lower) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = parts + lower;
}
void run(float* out, int n) {
  const int width = 32;
  const int parts = ceil((float)n / width);
  tiles<<<n / 64, 64>>>(out, n, width, parts, 0);
}
)cu")
                        .json();
  EXPECT_EQ(0, json["arguments"][4]["value"]);
  EXPECT_EQ("ceil_div(N, WIDTH)", json["arguments"][3]["value"]);
}

TEST(DraftSpace, DoesNotSizeArraysByMembersOfAClass) {
  const Json json = Drafted(R"cu(
__global__ void twice(float* a, int n) { a[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
class Buffer {
 public:
  void copy() { cudaMalloc(&data_, size_ * sizeof(float)); }
  float* data_;
  int size_;
};
int main() {
  Buffer x;
  twice<<<16, 64>>>(x.data_, 1024);
}
)cu")
                        .json();
  EXPECT_THAT(json["arguments"][0]["shape"][0].get<std::string>(), HasSubstr("TODO"));
}

TEST(DraftSpace, KnowsWhatIsReadAndWrittenThroughParentheses) {
  const Json json = Drafted(R"cu(
__global__ void count(unsigned* bins, int* total, const int* in) {
  atomicAdd(&(bins[threadIdx.x]), 1u);
  (*total)++;
}
)cu")
                        .json();
  EXPECT_EQ("inout", json["arguments"][0]["role"]);
  EXPECT_EQ("zero", json["arguments"][0]["init"]);
  EXPECT_EQ("inout", json["arguments"][1]["role"]);
}

TEST(DraftSpace, CountsLoopsThatBeginLaterOrFall) {
  const Drafted drafted(
      "#ifndef TILE\n#define TILE 16\n#endif\n"
      "__global__ void up(int* m, int cols, int i) { m[blockIdx.x * TILE] = i; }\n"
      "__global__ void down(int* m, int cols, int i) { m[blockIdx.x * TILE] = i; }\n"
      "void run(int* m, int max_cols) {\n  dim3 grid;\n  dim3 block(TILE, 1);\n"
      "  int width = (max_cols - 1) / TILE;\n  cudaMalloc(&m, max_cols * sizeof(int));\n"
      "  for (int i = 1; i <= width; i++) {\n    grid.x = i;\n    grid.y = 1;\n"
      "    up<<<grid, block>>>(m, max_cols, i);\n  }\n"
      "  for (int i = width - 1; i >= 1; i--) {\n    grid.x = i;\n    grid.y = 1;\n"
      "    down<<<grid, block>>>(m, max_cols, i);\n  }\n}\nint main() { run(d, 4097); }\n");
  const Json kernel = drafted.json()["kernels"][0];
  ASSERT_THAT(kernel["launches"], SizeIs(2));
  EXPECT_EQ(kernel["launches"][0]["repeat"], "turn < ((COLS - 1) / TILE) - 1 + 1");
  EXPECT_EQ(kernel["launches"][0]["launches"][0]["grid"].dump(), R"(["1 + turn",1])");
  EXPECT_EQ(kernel["launches"][1]["repeat"], "turn_2 < (((COLS - 1) / TILE) - 1) - 1 + 1");
  EXPECT_EQ(kernel["launches"][1]["launches"][0]["arguments"].dump(), R"(["m","cols","i_2"])");
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, KnowsCooperativeLaunches) {
  const Drafted drafted(
      "__global__ void all(float* p, int n) { cg::grid_group g = cg::this_grid(); p[n] = 1; }\n"
      "void run(float* d, int n, int blocks) {\n  void* args[] = { (void*)&d, (void*)&n, };\n"
      "  cudaMalloc(&d, n * 4);\n  dim3 block(64, 1, 1);\n"
      "  cudaLaunchCooperativeKernel((void*)all, dim3(n / 64), block, args, 64 * sizeof(float), 0);"
      "\n}\n");
  const Json kernel = drafted.json()["kernels"][0];
  EXPECT_EQ(kernel["cooperative"], true);
  EXPECT_EQ(kernel["block"][0], 64);
  EXPECT_EQ(kernel["grid"][0], "N / 64");
  EXPECT_EQ(kernel["dynamic_shared_bytes"], "64 * sizeof(float)");
}

TEST(DraftSpace, CalculatesWhatTheHostPassesAndAsksForWhatItCannot) {
  const Drafted drafted(
      "#define DT 0.5f\nfloat height = 0.016f;\n"
      "__global__ void k(float* p, float a, float b, float c, int n) { p[0] = a + b + c; }\n"
      "void run(int n) {\n  float step, other;\n  other = step = height / 4;\n  double inverse = "
      "1.0 / sqrt(16.);\n"
      "  k<<<(int) ceil((float)n / 64), (long) 64>>>(p, DT * step, (float)inverse, read(), "
      "n);\n}\n");
  const Json json = drafted.json();
  EXPECT_NEAR(json["arguments"][1]["value"].get<double>(), 0.002, 1e-12);
  EXPECT_EQ(json["arguments"][2]["value"], 0.25);
  EXPECT_EQ(json["arguments"][3]["value"], "TODO: value of c, such as 0.5; line 8 passes read()");
  EXPECT_EQ(json["kernels"][0]["grid"][0], "ceil_div(N, 64)");
}

TEST(DraftSpace, PassesFractionsAsFormulasOfTheSizes) {
  const Drafted drafted(R"cu(
__global__ void scores(float* s, const float* q, float scale, float dt, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) s[i] = scale * q[i] + dt * d;
}
void run(float* s, float* q, int n, int d) {
  cudaMalloc(&s, n * sizeof(float)); cudaMalloc(&q, n * sizeof(float));
  const float scale = 1.0f / sqrtf((float)d);
  scores<<<(n + 127) / 128, 128>>>(s, q, scale, 1.f / (n - 1), n, d);
}
int main() { run(s, q, 4096, 64); }
)cu");
  const Json arguments = drafted.json()["arguments"];
  EXPECT_EQ(arguments[2]["value"], "1.0 / sqrt(D)");
  EXPECT_EQ(arguments[3]["value"], "1.0 / (N - 1)");
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, DoesNotBelieveWhatAnotherFunctionMayChange) {
  const Drafted drafted(
      "int total = 0;\nvoid find() { total = 7; }\n"
      "__global__ void k(float* p, int n) { p[blockDim.x] = n; }\n"
      "void run(int n) {\n  int blocks = 0, threads = 0;\n  choose(n, &blocks, &threads);\n"
      "  k<<<dim3(blocks, total), threads>>>(p, n);\n}\n");
  const Json kernel = drafted.json()["kernels"][0];
  EXPECT_THAT(kernel["grid"][0].get<std::string>(), testing::StartsWith("TODO: "));
  EXPECT_THAT(kernel["grid"][1].get<std::string>(), testing::StartsWith("TODO: "));
  EXPECT_EQ(kernel["block"].dump(), R"(["THREADS"])");
}

TEST(DraftSpace, BelievesTheOnlyNumberThatAFunctionGivesAVariableOutsideOfFunctions) {
  const auto sizes_of = [](const std::string& more) {
    return Drafted("int rows, columns;\nvoid read() { rows = 64; columns = 2000; }\n" + more +
                   "__global__ void k(float* p, int n) { p[blockIdx.x * n + threadIdx.x] = n; }\n"
                   "int main() {\n  float* p;\n  read();\n"
                   "  cudaMalloc(&p, rows * columns * sizeof(float));\n"
                   "  k<<<rows, 64>>>(p, columns);\n}\n")
        .json()["problems"][0];
  };
  EXPECT_EQ(sizes_of(""), Json({{"N", 2000}, {"ROWS", 64}}));
  EXPECT_THAT(sizes_of("void more() { columns += 1; }\n")["N"].dump(), HasSubstr("TODO: "));
}

TEST(DraftSpace, ReadsNumbersOfBlocksThatAreRoundedUpInFractionsAndOtherNamespaces) {
  for (const std::string blocks :
       {"ceil(n / 128.0f)", "ceil((float)n / 128.)", "util::div_up(n, 128)"}) {
    const Drafted drafted(
        "#include \"util.h\"\n"
        "__global__ void k(float* p, int n) { p[blockIdx.x * 128 + threadIdx.x] = n; }\n"
        "int main() {\n  int n = 4000;\n  float* p;\n  cudaMalloc(&p, n * sizeof(float));\n"
        "  dim3 blocks(" +
        blocks + ");\n  k<<<blocks, 128>>>(p, n);\n}\n");
    EXPECT_EQ(drafted.json()["kernels"][0]["grid"], Json::array({"ceil_div(N, 128)"})) << blocks;
  }
}

TEST(DraftSpace, KnowsTheSizeOfAnArrayOfTheDeviceWhoseAddressTheHostPasses) {
  const Drafted drafted(R"cu(
const int PARTS = 512;
__device__ float parts[PARTS];
__global__ void k(float* out) { out[blockIdx.x] = blockIdx.x; }
int main() {
  float first, *out;
  cudaGetSymbolAddress((void**)&out, parts);
  k<<<PARTS, 1>>>(out);
  cudaMemcpy(&first, out, sizeof(float), cudaMemcpyDeviceToHost);
}
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(json["arguments"][0]["shape"], Json::array({512}));
  EXPECT_EQ(json["kernels"][0]["grid"], Json::array({512}));
}

TEST(DraftSpace, MakesSizesOfBothExtentsOfASquareThatIsOneLarger) {
  const Drafted drafted(R"cu(
__global__ void k(int* m, int columns) {
  m[(blockIdx.x * 16 + threadIdx.y) * columns + blockIdx.y * 16 + threadIdx.x] = 1;
}
int main() {
  int rows = 2048, columns = 2048;
  rows = rows + 1;
  columns = columns + 1;
  const int all = rows * columns;
  int* m;
  cudaMalloc(&m, all * sizeof(int));
  k<<<dim3(rows / 16, columns / 16), dim3(16, 16)>>>(m, columns);
}
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(json["problems"][0], Json({{"COLUMNS", 2049}, {"ROWS", 2048}}));
  EXPECT_EQ(json["arguments"][0]["shape"], Json::array({"(ROWS + 1) * COLUMNS"}));
  EXPECT_EQ(json["cpu_problems"][0], Json({{"COLUMNS", 257}, {"ROWS", 256}})) << "it is a square";
}

TEST(DraftSpace, KnowsStoresThroughIntrinsicsAndTestsOfPointers) {
  const Drafted drafted(
      "__global__ void k(float* mean, float* out, int n) {\n"
      "  if (mean != nullptr) __stcs(mean + threadIdx.x, 1.0f);\n  __stcs(&out[n], 2.0f);\n}\n");
  EXPECT_EQ(drafted.json()["arguments"][0]["role"], "output");
}

TEST(DraftSpace, TakesOfSeveralLaunchesTheOneThatFitsItsBlock) {
  const Drafted drafted(
      "template <int SIDE> __global__ void k(float* p, int n) { p[threadIdx.y * SIDE] = n; }\n"
      "void run(float* p, int n, int block_size) {\n  dim3 threads(block_size, block_size);\n"
      "  if (block_size == 16) { k<16><<<n, threads>>>(p, n); } else { k<32><<<n, threads>>>(p, "
      "n); }"
      "\n}\nint main() { int block_size = 32; run(d, 100, block_size); }\n");
  EXPECT_EQ(drafted.json()["kernels"][0]["default"]["SIDE"], 32);
}

TEST(DraftSpace, BeginsWithPositiveNumbersWhereFunctionsNeedThem) {
  const Drafted drafted(
      "__device__ float root(float x) { return sqrtf(x); }\n"
      "__global__ void k(float* out, const float* in) { out[0] = root(in[0]); }\n");
  EXPECT_EQ(drafted.json()["arguments"][1]["init"], "uniform(0.1, 1)");
  const Drafted macro(
      "#define SQRT sqrtf\n"
      "__global__ void k(float* out, const float* in) { out[0] = SQRT(in[0]); }\n");
  EXPECT_EQ(macro.json()["arguments"][1]["init"], "uniform(0.1, 1)");
  const Drafted constant(
      "__global__ void k(float* out, const float* in) { out[0] = sqrtf(2.0f / M_PI) * in[0]; }\n");
  EXPECT_EQ(constant.json()["arguments"][1]["init"], "uniform(-1, 1)");
}

TEST(DraftSpace, KnowsWhatStructsAreMadeOf) {
  const Drafted drafted(
      "#define D 3\nstruct Body { float place[D], mass; };\ntypedef struct { char c; double d; } "
      "Two;\n"
      "struct Other { Body b; void f(); };\n"
      "__global__ void k(Body* a, Two* b, Other* c, Two d, int n) { a[n] = a[0]; }\n");
  const Json arguments = drafted.json()["arguments"];
  EXPECT_EQ(arguments[0]["type"], "float");
  EXPECT_EQ(arguments[0]["shape"][1], 4);
  EXPECT_EQ(arguments[1]["type"], "bytes(16)");
  EXPECT_EQ(arguments[2]["shape"][1], 4) << "a function is no member";
  EXPECT_EQ(arguments[3]["type"], "bytes(16)");
  const Json others = Drafted(
                          "enum Mode { plain, fast };\nstruct Base { float4 a; };\n"
                          "struct Node : Base { int next; }; struct Linked { Node* p; };\n"
                          "__global__ void k(Node* a, Linked* b, Mode m, Base c) { a[0] = a[1]; }\n"
                          "void run(Node* a, Linked* b, Base c) { k<<<1, 64>>>(a, b, fast, c); }\n")
                          .json()["arguments"];
  EXPECT_EQ(others[0]["type"], "bytes(32)");
  EXPECT_THAT(others[1]["type"].get<std::string>(), testing::StartsWith("TODO"));
  EXPECT_EQ(others[2]["type"], "int");
  EXPECT_EQ(others[2]["value"], 1);
  EXPECT_EQ(others[3]["type"], "bytes(16)");
}

TEST(DraftSpace, OfAStructAsksForItsSize) {
  Drafted draft("union P { int a; float b; };\n__global__ void f(P* p, P q) { p[0] = q; }\n");
  EXPECT_THAT(draft.faults(), ElementsAre(HasSubstr("/problems/0/N: TODO: N of the problem"),
                                          HasSubstr("/arguments/0/type: TODO: bytes(SIZE)"),
                                          HasSubstr("/arguments/0/shape/0: TODO"),
                                          HasSubstr("/arguments/1/type: TODO: bytes(SIZE)"),
                                          HasSubstr("/arguments/1/value: TODO: zero, or file"),
                                          HasSubstr("/kernels/0/block/0: TODO"),
                                          HasSubstr("/kernels/0/grid/0: TODO")));
  draft.decide({{"/problems/0/N", 4096},
                {"/arguments/0/type", "bytes(4)"},
                {"/arguments/0/shape/0", "N"},
                {"/arguments/1/type", "bytes(4)"},
                {"/arguments/1/value", "zero"},
                {"/kernels/0/block/0", 1},
                {"/kernels/0/grid/0", "N"}});
  EXPECT_THAT(draft.faults(), IsEmpty());
}

// A source like llm.c: the launcher overrides the value that it is passed, and main tries several.
constexpr const char* kSoftmax = R"cu(
__global__ void softmax(float* out, const float* inp, int N, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = inp[i] / C;
}
__global__ void softmax3(float* out, const float* inp, int N, int C) {
  out[blockIdx.x * C + threadIdx.x] = inp[blockDim.x];
}
void launch(float* out, float* inp, int N, int C, int block_size) {
  softmax<<<ceil_div(N, block_size), block_size>>>(out, inp, N, C);
}
void launch3(float* out, float* inp, int N, int C, int block_size) {
  block_size = 32;  // It only works with this one.
  int grid_size = N;
  softmax3<<<grid_size, block_size>>>(out, inp, N, C);
}
__global__ void softmax6(float* out, const float* inp, int N, int C) {
  out[blockIdx.x * blockDim.y + threadIdx.y] = inp[threadIdx.x];
}
void launch6(float* out, float* inp, int B, int T, int C, int block_size) {
  const int N = B * T;
  int block_y = block_size / 32;
  softmax6<<<ceil_div(N, block_y), dim3(32, block_y)>>>(out, inp, N, C);
}
void pick(int n, float* out, float* inp, int N, int C, int block_size) {
  if (n == 1) launch(out, inp, N, C, block_size);
  else if (n == 3) launch3(out, inp, N, C, block_size);
  else launch6(out, inp, 1, N, C, block_size);
}
int main() {
  int B = 8, T = 1024, V = 50257;
  cudaMalloc(&d_out, B * T * V * sizeof(float));
  cudaMalloc(&d_inp, B * T * V * sizeof(float));
  int block_sizes[] = {32, 64, 128, 256, 512};
  for (int j = 0; j < 5; ++j) {
    int block_size = block_sizes[j];
    pick(1, d_out, d_inp, B * T, V, block_size);
  }
}
)cu";

TEST(DraftSpace, ReadsTheHostUpToMain) {
  Drafted draft(kSoftmax);
  const Json json = draft.json();
  EXPECT_EQ(json["problems"][0].dump(), R"({"PROBLEM_N":8192,"PROBLEM_C":50257})");
  EXPECT_EQ(json["arguments"][0]["shape"].dump(), R"(["PROBLEM_N * PROBLEM_C"])");
  EXPECT_EQ(json["arguments"][1]["shape"].dump(), R"(["PROBLEM_N * PROBLEM_C"])");
  const Json& first = json["kernels"][0];
  EXPECT_EQ(first["parameters"]["THREADS"].dump(), "[32,64,128,256,512]");
  EXPECT_EQ(first["default"]["THREADS"], 256);
  EXPECT_FALSE(first.contains("default_is_a_guess"));
  EXPECT_EQ(first["grid"].dump(), R"json(["ceil_div(PROBLEM_N, THREADS)"])json");
  const Json& third = json["kernels"][1];
  EXPECT_EQ(third["block"].dump(), "[32]");
  EXPECT_EQ(third["grid"].dump(), R"(["PROBLEM_N"])");
  EXPECT_FALSE(third.contains("parameters"));
  const Json& sixth = json["kernels"][2];
  EXPECT_EQ(sixth["block"].dump(), R"([32,"THREADS / 32"])");
  EXPECT_EQ(sixth["grid"].dump(), R"json(["ceil_div(PROBLEM_N, (THREADS / 32))"])json");
  EXPECT_THAT(draft.faults(), IsEmpty());
}

/// A kernel that takes its block's size as a template parameter, and main() with this launch.
std::string doubling(const std::string& name, const std::string& launch) {
  return "template <int " + name +
         "> __global__ void dbl(float* o, const float* a, int n) {\n"
         "  int i = blockIdx.x * " +
         name +
         " + threadIdx.x; if (i < n) o[i] = 2.f * a[i]; }\n"
         "int main() {\n  int n = 1 << 20; float *a, *b;\n  cudaMalloc(&a, n * sizeof(float)); "
         "cudaMalloc(&b, n * sizeof(float));\n  " +
         launch + "\n}\n";
}

TEST(DraftSpace, VariesBlockAndGridTogetherWhateverTheParameterIsCalled) {
  for (const std::string name : {"BLOCK_SIZE", "TPB", "NT", "BS"}) {
    const Drafted draft(doubling(name, "dbl<256><<<(n + 255) / 256, 256>>>(b, a, n);"));
    const Json kernel = draft.json()["kernels"][0];
    EXPECT_EQ(kernel["parameters"].dump(), "{\"" + name + "\":[64,128,256,512,1024]}");
    EXPECT_EQ(kernel["block"], Json({name}));
    EXPECT_EQ(kernel["grid"], Json({"(N + (" + name + " - 1)) / " + name}));
    EXPECT_THAT(draft.faults(), IsEmpty());
  }
  const Json variable =
      Drafted(doubling("TPB", "constexpr int T = 256; dbl<T><<<(n + T - 1) / T, T>>>(b, a, n);"))
          .json()["kernels"][0];
  EXPECT_EQ(variable["block"], Json({"TPB"}));
  EXPECT_EQ(variable["grid"], Json({"(N + TPB - 1) / TPB"}));
  const Json plain =
      Drafted(
          "__global__ void dbl(float* o, const float* a, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = 2.f * a[i]; }\n"
          "int main() {\n  int n = 1 << 20; float *a, *b;\n"
          "  dbl<<<(n + 255) / 256, 256>>>(b, a, n);\n}\n")
          .json()["kernels"][0];
  EXPECT_EQ(plain["block"], Json({"THREADS"}));
  EXPECT_EQ(plain["grid"], Json({"(N + (THREADS - 1)) / THREADS"}));
  const Json fixed =
      Drafted(doubling("TPB", "dbl<256><<<4096, 256>>>(b, a, n);")).json()["kernels"][0];
  EXPECT_EQ(fixed["parameters"]["TPB"], Json({256})) << "the grid would not follow";
}

TEST(DraftSpace, TakesTheValuesOfASwitchOverInstantiations) {
  const Drafted draft(R"cu(
template <int TPB> __global__ void scale2(float* o, const float* a, int n) {
  int i = blockIdx.x * TPB + threadIdx.x;
  if (i < n) o[i] = 2.f * a[i];
}
void run(float* o, const float* a, int n, int threads) {
  int blocks = (n + threads - 1) / threads;
  switch (threads) {
    case 64: scale2<64><<<blocks, threads>>>(o, a, n); break;
    case 256: scale2<256><<<blocks, threads>>>(o, a, n); break;
    case 1024: scale2<1024><<<blocks, threads>>>(o, a, n); break;
  }
}
int main() {
  int n = 1 << 20; float *a, *b;
  cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float));
  run(b, a, n, 256);
}
)cu");
  const Json kernel = draft.json()["kernels"][0];
  EXPECT_EQ(kernel["parameters"].dump(), R"({"TPB":[64,256,1024]})");
  EXPECT_EQ(kernel["default"]["TPB"], 256);
  EXPECT_EQ(kernel["block"], Json({"TPB"}));
  EXPECT_EQ(kernel["grid"], Json({"(N + TPB - 1) / TPB"}));
  EXPECT_THAT(draft.faults(), IsEmpty());
}

TEST(DraftSpace, TakesTheValuesOfAnIfOverInstantiations) {
  const Drafted draft(R"cu(
template <int TPB, int ITEMS> __global__ void scale2(float* o, const float* a, int n) {
  int b = blockIdx.x * TPB * ITEMS + threadIdx.x;
  for (int k = 0; k < ITEMS; ++k) if (b + k * TPB < n) o[b + k * TPB] = 2.f * a[b + k * TPB];
}
void run(float* o, const float* a, int n, int major) {
  if (major >= 8) scale2<512, 8><<<(n + 4095) / 4096, 512>>>(o, a, n);
  else scale2<128, 4><<<(n + 511) / 512, 128>>>(o, a, n);
}
int main() {
  int n = 1 << 20; float *a, *b;
  cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float)); run(b, a, n, 9);
}
)cu");
  const Json kernel = draft.json()["kernels"][0];
  EXPECT_EQ(kernel["parameters"].dump(), R"({"TPB":[128,512],"ITEMS":[4,8]})");
  EXPECT_EQ(kernel["block"], Json({"TPB"}));
  EXPECT_EQ(kernel["grid"], Json({"(N + (TPB * ITEMS - 1)) / (TPB * ITEMS)"}));
  EXPECT_THAT(draft.faults(), IsEmpty());
}

TEST(DraftSpace, ReadsMacrosForKernelsAndLaunches) {
  const Drafted called(R"cu(
#define CHECK(x) do { cudaError_t e = (x); if (e) return 1; } while (0)
#define KERNEL extern "C" __global__ void
#define BLOCK 128
KERNEL __launch_bounds__(BLOCK) saxpy(float a, const float* __restrict__ x, float* __restrict__ y, size_t n) {
  for (size_t i = blockIdx.x * size_t(BLOCK) + threadIdx.x; i < n; i += size_t(gridDim.x) * BLOCK) y[i] = a * x[i] + y[i];
}
int main() {
  size_t n = 1u << 22; float a = 2.f, *x, *y;
  CHECK(cudaMalloc((void**)&x, n * sizeof(*x))); CHECK(cudaMalloc((void**)&y, n * sizeof(float)));
  void* args[] = { &a, &x, &y, &n };
  CHECK(cudaLaunchKernel((const void*)saxpy, dim3(132 * 4), dim3(BLOCK), args, 0, nullptr));
}
)cu");
  const Json json = called.json();
  EXPECT_EQ(json["problems"][0]["N"], 1 << 22);
  EXPECT_EQ(json["arguments"][0]["value"], 2.0);
  EXPECT_EQ(json["arguments"][1]["shape"], Json({"N"}));
  EXPECT_EQ(json["kernels"][0]["entry"], "saxpy");
  EXPECT_EQ(json["kernels"][0]["block"], Json({"BLOCK"}));
  EXPECT_EQ(json["kernels"][0]["grid"], Json({"132 * 4"}));
  const Json launched = Drafted(R"cu(
#define TILE_DIM 16
#define LAUNCH(K, G, B, ...) K<<<G, B>>>(__VA_ARGS__)
__global__ void fill(float* out, int M, int N) {
  int r = blockIdx.y * TILE_DIM + threadIdx.y, c = blockIdx.x * TILE_DIM + threadIdx.x;
  if (r < M && c < N) out[r * N + c] = 1;
}
int main() {
  int M = 512, N = 384; float* c;
  cudaMalloc(&c, M * N * 4);
  dim3 blk(TILE_DIM, TILE_DIM), grd((N + TILE_DIM - 1) / TILE_DIM, (M + TILE_DIM - 1) / TILE_DIM);
  LAUNCH(fill, grd, blk, c, M, N);
}
)cu")
                            .json();
  EXPECT_EQ(launched["kernels"][0]["block"], Json({"TILE_DIM", "TILE_DIM"}));
  EXPECT_THAT(launched["kernels"][0]["grid"][0].get<std::string>(), HasSubstr("/ TILE_DIM"));
  EXPECT_EQ(launched["arguments"][0]["shape"], Json({"PROBLEM_M * PROBLEM_N"}));
}

/// A kernel that merges steps, and a host with this loop around its launch.
std::string merging(const std::string& body) {
  return "__global__ void merge(float* d, int n, int j, int k) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) d[i] += j + k;\n}\n"
         "int main() {\n  int n = 4096; float* d;\n  cudaMalloc(&d, n * sizeof(float));\n" +
         body + "\n}\n";
}

TEST(DraftSpace, RepeatsWhatDoublesAndHalves) {
  const Json doubles =
      Drafted(merging("for (int k = 1; k < n; k <<= 1) merge<<<n / 64, 64>>>(d, n, 0, k);")).json();
  EXPECT_EQ(doubles["kernels"][0]["launches"][0]["repeat"], "turn < log2(2 * N - 1)");
  EXPECT_EQ(doubles["arguments"][3]["value"], "pow2(turn)");
  const Drafted halves(
      merging("int m = n; while (m > 1) { m /= 2; merge<<<(m + 63) / 64, 64>>>(d, m, 0, 0); }"));
  const Json loop = halves.json()["kernels"][0]["launches"][0];
  EXPECT_EQ(loop["repeat"], "turn < log2(N)");
  EXPECT_EQ(loop["launches"][0]["grid"][0], "((((N / pow2(turn))) / 2) + (THREADS - 1)) / THREADS");
  EXPECT_THAT(halves.faults(), IsEmpty());
}

TEST(DraftSpace, NamesLaunchesThatALoopHasBesidesTheOneThatIsDrafted) {
  const FlatSource source(R"cu(
__global__ void sum(const float* d, float* s) { atomicAdd(s, d[threadIdx.x]); }
__global__ void scale(float* d, float by) { d[threadIdx.x] *= by; }
__global__ void other(float* e) { e[threadIdx.x] = 1; }
void run(float* d, float* s, float* e) {
  float total;
  for (int step = 0; step < 100; ++step) {
    sum<<<1, 64>>>(d, s);
    cudaMemcpy(&total, s, 4, cudaMemcpyDeviceToHost);
    scale<<<1, 64>>>(d, 1 / total);
    other<<<1, 64>>>(e);
  }
}
)cu");
  KernelFile file = read_kernel_file(source);
  file.launches = read_host(source).launches;
  EXPECT_THAT(left_out_around(source, file, {"sum"}),
              ElementsAre("line 7: for (int step = 0; step < 100; ++step) also has scale: what "
                          "the host does in between is not in the draft"));
  EXPECT_THAT(left_out_around(source, file, {"other"}), IsEmpty());
}

/// Returns the block of a draft for a kernel with this body that the host launches so, the values of
/// its parameter, and the note that says why it stays.
std::array<std::string, 3> block_of(const std::string& body, const std::string& launch,
                                    const std::string& functions = "") {
  const Json kernel =
      Drafted(functions + "__global__ void k(const float* in, float* out, int n) {\n" + body +
              "\n}\nint main() {\n  int n = 4096;\n  float *a, *b;\n"
              "  cudaMalloc(&a, n * sizeof(float));\n  cudaMalloc(&b, n * sizeof(float));\n  k<<<" +
              launch + ">>>(a, b, n);\n}\n")
          .json()["kernels"][0];
  const std::string text = kernel["description"];
  const std::size_t note = text.find("The block stays");
  return {kernel["block"].dump(), kernel.value("parameters", Json::object()).dump(),
          note == text.npos ? "" : text.substr(note, text.find('.', note) - note)};
}

TEST(DraftSpace, KeepsABlockThatNumbersOfTheKernelAreTiedTo) {
  const std::string index = "int i = blockIdx.x * blockDim.x + threadIdx.x; int t = threadIdx.x;";
  const std::string stays = "The block stays at 256 threads in x, because line 2 ";
  const auto block = [&](const std::string& body) {
    return block_of(index + body, "(n + 255) / 256, 256");
  };
  const auto kept = [&](const std::string& why) { return ElementsAre("[256]", "{}", stays + why); };
  EXPECT_THAT(block("if (i < n) out[i] = in[i] * 255.0f + 256;"),
              ElementsAre("[\"THREADS\"]", R"({"THREADS":[64,128,256,512,1024]})", ""));
  EXPECT_THAT(block("__shared__ float s[256]; s[t] = in[i]; __syncthreads(); out[i] = s[255 - t];"),
              kept("has 255"));
  EXPECT_THAT(block("__shared__ float s[256]; s[t] = in[i]; __syncthreads();\n"
                    "for (int k = 128; k > 0; k >>= 1) if (t < k) s[t] += s[t + k];\n"
                    "if (i < n) out[i] = s[0];"),
              ElementsAre("[256]", "{}", HasSubstr("has 128")));
  EXPECT_THAT(
      block("__shared__ int s[256]; s[t] = 0; atomicAdd(&s[(int)in[i]], 1); out[i] = s[t];"),
      kept("has 256"));
  EXPECT_THAT(block("__shared__ int s[256]; for (int k = t; k < 256; k += blockDim.x) s[k] = 0;\n"
                    "atomicAdd(&s[(int)in[i]], 1); out[i] = s[(int)in[i]];"),
              ElementsAre("[\"THREADS\"]", R"({"THREADS":[64,128,256,512,1024]})", ""));
  EXPECT_THAT(block("float v = in[i]; if (t == 0) out[blockIdx.x] = v;"),
              kept("stores what each block makes of its elements"));
  EXPECT_THAT(block_of("int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = in[i];",
                       "(n + 255) / 256, 256"),
              kept("has 256"));
  EXPECT_THAT(block_of("if (threadIdx.x < n) out[threadIdx.x] = in[blockIdx.x];", "16, 256"),
              ElementsAre("[256]", "{}",
                          "The block stays at 256 threads in x, because the kernel does not read "
                          "blockDim"));
}

TEST(DraftSpace, BoundsABlockByTheArraysOfWhichItsThreadsHaveElements) {
  const auto threads = [&](const std::string& body) {
    return block_of("int i = blockIdx.x * blockDim.x + threadIdx.x; int t = threadIdx.x;" + body,
                    "(n + 255) / 256, 256")[1];
  };
  const std::string sum =
      "__syncthreads(); for (int k = blockDim.x / 2; k > 0; k /= 2) if (t < k) s[t] += s[t + k];"
      "if (i < n) out[i] = s[0];";
  EXPECT_EQ(threads("__shared__ float s[256]; s[t] = in[i];" + sum), R"({"THREADS":[64,128,256]})");
  EXPECT_EQ(threads("__shared__ float s[512]; s[t] = in[i];" + sum),
            R"({"THREADS":[64,128,256,512]})");
  EXPECT_EQ(threads("__shared__ float s[512]; s[2 * t] = in[i]; out[i] = s[2 * t];"),
            R"({"THREADS":[64,128,256]})");
  EXPECT_EQ(threads("__shared__ float s[32]; s[t / 32] = in[i]; if (i < n) out[i] = s[0];"),
            R"({"THREADS":[64,128,256,512,1024]})");
  EXPECT_EQ(block_of("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = f(in[i]);",
                     "(n + 255) / 256, 256",
                     "__device__ float f(float x) { __shared__ float s[512]; s[threadIdx.x] = x;"
                     " return s[threadIdx.x ^ 1]; }\n")[1],
            R"({"THREADS":[64,128,256,512]})");
}

TEST(DraftSpace, VariesABlockThatTheGridDoesNotFollowWhereThreadsGoOnByIt) {
  const std::string step = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += ";
  const std::string every = R"({"THREADS":[64,128,256,512,1024]})";
  EXPECT_EQ(block_of(step + "blockDim.x * gridDim.x) out[i] = in[i];", "256, 256")[1], every);
  EXPECT_EQ(
      block_of("int all = blockDim.x * gridDim.x;\n" + step + "all) out[i] = in[i];", "64, 256")[1],
      every);
  EXPECT_EQ(block_of("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i];",
                     "16, 256")[0],
            "[256]");
  EXPECT_EQ(block_of("int t = threadIdx.x; float v = 0; if (t < blockDim.x) v = in[t]; out[t] = v;",
                     "1, 256")[0],
            "[256]");
}

TEST(DraftSpace, TriesWholeWarpsUpToTheLaunchBounds) {
  const auto kernel_of = [](const std::string& bounds) {
    return Drafted("__global__ void " + bounds +
                   " ones(float* a, int n) {\n"
                   "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 1; }\n"
                   "void run(float* a, int n) { ones<<<(n + 63) / 64, 64>>>(a, n); }\n")
        .json()["kernels"][0];
  };
  EXPECT_EQ(kernel_of("")["parameters"].dump(), R"({"THREADS":[32,64,128,256]})");
  EXPECT_EQ(kernel_of("__launch_bounds__(128, 4)")["parameters"].dump(),
            R"({"THREADS":[32,64,128]})");
  EXPECT_EQ(kernel_of("__launch_bounds__(MOST)")["block"].dump(), "[64]");
}

TEST(DraftSpace, TakesTheBlockFromTheLaunchBoundsWhereNothingLaunchesTheKernel) {
  const auto block = [](const std::string& bounds, const std::string& index) {
    return Drafted("template <int TX, int TY> __global__ void __launch_bounds__(" + bounds +
                   ") ones(float* a) { a[" + index + "] = 1; }\n")
        .json()["kernels"][0]["block"]
        .dump();
  };
  EXPECT_EQ(block("128", "blockIdx.x * blockDim.x + threadIdx.x"), "[128]");
  EXPECT_EQ(block("TX * TY", "threadIdx.y * TX + threadIdx.x"), R"(["TX","TY"])");
}

TEST(DraftSpace, NamesALaunchThatPassesOtherArguments) {
  const auto launches = [](const std::string& second) {
    return Drafted(
               "__global__ void ones(float* a, int n) { a[blockIdx.x * 64 + threadIdx.x] = n; }\n"
               "int main() {\n  float *a, *b;\n"
               "  cudaMalloc(&a, 4096 * sizeof(float));\n  cudaMalloc(&b, 4096 * sizeof(float));\n"
               "  ones<<<64, 64>>>(a, 4096);\n  ones<<<64, 64>>>(" +
               second + ", 4096);\n}\n")
        .launches();
  };
  EXPECT_THAT(launches("b"), ElementsAre(HasSubstr("not as in line 7, which passes others")));
  EXPECT_THAT(launches("a"), ElementsAre(Not(HasSubstr("not as in"))));
}

TEST(DraftSpace, TakesNoSizeOfASharedArrayForOneOfTheProblem) {
  const auto problem = [](const std::string& storage) {
    return Drafted("#define WINDOW_SIZE 64\n__global__ void k(const float* in, float* out) {\n  " +
                   storage +
                   "float window[WINDOW_SIZE];\n"
                   "  window[threadIdx.x] = in[threadIdx.x]; __syncthreads();\n"
                   "  out[threadIdx.x] = window[WINDOW_SIZE - 1 - threadIdx.x];\n}\n")
        .json()["problems"][0];
  };
  EXPECT_TRUE(problem("").contains("WINDOW_SIZE"));
  EXPECT_FALSE(problem("__shared__ ").contains("WINDOW_SIZE"));
}

TEST(DraftSpace, TakesTheMembersThatAClassGivesValues) {
  const Drafted drafted(R"cu(
__global__ void ones(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 1; }
struct Config { int count = 5000; int threads = 128; };
void run(const Config& c, float* a) { ones<<<(c.count + c.threads - 1) / c.threads, c.threads>>>(a, c.count); }
int main() {
  Config c; float* a;
  cudaMalloc(&a, c.count * sizeof(float));
  run(c, a);
}
)cu");
  EXPECT_EQ(drafted.json()["problems"][0].dump(), R"({"N":5000})");
  EXPECT_EQ(drafted.json()["kernels"][0]["default"]["THREADS"], 128);
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, MakesASizeOfAVariableThatAllocates) {
  const Drafted drafted(R"cu(
__global__ void ones(float* a, int step) { a[blockIdx.x * blockDim.x + threadIdx.x] = step; }
void run(int count) {
  float* a; size_t bytes = count * sizeof(float);
  cudaMalloc(&a, bytes);
  ones<<<count / 128, 128>>>(a, 3);
}
int main() { run(1 << 18); }
)cu");
  EXPECT_EQ(drafted.json()["problems"][0].dump(), R"({"COUNT":262144})");
  EXPECT_EQ(drafted.json()["arguments"][0]["shape"], Json({"COUNT"}));
  EXPECT_EQ(drafted.json()["kernels"][0]["grid"], Json({"COUNT / THREADS"}));
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, TakesTypesOfATemplateFromWhatIsPassed) {
  const Json given = Drafted(R"cu(
template <class T, int SIZE> __global__ void fill(T* a) { a[blockIdx.x * SIZE + threadIdx.x] = 1; }
template <class U> void run(U* a) { fill<U, 64><<<4, 64>>>(a); }
int main() { int* a; cudaMalloc(&a, 256 * sizeof(int)); run<int>(a); }
)cu")
                         .json();
  EXPECT_EQ(given["problems"][0]["T"], "int");
  const Json deduced = Drafted(R"cu(
typedef double real;
template <class T> __global__ void fill(T* a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }
int main() { real* a; cudaMalloc(&a, 256 * sizeof(real)); fill<<<1, 256>>>(a, 256); }
)cu")
                           .json();
  EXPECT_EQ(deduced["problems"][0]["T"], "double");
}

TEST(DraftSpace, DeducesTypesAndNumbersOfTemplates) {
  const Drafted drafted(R"cu(
template <typename T, typename I, int K> __global__ void scale(T* out, const T* in, I size, float p) {
  I i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = K * p * in[i];
}
template <typename T, typename I> void run(T* out, const T* in, I n) {
  static const int kPerBlock = 256;
  const int K = 4 * 3;
  for (int k = 1; k <= 4; ++k) {
    const float p = (float)k;
    scale<T, I, K><<<(n + (I)kPerBlock - 1) / (I)kPerBlock, kPerBlock>>>(out, in, n, 1.f / p);
  }
}
int main() {
  const int count = 5000;
  double *d_in, *d_out;
  cudaMalloc(&d_in, count * sizeof(double));
  cudaMalloc(&d_out, count * sizeof(double));
  run(d_out, d_in, count);
}
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(R"({"T":"double","I":"int","SIZE":5000,"K":12})", json["problems"][0].dump());
  EXPECT_EQ("1.0 / ((1 + turn))", json["arguments"][3]["value"]);
  EXPECT_EQ("(SIZE + THREADS - 1) / THREADS",
            json["kernels"][0]["launches"][0]["launches"][0]["grid"][0]);
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, PassesTemplateArgumentsThatFollowFromSizes) {
  const Drafted drafted(R"cu(
constexpr int SIDE = 2048;
constexpr int M = SIDE / 8;
template <int m> __global__ void scale(float* out, const float* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m * m) out[i] = 2 * in[i];
}
int main() {
  float *d_in, *d_out;
  cudaMalloc(&d_in, M * M * sizeof(float));
  cudaMalloc(&d_out, M * M * sizeof(float));
  scale<M><<<(M * M + 127) / 128, 128>>>(d_out, d_in);
}
)cu");
  EXPECT_EQ(R"({"SIDE":2048})", drafted.json()["problems"][0].dump());
  EXPECT_EQ("scale<SIDE / 8>", drafted.json()["kernels"][0]["entry"]);
  EXPECT_THAT(drafted.faults(), IsEmpty());
}

TEST(DraftSpace, GivesTheCpuDeviceAProblemWithABlockAndCountsAsTheHostFillsThem) {
  const Drafted drafted(R"cu(
__global__ void sums(const int* lengths, float* out, const float* in) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < lengths[i]; ++k) sum += in[k];
  out[i] = sum;
}
int main() {
  const int n = 65536;
  int* h_lengths = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++) h_lengths[i] = n / 64;
  int* d_lengths; float *d_out, *d_in;
  cudaMalloc(&d_lengths, n * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMalloc(&d_in, n * 64 * sizeof(float));
  cudaMemcpy(d_lengths, h_lengths, n * sizeof(int), cudaMemcpyHostToDevice);
  sums<<<n / 512, 64>>>(d_lengths, d_out, d_in);
}
)cu");
  EXPECT_EQ(512, drafted.json()["cpu_problems"][0]["N"]);
  EXPECT_EQ("constant(N / 64)", drafted.json()["arguments"][0]["init"]);
}

TEST(DraftSpace, GivesTheCpuDeviceAsManyElementsAsABlockHasThreads) {
  const Drafted drafted(R"cu(
#define COUNT 2048
__global__ void halves(const float* in, float* out) {
  __shared__ float s[1024];
  s[threadIdx.x] = in[threadIdx.x] + in[threadIdx.x + 1024];
  __syncthreads();
  out[threadIdx.x] = s[1023 - threadIdx.x] / COUNT;
}
int main() {
  float *in, *out;
  cudaMalloc(&in, COUNT * sizeof(float));
  cudaMalloc(&out, COUNT / 2 * sizeof(float));
  halves<<<1, 1024>>>(in, out);
}
)cu");
  EXPECT_EQ(2048, drafted.json()["cpu_problems"][0]["COUNT"]);
}

TEST(DraftSpace, KeepsAnArraysSizeWhereItIsMadeOfTheBlocks) {
  const Drafted drafted(R"cu(
__global__ void add(float* a, int first) { a[first + blockIdx.x * blockDim.x + threadIdx.x] += 1; }
int main() {
  const int threads = 256, parts = 4;
  const int n = 1024 * threads * parts;
  float* a;
  cudaMalloc(&a, n * sizeof(float));
  add<<<n / threads, threads>>>(a, 0);
}
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(json["problems"][0], Json({{"N", 1024 * 256 * 4}}));
  EXPECT_EQ(json["arguments"][0]["shape"], Json::array({"N"}));
  EXPECT_EQ(json["kernels"][0]["grid"], Json::array({"N / THREADS"}));
}

TEST(DraftSpace, MakesOneSizeOfAConstantThatSeveralFunctionsUse) {
  const Drafted drafted(R"cu(
const int LENGTH = 100000;
const int ALL = LENGTH * sizeof(float);
const int BLOCKS = 1024;
__global__ void sums(const float* x, float* y, const int LENGTH) {
  float sum = 0;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < LENGTH; i += blockDim.x * gridDim.x) sum += x[i];
  atomicAdd(&y[blockIdx.x], sum);
}
void add_up(const float* x) {
  float* y;
  const int bytes = sizeof(float) * BLOCKS;
  cudaMalloc(&y, bytes);
  sums<<<BLOCKS, 128>>>(x, y, LENGTH);
}
int main() {
  float* x;
  cudaMalloc(&x, ALL);
  add_up(x);
}
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(json["problems"][0], Json({{"PROBLEM_LENGTH", 100000}, {"BLOCKS", 1024}}));
  EXPECT_EQ(json["kernels"][0]["grid"], Json::array({"BLOCKS"}));
}

TEST(DraftSpace, MakesSizesOfIntegersOfTypesThatTheSourceNames) {
  const Drafted drafted(R"cu(
typedef unsigned int u32;
__global__ void product(const float* a, const float* b, float* c, u32 rows, u32 inner, u32 columns) {
  u32 row = blockIdx.y * blockDim.y + threadIdx.y;
  u32 column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns) {
    for (u32 k = 0; k < inner; ++k) {
      c[row * columns + column] += a[row * inner + k] * b[k * columns + column];
    }
  }
}
int main() {
  u32 rows = 256, inner = 512, columns = 128;
  float *a, *b, *c;
  cudaMalloc(&a, rows * inner * sizeof(float));
  cudaMalloc(&b, inner * columns * sizeof(float));
  cudaMalloc(&c, rows * columns * sizeof(float));
  product<<<dim3(columns / 16, rows / 16), dim3(16, 16)>>>(a, b, c, rows, inner, columns);
}
)cu");
  const Json json = drafted.json();
  EXPECT_EQ(json["arguments"][4]["value"], "INNER");
  EXPECT_THAT(json["verify"]["definition"].get<std::string>(),
              HasSubstr("c[i] = (floor(i / COLUMNS) < ROWS && (i % COLUMNS) < COLUMNS) ? "));
}

TEST(DraftSpace, MakesFourSizesSmallForTheCpuDevice) {
  const Drafted drafted(
      "__global__ void ones(float* o, int b, int c, int h, int w) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < b * c * h * w) o[i] = 1;\n}\n"
      "void run(float* o) { ones<<<32 * 64 * 64, 64>>>(o, 32, 64, 64, 64); }\n");
  EXPECT_EQ(R"({"B":16,"C":16,"H":16,"W":16})", drafted.json()["cpu_problems"][0].dump());
}

TEST(DraftSpace, ProposesExpectedResultsThatTheHostHas) {
  const auto said = [](const std::string& statement) {
    return Drafted(
               "#include <fstream>\n__global__ void ones(float* o) { o[threadIdx.x] = 1; }\n"
               "int main() {\n  float* o; cudaMalloc(&o, 64 * sizeof(float));\n  " +
               statement + "\n  ones<<<1, 64>>>(o);\n}\n")
        .json()["verify"]["description"]
        .get<std::string>();
  };
  for (const char* const reads :
       {"FILE* f = fopen(\"data/gold.bin\", \"rb\");", "std::ifstream in(\"data/gold.bin\");"}) {
    EXPECT_THAT(said(reads), HasSubstr("In line 5 the host reads data/gold.bin: if these are the "
                                       "expected results, write \"expected\": { \"o\": "
                                       "\"data/gold.bin\" } here, and the inputs"));
  }
  EXPECT_THAT(said("float expected[] = {1, 1};"), HasSubstr("lists expected: "));
  for (const char* const other : {"FILE* f = fopen(\"gold.bin\", \"wb\");",
                                  "FILE* f = fopen(\"input.bin\", \"rb\");", "float in[] = {1};"}) {
    EXPECT_THAT(said(other), Not(HasSubstr("the host ")));
  }
}

TEST(DraftSpace, AsksWhereItCannotSayHowOftenTheHostRepeats) {
  for (const auto& [body, said] : std::map<std::string, std::string>{
           {"for (int k = 2; k <= n; k *= 2)\n  for (int j = next(k); j > 0; j /= 2)\n"
            "    merge<<<n / 64, 64>>>(d, n, j, k);",
            "for (int k = 2; k <= n; k *= 2) around for (int j = next(k); j > 0; j /= 2)"},
           {"while (is_changed(d)) merge<<<n / 64, 64>>>(d, n, 0, 0);", "while (is_changed(d))"},
           {"for (int k = 0; k < 9; ++k) { if (k % 2) merge<<<n / 64, 64>>>(d, n, 0, 0); }",
            "if (k % 2)"}}) {
    const Drafted draft(merging(body));
    EXPECT_THAT(draft.faults(),
                testing::Contains(AllOf(HasSubstr("repeat: TODO"), HasSubstr(said))));
    EXPECT_EQ(draft.json()["problems"][0].dump(), R"({"N":4096})") << "a counter is no size";
  }
}

TEST(DraftSpace, RepeatsLoopsInLoopsAsOne) {
  const Drafted even(
      merging("for (int a = 0; a < 5; ++a) for (int b = 1; b < n; b *= 2) "
              "merge<<<n / 64, 64>>>(d, n, a, b);"));
  Json json = even.json();
  EXPECT_THAT(even.faults(), IsEmpty());
  EXPECT_EQ(json["kernels"][0]["launches"][0]["repeat"], "turn < 5 * (log2(2 * N - 1))");
  EXPECT_EQ(json["arguments"][2]["value"], "turn / (log2(2 * N - 1))");
  EXPECT_EQ(json["arguments"][3]["value"], "pow2((turn % (log2(2 * N - 1))))");
  const Drafted uneven(
      merging("for (int k = 2; k <= n; k *= 2) for (int j = k / 2; j > 0; j /= 2) "
              "merge<<<n / 64, 64>>>(d, n, j, k);"));
  json = uneven.json();
  EXPECT_THAT(uneven.faults(), IsEmpty());
  const std::string repeat = json["kernels"][0]["launches"][0]["repeat"];
  EXPECT_EQ(repeat, "turn < (log2(N / 2) + 1) * (log2((2 * pow2((log2(N / 2) + 1 - 1))) / 2) + 1)");
  EXPECT_THAT(json["kernels"][0]["launches"][0]["launches"][0]["grid"][0].get<std::string>(),
              AllOf(HasSubstr("turn % (log2("), HasSubstr(": 0")));
}

TEST(DraftSpace, TakesIndicesAsTheHostFillsThem) {
  const Json json = Drafted(R"cu(
__global__ void count(int* bins, const int* at, const int* of, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(&bins[at[i] + of[i]], 1);
}
int main() {
  int n = 4096; int *h = new int[n], *g = new int[n]; int *d_at, *d_of, *bins;
  for (int i = 0; i < n; ++i) { h[i] = rand() % 16; g[i] = (int)(rand() % n); }
  cudaMalloc(&d_at, n * 4); cudaMemcpy(d_at, h, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d_of, g, n * 4, cudaMemcpyHostToDevice);
  count<<<(n + 63) / 64, 64>>>(bins, d_at, d_of, n);
})cu")
                        .json();
  EXPECT_EQ(json["arguments"][1]["init"], "uniform(0, 15)");
  EXPECT_EQ(json["arguments"][2]["init"], "of[i] = i % (N)");
}

TEST(DraftSpace, KeepsWhatReassignedVariablesWere) {
  const Drafted draft(R"cu(
#define BS 16
__global__ void step(int* m, int cols, int width) { m[blockIdx.x * BS + threadIdx.x] = cols + width; }
int main(int argc, char** argv) {
  int cols = 2048;
  cols = cols + 1;
  int* m;
  cudaMalloc(&m, cols * sizeof(int));
  int width = (cols - 1) / BS;
  step<<<width, BS>>>(m, cols, width);
}
)cu");
  const Json json = draft.json();
  EXPECT_EQ(json["problems"][0]["COLS"], 2049);
  EXPECT_EQ(json["kernels"][0]["grid"], Json({"(COLS - 1) / BS"}));
  EXPECT_EQ(json["arguments"][2]["value"], "(COLS - 1) / BS");
}

TEST(DraftSpace, SaysThatABlockIsAGuessWhereNothingLaunchesTheKernel) {
  Drafted draft(
      "__global__ void k(float* p, int n) { p[blockIdx.x * blockDim.x + threadIdx.x] = n; }");
  const Json kernel = draft.json()["kernels"][0];
  EXPECT_EQ(kernel["default"]["THREADS"], 256);
  EXPECT_EQ(kernel["default_is_a_guess"], true);
}

TEST(DraftSpace, TiesTheGridToTheBlocksNumbers) {
  const auto kernel_of = [](const std::string& launch) {
    return Drafted(
               "__global__ void k(float* p, int nx, int ny) {\n"
               "  p[blockIdx.y * blockDim.y + threadIdx.y] = blockIdx.x * blockDim.x + "
               "threadIdx.x;\n}\n"
               "void run(float* d, int w, int h) {\n" +
               launch + "(d, w, h);\n}\n")
        .json()["kernels"][0];
  };
  const Json tied = kernel_of("  dim3 b(64, 4, 1); dim3 g(w / 64, h / 4, 1); k<<<g, b>>>");
  EXPECT_EQ(tied["block"].dump(), R"(["THREADS_X","THREADS_Y",1])");
  EXPECT_EQ(tied["grid"].dump(), R"(["NX / THREADS_X","NY / THREADS_Y",1])");
  const Json square =
      kernel_of("  int s = 16; dim3 b(s, s), g((w + s - 1) / s, (h + s - 1) / s); k<<<g, b>>>");
  EXPECT_EQ(square["block"].dump(), R"(["THREADS","THREADS"])");
  EXPECT_EQ(square["grid"].dump(),
            R"json(["(NX + THREADS - 1) / THREADS","(NY + THREADS - 1) / THREADS"])json");
  const Json fixed = kernel_of("  dim3 b(32, 8), g(w, h / 8); k<<<g, b>>>");
  EXPECT_EQ(fixed["block"].dump(), R"([32,"THREADS_Y"])");
  const Json untied = kernel_of("  dim3 b(128, 2), g(100, h); k<<<g, b>>>");
  EXPECT_EQ(untied["block"].dump(), "[128,2]");
}

TEST(DraftSpace, KeepsTheBlockAndATemplateArgumentTogether) {
  Drafted draft(
      "template <int BLOCK_SIZE> __global__ void k(float2* p, float* q, int n) {\n"
      "  __shared__ float s[BLOCK_SIZE][BLOCK_SIZE];\n  q[threadIdx.y] = p[n].x + s[0][0];\n}\n"
      "void run() {\n  int block_size = 32;\n  cudaMalloc(&d, n * sizeof(float));\n"
      "  cudaMalloc(&e, sizeof(float2) * n);\n"
      "  dim3 threads(block_size, block_size), grid(n / threads.x);\n"
      "  k<32><<<grid, threads>>>(d, e, n);\n}\n");
  const Json json = draft.json();
  EXPECT_EQ(json["kernels"][0]["block"].dump(), R"(["BLOCK_SIZE","BLOCK_SIZE"])");
  EXPECT_EQ(json["kernels"][0]["grid"].dump(), R"(["N / BLOCK_SIZE"])");
  EXPECT_EQ(json["arguments"][0]["shape"].dump(), R"(["N"])");  // Elements of float.
  EXPECT_EQ(json["arguments"][1]["shape"].dump(), R"(["N"])");
}

// If it were replaced by its value, such a variable would get four times as long with each step.
TEST(DraftSpace, ComesToAnEndWhereAVariableIsMadeOfItself) {
  Drafted draft(
      "__global__ void k(float* out, int n) { out[threadIdx.x] = n; }\n"
      "void run() {\n"
      "  int side = side * side * side * side * side * side * side * side + n;\n"
      "  dim3 threads(threads.x * threads.x * threads.x * threads.x * n, 1);\n"
      "  k<<<1, side>>>(out, n);\n  k<<<1, threads>>>(out, n);\n}\n");
  EXPECT_EQ(draft.json()["kernels"][0]["name"], "k");
}

TEST(DraftSpace, TakesEnumeratorsForWhatTheyAreAndNoTypesForNumbers) {
  Drafted draft(
      "enum class Mode { plain, fast };\n"
      "template <Mode MODE> __global__ void k(MISSING_VECTOR* p, float* q, int n) {\n"
      "  namespace cg = cooperative_groups;\n"
      "  q[threadIdx.x] = MODE == Mode::plain ? 1 : n;\n}\n"
      "void run() { k<Mode::fast><<<1, 64>>>(p, q, n); }\n");
  const Json kernel = draft.json()["kernels"][0];
  EXPECT_EQ(kernel["parameters"].dump(), R"({"MODE":["Mode::plain","Mode::fast"]})");
  EXPECT_EQ(kernel["default"]["MODE"], "Mode::fast");
}

TEST(DraftSpace, MakesSizesOfWhatTheHostReadsElsewhere) {
  const Drafted drafted(
      "#define LANES 64\n#define AREA(a, b) ((a) * (b))\n"
      "__global__ void k(float* out, const float* in, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i > 0 && i < n - 1) out[i] = in[i * LANES];\n}\n"
      "int main(int argc, char** argv) {\n"
      "  int length = atoi(argv[1]); float *o, *p;\n"
      "  cudaMalloc(&o, length * sizeof(float));\n"
      "  cudaMalloc(&p, AREA(LANES, length) * sizeof(float));\n"
      "  k<<<(length + 127) / 128, 128>>>(o, p, 1000);\n}\n");
  const Json json = drafted.json();
  EXPECT_EQ(json["problems"][0]["LANES"], 64);
  EXPECT_EQ(json["problems"][0]["N"], 1000);
  EXPECT_THAT(json["problems"][0]["LENGTH"].get<std::string>(),
              HasSubstr("TODO: LENGTH of the problem, such as 1024"));
  EXPECT_EQ(json["arguments"][0]["shape"].dump(), R"(["LENGTH"])");
  EXPECT_EQ(json["arguments"][1]["shape"].dump(), R"j(["LANES * LENGTH"])j");
  EXPECT_EQ(json["kernels"][0]["grid"].dump(), R"j(["(LENGTH + (THREADS - 1)) / THREADS"])j");
  // The kernel leaves the ends of the array as they are.
  EXPECT_EQ(json["arguments"][0]["role"], "inout");
  EXPECT_EQ(json["arguments"][0]["init"], "zero");
}

TEST(DraftSpace, TakesSizesFromContainersCopiesAndPitches) {
  const Drafted drafted(
      "__global__ void k(float* a, float* b, float* c, float* sum, int n) { a[n] = sum[0]; }\n"
      "void init(float* x) { *x = 2.5f; }\n"
      "void run(float* b, int n) {\n"
      "  thrust::device_vector<float> a(2 * n); float* c; size_t pitch;\n"
      "  cudaMemcpy(b, host, 3 * n * sizeof(float), cudaMemcpyHostToDevice);\n"
      "  cudaMallocPitch(&c, &pitch, n * sizeof(float), 7);\n"
      "  k<<<n, 64>>>(thrust::raw_pointer_cast(a.data()), b, c, d, n);\n}\n");
  const Json arguments = drafted.json()["arguments"];
  EXPECT_EQ(arguments[0]["shape"].dump(), R"j(["2 * N"])j");
  EXPECT_EQ(arguments[1]["shape"].dump(), R"j(["3 * N"])j");
  EXPECT_EQ(arguments[2]["shape"].dump(), R"j(["N * 7"])j");
}

TEST(DraftSpace, TakesSizesFromWhatTheHostHasItself) {
  const Drafted drafted(
      "#include <vector>\n"
      "__global__ void k(float* a, float* b, float* c, int* d, float* e, float* one, int n) {\n"
      "  a[n] = one[0];\n}\n"
      "void run(int n) {\n"
      "  float* a = (float*)malloc(2 * n * sizeof(float));\n"
      "  float* b = new float[n + 3]; float* c = (float*)calloc(n, sizeof(float));\n"
      "  std::vector<int> host(n * 5); int* d; cudaMalloc(&d, host.size() * sizeof(int));\n"
      "  float table[7][9]; float* e; cudaMalloc(&e, sizeof(table));\n"
      "  float* one; cudaMalloc(&one, sizeof(float)); dim3 grid(n, 2);\n"
      "  k<<<dim3(grid), 64>>>(a, b, c, d, e, one, n);\n}\n");
  EXPECT_EQ(drafted.json()["kernels"][0]["grid"].dump(), R"(["N",2])");
  const Json arguments = drafted.json()["arguments"];
  EXPECT_EQ(arguments[5]["shape"].dump(), "[1]");
  EXPECT_EQ(arguments[0]["shape"].dump(), R"j(["2 * N"])j");
  EXPECT_EQ(arguments[1]["shape"].dump(), R"j(["N + 3"])j");
  EXPECT_EQ(arguments[2]["shape"].dump(), R"j(["N"])j");
  EXPECT_EQ(arguments[3]["shape"].dump(), R"j(["N * 5"])j");
  EXPECT_EQ(arguments[4]["shape"].dump(), R"j(["7 * 9"])j");
}

TEST(DraftSpace, CalculatesASizeThatFollowsFromOthers) {
  const Json json =
      Drafted(
          "__global__ void k(float* a, int n, int rows, int cols) { a[n] = rows * cols; }\n"
          "int main(int argc, char** argv) {\n"
          "  int rows = atoi(argv[1]), cols = atoi(argv[2]); int n = rows * cols;\n"
          "  k<<<(n + 63) / 64, 64>>>(a, n, rows, cols);\n}\n")
          .json();
  EXPECT_EQ(json["problems"][0].size(), 2);
  EXPECT_EQ(json["arguments"][1]["value"], "ROWS * COLS");
  EXPECT_EQ(json["kernels"][0]["grid"].dump(), R"j(["((ROWS * COLS) + 63) / 64"])j");
}

TEST(DraftSpace, FollowsFunctionsThatAllocate) {
  const Drafted drafted(
      "__global__ void k(float* a, float* b, double* c, int n) { a[n] = b[0]; }\n"
      "template <typename T> T* on_device(size_t count) {\n"
      "  T* p; size_t bytes = count * sizeof(T); cudaMalloc(&p, bytes); return p;\n}\n"
      "void allocate(float** p, int rows, int columns) {\n"
      "  check(cudaMalloc((void**)p, rows * columns * sizeof(float)));\n}\n"
      "template <int TILES> void run(int n) {\n"
      "  float *a, *b = on_device<float>(n + 1); allocate(&a, n, 4);\n"
      "  double* c = on_device<double>(TILES * n);\n"
      "  k<<<n, 64>>>(a, b, c, n);\n}\n"
      "int main() { run<3>(1 << 20); }\n");
  const Json json = drafted.json();
  EXPECT_EQ(json["arguments"][0]["shape"].dump(), R"j(["N * 4"])j");
  EXPECT_EQ(json["arguments"][1]["shape"].dump(), R"j(["N + 1"])j");
  EXPECT_EQ(json["arguments"][2]["shape"].dump(), R"j(["3 * N"])j");
  EXPECT_EQ(json["problems"][0].dump(), R"({"N":1048576})");
}

TEST(DraftSpace, KnowsWhatMacrosOfTheHostStandForInSizesAndGrids) {
  const Drafted draft(R"(
#define N 4096
#define TILE 16
__global__ void blur(const int* in, int* out) {
  __shared__ int tile[TILE];
  tile[threadIdx.x] = in[blockIdx.x * TILE + threadIdx.x];
  out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
}
int main() {
  int *d_in, *d_out;
  int size = (N + 6) * sizeof(int);
  cudaMalloc((void**)&d_in, size);
  cudaMalloc((void**)&d_out, size);
  blur<<<N / TILE, TILE>>>(d_in, d_out);
})");
  const Json json = draft.json();
  EXPECT_EQ(json["problems"][0]["PROBLEM_N"], 4096) << "no kernel uses N";
  EXPECT_EQ(json["arguments"][0]["shape"], Json({"PROBLEM_N + 6"}));
  EXPECT_EQ(json["kernels"][0]["grid"], Json({"PROBLEM_N / TILE"}));
}

TEST(DraftSpace, MakesNoSizeOfAMacroThatIsMadeOfOthers) {
  const Drafted draft(R"(
#define ROWS 512
#define COLUMNS 256
#define ALL (ROWS * COLUMNS)
#define THREADS 128
#define IN_FLIGHT (8 * THREADS)
__global__ void clear(float* out, float* state) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = state[threadIdx.x];
}
int main() {
  float *out, *state;
  cudaMalloc(&out, ALL * sizeof(float));
  cudaMalloc(&state, IN_FLIGHT * sizeof(float));
  clear<<<ALL / THREADS, THREADS>>>(out, state);
})");
  EXPECT_EQ(draft.json()["problems"][0].dump(), R"({"ROWS":512,"COLUMNS":256})");
}

TEST(DraftSpace, CalculatesWhatTheHostsShortFunctionsReturn) {
  const Json json = Drafted(R"cu(
__global__ void ones(float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 1; }
inline int blocks_for(const int n, int each) { return n % each == 0 ? n / each : n / each + 1; }
int main(int argc, char** argv) {
  const int n = atoi(argv[1]);
  size_t work[2]; work[0] = 2 * n;
  float* d_out;
  cudaMalloc(&d_out, work[0] * sizeof(float));
  dim3 block(64);
  ones<<<blocks_for(n, block.x), block>>>(d_out, n);
})cu")
                        .json();
  EXPECT_EQ(json["arguments"][0]["shape"], Json({"2 * N"}));
  EXPECT_EQ(json["kernels"][0]["grid"][0], "N % THREADS == 0 ? N / THREADS : N / THREADS + 1");
}

TEST(DraftSpace, KnowsBranchesThatNothingLeadsInto) {
  const Json json = Drafted(R"cu(
__global__ void ones(float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 1; }
int main() {
  int n = 1000;
  if (2 > 1) n = 500; else n = 7;
  if (3 == 4) n = 8;
  float* d_out; cudaMalloc(&d_out, n * sizeof(float));
  ones<<<(n + 63) / 64, 64>>>(d_out, n);
})cu")
                        .json();
  EXPECT_EQ(json["problems"][0], Json({{"N", 500}}));
}

TEST(DraftSpace, AsksAboutAPointerThatIsPassedWithAnOffset) {
  const Drafted draft(R"(
__global__ void blur(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i - 1] + in[i + 1];
}
void run(float* h, int n) {
  float *d_in, *d_out;
  cudaMalloc(&d_in, (n + 2) * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  blur<<<(n + 255) / 256, 256>>>(d_in + 1, d_out, n);
})");
  const Json arguments = draft.json()["arguments"];
  EXPECT_THAT(arguments[0]["shape"][0].get<std::string>(),
              AllOf(HasSubstr("TODO: N + 2 elements"), HasSubstr("passes d_in + 1")));
  EXPECT_EQ(arguments[1]["shape"], Json({"N"}));
}

TEST(DraftSpace, KnowsOffsetsOfVariablesAndValuesOfRangesOfLists) {
  const Json json = Drafted(R"(
__global__ void twice(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
void run(float* both, const float* in, int n, int threads) {
  float* second = both + n;
  twice<<<(n + threads - 1) / threads, threads>>>(second, in, n);
}
int main() {
  float *d_both, *d_in; int n = 4096;
  cudaMalloc(&d_both, 2 * n * sizeof(float));
  cudaMalloc(&d_in, n * sizeof(float));
  int sizes[] = {64, 128, 512};
  for (int size : sizes) run(d_both, d_in, n, size);
})")
                        .json();
  EXPECT_THAT(json["arguments"][0]["shape"][0].get<std::string>(),
              HasSubstr("passes both + n, but a space cannot pass an offset"));
  EXPECT_EQ(json["kernels"][0]["parameters"]["THREADS"], Json({64, 128, 512}));
}

TEST(DraftSpace, KeepsAnArgumentApartFromAConstantOfItsName) {
  const Drafted draft(R"(
const int N = 1000;
__global__ void fill(float* out, const int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = 1.0f;
}
int main() {
  float* d_out;
  cudaMalloc(&d_out, N * sizeof(float));
  fill<<<(N + 127) / 128, 128>>>(d_out, N);
})");
  EXPECT_THAT(draft.faults(), IsEmpty());
  EXPECT_EQ(draft.json()["problems"], Json({{{"PROBLEM_N", 1000}}}));
}

TEST(DraftSpace, ReadsConstantSwitchesAndTypesOfTemplates) {
  const Drafted draft(R"(
template <typename Index, const bool DOUBLE_BUFFER>
__global__ void gather(const Index n, const Index* rows, const float* in, float* out) {
  Index i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[rows[i]];
}
void run(int n) {
  int* d_rows;
  float *d_in, *d_out;
  cudaMalloc(&d_rows, n * sizeof(int));
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  const bool DOUBLE_BUFFER = true;
  gather<int, DOUBLE_BUFFER><<<(n + 255) / 256, 256>>>(n, d_rows, d_in, d_out);
})");
  const Json json = draft.json();
  EXPECT_EQ(json["kernels"][0]["parameters"]["DOUBLE_BUFFER"], Json({false, true}));
  EXPECT_EQ(json["kernels"][0]["default"]["DOUBLE_BUFFER"], true);
  EXPECT_EQ(json["arguments"][1]["type"], "Index");
  EXPECT_EQ(json["arguments"][1]["init"], "uniform(0, N - 1)");
}

TEST(DraftSpace, BeginsWhatAtomicFunctionsAddToWithZeros) {
  const Drafted drafted(
      "__global__ void k(int* bins, const int* x, int n) { atomicAdd(&bins[x[0]], 1); }\n");
  EXPECT_EQ(drafted.json()["arguments"][0]["role"], "inout");
  EXPECT_EQ(drafted.json()["arguments"][0]["init"], "zero");
}

/// Returns the definition that is proposed for a kernel; empty if there is none.
std::string proposed(const std::string& source) {
  const Json verify = Drafted(source).json()["verify"];
  if (!verify.contains("definition")) return "";
  EXPECT_EQ(verify["definition_is_a_guess"], true);
  return verify["definition"];
}

TEST(DefinitionDraft, RoundsQuotientsOfSizesDown) {
  const auto halves = [](const std::string& value) {
    return proposed(
        "__global__ void k(float* y, const float* x, const int* z, int n, int m) {\n"
        "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (t < n) y[t] = " +
        value + ";\n}\n");
  };
  EXPECT_EQ(halves("x[t] * (n / 2)"), "y[i] = x[i] * (floor(N / 2))");
  EXPECT_EQ(halves("(n + m - 1) / m + x[t]"), "y[i] = floor((N + M - 1) / M) + x[i]");
  EXPECT_EQ(halves("x[t] + n / m / 2"), "y[i] = x[i] + floor(floor(N / M) / 2)");
  EXPECT_EQ(halves("x[t] + n % m / 2"), "");
  EXPECT_EQ(halves("x[t] / n / 2"), "y[i] = x[i] / N / 2");
  EXPECT_EQ(halves("x[t] / 2"), "y[i] = x[i] / 2");
  EXPECT_EQ(halves("x[t] + z[t] / 2"), "") << "C++ does not round negative numbers down";
}

TEST(DefinitionDraft, IsReadWhereATypeOfATemplateIsCalled) {
  EXPECT_EQ(proposed("template <typename T> __global__ void k(T* y, const T* x, int n) {\n"
                     "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
                     "  if (t < n) y[t] = T(0.5) * x[t] + T(n);\n}\n"),
            "y[i] = 0.5 * x[i] + N");
}

TEST(DefinitionDraft, IsReadWhereAThreadStoresSeveralElements) {
  const auto row = [](const std::string& before, const std::string& turn) {
    return proposed(
        "__global__ void k(float* c, const float* a, int h, int w) {\n"
        "  int y = blockIdx.x * blockDim.x + threadIdx.x;\n" +
        before + "  if (y < h) for (int x = 0; x < w; x++) {" + turn + "}\n}\n");
  };
  EXPECT_EQ(row("", "c[y * w + x] = 2 * a[y * w + x];"), "c[i] = 2 * a[(i / W) * W + (i % W)]");
  EXPECT_EQ(row("", "int at = y * w + x; float s = 0; s += a[at]; c[at] = s;"),
            "c[i] = a[((i / W) * W + (i % W))]");
  EXPECT_EQ(row("float s = 0;", "s += a[y * w + x]; c[y * w + x] = s;"), "") << "of all turns";
  EXPECT_EQ(row("", "c[y * w + x] = c[y * w + x - 1] + a[x];"), "") << "of the turn before";
  EXPECT_EQ(row("", "c[(int)a[x]] = 1;"), "") << "anywhere";
  EXPECT_EQ(row("", "if (x > 0) c[y * w + x] = 1;"),
            "c[i] = (floor(i / W) < H) && ((i % W) < W) && ((i % W) > 0) ? 1 : c[i]");
}

TEST(DefinitionDraft, IsReadInLoopsWhoseStepIsTheGrid) {
  const auto strided = [](const std::string& loop) {
    return proposed(
        "__global__ void k(float* c, const float* a, int n) {\n"
        "  int i = threadIdx.x + blockIdx.x * blockDim.x; float s = 0;\n"
        "  const int all = gridDim.x * blockDim.x;\n" +
        loop + "\n}\n");
  };
  const std::string twice = "c[i] = 2 * a[i]";
  EXPECT_EQ(strided("while (i < n) { c[i] = 2 * a[i]; i += all; }"), twice);
  EXPECT_EQ(strided("for (; i < n; i = i + all) c[i] = 2 * a[i];"), twice);
  EXPECT_EQ(strided("for (int k = i; k < n; k += blockDim.x * gridDim.x) c[k] = 2 * a[k];"), twice);
  EXPECT_EQ(strided("while (i < n) { i += all; c[i] = 2 * a[i]; }"), "");
  EXPECT_EQ(strided("while (i < n) { s += a[i]; c[i] = s; i += all; }"), "") << "of all turns";
}

TEST(DefinitionDraft, IsReadInSimpleKernels) {
  EXPECT_EQ(proposed("__global__ void k(float* y, const float* x, float a, int n) {\n"
                     "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
                     "  if (t < n) y[t] = a * x[t] + y[t] / 2.0f;\n}\n"),
            "y[i] = (i < N) ? a * x[i] + y[i] / 2.0 : y[i]");
  EXPECT_EQ(proposed("__global__ void k(float* c, const float* a, const float* b, int n, int m) {\n"
                     "  int row = threadIdx.y + blockIdx.y * blockDim.y;\n"
                     "  int col = threadIdx.x + blockIdx.x * blockDim.x;\n"
                     "  if (row >= n || col >= n) return;\n"
                     "  float sum = 0.0f;\n"
                     "  for (int k = 0; k < m; ++k) { sum += a[row * m + k] * b[k * n + col]; }\n"
                     "  c[row * n + col] = sum;\n}\n"),
            "c[i] = sum(k_0 < M, (a[(i / N) * M + k_0] * b[k_0 * N + (i % N)]))");
}

TEST(DefinitionDraft, KeepsWhatAStencilLeaves) {
  EXPECT_EQ(proposed("__global__ void k(float* out, const float* in, int n) {\n"
                     "  const int t = blockIdx.x * 128 + threadIdx.x;\n"
                     "  if (t > 0 && t < n - 1) { out[t] = fabsf(in[t - 1]) - in[t + 1]; }\n}\n"),
            "out[i] = (i > 0 && i < N - 1) ? abs(in[i - 1]) - in[i + 1] : out[i]");
}

TEST(DefinitionDraft, IsNoneWhereTheKernelIsNotSimple) {
  for (const std::string body :
       {"__shared__ float s[32]; s[threadIdx.x] = x[0]; y[t] = s[0];", "y[t] = t / 2;",
        "if (t < n) y[t] = 1; else y[t] = 2;", "y[t] = x[t]; y[t + 1] = x[t];",
        "float s = 1; for (int k = 0; k < n; ++k) { s += x[k] * s; } y[t] = s;",
        "while (t < n) { y[t] = 1; }", "if (t < n) y[t] = 1; y[t] += 2;",
        "float s; for (;;) s += 1; y[t] = s;", "y[t] = f(x[t]);",
        "for (int k = 0; k < n; ++k) { y[k] = x[t]; }", "x += 2; y[t] = *x;"}) {
    EXPECT_EQ(proposed("__global__ void k(float* y, const float* x, int n) {\n"
                       "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                       body + "\n}\n"),
              "")
        << body;
  }
}

TEST(DefinitionDraft, ComesToAnEndWithHostileText) {
  std::string braces(20000, '{');
  std::string indices;
  for (int i = 0; i < 500; ++i) indices += "x[";
  std::string assignments;
  for (int i = 0; i < 2000; ++i) assignments += "t = ";
  for (const std::string& body : {braces, indices, assignments}) {
    EXPECT_EQ(proposed("__global__ void k(float* y, const int* x) { int t = 0; " + body), "");
  }
}

TEST(DraftSpace, PassesWhatAFunctionGivesByAddress) {
  const Drafted drafted(
      "__global__ void k(float* p, float alpha, int sum) { p[threadIdx.x] = alpha + sum; }\n"
      "void init(float* a, int n) { *a = 32.5f; }\n"
      "int main() { float alpha; init(&alpha, 3); k<<<1, 64>>>(p, alpha, 7); }\n");
  const Json arguments = drafted.json()["arguments"];
  EXPECT_EQ(arguments[1]["value"], 32.5);
  EXPECT_EQ(arguments[2]["name"], "sum_");
}

TEST(DraftSpace, LaunchesOneThreadWhereTheKernelTellsNoneApart) {
  const Drafted drafted(
      "__global__ void k(float* p, int n) { p[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n"
      "void run(float* p, int n) { dim3 block(32, 8); k<<<n / 32, block>>>(p, n); }\n");
  EXPECT_EQ(drafted.json()["kernels"][0]["block"].dump(), R"(["THREADS_X",1])");
}

TEST(HostFunction, IsFoundByItsNameAndTakesTheKernelsArguments) {
  const std::string source =
      "void add(float* c, float* a, int n) {}\n"
      "void add_gpu_ref_std(float* c, float* a, int n) { std::fill(c, c + n, 0); }\n"
      "void add_cpu(int length, float* in, float* out) { out[0] = in[length]; }\n"
      "__global__ void k(const float* d_in, float* d_out, int n) { d_out[n] = d_in[0]; }\n";
  const KernelFile file = read_kernel_file(FlatSource(source));
  const auto found = host_function_for(source, file.kernels.front());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "add_cpu");
  EXPECT_THAT(found->source, HasSubstr("__host__ __device__ void add_cpu("));
  EXPECT_THAT(
      found->source,
      HasSubstr("__global__ void add_cpu_by_one_thread(const float* d_in, float* d_out, int "
                "n) {\n  add_cpu(n, (float*)d_in, (float*)d_out);\n}"));
}

TEST(DraftSpace, ComparesWithTheNaiveKernelThatIsLaunchedWithTheSame) {
  const Json json = Drafted(R"cu(
__global__ void tiled(float* c, const float* a, int n) { c[threadIdx.x] = a[threadIdx.x] + n; }
__global__ void naive_add(float* out, const float* in, int count) { out[threadIdx.x] = in[threadIdx.x] + count; }
__global__ void other(float* out, const float* in, int shift) { out[threadIdx.x] = in[threadIdx.x] * shift; }
int main() {
  int n = 64;
  tiled<<<1, 64>>>(d_c, d_a, n);
  cudaDeviceSynchronize();
  naive_add<<<1, 64>>>(d_expected, d_a, n);
  cudaMemcpy(h, d_c, 256, cudaMemcpyDeviceToHost);
  other<<<1, 64>>>(d_c, d_b, 3);
}
)cu")
                        .json();
  ASSERT_THAT(json["kernels"], SizeIs(2));
  EXPECT_EQ(json["kernels"][1]["entry"], "naive_add");
  EXPECT_EQ(json["verify"]["reference"], "naive_add");
}

TEST(HostFunction, NeedsNoNameWhereItComputesFromAllThatTheKernelReads) {
  const std::string kernel =
      "__global__ void k(const float* in, float* out, int n) { out[n] = in[0]; }\n";
  const auto found = [&](const std::string& function) {
    const std::string source = function + kernel;
    const auto host =
        host_function_for(source, read_kernel_file(FlatSource(source)).kernels.front());
    return host ? host->name : "";
  };
  const std::string body =
      "(const float* a, float* b, int n) { for (int i = 0; i < n; ++i) b[i] = a[i]; }\n";
  EXPECT_EQ(found("static void twice" + body), "twice");
  EXPECT_EQ(found("void initData" + body), "");
  EXPECT_EQ(found("void twice(const float* a, float* b, int n) { for (int i = 0; i < n; ++i) if "
                  "(b[i] != a[i]) n = 0; }\n"),
            "")
      << "it only compares";
  EXPECT_EQ(found("void twice(float* b, int n) { for (int i = 0; i < n; ++i) b[i] = 1; }\n"), "");
  EXPECT_EQ(found("void twiceOnHost(const float* a, float* b, int n) { b[n] = a[0]; }\n"),
            "twiceOnHost");
}

TEST(HostFunction, AnswersForASmallProblemThatTilesFit) {
  const std::string source = R"cu(
void twice_cpu(float* out, const float* in, int n) { for (int i = 0; i < n; ++i) out[i] = 2 * in[i]; }
template <typename T, int TILE> __global__ void k(T* out, const T* in, int n, int m) {
  out[blockIdx.x * TILE + threadIdx.x] = 2 * in[blockIdx.x * TILE + threadIdx.x] + 0 * m;
}
void run(float* out, const float* in) { k<float, 128><<<4096 / 128, 128>>>(out, in, 4096, 512); }
)cu";
  KernelFile file = read_kernel_file(FlatSource(source));
  add_host(read_host(FlatSource(source)), file);
  DraftRequest request = {
      .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}};
  const auto found = host_function_for(source, as_launched(file, request));
  ASSERT_TRUE(found);
  request.witness = found;
  const FlatSource both(found->source);
  KernelFile with = read_kernel_file(both);
  add_host(read_host(both), with);
  const Json json = parse_json(draft_space(both, with, request).text, "mine.json");
  EXPECT_EQ(json["verify"]["also_reference"], "twice_cpu_by_one_thread");
  EXPECT_EQ(json["verify"]["also"].dump(), R"([{"T":"float","N":512,"M":512}])");
  EXPECT_EQ(json["kernels"][1]["arguments"].dump(), R"(["out","in","n"])");
}

TEST(HostFunction, MayBeATemplateAndRepeatAndLeaveArgumentsOut) {
  const std::string source =
      "template <class T, class U>\nvoid smoothCPUReference(int repeat, T* out, const U* in, int "
      "n) {}\n"
      "__global__ void k(const float* in, double* out, int n, int step) { out[n] = in[0] * step; "
      "}\n";
  const auto found =
      host_function_for(source, read_kernel_file(FlatSource(source)).kernels.front());
  ASSERT_TRUE(found);
  EXPECT_THAT(found->arguments, ElementsAre("in", "out", "n"));
  EXPECT_THAT(found->source, HasSubstr("template <class T, class U>\n__host__ __device__ void"));
  EXPECT_THAT(found->source, HasSubstr("_by_one_thread(const float* in, double* out, int n) {\n"
                                       "  smoothCPUReference(1, (double*)out, (float*)in, n);"));
  const std::string twice =
      "template <class T> void f_cpu(T* a, T* b, int n) {}\n"
      "__global__ void k(const float* in, double* out, int n) { out[n] = in[0]; }\n";
  EXPECT_FALSE(host_function_for(twice, read_kernel_file(FlatSource(twice)).kernels.front()))
      << "T would be two types";
}

TEST(HostFunction, MayCallOthersAndWhatTheDeviceHasOfTheLibrary) {
  const std::string kernel =
      "__global__ void k(const float* in, float* out, int n) { out[n] = in[0]; }\n";
  const std::string limit = "static float limit(float x) { return std::min(x, 1.0f); }\n";
  const std::string gold =
      "void gold(const float* in, float* out, int n) {\n"
      "  for (int i = 0; i < n; ++i) out[i] = std :: sqrt(limit(in[i]));\n}\n";
  const auto found = [&](const std::string& source) {
    return host_function_for(source, read_kernel_file(FlatSource(source)).kernels.front());
  };
  const auto both = found(limit + gold + kernel);
  ASSERT_TRUE(both);
  EXPECT_THAT(both->source, HasSubstr("__host__ __device__ static float limit(float x) { return "
                                      "min(x, 1.0f); }\n__host__ __device__ void gold("));
  EXPECT_THAT(both->source, HasSubstr("out[i] = sqrt(limit(in[i]));"));
  const auto in_c = found(limit + "extern \"C\" " + gold + kernel);
  ASSERT_TRUE(in_c);
  EXPECT_THAT(in_c->source, HasSubstr("extern \"C\" __host__ __device__ void gold("));
  EXPECT_TRUE(
      found("__host__ void gold(const float* in, float* out, long n) {\n"
            "  assert(n > 0);\n  memset(out, 0, n * sizeof(float));\n"
            "  for (int i = 0; i < n; ++i) out[i] = in[i];\n}\n" +
            kernel))
      << "an int becomes a long";
  EXPECT_FALSE(found("void gold(const float* in, float* out, float n) {}\n" + kernel));
  EXPECT_FALSE(found(gold + kernel + limit)) << "the device would not know it there";
  EXPECT_FALSE(found("float limit(double x) { return x; }\n" + limit + gold + kernel));
  EXPECT_FALSE(found("float limit(float x) { printf(\"\"); return x; }\n" + gold + kernel));
  EXPECT_FALSE(found("float limit(float x) { int blockIdx = 1; return x; }\n" + gold + kernel));
}

TEST(HostFunction, IsNoneWhereItDoesNotGetTheResults) {
  const auto none = [](const std::string& function) {
    const std::string source =
        function + "__global__ void k(const float* in, float* out, int n) { out[n] = in[0]; }\n";
    return !host_function_for(source, read_kernel_file(FlatSource(source)).kernels.front());
  };
  // Parameters of one type match in order.
  EXPECT_FALSE(none("void f_cpu(float* x, float* y, int m) {}\n"));
  EXPECT_TRUE(none("void f_cpu(const float* in, int n) {}\n"));
  EXPECT_TRUE(none("void f_cpu(double* in, float* out, int n) {}\n"));
  EXPECT_TRUE(none("void f_cpu(float* in, float* out, int n) { realloc(in, n); }\n"));
  EXPECT_TRUE(none("void baseline(float* in, float* out, int n) { k<<<1, n>>>(in, out, n); }\n"));
  EXPECT_TRUE(none("template <class T> void f_cpu(float* in, float* out, int n) {}\n"));
  EXPECT_TRUE(none("float sum_cpu(float* in, float* out, int n) { return out[0] + out[n]; }\n"))
      << "it only reads the results";
}

TEST(HostFunction, IsNoneWhereABraceBehindTheKernelDoesNotClose) {
  const std::string source =
      "void f_cpu(const float* in, float* out, int n) {}\n"
      "__global__ void k(const float* in, float* out, int n) { out[n] = in[0]; }\n"
      "int main() { if (1) {\n}\n";
  const KernelFile file = read_kernel_file(FlatSource(source));
  ASSERT_THAT(file.kernels, SizeIs(1));
  EXPECT_FALSE(host_function_for(source, file.kernels.front()));
}

/// Returns the verification of a product of vectors whose host ends so.
Json verified(const std::string& host, const std::string& function = "") {
  return Drafted(R"cu(
#include <cassert>
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float kept[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = a[i];
  if (i < n) c[i] = kept[threadIdx.x] * b[i];
}
)cu" + function + R"cu(
int main() {
  int n = 4096;
  float *d_a, *d_b, *d_c, *h_a, *h_b, *h_c, *expected;
  h_a = (float*)malloc(n * sizeof(float));
  expected = (float*)malloc(n * sizeof(float));
  cudaMalloc(&d_a, n * sizeof(float));
  cudaMalloc(&d_b, n * sizeof(float));
  cudaMalloc(&d_c, n * sizeof(float));
  cudaMemcpy(d_a, h_a, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, h_b, n * sizeof(float), cudaMemcpyHostToDevice);
  product<<<n / 256, 256>>>(d_a, d_b, d_c, n);
  cudaMemcpy(h_c, d_c, n * sizeof(float), cudaMemcpyDeviceToHost);
)cu" + host + "}\n")
      .json()["verify"];
}

TEST(DefinitionDraft, IsWhatTheHostComparesWith) {
  for (const std::string check :
       {"for (int i = 0; i < n; ++i) if (h_c[i] != h_a[i] * h_b[i]) return 1;",
        "for (int i = 0; i < n; ++i) assert(h_c[i] == h_a[i] * h_b[i]);",
        "int i; for (i = 0; i < n; i++) { float diff = h_a[i] * h_b[i] - h_c[i]; if (diff > 1) "
        "exit(1); }",
        "for (int i = 0; i < n; ++i) { float x = h_a[i] * h_b[i];"
        " if (std::fabs(x - h_c[i]) / x > 1e-5) exit(1); }"}) {
    const Json verify = verified(check);
    EXPECT_EQ(verify.value("definition", ""), "c[i] = a[i] * b[i]") << check;
    EXPECT_FALSE(verify.contains("definition_is_a_guess"));
  }
}

TEST(DefinitionDraft, IsWhatTheHostComputesInAnotherArray) {
  const std::string fills = "for (int i = 0; i < n; ++i) expected[i] = h_a[i] * h_b[i];\n";
  for (const std::string compares :
       {"for (int i = 0; i < n; ++i) if (expected[i] != h_c[i]) return 1;",
        "if (memcmp(expected, h_c, n * sizeof(float)) != 0) return 1;",
        "if (!same(h_c, expected, n)) return 1;"}) {
    const Json verify = verified(fills + compares, R"cu(
bool same(const float* x, const float* y, int count) {
  for (int k = 0; k < count; ++k) if (fabs(x[k] - y[k]) > 1e-5) return false;
  return true;
}
)cu");
    EXPECT_EQ(verify.value("definition", ""), "c[i] = a[i] * b[i]") << compares;
    EXPECT_THAT(verify.value("description", ""), Not(HasSubstr("Worth adding: a definition")));
  }
  const Json alone = verified(fills);
  EXPECT_FALSE(alone.contains("definition")) << "it is compared with nothing";
  EXPECT_THAT(alone.value("description", ""), HasSubstr("Worth adding: a definition"));
}

TEST(DefinitionDraft, IsReadInLoopsThatEndAtTheirBoundAndWithFunctionsOfTheLibrary) {
  const Json verify = verified(
      "for (int i = 0; i != n; ++i) {\n"
      "  float sum = 0; for (int k = -1; k <= 1; ++k) sum += h_a[std::min(std::max(i + k, 0), n - "
      "1)];\n  expected[i] = sum;\n}\n"
      "for (int i = 0; i < n; ++i) if (std::fabs(expected[i] - h_c[i]) > 1e-4) return 1;");
  EXPECT_EQ(verify.value("definition", ""),
            "c[i] = sum(k_0 < 1 + 1 - (-1), (a[min(max(i + ((k_0 + -1)), 0), N - 1)]))");
  const Json other = verified(
      "for (int i = 2; i != n; ++i) expected[i] = h_a[i];\n"
      "for (int i = 0; i < n; ++i) if (expected[i] != h_c[i]) return 1;");
  EXPECT_FALSE(other.contains("definition")) << "it may begin behind its bound";
}

TEST(DefinitionDraft, IsNoneWhereALoopOfTheHostGoesOnFromItsTurnBefore) {
  const auto definition = [](const std::string& begin) {
    return verified("float before = 0; for (int i = 0; i < n; ++i) {\n" + begin +
                    "  float y = h_a[i] + 2 * before; expected[i] = y; before = y;\n}\n"
                    "for (int i = 0; i < n; ++i) if (expected[i] != h_c[i]) return 1;")
        .value("definition", "");
  };
  EXPECT_EQ(definition(""), "");
  EXPECT_EQ(definition("  before = h_b[i];\n"), "c[i] = a[i] + 2 * (b[i])");
}

TEST(DraftSpace, KnowsTheSizesOfVectorsThatAreDeclaredTogether) {
  const auto arguments = [](const std::string& sizes) {
    return Drafted(R"cu(
#include <vector>
__global__ void k(const float* a, float* r, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) r[i] = a[i] + 1;
}
int main() {
  const int n = 4096; )cu" +
                   sizes + R"cu(
  float *d_a = nullptr, *d_r = nullptr;
  cudaMalloc(&d_a, a.size() * sizeof(float));
  cudaMalloc(&d_r, r.size() * sizeof(float));
  k<<<n / 256, 256>>>(d_a, d_r, n);
}
)cu")
        .json()["arguments"];
  };
  const Json known = arguments("std::vector<float> a(n), r(n, 0.0f), expected(n);");
  EXPECT_EQ(known[0]["shape"], Json::array({"N"}));
  EXPECT_EQ(known[1]["shape"], Json::array({"N"}));
  const Json unknown = arguments("std::vector<float> a(n); auto r = results();")[1];
  EXPECT_EQ(unknown.value("role", ""), "output") << "it is allocated, so it is not null";
  EXPECT_THAT(unknown["shape"][0].get<std::string>(), HasSubstr("TODO"));
}

/// Returns a draft for a host with a class that holds device memory, whose constructor and main()
/// are these.
Json with_buffers(const std::string& constructor, const std::string& begin) {
  return Drafted(R"cu(
#include <cstdlib>
#include <vector>
template <class T> struct Buffer {
  T* ptr = nullptr; size_t size = 0;
)cu" + constructor +
                 R"cu(
  void allocate(size_t count) { cudaMalloc((void**)&ptr, count * sizeof(T)); size = count; }
  void load(const T* host) { cudaMemcpy(ptr, host, size * sizeof(T), cudaMemcpyHostToDevice); }
  void save(T* host) const { cudaMemcpy(host, ptr, size * sizeof(T), cudaMemcpyDeviceToHost); }
};
int option(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i < argc; ++i) if (argv[i][0] == name[0]) return std::atoi(argv[i] + 1);
  return otherwise;
}
__global__ void k(const float* a, const float* b, float* c, int n, int m) {
  __shared__ float kept[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = a[i];
  if (i < n) c[i] = kept[threadIdx.x] * b[i % m];
}
int main(int argc, char** argv) {
  int n = option(argc, argv, "n", 4096), m = 64;
  std::vector<float> h_a(n), h_b(m), h_c(n), expected(n);
  Buffer<float> a(n), b(m), c(n);
)cu" + begin + R"cu(
  k<<<n / 256, 256>>>(a.ptr, b.ptr, c.ptr, n, m);
  c.save(h_c.data());
  for (int i = 0; i < n; ++i) expected[i] = h_a[i] * h_b[i % m];
  for (int i = 0; i < n; ++i) if (expected[i] != h_c[i]) return 1;
}
)cu")
      .json();
}

TEST(DraftSpace, FollowsClassesThatHoldDeviceMemory) {
  const std::string loads = "a.load(h_a.data()); b.load(h_b.data());";
  const Json space = with_buffers("explicit Buffer(size_t n) { allocate(n); }", loads);
  EXPECT_EQ(space["problems"], Json::parse(R"([{"N": 4096, "M": 64}])"))
      << "the option has a default, and the class's own size is no problem's";
  EXPECT_EQ(space["arguments"][0]["shape"], Json::array({"N"}));
  EXPECT_EQ(space["arguments"][1]["shape"], Json::array({"M"}));
  EXPECT_EQ(space["verify"].value("definition", ""), "c[i] = a[i] * b[i % M]");
  const Json swapped = with_buffers("explicit Buffer(size_t n) { allocate(n); }",
                                    "a.load(h_b.data()); b.load(h_a.data());");
  EXPECT_NE(swapped["verify"].value("definition", ""), "c[i] = a[i] * b[i % M]");
}

TEST(DraftSpace, TakesNoSizeFromAConstructorThatPassesOnAnother) {
  const Json space = with_buffers("explicit Buffer(size_t n) { allocate(2 * n); }", "");
  EXPECT_NE(space["arguments"][1]["shape"], Json::array({"M"}));
}

TEST(DefinitionDraft, IsWhatAFunctionAddsUpAndCompares) {
  const Json verify = verified("return check(h_c, h_a, h_b, n);", R"cu(
int check(float *out, float *x, float *y, int size) {
  for (int row = 0; row < size; row++) {
    float sum = 0.f;
    for (int k = 0; k < 3; ++k) {
      if (row + k < size) { sum += x[row + k] * y[k]; }
    }
    if (std::fabs(sum - out[row]) / std::fabs(sum) > 1e-5f) return 1;
  }
  return 0;
}
)cu");
  EXPECT_EQ(verify.value("definition", ""),
            "c[i] = sum(k_0 < 3, ((i + k_0 < N) ? (a[i + k_0] * b[k_0]) : 0))");
}

TEST(DefinitionDraft, IsNoneWhereTheHostAsksWhetherTheInputIsUnchanged) {
  const std::string source = R"(
__global__ void scan(const float* input, float* output, int n) {
  __shared__ float line[256];
  line[threadIdx.x] = input[threadIdx.x];
  for (int step = 1; step < 256; step *= 2) { if (threadIdx.x >= step) line[threadIdx.x] += line[threadIdx.x - step]; }
  output[threadIdx.x] = line[threadIdx.x];
}
int main() {
  int n = 256;
  float *d_in, *d_out, *in, *out;
  cudaMalloc(&d_in, n * 4);
  cudaMalloc(&d_out, n * 4);
  cudaMemcpy(d_in, in, n * 4, cudaMemcpyHostToDevice);
  scan<<<1, 256>>>(d_in, d_out, n);
  cudaMemcpy(out, d_out, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) if (out[i] != in[i]) return 0;
}
)";
  EXPECT_FALSE(Drafted(source).json()["verify"].contains("definition"));
}

TEST(DefinitionDraft, IsNoneWhereTheHostSaysItInPartOnly) {
  for (const std::string check :
       {"for (int i = 1; i < n; ++i) if (h_c[i] != h_a[i] * h_b[i]) return 1;",
        "for (int i = 0; i < n; ++i) if (h_c[i] != 4.0f) return 1;",
        "for (int i = 0; i < n; ++i) if (h_c[i] != unknown(h_a[i])) return 1;",
        "for (int i = 0; i < n; ++i) if (h_a[i] > 0) expected[i] = h_a[i];"
        "for (int i = 0; i < n; ++i) if (expected[i] != h_c[i]) return 1;",
        "for (int i = 0; i < n; i += 2) if (h_c[i] != h_a[i] * h_b[i]) return 1;"}) {
    EXPECT_FALSE(verified(check).contains("definition")) << check;
  }
}

TEST(DefinitionDraft, IsOfTheKernelWhereItGivesWhatTheHostExpectsOfItsData) {
  const auto drafted = [](const std::string& expected, const std::string& body) {
    return Drafted(
               "__global__ void k(float* y, const float* x, int n) {\n"
               "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n" +
               body + R"cu(}
int main() {
  int n = 1024;
  float *x, *y;
  cudaMallocManaged(&x, n * 4);
  cudaMallocManaged(&y, n * 4);
  for (int i = 0; i < n; ++i) { x[i] = i; }
  k<<<n / 256, 256>>>(y, x, n);
  for (int i = 0; i < n; ++i) if (y[i] != )cu" +
               expected + ") return 1;\n}\n")
        .json();
  };
  const std::string plain = "if (t < n) y[t] = 2 * x[t];\n";
  const Json own = drafted("2 * i", plain)["verify"];
  EXPECT_EQ(own["definition"], "y[i] = 2 * x[i]");
  EXPECT_FALSE(own.contains("definition_is_a_guess"));
  EXPECT_EQ(drafted("3 * i", plain)["verify"]["definition_is_a_guess"], true);
  const Json other =
      drafted("2 * i", "__shared__ float s[256]; s[0] = x[t]; y[t] = 2 * s[threadIdx.x];\n");
  EXPECT_EQ(other["verify"]["definition"], "y[i] = 2 * i");
  EXPECT_EQ(other["arguments"][1]["init"], "x[i] = i");
}

TEST(DefinitionDraft, OfASumIsWhatTheHostAddsUp) {
  const Json json = Drafted(R"cu(
__global__ void sum(const float* in, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(out, in[i]);
}
void host() {
  int n = 65536;
  float *d_in, *d_out, *h_in, result;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, sizeof(float));
  cudaMemcpy(d_in, h_in, n * sizeof(float), cudaMemcpyHostToDevice);
  sum<<<1, 256>>>(d_in, d_out, n);
  cudaMemcpy(&result, d_out, sizeof(float), cudaMemcpyDeviceToHost);
  float expected = 0.0f;
  for (int i = 0; i < n; ++i) expected += h_in[i];
  printf("%d", fabs(result - expected) < 1);
}
)cu")
                        .json();
  EXPECT_EQ(json["verify"]["definition"], "out[i] = sum(i_0 < N, (in[i_0]))");
  EXPECT_EQ(json["arguments"][0]["init"], "uniform(0, 1)");
}

/// Returns the definition for a kernel that doubles in four steps, which `check` holds against the
/// input by `h_in` and `h_out`.
Json held_against(const std::string& functions, const std::string& host, const std::string& check) {
  return Drafted("#include <memory>\n" + functions + R"cu(
__global__ void twice(const float* in, float* out, int n) {
  for (int k = 0; k < 4; ++k) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4 + k;
    if (i < n) { float x = in[i]; __syncwarp(); out[i] = x + x; }
  }
}
void host(int n) {
  float *d_in, *d_out;
)cu" + host + R"cu(
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMemcpy(d_in, &h_in[0], n * sizeof(float), cudaMemcpyHostToDevice);
  twice<<<n / 1024, 256>>>(d_in, d_out, n);
  cudaMemcpy(&h_out[0], d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
)cu" + check + "\n}\n")
      .json()["verify"]["definition"];
}

TEST(DefinitionDraft, IsADifferenceThatTheHostHoldsAgainstATolerance) {
  const auto definition = [](const std::string& condition) {
    return held_against("", "float *h_in, *h_out; const float eps = 0.001;",
                        "for (int i = 0; i < n; i++) if (" + condition + ") printf(\"wrong\");");
  };
  EXPECT_EQ(definition("h_in[i] + h_in[i] - h_out[i] > 1e-5"), "out[i] = in[i] + in[i]");
  EXPECT_EQ(definition("h_out[i] - 2 * h_in[i] >= eps"), "out[i] = 2 * in[i]");
  EXPECT_EQ(definition("h_out[i] - 2 * h_in[i] > 0"), Json()) << "any difference of one sign";
  EXPECT_EQ(definition("h_out[i] - 2 * h_in[i] > 1"), Json());
  EXPECT_EQ(definition("h_out[i] - 2 * h_in[i] < 1e-5"), Json());
}

TEST(DefinitionDraft, FollowsArraysOfUniquePointers) {
  EXPECT_EQ(held_against("bool same(float* a, float* b, int n) {\n"
                         "  for (int i = 0; i < n; i++) if (a[i] != b[i]) return false;\n"
                         "  return true;\n}\n",
                         "auto h_in = std::make_unique<float[]>(n);\n"
                         "auto h_out = std::make_unique<float[]>(n);\n"
                         "auto right = std::make_unique<float[]>(n);\n"
                         "for (int i = 0; i < n; i++) right[i] = 2 * h_in[i];",
                         "if (!same(h_out.get(), right.get(), n)) printf(\"wrong\");"),
            "out[i] = 2 * in[i]");
}

/// Returns the draft of a kernel that adds up by blocks, for a host that fills `in` and launches
/// between these texts.
Json sums_by_blocks(const std::string& functions, const std::string& before,
                    const std::string& behind) {
  return Drafted("#include <numeric>\n#include <algorithm>\n#include <vector>\n" + functions + R"cu(
#define THREADS 256
__global__ void sums(const int* in, int* out, int n) {
  __shared__ int kept[THREADS];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  kept[threadIdx.x] = sum;
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    __syncthreads();
    if (threadIdx.x < k) kept[threadIdx.x] += kept[threadIdx.x + k];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = kept[0];
}
int main() {
  const int n = 1 << 20, blocks = 640;
  int *d_in, *d_out;
  std::vector<int> in(n), unused(n);
  int* out = (int*)malloc(blocks * sizeof(int));
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, blocks * sizeof(int));
)cu" + before + R"cu(
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sums<<<blocks, THREADS>>>(d_in, d_out, n);
  cudaMemcpy(out, d_out, blocks * sizeof(int), cudaMemcpyDeviceToHost);
)cu" + behind + "\n}\n")
      .json();
}

/// Returns the verification of a kernel whose blocks of 256 threads each add up, for a host that
/// works a total out before it compares that of the results, by `compares`.
Json expected_total(const std::string& before, const std::string& compares,
                    const std::string& term = "in[i]") {
  return Drafted(
             "#include <vector>\n#include <numeric>\n__global__ void k(const int* in, int* out) {"
             "\n  __shared__ int s[256]; int t = threadIdx.x, i = blockIdx.x * 256 + t;\n"
             "  s[t] = " +
             term +
             ";\n  for (int k = 128; k > 0; k /= 2) { __syncthreads(); if (t < k) s[t] += s[t + "
             "k]; }\n  if (t == 0) out[blockIdx.x] = s[0];\n}\nint main() {\n"
             "  int n = 1 << 20; std::vector<int> ones(n, 1), r(n / 256); int *a, *b;\n"
             "  cudaMalloc(&a, n * 4); cudaMalloc(&b, n / 256 * 4);\n" +
             before +
             "  cudaMemcpy(a, ones.data(), n * 4, cudaMemcpyHostToDevice);\n"
             "  k<<<n / 256, 256>>>(a, b);\n"
             "  cudaMemcpy(r.data(), b, n / 256 * 4, cudaMemcpyDeviceToHost);\n"
             "  int all = 0; for (int i = 0; i < n / 256; ++i) all += r[i];\n  " +
             compares + "\n}\n")
      .json()["verify"];
}

TEST(DefinitionDraft, OfAKernelIsAGuessOfWhichTheHostMayExpectTheTotal) {
  const std::string sum = "int sum = std::accumulate(ones.begin(), ones.end(), 0);\n";
  for (const auto& [before, compares] :
       std::vector<std::pair<std::string, std::string>>{{sum, "if (all != sum) return 1;"},
                                                        {sum, "printf(\"%d %d\", sum, all);"},
                                                        {"", "if (all != n) return 1;"}}) {
    const Json verify = expected_total(before, compares);
    EXPECT_EQ(verify["definition"], "out[i] = sum(thread_0 < 256, in[(i * 256 + thread_0)])");
    EXPECT_TRUE(verify.contains("definition_is_a_guess")) << "many definitions have that total";
    EXPECT_THAT(verify["description"], HasSubstr("seems to compute; only its total is what"));
  }
  const Json squares =
      expected_total("int sum = std::inner_product(ones.begin(), ones.end(), ones.begin(), 0);\n",
                     "if (all != sum) return 1;", "in[i] * in[i]");
  EXPECT_THAT(squares["description"], HasSubstr("only its total"));
  const Json json = Drafted(R"cu(#include <vector>
__global__ void k(const int* in, int* out) {
  __shared__ int s[256]; int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  for (int k = blockDim.x / 2; k > 0; k /= 2) { __syncthreads(); if (t < k) s[t] += s[t + k]; }
  if (t == 0) out[blockIdx.x] = s[0];
}
int main() {
  int n = 1 << 16; std::vector<int> ones(n, 1), r(n); int *a, *b;
  cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);
  cudaMemcpy(a, ones.data(), n * 4, cudaMemcpyHostToDevice);
  k<<<n / 256, 256>>>(a, b);
  cudaMemcpy(r.data(), b, n * 4, cudaMemcpyDeviceToHost);
  int all = 0; for (int i = 0; i < n / 256; ++i) all += r[i];
  if (all != n) return 1;
}
)cu")
                        .json();
  EXPECT_THAT(json["verify"]["description"], HasSubstr("only its total"));
  EXPECT_EQ(json["arguments"][1]["compare"], "sum");
  for (const auto& [before, compares, term] : std::vector<std::array<std::string, 3>>{
           {"", "if (all == 0) return 1;", "in[i]"},
           {"", "if (all != n) return 1;", "in[i] + in[i]"},
           {"", "if (all != n / 2) return 1;", "in[i]"},
           {sum, "if (all != sum) return 1;", "in[i] * in[i]"}}) {
    const Json verify = expected_total(before, compares, term);
    EXPECT_TRUE(verify.contains("definition_is_a_guess")) << compares << term;
    EXPECT_THAT(verify["description"], Not(HasSubstr("only its total"))) << compares << term;
  }
}

TEST(DefinitionDraft, SharesOutATotalOfTheHost) {
  const std::string while_filling =
      "int right = 0;\n"
      "for (int i = 0; i < n; ++i) { int x = rand() % 9; in[i] = x; right += x; }\n";
  const std::string in_a_loop =
      "long right = 0, total = 0; for (int i = 0; i < blocks; ++i) total += out[i];\n"
      "for (int x : in) { right += x; }\n";
  const std::string returned =
      "int of(const int* x, int n) { int sum = 0; for (int i = 0; i < n; i++) sum = sum + x[i]; "
      "return sum; }\n";
  const std::string by_reference =
      "void add(const int* x, const int& n, int& sum) { for (int i = 0; i < n; i++) sum += x[i]; "
      "}\n";
  const std::string by_address =
      "void add(const int* x, int n, int* sum) { int s = 0; for (int i = 0; i < n; i++) s += x[i]; "
      "*sum = s; }\n";
  const std::string compares = "bool right(int a, int b) { return a == b; }\n";
  for (const auto& [functions, before, behind] : std::vector<std::array<std::string, 3>>{
           {by_reference, while_filling,
            "int total = 0; add(out, blocks, total); if (total != right) return 1;"},
           {"", "", in_a_loop + "return total == right;"},
           {"", "", in_a_loop + "printf(\"%ld %ld\", right, total);"},
           {"", "", in_a_loop + "printf(\"%ld\", right);\nprintf(\"%ld\", total);"},
           {returned, "", "if (fabs(of(in.data(), n) - of(out, blocks)) > 1e-5) return 1;"},
           {by_address, "int expected[1]; add(in.data(), n, expected);",
            "int total; add(out, blocks, &total); return total != expected[0];"},
           {compares, "int sum = std::accumulate(in.begin(), in.end(), 0);",
            "return right(std::reduce(out, out + blocks), sum);"},
           {"", "int sum = 0; std::for_each(in.begin(), in.end(), [&sum](int x) { sum += x; });",
            "int total = std::accumulate(out, out + blocks, 0); assert(total == sum);"}}) {
    const Json json = sums_by_blocks(functions, before, behind);
    EXPECT_EQ(json["arguments"][1]["compare"], "sum");
    const std::string definition = json["verify"].value("definition", "");
    EXPECT_EQ(std::regex_replace(definition, std::regex("[a-z]+_0"), "k"),
              "out[i] = sum(k < N * (i + 1) / BLOCKS - N * i / BLOCKS, in[N * i / BLOCKS + k])")
        << functions << before << behind;
    EXPECT_FALSE(json["verify"].contains("definition_is_a_guess"));
  }
}

/// Returns the verification of a histogram of 256 bins. `behind` is the host's, behind a loop that
/// begins with `counts`.
Json verified_histogram(const std::string& before, const std::string& counts,
                        const std::string& behind) {
  return Drafted(R"cu(#include <cstdlib>
#include <cstring>
#include <vector>
__global__ void k(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i]], 1);
}
int main() {
  int n = 1 << 20, *in, *bins, *data = (int*)malloc(n * 4), result[256];
  for (int i = 0; i < n; ++i) data[i] = rand() % 256;
)cu" + before + R"cu(
  cudaMalloc(&in, n * 4);
  cudaMalloc(&bins, 256 * 4);
  cudaMemset(bins, 0, 256 * 4);
  cudaMemcpy(in, data, n * 4, cudaMemcpyHostToDevice);
  k<<<(n + 255) / 256, 256>>>(in, bins, n);
  cudaMemcpy(result, bins, 256 * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) )cu" +
                 counts + "\n" + behind + "\n}\n")
      .json()["verify"];
}

TEST(DefinitionDraft, IsWhatTheHostCounts) {
  const std::string compares = "for (int i = 0; i < 256; ++i) if (right[i] != result[i]) return 1;";
  const std::string calloc = "int* right = (int*)calloc(256, 4);";
  const std::string expected = "bins[i] = sum(i_0 < N, ((((in[i_0])) == i) ? (1) : 0))";
  const auto plain = [](std::string text) {
    return std::regex_replace(std::regex_replace(text, std::regex("[()]"), ""), std::regex("_\\d"),
                              "");
  };
  for (const auto& [before, counts, behind] : std::vector<std::array<std::string, 3>>{
           {calloc, "right[data[i]]++;", compares},
           {"int right[256] = {0};", "{ int bin = data[i]; right[bin] += 1; }", compares},
           {"std::vector<int> right(256, 0);", "++right[data[i]];", compares},
           {"int right[256]; memset(right, 0, sizeof(right));", "right[data[i]]++;", compares},
           {"", "result[data[i]]--;",
            "for (int i = 0; i < 256; ++i) if (result[i] != 0) return 1;"}}) {
    const Json verify = verified_histogram(before, counts, behind);
    EXPECT_EQ(plain(verify.value("definition", "")), plain(expected)) << before << counts;
    EXPECT_FALSE(verify.contains("definition_is_a_guess"));
  }
  for (const auto& [before, counts, behind] : std::vector<std::array<std::string, 3>>{
           {"int right[256];", "right[data[i]]++;", compares},
           {calloc + " right[0] = 1;", "right[data[i]]++;", compares},
           {"std::vector<int> right(256, 1);", "right[data[i]]++;", compares},
           {calloc, "right[data[i] / 2]++;", compares},
           {calloc, "right[data[i]]--;", compares},
           {calloc, "right[data[i]]++;", ""},
           {"", "result[data[i]]--;", ""}}) {
    EXPECT_EQ(verified_histogram(before, counts, behind).value("definition", ""), "")
        << before << counts << behind;
  }
}

/// Returns the draft for `k(in, extra, out, n)`. `host` declares what `launch` uses.
Json launched(const std::string& host, const std::string& launch, const std::string& before = "") {
  return Drafted(before + R"cu(
__global__ void k(const float* in, const float* extra, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = extra != nullptr ? in[i] + extra[i] : in[i];
  }
}
int main() {
)cu" + host + "\n  float *a, *b = 0, *c;\n  " +
                 launch + "\n}\n")
      .json();
}

TEST(DraftSpace, PassesNullPointersAsTheHostDoes) {
  const std::string allocates = "int n = 4096; cudaMalloc(&a, n * 4); cudaMalloc(&c, n * 4); ";
  for (const char* const null : {"b", "nullptr", "NULL"}) {
    const Json json = launched("", allocates + "k<<<16, 256>>>(a, " + null + ", c, n);");
    EXPECT_EQ(json["arguments"][1]["type"], "float*") << null;
    EXPECT_TRUE(json["arguments"][1]["value"].is_null()) << null;
  }
  const Json made = launched("", allocates + "make((void**)&b); k<<<16, 256>>>(a, b, c, n);");
  EXPECT_FALSE(made["arguments"][1].contains("value")) << "it may be anything";
  const Json allocated =
      launched("", allocates + "cudaMalloc(&b, n * 4); k<<<16, 256>>>(a, b, c, n);");
  EXPECT_EQ(allocated["arguments"][1]["shape"][0], "N");
}

TEST(DraftSpace, CountsTheElementsOfLists) {
  const Json json = launched(
      "float x[] = {1, 2, 3, 4}, y[sizeof(x) / sizeof(x[0])];",
      "int s = sizeof(x); cudaMalloc(&a, s); cudaMalloc(&b, sizeof(x)); cudaMalloc(&c, sizeof(y));"
      " k<<<1, 256>>>(a, b, c, sizeof(x) / sizeof(*x));");
  for (const Json& argument : json["arguments"]) {
    EXPECT_TRUE(!argument.contains("shape") || argument["shape"][0] == 4) << argument["name"];
  }
  EXPECT_EQ(json["problems"][0]["N"], 4);
}

TEST(DraftSpace, HasAGridOfTheDevicesMultiprocessors) {
  const std::string allocates =
      "int n = 4096; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&c, n * 4); ";
  for (const auto& [host, blocks] : std::vector<std::array<std::string, 2>>{
           {"cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);", "2 * p.multiProcessorCount"},
           {"cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int m = p.multiProcessorCount;",
            "2 * m"},
           {"int m; cudaDeviceGetAttribute(&m, cudaDevAttrMultiProcessorCount, 0);", "2 * m"}}) {
    const Json json = launched(host, allocates + "k<<<" + blocks + ", 256>>>(a, b, c, n);");
    EXPECT_EQ(json["kernels"][0]["grid"][0], "2 * sm_count") << host;
    EXPECT_EQ(json["problems"].dump(), R"([{"N":4096}])");
  }
}

TEST(DraftSpace, KnowsConstantsThatAMacroOfTheSourceMakes) {
  const Json json = launched(
      "int n = kN;",
      "cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&c, kBlocks * sizeof(float));"
      " k<<<kBlocks, kThreads>>>(a, b, c, n);",
      "#define least(a, b) (a < b ? a : b)\nconst int kN = 4096;\nconst int kThreads = 256;\n"
      "const int kBlocks = least(32, (kN + kThreads - 1) / kThreads);\n");
  EXPECT_EQ(json["arguments"][2]["shape"][0].dump().find("TODO"), std::string::npos)
      << json["arguments"][2];
  EXPECT_EQ(json["problems"][0].size(), 1) << json["problems"];
}

TEST(DraftSpace, TakesNoKernelWithoutArgumentsWhereThereIsAnother) {
  const Json json = Drafted(
                        "__global__ void hello() { printf(\"hello\"); }\n"
                        "__global__ void k(float* x) { x[threadIdx.x] = 1; }\n"
                        "int main() { float* x; cudaMalloc(&x, 400); hello<<<1, 32>>>();\n"
                        "  k<<<1, 100>>>(x); }\n")
                        .json();
  EXPECT_EQ(json["kernels"][0]["name"], "k");
}

TEST(DraftSpace, TakesAListOfKernelsForLaunchesOfEach) {
  const auto kernel = [](const std::string& name) {
    return "__global__ void " + name +
           "(const float* in, float* out, int n) {\n"
           "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2 * in[i]; }\n";
  };
  const Json json =
      Drafted(kernel("one") + kernel("two") + kernel("other") +
              "int main() {\n  int n = 4096; float *a, *b;\n"
              "  cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);\n"
              "  void (*kernels[])(const float*, float*, int) = {one, two};\n"
              "  for (int k = 0; k < 2; k++) kernels[k]<<<n / 128, 128>>>(a, b, n);\n}\n")
          .json();
  ASSERT_GE(json["kernels"].size(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(json["kernels"][i]["grid"].dump(), R"(["N / THREADS"])");
    EXPECT_FALSE(json["kernels"][i].contains("launches"));
  }
  EXPECT_EQ(json["kernels"][0]["name"], "one");
  EXPECT_EQ(json["kernels"][1]["name"], "two");
}

TEST(DraftSpace, ClearsNothingBehindLaunchesThatAreRepeated) {
  const Json json =
      Drafted(
          "__global__ void square(const float* in, float* all, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) all[i] = in[i] * in[i]; }\n"
          "__global__ void add(const float* all, float* out, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(out, all[i]); }\n"
          "int main() {\n  int n = 4096; float *a, *b, *c;\n"
          "  cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&c, 4);\n"
          "  cudaMemset(c, 0, 4); square<<<n / 256, 256>>>(a, b, n); add<<<n / 256, 256>>>(b, c, "
          "n);\n"
          "  for (int t = 0; t < 10; t++) { cudaMemset(c, 0, 4);\n"
          "    square<<<n / 256, 256>>>(a, b, n); add<<<n / 256, 256>>>(b, c, n); }\n}\n")
          .json();
  const Json& launches = json["kernels"][0]["launches"];
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[1]["entry"], "add");
}

TEST(DraftSpace, TriesTheBlockSizesOfALoopInPlaceOfEachOther) {
  const Json json =
      Drafted(
          "__global__ void k(const float* in, float* all, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(all, in[i]); }\n"
          "int main() {\n  int n = 1 << 20; float *a, *b, zero = 0;\n"
          "  cudaMalloc(&a, n * 4); cudaMalloc(&b, 4);\n  int sizes[] = {96, 128, 256};\n"
          "  for (int i = 0; i < 3; i++) {\n    int size = sizes[i], blocks = (n + size - 1) / "
          "size;\n"
          "    blocks = blocks > 1024 ? 1024 : blocks;\n"
          "    for (int t = 0; t < 20; t++) {\n"
          "      cudaMemcpy(b, &zero, 4, cudaMemcpyHostToDevice);\n"
          "      k<<<blocks, size>>>(a, b, n);\n    }\n  }\n}\n")
          .json();
  const Json& kernel = json["kernels"][0];
  EXPECT_FALSE(kernel.contains("launches")) << "it would add up three times";
  EXPECT_EQ(kernel["parameters"]["THREADS"].dump(), "[96,128,256]");
  EXPECT_FALSE(kernel.contains("default_is_a_guess"));
}

TEST(DraftSpace, MakesNoSizeOfHowManyElementsABlockHas) {
  const Json json =
      Drafted(
          "#define BLOCK 512\n__global__ void k(const float* in, float* out, float* last, int n) "
          "{\n"
          "  __shared__ float s[BLOCK];\n  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
          "  if (i < n) s[threadIdx.x] = in[i];\n  __syncthreads();\n"
          "  if (i < n) out[i] = s[threadIdx.x];\n"
          "  if (threadIdx.x == 0) last[blockIdx.x] = s[BLOCK - 1];\n}\n"
          "int main() {\n  int n = 1 << 20; const int threads = BLOCK;\n"
          "  const int per_block = threads;\n  const int blocks = (n + per_block - 1) / "
          "per_block;\n"
          "  float *a, *b, *c; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);\n"
          "  cudaMalloc(&c, blocks * 4);\n  k<<<blocks, threads>>>(a, b, c, n);\n}\n")
          .json();
  EXPECT_EQ(json["problems"].dump(), R"([{"N":1048576}])");
  EXPECT_EQ(json["kernels"][0]["grid"][0], "(N + BLOCK - 1) / BLOCK");
}

TEST(DraftSpace, HasOneBlockInEveryDimensionWhereTheHostLaunchesOne) {
  const Json json =
      Drafted(
          "__global__ void k(float* x, int rows, int columns) {\n"
          "  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + "
          "threadIdx.x;\n  x[i * columns + j] = 1;\n}\n"
          "int main() { int r = 10, c = 12; float* x; cudaMalloc(&x, r * c * sizeof(float));\n"
          "  dim3 threads(c, r); k<<<1, threads>>>(x, r, c); }\n")
          .json();
  EXPECT_EQ(json["kernels"][0]["grid"].dump(), "[1,1]");
  EXPECT_EQ(json["problems"].dump(), R"([{"ROWS":10,"COLUMNS":12}])");
}

/// Returns the draft for a kernel whose blocks add up, which a function launches that returns the
/// total of their sums. `compares` and `functions` are the host's.
Json sums_by_wrapper(const std::string& functions, const std::string& compares) {
  return Drafted(R"cu(#include <cstdlib>
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  for (int k = blockDim.x / 2; k > 0; k /= 2) { __syncthreads(); if (t < k) s[t] += s[t + k]; }
  if (t == 0) out[b] = s[0];
}
float total(const float* host, int n) {
  float *in, *out, sum = 0;
  int threads = 128, blocks = (n + threads - 1) / threads;
  float* partial = (float*)malloc(blocks * sizeof(float));
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, blocks * sizeof(float));
  cudaMemcpy(in, host, n * sizeof(float), cudaMemcpyHostToDevice);
  k<<<blocks, threads, threads * sizeof(float)>>>(in, out, n);
  cudaMemcpy(partial, out, blocks * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < blocks; ++i) sum += partial[i];
  return sum;
}
)cu" + functions +
                 R"cu(
int main() {
  int n = 1 << 20;
  float* data = (float*)malloc(n * sizeof(float));
  float* partial = (float*)malloc(n * sizeof(float));
  float gpu = total(data, n);
)cu" + compares + "\n}\n")
      .json();
}

TEST(DefinitionDraft, SharesOutATotalOfWhatALaunchingFunctionReturns) {
  const std::string sum = "float sum = 0; for (int i = 0; i < n; ++i) sum += ";
  const std::string through_pointer =
      "void add_cpu(const float* a, float* c, int n) { float t = 0; for (int i = 0; i < n; ++i) t "
      "+= "
      "a[i]; *c = t; }\nbool same(float* a, float* b) { return fabs(*a - *b) < 1e-3; }\n";
  for (const auto& [functions, compares] : std::vector<std::array<std::string, 2>>{
           {"", sum + "data[i]; if (fabs(sum - gpu) > 1e-3) return 1;"},
           {through_pointer,
            "float* right = (float*)malloc(4); add_cpu(data, right, n); return same(right, "
            "&gpu);"}}) {
    const Json json = sums_by_wrapper(functions, compares);
    EXPECT_EQ(json["arguments"][1]["shape"][0], "(N + 32 - 1) / 32") << "the most blocks";
    EXPECT_EQ(
        json["verify"]["definition"].get<std::string>().find("out[i] = sum(i_0 < N * (i + 1)"), 0)
        << json["verify"];
    EXPECT_FALSE(json["verify"].contains("definition_is_a_guess")) << functions;
    EXPECT_FALSE(json["verify"].contains("also_reference")) << "the function has one sum";
  }
  const Json other = sums_by_wrapper("", sum + "partial[i]; if (fabs(sum - gpu) > 1e-3) return 1;");
  EXPECT_TRUE(other["verify"]["definition_is_a_guess"]) << "another array of the same name";
}

TEST(DefinitionDraft, IsNoTotalThatTheHostComparesWithSomethingElse) {
  const std::string total = "int total = 0; for (int i = 0; i < blocks; ++i) total += out[i];\n";
  for (const std::string& host :
       {total + "int sum = 0; for (int i = 0; i < n; ++i) sum += in[i]; return sum;",
        total + "int sum = 0; for (int i = 0; i < n; ++i) sum += unused[i]; return sum == total;",
        total +
            "int sum = 0; for (int x : in) { if (x > 5) break; sum += x; } return sum == total;",
        total + "int sum = 0; for (int x : in) sum = x; return sum == total;",
        total + "int sum = 1; for (int x : in) sum *= x; return sum == total;",
        total + "int sum = 0; for (int x : in) sum += x; sum = round(sum); return sum == total;",
        total + "int sum = 0; for (int x : in) sum += x; if (n > 5) sum = 1; return sum == total;",
        std::string("int sum = 0; for (int x : in) sum += x; return sum == out[0];")}) {
    const Json verify = sums_by_blocks("", "", host)["verify"];
    EXPECT_TRUE(verify.value("definition_is_a_guess", false)) << host;
    EXPECT_TRUE(verify["definition"].get<std::string>().starts_with("out[i] = sum(thread_"))
        << host;
  }
}

/// Returns the definition that is proposed for a kernel of blocks of THREADS, 64 to 1024, of which
/// each block or each thread has a sum.
std::string proposed_sum(const std::string& body, const std::string& functions = "",
                         const std::string& kept = "float", const std::string& results = "blocks",
                         const std::string& blocks = "n / THREADS") {
  return proposed("#define THREADS 256\n" + functions + R"cu(
__global__ void k(const float* in, float* out, int n) {
  __shared__ )cu" +
                  kept + R"cu( kept[THREADS];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
)cu" + body + R"cu(
}
int main() {
  const int n = 1 << 20;
  const int blocks = )cu" +
                  blocks + R"cu(;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, )cu" +
                  results + R"cu( * sizeof(float));
  k<<<blocks, THREADS>>>(in, out, n);
}
)cu");
}

TEST(DefinitionDraft, OfASumOfEachBlockIsWhatItsThreadsAddUp) {
  const std::string tree =
      " __syncthreads(); for (int k = blockDim.x / 2; k > 0; k /= 2) {\n"
      "  if (t < k) kept[t] += kept[t + k]; __syncthreads(); }\n"
      "  if (t == 0) out[blockIdx.x] = kept[0];";
  const std::string plain = "out[i] = sum(thread_0 < 64, in[(i * 64 + thread_0)])";
  EXPECT_EQ(proposed_sum("kept[t] = in[i];" + tree), plain);
  EXPECT_EQ(proposed_sum("kept[threadIdx.x] = i < n ? in[i] : 0;" + tree),
            "out[i] = sum(thread_0 < 64, (i * 64 + thread_0) < N ? in[(i * 64 + thread_0)] : 0)");
  EXPECT_EQ(proposed_sum("if (i < n) kept[t] = in[i]; else kept[t] = 0;" + tree),
            "out[i] = sum(thread_0 < 64, (((i * 64 + thread_0) < N) ? (in[(i * 64 + thread_0)]) : "
            "0))");
  EXPECT_EQ(proposed_sum("float s = 0; while (i < n) { s += in[i]; i += gridDim.x * blockDim.x; }\n"
                         "  kept[t] = s;" +
                         tree),
            "out[i] = sum(thread_1 < 64, (sum(i_0 < ceil_div(N, ((N / 64) * 64)), (((((i * 64 + "
            "thread_1) + i_0 * ((floor(N / 64)) * 64))) < N) ? (in[(((i * 64 + thread_1) + i_0 * "
            "((N / 64) * 64)))]) : 0))))");
  EXPECT_EQ(
      proposed_sum("kept[t] = in[i];" + tree, "", "float", "n"),
      "out[i] = (i < (floor(N / 256))) ? sum(thread_0 < 256, in[(i * 256 + thread_0)]) : out[i]")
      << "more elements than blocks";
  EXPECT_EQ(proposed_sum("kept[t] = i < n ? in[i] : 0;" + tree, "", "float", "n",
                         "(int)ceil((float)n / THREADS)"),
            "out[i] = (i < (-floor(-N / 256))) ? sum(thread_0 < 256, (i * 256 + thread_0) < N ? "
            "in[(i * 256 + thread_0)] : 0) : out[i]");
  const std::string warp =
      "__device__ float all(float v) {\n"
      "  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k); return v; }\n"
      "__device__ float scaled(float v) { v += __shfl_down_sync(~0u, v, 1); v *= 2; return v; }\n";
  const std::string warps =
      " if (t % 32 == 0) kept[t / 32] = s; __syncthreads();\n"
      "  s = t < blockDim.x / 32 ? kept[t] : 0; if (t < 32) s = all(s);\n"
      "  if (t == 0) out[blockIdx.x] = s;";
  EXPECT_EQ(proposed_sum("float s = in[i]; s = all(s);" + warps, warp), plain);
  EXPECT_EQ(proposed_sum("float s = in[i]; s = scaled(s);" + warps, warp), "");
  EXPECT_EQ(proposed_sum("float s = in[i]; s = all(s * s);" + warps, warp), "") << "not added";
  EXPECT_EQ(proposed_sum("kept[t] = in[blockIdx.x * TILE + t];" + tree, "#define TILE 512\n"),
            "out[i] = sum(thread_0 < 64, in[i * 512 + thread_0])");
  EXPECT_EQ(proposed_sum("kept[t] = in[blockIdx.x * THREADS + t];" + tree),
            "out[i] = sum(thread_0 < 64, in[i * 64 + thread_0])");
  EXPECT_EQ(proposed_sum("kept[t] = in[i];" + tree, "", "int"), "") << "rounded";
  EXPECT_EQ(proposed_sum("kept[t] = in[i]; kept[0] += in[0];" + tree), "") << "of another thread";
  EXPECT_EQ(proposed_sum("kept[t] = in[i]; __syncthreads(); kept[t] += in[t];" + tree), "");
  EXPECT_EQ(proposed_sum("kept[t] = in[i]; __syncthreads(); kept[t] += 1;" + tree), "");
  EXPECT_EQ(proposed_sum("kept[t] = in[i]; __syncthreads(); kept[t] = sqrtf(kept[t]);" + tree), "");
  EXPECT_EQ(proposed_sum("kept[t] = in[i]; __syncthreads(); if (kept[t] < 0) return;" + tree), "");
}

TEST(DefinitionDraft, OfWhatAllThreadsAddToIsTheirSum) {
  const auto total = [](const std::string& launch, const std::string& body) {
    return proposed(
        "__global__ void k(const float* in, float* out, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;\n" +
        body +
        "\n}\nvoid host(int n) {\n  float *in, *out;\n"
        "  cudaMalloc(&in, n * sizeof(float)); cudaMalloc(&out, sizeof(float));\n"
        "  cudaMemset(out, 0, sizeof(float)); k<<<" +
        launch + ">>>(in, out, n);\n}\n");
  };
  EXPECT_EQ(
      total("8, 32", "s = in[i]; atomicAdd(out, s);"),
      "out[i] = out[0] + sum(block_0 < 8, sum(thread_0 < 32, in[(block_0 * 32 + thread_0)]))");
  EXPECT_EQ(total("8, 32", "s = in[i]; if (i % 2 == 0) atomicAdd(out, s);"), "") << "of some";
  EXPECT_EQ(total("8, 32", "s = in[i]; atomicAdd(out + i, s);"), "");
  EXPECT_EQ(total("8, 32", "s = in[i]; atomicMax(out, s);"), "");
  EXPECT_EQ(total("8, 32", "s = in[i]; atomicAdd(out, s); atomicAdd(out, s);"), "");
}

/// Returns the verification of a kernel that makes one number of two arrays.
Json verified_total(const std::string& kernel, const std::string& host) {
  return Drafted(R"cu(
__global__ void k(const float* a, const float* b, float* out, int n) {
  __shared__ float unused[32];
  unused[threadIdx.x % 32] = 0;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
)cu" + kernel + R"cu(
}
void host() {
  int n = 65536;
  float *d_a, *d_b, *d_out, *a, *b;
  float* result = new float(0);
  cudaMalloc(&d_a, n * sizeof(float));
  cudaMalloc(&d_b, n * sizeof(float));
  cudaMalloc(&d_out, sizeof(float));
  cudaMemcpy(d_a, a, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b, n * sizeof(float), cudaMemcpyHostToDevice);
  k<<<n / 256, 256>>>(d_a, d_b, d_out, n);
  cudaMemcpy(result, d_out, sizeof(float), cudaMemcpyDeviceToHost);
  double dot = 0.0;
  for (int i = 0; i < n; ++i) { double product = a[i] * b[i]; dot += product; }
)cu" + host + "}\n")
      .json()["verify"];
}

TEST(DefinitionDraft, OfOneResultIsATotalThatTheHostPrintsIfTheKernelAddsUp) {
  const std::string adds = "atomicAdd(out, a[i] * b[i]);";
  for (const std::string host :
       {"printf(\"%f\", fabs(dot - *result) < 1);",
        "if (abs(result[0] - dot) / dot > 0.1) exit(1);", "printf(\"%f %f\", dot, *result);",
        "printf(\"%f\", dot);\nprintf(\"%f\", result[0]);"}) {
    const Json verify = verified_total(adds, host);
    EXPECT_EQ(verify.value("definition", ""), "out[i] = sum(i_0 < N, ((a[i_0] * b[i_0])))") << host;
    const bool is_printed =
        host.find('%') != std::string::npos && host.find('<') == std::string::npos;
    EXPECT_THAT(verify["description"], HasSubstr(is_printed ? "prints beside" : "compares"))
        << host;
  }
  EXPECT_FALSE(verified_total(adds, "printf(\"%f\", dot); n = 1; printf(\"%f\", *result);")
                   .contains("definition"));
  const std::string other = "if (i == 0) out[0] = a[0] / b[0];";
  EXPECT_FALSE(verified_total(other, "printf(\"%f %f\", dot, *result);").contains("definition"));
}

/// Returns the verification of a kernel with two inputs that nothing reads, for a host that fills
/// `want` and compares `r`, the results, with it.
Json verified_by_algorithms(const std::string& fills, const std::string& compares) {
  return Drafted(R"cu(
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>
__global__ void k(const float* a, const float* b, float* c, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = a[i];
  __syncthreads();
  c[i] = s[255 - t] + b[0];
}
int main() {
  int n = 1 << 16; float *d_a, *d_b, *d_c;
  std::vector<float> a(n), b, r(n), want(n);
  b.reserve(n);
  cudaMalloc(&d_a, n * 4); cudaMalloc(&d_b, n * 4); cudaMalloc(&d_c, n * 4);
  cudaMemcpy(d_a, a.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), n * 4, cudaMemcpyHostToDevice);
  k<<<n / 256, 256>>>(d_a, d_b, d_c, n);
  cudaMemcpy(r.data(), d_c, n * 4, cudaMemcpyDeviceToHost);
)cu" + fills + "\n" +
                 compares + "\n}\n")
      .json()["verify"];
}

TEST(DefinitionDraft, IsWhatAnAlgorithmStoresThatTheHostComparesTheResultsWith) {
  const std::string equal = "if (!std::equal(r.begin(), r.end(), want.begin())) return 1;";
  const std::string of_two = "std::transform(a.begin(), a.end(), b.begin(), want.begin(), ";
  const std::string of_one = "std::transform(b.begin(), b.end(), want.begin(), ";
  const auto definition = [](const std::string& fills, const std::string& compares) {
    return verified_by_algorithms(fills, compares).value("definition", "");
  };
  EXPECT_EQ(definition(of_two + "[](float x, float y) { return x - 2 * y; });", equal),
            "c[i] = a[i] - 2 * b[i]");
  EXPECT_EQ(definition(of_one + "[](float x) { return x * x; });", "return want != r;"),
            "c[i] = b[i] * b[i]");
  EXPECT_EQ(definition(of_two + "std::multiplies<float>());",
                       "for (int i = 0; i < n; ++i) if (r[i] != want[i]) return 1;"),
            "c[i] = a[i] * b[i]");
  EXPECT_EQ(definition("std::inclusive_scan(a.begin(), a.end(), want.begin());", equal),
            "c[i] = sum(k_0 < i + 1, a[k_0])");
  EXPECT_EQ(definition("std::partial_sum(a.begin(), a.end(), want.begin());", equal),
            "c[i] = sum(k_0 < i + 1, a[k_0])");
  EXPECT_EQ(definition("std::exclusive_scan(a.begin(), a.end(), want.begin(), 0);", equal),
            "c[i] = sum(k_0 < i, a[k_0])");
  EXPECT_EQ(definition("std::exclusive_scan(a.begin(), a.end(), want.begin(), 5);", equal), "");
  EXPECT_EQ(definition(of_one + "[](float x) { if (x > 1) x = 1; return x; });", equal), "");
  EXPECT_EQ(definition(of_two + "std::divides<float>());", equal), "");
  EXPECT_EQ(definition(of_one + "[](float x) { return x; });", "return n != 3;"), "")
      << "nothing is compared with it";
}

/// Returns a draft for a host that launches `k` with these arguments, and checks its n results.
Json packed(const std::string& kernel, const std::string& element, const std::string& arguments,
            const std::string& expected) {
  return Drafted("#include <cuda_fp16.h>\n" + kernel +
                 "\nint main() {\n  const int n = 1 << 20;\n  " + element + " *h = new " + element +
                 "[n], *r = new " + element + "[n], *d, *o;\n" + "  cudaMalloc(&d, n * sizeof(" +
                 element + "));\n  cudaMalloc(&o, n * sizeof(" + element +
                 "));\n  cudaMemcpy(d, h, n * sizeof(" + element +
                 "), cudaMemcpyHostToDevice);\n  k<<<(n / 4 + 255) / 256, 256>>>(" + arguments +
                 ");\n  cudaMemcpy(r, o, n * sizeof(" + element + "), cudaMemcpyDeviceToHost);\n" +
                 "  for (int i = 0; i < n; i++) if (" + expected + ") return 1;\n}\n")
      .json();
}

TEST(DefinitionDraft, IsOfElementsWhereTheKernelHasVectorsOfThem) {
  const Json four = packed(
      "__global__ void k(const float4* in, float4* out, float s, int n4) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n4) return;\n"
      "  float4 v = in[i]; v.x *= s; v.y *= s; v.z *= s; v.w *= s; out[i] = v;\n}",
      "float", "(float4*)d, reinterpret_cast<float4*>(o), 3.0f, n / 4",
      "fabsf(r[i] - 3.0f * h[i]) > 1e-6f");
  EXPECT_EQ(four["verify"]["definition"], "out[i] = 3.0 * in[i]");
  EXPECT_EQ(four["problems"].dump(), R"([{"N":1048576}])");
  EXPECT_EQ(four["arguments"][3]["value"], "N / 4");
  const Json half = packed(
      "__global__ void k(const half2* in, half2* out, half s, int n2) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n2) out[i] = __hmul2(in[i], __half2half2(s));\n}",
      "half", "(half2*)d, (half2*)o, __float2half(0.5f), n / 2",
      "fabs(__half2float(r[i]) - 0.5f * __half2float(h[i])) > 1e-2");
  EXPECT_EQ(half["verify"]["definition"], "out[i] = 0.5 * (in[i])");
  EXPECT_EQ(half["arguments"][2]["value"], 0.5);
  EXPECT_EQ(half["arguments"][3]["value"], "N / 2");
}

TEST(DefinitionDraft, IsNoneWhereAnIntegerIsMadeOfFractions) {
  const auto definition = [](const std::string& value) {
    return Drafted(
               "__global__ void k(const float* a, int* c, int n) {\n"
               "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = " +
               value + ";\n}\n")
        .json()["verify"]
        .value("definition", "");
  };
  EXPECT_EQ(definition("(int)(a[i] * 2)"), "");
  EXPECT_EQ(definition("0.5f * i"), "");
  EXPECT_EQ(definition("a[i] > 0.5f ? 1 : 0"), "c[i] = a[i] > 0.5 ? 1 : 0");
  EXPECT_EQ(definition("2 * i"), "c[i] = 2 * i");
}

/// Returns the verification of a kernel whose results the host compares with those of cuBLAS.
Json verified_product(const std::string& call, const std::string& compares) {
  return Drafted(R"cu(
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float kept[256];
  kept[threadIdx.x] = a[0];
  for (int i = threadIdx.x; i < m * n; i += 256) c[i] = b[0] * kept[threadIdx.x] * k;
}
int main() {
  int m = 512, n = 256, k = 128;
  float *d_a, *d_b, *d_c;
  float* c = (float*)malloc(m * n * sizeof(float));
  float* c_of_blas = (float*)malloc(m * n * sizeof(float));
  cudaMalloc(&d_a, m * k * sizeof(float));
  cudaMalloc(&d_b, k * n * sizeof(float));
  cudaMalloc(&d_c, m * n * sizeof(float));
  product<<<1, 256>>>(d_a, d_b, d_c, m, n, k);
  cudaMemcpy(c, d_c, m * n * sizeof(float), cudaMemcpyDeviceToHost);
  float one = 1, two = 2.0f, zero = 0;
)cu" + call + R"cu(
  cudaMemcpy(c_of_blas, d_c, m * n * sizeof(float), cudaMemcpyDeviceToHost);
)cu" + compares + "}\n")
      .json()["verify"];
}

TEST(DefinitionDraft, IsTheTransposeOfAProductThatTheHostComparesItWith) {
  const std::string product =
      "cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_T, m, n, k, &one, d_a, k, d_b, n, &zero, d_c, "
      "m);";
  const auto definition = [&](const std::string& compared) {
    return verified_product(product,
                            "for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j) if "
                            "(fabs(c[i * n + j] - " +
                                compared + ") > 1e-3) return 1;\n")
        .value("definition", "");
  };
  EXPECT_EQ(definition("c_of_blas[j * m + i]"),
            "c[i] = sum(k_0 < K, a[(i / N) * K + k_0] * b[k_0 * N + (i % N)])");
  EXPECT_EQ(definition("c_of_blas[j * n + i]"), "") << "no column of the product";
}

TEST(DefinitionDraft, IsTheProductThatTheHostHasCublasCompute) {
  const std::string compares =
      "for (int i = 0; i < m * n; ++i) if (fabs(c[i] - c_of_blas[i]) > 1e-3) return 1;\n";
  const auto definition = [&](const std::string& call) {
    return verified_product(call, compares).value("definition", "");
  };
  EXPECT_EQ(
      definition("cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, d_b, n, d_a, k, "
                 "&zero, d_c, n);"),
      "c[i] = sum(k_0 < K, b[k_0 * N + (i % N)] * a[(i / N) * K + k_0])");
  EXPECT_EQ(
      definition("cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_T, m, n, k, &two, d_a, k, d_b, n, "
                 "&zero, d_c, m);"),
      "c[i] = 2.0 * sum(k_0 < K, a[(i % M) * K + k_0] * b[k_0 * N + (i / M)])");
  EXPECT_EQ(
      definition("cublasSgemv(handle, CUBLAS_OP_T, k, m * n, &one, d_a, k, d_b, 1, &zero, d_c, "
                 "1);"),
      "c[i] = sum(k_0 < K, a[i * K + k_0] * b[k_0])");
  EXPECT_EQ(
      definition("cublasSgemv(handle, CUBLAS_OP_T, k, m, &one, d_a, k, d_b, 2, &zero, d_c, 1);"),
      "")
      << "every second element";
  EXPECT_EQ(
      definition("cublasSgemv(handle, CUBLAS_OP_T, k, m, &one, d_a, k, d_b, 1, &zero, d_a, 1);"),
      "")
      << "another result";
  const std::string by_variables =
      "for (int i = 0; i < m * n; ++i) { float x = c[i]; float y = c_of_blas[i];"
      " if (fabs(x - y) > 1e-3) return 1; }";
  EXPECT_TRUE(verified_product("cublasSgemv(handle, CUBLAS_OP_N, m * n, k, &one, d_a, m * n, d_b, "
                               "1, &zero, d_c, 1);",
                               by_variables)
                  .contains("definition"));
  EXPECT_FALSE(
      verified_product("cublasSgemv(handle, CUBLAS_OP_T, k, m, &one, d_a, k, d_b, 1, &zero, "
                       "d_c, 1);",
                       "for (int i = 0; i < m; ++i) if (c[i] != c_of_blas[2 * i]) return 1;")
          .contains("definition"))
      << "compared otherwise";
}

/// Returns the definition of a kernel whose results the host compares with those of cuSPARSE.
std::string sparse_product(const std::string& call) {
  return Drafted(R"cu(
__global__ void product(const int* offsets, const int* columns, const float* values,
                        const float* x, float* y, int m, int n) {
  for (int i = threadIdx.x; i < m * n; i += 256) {
    float s = 0;
    for (int k = offsets[i / n]; k < offsets[i / n + 1]; ++k) s += values[k] * x[columns[k] * n + i % n];
    y[i] = s;
  }
}
int main() {
  int m = 512, n = 8, k = 128, all = 4096;
  int *d_offsets, *d_columns;
  float *d_values, *d_x, *d_y, *d_right;
  float* y = (float*)malloc(m * n * sizeof(float));
  float* right = (float*)malloc(m * n * sizeof(float));
  cudaMalloc(&d_offsets, (m + 1) * sizeof(int));
  cudaMalloc(&d_columns, all * sizeof(int));
  cudaMalloc(&d_values, all * sizeof(float));
  cudaMalloc(&d_x, k * n * sizeof(float));
  cudaMalloc(&d_y, m * n * sizeof(float));
  cudaMalloc(&d_right, m * n * sizeof(float));
  product<<<1, 256>>>(d_offsets, d_columns, d_values, d_x, d_y, m, n);
  cudaMemcpy(y, d_y, m * n * sizeof(float), cudaMemcpyDeviceToHost);
  float alpha = 2.0f, beta = 0.0f;
  int distance = n;
  CHECK(cusparseCreateCsr(&a, m, k, all, d_offsets, d_columns, d_values, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  CHECK(cusparseCreateDnVec(&from, k * n, d_x, CUDA_R_32F));
  CHECK(cusparseCreateDnVec(&to, m * n, d_right, CUDA_R_32F));
  CHECK(cusparseCreateDnMat(&from_rows, k, n, n, d_x, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  CHECK(cusparseCreateDnMat(&to_rows, m, n, distance, d_right, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  CHECK(cusparseCreateDnMat(&to_columns, m, n, n, d_right, CUDA_R_32F, CUSPARSE_ORDER_COL));
)cu" + call + R"cu(
  cudaMemcpy(right, d_right, m * n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < m * n; ++i) if (fabs(y[i] - right[i]) > 1e-3) return 1;
}
)cu")
      .json()["verify"]
      .value("definition", "");
}

TEST(DefinitionDraft, IsTheProductThatTheHostHasCusparseCompute) {
  EXPECT_EQ(
      sparse_product("cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, from, "
                     "&beta, to, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);"),
      "y[i] = 2.0 * sum(k_0 < (offsets[i + 1] - offsets[i]), values[offsets[i] + k_0] * "
      "x[columns[offsets[i] + k_0]])");
  const auto by_matrix = [](const std::string& operation, const std::string& to) {
    return sparse_product("CHECK(cusparseSpMM(handle, " + operation +
                          ", CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, from_rows, &beta, " + to +
                          ", CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, buffer));");
  };
  const std::string plain = "CUSPARSE_OPERATION_NON_TRANSPOSE";
  EXPECT_EQ(by_matrix(plain, "to_rows"),
            "y[i] = 2.0 * sum(k_0 < (offsets[(i / N) + 1] - offsets[(i / N)]), values[offsets[(i / "
            "N)] + k_0] * x[columns[offsets[(i / N)] + k_0] * N + (i % N)])");
  EXPECT_EQ(by_matrix("CUSPARSE_OPERATION_TRANSPOSE", "to_rows"), "");
  EXPECT_EQ(by_matrix(plain, "to_columns"), "") << "with gaps between the columns";
}

TEST(DraftSpace, SaysInWhichLoopTheHostCalculatesAValue) {
  const Json json = Drafted(R"cu(
__global__ void k(float* out, const float* in, float scale, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = scale * in[i];
}
int main() {
  size_t length = atol(text);
  float *d_in, *d_out, *h_out, scale;
  cudaMalloc(&d_in, length * sizeof(float));
  cudaMalloc(&d_out, length * sizeof(float));
  for (int turn = 0; turn < 10; ++turn) {
    scale = 1 / (1 + h_out[0]);
    k<<<4, 256>>>(d_out, d_in, scale, static_cast<unsigned>(length));
    cudaMemcpy(h_out, d_out, length * sizeof(float), cudaMemcpyDeviceToHost);
  }
}
)cu")
                        .json();
  EXPECT_THAT(json["arguments"][2]["value"],
              HasSubstr("which the host calculates in each turn of the loop in line 11"));
  EXPECT_EQ(json["problems"][0].size(), 1) << json["problems"];
}

TEST(DraftSpace, KeepsWhatSizesHaveToDoWithEachOtherInSmallProblems) {
  const Json json = Drafted(R"cu(
__global__ void k(float* out, const float* in, int n, int nx, int ny) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i / nx < ny) out[i] = nx * in[i];
}
int main() {
  float *out, *in;
  int n = 2097152, nx = 2048, ny = 1024;
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&in, n * sizeof(float));
  k<<<(n + 255) / 256, 256>>>(out, in, n, nx, ny);
}
)cu")
                        .json();
  const Json& small = json["cpu_problems"][0];
  ASSERT_EQ(json["problems"][0], Json({{"N", 2097152}, {"NX", 2048}, {"NY", 1024}}));
  EXPECT_EQ(small["N"], small["NX"].get<int>() * small["NY"].get<int>()) << small;
}

TEST(DraftSpace, ComparesKernelsThatComputeTheSame) {
  const std::string source = R"cu(
__global__ void warmup(float* out, const float* in, int n) { out[threadIdx.x] = in[n]; }
__global__ void doubled(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
__global__ void reversed(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[n - 1 - i];
}
__global__ void added(float* y, const float* x, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] + x[i];
}
int main() {
  const int n = 1024;
  float *out, *in;
  cudaMallocManaged(&out, n * 4);
  cudaMallocManaged(&in, n * 4);
  warmup<<<4, 256>>>(out, in, n);
  doubled<<<4, 256>>>(out, in, n);
  cudaDeviceSynchronize();
  reversed<<<4, 256>>>(out, in, n);
  cudaDeviceSynchronize();
  added<<<4, 256>>>(out, in, n);
  cudaDeviceSynchronize();
)cu";
  KernelFile file = read_kernel_file(FlatSource(source + "}\n"));
  add_host(read_host(FlatSource(source + "}\n")), file);
  EXPECT_THAT(computing_the_same(file, {"doubled", "reversed", "added"}),
              ElementsAre("doubled", "added"));
  EXPECT_THAT(computing_the_same(file, {"warmup", "reversed"}), ElementsAre("reversed"));
  const std::string checked =
      source + "  for (int i = 0; i < n; ++i) if (out[i] != in[n - 1 - i]) return 1;\n}\n";
  file = read_kernel_file(FlatSource(checked));
  add_host(read_host(FlatSource(checked)), file);
  EXPECT_THAT(computing_the_same(file, {"doubled", "reversed", "added"}), ElementsAre("reversed"));
}

TEST(HostFunction, IsFoundByItsCallAndTakesScalarsThatTheKernelDoesNot) {
  const std::string source = R"cu(
void blend(const float* p, const float* q, float* r, int count) {
  for (int i = 0; i < count; i += 2) { r[i] = p[i] - q[i]; r[i + 1] = p[i + 1] - q[i + 1]; }
}
__global__ void k(const float* a, const float* b, float* c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = b[i] - a[i];
}
int main() {
  int n = 4096;
  float *d_a, *d_b, *d_c, *one, *two, *result, *other;
  cudaMalloc(&d_a, n * 4);
  cudaMalloc(&d_b, n * 4);
  cudaMalloc(&d_c, n * 4);
  cudaMemcpy(d_b, one, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d_a, two, n * 4, cudaMemcpyHostToDevice);
  k<<<n / 256, 256>>>(d_a, d_b, d_c);
  cudaMemcpy(result, d_c, n * 4, cudaMemcpyDeviceToHost);
  blend(one, two, other, n);
  for (int i = 0; i < n; ++i) if (result[i] != other[i]) return 1;
}
)cu";
  KernelFile file = read_kernel_file(FlatSource(source));
  add_host(read_host(FlatSource(source)), file);
  DraftRequest request = {
      .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}};
  const auto found =
      host_function_for(source, as_launched(file, request), file, launch_of(file, request));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->source, HasSubstr("blend((float*)b, (float*)a, (float*)c, count);"));
  request.witness = found;
  const FlatSource both(found->source);
  KernelFile with = read_kernel_file(both);
  add_host(read_host(both), with);
  const Json json = parse_json(draft_space(both, with, request).text, "mine.json");
  EXPECT_EQ(json["kernels"][0]["arguments"].dump(), R"(["a","b","c"])");
  EXPECT_EQ(json["kernels"][1]["arguments"].dump(), R"(["a","b","c","count"])");
  EXPECT_EQ(json["arguments"][3]["value"], "N");
}

TEST(HostFunction, MayReturnTheOnlyResult) {
  const auto found = [](const std::string& size, const std::string& returns) {
    const std::string source =
        "__global__ void count(const int* in, int n, int* total) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n && in[i] > 3) atomicAdd(total, 1);\n}\n" +
        returns +
        " count_cpu(const int* in, int n) {\n"
        "  int all = 0;\n  for (int i = 0; i < n; ++i) all += in[i] > 3;\n  return all;\n}\n"
        "int main() {\n  int n = 4096;\n  int *d_in, *d_total, *in;\n"
        "  cudaMalloc(&d_in, n * sizeof(int));\n  cudaMalloc(&d_total, " +
        size +
        ");\n  cudaMemcpy(d_in, in, n * sizeof(int), cudaMemcpyHostToDevice);\n"
        "  count<<<n / 256, 256>>>(d_in, n, d_total);\n}\n";
    KernelFile file = read_kernel_file(FlatSource(source));
    add_host(read_host(FlatSource(source)), file);
    const DraftRequest request = {
        .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"count"}};
    return host_function_for(source, as_launched(file, request), file, launch_of(file, request));
  };
  const auto one = found("sizeof(int)", "static int");
  ASSERT_TRUE(one);
  EXPECT_THAT(one->arguments, ElementsAre("in", "n", "total"));
  EXPECT_THAT(one->source, HasSubstr("{\n  *total = count_cpu((int*)in, n);\n}"));
  EXPECT_FALSE(found("8 * sizeof(int)", "int"));
  EXPECT_FALSE(found("sizeof(int)", "void"));
  EXPECT_FALSE(found("sizeof(int)", "bool")) << "it says whether all is right";
}

TEST(HostFunction, IsPassedTheArraysThatTheCallerOfTheLaunchPassesIt) {
  const std::string source = R"cu(
__global__ void k(const float* a, const float* b, float* sums, float* twice) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = a[i] + b[i];
  twice[i] = 2 * b[i];
}
void gold(float* h_twice, float* h_sums, float* right, float* left, int count) {
  float* at = h_twice;
  for (int i = 0; i < count; ++i) { h_sums[i] = left[i] + right[i]; *at++ = 2 * right[i]; }
}
void run(float* h_a, float* h_b, float* h_sums, float* h_twice, int n) {
  float *d_a, *d_b, *d_s, *d_t;
  cudaMalloc(&d_a, n * 4);
  cudaMalloc(&d_b, n * 4);
  cudaMalloc(&d_s, n * 4);
  cudaMalloc(&d_t, n * 4);
  cudaMemcpy(d_a, h_a, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, h_b, n * 4, cudaMemcpyHostToDevice);
  k<<<n / 256, 256>>>(d_a, d_b, d_s, d_t);
  cudaMemcpy(h_sums, d_s, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(h_twice, d_t, n * 4, cudaMemcpyDeviceToHost);
}
int main() {
  float *x, *y, *s, *t, *more, *others;
  gold(others, more, x, y, 4096);
  run(y, x, s, t, 4096);
}
)cu";
  KernelFile file = read_kernel_file(FlatSource(source));
  add_host(read_host(FlatSource(source)), file);
  const DraftRequest request = {
      .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}};
  const auto found =
      host_function_for(source, as_launched(file, request), file, launch_of(file, request));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->source, HasSubstr("gold((float*)twice, (float*)sums, (float*)b, (float*)a,"));
}

TEST(HostFunction, MayTakeVectors) {
  const auto found = [](const std::string& body) {
    const std::string source = R"cu(
#include <vector>
void blend(const std::vector<float>& p, std::vector<float>& r, float by) {
)cu" + body + R"cu(
}
__global__ void k(const float* a, float* c, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] * by;
}
int main() {
  int n = 4096;
  float *d_a, *d_c;
  std::vector<float> one(n), other(n);
  cudaMalloc(&d_a, n * 4);
  cudaMalloc(&d_c, n * 4);
  cudaMemcpy(d_a, one.data(), n * 4, cudaMemcpyHostToDevice);
  k<<<n / 256, 256>>>(d_a, d_c, 2.0f);
  blend(one, other, 2.0f);
}
)cu";
    KernelFile file = read_kernel_file(FlatSource(source));
    add_host(read_host(FlatSource(source)), file);
    const DraftRequest request = {
        .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}};
    return host_function_for(source, as_launched(file, request), file, launch_of(file, request));
  };
  const auto sized = found("for (size_t i = 0; i < p.size(); ++i) r[i] = p[i] * by;");
  ASSERT_TRUE(sized);
  EXPECT_THAT(sized->source, HasSubstr("blend(const float* p, float* r, float by, long p_size)"));
  EXPECT_THAT(sized->source, HasSubstr("i < p_size; ++i) r[i] = p[i] * by;"));
  EXPECT_THAT(sized->source, HasSubstr("blend((float*)a, (float*)c, by, p_size);"));
  ASSERT_EQ(sized->scalars.size(), 1);
  EXPECT_EQ(sized->scalars[0].passed, "one.size()");
  EXPECT_FALSE(found("for (auto x = p.begin(); x != 0;) r[0] += *x;"));
}

TEST(HostFunction, IsNoneWhereTwoOfItsArraysWouldBeOne) {
  const std::string source = R"cu(
__global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
void mix(float* result, float* one, float* other, int count) {
  for (int i = 0; i < count; ++i) { one[i] += 1; result[i] = one[i] * other[i]; }
}
int main() {
  float *d_x, *d_y, *x, *y, *z;
  cudaMalloc(&d_x, 4096 * 4);
  cudaMemcpy(d_x, x, 4096 * 4, cudaMemcpyHostToDevice);
  k<<<16, 256>>>(d_x);
  mix(z, x, y, 4096);
}
)cu";
  KernelFile file = read_kernel_file(FlatSource(source));
  add_host(read_host(FlatSource(source)), file);
  const DraftRequest request = {
      .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}};
  EXPECT_FALSE(
      host_function_for(source, as_launched(file, request), file, launch_of(file, request)));
}

/// Returns the initial contents of `in` of such a kernel.
std::string begins_with(const std::string& type, const std::string& body) {
  const Json json = Drafted(
                        "__device__ unsigned hash(unsigned k) { k ^= k >> 16; return k * 31; }\n"
                        "__device__ int steps(int k) { int s = 0; while (k > 1) { k /= 2; ++s; } "
                        "return s; }\n"
                        "__global__ void k(const " +
                        type + "* in, unsigned* out, float* real, int n) {\n" +
                        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "}\n")
                        .json();
  return json["arguments"][0]["init"];
}

TEST(DraftSpace, ProposesAnyIntegerWhereValuesIndexAndCountNothing) {
  for (const char* const body :
       {"out[i] = in[i] * 3;", "unsigned key = in[i]; out[(key >> 8) & 255] = key;",
        "out[i] = hash(in[i]);", "out[in[i] % n] = i;",
        "__shared__ unsigned t[64]; t[threadIdx.x] = in[i]; out[i] = t[63 - threadIdx.x];",
        "if (in[i] < in[i + 1]) out[i] = 1;"}) {
    EXPECT_EQ("uniform", begins_with("unsigned", body)) << body;
  }
  EXPECT_EQ("uniform", begins_with("unsigned char", "real[i] = in[i] * 0.5f;"));
}

TEST(DraftSpace, ProposesSmallIntegersWhereValuesCountOrBecomeFractions) {
  for (const char* const body :
       {"for (int k = 0; k < in[i]; ++k) out[i] += k;", "out[i] = 1 << in[i];",
        "int s = in[i]; out[i] = 7 >> s;", "out[i] = steps(in[i]);",
        "const unsigned* p = in + i; out[i] = *p;", "real[i] = in[i] * 0.5f;"}) {
    EXPECT_EQ("uniform(0, 100)", begins_with("unsigned", body)) << body;
  }
  EXPECT_EQ("uniform(0, 1)", begins_with("bool", "out[i] = in[i] ? 1 : 2;"));
}

TEST(DraftSpace, AsksForTheRangeOfIndices) {
  for (const char* const body :
       {"out[in[i]] = i;", "int at = in[i] + 1; out[at] = i;", "out[in[i] & ~3] = i;",
        "__shared__ int t[64]; t[threadIdx.x] = in[i]; out[t[threadIdx.x ^ 1]] = i;"}) {
    EXPECT_THAT(begins_with("int", body), HasSubstr("TODO: they choose")) << body;
  }
  EXPECT_THAT(begins_with("int", "out[in[i] % n] = i;"), HasSubstr("TODO: they choose"))
      << "a remainder may be negative";
}

TEST(DraftSpace, AsksForWhatALoopHasMadeOfAParameter) {
  const Drafted drafted(R"(
__global__ void k(float* o, int bits) { o[blockIdx.x * blockDim.x + threadIdx.x] = bits; }
void batches(float* d, int count, int bits) {
  for (; bits > 11; bits -= 2, count <<= 2) use(count);
  k<<<count, 256>>>(d, bits);
}
int main() { float* d; cudaMalloc(&d, 4096 * sizeof(float)); batches(d, 1, 23); }
)");
  EXPECT_EQ(drafted.json()["kernels"][0]["grid"], Json::parse(R"(["COUNT"])"));
  EXPECT_THAT(drafted.faults(), ElementsAre(HasSubstr("TODO: BITS"), HasSubstr("TODO: COUNT")));
}

TEST(DraftSpace, ReadsAndWritesABufferThatALaunchIsPassedTwice) {
  const Drafted drafted(R"(
__global__ void first(float* to, float* from) { to[threadIdx.x] = from[255 - threadIdx.x]; }
__global__ void second(float* to, float* from, int n) { to[threadIdx.x] = n * from[threadIdx.x]; }
int main() {
  float *d, *e;
  cudaMalloc(&d, 256 * sizeof(float));
  cudaMalloc(&e, 256 * sizeof(float));
  first<<<1, 256>>>(d, d);
  second<<<1, 256>>>(e, d, 2);
}
)");
  EXPECT_EQ(drafted.json()["arguments"][0]["role"], "inout");
  EXPECT_EQ(drafted.json()["arguments"][1]["role"], "output");
}

TEST(DraftSpace, CountsWhatAFunctionAllocatesThatIsPassedTheSizeOfAnElement) {
  const Drafted drafted(R"(
__global__ void ones(float* o, int n) { o[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
void prepare(float*& there, int count, int size) { cudaMalloc((void**)&there, count * size); }
int main() {
  int n = 4096;
  float* d;
  prepare(d, n, sizeof(float));
  ones<<<n / 256, 256>>>(d, n);
}
)");
  EXPECT_EQ(drafted.json()["arguments"][0]["shape"], Json::parse(R"(["N"])"));
}

TEST(DraftSpace, TakesWhatTheHostAddsUpForEachBlock) {
  const Drafted drafted(R"(
#define THREADS 256
__global__ void sums(const float* in, float* out) {
  __shared__ float s[THREADS];
  s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
bool equal(float* a, float* b, int n) {
  for (int i = 0; i < n; i++) if (fabs(a[i] - b[i]) > 0.01) return false;
  return true;
}
int main() {
  const int n = 1 << 20;
  const int blocks = n / THREADS;
  float *d_in, *d_out;
  float* in = (float*)malloc(n * sizeof(float));
  float* out = (float*)malloc(blocks * sizeof(float));
  float* right = (float*)malloc(blocks * sizeof(float));
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, blocks * sizeof(float));
  for (int i = 0; i < blocks; i++) {
    float sum = 0;
    for (int j = 0; j < THREADS; j++) sum += in[i * THREADS + j];
    right[i] = sum;
  }
  cudaMemcpy(d_in, in, n * sizeof(float), cudaMemcpyHostToDevice);
  sums<<<blocks, THREADS>>>(d_in, d_out);
  cudaMemcpy(out, d_out, blocks * sizeof(float), cudaMemcpyDeviceToHost);
  if (!equal(out, right, blocks)) printf("wrong");
}
)");
  const Json json = drafted.json();
  EXPECT_EQ(json["kernels"][0]["parameters"]["THREADS"].front(), 64);
  EXPECT_EQ(json["kernels"][0]["grid"][0], "N / THREADS");
  const Json& out = json["arguments"][1];
  EXPECT_EQ(out["compare"], "sum") << "their number depends on THREADS";
  EXPECT_EQ(out["shape"][0], "N / 64") << "the most";
  EXPECT_EQ(out["role"], "inout");
  EXPECT_EQ(out["init"], "zero");
  EXPECT_EQ(json["verify"]["definition"], "out[i] = sum(j_0 < 64, (in[i * 64 + j_0]))");
}

TEST(DraftSpace, ComparesTheSumOfSeveralKernelsWhoseBlocksAddUp) {
  const auto kernel = [](const std::string& name, const std::string& value) {
    return "__global__ void " + name + "(const float* in, float* out) {\n" +
           "  extern __shared__ float s[]; int t = threadIdx.x; int b = blockDim.x;\n  s[t] = " +
           value +
           ";\n  __syncthreads();\n"
           "  for (int k = b / 2; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; }\n"
           "  if (t == 0) out[blockIdx.x] = s[0];\n}\n";
  };
  const Json json =
      Drafted(
          kernel("one", "in[blockIdx.x * b + t]") +
          kernel("two",
                 "in[blockIdx.x * blockDim.x * 2 + t] + in[blockIdx.x * blockDim.x * 2 + b + t]") +
          "int main() {\n  int n = 65536; float *a, *b; float h[65536], r[256];\n"
          "  cudaMalloc(&a, n * 4); cudaMalloc(&b, n / 256 * 4);\n"
          "  float sum = 0; for (int i = 0; i < n; ++i) sum += h[i];\n"
          "  cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);\n"
          "  one<<<n / 256, 256, 256 * 4>>>(a, b);\n"
          "  cudaMemcpy(r, b, n / 256 * 4, cudaMemcpyDeviceToHost);\n"
          "  float all = 0; for (int i = 0; i < n / 256; ++i) all += r[i];\n"
          "  if (fabs(all - sum) > 1e-3) return 1;\n"
          "  two<<<n / 512, 256, 1024>>>(a, b);\n}\n")
          .json();
  EXPECT_EQ(json["arguments"][1]["shape"].dump(), R"(["N / 64"])");
  EXPECT_EQ(json["arguments"][1]["compare"], "sum");
  EXPECT_EQ(json["verify"]["definition"],
            "out[i] = sum(i_0 < N * (i + 1) / (N / 64) - N * i / (N / 64), in[N * i / (N / 64) + "
            "i_0])");
  EXPECT_FALSE(json["verify"].contains("definition_is_a_guess"));
  EXPECT_EQ(json["kernels"][0]["grid"].dump(), R"(["N / THREADS"])");
  EXPECT_EQ(json["kernels"][0]["dynamic_shared_bytes"], "THREADS * 4");
  EXPECT_EQ(json["kernels"][1]["grid"].dump(), R"json(["N / (THREADS * 2)"])json");
  EXPECT_EQ(json["kernels"][1]["constraints"].dump(), R"json(["N % (THREADS * 2) == 0"])json");
  EXPECT_EQ(json["kernels"][1]["dynamic_shared_bytes"], "max(1024, THREADS * 4)");
}

TEST(DraftSpace, ComparesTheSumWhereOnlyWhatEachBlockAddsUpDependsOnTheBlock) {
  const std::string kernel = R"(
#define THREADS 256
__global__ void sums(const float* in, float* out, int n) {
  __shared__ float s[THREADS];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  s[threadIdx.x] = sum;
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    __syncthreads();
    if (threadIdx.x < k) s[threadIdx.x] = ADD(s[threadIdx.x], s[threadIdx.x + k]);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
int main() {
  const int n = 1 << 20;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, 640 * sizeof(float));
  sums<<<640, THREADS>>>(in, out, n);
})";
  const Json sum = Drafted("#define ADD(a, b) (a) + (b)\n" + kernel).json()["arguments"][1];
  EXPECT_EQ(sum["shape"][0], 640);
  EXPECT_EQ(sum["compare"], "sum");
  EXPECT_EQ(sum["role"], "inout") << "what no block writes stays 0";
  const Json most = Drafted("#define ADD(a, b) fmaxf(a, b)\n" + kernel).json()["arguments"][1];
  EXPECT_FALSE(most.contains("compare"));
  EXPECT_EQ(most["role"], "output");
}

TEST(DraftSpace, LetsResultsOfSeveralKernelsFollowANumberThatIsMadeOfTheBlock) {
  const auto kernel = [](const std::string& name) {
    return "__global__ void " + name +
           "(const float* in, float* out, int n) {\n  extern __shared__ float s[];\n"
           "  int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;\n"
           "  s[t] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);\n"
           "  for (int k = blockDim.x / 2; k > 0; k /= 2) {\n"
           "    __syncthreads(); if (t < k) s[t] += s[t + k]; }\n"
           "  if (t == 0) out[blockIdx.x] = s[0];\n}\n";
  };
  const Json json =
      Drafted(kernel("one") + kernel("two") +
              "int main() {\n  int n = 1 << 20, threads = 128;\n"
              "  int per_block = threads * 2, blocks = (n + per_block - 1) / per_block;\n"
              "  float *a, *b;\n  cudaMalloc(&a, n * 4); cudaMalloc(&b, blocks * 4);\n"
              "  one<<<blocks, threads, threads * 4>>>(a, b, n);\n"
              "  two<<<blocks, threads, threads * 4>>>(a, b, n);\n}\n")
          .json();
  EXPECT_EQ(json["problems"].dump(), R"([{"N":1048576}])");
  EXPECT_EQ(json["arguments"][1]["compare"], "sum");
  for (const Json& one : json["kernels"]) {
    EXPECT_EQ(one["grid"][0], "(N + (THREADS * 2) - 1) / (THREADS * 2)") << one["name"];
  }
}

/// Returns the draft of sums by blocks of a template, of which a launch begins so.
Drafted sums_by_template(const std::string& macros, const std::string& launch) {
  return Drafted(macros + R"cu(
template <unsigned kThreads>
__global__ void sums(const float* in, float* out) {
  static_assert(kThreads % 32 == 0);
  __shared__ float kept[BLOCK];
  kept[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int k = kThreads / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) kept[threadIdx.x] += kept[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = kept[0];
}
int main() {
  const int n = 1 << 20;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n / BLOCK * sizeof(float));
)cu" + launch + "<<<n / BLOCK, BLOCK>>>(in, out);\n}\n");
}

TEST(DraftSpace, PassesForATemplateParameterWhatTheHostMakesOfAMacro) {
  const std::string macro = "#ifndef BLOCK\n#define BLOCK 256\n#endif\n";
  for (const auto& [macros, launch, entry] : std::vector<std::array<std::string, 3>>{
           {macro, "sums<BLOCK>", "sums<BLOCK>"},
           {macro, "sums<BLOCK / 2>", "sums<BLOCK / 2>"},
           {"constexpr int BLOCK = 256;\n", "constexpr int half = BLOCK / 2; sums<half>",
            "sums<BLOCK / 2>"}}) {
    const Drafted drafted = sums_by_template(macros, launch);
    const Json kernel = drafted.json()["kernels"][0];
    EXPECT_EQ(kernel["entry"], entry) << macros << launch;
    EXPECT_EQ(kernel["parameters"].size(), 1U) << launch;
    EXPECT_GT(kernel["parameters"]["BLOCK"].size(), 2U) << launch;
    EXPECT_EQ(kernel["block"][0], "BLOCK");
    EXPECT_EQ(kernel["grid"][0], "N / BLOCK");
    EXPECT_THAT(drafted.faults(), IsEmpty());
  }
  const Json half = sums_by_template(macro, "sums<BLOCK / 2>").json()["kernels"][0];
  EXPECT_EQ(half["constraints"][0], "(BLOCK / 2) % 32 == 0") << "as the kernel asserts";
  const std::string chooses =
      "if (n > 5) sums<BLOCK / 2><<<n / BLOCK, BLOCK>>>(in, out); else sums<BLOCK / 4>";
  EXPECT_EQ(sums_by_template(macro, chooses).json()["kernels"][0]["entry"], "sums<kThreads>")
      << "the host takes several values";
  const Json other = sums_by_template(macro, "sums<64>").json()["kernels"][0];
  EXPECT_EQ(other["entry"], "sums<kThreads>") << "no other parameter decides it";
  EXPECT_EQ(other["parameters"].size(), 2U);
}

TEST(DraftSpace, PassesTheTemplateThatTheHostOrTheDefaultHas) {
  const std::string source = R"cu(
template <typename T> struct Twice { __device__ T operator()(T x) { return 2 * x; } };
template <typename T> struct Half { __device__ T operator()(T x) { return x / 2; } };
template <typename T, template <typename> class Map = Twice> __global__ void mapped(T* x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = Map<T>()(x[blockIdx.x * blockDim.x + threadIdx.x]);
}
int main() {
  float* x;
  cudaMalloc(&x, 4096 * sizeof(float));
)cu";
  for (const auto& [launch, entry] : std::map<std::string, std::string>{
           {"mapped<float>", "mapped<T, Twice>"}, {"mapped<float, Half>", "mapped<T, Half>"}}) {
    const Json kernel =
        Drafted(source + launch + "<<<4096 / 128, 128>>>(x);\n}\n").json()["kernels"][0];
    EXPECT_EQ(kernel["entry"], entry);
    EXPECT_EQ(kernel["parameters"].size(), 1U) << "the threads of a block";
    EXPECT_FALSE(kernel.contains("default_is_a_guess"));
  }
}

TEST(DraftSpace, SearchesAMacroAsTheTemplateParameterThatItIsPassedFor) {
  const Json kernel = Drafted(R"cu(
#define DIM 128
template <int THREADS> __global__ void reversed(float* x) {
  __shared__ float kept[DIM];
  kept[threadIdx.x] = x[blockIdx.x * THREADS + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * THREADS + threadIdx.x] = kept[THREADS - 1 - threadIdx.x];
}
int main() {
  float* x;
  cudaMalloc(&x, 4096 * sizeof(float));
  reversed<DIM><<<4096 / DIM, DIM>>>(x);
}
)cu")
                          .json()["kernels"][0];
  EXPECT_EQ(kernel["entry"], "reversed<DIM>");
  EXPECT_EQ(kernel["parameters"].size(), 1U);
  EXPECT_GT(kernel["parameters"]["DIM"].size(), 2U) << "the name of the macro says nothing";
  EXPECT_THAT(kernel["description"], Not(HasSubstr("has one value")));
}

TEST(DraftSpace, AsksForTheSizesOfArraysThatOneFunctionAllocates) {
  const Drafted drafted(R"(
struct Matrix { int rows, columns; float* elements; };
__global__ void add_row(float* a, const float* row) { a[blockIdx.x * 64 + threadIdx.x] += row[0]; }
Matrix on_device(Matrix like) {
  Matrix made = like;
  int size = like.rows * like.columns * sizeof(float);
  cudaMalloc((void**)&made.elements, size);
  return made;
}
void to_device(Matrix to, Matrix from) {
  int size = to.rows * to.columns * sizeof(float);
  cudaMemcpy(to.elements, from.elements, size, cudaMemcpyHostToDevice);
}
void run(Matrix a, Matrix row) {
  Matrix d_a = on_device(a);
  Matrix d_row = on_device(row);
  to_device(d_a, a);
  to_device(d_row, row);
  add_row<<<64, 64>>>(d_a.elements, d_row.elements);
}
)");
  EXPECT_THAT(drafted.faults(), testing::IsSupersetOf({HasSubstr("TODO: elements of a"),
                                                       HasSubstr("TODO: elements of row")}));
}

TEST(DraftSpace, LeavesOutSizesOfArraysThatOnlyTheCallerHas) {
  const Drafted drafted(R"(
__global__ void scale(float* out, const float* weights) { out[threadIdx.x] *= weights[0]; }
float* make_weights(int half) {
  int width = 2 * half + 1;
  float* weights = (float*)malloc(width * sizeof(float));
  return weights;
}
void run(float* h_weights, int half) {
  float *d_out, *d_weights;
  int size = 2 * half + 1;
  cudaMalloc(&d_out, 256 * sizeof(float));
  cudaMalloc(&d_weights, size * sizeof(float));
  cudaMemcpy(d_weights, h_weights, size * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<1, 256>>>(d_out, d_weights);
}
int main() { float* weights = make_weights(8); run(weights, 8); }
)");
  EXPECT_THAT(drafted.faults(), IsEmpty());
  EXPECT_EQ(drafted.json()["problems"][0].size(), 1u);
}

TEST(DraftSpace, MakesNoParameterOfAFunctionThatAMacroCalls) {
  const Drafted drafted(R"(
#define ROOT (sqrtf(3.0f) - 2.0f)
__global__ void k(float* out, const float* in) { out[threadIdx.x] = ROOT * in[threadIdx.x] * SCALE; }
)");
  const Json parameters = drafted.json()["kernels"][0]["parameters"];
  EXPECT_TRUE(parameters.contains("SCALE"));
  EXPECT_FALSE(parameters.contains("sqrtf"));
}

TEST(DraftSpace, KnowsTheTypesThatACallWithAnUnknownTypePasses) {
  const Drafted drafted(R"(
template <class T, class Four> __global__ void k(T* out) { ((Four*)out)[threadIdx.x] = Four(); }
template <class T, class Four> void run(Results& results) {
  T* d;
  cudaMalloc(&d, 256 * sizeof(T));
  k<T, Four><<<1, 64>>>(d);
}
void run_all(Results& results) { run<float, float4>(results); }
)");
  EXPECT_EQ(drafted.json()["problems"][0]["T"], "float");
  EXPECT_EQ(drafted.json()["problems"][0]["Four"], "float4");
}

TEST(DraftSpace, HasASmallProblemWhoseBlockFits) {
  const Drafted drafted(R"(
__global__ void scan(float* x, int n) { x[2 * threadIdx.x + 1] += x[2 * threadIdx.x]; }
void run(float* x, int n) { scan<<<1, n / 2>>>(x, n); }
)");
  EXPECT_EQ(drafted.json()["cpu_problems"][0]["N"], 2048);
}

TEST(DraftSpace, HasASmallProblemOfWholeBlocks) {
  const Drafted drafted(R"(
__global__ void twice(float* x) { x[blockIdx.x * 96 + threadIdx.x] *= 2; }
int main() {
  int n = 96 * 10000;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  twice<<<n / 96, 96>>>(x);
}
)");
  const auto n = drafted.json()["cpu_problems"][0].items().begin().value().get<int>();
  EXPECT_EQ(n % 96, 0) << "the kernel asks for no end";
}

TEST(DraftSpace, BeginsWithAKernelThatTheHostLaunches) {
  TemporaryFolder folder;
  folder.write("k.cuh",
               "__global__ void unused(float* o, int n) { o[threadIdx.x] = n; }\n"
               "__global__ void ones(float* o, int n) { o[threadIdx.x] = 1; }\n");
  folder.write("mine.cu",
               "#include \"k.cuh\"\n"
               "int main() {\n  float* o; cudaMalloc(&o, 64 * sizeof(float));\n"
               "  ones<<<1, 64>>>(o, 64);\n}\n"
               "void clear(float* o) { cudaMemset(o, 0, 4); }\n");
  const auto first = [&] {
    const FlatSource flat = with_copy_kernels(read_flat_source(folder.path() / "mine.cu"));
    KernelFile file = read_kernel_file(flat);
    add_host(read_host(flat), file);
    const KernelFunction* kernel = first_kernel(flat, file);
    return kernel == nullptr ? std::vector<std::string>() : kernels_like(file, kernel->name);
  };
  EXPECT_THAT(first(), ElementsAre("ones", "unused"));
  folder.write("k.cuh", "void ones();\n");
  EXPECT_THAT(first(), IsEmpty()) << "what clears the array is none of the user's kernels";
}

}  // namespace
}  // namespace smemtune
