#include "tuner/init/host_function.h"

#include "tuner/config/json_reader.h"
#include "tuner/init/copies.h"
#include "tuner/init/host_reader.h"
#include "tuner/init/space_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A source, the function of the host that says what its kernel `k` is to compute, and the space.
class Witnessed {
 public:
  explicit Witnessed(const std::string& source) {
    KernelFile file = read_kernel_file(FlatSource(source));
    add_host(read_host(FlatSource(source)), file);
    DraftRequest request = {
        .name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}};
    found = host_function_for(source, as_launched(file, request), file, launch_of(file, request));
    if (!found) return;
    request.witness = found;
    const FlatSource both(found->source);
    KernelFile with = read_kernel_file(both);
    add_host(read_host(both), with);
    const SpaceDraft draft = draft_space(both, with, request);
    is_taken = draft.has_witness;
    json = parse_json(draft.text, "mine.json");
  }

  std::optional<HostFunction> found;
  bool is_taken = false;
  Json json;
};

/// Returns the space of kernel `k` without a function of the host.
Json drafted(const std::string& source) {
  KernelFile file = read_kernel_file(FlatSource(source));
  add_host(read_host(FlatSource(source)), file);
  const SpaceDraft draft = draft_space(
      FlatSource(source), file,
      {.name = "mine", .written_from = "mine.cu", .source = "mine.cu", .kernels = {"k"}});
  return parse_json(draft.text, "mine.json");
}

/// Returns a program whose function `gold` has this body.
std::string with_gold(const std::string& body) {
  return "#include <vector>\n"
         "void gold(const float* in, float* out, int n) {\n  " +
         body +
         "\n  for (int i = 0; i < n; ++i) out[i] = in[i];\n}\n"
         "__global__ void k(const float* in, float* out, int n) { out[n] = in[0]; }\n";
}

TEST(HostFunction, HasAHeapForItself) {
  const auto source = [](const std::string& body) {
    const Witnessed one(with_gold(body));
    return one.found ? one.found->source : "";
  };
  EXPECT_THAT(source("float* row = (float*)malloc(n * 4); row[0] = 1; std::free(row);"),
              HasSubstr("float* row = (float*)smemtune_malloc(n * 4); row[0] = 1; "
                        "smemtune_free(row);"));
  EXPECT_THAT(source("double* row = new double[std::max(n, 2)]; delete[] row;"),
              HasSubstr("double* row = (double*)smemtune_calloc(max(n, 2), sizeof(double)); "
                        "smemtune_free(row);"));
  EXPECT_THAT(source("std::vector<int> row(n + 1, 0); for (int i : {1}) row[i] = row.size();"),
              HasSubstr("const long row_size = n + 1; int* row = (int*)smemtune_calloc(row_size, "
                        "sizeof(int)); for (int i : {1}) row[i] = row_size;"));
  const std::string with = source("int* row = new int[n]();");
  EXPECT_THAT(with, HasSubstr("smemtune_calloc(n, sizeof(int));"));
  EXPECT_THAT(with, HasSubstr("{\n  smemtune_heap_end = 0;\n"));
  EXPECT_THAT(source("int row = n;"), Not(HasSubstr("smemtune_")));
  EXPECT_EQ(source("std::vector<int> row(n, 1);"), "") << "they are not zero";
  EXPECT_EQ(source("std::vector<int> row(n); row.push_back(1);"), "");
  EXPECT_EQ(source("std::vector<std::vector<int>> rows(n);"), "");
  EXPECT_EQ(source("int* one = new int(n);"), "");
  EXPECT_EQ(source("Pair* pairs = new Pair[n];"), "") << "it may have a constructor";
  EXPECT_EQ(source("int row_size = n; { std::vector<int> row(row_size); row[0] = 1; }"), "")
      << "the name of the vector's size is another's";
  const Witnessed of_template(
      "template <class T> void gold(const T* in, T* out, int n) { T* row = new T[n]; "
      "for (int i = 0; i < n; ++i) out[i] = in[i] + row[i]; }\n"
      "__global__ void k(const float* in, float* out, int n) { out[n] = in[0]; }\n");
  ASSERT_TRUE(of_template.found);
  EXPECT_THAT(of_template.found->source, HasSubstr("(T*)smemtune_calloc(n, sizeof(T))"));
}

TEST(HostFunction, MayTakeStructuresWithPointers) {
  const auto witnessed = [](const std::string& use) {
    return Witnessed(R"(
typedef struct { int size; float *data, *more; } Image;
void gold(Image in, const float by, Image* out) { )" +
                     use + R"( }
__global__ void k(const float* a, float* c, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * by;
}
int main() {
  Image h, result, d, d_result, expected;
  int n = 4096;
  cudaMalloc(&d.data, n * 4);
  cudaMalloc(&d_result.data, n * 4);
  cudaMemcpy(d.data, h.data, n * 4, cudaMemcpyHostToDevice);
  h.size = n;
  k<<<n / 256, 256>>>(d.data, d_result.data, 2.0f, h.size);
  cudaMemcpy(result.data, d_result.data, n * 4, cudaMemcpyDeviceToHost);
  gold(h, 2.0f, &expected);
}
)");
  };
  const Witnessed one =
      witnessed("for (int i = 0; i < in.size; ++i) out->data[i] = in.data[i] * by;");
  ASSERT_TRUE(one.is_taken);
  EXPECT_THAT(one.found->source,
              HasSubstr("gold_by_one_thread(const float* a, float* c, float by, int n) {\n"
                        "  Image its_in;\n  its_in.size = n;\n  its_in.data = (float*)a;\n"
                        "  Image its_out;\n  its_out.data = (float*)c;\n"
                        "  gold(its_in, by, &its_out);\n}"));
  EXPECT_FALSE(witnessed("Image all = in; for (;;) out->data[0] = all.data[0] * by;").found);
}

TEST(HostFunction, TakesAStructureWithoutPointersAsTheKernelDoes) {
  const Witnessed one(R"(
struct Sizes { int rows, columns; };
void gold(const float* in, float* out, Sizes p) { for (int i = 0; i < p.rows; ++i) out[i] = in[i]; }
__global__ void k(const float* in, float* out, Sizes p) {
  if (threadIdx.x < p.rows) out[threadIdx.x] = in[threadIdx.x];
}
)");
  ASSERT_TRUE(one.found);
  EXPECT_THAT(one.found->arguments, ElementsAre("in", "out", "p"));
}

/// Returns a program whose kernel takes one size, which is made of two that `gold` takes.
std::string flattened(const std::string& passed) {
  return R"(
void gold(float* out, const float* in, int rows, int columns) {
  for (int i = 0; i < rows * columns; ++i) out[i] = 2 * in[i];
}
__global__ void k(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
void run(float* out, const float* in, int rows, int columns) {
  int n = rows * columns;
  k<<<(n + 255) / 256, 256>>>(out, in, n);
}
int main() {
  int rows = 4, columns = 1024;
  float *d_in, *d_out, *in, *out;
  cudaMalloc(&d_in, rows * columns * 4);
  cudaMalloc(&d_out, rows * columns * 4);
  cudaMemcpy(d_in, in, rows * columns * 4, cudaMemcpyHostToDevice);
  gold(out, in, )" +
         passed + R"();
  run(d_out, d_in, rows, columns);
}
)";
}

TEST(HostFunction, MakesTheFactorsThatItTakesSizes) {
  const Witnessed one(flattened("rows, columns"));
  ASSERT_TRUE(one.is_taken);
  EXPECT_EQ(one.json["problems"].dump(), R"([{"ROWS":4,"COLUMNS":1024}])");
  EXPECT_EQ(one.json["arguments"][0]["shape"].dump(), R"(["ROWS * COLUMNS"])");
  EXPECT_EQ(one.json["arguments"][2]["value"], "ROWS * COLUMNS");
  EXPECT_EQ(one.json["arguments"][3]["value"], "ROWS");
  EXPECT_EQ(one.json["arguments"][4]["value"], "COLUMNS");
}

TEST(HostFunction, IsHeldAgainstWhatTheKernelSeemsToCompute) {
  const Witnessed one(flattened("rows, columns"));
  EXPECT_THAT(one.json["verify"]["definition"].get<std::string>(), HasSubstr("out[i] = "));
  EXPECT_FALSE(one.json["verify"].contains("definition_is_a_guess"));
}

TEST(HostFunction, AnswersForAnotherProblemThanTheOneThatIsTuned) {
  std::string source = flattened("rows, columns");
  source.replace(source.find("1024"), 4, "5");
  const Witnessed one(source);
  ASSERT_TRUE(one.is_taken);
  EXPECT_NE(one.json["verify"]["also"], one.json["problems"]);
  EXPECT_NE(one.json["verify"]["also"], one.json["cpu_problems"]);
}

TEST(HostFunction, IsNoneWhereItsScalarsDoNotFollowASmallProblem) {
  const Witnessed one(flattened("rows + 0, columns * 1"));
  ASSERT_TRUE(one.found);
  EXPECT_FALSE(one.is_taken);
}

TEST(HostFunction, KnowsItsLine) { EXPECT_EQ(Witnessed(with_gold("")).found->line, 2); }

/// Returns a program whose kernel cannot be read, with what its host does to check the results.
std::string checked(const std::string& functions, const std::string& check) {
  return R"(
#include <cassert>
#include <vector>
using std::vector;
__constant__ float weights[3];
__global__ void k(const float* in, float* out, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) out[i] = 2 * tile[threadIdx.x] + weights[0];
}
)" + functions +
         R"(
int main() {
  int n = 4096;
  float *h_in = new float[n], *h_out = new float[n], *d_in, *d_out, h_weights[3];
  vector<float> v_in(n), v_out(n);
  cudaMalloc(&d_in, n * 4);
  cudaMalloc(&d_out, n * 4);
  cudaMemcpy(d_in, h_in, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d_in, v_in.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(weights, h_weights, 12);
  k<<<n / 256, 256>>>(d_in, d_out, n);
  cudaMemcpy(h_out, d_out, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(v_out.data(), d_out, n * 4, cudaMemcpyDeviceToHost);
  bool same = true;
  int wrong = 0, i;
  )" + check +
         "\n}\n";
}

TEST(HostFunction, IsMadeOfTheFunctionThatComparesTheResults) {
  const Witnessed one(checked(R"(
bool verify(vector<float> in, const vector<float>& out, int n) {
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < 2; ++j) sum += in[i];
    if (out[i] != sum) {
      printf("wrong at %d\n", i);
      return false;
    }
  }
  std::cout << "right" << 1 << "\n";
  return true;
})",
                              "verify(v_in, v_out, n);"));
  ASSERT_TRUE(one.is_taken);
  EXPECT_THAT(
      one.found->source,
      HasSubstr("bool expected_by_verify(float* in, float* out, int n) { "
                "for (int i = 0; i < n; ++i) { float sum = 0; "
                "for (int j = 0; j < 2; ++j) sum += in[i]; out[i] = sum; } ;return true; }"));
  EXPECT_EQ(one.found->line, 14);
  EXPECT_THAT(one.json["verify"]["description"].get<std::string>(),
              HasSubstr("compared with what verify() expects in the source"));
}

TEST(HostFunction, IsMadeOfEveryKindOfComparison) {
  const auto stores = [](const std::string& comparison) {
    const Witnessed one(
        checked("void check(float* in, float* out, int n) { float worst = 0; for (int i = 0; i < "
                "n; ++i) { " +
                    comparison + " } }",
                "check(h_in, h_out, n);"));
    return one.found ? one.found->source : "";
  };
  const std::string store = "++i) { out[i] = 2 * in[i];";
  EXPECT_THAT(stores("assert(2 * in[i] == out[i]);"), HasSubstr(store));
  EXPECT_THAT(stores("if (fabs(out[i] - 2 * in[i]) > 1e-5) exit(1);"), HasSubstr(store));
  EXPECT_THAT(stores("if (!(out[i] == 2 * in[i])) exit(1);"), HasSubstr(store));
  EXPECT_THAT(stores("worst = fmax(worst, fabs(out[i] - 2 * in[i]));"), HasSubstr(store));
  EXPECT_THAT(stores("const float error = out[i] - 2 * in[i]; worst += error;"),
              HasSubstr(store + " const float error = "));
  EXPECT_THAT(stores("const float got = out[i]; if (got != 2 * in[i]) exit(1);"),
              HasSubstr("const float got = out[i]; out[i] = 2 * in[i];"));
  EXPECT_EQ(stores("if (out[i] == 2 * in[i]) continue;"), "") << "they may be filtered";
  EXPECT_EQ(stores("if (out[i] != 0) worst = in[i];"), "") << "a number is no result";
  EXPECT_EQ(stores("if (i > 1) if (out[i] != 2 * in[i]) exit(1);"), "") << "the first are left out";
}

TEST(HostFunction, IsMadeOfALoopThatComparesTheResults) {
  const Witnessed one(checked("", R"(for (i = 0; i < n; i++) {
    float expected = in_range(h_in[i]) ? 2 * h_in[i] : 0;
    if (h_out[i] != expected) { same = false; wrong++; }
  })"));
  ASSERT_TRUE(one.found);
  EXPECT_THAT(one.found->source,
              HasSubstr("void expected_by_main_28(int n, float* h_in, float* h_out) { int i; "
                        "for (i = 0; i < n; i++) { float expected = in_range(h_in[i]) ? "));
  const auto found = [](const std::string& loop) {
    return Witnessed(checked("", loop)).found.has_value();
  };
  EXPECT_TRUE(found("for (i = 0; i < n; ++i) wrong += h_out[i] != 2 * h_in[i];"));
  EXPECT_FALSE(found("for (i = 0; i < 10; ++i) wrong += h_out[i] != 2 * h_in[i];"));
  EXPECT_FALSE(found("for (i = 1; i < n; ++i) wrong += h_out[i] != 2 * h_in[i];"));
  EXPECT_FALSE(found("for (i = 0; i < n; i += 7) wrong += h_out[i] != 2 * h_in[i];"));
  EXPECT_FALSE(found("for (i = 0; i < n; ++i) wrong += h_out[i] != i;")) << "of its data";
  EXPECT_FALSE(
      found("wrong = read(); for (i = 0; i < n; ++i) if (h_out[i] != wrong++ * h_in[i]) "
            "same = false;"))
      << "nothing says what it begins with";
}

TEST(HostFunction, IsMadeOfTheCheckBehindTheLaunch) {
  const std::string twice = "for (i = 0; i < n; ++i) wrong += h_out[i] != 2 * h_in[i];\n";
  const std::string same = "for (i = 0; i < n; ++i) wrong += h_out[i] != 1 * h_in[i];\n";
  std::string source = checked("__global__ void other(const float* in, float* out) {}", twice);
  source.insert(
      source.find("  k<<<"),
      "  bool same = true;\n  int wrong = 0, i;\n  other<<<n / 256, 256>>>(d_in, d_out);\n"
      "  cudaMemcpy(h_out, d_out, n * 4, cudaMemcpyDeviceToHost);\n  " +
          same);
  const Witnessed one(source);
  ASSERT_TRUE(one.found);
  EXPECT_THAT(one.found->source, HasSubstr("h_out[i] = 2 * h_in[i];"));
  EXPECT_FALSE(Witnessed(checked("__global__ void other(float* out) {}",
                                 "other<<<n / 256, 256>>>(d_out);\n"
                                 "cudaMemcpy(h_out, d_out, n * 4, cudaMemcpyDeviceToHost);\n" +
                                     twice))
                   .found)
      << "another kernel has changed the results";
  EXPECT_TRUE(
      Witnessed(checked("__global__ void other(int n) {}", "other<<<1, n>>>(n);\n" + twice)).found);
}

TEST(HostFunction, IsMadeOfALoopThatComputesWhatIsCompared) {
  const std::string compare = "for (i = 0; i < n; ++i) if (h_out[i] != gold[i]) same = false;";
  const auto found = [&](const std::string& loops) {
    const Witnessed one(checked("", "float* gold = new float[n];\n" + loops + compare));
    return one.found ? one.found->source : "";
  };
  const std::string stores =
      "for (i = 0; i < n; ++i) { gold[i] = h_in[i]; if (h_in[i] > 0) gold[i] *= 2; }\n";
  EXPECT_THAT(found(stores),
              HasSubstr("void expected_by_main_29(int n, float* gold, float* h_in)"));
  EXPECT_EQ(found("for (i = 0; i < n; ++i) gold[i] = 1;\n" + stores), "") << "two loops make it";
  EXPECT_EQ(found("for (i = 0; i < n; ++i) if (h_in[i] > 0) gold[i] += h_in[i];\n"), "");
  EXPECT_EQ(found("for (i = 0; i < n; ++i) { gold[i] = h_in[i]; h_in[i] = 0; }\n"), "")
      << "it changes what it reads";
  EXPECT_EQ(found("for (i = 0; i < n; ++i) h_out[i] = h_in[i];\n"), "")
      << "the results themselves are filled before";
}

TEST(HostFunction, IsNotMadeOfACheckThatIsNotPassedWhatTheKernelMayRead) {
  const auto found = [](const std::string& expected) {
    std::string source =
        checked("", "for (i = 0; i < n; ++i) wrong += h_out[i] != " + expected + ";");
    source.replace(source.find("in[i] : 0"), 9, "seen(in) : 0");
    return Witnessed(source).found.has_value();
  };
  EXPECT_TRUE(found("(float)n * h_in[i]"));
  EXPECT_FALSE(found("(float)n"));
}

TEST(HostFunction, AddsToZeros) {
  const auto argument = [](const std::string& loop) {
    const Witnessed one(checked("void gold(const float* in, float* out, int n) { " + loop + " }",
                                "gold(h_in, h_gold, n);"));
    return one.is_taken ? one.json.at("arguments").at(1) : Json();
  };
  const Json added = argument("for (int i = 0; i < n; ++i) out[i] += 2 * in[i];");
  EXPECT_EQ(added["role"], "inout");
  EXPECT_EQ(added["init"], "zero");
  EXPECT_EQ(argument("for (int i = 0; i < n; ++i) { out[i] = 0; out[i] += in[i]; }")["role"],
            "output");
}

TEST(HostFunction, MayGoThroughAVector) {
  const Witnessed one(
      checked("void gold(const vector<float>& in, vector<float>& out) {\n"
              "  int i = 0;\n  for (const auto& one : in) { out[i] = 2 * one; ++i; }\n}",
              "gold(v_in, v_out);"));
  ASSERT_TRUE(one.found);
  EXPECT_THAT(one.found->source,
              HasSubstr("for (long in_at = 0; in_at < in_size; ++in_at) "
                        "if (const auto& one = in[in_at]; true) { out[i] = 2 * one;"));
  EXPECT_THAT(one.found->source, HasSubstr("gold(const float* in, float* out, long in_size)"));
}

TEST(HostFunction, IsPassedTheSizeOfAVectorThatIsFilledOneByOne) {
  const Witnessed one(
      checked("void gold(vector<float>& in, vector<float>& out) {\n"
              "  for (int i = 0; i < in.size(); ++i) out[i] = 2 * in[i];\n}",
              "vector<float> some; some.reserve(n); for (i = 0; i < n; ++i) some.push_back(i);\n"
              "cudaMemcpy(d_in, some.data(), n * 4, cudaMemcpyHostToDevice);\ngold(some, v_out);"));
  ASSERT_TRUE(one.is_taken);
  EXPECT_EQ(one.json["arguments"].back()["name"], "in_size");
  EXPECT_EQ(one.json["arguments"].back()["value"], "N");
}

TEST(HostFunction, HasTheSizesOfTheProblemThatOnlyItNames) {
  const Witnessed one(R"(
const int ROWS = 1024;
const int COLUMNS = 512;
__global__ void k(const float* in, float* out) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  out[i * COLUMNS + j] = in[i * COLUMNS + j];
}
void gold(const float* in, float* out) {
  for (int i = 0; i < ROWS; ++i) for (int j = 0; j < COLUMNS; ++j) {
    out[i * COLUMNS + j] = in[i * COLUMNS + j];
  }
}
int main() {
  float *h_in, *h_gold, *d_in, *d_out;
  cudaMalloc(&d_in, ROWS * COLUMNS * 4);
  cudaMalloc(&d_out, ROWS * COLUMNS * 4);
  cudaMemcpy(d_in, h_in, ROWS * COLUMNS * 4, cudaMemcpyHostToDevice);
  k<<<dim3(COLUMNS / 16, ROWS / 16), dim3(16, 16)>>>(d_in, d_out);
  gold(h_in, h_gold);
}
)");
  ASSERT_TRUE(one.is_taken);
  EXPECT_EQ(one.json["problems"].dump(), R"([{"ROWS":1024,"COLUMNS":512}])");
  EXPECT_EQ(one.json["kernels"].back().value("pass", ""), "define");
}

TEST(HostFunction, IsFoundForATemplateThatIsLaunchedBehindACallThatClears) {
  const FlatSource source = with_copy_kernels(FlatSource(R"(
template <class T> __global__ void k(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += in[i];
}
int main() {
  int n = 4096;
  float *in, *out;
  cudaMalloc(&in, n * 4);
  cudaMalloc(&out, n * 4);
  for (int turn = 0; turn < 4; ++turn) {
    cudaMemset(out, 0, n * 4);
    k<<<n / 256, 256>>>(in, out, n);
    cudaMemcpy(in, out, n * 4, cudaMemcpyDeviceToDevice);
  }
}
)"));
  KernelFile file = read_kernel_file(source);
  add_host(read_host(source), file);
  const DraftRequest request = {.kernels = kernels_launched_with(file, "k"), .together = true};
  ASSERT_THAT(request.kernels, ElementsAre("smemtune_set", "k", "smemtune_copy"));
  for (const KernelParameter& parameter : as_launched(file, request).parameters) {
    EXPECT_NE(parameter.type, "T") << parameter.name;
  }
}

TEST(HostFunction, IsPassedConstantMemory) {
  const Witnessed one(
      checked("void check(float* in, float* factors, float* out, int n) {\n"
              "  for (int i = 0; i < n; ++i) assert(out[i] == 2 * in[i] + factors[0]);\n}",
              "check(h_in, h_weights, h_out, n);"));
  ASSERT_TRUE(one.is_taken);
  EXPECT_THAT(one.found->source,
              HasSubstr("expected_by_check((float*)in, (float*)weights, (float*)out, n);"));
  EXPECT_THAT(one.found->arguments, ElementsAre("in", "out", "n"));
}

TEST(HostFunction, IsNotMadeOfAComparisonWithWhatTheKernelChanges) {
  std::string source = checked("", "for (i = 0; i < n; ++i) wrong += h_out[i] != 2 * h_in[i];");
  ASSERT_TRUE(Witnessed(source).found);
  source.replace(source.find("out[i] = 2"), 9, "out[i] += ");
  EXPECT_FALSE(Witnessed(source).found);
  source.insert(source.find("  k<<<"), "  cudaMemset(d_out, 0, n * 4);\n");
  EXPECT_TRUE(Witnessed(source).found) << "it begins with zeros";
}

TEST(SmallProblem, IsNoMoreThanOneThreadOfTheHostsFunctionComputes) {
  const Witnessed one(checked(
      "void gold(const float* in, float* out, int n) { for (int i = 0; i < n; ++i) { out[i] = 0;\n"
      "for (int j = 0; j < n; ++j) for (int l = 0; l < n; l++) out[i] += in[j] * in[l]; } }",
      "gold(h_in, h_gold, n);"));
  ASSERT_TRUE(one.is_taken);
  const int size = one.json["verify"]["also"][0]["N"];
  EXPECT_LE(size, 256);
  EXPECT_LT(size, one.json["cpu_problems"][0]["N"].get<int>());
}

TEST(SmallProblem, HasWholeBlocksWhereTheLargeOneHas) {
  const auto on_cpu = [](const std::string& size, const std::string& blocks) {
    const std::string source = R"(
__global__ void k(const float* in, float* out) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  out[i * gridDim.x * blockDim.x + j] = in[j];
}
int main() {
  int rows = )" + size + R"(, columns = 4096;
  float *in, *out;
  cudaMalloc(&in, columns * 4);
  cudaMalloc(&out, rows * columns * 4);
  k<<<dim3(columns / 32, )" + blocks +
                               R"(), dim3(1, 512)>>>(in, out);
}
)";
    return drafted(source)["cpu_problems"][0]["ROWS"].get<int>();
  };
  EXPECT_EQ(on_cpu("4096", "rows / 512"), 512);
  EXPECT_LT(on_cpu("4100", "(rows + 511) / 512"), 512);
}

TEST(SmallProblem, IsNoMoreThanACpuEmulates) {
  const std::string source = R"(
template <typename T> __global__ void k(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  T sum = 0;
  for (int j = 0; j < 16 / sizeof(T); ++j) sum += j;
  for (int j = 0; j < n; ++j) sum += in[j];
  if (i < n) out[i] = sum;
}
int main() {
  int n = 40000;
  float *in, *out;
  cudaMalloc(&in, n * 4);
  cudaMalloc(&out, n * 4);
  k<float><<<(n + 127) / 128, 128>>>(in, out, n);
}
)";
  const int size = drafted(source)["cpu_problems"][0]["N"];
  EXPECT_GT(size, 500);
  EXPECT_LT(size, 2500);
}

TEST(SmallProblem, KeepsHowSizesDependOnEachOther) {
  const Json problem = drafted(R"(
__global__ void k(float* out, int rows, int columns, int count, int points, int width, int blocks) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = rows + columns + count + points + width + blocks;
}
int main() {
  float* out;
  cudaMalloc(&out, 8388608 * 4);
  k<<<32768, 256>>>(out, 4096, 2048, 8388608, 4097, 2048, 32768);
}
)")["cpu_problems"][0];
  const int rows = problem["ROWS"];
  EXPECT_LT(rows, 4096);
  EXPECT_EQ(problem["COUNT"], rows * problem["COLUMNS"].get<int>());
  EXPECT_EQ(problem["POINTS"], rows + 1);
  EXPECT_EQ(problem["WIDTH"], problem["COLUMNS"]);
}

TEST(HostFunction, IsNoneWhereItIsNotPassedAnInput) {
  const std::string kernel = R"(
__global__ void k(float* out, const float* in, const float* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + sums[blockIdx.x];
}
void scan_cpu(float* out, const float* in)";
  const std::string rest = R"(, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) { out[i] = sum; sum += in[i]; }
}
)";
  EXPECT_FALSE(Witnessed(kernel + rest).found);
  EXPECT_TRUE(Witnessed(kernel + ", const float* sums" + rest).found);
}

TEST(HostFunction, IsNoneWhereItPacksItsResults) {
  const auto found = [](const std::string& index) {
    return Witnessed(
               "void inner_cpu(const float* in, float* out, int n) {\n  int t = 0;\n"
               "  for (int i = 1; i < n - 1; ++i) { out[" +
               index +
               "] = in[i - 1] + in[i + 1]; t += 2; }\n}\n"
               "__global__ void k(const float* in, float* out, int n) {\n"
               "  int i = threadIdx.x;\n"
               "  if (i > 0 && i < n - 1) out[i] = in[i - 1] + in[i + 1];\n}\n")
        .found.has_value();
  };
  EXPECT_TRUE(found("i"));
  EXPECT_FALSE(found("t++"));
}

TEST(DraftedContents, OfASparseMatrixAreInRange) {
  const std::string source = R"(
struct Matrix { int rows, entries; };
__global__ void k(const float* values, const int* columns, const int* begins, const float* x,
                  float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  const int end = begins[row + 1];
  for (int j = begins[row]; j < end; ++j) sum += values[j] * x[columns[j]];
  y[row] = sum;
}
void run(Matrix* m, int width) {
  float *values, *x, *y;
  int *columns, *begins;
  cudaMalloc(&values, m->entries * sizeof(float));
  cudaMalloc(&columns, m->entries * sizeof(int));
  cudaMalloc(&begins, (m->rows + 1) * sizeof(int));
  cudaMalloc(&x, width * sizeof(float));
  cudaMalloc(&y, m->rows * sizeof(float));
  k<<<(m->rows + 127) / 128, 128>>>(values, columns, begins, x, y, m->rows);
}
)";
  const Json arguments = drafted(source)["arguments"];
  EXPECT_EQ(arguments[1]["init"], "uniform(0, WIDTH - 1)");
  EXPECT_EQ(arguments[2]["init"], "begins[i] = i * ENTRIES // max(1, (ROWS + 1) - 1)");
}

TEST(DraftedContents, AreZerosWhereTheHostClears) {
  std::string source = R"(
__global__ void k(const unsigned char* in, unsigned int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[in[i]] += 1;
}
int main() {
  int n = 4096;
  unsigned char* d_in;
  unsigned int* d_bins;
  cudaMalloc(&d_in, n);
  cudaMalloc(&d_bins, 256 * sizeof(unsigned int));
  cudaMemset(d_bins, 0, 256 * sizeof(unsigned int));
  k<<<n / 128, 128>>>(d_in, d_bins, n);
}
)";
  EXPECT_EQ(drafted(source)["arguments"][0]["init"], "uniform(0, 256 - 1)");
  EXPECT_EQ(drafted(source)["arguments"][1]["init"], "zero");
  source.insert(source.find("  k<<<"),
                "  cudaMemcpy(d_bins, bins, 1024, cudaMemcpyHostToDevice);\n");
  EXPECT_NE(drafted(source)["arguments"][1]["init"], "zero") << "it is filled as well";
}

}  // namespace
}  // namespace smemtune
