// Tests the command line as its users see it: runs the built executable and checks its exit status,
// stdout and stderr. Tuning runs on the CPU device, which every machine has.

#include "db/result_store.h"
#include "db/sqlite.h"
#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using testing::HasSubstr;
using testing::Not;

using smemtune::Ended;

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// Returns the processes that `parent` has started and that still exist.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string text = read(entry.path() / "stat");
    const std::size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos) continue;
    char state = 0;
    pid_t its_parent = 0;
    std::istringstream(text.substr(name_end + 2)) >> state >> its_parent;
    if (its_parent == parent && state != 'Z') {
      children.push_back(std::stoi(entry.path().filename().string()));
    }
  }
  return children;
}

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "tmp");
    setenv("SMEMTUNE_SHIPPED", "off", 1);
    setenv("COLUMNS", "1000", 1);  // Sentences in one line.
  }

  /// Starts the program with a database in the test's own folder.
  pid_t start(const std::vector<std::string>& arguments) {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv("SMEMTUNE_DB", database().c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    if (freopen((folder_ / "out").c_str(), "w", stdout) == nullptr) _exit(126);
    if (freopen((folder_ / "err").c_str(), "w", stderr) == nullptr) _exit(126);
    signal(SIGHUP, hangup_);
    std::vector<std::string> words = {program_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }

  Ended finish(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return {WEXITSTATUS(status), read(folder_ / "out"), read(folder_ / "err")};
  }

  Ended run(const std::vector<std::string>& arguments) { return finish(start(arguments)); }

  /// Runs the program in a shell, with `before` before it and `words` as its arguments, and returns
  /// its status.
  int shell(const std::string& words, const std::string& before = "") const {
    const std::string environment = "SMEMTUNE_DB='" + database().string() + "' XDG_CACHE_HOME='" +
                                    (folder_ / "cache").string() + "' XDG_RUNTIME_DIR='" +
                                    folder_.string() + "' ";
    const int status =
        std::system((environment + before + " '" SMEMTUNE_EXECUTABLE "' " + words).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// Waits until stderr contains `words`.
  bool says(const std::string& words) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (read(folder_ / "err").find(words) == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  /// Waits until `child` has workers and its run is in the database.
  void wait_until_it_is_stored(pid_t child) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto is_early = [&] { return std::chrono::steady_clock::now() < deadline; };
    while (children_of(child).size() < 2 && is_early()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    while (run({"list", "--json"}).status != 0 && is_early()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  std::filesystem::path database() const { return folder_ / "results.sqlite"; }

  static std::string config(const std::string& name) {
    return std::string(SMEMTUNE_SOURCE_DIR) + "/configs/" + name;
  }

  /// Writes a space with one kernel and its source, and returns the file.
  std::string space(const std::string& source) {
    write(folder_ / "mine.cu", source);
    write(folder_ / "mine.json", R"json({
      "name": "mine", "description": "doubles each element",
      "problems": [{ "N": 1000 }],
      "arguments": [
        { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)"
},
        { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
        { "name": "n", "type": "int", "value": "N" }],
      "metrics": { "bytes": "2 * N * sizeof(float)" },
      "verify": { "reference": "twice", "definition": "out[i] = in[i] + in[i]" },
      "kernels": [{ "name": "twice", "source": "mine.cu", "entry": "twice<THREADS>",
        "parameters": { "THREADS": [32, 64, 128] },
        "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"] }]
})json");
    return (folder_ / "mine.json").string();
  }

  smemtune::TemporaryFolder own_folder_;
  std::filesystem::path folder_ = own_folder_.path();
  std::string program_ = SMEMTUNE_EXECUTABLE;
  /// The handler that the program starts with, whoever runs the tests.
  sighandler_t hangup_ = SIG_DFL;
};

constexpr const char* kTwice = R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
}
)";

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(CommandLine, HelpNamesDefaultsUnitsAndExitStatuses) {
  const Ended help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("--max-time"));
  EXPECT_THAT(help.out, HasSubstr("seconds"));
  EXPECT_THAT(help.out, HasSubstr("[1]"));
  EXPECT_THAT(help.out, HasSubstr("130 interrupted"));
  EXPECT_THAT(help.out, Not(HasSubstr("{")));
}

TEST_F(CommandLine, HelpFitsAHundredColumnsAndHasDefaultsInBrackets) {
  for (const std::string command : {"tune", "report", "replay", "import", "diff", "space"}) {
    const std::string help = run({command, "--help"}).out;
    EXPECT_THAT(help, HasSubstr("Usage: smemtune " + command));
    EXPECT_THAT(help, Not(testing::ContainsRegex("--[a-z-]+ [A-Z]+[=:]"))) << "a default elsewhere";
    std::istringstream read(help);
    for (std::string line; std::getline(read, line);) {
      if (line.find(".sqlite]") != std::string::npos) continue;  // The path is the user's.
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
  EXPECT_THAT(run({"tune", "--help"}).out,
              HasSubstr("GPU whose limits the CPU device borrows [h200]"));
}

TEST_F(CommandLine, FaultsOfOptionsAreOneLineAndStatusTwo) {
  const std::vector<std::vector<std::string>> faults = {
      {},
      {"--bogus"},
      {"frobnicate"},
      {"--space"},
      {"--space", config("gemm.json"), "--seed", "010"},
      {"--space", config("gemm.json"), "--seed", ""},
      {"--space", config("gemm.json"), "--seed", "-1"},
      {"--space", config("gemm.json"), "--seed", "99999999999999999999"},
      {"--space", config("gemm.json"), "--seed", "1", "--seed", "2"},
      {"--space", config("gemm.json"), "--max-time", "nan"},
      {"--space", config("gemm.json"), "--max-time", "1e999"},
      {"--space", config("gemm.json"), "--jobs", "0"},
      {"--space", config("gemm.json"), "--strategy", "psychic"},
      {"--space", config("gemm.json"), "--kernel", "naiv"},
      {"--space", config("gemm.json"), "--problem", "N=12", "--device", "cpu"},
      {"--space", config("gemm.json"), "--quiet", "--verbose"},
      {"--space", config("gemm.json"), "--no-wait=perhaps"},
      {"--space", config("gemm.json"), "--device", "0", "--devices", "0,1"},
      {"--space", config("gemm.json"), "--devices", "all", "--dry-run"},
      {"--space", config("gemm.json"), "--dry-run", "--device", "sm_12345"},
      {"--space", "no/such/file.json"},
  };
  for (const std::vector<std::string>& fault : faults) {
    const Ended ended = run(fault);
    const std::string words = testing::PrintToString(fault);
    EXPECT_EQ(ended.status, 2) << words << ended.err;
    EXPECT_EQ(ended.out, "") << words;
    EXPECT_EQ(lines(ended.err), 1u) << words << ended.err;
    EXPECT_THAT(ended.err, testing::StartsWith("smemtune: ")) << words;
  }
}

constexpr const char* kWithHost = R"(
#include "scale.h"
__global__ void scale(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = GAIN * in[i];
}
void scale_cpu(float* out, const float* in, int n) {
  for (int i = 0; i < n; ++i) out[i] = 2 * in[i];
}
int main(int argc, char** argv) {
  int n = 1 << 20;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  scale<<<(n + 255) / 256, 256>>>(in, out, n);
}
)";

TEST_F(CommandLine, HoldsAKernelAgainstTheHostsFunctionFromInitOn) {
  std::filesystem::create_directory(folder_ / "headers");
  write(folder_ / "headers" / "scale.h", "");
  write(folder_ / "scale.cu", kWithHost);
  const std::string file = (folder_ / "scale.json").string();
  const std::vector<std::string> init = {"init",    (folder_ / "scale.cu").string(),
                                         "-I",      (folder_ / "headers").string(),
                                         "--force", "-D"};
  const auto with = [&](const std::string& macro) {
    std::vector<std::string> words = init;
    words.push_back(macro);
    return words;
  };
  const Ended drafted = run(with("GAIN=2"));
  ASSERT_EQ(drafted.status, 0) << drafted.err;
  EXPECT_THAT(drafted.out, HasSubstr("gives the expected results of small"));
  EXPECT_THAT(drafted.out, Not(HasSubstr("scale_cpu_by_one_thread, line")));
  EXPECT_THAT(drafted.out, Not(HasSubstr("not found")));
  const Ended right = run({"--space", file, "--device", "cpu", "--json", "--max-evaluations", "2"});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("\"compared_with\": \"another kernel"));
  EXPECT_THAT(right.out, Not(HasSubstr("\"kernel\": \"scale_cpu_by_one_thread\"")));
  ASSERT_EQ(run(with("GAIN=3")).status, 0);
  const Ended wrong = run({"--space", file, "--device", "cpu", "--max-evaluations", "2"});
  EXPECT_EQ(wrong.status, 3) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("correctness/mismatch"));
}

TEST_F(CommandLine, SuggestsWhatAMistypedWordWasMeantToBe) {
  ASSERT_EQ(run({"--space", space(kTwice), "--device", "cpu"}).status, 0);
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistyped = {
      {{"bestt"}, "unknown command 'bestt'; did you mean 'best'?"},
      {{"mine.json"}, "unknown command 'mine.json'; did you mean --space 'mine.json'?"},
      {{"check", "mine.json"},
       "unexpected argument 'mine.json'; did you mean --space 'mine.json', or smemtune --check "
       "'mine.json'?"},
      {{"--spce", "x.json"}, "unknown option '--spce'; did you mean '--space'?"},
      {{"run", "--confg=A=1"}, "unknown option '--confg'; did you mean '--config'?"},
      {{"--space", "gem.json"}, "did you mean 'gemm.json'?"},
      {{"--space", config("gemm.json"), "--kernel", "naiv"}, "did you mean 'naive'?"},
      {{"best", "--space", "mone"}, "no space 'mone' is stored; did you mean 'mine'?"},
      {{"run", "--dry-run", "--device", "cpu", "--space", (folder_ / "mine.json").string(),
        "--config", "THREAD=32"},
       "has the parameters of 'THREAD=32'; did you mean 'THREADS'?"},
      {{"run", "--dry-run", "--device", "cpu", "--space", (folder_ / "mine.json").string(),
        "--config", "X=32"},
       "has the parameters of 'X=32'; there are "},
      {{"best", "--space", "gone.json"}, "--space: 'gone.json': there is no such file"},
      {{"list", "--space", "gone.json"}, "--space: 'gone.json': there is no such file"},
      {{"list", "--kernel", "twic", "--results"},
       "no kernel 'twic' is stored; did you mean 'twice'?"},
      {{"list", "--device", "h20x"}, "no device 'h20x' is stored; there are "},
      {{"list", "--run", "xyz"}, "no run 'xyz' is stored; there are "},
      {{"list", "--results", "--status", "correctnes"}, "did you mean 'correctness'?"},
  };
  for (const auto& [words, message] : mistyped) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_EQ(lines(ended.err), 1u) << ended.err;
  }
}

TEST_F(CommandLine, ChecksArgumentsAgainstTheSignature) {
  const std::string file = space(kTwice);
  const auto check_with = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json json = nlohmann::json::parse(read(file));
    change(json);
    write(folder_ / "changed.json", json.dump());
    return run({"--check", (folder_ / "changed.json").string()});
  };
  const Ended right = check_with([](nlohmann::json&) {});
  EXPECT_EQ(right.status, 0) << right.err;
  for (const char* type : {"double", "__nv_bfloat16", "int"}) {
    const Ended wrong = check_with([&](nlohmann::json& json) {
      json["arguments"][0]["type"] = type;
      if (type == std::string("int")) json["arguments"][0]["init"] = "zero";
    });
    EXPECT_EQ(wrong.status, 2) << type << wrong.out;
    EXPECT_THAT(wrong.err,
                HasSubstr("argument 1 of twice<32> is of type const float*, but the space passes "
                          "'in', a buffer of " +
                          std::string(type)));
  }
  // The names in the signature check must not collide with the kernel's macros.
  write(folder_ / "macros.cu", std::string("#define K 1\n#define A 2\n#define T 3\n") + kTwice);
  const Ended macros =
      check_with([](nlohmann::json& json) { json["kernels"][0]["source"] = "macros.cu"; });
  EXPECT_EQ(macros.status, 0) << macros.err;
  const Ended swapped = check_with(
      [](nlohmann::json& json) { std::swap(json["arguments"][1], json["arguments"][2]); });
  EXPECT_EQ(swapped.status, 2);
  EXPECT_THAT(swapped.err, HasSubstr("argument 2 of twice<32> is of type "));
  const Ended fewer = check_with([](nlohmann::json& json) { json["arguments"].erase(2); });
  EXPECT_EQ(fewer.status, 2);
  EXPECT_THAT(fewer.err, HasSubstr("but the space passes 2: in, out"));
  // One launch and the swap behind it leave the answer in the buffer that was the scratch.
  for (const char* times : {"i < 1", "i < 2", "i < 3"}) {
    const Ended repeated = check_with([&](nlohmann::json& json) {
      json["arguments"][0]["role"] = "inout";
      json["arguments"][1]["role"] = "scratch";
      json["kernels"][0]["repeat"] = times;
      json["kernels"][0]["swap"] = nlohmann::json::parse(R"([["in", "out"]])");
      json["verify"].erase("definition");
    });
    EXPECT_EQ(repeated.status, 0) << times << repeated.err;
  }
  if (right.out.find("for the CPU device only") != std::string::npos) GTEST_SKIP() << right.out;
  const Ended shared =
      check_with([](nlohmann::json& json) { json["kernels"][0]["static_shared_bytes"] = 64; });
  EXPECT_EQ(shared.status, 2);
  EXPECT_THAT(shared.err, HasSubstr("64 bytes of static shared memory are declared"));
}

TEST_F(CommandLine, RefusesArgumentsOfOtherTypesBeforeItMeasures) {
  nlohmann::json json = nlohmann::json::parse(read(space(kTwice)));
  json["arguments"][0]["type"] = "double";
  const std::string file = (folder_ / "wrong.json").string();
  write(file, json.dump());
  write(folder_ / "other.cu", std::string(kTwice) + "// Another version.\n");
  json["kernels"][0]["source"] = "other.cu";
  const std::string other = (folder_ / "other.json").string();
  write(other, json.dump());
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--space", file, "--device", "cpu"},
           {"--space", file, "--device", "cpu", "--dry-run"},
           {"run", "--space", file, "--config", "THREADS=32", "--device", "cpu"},
           {"diff", file, other, "--device", "cpu"}}) {
    const Ended refused = run(words);
    EXPECT_EQ(refused.status, 2) << words.front() << refused.out << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("kernel 'twice': "));
    EXPECT_THAT(refused.err,
                HasSubstr("argument 1 of twice<32> is of type const float*, but the space passes "
                          "'in', a buffer of double"));
  }
}

TEST_F(CommandLine, ChecksThatDefaultsCanBeLaunched) {
  const nlohmann::json json = nlohmann::json::parse(read(space(kTwice)));
  for (const auto& [key, value, message] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"grid", "0", "grid of 0 x 1 x 1 blocks"},
           {"grid", "0 - 1", "grid of -1 x 1 x 1 blocks"},
           {"block", "8192", "8192 threads per block"},
           {"dynamic_shared_bytes", "300000", "300000 bytes of shared memory per block"}}) {
    nlohmann::json changed = json;
    nlohmann::json& kernel = changed["kernels"][0];
    if (key == "dynamic_shared_bytes") {
      kernel[key] = value;
    } else {
      kernel[key] = {value};
    }
    write(folder_ / "changed.json", changed.dump());
    const Ended ended = run({"--check", (folder_ / "changed.json").string()});
    EXPECT_EQ(ended.status, 2) << key << value << ended.out;
    EXPECT_THAT(ended.err, HasSubstr("kernel 'twice': its default "));
    EXPECT_THAT(ended.err, HasSubstr("cannot be launched: " + message));
  }
}

TEST_F(CommandLine, FindsTheSpacesThatItBringsAlong) {
  EXPECT_EQ(run({"--check", "gemm.json"}).status, 0);
  EXPECT_EQ(run({"--check", "gemm"}).status, 0);
}

TEST_F(CommandLine, AnswersForOneRun) {
  const std::string file = space(kTwice);
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  ASSERT_EQ(run({"--space", file, "--device", "cpu", "--fresh"}).status, 0);
  const auto runs = nlohmann::json::parse(run({"list", "--json"}).out)["runs"];
  ASSERT_EQ(runs.size(), 2u);
  const std::string first = runs[0]["run"];
  const auto listed = nlohmann::json::parse(run({"list", "--run", first, "--json"}).out)["runs"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["run"], first);
  const auto exported = nlohmann::json::parse(run({"export", "--run", first.substr(0, 8)}).out);
  ASSERT_EQ(exported["best"].size(), 1u);
  EXPECT_EQ(exported["best"][0]["provenance"]["run"], first);
}

TEST_F(CommandLine, LetsNoTextSteerTheTerminal) {
  const std::string escape = "\x1b]0;owned\x07\xc2\x9b";
  EXPECT_THAT(run({"--" + escape}).err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run({"--space", "no/" + escape + ".json"}).err, Not(HasSubstr("\x1b")));
  write(folder_ / "source.cu",
        "#include <io" + escape + "stream>\n__global__ void k(float* a) {}\n");
  const Ended drafted = run({"init", (folder_ / "source.cu").string()});
  EXPECT_THAT(drafted.out, HasSubstr("owned"));
  EXPECT_THAT(drafted.out, Not(HasSubstr("\x1b")));
  const std::string file = space(kTwice);
  const std::string header =
      "{'descr': '<f4', '" + escape + "': 1, 'fortran_order': False, 'shape': (1000,)}\n";
  std::string npy = "\x93NUMPY";
  npy += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
  write(folder_ / "in.npy", npy + header + std::string(4000, '\0'));
  nlohmann::json mine = nlohmann::json::parse(read(file));
  mine["arguments"][0]["init"] = "file(\"in.npy\")";
  write(file, mine.dump());
  const Ended ended = run({"--space", file, "--device", "cpu"});
  EXPECT_NE(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("owned"));
  EXPECT_THAT(ended.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ended.err, Not(HasSubstr("\xc2\x9b")));
}

TEST_F(CommandLine, NamesTheOptionAndTheTextOfABadNumber) {
  const Ended ended = run({"--space", config("gemm.json"), "--max-evaluations", "12x"});
  EXPECT_THAT(ended.err, HasSubstr("--max-evaluations"));
  EXPECT_THAT(ended.err, HasSubstr("12x"));
}

TEST_F(CommandLine, ChecksSpaceFiles) {
  for (const char* name : {"add_one.json", "gemm.json", "stencil1d.json"}) {
    const Ended good = run({"--check", config(name)});
    EXPECT_EQ(good.status, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr("ok"));
  }
  write(folder_ / "bad.json", R"({ "name": "bad", "kernelz": [] })");
  const Ended bad = run({"--check", (folder_ / "bad.json").string()});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("kernelz"));
  EXPECT_THAT(bad.err, HasSubstr("kernels"));
}

constexpr const char* kProgram = R"(#include <cstdio>
#include <iostream>
#define TILE 16

__global__ void transpose(float* out, const float* in, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int w = 4096, h = 2048;
  dim3 threads(TILE, TILE);
  transpose<<<dim3(w / TILE, h / TILE), threads>>>(out, in, w, h);
  std::cout << "done" << std::endl;
}
)";

TEST_F(CommandLine, SaysOfTheSourceOnlyWhatIsInItWhereAHostCopiesOnTheDevice) {
  write(folder_ / "mine.cu", R"(
__global__ void scale(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 2 * x[i];
}
void run(float* x, float* y) {
  const int n = 1 << 20;
  for (int t = 0; t < 4; ++t) {
    scale<<<(n + 127) / 128, 128>>>(y, x, n);
    cudaMemcpy(x, y, n * sizeof(float), cudaMemcpyDeviceToDevice);
  }
}
)");
  const Ended init = run({"init", (folder_ / "mine.cu").string()});
  EXPECT_EQ(init.status, 0) << init.err;
  EXPECT_THAT(init.out, HasSubstr("smemtune_copy: block 256"));
  EXPECT_THAT(init.out, HasSubstr("left out: run"));
  EXPECT_THAT(init.out, Not(HasSubstr("left out: smemtune")));
}

TEST_F(CommandLine, WritesASpaceForAKernelThatIsCompletedAndTuned) {
  write(folder_ / "mine.cu", kProgram);
  const std::string source = (folder_ / "mine.cu").string();
  const std::string json = (folder_ / "mine.json").string();
  const Ended init = run({"init", source});
  EXPECT_EQ(init.status, 0) << init.err;
  EXPECT_THAT(init.out, HasSubstr("transpose, line 5, 4 arguments\n"));
  EXPECT_THAT(init.out, HasSubstr("mine.cu, line 2: left out: #include <iostream>\n"));
  EXPECT_THAT(init.out, HasSubstr("mine.cu, lines 14-19: left out: main\n"));
  EXPECT_THAT(init.out, HasSubstr("/arguments/1/shape/0: TODO: elements of in, such as"));
  EXPECT_THAT(read(folder_ / "mine_kernel.cu"), HasSubstr("#ifndef TILE\n#define TILE 16\n#endif"));

  const Ended check = run({"--check", json});
  EXPECT_EQ(check.status, 2);
  EXPECT_EQ(lines(check.err), 2u) << check.err;
  EXPECT_THAT(check.err, HasSubstr("mine.json:10: /arguments/0/shape/0: TODO: elements of out"));

  nlohmann::ordered_json space = nlohmann::ordered_json::parse(read(json));
  for (const std::size_t i : {0u, 1u}) space["arguments"][i]["shape"] = {"WIDTH * HEIGHT"};
  space["kernels"][0]["grid"] = {"ceil_div(WIDTH, TILE)", "ceil_div(HEIGHT, TILE)"};
  space["cpu_problems"] = {{{"WIDTH", 70}, {"HEIGHT", 50}}};
  space["kernels"][0]["parameters"]["TILE"] = {8, 16};
  write(json, space.dump(2));
  const Ended checked = run({"--check", json});
  EXPECT_EQ(checked.status, 0) << checked.err;
  const Ended tuned = run({"--space", json, "--device", "cpu"});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr(" the default"));
}

TEST_F(CommandLine, InitCopiesAKernelWhoseHeaderLiesElsewhere) {
  std::filesystem::create_directories(folder_ / "src/include");
  write(folder_ / "src/include/two.h", "#define TWO 2\n");
  write(folder_ / "src/mine.cu",
        "#include <two.h>\n__global__ void k(float* o, int n) { o[threadIdx.x] = TWO; }\n");
  const Ended init = run({"init", (folder_ / "src/mine.cu").string()});
  EXPECT_EQ(init.status, 0) << init.err;
  EXPECT_THAT(init.out, HasSubstr("mine.cu: #include <two.h> is "));
  EXPECT_THAT(read(folder_ / "src/mine_kernel.cu"), HasSubstr("#define TWO 2"));
}

TEST_F(CommandLine, InitSaysTuneNextOnlyWhereNothingIsAGuess) {
  const auto last_line = [&](const std::string& argument) {
    write(folder_ / "ones.cu",
          "template <int ITEMS> __global__ void ones(float* o, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = ITEMS; }\n"
          "int main() {\n  int n = 4096; float* o; cudaMalloc(&o, n * sizeof(float));\n  ones<" +
              argument + "><<<(n + 63) / 64, 64>>>(o, n);\n}\n");
    const std::string out = run({"init", (folder_ / "ones.cu").string(), "--force"}).out;
    return out.substr(out.rfind('\n', out.size() - 2) + 1);
  };
  EXPECT_THAT(last_line("4"), testing::StartsWith("next: smemtune --space "));
  EXPECT_THAT(last_line("CHOSEN"), testing::StartsWith("then: look at what is a guess in "));
}

TEST_F(CommandLine, InitWritesOverNothingUnlessItIsTold) {
  write(folder_ / "mine.cu", kProgram);
  const std::string source = (folder_ / "mine.cu").string();
  write(folder_ / "mine.json", "kept");
  EXPECT_EQ(run({"init", source}).status, 2);
  EXPECT_EQ(read(folder_ / "mine.json"), "kept");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mine_kernel.cu"));
  EXPECT_EQ(shell("init --force '" + source + "' 2> /dev/null", "SMEMTUNE_SHARE=/dev"), 2);
  EXPECT_EQ(read(folder_ / "mine.json"), "kept");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mine_kernel.cu"));
  EXPECT_EQ(run({"init", source, "--force"}).status, 0);
  EXPECT_THAT(read(folder_ / "mine.json"), HasSubstr("mine_kernel.cu"));
  EXPECT_EQ(read(folder_ / "mine.cu"), kProgram);

  const Ended unknown = run({"init", source, "--force", "--kernel", "transpos"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("transpose"));
  write(folder_ / "three.cu",
        "__global__ void f(int* p) {}\n__global__ void g(int* p) {}\n__global__ void h() {}\n");
  const std::string three = (folder_ / "three.cu").string();
  const Ended two = run({"init", three, "--kernel", "g", "--kernel", "f"});
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("h, line 3, 0 arguments: not taken\n"));
  EXPECT_THAT(two.out, Not(HasSubstr("all are compared with")));
  EXPECT_THAT(read(folder_ / "three_kernel.cu"), Not(HasSubstr("void h()")));
  EXPECT_THAT(read(folder_ / "three.json"), HasSubstr("\"reference\": \"g\""));
  EXPECT_THAT(run({"init", three, "--force"}).out,
              HasSubstr("all are compared with f: remove from the space those that compute"));
  const Ended unlike = run({"init", three, "--force", "--kernel", "g", "--kernel", "h"});
  EXPECT_EQ(unlike.status, 2);
  EXPECT_THAT(unlike.err, HasSubstr("--kernel: h takes other arguments than g"));
  write(folder_ / "empty.cu", "int main() {}");
  EXPECT_EQ(run({"init", (folder_ / "empty.cu").string()}).status, 2);
  EXPECT_EQ(run({"init", (folder_ / "none.cu").string()}).status, 2);
  EXPECT_EQ(run({"init"}).status, 2);
}

TEST_F(CommandLine, ReadsWhatItKnowsOfANewerDatabaseAndDoesNotWriteIt) {
  namespace db = smemtune::db;
  db::ResultStore{database()};
  const Ended known = run({"list"});
  db::Connection(database(), db::Connection::Mode::read_write, 0)
      .execute("PRAGMA user_version = 99; ALTER TABLE run ADD COLUMN note TEXT");
  const Ended listed = run({"list"});
  EXPECT_EQ(listed.status, known.status);
  EXPECT_EQ(listed.out, known.out);
  EXPECT_THAT(listed.err, HasSubstr("written by a newer smemtune (version 99)"));
  const std::string before = read(database());
  const Ended tuned = run({"--space", space(kTwice), "--device", "cpu"});
  EXPECT_EQ(tuned.status, 4) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("can only be read; update smemtune"));
  EXPECT_EQ(read(database()), before);
}

TEST_F(CommandLine, RefusesADatabaseThatIsNoneAndLeavesItAlone) {
  const std::string letter = "Dear database, this is a letter and no SQLite file at all.\n";
  write(database(), letter);
  for (const char* command : {"best", "list", "export", "compare"}) {
    const Ended ended = run({command});
    EXPECT_EQ(ended.status, 4) << command << ended.err;
    EXPECT_EQ(lines(ended.err), 1u) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(database().string()));
  }
  const Ended tuned = run({"--space", space(kTwice), "--device", "cpu"});
  EXPECT_EQ(tuned.status, 4) << tuned.err;
  EXPECT_EQ(read(database()), letter);
}

TEST_F(CommandLine, SaysWhyItEndsAfterItsTime) {
  // The compiler takes two seconds to print its version, so no worker is ready before.
  const std::filesystem::path slow = folder_ / "slow";
  write(slow, "#!/bin/sh\n[ \"$1\" = --version ] && sleep 2\nexec c++ \"$@\"\n");
  std::filesystem::permissions(slow, std::filesystem::perms::owner_all);
  setenv("CXX", slow.c_str(), 1);
  const Ended late = run({"--space", space(kTwice), "--device", "cpu", "--max-time", "0.5"});
  unsetenv("CXX");
  EXPECT_EQ(late.status, 3) << late.err;
  EXPECT_THAT(late.err, HasSubstr("time ran out before any configuration was finished"));
  EXPECT_THAT(late.err, testing::ContainsRegex("ended [0-9.]+ s after the 0.5 s of --max-time: "
                                               "[0-9.]+ s starting workers"));
}

TEST_F(CommandLine, WaitsForNoFifoWhateverItIsGivenAs) {
  const auto pipe = [this](const std::string& name) {
    EXPECT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
    return "'" + (folder_ / name).string() + "'";
  };
  const std::string json = pipe("pipe.json");
  const std::string database = pipe("pipe.sqlite");
  const std::string file = "'" + space(kTwice) + "'";
  const auto status = [this](const std::string& words, const std::string& before = "") {
    const int ended =
        shell(words + " >" + (folder_ / "out").string() + " 2>" + (folder_ / "err").string(),
              before + " timeout 20");
    EXPECT_THAT(read(folder_ / "err"), HasSubstr("not a regular file")) << words;
    return ended;
  };
  EXPECT_EQ(status("--check " + json), 2);
  EXPECT_EQ(status("--space " + json + " --device cpu"), 2);
  EXPECT_EQ(status("best --space " + json), 2);
  EXPECT_EQ(status("init " + pipe("pipe.cu")), 2);
  EXPECT_EQ(status("import " + json), 2);
  EXPECT_EQ(status("import " + database), 2);
  EXPECT_EQ(status("replay --data " + json), 2);
  EXPECT_EQ(status("report " + json), 2);
  EXPECT_EQ(status("diff " + json + " " + json), 2);
  EXPECT_EQ(status("merge " + database + " --into '" + (folder_ / "all.sqlite").string() + "'"), 2);
  for (const char* command : {"best", "list", "export", "compare", "report -o -", "db check"}) {
    EXPECT_EQ(status(std::string(command) + " --db " + database), 4);
  }
  EXPECT_EQ(status("--device cpu --db " + database + " --space " + file), 4);
  EXPECT_EQ(
      status("best --db '" + this->database().string() + "'", "SMEMTUNE_SHARED_DB=" + database), 2);
  EXPECT_EQ(status("--dry-run --device sm_90 --nvrtc " + pipe("libnvrtc.so") + " --space " + file),
            2);
  // The FIFO is named by a space file.
  std::filesystem::remove(folder_ / "mine.cu");
  pipe("mine.cu");
  EXPECT_EQ(status("--check " + file), 2);
  std::filesystem::remove(folder_ / "mine.cu");
  write(folder_ / "mine.cu", kTwice);
  std::string with_data = read(folder_ / "mine.json");
  with_data.replace(with_data.find("uniform(-1, 1)"), 14, "file(\\\"in.npy\\\")");
  write(folder_ / "mine.json", with_data);
  pipe("in.npy");
  EXPECT_EQ(status("--check " + file), 2);
}

TEST_F(CommandLine, FindsAnImportedSpaceThatIsCalledAsAFileIs) {
  const std::string cache = (folder_ / "cache.json").string();
  write(cache, R"({"device_name": "A", "kernel_name": "k", "problem_size": [64],
                   "tune_params_keys": ["B"], "tune_params": {"B": [32]},
                   "cache": {"32": {"B": 32, "time": 1.5}}})");
  ASSERT_EQ(run({"import", cache, "--space", "gone.json"}).status, 0);
  const Ended best = run({"best", "--space", "gone.json", "--source", "imported"});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr("1.5"));
}

TEST_F(CommandLine, RefusesValuesThatAreEmpty) {
  const std::string file = space(kTwice);
  for (const char* option : {"--device", "--devices", "--kernel", "--also-fits", "--db"}) {
    const Ended ended = run({"--space", file, option, ""});
    EXPECT_EQ(ended.status, 2) << option;
    EXPECT_THAT(ended.err, HasSubstr(std::string(option) + ": is empty"));
  }
  EXPECT_THAT(run({"best", "--space", ""}).err, HasSubstr("--space: is empty"));
}

TEST_F(CommandLine, RefusesOptionsThatWouldDoNothing) {
  const std::string file = space(kTwice);
  EXPECT_EQ(run({"--check", file, "--space", file}).status, 2);
  EXPECT_EQ(run({"--space", file, "--dry-run", "--export", "-"}).status, 2);
  EXPECT_EQ(run({"list", "--status", "compile"}).status, 2);
}

TEST_F(CommandLine, KnowsBeforeItMeasuresThatTheExportCannotBeWritten) {
  const std::string file = space(kTwice);
  for (const std::filesystem::path& place : {folder_ / "none" / "best.json", folder_}) {
    const Ended ended = run({"--space", file, "--device", "cpu", "--export", place.string()});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr(place.string() + ": cannot be written"));
    EXPECT_FALSE(std::filesystem::exists(database()));
  }
}

TEST_F(CommandLine, AsksForADatabaseWhereNobodyHasAHome) {
  const std::string err = (folder_ / "err").string();
  EXPECT_EQ(shell("best 2>'" + err + "'", "env -u SMEMTUNE_DB -u HOME XDG_DATA_HOME=relative"), 4);
  EXPECT_THAT(read(err), HasSubstr("set HOME or SMEMTUNE_DB"));
}

TEST_F(CommandLine, WorksWithoutStandardStreams) {
  const std::string tune = "--space '" + space(kTwice) + "' --device cpu --fresh";
  EXPECT_EQ(shell(tune + " 2>&-"), 0);
  EXPECT_EQ(shell(tune + " <&- >&- 2>&-"), 0);
  EXPECT_EQ(shell("export >&- 2>&-"), 2);
}

TEST_F(CommandLine, SaysThatItsAnswerWasLost) {
  const std::string file = space(kTwice);
  EXPECT_EQ(shell("--check '" + file + "' >/dev/full 2>&-"), 2);
  EXPECT_EQ(shell("--check '" + file + "' >/dev/null"), 0);
}

TEST_F(CommandLine, AGpuThatIsAskedForAndMissingIsStatusFive) {
  if (std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a GPU";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--space", config("gemm.json"), "--device", "0"},
        std::vector<std::string>{"--space", config("gemm.json"), "--devices", "all"},
        std::vector<std::string>{"devices"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 5) << ended.err;
    EXPECT_EQ(lines(ended.err), 1u) << ended.err;
  }
}

TEST_F(CommandLine, TunesStoresAnswersAndResumesOnTheCpu) {
  const std::string file = space(kTwice);
  const Ended first = run({"--space", file, "--device", "cpu", "--export", "-"});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("best: twice THREADS="));
  EXPECT_THAT(first.out, HasSubstr("\"format\": \"smemtune-best\""));

  const Ended again = run({"--space", file, "--device", "cpu", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  const auto document = nlohmann::json::parse(again.out);
  EXPECT_EQ(document["evaluated"], 0);
  EXPECT_EQ(document["problems"][0]["known"], 3);
  EXPECT_EQ(document["problems"][0]["results"].size(), 3u);

  const Ended fresh = run({"--space", file, "--device", "cpu", "--json", "--fresh"});
  EXPECT_EQ(nlohmann::json::parse(fresh.out)["evaluated"], 3);

  const Ended best = run({"best"});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr("CPU"));
  EXPECT_EQ(run({"best", "--space", file}).out, best.out);
  const Ended list = run({"list", "--json"});
  EXPECT_EQ(nlohmann::json::parse(list.out)["runs"].size(), 3u);
  const Ended exported = run({"export"});
  EXPECT_NO_THROW(EXPECT_EQ(nlohmann::json::parse(exported.out)["version"], 1));
  const Ended compared = run({"compare"});
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("N=1000"));
}

TEST_F(CommandLine, SaysWhatToExpectOfAGpuButDoesNotJudgeTheCpu) {
  const Ended ended = run({"--space", config("memory_constant.json"), "--device", "cpu"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("To expect: a word that all lanes of a warp want"));
  EXPECT_THAT(ended.out, HasSubstr("cannot be seen on the CPU"));
  EXPECT_THAT(ended.out, testing::Not(HasSubstr("predicted")));
}

TEST_F(CommandLine, NamesTheOneConfigurationForAllProblems) {
  const std::string file = space(kTwice);
  EXPECT_EQ(run({"--space", file, "--device", "cpu", "--quiet"}).status, 0);
  const Ended alone = run({"best", "--one"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.err, HasSubstr("several problems, and what matches is of one"));

  const std::vector<std::string> both = {"--space",   file,     "--device",  "cpu",
                                         "--problem", "N=1000", "--problem", "N=5000"};
  std::vector<std::string> as_json = both;
  as_json.emplace_back("--json");
  const Ended tuned = run(as_json);
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  const auto one = nlohmann::json::parse(tuned.out)["one_for_all"];
  EXPECT_EQ(one["kernel"], "twice");
  EXPECT_EQ(one["losses"].size(), 2u);
  EXPECT_GE(one["worst_percent"], one["mean_percent"]);
  EXPECT_THAT(run(both).out, HasSubstr("one for all 2 problems: twice THREADS="));

  const Ended stored = run({"best", "--one", "--json"});
  ASSERT_EQ(stored.status, 0) << stored.err;
  const auto answer = nlohmann::json::parse(stored.out)["spaces"][0];
  EXPECT_EQ(answer["space"], "mine");
  EXPECT_EQ(answer["configuration"], one["configuration"]);
  EXPECT_THAT(run({"best", "--one"}).out, HasSubstr("(geometric mean)"));
}

TEST_F(CommandLine, SaysWithStatusThreeThatNothingWorkedAndShowsTheFirstLog) {
  const Ended ended =
      run({"--space", space(std::string(kTwice) + "static_assert(sizeof(int) == 5, \"odd int\");"),
           "--device", "cpu"});
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("odd int"));
}

TEST_F(CommandLine, StopsCleanlyWhenInterruptedAndGoesOnLater) {
  const std::vector<std::string> words = {
      "--space",   config("gemm.json"),        "--device", "cpu", "--jobs", "1", "--json",
      "--problem", "K=160,M=160,N=160,T=float"};
  const pid_t child = start(words);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (run({"list", "--results"}).out.find("correct") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ASSERT_EQ(kill(child, SIGINT), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
  const Ended list = run({"list", "--json"});
  EXPECT_THAT(list.out, HasSubstr("interrupted"));
  const Ended best = run({"best"});
  EXPECT_EQ(best.status, 0);
  EXPECT_THAT(best.out, HasSubstr("screened only"));
}

TEST_F(CommandLine, StartsItsWorkersAnewWhenItsFileHasBeenReplaced) {
  program_ = (folder_ / "program").string();
  std::filesystem::copy_file(SMEMTUNE_EXECUTABLE, program_);
  const pid_t child = start({"--space", config("gemm.json"), "--device", "cpu", "--jobs", "1",
                             "--kernel", "naive", "--problem", "K=64,M=64,N=64,T=float"});
  program_ = SMEMTUNE_EXECUTABLE;
  wait_until_it_is_stored(child);
  program_ = (folder_ / "program").string();
  std::filesystem::remove(program_);
  write(program_, "what a linker has begun to write");
  for (const pid_t worker : children_of(child)) kill(worker, SIGKILL);
  const Ended ended = finish(child);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("best: naive"));
}

TEST_F(CommandLine, EndsCleanlyAtEverySignalThatAsksForIt) {
  const std::vector<std::string> words = {
      "--space",   config("gemm.json"),        "--device", "cpu", "--jobs", "1",
      "--problem", "K=160,M=160,N=160,T=float"};
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = start(words);
    wait_until_it_is_stored(child);
    const std::vector<pid_t> workers = children_of(child);
    EXPECT_GE(workers.size(), 2u);
    ASSERT_EQ(kill(child, signal), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << signal;
    EXPECT_EQ(WEXITSTATUS(status), 130) << "signal " << signal;
    for (const pid_t worker : workers) EXPECT_NE(kill(worker, 0), 0) << "worker " << worker;
    EXPECT_EQ(run({"list"}).status, 0) << "the database is whole";
    std::filesystem::remove(database());
  }
}

/// Returns true if the process has a handler for SIGINT.
bool catches_interrupts(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    return ((std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1)) & 1) != 0;
  }
  return false;
}

// The command needs minutes to count its search space.
TEST_F(CommandLine, EndsACommandThatOnlyAnswersAtTheFirstSignal) {
  nlohmann::json mine = nlohmann::json::parse(read(space(kTwice)));
  nlohmann::json& kernel = mine["kernels"][0];
  std::string sum;
  std::string macros = "0";
  kernel["default"]["THREADS"] = kernel["parameters"]["THREADS"][0];
  for (int i = 0; i < 20; ++i) {
    const std::string name = "P" + std::to_string(i);
    for (int value = 20; value < 50; ++value) kernel["parameters"][name].push_back(value);
    kernel["default"][name] = 32;
    kernel["options"].push_back("-DTHE_" + name + "=${" + name + "}");
    sum += (i > 0 ? " + " : "") + name;
    macros += " + THE_" + name;
  }
  write(folder_ / "mine.cu", kTwice + ("__device__ int sum() { return " + macros + "; }\n"));
  kernel["constraints"].push_back(sum + " == 640");
  write(folder_ / "large.json", mine.dump());
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = start({"space", (folder_ / "large.json").string(), "--device", "h200"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!catches_interrupts(child) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ASSERT_EQ(kill(child, signal), 0);
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(finish(child).status, 130) << "signal " << signal;
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(5));
  }
}

TEST_F(CommandLine, OutlivesItsTerminalUnderNohup) {
  hangup_ = SIG_IGN;
  const pid_t child = start({"--space", space(kTwice), "--device", "cpu"});
  wait_until_it_is_stored(child);
  ASSERT_EQ(kill(child, SIGHUP), 0);
  EXPECT_EQ(finish(child).status, 0);
}

TEST_F(CommandLine, FinishesWhenNobodyReadsItsOutput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const std::string file = space(kTwice);
  const pid_t child = fork();
  if (child == 0) {
    setenv("SMEMTUNE_DB", database().c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    execl(SMEMTUNE_EXECUTABLE, SMEMTUNE_EXECUTABLE, "--space", file.c_str(), "--device", "cpu",
          "--verbose", nullptr);
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  const auto runs = nlohmann::json::parse(run({"list", "--json"}).out)["runs"];
  EXPECT_EQ(runs.at(0)["outcome"], "complete");
  EXPECT_EQ(runs.at(0)["correct"], 3);
}

TEST_F(CommandLine, ADiskThatIsFullIsStatusFourAndCostsNothingStored) {
  const std::string file = space(kTwice);
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  const std::string before = run({"list", "--results", "--json"}).out;
  const auto results_before = nlohmann::json::parse(before)["results"].size();
  struct rlimit usual {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  // No file may become larger than the database is now: the disk is full as soon as it has to grow.
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(database()));
  const struct rlimit full = {.rlim_cur = size, .rlim_max = usual.rlim_max};
  Ended ended;
  for (int i = 0; i < 50 && ended.status != 4; ++i) {
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    ended = run({"--space", file, "--device", "cpu", "--fresh"});
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
    ASSERT_TRUE(ended.status == 0 || ended.status == 4) << ended.err;
  }
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(database().string()));
  const auto after = nlohmann::json::parse(run({"list", "--results", "--json"}).out)["results"];
  EXPECT_GE(after.size(), results_before);
  EXPECT_EQ(run({"--space", file, "--device", "cpu"}).status, 0) << "with room again it goes on";
}

TEST_F(CommandLine, ADatabaseWhereFilesCannotBeLockedIsStatusFour) {
#ifdef SMEMTUNE_SANITIZED
  GTEST_SKIP() << "nothing is loaded before the sanitizer";
#endif
  const std::string preloaded = "LD_PRELOAD='" SMEMTUNE_LOCKLESS_NFS "' ";
  const std::string tune =
      "--space add_one --problem N=1000,T=int --device cpu --max-evaluations 1 "
      "2>'" +
      (folder_ / "err").string() + "' >/dev/null";
  for (const auto& [locks, why] :
       {std::pair("refused", "a file cannot be locked: No locks available"),
        std::pair("shared", "two processes were both given the same lock")}) {
    EXPECT_EQ(shell(tune, preloaded + "SMEMTUNE_TEST_LOCKS=" + locks), 4);
    EXPECT_THAT(
        read(folder_ / "err"),
        testing::AllOf(HasSubstr(database().string() + ": on a network file system (NFS)"),
                       HasSubstr(why), HasSubstr("set SMEMTUNE_DB to a file on a local disk"),
                       HasSubstr("SMEMTUNE_ALLOW_NETWORK_FS=1")));
    EXPECT_FALSE(std::filesystem::exists(database()));
  }
}

TEST_F(CommandLine, TooLittleMemoryIsStatusFive) {
#ifdef SMEMTUNE_SANITIZED
  GTEST_SKIP() << "the sanitizer itself needs more addresses than are left here";
#endif
  const std::string file = space(kTwice);
  nlohmann::json many = nlohmann::json::parse(read(file));
  std::vector<int> values(70);
  std::iota(values.begin(), values.end(), 1);
  many["kernels"][0]["entry"] = "twice<THREADS, A, B, C, D>";
  for (const char* name : {"A", "B", "C", "D"}) many["kernels"][0]["parameters"][name] = values;
  // Only some of the points satisfy this constraint, so they are counted one by one.
  many["kernels"][0]["constraints"] = {"A + B + C + D < 280"};
  write(file, many.dump());
  struct rlimit usual {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &usual), 0);
  const struct rlimit little = {.rlim_cur = rlim_t{380} << 20, .rlim_max = usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const pid_t child = start({"--space", file, "--device", "cpu"});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &usual), 0);
  const Ended ended = finish(child);
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.err, HasSubstr("out of memory"));
}

TEST_F(CommandLine, ASecondRunOnTheDeviceRefusesOrWaitsUntilTheFirstHasGone) {
  const pid_t first = start({"--space", config("gemm.json"), "--device", "cpu", "--problem",
                             "K=160,M=160,N=160,T=float", "--verbose"});
  ASSERT_TRUE(says("naive"));
  const std::vector<std::string> words = {"--space", space(kTwice), "--device", "cpu", "--json"};
  std::vector<std::string> impatient = words;
  impatient.push_back("--no-wait");
  const Ended refused = run(impatient);
  EXPECT_EQ(refused.status, 5) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("process " + std::to_string(first) + ", tuning gemm since"));

  const pid_t second = start(words);
  ASSERT_TRUE(says("waiting: the CPU device is in use by another smemtune: process " +
                   std::to_string(first)));
  ASSERT_EQ(kill(first, SIGKILL), 0);
  const Ended ended = finish(second);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(nlohmann::json::parse(ended.out)["evaluated"], 3);
  ASSERT_EQ(waitpid(first, nullptr, 0), first);

  const auto runs = nlohmann::json::parse(run({"list", "--json"}).out)["runs"];
  ASSERT_EQ(runs.size(), 2u) << runs;
  EXPECT_EQ(runs[0]["outcome"], "cut off");
  EXPECT_EQ(runs[1]["outcome"], "complete");
}

TEST_F(CommandLine, StopsWaitingForADeviceWhenInterrupted) {
  const pid_t first = start({"--space", config("gemm.json"), "--device", "cpu", "--problem",
                             "K=160,M=160,N=160,T=float", "--verbose"});
  ASSERT_TRUE(says("naive"));
  const pid_t second = start({"--space", space(kTwice), "--device", "cpu"});
  ASSERT_TRUE(says("waiting: "));
  ASSERT_EQ(kill(second, SIGINT), 0);
  EXPECT_EQ(finish(second).status, 130);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_EQ(waitpid(first, nullptr, 0), first);
}

TEST_F(CommandLine, DryRunsEveryShippedSpaceWithoutAGpu) {
  if (!SMEMTUNE_CUDA_BUILD) GTEST_SKIP() << "built without the CUDA back end";
  for (const char* name : {"add_one.json", "gemm.json", "stencil1d.json"}) {
    const Ended ended = run({"--space", config(name), "--dry-run", "--device", "sm_90", "--json",
                             "--max-evaluations", "12"});
    ASSERT_EQ(ended.status, 0) << ended.err;
    const auto document = nlohmann::json::parse(ended.out);
    std::size_t compiled = 0;
    for (const auto& problem : document["problems"]) {
      for (const auto& result : problem["results"]) {
        EXPECT_NE(result["status"], "correct") << "it never ran";
        if (result["status"] != "fits") continue;
        ++compiled;
        EXPECT_GT(result["launches"][0]["resources"]["registers_per_thread"], 0);
        EXPECT_GT(result["launches"][0]["occupancy"]["percent"], 0.0);
      }
    }
    EXPECT_GT(compiled, 0u) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(database())) << "a dry run stores nothing";
}

TEST_F(CommandLine, LimitsTheMemoryOfItsCompileWorkers) {
#if !SMEMTUNE_CUDA_BUILD || defined(SMEMTUNE_SANITIZED)
  GTEST_SKIP() << "no NVRTC, or sanitizers, which reserve terabytes";
#endif
  const pid_t child =
      start({"--space", config("gemm.json"), "--dry-run", "--device", "h200", "--jobs", "2"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::vector<rlim_t> limits;
  const auto are_limited = [&] {
    limits.clear();
    for (const pid_t worker : children_of(child)) {
      rlimit limit = {};
      if (prlimit(worker, RLIMIT_AS, nullptr, &limit) == 0) limits.push_back(limit.rlim_cur);
    }
    return limits.size() == 2 && std::ranges::max(limits) < RLIM_INFINITY;
  };
  while (!are_limited() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(limits.size(), 2u);
  for (const rlim_t limit : limits) {
    EXPECT_LT(limit, RLIM_INFINITY);
    EXPECT_GE(limit, std::uint64_t{4} << 30);
  }
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(CommandLine, AddsToTheHistoryWhatACheckRecords) {
  const std::string file = space(kTwice);
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  const auto points = [&] {
    const auto json =
        nlohmann::json::parse(run({"history", "--format", "json"}).out, nullptr, false);
    return json["histories"][0]["points"].size();
  };
  const auto runs = [&] {
    return nlohmann::json::parse(run({"list", "--json"}).out)["runs"].size();
  };
  ASSERT_EQ(points(), 1u);
  const std::vector<std::string> check = {"check", "--space", file,          "--device",
                                          "cpu",   "--quiet", "--tolerance", "1000"};
  ASSERT_EQ(run(check).status, 0);
  EXPECT_EQ(points(), 1u) << "nothing is recorded unasked";
  EXPECT_EQ(runs(), 1u);
  std::vector<std::string> recorded = check;
  recorded.emplace_back("--record");
  const Ended checked = run(recorded);
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_EQ(runs(), 2u);
  EXPECT_EQ(nlohmann::json::parse(run({"list", "--json"}).out)["runs"][1]["outcome"], "complete");
  EXPECT_GE(points(), 1u);
  EXPECT_THAT(run({"history"}).out, HasSubstr("to tell a change from chance takes 11"));
  EXPECT_THAT(run({"history", "--format", "bencher"}).out, HasSubstr("\"latency\""));
  EXPECT_EQ(run({"history", "--format", "nosuch"}).status, 2);
  EXPECT_EQ(run({"history", "--space", "nosuch"}).status, 2);
}

TEST_F(CommandLine, SaysWhyThereAreNoCountersOfADeviceWithoutThem) {
  const std::string file = space(kTwice);
  const std::vector<std::string> words = {"run", "--space",  file, "--device",
                                          "cpu", "--config", "",   "--counters"};
  const Ended one = run(words);
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("correct: largest error 0"));
  EXPECT_THAT(one.out, HasSubstr("no counters: "));
  std::vector<std::string> with_energy = words;
  with_energy.back() = "--energy";
  EXPECT_THAT(run(with_energy).out, HasSubstr("no energy: "));
  with_energy.emplace_back("--profile");
  EXPECT_EQ(run(with_energy).status, 2);
  for (const char* other : {"--dry-run", "--profile"}) {
    std::vector<std::string> both = words;
    both.emplace_back(other);
    EXPECT_EQ(run(both).status, 2) << other;
  }
  for (const char* when : {"first", "when all is known"}) {
    const Ended tuned = run({"--space", file, "--device", "cpu", "--counters"});
    EXPECT_EQ(tuned.status, 0) << when << ": " << tuned.err;
    EXPECT_THAT(tuned.out + tuned.err, HasSubstr("no counters: ")) << when;
  }
  const Ended dry = run({"--space", file, "--device", "cpu", "--counters", "--dry-run"});
  EXPECT_EQ(dry.status, 2);
  EXPECT_THAT(dry.err, HasSubstr("--dry-run measures nothing"));
}

TEST_F(CommandLine, SaysWhyThereIsNoEnergyOfADeviceThatDoesNotTellIt) {
  const std::string file = space(kTwice);
  const Ended tuned = run({"--space", file, "--device", "cpu", "--energy"});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_THAT(tuned.out + tuned.err, HasSubstr("no energy: "));
  EXPECT_EQ(run({"--space", file, "--device", "cpu", "--energy", "--dry-run"}).status, 2);
  const Ended by_energy = run({"--space", file, "--device", "cpu", "--objective", "edp"});
  EXPECT_EQ(by_energy.status, 0) << by_energy.err;
  EXPECT_THAT(by_energy.out + by_energy.err, HasSubstr("no energy: ")) << "it is asked for";
  EXPECT_EQ(run({"--space", file, "--device", "cpu", "--objective", "watts"}).status, 2);
  for (const char* command : {"best", "why"}) {
    const Ended ranked = run({command, "--objective", "energy"});
    EXPECT_EQ(ranked.status, 2) << command;
    EXPECT_THAT(ranked.err,
                HasSubstr("no finalist of 'mine' can be ranked by energy: energy is not known "
                          "(smemtune --space FILE --energy)"));
    EXPECT_THAT(run({command, "--objective", "time * shared_bytes"}).out,
                HasSubstr("is the best of these"));
    const Ended unknown = run({command, "--objective", "time * sheared_bytes"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.err, HasSubstr("did you mean 'shared_bytes'?; it is an expression over "));
    EXPECT_EQ(run({command, "--objective", "time"}).status, 0) << command;
  }
  EXPECT_EQ(run({"best", "--objective", "energy", "--one"}).status, 2);
}

TEST_F(CommandLine, RunsOneConfigurationAndKeepsWhatTheCompilerMade) {
  const std::string file = space(kTwice);
  const std::string kept = (folder_ / "kept").string();
  const Ended one = run({"run", "--space", file, "--device", "cpu", "--config", "THREADS=96",
                         "--samples", "3", "--keep", kept});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("mine/twice THREADS=96"));
  EXPECT_THAT(one.out, HasSubstr("correct: largest error 0 absolute"));
  EXPECT_THAT(one.out, HasSubstr("3 samples"));
  EXPECT_EQ(read(folder_ / "kept" / "source" / "mine.cu"), kTwice);
  EXPECT_FALSE(read(folder_ / "kept" / "twice.so").empty());
  EXPECT_THAT(read(folder_ / "kept" / "twice.compile.txt"), HasSubstr("entry twice<96>"));
  const auto document = nlohmann::json::parse(read(folder_ / "kept" / "twice.json"));
  EXPECT_EQ(document["problems"][0]["results"][0]["status"], "correct");
  EXPECT_FALSE(std::filesystem::exists(database())) << "it stores nothing";

  // The command for profilers launches the kernel and prints nothing.
  const std::string command = read(folder_ / "kept" / "commands.txt");
  EXPECT_THAT(command, HasSubstr("--profile"));
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST_F(CommandLine, ShowsTheLogOfOneConfigurationLineByLine) {
  const std::string file = space(kTwice);
  write(folder_ / "mine.cu", "int a = b;\nint c = d;\n" + std::string(kTwice));
  const Ended bad = run({"run", "--space", file, "--device", "cpu", "--config", "THREADS=64"});
  EXPECT_EQ(bad.status, 3) << bad.err;
  EXPECT_THAT(bad.out, testing::ContainsRegex("\n    mine.cu:1:[^\n]*error"));
  EXPECT_THAT(bad.out, testing::ContainsRegex("\n    mine.cu:2:[^\n]*error"));
}

// Static state survives between launches, and the outputs of timed launches used not to be checked.
TEST_F(CommandLine, CrownsNoKernelThatIsRightOnlyWhenItIsNotTimed) {
  const std::string tricks[] = {
      // Writes nothing from the 9th launch on.
      "if (THREADS != 32 && ++calls[i] > 8) return;",
      // Returns early if the input is unchanged.
      "if (THREADS != 32) { if (calls[i] && last[i] == in[i]) return; calls[i] = 1; last[i] = "
      "in[i]; }"};
  for (const std::string& trick : tricks) {
    const std::string file = space(R"(
__device__ unsigned calls[1024]; __device__ float last[1024];
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  )" + trick + R"(
  float y = in[i];
  for (int j = 0; j < 2000; ++j) y = y * 0.5f + in[i];
  out[i] = y;
}
)");
    const Ended tuned = run({"--space", file, "--device", "cpu", "--no-early-loss", "--json"});
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    const auto problem = nlohmann::json::parse(tuned.out)["problems"][0];
    EXPECT_EQ(problem["best"]["configuration"]["THREADS"], 32) << trick;
    for (const auto& result : problem["results"]) {
      const bool is_honest = result["configuration"]["THREADS"] == 32;
      const auto detail = result["detail"].get<std::string>();
      // On a busy machine one launch may seem so slow that no further one is timed or checked.
      if (!is_honest && detail.find("not sampled further") != std::string::npos) continue;
      EXPECT_EQ(result["status"], is_honest ? "correct" : "correctness") << result;
      if (!is_honest) {
        EXPECT_EQ(result["reason"], "unwritten");
        EXPECT_THAT(detail, HasSubstr("in a timed launch on N=1000"));
      }
    }
    const Ended held = run({"check", "--space", file, "--device", "cpu", "--tolerance", "100000"});
    EXPECT_EQ(held.status, 0) << held.err;
    const Ended alone = run({"run", "--space", file, "--device", "cpu", "--config", "THREADS=64"});
    EXPECT_EQ(alone.status, 3) << alone.out;
    EXPECT_THAT(alone.out, HasSubstr("correctness/unwritten"));
    std::filesystem::remove(database());
  }
}

TEST_F(CommandLine, SaysWhyOneConfigurationDoesNotWork) {
  const std::string file = space(kTwice);
  write(folder_ / "mine.cu", R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = (THREADS == 64 ? 3.0f : 2.0f) * in[i];
}
)");
  const Ended bad = run({"run", "--space", file, "--device", "cpu", "--config", "THREADS=64"});
  EXPECT_EQ(bad.status, 3) << bad.err;
  EXPECT_THAT(bad.out, HasSubstr("correctness/mismatch"));
  for (const std::vector<std::string>& fault :
       {std::vector<std::string>{"--config", "THREADZ=64"},
        {"--config", "THREADS=word"},
        {"--config", "THREADS=64", "--kernel", "thrice"},
        {"--config", "THREADS=64", "--profile", "--dry-run"},
        {"--kernel", "twice"}}) {
    std::vector<std::string> words = {"run", "--space", file, "--device", "cpu"};
    words.insert(words.end(), fault.begin(), fault.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(fault) << ended.err;
    EXPECT_EQ(lines(ended.err), 1u) << ended.err;
  }
}

/// Sums 64 rows of 4096 terms; ORDER 1 sums in another order, ORDER 2 omits a term.
constexpr const char* kSums = R"(
template <int THREADS>
__global__ void plain(const float* in, float* out, int rows) {
  const int row = blockIdx.x * THREADS + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < 4096; ++i) sum += in[row * 4096 + i];
  out[row] = sum;
}
template <int ORDER>
__global__ void other(const float* in, float* out, int rows) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < 64; ++i) {
    float part = 0.0f;
    for (int j = ORDER == 2 && i == 63; j < 64; ++j) part += in[row * 4096 + j * 64 + i];
    sum += part;
  }
  out[row] = sum;
}
)";

constexpr const char* kSumsSpace = R"json({
  "name": "sums", "description": "sums rows",
  "problems": [{ "ROWS": 64 }],
  "arguments": [
    { "name": "in", "type": "float", "shape": ["ROWS", 4096], "role": "input",
      "init": "uniform(-1, 1)" },
    { "name": "out", "type": "float", "shape": ["ROWS"], "role": "output" },
    { "name": "rows", "type": "int", "value": "ROWS" }],
  "metrics": { "bytes": "ROWS * 4096 * sizeof(float)" },
  "verify": { "reference": "plain", "derived": true },
  "kernels": [
    { "name": "plain", "source": "mine.cu", "entry": "plain<THREADS>",
      "parameters": { "THREADS": [32] },
      "block": ["THREADS"], "grid": ["ceil_div(ROWS, THREADS)"] },
    { "name": "other", "source": "mine.cu", "entry": "other<ORDER>",
      "parameters": { "ORDER": [1, 2] },
      "block": [32], "grid": ["ceil_div(ROWS, 32)"] }]
})json";

TEST_F(CommandLine, ADerivedToleranceLetsOrdersOfSummationPassAndNoMissingTerm) {
  write(folder_ / "mine.cu", kSums);
  const std::string file = (folder_ / "mine.json").string();
  write(file, kSumsSpace);
  ASSERT_EQ(run({"--check", file}).status, 0) << read(folder_ / "err");
  const auto other = [&](const std::string& order) {
    return run({"run", "--space", file, "--device", "cpu", "--kernel", "other", "--config",
                "ORDER=" + order});
  };
  const Ended right = other("1");
  EXPECT_EQ(right.status, 0) << right.out << right.err;
  EXPECT_THAT(right.err,
              HasSubstr("tolerance of out on ROWS=64: an element may differ from plain in "
                        "double precision by "));
  const Ended wrong = other("2");
  EXPECT_EQ(wrong.status, 3) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.out, HasSubstr("correctness/mismatch"));
}

TEST_F(CommandLine, AReferenceThatNoDoubleCanRunIsAFaultOfTheSpace) {
  std::string source = kSums;
  const std::string sum = "out[row] = sum;";
  source.replace(source.find(sum), sum.size(), "out[row] = __int_as_float(__float_as_int(sum));");
  write(folder_ / "mine.cu", source);
  write(folder_ / "mine.json", kSumsSpace);
  const Ended check = run({"--check", (folder_ / "mine.json").string()});
  EXPECT_EQ(check.status, 2);
  EXPECT_THAT(check.err, HasSubstr("mine.json:10: /verify/derived: "));
  EXPECT_THAT(check.err,
              HasSubstr("mine.cu:8: '__int_as_float' does not change when float becomes double"));
  EXPECT_THAT(check.err, HasSubstr("give absolute, relative or ulps, or a definition"));
}

TEST_F(CommandLine, TolerancesOfAReferenceThatTakesStructsNeedADefinition) {
  write(folder_ / "mine.cu",
        "struct P { float a; int n; };\n"
        "__global__ void k(float* out, const P* in) { out[threadIdx.x] = in[threadIdx.x].a; }\n");
  const std::string space = R"json({ "name": "structs", "problems": [{ "N": 64 }],
  "arguments": [
    { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "in", "type": "bytes(8)", "shape": ["N"], "role": "input", "init": "zero" }],
  "verify": { "derived": true, "reference": "k" },
  "kernels": [{ "name": "k", "source": "mine.cu", "entry": "k", "block": ["N"], "grid": [1] }] })json";
  const std::string file = (folder_ / "mine.json").string();
  write(file, space);
  const Ended refused = run({"--check", file});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("/verify/derived: 'in' is a struct"));
  std::string defined = space;
  defined.replace(defined.find("\"derived\""), 0, "\"definition\": \"out[i] = 0\", ");
  write(file, defined);
  const Ended right = run({"--space", file, "--device", "cpu"});
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_THAT(right.err, HasSubstr("from its definition"));
}

TEST_F(CommandLine, DryRunOfOneConfigurationKeepsPtxCubinAndReport) {
  if (!SMEMTUNE_CUDA_BUILD) GTEST_SKIP() << "built without the CUDA back end";
  const Ended one = run({"run", "--space", space(kTwice), "--device", "sm_90", "--dry-run",
                         "--config", "THREADS=64", "--keep", (folder_ / "kept").string()});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("registers"));
  EXPECT_THAT(read(folder_ / "kept" / "twice.ptx"), HasSubstr(".entry _Z5twiceILi64E"));
  EXPECT_THAT(read(folder_ / "kept" / "twice.ptxas.txt"), HasSubstr("registers"));
  EXPECT_EQ(read(folder_ / "kept" / "twice.cubin").substr(1, 3), "ELF");
}

TEST_F(CommandLine, ChecksStoredWinners) {
  const std::string file = space(kTwice);
  EXPECT_EQ(run({"check", "--space", file, "--device", "cpu"}).status, 4) << "no database";
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  const Ended holds =
      run({"check", "--space", file, "--device", "cpu", "--tolerance", "100000", "--json"});
  EXPECT_EQ(holds.status, 0) << holds.out << holds.err;
  const auto document = nlohmann::json::parse(holds.out);
  EXPECT_EQ(document["problems"][0]["others"].size(), 2u);
  EXPECT_TRUE(document["problems"][0]["stale"].empty());

  // After this edit, the stored result was measured with another source.
  write(folder_ / "mine.cu", R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = in[i] + in[i];
}
)");
  const Ended edited = run({"check", "--space", file, "--device", "cpu", "--tolerance", "100000"});
  EXPECT_THAT(edited.out, HasSubstr("stale: the kernel's source"));
  const Ended other = run({"check", "--space", config("add_one.json"), "--device", "cpu"});
  EXPECT_EQ(other.status, 2) << "nothing is stored: " << other.err;
}

/// Returns the cell of the first result in the column with this title.
std::string csv_cell(const std::string& csv, const std::string& title) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> all(1);
    bool is_quoted = false;
    for (const char c : line) {
      if (c == '"') is_quoted = !is_quoted;
      if (c == ',' && !is_quoted) {
        all.emplace_back();
      } else {
        all.back() += c;
      }
    }
    return all;
  };
  std::istringstream text(csv);
  std::string titles;
  std::string line;
  std::getline(text, titles);
  std::getline(text, line);
  const std::vector<std::string> names = cells(titles);
  const auto place = std::find(names.begin(), names.end(), title) - names.begin();
  return cells(line).at(static_cast<std::size_t>(place));
}

/// All commands that are given the space's file compare stored results with the current file.
TEST_F(CommandLine, SaysOfResultsThatTheirSpaceFileOrSourceHasChangedSince) {
  const std::string file = space(kTwice);
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  const std::string text = read(file);
  const auto stale = [&] {
    const Ended best = run({"best", "--space", file});
    const Ended json = run({"export", "--space", file, "--format", "json"});
    EXPECT_EQ(best.status, 0) << best.err;
    EXPECT_EQ(json.status, 0) << json.err;
    const auto provenance = nlohmann::json::parse(json.out)["best"][0]["provenance"];
    const bool is_stale = provenance["stale"];
    const std::string why = is_stale ? provenance["stale_because"].get<std::string>() : "";
    EXPECT_EQ(best.out.find("stale: " + why) != std::string::npos, is_stale) << best.out;
    EXPECT_EQ(
        run({"export", "--space", file, "--format", "defines"}).out.find(why) != std::string::npos,
        true);
    EXPECT_EQ(csv_cell(run({"export", "--space", file, "--format", "csv"}).out, "stale"),
              is_stale ? "1" : "0");
    EXPECT_EQ(run({"export", "--space", file, "--format", "header"}).out.find(", true, \"def") !=
                  std::string::npos,
              is_stale);
    const auto listed =
        nlohmann::json::parse(run({"list", "--results", "--json", "--space", file}).out);
    for (const auto& one : listed["results"]) {
      EXPECT_EQ(one["provenance"]["stale"], is_stale);
    }
    return why;
  };
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string changed = text;
    changed.replace(changed.find(before), before.size(), after);
    write(file, changed);
  };
  EXPECT_EQ(stale(), "");
  with(R"("definition": )", R"("absolute": 1e-7, "definition": )");
  EXPECT_EQ(stale(), "its tolerance has changed since");
  with("in[i] + in[i]", "3 * in[i]");
  EXPECT_EQ(stale(), "its definition has changed since");
  with(R"("source": )", R"("options": ["--use_fast_math"], "source": )");
  EXPECT_EQ(stale(), "its options have changed since");
  with("uniform(-1, 1)", "uniform(-1, 2)");
  EXPECT_EQ(stale(), "its arguments have changed since");
  with("[32, 64, 128]", "[32, 64, 128, 256]");
  EXPECT_EQ(stale(), "") << "what was measured of a widened space is known";
  write(file, text);
  write(folder_ / "mine.cu", std::string(kTwice) + "// Edited.\n");
  EXPECT_EQ(stale(), "its source has been edited since");
  with(R"("definition": )", R"("relative": 0.5, "definition": )");
  EXPECT_EQ(stale(), "its source and tolerance have changed since");
  write(folder_ / "mine.cu", kTwice);
  write(file, text);
  EXPECT_EQ(stale(), "") << "as it was";

  write(folder_ / "mine.cu", std::string(kTwice) + "// Edited.\n");
  EXPECT_THAT(run({"best", "--space", "mine"}).out, Not(HasSubstr("stale")))
      << "by its name: what was measured last";
  EXPECT_THAT(run({"compare", "--space", file}).out, HasSubstr("(stale)"));
  const Ended report = run({"report", "--space", file, "--format", "md"});
  EXPECT_EQ(report.status, 2);
  EXPECT_THAT(report.err, HasSubstr("--space mine reports on them"));
  EXPECT_EQ(run({"export", "--space", file, "--format", "t4"}).status, 2);
  write(file, text.substr(0, text.size() / 2));
  const Ended broken = run({"best", "--space", "mine"});
  EXPECT_EQ(broken.status, 0) << broken.err;
}

/// A winner that an edit of the tolerances made invalid is marked, in the terms of the space file.
TEST_F(CommandLine, NamesNoWinnerThatTheTolerancesOfNowRejectWithoutAWord) {
  const std::string file = space(R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i] + (THREADS == 32 ? 0.0f : 1e-5f);
}
)");
  nlohmann::json loose = nlohmann::json::parse(read(file));
  loose["verify"]["absolute"] = 1e-3;
  write(file, loose.dump());
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  loose["verify"]["absolute"] = 1e-7;
  write(file, loose.dump());
  EXPECT_THAT(run({"best", "--space", file}).out, HasSubstr("stale: its tolerance has changed"));
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  const Ended best = run({"best", "--space", file});
  EXPECT_THAT(best.out, Not(HasSubstr("stale")));
  EXPECT_THAT(best.out, HasSubstr("THREADS=32"));
}

TEST_F(CommandLine, ListsTheDevicesThatANameMayMean) {
  for (const char* name : {"NVIDIA GeForce RTX 2080", "NVIDIA GeForce RTX 2080 Ti",
                           "NVIDIA GeForce RTX 2080 Super", "NVIDIA L40"}) {
    const std::string cache = (folder_ / (std::string(name) + ".json")).string();
    write(cache, R"({"device_name": ")" + std::string(name) + R"(", "kernel_name": "k",
        "problem_size": [64], "tune_params_keys": ["B"], "tune_params": {"B": [32]},
        "cache": {"32": {"B": 32, "time": 1.5}, "64": {"B": 64, "time": 2}}})");
    ASSERT_EQ(run({"import", cache}).status, 0);
  }
  const std::string spoken =
      "'NVIDIA GeForce RTX 2080', 'NVIDIA GeForce RTX 2080 Super', "
      "'NVIDIA GeForce RTX 2080 Ti'";
  const std::vector<std::vector<std::string>> commands = {
      {"best", "--source", "all"},
      {"list"},
      {"list", "--results"},
      {"export", "--source", "imported"},
      {"compare"},
      {"report", "--format", "md", "--source", "all"},
      {"db", "prune"},
      {"db", "prune", "--yes"},
      {"best", "--one", "--source", "all"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--device", "2080"});
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << words[0];
    EXPECT_THAT(ended.err, HasSubstr("device '2080' may be any of " + spoken)) << words[0];
    words.back() = "L4";
    const Ended other = run(words);
    EXPECT_EQ(other.status, 2) << words[0] << other.out;
    EXPECT_THAT(other.err, HasSubstr("no device 'L4' is stored")) << words[0];
  }
  EXPECT_EQ(lines(run({"best", "--source", "all", "--device", "RTX 2080"}).out), 2u);
  EXPECT_EQ(lines(run({"best", "--device", "GeForce RTX 2080 Ti", "--source", "all"}).out), 2u);
  EXPECT_THAT(run({"best", "--source", "2080"}).err, HasSubstr("source '2080' may be any of"));
  EXPECT_EQ(lines(run({"best", "--source", "NVIDIA GeForce RTX 2080.json"}).out), 2u);
  EXPECT_EQ(run({"db", "prune", "--device", "RTX 2080", "--yes"}).status, 0);
  const std::string left = run({"best", "--source", "all", "--json"}).out;
  EXPECT_EQ(nlohmann::json::parse(left)["best"].size(), 3u);
}

TEST_F(CommandLine, TakesAPartOfAKernelsOrSpacesNameWhereItIsTheOnlyOne) {
  const std::string file = space(kTwice);
  nlohmann::json two = nlohmann::json::parse(read(file));
  two["name"] = "my_space";
  two["kernels"].push_back(two["kernels"][0]);
  two["kernels"][0]["name"] = "twice_a";
  two["kernels"][1]["name"] = "twice_b";
  two["verify"]["reference"] = "twice_a";
  write(file, two.dump());
  const Ended ambiguous = run({"--space", file, "--device", "cpu", "--kernel", "twice"});
  EXPECT_EQ(ambiguous.status, 2);
  EXPECT_THAT(ambiguous.err, HasSubstr("kernel 'twice' may be any of 'twice_a', 'twice_b'"));
  ASSERT_EQ(run({"--space", file, "--device", "cpu", "--kernel", "b"}).status, 0);
  EXPECT_THAT(run({"best", "--space", "space", "--kernel", "B"}).out, HasSubstr("twice_b"));
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  EXPECT_EQ(run({"best", "--kernel", "twice"}).status, 2);
  EXPECT_EQ(run({"db", "prune", "--kernel", "twice", "--yes"}).status, 2);
  const Ended wrong = run({"--space", file, "--device", "cpu", "--problem", "M=3"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("has no 'M'"));
}

TEST_F(CommandLine, ListsWhatItPrunesAndBringsItBack) {
  ASSERT_EQ(run({"--space", space(kTwice), "--device", "cpu"}).status, 0);
  const std::string before = run({"list", "--results", "--json"}).out;
  const std::string best = run({"best", "--json"}).out;
  const Ended would = run({"db", "prune", "--space", "mine"});
  EXPECT_THAT(would.out, HasSubstr("mine   twice"));
  EXPECT_THAT(would.out, HasSubstr("without results and removed; --yes removes them"));
  EXPECT_EQ(run({"list", "--results", "--json"}).out, before);
  const Ended done = run({"db", "prune", "--space", "mine", "--yes"});
  EXPECT_THAT(done.out, HasSubstr("mine   twice"));
  const std::size_t line = done.out.find("  smemtune db undo --db ");
  ASSERT_NE(line, std::string::npos) << done.out;
  EXPECT_THAT(nlohmann::json::parse(run({"list", "--results", "--json"}).out)["results"],
              testing::IsEmpty());
  const std::string words = done.out.substr(line + std::string("  smemtune ").size());
  EXPECT_EQ(shell(words.substr(0, words.find('\n')) + " > /dev/null"), 0);
  EXPECT_EQ(run({"list", "--results", "--json"}).out, before);
  EXPECT_EQ(run({"best", "--json"}).out, best);
  EXPECT_THAT(run({"db", "undo"}).err, HasSubstr("is in it"));
  EXPECT_THAT(run({"db", "check"}).out, HasSubstr("nothing is wrong"));
  const auto json =
      nlohmann::json::parse(run({"db", "prune", "--space", "mine", "--yes", "--json"}).out);
  EXPECT_EQ(json["parts"][0]["kernel"], "twice");
  EXPECT_EQ(json["of_runs"][0]["removed"], true);
  EXPECT_TRUE(std::filesystem::exists(json["backup"].get<std::string>()));
}

TEST_F(CommandLine, RemovesNothingWhereTheBackupDoesNotFit) {
  ASSERT_EQ(run({"--space", space(kTwice), "--device", "cpu"}).status, 0);
  const std::string before = run({"list", "--results", "--json"}).out;
  struct rlimit usual {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto half = static_cast<rlim_t>(std::filesystem::file_size(database()) / 2);
  const struct rlimit full = {.rlim_cur = half, .rlim_max = usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const Ended ended = run({"db", "prune", "--space", "mine", "--yes"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_EQ(ended.status, 4) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("nothing was removed (--no-backup removes"));
  EXPECT_EQ(run({"list", "--results", "--json"}).out, before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".pruned-")));
  }
  const Ended done = run({"db", "prune", "--space", "mine", "--yes", "--no-backup"});
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.out, Not(HasSubstr("undo")));
}

TEST_F(CommandLine, ShowsImportsBesideWhatWasMeasuredHere) {
  ASSERT_EQ(run({"--space", space(kTwice), "--device", "cpu"}).status, 0);
  const std::string cache = (folder_ / "cache.json").string();
  write(cache, R"({"device_name": "A", "kernel_name": "k", "problem_size": [64],
                   "tune_params_keys": ["B"], "tune_params": {"B": [32]},
                   "cache": {"32": {"B": 32, "time": 1.5}, "64": {}, "96": {"B": "N,T", "time": 1}}})");
  const Ended import = run({"import", cache});
  EXPECT_EQ(import.status, 0);
  EXPECT_THAT(import.out, HasSubstr("2 new, 0 known, 1 left out"));
  EXPECT_THAT(import.err, HasSubstr("entry 2 of \"cache\": a result has no \"B\"; left out"));
  EXPECT_THAT(run({"best", "--space", "k", "--source", "own"}).err,
              HasSubstr("--source all shows what there is"));
  EXPECT_THAT(run({"best", "--space", "k"}).out,
              AllOf(HasSubstr("B=N\\,T"), HasSubstr("cache.json")));
}

TEST_F(CommandLine, SaysThatAWinnerWasComparedWithOnlyItself) {
  const std::string file = space(kTwice);
  const Ended defined = run({"--space", file, "--device", "cpu"});
  EXPECT_THAT(defined.out, HasSubstr("verified against its definition"));
  EXPECT_THAT(defined.err, Not(HasSubstr("*** Nothing says")));
  EXPECT_EQ(
      run({"check", "--space", file, "--device", "cpu", "--tolerance", "1e6", "--strict"}).status,
      0);

  nlohmann::json alone = nlohmann::json::parse(read(file));
  alone["name"] = "alone";
  alone["verify"].erase("definition");
  write(file, alone.dump());
  const Ended tuned = run({"--space", file, "--device", "cpu"});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("*** compared with nothing but its own default"));
  EXPECT_THAT(tuned.out, Not(HasSubstr("already the best")));
  EXPECT_THAT(tuned.err, HasSubstr("*** Nothing says that the results of twice are right"));
  const Ended best = run({"best", "--json"});
  const auto document = nlohmann::json::parse(best.out);
  ASSERT_EQ(document["best"].size(), 2u);
  EXPECT_EQ(document["best"][0]["compared_with"], "only itself");
  EXPECT_EQ(document["best"][1]["compared_with"], "definition");
  EXPECT_THAT(run({"best"}).out, HasSubstr("only itself"));
  EXPECT_THAT(run({"export", "--format", "header"}).out, HasSubstr("\"only itself\", 0}"));
  const std::vector<std::string> words = {"check", "--space",     file, "--device",
                                          "cpu",   "--tolerance", "1e6"};
  EXPECT_EQ(run(words).status, 0);
  std::vector<std::string> strictly = words;
  strictly.emplace_back("--strict");
  const Ended strict = run(strictly);
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.out, HasSubstr("no longer holds: it was compared with nothing but"));
}

TEST_F(CommandLine, AStoredWinnerThatIsWrongNowIsStatusOne) {
  // The default is slow, so that another configuration wins; then all others become wrong.
  const std::string file = space(R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  volatile float sum = 0;
  for (int k = 0; k < (THREADS == 32 ? 2000 : 1); ++k) sum = 2.0f * in[i];
  out[i] = sum;
}
)");
  ASSERT_EQ(run({"--space", file, "--device", "cpu"}).status, 0);
  write(folder_ / "mine.cu", R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = (THREADS == 32 ? 2.0f : 3.0f) * in[i];
}
)");
  const Ended lost = run({"check", "--space", file, "--device", "cpu", "--tolerance", "100000"});
  EXPECT_EQ(lost.status, 1) << lost.out << lost.err;
  EXPECT_THAT(lost.out, HasSubstr("no longer holds: correctness/mismatch: out["));
}

TEST_F(CommandLine, ExportsEveryFormatAndRefusesOthers) {
  ASSERT_EQ(run({"--space", space(kTwice), "--device", "cpu"}).status, 0);
  EXPECT_THAT(run({"export", "--format", "header"}).out, HasSubstr("namespace mine {"));
  EXPECT_THAT(run({"export", "--format", "csv"}).out, HasSubstr("\nmine,twice,N=1000,"));
  EXPECT_THAT(run({"export", "--format", "defines"}).out, HasSubstr("#define THREADS "));
  EXPECT_THAT(run({"export", "--format", "vllm"}).out, HasSubstr("{\n    \"1000\": {\n"));
  EXPECT_THAT(run({"export", "--format", "cub"}).err, HasSubstr("for GPUs"));
  EXPECT_THAT(run({"export", "--format", "cubins"}).err, HasSubstr("--space with a space file"));
  EXPECT_THAT(run({"export", "--format", "cubins", "--space", space(kTwice)}).err,
              HasSubstr("was measured on the CPU device"));
  EXPECT_EQ(run({"export", "--format", "xml"}).status, 2);
  EXPECT_EQ(run({"export", "--format", "header", "-o", folder_.string()}).status, 2);
  ASSERT_EQ(run({"--space", space(kTwice), "--device", "cpu", "--problem", "N=2000"}).status, 0);
  const Ended several = run({"export", "--format", "defines"});
  EXPECT_EQ(several.status, 2);
  EXPECT_THAT(several.err, HasSubstr("--problem"));
  EXPECT_THAT(run({"export", "--format", "defines", "--problem", "N=2000"}).out,
              HasSubstr("#define THREADS "));
}

}  // namespace
