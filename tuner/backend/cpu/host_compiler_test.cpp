#include "tuner/backend/cpu/host_compiler.h"

#include "tuner/backend/cpu/child_process.h"
#include "tuner/backend/cpu/kernel_test_support.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace smemtune::cpu {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome<CompiledKernel> compile_files(const std::vector<KernelSource::File>& files,
                                      const std::string& entry) {
  CompileRequest request;
  request.architecture = "host";
  request.source.files = files;
  request.name_expressions = {entry};
  return test_compiler().compile(request);
}

void expect_unsupported(const std::string& source, const std::string& detail) {
  const auto outcome = compile(source, {"kernel"});
  ASSERT_FALSE(outcome) << source;
  EXPECT_EQ(Status::constraints, outcome.failure().status);
  EXPECT_EQ("cpu_unsupported", outcome.failure().reason);
  EXPECT_THAT(outcome.failure().detail, HasSubstr(detail));
}

TEST(HostCompiler, TellsItsVersionAndWhatElseDecidesTheCode) {
  const HostCompiler compiler;
  EXPECT_THAT(compiler.version(), testing::MatchesRegex(".*[0-9]+\\.[0-9]+.*"));
  EXPECT_EQ(64u, compiler.sha256().size());
}

TEST(HostCompiler, NeedsAFolderForTemporaryFiles) {
  const char* const value = std::getenv("TMPDIR");
  const std::string before = value == nullptr ? "" : value;
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_THAT([] { const HostCompiler compiler; },
              testing::ThrowsMessage<UnavailableError>(HasSubstr("temporary files ($TMPDIR")));
  unsetenv("TMPDIR");
  if (value != nullptr) setenv("TMPDIR", before.c_str(), 1);
}

TEST(HostCompiler, TakesTheCompilerThatTheEnvironmentNames) {
  const char* const value = std::getenv("CXX");
  const std::string before = value == nullptr ? "" : value;
  const TemporaryFolder folder;
  const std::filesystem::path script = folder.path() / "compiler";
  std::ofstream(script) << "#!/bin/sh\necho \"fancy 1.2 $1\"\necho second line\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  setenv("CXX", (script.string() + " -wrapped").c_str(), 1);
  EXPECT_EQ("fancy 1.2 -wrapped", HostCompiler().version());
  setenv("CXX", "no-such-compiler-anywhere", 1);
  EXPECT_THAT(HostCompiler().version(), Not(HasSubstr("fancy")));  // The next compiler that works.
  unsetenv("CXX");
  if (!before.empty()) setenv("CXX", before.c_str(), 1);
}

TEST(HostCompiler, IsAnotherWhereItFindsItsHeadersElsewhere) {
  const std::string before = HostCompiler().sha256();
  EXPECT_EQ(HostCompiler().sha256(), before);
  setenv("CPLUS_INCLUDE_PATH", "/tmp/one", 1);
  const std::string one = HostCompiler().sha256();
  setenv("CPLUS_INCLUDE_PATH", "/tmp/two", 1);
  const std::string two = HostCompiler().sha256();
  unsetenv("CPLUS_INCLUDE_PATH");
  EXPECT_NE(one, before);
  EXPECT_NE(two, one);
}

TEST(HostCompiler, ReportsErrorsWithTheTemplatesNameAndLine) {
  const auto outcome =
      compile("__global__ void kernel(int* out) {\n  *out = missing;\n}\n", {"kernel"});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(Status::compile, outcome.failure().status);
  EXPECT_EQ("error", outcome.failure().reason);
  EXPECT_THAT(outcome.failure().detail, HasSubstr("kernel.cu:2:"));
  EXPECT_THAT(outcome.failure().detail, HasSubstr("missing"));
  EXPECT_THAT(outcome.failure().detail, Not(HasSubstr("/smemtune-tmp-")));
}

TEST(HostCompiler, KeepsLinesBehindSharedDeclarationsOfSeveralLines) {
  const auto outcome = compile(
      "__global__ void kernel(int* out) {\n  __shared__ int a[4],\n      b[4]  // Four.\n          "
      "[2];\n"
      "  *out = missing;\n}\n",
      {"kernel"});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.failure().detail, HasSubstr("kernel.cu:5:"));
}

TEST(HostCompiler, ReportsStaticAssertions) {
  const auto outcome = compile(
      "template <int N> __global__ void kernel(int* out) {\n"
      "  static_assert(N % 2 == 0, \"N must be even\");\n  *out = N;\n}\n",
      {"kernel<3>"});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(Status::compile, outcome.failure().status);
  EXPECT_THAT(outcome.failure().detail, HasSubstr("N must be even"));
}

TEST(HostCompiler, CountsTheSharedBytesThatEachEntryReaches) {
  const auto outcome =
      compile(R"cuda(
template <int N>
__device__ int sum_of(int value) {
  __shared__ int values[N];
  values[threadIdx.x % N] = value;
  __syncthreads();
  return values[0];
}
__global__ void none(int* out) { *out = 1; }
__global__ void own(int* out) {
  __shared__ char c[3];
  __shared__ double d[2];
  c[threadIdx.x % 3] = 1;
  d[threadIdx.x % 2] = 2;
  __syncthreads();
  *out = c[0] + d[0];
}
__global__ void through_functions(int* out) { *out = sum_of<8>(1) + sum_of<16>(2) + sum_of<8>(3); }
template <bool USED>
__global__ void maybe(int* out) {
  if constexpr (USED) *out = sum_of<32>(1);
}
__global__ __launch_bounds__(128) void dynamic(int* out) {
  extern __shared__ int values[];
  values[threadIdx.x] = 1;
  *out = values[threadIdx.x];
}
)cuda",
              {"none", "own", "through_functions", "maybe<false>", "maybe<true>", "dynamic"});
  ASSERT_TRUE(outcome) << outcome.failure().detail;
  std::vector<std::int64_t> bytes;
  for (const CompiledEntry& entry : outcome->entries) {
    bytes.push_back(entry.resources.static_shared_bytes);
  }
  EXPECT_EQ((std::vector<std::int64_t>{0, 16 + 3, (8 + 16) * 4, 0, 32 * 4, 0}), bytes);
}

TEST(HostCompiler, AcceptsTheFormsOfSharedDeclarations) {
  const auto outcome = compile(R"cuda(
// __shared__ int comment[2];
const char* const text = "__shared__ int text[2];";
struct Pair { int a, b; };
template <typename T, int N> struct Array { T values[N]; };
template <typename T, int N>
__global__ void kernel(T* out) {
  static __shared__ Array<T, N> nested;
  __shared__ alignas(32) unsigned long long wide[2][N / 2];
  volatile __shared__ float loose[4];
  __shared__ typename ::Array<T, N>
      typed;
  __align__(64) __shared__ Pair pairs[(N > 2 ? 3 : 4)], pair;
  __shared__ int scalar;
  __shared__ Array<Pair, 2> arrays[2];
  nested.values[0] = wide[0][0] = loose[0] = typed.values[0] = pairs[0].a = pair.b = scalar = 1;
  arrays[1].values[0].a = 1;
  *out = (unsigned long long)(&wide) % 32 + (unsigned long long)(&pair) % 64 + sizeof(wide);
  if (text[0] != '_') *out = nested.values[0];
}
)cuda",
                               {"kernel<int, 8>"});
  EXPECT_TRUE(outcome) << outcome.failure().detail;
}

TEST(HostCompiler, FindsIncludesByTheNamesThatTheyAreWrittenWith) {
  const std::string source =
      "#include \"../common/tile.cuh\"\n__global__ void kernel(int* out) { *out = size(); }\n";
  const auto outcome =
      compile_files({{"gemm/kernel.cu", source},
                     {"../common/tile.cuh", "#include \"inner.cuh\"\n"},
                     {"inner.cuh", "__device__ inline int size() { return 3; }\n"}},
                    "kernel");
  EXPECT_TRUE(outcome) << outcome.failure().detail;
  for (const char* name : {"/etc/tile.cuh", "../../../../../../../tile.cuh"}) {
    const auto refused = compile_files({{"kernel.cu", source}, {name, ""}}, "kernel");
    ASSERT_FALSE(refused);
    EXPECT_EQ("cpu_unsupported", refused.failure().reason);
  }
}

TEST(HostCompiler, ObeysMacrosOfTheOptions) {
  const std::string source =
      "__global__ void kernel(int* out) { *out = TILE; static_assert(TILE == 3); }";
  EXPECT_FALSE(compile(source, {"kernel"}));
  EXPECT_TRUE(compile(source, {"kernel"}, {}, {"-DTILE=3", "--maxrregcount=32"}));
  EXPECT_TRUE(compile(source, {"kernel"}, {}, {"-D", "TILE=3"}));
  EXPECT_TRUE(compile(source, {"kernel"}, {}, {"--define-macro=TILE=3"}));
}

TEST(HostCompiler, KnowsWhatNvccDeclaresUnasked) {
  const std::string kernel = R"(
#ifndef __CUDACC_RTC__
#include "not_for_the_device.h"
#endif
constexpr float kLowest = -INFINITY;
__global__ void kernel(float* x, const uint8_t* bytes, int64_t n, size_t m) {
  static_assert(sizeof(int64_t) == 8 && sizeof(uint8_t) == 1, "");
  if (bytes != NULL) x[0] = kLowest + float(M_PI) + NAN;
}
)";
  for (const char* headers : {"", "#include <cuda.h>\n#include <math.h>\n",
                              "#include <stdint.h>\n#include <assert.h>\n#include <cstdio>\n"}) {
    const auto compiled = compile(headers + kernel, {"kernel"});
    EXPECT_TRUE(compiled) << headers << compiled.failure().detail;
  }
}

TEST(HostCompiler, CompilesSourcesWhoseNamesCannotBeQuoted) {
  for (const char* name : {"a\"b.cu", "a\nb.cu", "a\\b.cu"}) {
    const auto compiled = compile_files({{name, "__global__ void kernel(int*) {}"}}, "kernel");
    EXPECT_TRUE(compiled) << compiled.failure().detail;
  }
}

/// Compiles with a program that prints `words` and ends as `end` says.
Outcome<CompiledKernel> compile_with(const std::string& words, const std::string& end) {
  const char* const value = std::getenv("CXX");
  const std::string before = value == nullptr ? "" : value;
  const TemporaryFolder folder;
  const std::filesystem::path script = folder.path() / "compiler";
  std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --version ] && echo g++ 1.2 && exit 0\n"
                        << "echo \"" << words << "\" >&2\n"
                        << end << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  setenv("CXX", script.c_str(), 1);
  HostCompiler compiler;
  unsetenv("CXX");
  if (!before.empty()) setenv("CXX", before.c_str(), 1);
  CompileRequest request;
  request.source.files = {{"k.cu", "__global__ void kernel(int*) {}"}};
  request.name_expressions = {"kernel"};
  return compiler.compile(request);
}

TEST(HostCompiler, KnowsTheMachinesFaultsFromTheSources) {
  EXPECT_THROW(compile_with("g++: fatal error: Killed signal terminated program cc1plus", "exit 1"),
               MachineError);
  EXPECT_THROW(compile_with("cc1plus: fatal error: k.cu: Too many open files", "exit 1"),
               MachineError);
  EXPECT_THROW(compile_with("error writing to x.s: No space left on device", "exit 1"),
               MachineError);
  EXPECT_THROW(compile_with("", "kill -9 $$"), MachineError);
  const auto memory = compile_with("cc1plus: out of memory allocating 65536 bytes", "exit 1");
  ASSERT_FALSE(memory);
  EXPECT_EQ("out_of_memory", memory.failure().reason);
  const auto wrong = compile_with("k.cu:1:1: error: expected ';'", "exit 1");
  ASSERT_FALSE(wrong);
  EXPECT_EQ("error", wrong.failure().reason);
}

TEST(HostCompiler, RefusesWhatTheDeviceDoesNotHave) {
  const std::string ptx = "int x;\n  asm volatile(\"mov.u32 %0, %clock;\" : \"=r\"(x));\n";
  expect_unsupported("__global__ void kernel(int* out) {\n  " + ptx + "  *out = x;\n}",
                     "inline PTX, kernel.cu:3");
  expect_unsupported("#include <mma.h>\n__global__ void kernel(int*) {}", "<mma.h>, kernel.cu:1");
  expect_unsupported("#include <cuda/barrier>\n__global__ void kernel(int*) {}", "<cuda/barrier>");
  expect_unsupported("__global__ void __cluster_dims__(2, 1, 1) kernel(int*) {}", "clusters");
  expect_unsupported("#define TILE __shared__ int tile[4]\n__global__ void kernel(int*) {}",
                     "__shared__ in a macro, kernel.cu:1");
  // If the entry cannot reach it, PTX does no harm.
  const auto outcome = compile("template <int N> __device__ int ptx() { " + ptx + " return x; }\n" +
                                   "__device__ __forceinline__ int unused() { return ptx<1>(); }\n"
                                   "__global__ void kernel(int* out) { *out = 1; }",
                               {"kernel"});
  EXPECT_TRUE(outcome) << outcome.failure().detail;
}

TEST(HostCompiler, TellsWhatItReadOfTheSystemAndRefusesWhatIsTheUsers) {
  const TemporaryFolder folder;
  const std::filesystem::path header = folder.path() / "a header.h";
  std::ofstream(header) << "#define STEP 1\n";
  const auto compiled = [&](const std::string& include) {
    return compile_files(
        {{"k.cu", "#include " + include + "\n__global__ void k(float* a) { a[0] += STEP; }\n"}},
        "k");
  };
  const auto kernel = compiled("<cstdint>\n#define STEP 2");
  ASSERT_TRUE(kernel) << kernel.failure().detail;
  const auto reads = [&kernel](const std::string& name) {
    return std::ranges::any_of(kernel->read, [&](const ReadPlace& place) {
      return std::filesystem::path(place.path).filename() == name &&
             place.state == state_of(place.path);
    });
  };
  EXPECT_TRUE(reads("cstdint"));
  EXPECT_FALSE(reads("cuda_on_host.h")) << "that is a part of the compiler";
  // No source gets here with such a name; a file that is read nevertheless is refused.
  const auto outside = compiled('"' + header.string() + '"');
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.failure().reason, "error");
  EXPECT_THAT(outside.failure().detail, HasSubstr("a header.h was read"));
}

TEST(HostCompiler, TakesNothingThatItsAssemblerReads) {
  const TemporaryFolder folder;
  folder.write("data", "one");
  const std::string incbin = "\\n.incbin \\\"" + (folder.path() / "data").string() + "\\\"\\n";
  const std::string kernel = "\n__global__ void k(float* a) { a[0] += 1; }\n";
  for (const std::string& text :
       {"#define CAT(a, b) a##b\nCAT(a, sm)(\".data" + incbin + ".text\");",
        "a\\\nsm(\".data" + incbin + ".text\");",
        "__attribute__((section(\".text" + incbin + ".data#\"))) int a = 3;",
        "#ident \"x\\\"" + incbin + "#\""}) {
    const auto compiled = compile_files({{"k.cu", text + kernel}}, "k");
    // clang refuses assembly, and does not write assembly that a name could add to.
    if (compiled) {
      EXPECT_THAT(HostCompiler().version(), HasSubstr("clang")) << text;
      continue;
    }
    EXPECT_THAT(compiled.failure().detail,
                testing::AnyOf(HasSubstr("data was read"), HasSubstr("assembly is disabled")))
        << text;
  }
}

TEST(HostCompiler, ShowsNothingOfTheFileThatALineIsSaidToBeOf) {
  const TemporaryFolder folder;
  folder.write("secret", "\nprecious\n");
  const auto compiled =
      compile_files({{"k.cu", "#line 2 \"" + (folder.path() / "secret").string() +
                                  "\"\nint a = ;\n__global__ void k(float* a) { a[0] += 1; }\n"}},
                    "k");
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.failure().detail,
              testing::AllOf(HasSubstr("secret:2"), testing::Not(HasSubstr("precious"))));
}

TEST(HostCompiler, TellsWhatItReadWhateverFilesAreCalled) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"two words", "back\\slash", "hash#mark", "dollar$sign",
                                          "all \\ #$", "ends in\\",   "per%cent"};
  for (const std::string& name : names) {
    folder.write(std::filesystem::path(name) / "step.h", "#define STEP 1\n");
    // Written before the compiler began.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    setenv("CPLUS_INCLUDE_PATH", (folder.path() / name).c_str(), 1);
    const auto kernel = compile_files(
        {{"k.cu", "#include <step.h>\n__global__ void k(float* a) { a[0] += STEP; }\n"}}, "k");
    unsetenv("CPLUS_INCLUDE_PATH");
    ASSERT_TRUE(kernel) << kernel.failure().detail;
    const std::filesystem::path header = folder.path() / name / "step.h";
    EXPECT_THAT(kernel->read, testing::Contains(read_place(header))) << name;
  }
}

TEST(HostCompiler, KnowsNoStateOfAFileWhoseNameCannotBeTold) {
  const TemporaryFolder folder;
  folder.write("two\nlines/step.h", "#define STEP 1\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  setenv("CPLUS_INCLUDE_PATH", (folder.path() / "two\nlines").c_str(), 1);
  const auto kernel = compile_files(
      {{"k.cu", "#include <step.h>\n__global__ void k(float* a) { a[0] += STEP; }\n"}}, "k");
  unsetenv("CPLUS_INCLUDE_PATH");
  ASSERT_TRUE(kernel) << kernel.failure().detail;
  EXPECT_TRUE(std::ranges::any_of(kernel->read, [](const ReadPlace& place) {
    return place.state != state_of(place.path);
  })) << "so that it is compiled again";
}

TEST(HostCompiler, TakesNothingThatAnOptionOfTheCompilerIncludes) {
  const TemporaryFolder folder;
  folder.write("step.h", "#define STEP 1\n");
  setenv("CXX", ("g++ -include " + (folder.path() / "step.h").string()).c_str(), 1);
  HostCompiler compiler;
  unsetenv("CXX");
  CompileRequest request;
  request.architecture = "host";
  request.source.files = {{"k.cu", "__global__ void k(float* a) { a[0] += STEP; }\n"}};
  request.name_expressions = {"k"};
  const auto kernel = compiler.compile(request);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.failure().detail, HasSubstr("step.h was read, which is not one of"));
}

TEST(HostCompiler, LeavesNoFilesBehindButItsHeadersWhileItLives) {
  const auto ours = [] {
    int count = 0;
    const std::string prefix = "smemtune-tmp-" + std::to_string(getpid()) + "-";
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::temp_directory_path())) {
      count += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
    }
    return count;
  };
  const int others = ours();
  {
    HostCompiler compiler;
    CompileRequest request;
    request.architecture = "host";
    request.name_expressions = {"kernel"};
    for (const char* const result : {"1", "", "2", "3"}) {
      request.source.files = {
          {"k.cu", std::string("__global__ void kernel(int* out) { *out = ") + result + "; }"}};
      EXPECT_EQ(*result != '\0', static_cast<bool>(compiler.compile(request))) << result;
    }
    EXPECT_EQ(others + 1, ours());
  }
  EXPECT_EQ(others, ours());
}

TEST(HostCompiler, FindsItsProgramsWithoutAPath) {
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  unsetenv("PATH");
  const auto outcome = compile("__global__ void kernel(int* out) { *out = 1; }", {"kernel"});
  if (path != nullptr) setenv("PATH", before.c_str(), 1);
  EXPECT_TRUE(outcome) << outcome.failure().detail;
}

TEST(ChildProcess, ReturnsStatusAndOutput) {
  const TemporaryFolder folder;
  const ChildResult result =
      run_child({"sh", "-c", "echo $TMPDIR; echo error >&2; exit 7"}, folder.path());
  EXPECT_EQ(7, result.status);
  EXPECT_EQ(folder.path().string() + "\nerror\n", result.output);
  EXPECT_EQ(127, run_child({"no-such-program-anywhere"}, folder.path()).status);
  EXPECT_EQ(128 + SIGKILL, run_child({"sh", "-c", "kill -KILL $$"}, folder.path()).status);
}

TEST(ChildProcess, DiesWithItsDescendantsWhenTheProcessIsKilled) {
  const TemporaryFolder folder;
  const std::filesystem::path started = folder.path() / "started";
  const pid_t worker = fork();
  ASSERT_GE(worker, 0);
  if (worker == 0) {
    // Like a compiler driver, the child leaves the work to a grandchild, which reports its process
    // id.
    run_child({"sh", "-c", "sh -c 'echo $$ > started.tmp; mv started.tmp started; sleep 60'; true"},
              folder.path());
    _exit(0);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(started) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pid_t grandchild = 0;
  std::ifstream(started) >> grandchild;
  ASSERT_GT(grandchild, 0);
  EXPECT_EQ(0, kill(grandchild, 0));
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  // Killed, and reaped by the process that adopted it; if none reaps it, it is a zombie.
  const auto is_gone = [&] {
    if (kill(grandchild, 0) != 0) return true;
    std::ifstream status("/proc/" + std::to_string(grandchild) + "/stat");
    std::string number, name, state;
    status >> number >> name >> state;
    return state == "Z" || state.empty();
  };
  while (!is_gone() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_gone());
}

}  // namespace
}  // namespace smemtune::cpu
