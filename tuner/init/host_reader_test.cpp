#include "tuner/init/host_reader.h"

#include "tuner/core/error.h"
#include "tuner/core/repetitions_test_support.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/init/clang_library.h"
#include "tuner/init/macro_expansion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smemtune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

constexpr const char* kKernel = "__global__ void k(float* out, int n) {}\n";

std::vector<LaunchSite> launches_of(const std::string& text) {
  return read_host(with_kernel_macros_expanded(FlatSource(text))).launches;
}

/// Returns the only launch of a function with this body.
LaunchSite launch_in(const std::string& body, const std::string& before = "") {
  const std::vector<LaunchSite> sites =
      launches_of(kKernel + before + "void f(float* out, int n, int w, int h) { " + body + " }\n");
  return sites.size() == 1 ? sites.front() : LaunchSite();
}

TEST(HostReader, SaysWhichPackageHoldsALibraryThatIsMissing) {
  try {
    open_clang({"libclang-that-is-missing.so.1"});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("apt-get install libclang-dev"));
  }
}

TEST(HostReader, KnowsHowTheHostLaunches) {
  const std::vector<LaunchSite> sites = launches_of(
      "#define BLOCK 16\n"
      "template <typename T, int N, bool F> __global__ void sum(T* o, int w) {}\n"
      "int main() {\n  float* d;\n  dim3 threads(BLOCK, BLOCK);\n  int blocks = 4;\n"
      "  sum<float, 4, true><<<dim3(blocks, 2), threads, 2 * sizeof(float)>>>(d, 3);\n}\n");
  ASSERT_THAT(sites, SizeIs(1));
  const LaunchSite& site = sites.front();
  EXPECT_EQ(site.kernel, "sum");
  EXPECT_EQ(site.line, 7u);
  EXPECT_THAT(site.template_arguments, ElementsAre("float", "4", "true"));
  EXPECT_THAT(site.grid, ElementsAre("blocks", "2"));
  EXPECT_THAT(site.block, ElementsAre("BLOCK", "BLOCK"));
  EXPECT_EQ(site.block_name, "threads");
  EXPECT_EQ(site.shared_bytes, "2 * sizeof(float)");
  EXPECT_THAT(site.arguments, ElementsAre("d", "3"));
}

TEST(HostReader, FindsTheVariablesOfALaunch) {
  const auto site = [](const std::string& host) {
    return launch_in(host + " k<<<grid, threads>>>(out, n);");
  };
  const LaunchSite both = site("dim3 grid(w / 8, h), threads(8, 4);");
  EXPECT_THAT(both.grid, ElementsAre("w / 8", "h"));
  EXPECT_THAT(both.block, ElementsAre("8", "4"));
  EXPECT_THAT(site("const dim3 threads{8, 4};").block, ElementsAre("8", "4"));
  EXPECT_THAT(site("dim3 threads = dim3(8, 4);").block, ElementsAre("8", "4"));
  EXPECT_THAT(site("int grid = (n + 1) / 2, threads = 64;").block, ElementsAre("64"));
  EXPECT_THAT(site("int threads = 64; int grid = min(n, 2);").grid, ElementsAre("min(n, 2)"));
  EXPECT_THAT(site("call(out, threads(1));").block, ElementsAre("threads"));
  EXPECT_THAT(site("dim3 threads; threads.x = w; threads.y = 2;").block, ElementsAre("w", "2"));
}

TEST(HostReader, FollowsALaunchThroughItsCallers) {
  const std::vector<LaunchSite> sites = launches_of(
      "__global__ void k(float* out, int n) {}\n__global__ void l(float* out) {}\n"
      "void run(float* out, int n, int threads) {\n"
      "  threads = 32;\n  k<<<n, threads>>>(out, n);\n  l<<<n, 64>>>(out);\n}\n"
      "void pick(int which, float* out, int n, int threads) {\n"
      "  assert(n > 0);\n  l<<<(n + threads - 1) / threads, threads>>>(out);\n}\n"
      "int main() {\n  int sizes[] = {32, 64, 256};\n  float* d;\n"
      "  cudaMalloc((void**)&d, B * T * sizeof(float));\n"
      "  for (int i = 0; i < 3; ++i) { int threads = sizes[i]; pick(1, d, B * T, threads); }\n"
      "  run(d, B * T, 128);\n}\n");
  ASSERT_THAT(sites, SizeIs(3));
  const LaunchSite& first = sites[0];
  EXPECT_THAT(first.block, ElementsAre("32"));
  EXPECT_EQ(first.block_name, "threads");
  ASSERT_THAT(first.frames, SizeIs(2));
  EXPECT_THAT(first.frames[1].parameters, Contains(Pair("n", "B * T")));
  EXPECT_THAT(first.frames[1].allocated, ElementsAre(Pair("d", "B * T * sizeof(float)")));
  EXPECT_TRUE(sites[1].follows);
  const LaunchSite& last = sites[2];
  EXPECT_FALSE(last.follows);
  EXPECT_THAT(last.asserted, ElementsAre("n > 0"));
  EXPECT_THAT(last.frames[1].choices, ElementsAre(Pair("threads", ElementsAre("32", "64", "256"))));
}

TEST(HostReader, ReadsNamesOfTheGlobalNamespace) {
  const std::vector<LaunchSite> sites = launches_of(
      std::string(kKernel) +
      "int main() {\n  float *a, *b;\n  ::cudaMalloc(&a, 4);\n"
      "  check(::cudaMalloc(&b, 8));\n  ::k<<<1, 2>>>(a, 2);\n  k<<<1, 2>>>(b, 2);\n}\n");
  ASSERT_THAT(sites, SizeIs(2));
  EXPECT_THAT(sites[0].frames[0].allocated, ElementsAre(Pair("a", "4")));
  EXPECT_THAT(sites[1].frames[0].allocated, ElementsAre(Pair("b", "8")));
}

TEST(HostReader, KeepsWhatAVariableWasWhereAnotherIsMadeOfIt) {
  const LaunchSite site = launch_in(
      "int cols = n; int half = cols / 2; cols = cols + 1; int width = (cols - 1) / 16;\n"
      "k<<<width, half>>>(out, cols);");
  const auto& variables = site.frames.front().variables;
  EXPECT_EQ(variables.at("cols"), "cols__1 + 1");
  EXPECT_EQ(variables.at("cols__1"), "n");
  EXPECT_EQ(variables.at("half"), "cols__1 / 2");
  EXPECT_THAT(site.grid, ElementsAre("(cols - 1) / 16"));
}

TEST(HostReader, KeepsWhatBranchesLeaveDifferentAsAConditional) {
  const LaunchSite site = launch_in(
      "int a = 1, b = 2, c = 3, d = n / 64; if (n > 4) { a = 7; c = 9; } else { c = 9; }\n"
      "if (n % 64 != 0) d = d + 1; int e = 5; if (w) e = read(n); else e = 6;\n"
      "k<<<a, 32>>>(out, b);");
  const auto& variables = site.frames.front().variables;
  EXPECT_EQ(variables.at("a"), "((n > 4) ? (7) : (1))");
  EXPECT_EQ(variables.at("b"), "2");
  EXPECT_EQ(variables.at("c"), "9");
  EXPECT_EQ(variables.at("d"), "((n % 64 != 0) ? (d__1 + 1) : (n / 64))");
  EXPECT_EQ(variables.at("d__1"), "n / 64");
  EXPECT_FALSE(site.is_chosen);
  const LaunchSite clamped = launch_in("int t = w; if (t > 64) t = 64; k<<<n, t>>>(out, n);");
  EXPECT_EQ(clamped.frames.front().variables.at("t"), "((t__1 > 64) ? (64) : (w))");
}

TEST(HostReader, TakesTheDefaultsOfOptions) {
  const std::string main = "int main(int argc, char** argv) {\n  float* out; ";
  for (
      const std::string body :
      {"int n = 4096; if (argc > 1) n = atoi(argv[1]);", "int n = argc > 1 ? atoi(argv[1]) : 4096;",
       "int n; if (argc < 2) { n = 4096; } else { n = atoi(argv[1]); }",
       "int n = 4096; for (int i = 1; i < argc; ++i) { if (!strcmp(argv[i], \"-n\")) n = 3; }",
       "int n = 4096; if (checkCmdLineFlag(argc, argv, \"n\")) n = getCmdLineArgumentInt(argc);"}) {
    const std::vector<LaunchSite> sites =
        launches_of(kKernel + main + body + " k<<<n, 32>>>(out, n); }\n");
    ASSERT_THAT(sites, SizeIs(1)) << body;
    EXPECT_EQ(sites[0].frames[0].variables.at("n"), "4096") << body;
    EXPECT_THAT(sites[0].grid, ElementsAre("n")) << body;
  }
}

TEST(HostReader, KnowsTheVariablesOfTheBranchThatLaunches) {
  const std::vector<LaunchSite> sites =
      launches_of(std::string(kKernel) +
                  "void f(float* out, int n) {\n  int t = 32;\n  switch (n) {\n"
                  "    case 1: t = 64; k<<<1, t>>>(out, n); break;\n    default: k<<<1, t>>>(out, "
                  "n);\n  }\n}\n");
  ASSERT_THAT(sites, SizeIs(2));
  EXPECT_THAT(sites[0].block, ElementsAre("64"));
  EXPECT_THAT(sites[1].block, ElementsAre("32"));
  EXPECT_TRUE(sites[0].is_chosen && sites[1].is_chosen);
  EXPECT_FALSE(sites[1].follows);
}

TEST(HostReader, ReadsLoopsThatCountInOtherWays) {
  const auto loop = [](const std::string& head, const std::string& tail = "") {
    const LaunchSite site = launch_in(head + " { k<<<n, 32>>>(out, n); " + tail + " }");
    return site.loops.empty() ? CountingLoop() : site.loops.front();
  };
  const CountingLoop doubles = loop("for (int s = 1; s < n; s <<= 1)");
  EXPECT_EQ(doubles.operation, '*');
  EXPECT_EQ(doubles.step, "2");
  const CountingLoop halves = loop("while (n > 1)", "n = n / 2;");
  EXPECT_EQ(halves.operation, '/');
  EXPECT_EQ(halves.counter, "n__turn");
  EXPECT_EQ(halves.bound, "1");
  EXPECT_EQ(loop("for (int s = n; s >= 4; s -= 3)").operation, '-');
  EXPECT_EQ(loop("while (n > 1)", "n /= 2; if (w) n--;").counter, "");
  EXPECT_EQ(loop("while (check(out))").counter, "");
  EXPECT_EQ(loop("do", "").header, "");
}

TEST(HostReader, KnowsWhatAConditionInALoopDependsOn) {
  const LaunchSite site =
      launch_in("for (int i = 0; i < n; ++i) { if (w) { if (i % 2 == 0) k<<<n, 32>>>(out, i); } }");
  EXPECT_THAT(site.conditions, ElementsAre(Pair(2u, "i % 2 == 0")));
}

TEST(HostReader, ExpandsMacrosThatLaunch) {
  const std::vector<LaunchSite> sites = launches_of(
      std::string(kKernel) +
      "#define LAUNCH(K, G, B, ...) K<<<G, B>>>(__VA_ARGS__)\n"
      "#define BOTH(g) do { LAUNCH(k, g, 32, out, n); LAUNCH(k, g, 64, out, n); } while (0)\n"
      "void f(float* out, int n) {\n  BOTH(\n  n / 2);\n  CHECK((k<<<1, 2>>>(out, n)));\n}\n");
  ASSERT_THAT(sites, SizeIs(3));
  EXPECT_THAT(sites[0].grid, ElementsAre("n / 2"));
  EXPECT_THAT(sites[1].block, ElementsAre("64"));
  EXPECT_THAT(sites[1].arguments, ElementsAre("out", "n"));
  EXPECT_EQ(sites[2].line, 7u);
}

TEST(HostReader, ReadsAlikeWhetherThereIsAToolkitOrNot) {
  const TemporaryFolder folder;
  folder.write("cuda_runtime.h", "#error \"the toolkit's own header was read\"\nstruct dim3;\n");
  folder.write("k.cu",
               "#include <cuda_runtime.h>\n#include \"cuda_runtime.h\"\n"
               "__global__ void k(int n) {}\nvoid f(int n) { dim3 b(8, 4); k<<<n, b>>>(n); }\n");
  const std::vector<LaunchSite> sites =
      read_host(read_flat_source(folder.path() / "k.cu")).launches;
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(sites[0].block, ElementsAre("8", "4"));
}

TEST(HostReader, GoesOnWhereHeadersAndNamesAreMissing) {
  const std::vector<LaunchSite> sites = launches_of(
      "#include \"missing.h\"\n#include <also_missing>\n"
      "__global__ void k(Matrix m, float* out) { m.x = out; }\n"
      "void f(Options* options) {\n  Timer timer(3);\n  const int threads = 64;\n"
      "  if (options->verbose) timer.start();\n"
      "  k<<<COUNT / threads, threads>>>(matrix, buffer[0]);\n  timer.stop();\n}\n");
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(sites[0].grid, ElementsAre("COUNT / threads"));
  EXPECT_THAT(sites[0].block, ElementsAre("64"));
  EXPECT_THAT(sites[0].arguments, ElementsAre("matrix", "buffer[0]"));
}

// Each of these would take minutes if anything took time that grows with the square of their
// number.
TEST(HostReader, TakesManyOfAnything) {
  constexpr int kMany = repetitions(2'000);
  std::string many = std::string(kKernel) + "void f(float* out, int n) {\n";
  std::string unclosed = "void f() { ";
  for (int i = 0; i < kMany; ++i) {
    many += "  n = n + 1; assert(n > 2); k<<<n, 32>>>(out, n);\n";
    unclosed += "k<<<a, b ";
  }
  EXPECT_THAT(launches_of(many + "}\n"), SizeIs(kMany));
  EXPECT_THAT(launches_of(unclosed), IsEmpty());
}

TEST(HostReader, KnowsWhichFileALaunchStandsIn) {
  const TemporaryFolder folder;
  folder.write("k.cu", "__global__ void k(int n) { use(ROWS); }\n");
  folder.write("run.cu", "void run() { k<<<SIZE, 32>>>(ROWS); }\n");
  const FlatSource source = read_flat_source(
      folder.path() / "k.cu",
      {.folders = {}, .macros = {"ROWS=8"}, .further = {folder.path() / "run.cu"}});
  const std::vector<LaunchSite> sites = read_host(source).launches;
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_EQ(source.place(sites.front().line), "run.cu:1");
}

TEST(HostReader, KnowsTheWordsOfEnumerations) {
  const HostPart host = read_host(
      FlatSource("namespace a { enum class Mode { plain, fast = 4 }; enum Way { up, down }; }\n"
                 "enum { kTwo = 2 };\n"));
  ASSERT_THAT(host.enumerations, SizeIs(2));
  EXPECT_EQ(host.enumerations[0].name, "a::Mode");
  EXPECT_THAT(host.enumerations[0].words, ElementsAre("a::Mode::plain", "a::Mode::fast"));
  EXPECT_THAT(host.enumerations[1].words, ElementsAre("a::up", "a::down"));
  EXPECT_THAT(host.enumerators,
              testing::UnorderedElementsAre(Pair("up", "0"), Pair("down", "1"), Pair("kTwo", "2")));
}

TEST(HostReader, CountsTheScalarsOfStructuresWithoutWalkingThroughThem) {
  const TypeLayouts layouts =
      read_host(
          FlatSource("struct Empty {};\nstruct Tall { Empty all[4096][4096][4096]; int n; };\n"
                     "struct Grid { float at[4][3]; };\nstruct Mixed { Tall tall; float f; };\n"
                     "struct Wide { char all[4096][2]; };\n"))
          .layouts;
  EXPECT_EQ(layouts.at("Tall").count, 1);
  EXPECT_EQ(layouts.at("Grid").count, 12);
  EXPECT_EQ(layouts.at("Grid").type, "float");
  EXPECT_EQ(layouts.at("Mixed").count, 2);
  EXPECT_TRUE(layouts.at("Mixed").is_mixed);
  EXPECT_FALSE(layouts.contains("Wide"));
}

TEST(HostReader, KnowsLaunchesOfMainWhereOthersAreOnNoWayFromIt) {
  const std::string other = "void wrapper(float* d, int rows) { k<<<rows, 32>>>(d, rows); }\n";
  const std::string own = "int main() { float* d; k<<<8, 64>>>(d, 512); }\n";
  const std::vector<LaunchSite> sites = launches_of(kKernel + other + own);
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(sites.front().block, ElementsAre("64"));
  EXPECT_THAT(launches_of(kKernel + other), SizeIs(1));
}

TEST(HostReader, KnowsBothConditionsOfBranchesInBranches) {
  const LaunchSite site = launch_in(
      "int m = 1; if (n > w) { if (n > h) m = 2; else m = 3; } else { m = 4; } k<<<m, 32>>>(out, "
      "n);");
  EXPECT_EQ(site.frames.front().variables.at("m"), "((n > w) ? (((n > h) ? (2) : (3))) : (4))");
}

TEST(HostReader, KnowsTheTurnOfALoopInWhichACaseLaunches) {
  const std::vector<LaunchSite> sites = launches_of(
      "__global__ void one(float* out) {}\n__global__ void two(float* out) {}\n"
      "int main() {\n  float* out;\n  dim3 grid[2], block[2];\n"
      "  grid[0] = dim3(4, 5);\n  block[0] = dim3(32);\n  grid[1] = dim3(6);\n  block[1] = "
      "dim3(64);\n"
      "  for (int k = 0; k < 2; ++k) {\n    switch (k) {\n"
      "      case 0: one<<<grid[k], block[k]>>>(out); break;\n"
      "      case 1: two<<<grid[k], block[k]>>>(out); break;\n    }\n  }\n}\n");
  ASSERT_THAT(sites, SizeIs(2));
  EXPECT_THAT(sites[0].grid, ElementsAre("4", "5"));
  EXPECT_THAT(sites[1].block, ElementsAre("64"));
  EXPECT_THAT(sites[0].loops, IsEmpty());
  EXPECT_THAT(sites[1].conditions, IsEmpty());
  EXPECT_FALSE(sites[1].follows);
}

TEST(HostReader, KnowsLaunchesAsEditorsBreakThem) {
  const LaunchSite site = launch_in("k << <w, h >> >(out, n);");
  EXPECT_THAT(site.grid, ElementsAre("w"));
  EXPECT_THAT(site.arguments, ElementsAre("out", "n"));
}

TEST(HostReader, KnowsArraysOfTheHostInTheirOwnFunctionsOnly) {
  const auto bytes = [](const std::string& before) {
    const std::vector<LaunchSite> sites =
        launches_of(kKernel + before + "\nvoid f(float* out, int n) { k<<<n, 32>>>(out, n); }\n");
    return sites.front().frames.front().allocated;
  };
  EXPECT_THAT(bytes("void g() { float out[3]; }"), IsEmpty());
  EXPECT_THAT(bytes("float out[3];"), SizeIs(1));
}

}  // namespace
}  // namespace smemtune
