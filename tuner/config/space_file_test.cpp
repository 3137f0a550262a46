#include "tuner/config/space_file.h"

#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <regex>
#include <sys/stat.h>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A space without a fault, which the tests below break in one place each.
const std::string kSpace = R"json({
  "name": "base",
  "description": "Adds one.",
  "problems": [{ "N": 1024, "T": "float" }, { "N": 100, "T": "int" }],
  "cpu_problems": [{ "N": 64, "T": "float" }],
  "arguments": [
    { "name": "in", "type": "T", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" },
    { "name": "out", "type": "T", "shape": ["N"], "role": "output" },
    { "name": "n", "type": "int", "value": "N" }
  ],
  "metrics": { "bytes": "2 * N * sizeof(T)", "flops": "N" },
  "verify": {
    "reference": "plain", "absolute": 1e-6, "definition": "out[i] = in[i] + 1",
    "also": [{ "N": 1, "T": "int" }]
  },
  "kernels": [
    { "name": "plain", "source": "plain.cu", "entry": "plain<T>",
      "parameters": { "THREADS": [64, 128] },
      "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"] },
    { "name": "tiled", "source": "folder/tiled.cu", "entry": "tiled<T, TILE, WIDE>",
      "parameters": { "TILE": [8, 16, 32], "WIDE": [false, true] },
      "default": { "TILE": 16 },
      "constraints": ["TILE * (WIDE + 1) <= 32"],
      "block": ["TILE", "WIDE + 1"], "grid": ["ceil_div(N, TILE)"],
      "metrics": { "bytes": "3 * N * sizeof(T)" }, "verify": { "relative": 1e-5 },
      "expect": { "time": "TILE * (1 + WIDE)", "within_percent": 25 },
      "static_shared_bytes": "TILE * sizeof(T)" },
    { "name": "macro", "source": "macro.cu", "pass": "define",
      "parameters": { "BLOCK": [32, 64], "SWITCH": ["on", "off"] },
      "include": ["headers"], "options": ["--use_fast_math", "-DLIMIT=3"],
      "launches": [
        { "entry": "macro", "block": ["BLOCK"], "grid": ["ceil_div(N, BLOCK)"],
          "arguments": ["in", "partial", "n"] },
        { "entry": "macro_end", "block": [32], "grid": [1], "arguments": ["partial", "out", "n"],
          "dynamic_shared_bytes": "BLOCK * 4" }],
      "arguments": ["in", "out", "n",
        { "name": "partial", "type": "float", "shape": ["ceil_div(N, BLOCK)"], "role": "scratch" }]
    }
  ]
})json";

const std::string kPlain =
    "template <typename T> __global__ void plain(const T* in, T* out, int n) {}\n";
const std::string kTiled =
    "#include \"common.cuh\"\n"
    "template <typename T, int TILE, bool WIDE>\n"
    "__global__ void __launch_bounds__(TILE * 2) tiled(const T* in, T* out, int n) {}\n";
const std::string kMacro =
    "// BLOCK threads\n"
    "#include \"deep.cuh\"\n"
    "#include \"cuda_fp16.h\"\n"
    "#ifndef BLOCK\n"
    "#define BLOCK 64\n"
    "#endif\n"
    "extern \"C\" __global__ void macro(const T* in, float* partial, int n) { int b = BLOCK; }\n"
    "extern \"C\" __global__ void macro_end(float* partial, T* out, int n) { SWITCH(); }\n";

/// A folder with the space, its sources and a share.
class SpaceFolder : public TemporaryFolder {
 public:
  SpaceFolder() {
    write("space.json", kSpace);
    write("plain.cu", kPlain);
    write("folder/tiled.cu", kTiled);
    write("folder/common.cuh", "#include \"../headers/deep.cuh\"\n");
    write("macro.cu", kMacro);
    write("headers/deep.cuh", "#pragma once\n");
    write("share/kernel_templates/shared/shared.cu", kPlain);
    write("outside.cu", "");
  }

  fs::path file() const { return path() / "space.json"; }
  fs::path share() const { return path() / "share"; }

  LoadedSpace load() const { return load_space(file(), share()); }

  std::vector<std::string> faults() const {
    std::vector<std::string> faults = check_space(file(), share());
    for (std::string& fault : faults) fault = shortened(fault);
    return faults;
  }

  /// Returns the text without the path of the folder, which is different every time.
  std::string shortened(std::string text) const {
    for (const std::string& folder : {path().string() + "/", path().string()}) {
      for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
        text.replace(at, folder.size(), folder.back() == '/' ? "" : ".");
      }
    }
    return text;
  }
};

/// Removes the line from a fault: `FILE:LINE: ...`.
std::string without_line(const std::string& fault) {
  return std::regex_replace(fault, std::regex("^(space.json):[0-9]+(: )"), "$1$2");
}

std::vector<std::string> without_lines(std::vector<std::string> faults) {
  for (std::string& fault : faults) fault = without_line(fault);
  return faults;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the space has no " + from);
  return text.replace(at, from.size(), to);
}

TEST(SpaceFile, GivesWhatTheFileSays) {
  const SpaceFolder folder;
  ASSERT_THAT(folder.faults(), IsEmpty());
  const LoadedSpace loaded = folder.load();
  const Space& space = loaded.space;
  EXPECT_EQ(kSpace, loaded.text);
  EXPECT_EQ(sha256(kSpace), loaded.sha256);
  EXPECT_EQ("base", space.name);
  EXPECT_EQ("Adds one.", space.description);
  EXPECT_EQ(folder.file(), space.file);
  const Problem first = {{"N", 1024}, {"T", "float"}};
  const Problem second = {{"N", 100}, {"T", "int"}};
  EXPECT_THAT(space.problems, ElementsAre(first, second));
  EXPECT_THAT(space.cpu_problems, ElementsAre(Problem{{"N", 64}, {"T", "float"}}));
  EXPECT_THAT(space.verify.also, ElementsAre(Problem{{"N", 1}, {"T", "int"}}));
  EXPECT_EQ("plain", space.verify.reference);
  EXPECT_THAT(space.verify.definitions,
              ElementsAre(ExpressionText{"out[i] = in[i] + 1", "/verify/definition"}));
  ASSERT_EQ(3u, space.kernels.size());

  const KernelTemplate& tiled = space.kernels[1];
  EXPECT_EQ("tiled", tiled.name);
  EXPECT_EQ("/kernels/1", tiled.where);
  EXPECT_EQ("folder/tiled.cu", tiled.source);
  EXPECT_EQ(KernelTemplate::Pass::as_template, tiled.pass);
  ASSERT_EQ(2u, tiled.parameters.size());
  EXPECT_EQ("TILE", tiled.parameters[0].name);
  EXPECT_THAT(tiled.parameters[0].values, ElementsAre(8, 16, 32));
  EXPECT_EQ("WIDE", tiled.parameters[1].name);
  EXPECT_THAT(tiled.parameters[1].values, ElementsAre(0, 1));
  EXPECT_EQ("TILE=16,WIDE=0", key(tiled.default_configuration));
  EXPECT_EQ("3 * N * sizeof(T)", tiled.metrics.at("bytes").text);
  EXPECT_EQ("/kernels/1/metrics/bytes", tiled.metrics.at("bytes").where);
  EXPECT_EQ("N", tiled.metrics.at("flops").text);
  EXPECT_EQ(1e-6, tiled.tolerance.absolute);
  EXPECT_EQ(1e-5, tiled.tolerance.relative);
  EXPECT_EQ(std::nullopt, space.kernels[0].tolerance.relative);
  ASSERT_TRUE(tiled.expect);
  EXPECT_EQ((ExpressionText{"TILE * (1 + WIDE)", "/kernels/1/expect/time"}), tiled.expect->time);
  EXPECT_EQ(25, tiled.expect->within_percent);
  EXPECT_EQ(std::nullopt, space.kernels[0].expect);
  ASSERT_EQ(1u, tiled.launches.size());
  EXPECT_EQ("tiled", tiled.launches[0].entry_name);
  EXPECT_THAT(tiled.launches[0].template_arguments,
              ElementsAre(ExpressionText{"T", "/kernels/1/entry"},
                          ExpressionText{"TILE", "/kernels/1/entry"},
                          ExpressionText{"WIDE", "/kernels/1/entry"}));
  EXPECT_EQ("TILE * sizeof(T)", tiled.launches[0].static_shared_bytes->text);
  EXPECT_EQ(std::nullopt, tiled.launches[0].dynamic_shared_bytes);

  const KernelTemplate& macro = space.kernels[2];
  EXPECT_EQ(KernelTemplate::Pass::as_define, macro.pass);
  EXPECT_THAT(macro.options, ElementsAre("--use_fast_math", "-DLIMIT=3"));
  EXPECT_THAT(macro.parameters[1].values, ElementsAre("on", "off"));
  ASSERT_EQ(2u, macro.launches.size());
  EXPECT_THAT(macro.launches[1].arguments, ElementsAre("partial", "out", "n"));
  EXPECT_EQ("1", macro.launches[1].grid[0].text);
  ASSERT_EQ(4u, macro.arguments.size());
  EXPECT_EQ("/arguments/0", macro.arguments[0].where);
  EXPECT_EQ(Init::Kind::uniform, macro.arguments[0].init.kind);
  EXPECT_EQ(-1, macro.arguments[0].init.a);
  EXPECT_EQ(1, macro.arguments[0].init.b);
  EXPECT_EQ(Role::scratch, macro.arguments[3].role);
}

TEST(SpaceFile, KeepsWhatIsPromisingApartFromTheConstraints) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, "\"constraints\": [\"TILE * (WIDE + 1) <= 32\"]",
                                      "\"promising\": [\"TILE * (WIDE + 1) <= 32\"]"));
  const LoadedSpace loaded = folder.load();
  const KernelTemplate* tiled = loaded.space.kernel("tiled");
  EXPECT_TRUE(tiled->constraints.empty());
  ASSERT_EQ(1u, tiled->promising.size());
  EXPECT_EQ("TILE * (WIDE + 1) <= 32", tiled->promising[0].text);
  EXPECT_EQ("/kernels/1/promising/0", tiled->promising[0].where);
}

TEST(SpaceFile, GivesAParameterThatDoesNotCountItsDefaultValueOnly) {
  const SpaceFolder folder;
  std::string text = replaced(kSpace, "\"WIDE\": [false, true]",
                              "\"WIDE\": {\"values\": [false, true], \"when\": \"TILE == 16\"}");
  text = replaced(text, "\"SWITCH\": [\"on\", \"off\"]",
                  "\"SWITCH\": {\"values\": [\"on\", \"off\"], \"when\": \"BLOCK > 32\"}");
  folder.write("space.json", text);
  const LoadedSpace loaded = folder.load();
  const KernelTemplate* tiled = loaded.space.kernel("tiled");
  const KernelTemplate* macro = loaded.space.kernel("macro");
  EXPECT_EQ("(TILE == 16) || WIDE == " + to_text(tiled->default_configuration.at("WIDE")),
            tiled->constraints.back().text);
  EXPECT_EQ("/kernels/1/parameters/WIDE/when", tiled->constraints.back().where);
  EXPECT_EQ("(BLOCK > 32) || SWITCH == \"on\"", macro->constraints.back().text);
  const KernelBinding bound(loaded.space, *macro, loaded.space.problems.front(), h200_limits());
  EXPECT_EQ(3u, bound.search_space().size());  // 32 on, 64 on, 64 off.
}

TEST(SpaceFile, HoldsEverySourceWithItsIncludes) {
  const SpaceFolder folder;
  const LoadedSpace loaded = folder.load();
  using File = KernelSource::File;
  EXPECT_THAT(loaded.sources.at("plain").files, ElementsAre(File{"plain.cu", kPlain}));
  EXPECT_THAT(loaded.sources.at("tiled").files,
              ElementsAre(File{"folder/tiled.cu", kTiled},
                          File{"common.cuh", "#include \"../headers/deep.cuh\"\n"},
                          File{"../headers/deep.cuh", "#pragma once\n"}));
  // The compiler itself provides cuda_fp16.h.
  EXPECT_THAT(loaded.sources.at("macro").files,
              ElementsAre(File{"macro.cu", kMacro}, File{"deep.cuh", "#pragma once\n"}));
}

TEST(SpaceFile, FindsSourcesInTheShareWhenTheyAreNotBesideTheFile) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, "plain.cu", "shared/shared.cu"));
  EXPECT_EQ(kPlain, folder.load().sources.at("plain").files.at(0).text);
  folder.write("shared/shared.cu", kPlain + "// nearer\n");
  EXPECT_EQ(kPlain + "// nearer\n", folder.load().sources.at("plain").files.at(0).text);
}

TEST(SpaceFile, TakesTheOnlyKernelForItsReference) {
  const SpaceFolder folder;
  const std::size_t second = kSpace.find("    { \"name\": \"tiled\"");
  std::string text = kSpace.substr(0, kSpace.rfind(',', second)) + "]}";
  text = replaced(text, "\"reference\": \"plain\", ", "");
  folder.write("space.json", text);
  EXPECT_EQ("plain", folder.load().space.verify.reference);
}

TEST(SpaceFile, ReadsEveryWayToBegin) {
  const SpaceFolder folder;
  folder.write("data.npy", "abc");
  const auto init = [&](const std::string& text) {
    folder.write("space.json", replaced(kSpace, "uniform(-1, 1)", text));
    return folder.load().space.kernels[0].arguments[0].init;
  };
  EXPECT_EQ((Init{Init::Kind::uniform, -8, 2.5, {}}), init("uniform(-8, 2.5)"));
  EXPECT_EQ((Init{Init::Kind::normal, 0, 1, {}}), init("normal"));
  EXPECT_EQ((Init{Init::Kind::normal, 3, 0.5, {}}), init("normal(3, 0.5)"));
  EXPECT_EQ((Init{Init::Kind::iota, 0, 0, {}}), init("iota"));
  EXPECT_EQ((Init{Init::Kind::zero, 0, 0, {}}), init("zero"));
  EXPECT_EQ((Init{Init::Kind::constant, 1e3, 0, {}}), init("constant(1e3)"));
  EXPECT_EQ((Init{Init::Kind::permutation, 0, 0, {}}), init("permutation"));
  EXPECT_EQ((Init{Init::Kind::file, 0, 0, {folder.path() / "data.npy", sha256("abc")}}),
            init("file(\\\"data.npy\\\")"));
}

TEST(SpaceFile, ReadsNumbersOfContentsThatAreExpressions) {
  const SpaceFolder folder;
  const auto changed = [&](const std::string& text) {
    folder.write("space.json", replaced(kSpace, "uniform(-1, 1)", text));
    return without_lines(folder.faults());
  };
  EXPECT_THAT(changed("uniform(-1 / sqrt(N), max(0.5, 1.0 / N))"), IsEmpty());
  const ArgumentTemplate in = folder.load().space.kernels[0].arguments[0];
  EXPECT_EQ(Init::Kind::uniform, in.init.kind);
  EXPECT_THAT(in.init_numbers,
              ElementsAre(ExpressionText{"-1 / sqrt(N)", "/arguments/0/init"},
                          ExpressionText{"max(0.5, 1.0 / N)", "/arguments/0/init"}));
  EXPECT_THAT(changed("constant(1 / (N - 1024))"),
              ElementsAre(HasSubstr("/arguments/0/init: '1 / (N - 1024)' column 3: division by")));
  EXPECT_THAT(changed("uniform(N, 0)"), ElementsAre(HasSubstr("/init: LOW is above HIGH")));
  EXPECT_THAT(changed("normal(0, -N)"), ElementsAre(HasSubstr("/init: the deviation is negative")));
  EXPECT_THAT(changed("uniform(0, TILE)"),
              testing::Contains(HasSubstr("the parameter 'TILE' would change the problem")));
}

TEST(SpaceFile, ReadsHowATextureOfRowsIsRead) {
  const SpaceFolder folder;
  const auto changed = [&](const std::string& more, const std::string& shape = "\"N\", \"N\"") {
    folder.write(
        "space.json",
        replaced(kSpace, "\"arguments\": [",
                 "\"arguments\": [{ \"name\": \"image\", \"type\": \"float\", \"shape\": [" +
                     shape + "], \"role\": \"input\", \"init\": \"uniform\", " + more + " },"));
    return without_lines(folder.faults());
  };
  const std::string rows = "\"memory\": \"texture_2d\"";
  changed(rows + ", \"address\": \"mirror\", \"filter\": \"linear\", \"normalized\": true");
  const ArgumentTemplate image = folder.load().space.kernels[0].arguments[0];
  EXPECT_EQ(MemorySpace::texture_2d, image.memory);
  EXPECT_EQ((TextureReading{TextureReading::Address::mirror, true, true}), image.reading);
  EXPECT_THAT(changed(rows + ", \"address\": \"wrap\""),
              testing::Contains(HasSubstr("/arguments/0/address: needs \"normalized\": true")));
  EXPECT_THAT(changed("\"filter\": \"linear\""),
              testing::Contains(HasSubstr("/filter: needs \"memory\": \"texture_2d\" beside it")));
  EXPECT_THAT(changed(rows, "\"N\""),
              testing::Contains(HasSubstr("/shape: a texture of rows has two dimensions")));
}

TEST(SpaceFile, ReadsContentsByADefinitionOfArgumentsBefore) {
  const SpaceFolder folder;
  const auto changed = [&](const std::string& definition) {
    folder.write("space.json",
                 replaced(kSpace, "{ \"name\": \"out\"",
                          "{ \"name\": \"other\", \"type\": \"T\", \"shape\": [\"N\"], \"role\": "
                          "\"input\", \"init\": \"" +
                              definition + "\" },\n{ \"name\": \"out\""));
    return without_lines(folder.faults());
  };
  EXPECT_THAT(changed("other[i] = in[N - 1 - i]"), IsEmpty());
  const ArgumentTemplate other = folder.load().space.kernels[0].arguments[1];
  EXPECT_EQ(Init::Kind::definition, other.init.kind);
  EXPECT_EQ("other[i] = in[N - 1 - i]", other.init.definition);
  ASSERT_EQ(1u, other.reads.size());
  EXPECT_EQ("in", other.reads.front().name);
  EXPECT_THAT(changed("in[i] = 1"),
              ElementsAre("space.json: /arguments/1/init: defines 'in', not 'other'"));
  EXPECT_THAT(
      changed("other[i] = other[i]"),
      ElementsAre("space.json: /arguments/1/init: 'other' cannot be initialized from itself"));
  EXPECT_THAT(changed("other[i] = out[i]"),
              ElementsAre(AllOf(HasSubstr("/arguments/1/init: "), HasSubstr("unknown array 'out'"),
                                HasSubstr("; only arguments before this one can be used"))));
}

const std::string kRepeated = R"json("launches": [
        { "entry": "macro", "block": ["BLOCK"], "grid": ["ceil_div(N, BLOCK) - i"],
          "arguments": ["in", "partial", "n"] },
        { "entry": "macro_end", "block": [32], "grid": [1], "arguments": ["partial", "out", "n"] }],
      "repeat": "i < 2",)json";

std::string with_launches(const std::string& launches) {
  const std::size_t first = kSpace.find("\"launches\"");
  const std::size_t last = kSpace.find("\"arguments\": [\"in\", \"out\"");
  return kSpace.substr(0, first) + launches + kSpace.substr(last);
}

TEST(SpaceFile, ReadsRepeatedLaunches) {
  const SpaceFolder folder;
  folder.write("space.json", with_launches(kRepeated));
  ASSERT_THAT(folder.faults(), IsEmpty());
  const KernelTemplate kernel = folder.load().space.kernels[2];
  ASSERT_EQ(1u, kernel.repeats.size());
  EXPECT_EQ((Repeat{.first = 0,
                    .end = 2,
                    .counter = "i",
                    .times = {.text = "2", .where = "/kernels/2/repeat"},
                    .swaps = {}}),
            kernel.repeats.front());

  folder.write("space.json", with_launches(R"json("launches": [
        { "repeat": "N / BLOCK + 1", "launches": [
          { "entry": "macro", "cooperative": true, "block": ["BLOCK"], "grid": [1],
            "arguments": ["in", "partial", "n"] }] },
        { "entry": "macro_end", "block": [32], "grid": [1], "arguments": ["partial", "out", "n"] }],
        )json"));
  ASSERT_THAT(folder.faults(), IsEmpty());
  const KernelTemplate nested = folder.load().space.kernels[2];
  ASSERT_EQ(2u, nested.launches.size());
  EXPECT_TRUE(nested.launches[0].cooperative);
  EXPECT_FALSE(nested.launches[1].cooperative);
  ASSERT_EQ(1u, nested.repeats.size());
  EXPECT_EQ(1u, nested.repeats.front().end);
  EXPECT_EQ("", nested.repeats.front().counter);
  EXPECT_EQ("N / BLOCK + 1", nested.repeats.front().times.text);
}

TEST(LoadSpace, NotesAGridThatSynchronizesWithoutACooperativeLaunch) {
  const SpaceFolder folder;
  EXPECT_THAT(folder.load().notes, testing::Not(testing::Contains(HasSubstr("this_grid()"))));
  folder.write("plain.cu", kPlain + "__device__ void wait() { this_grid().sync(); }\n");
  EXPECT_THAT(
      folder.load().notes,
      testing::Contains(HasSubstr("/kernels/0: the source uses this_grid(), whose sync()")));
}

TEST(SpaceFile, RefusesRepetitionsThatMakeNoSense) {
  const SpaceFolder folder;
  const auto faults = [&](const std::string& repeat) {
    folder.write("space.json",
                 with_launches(replaced(kRepeated, "\"repeat\": \"i < 2\",", repeat)));
    return without_lines(folder.faults());
  };
  EXPECT_THAT(faults("\"swap\": [[\"partial\", \"out\"]],"),
              testing::Contains("space.json: /kernels/2/swap: needs \"repeat\" beside it"));
  EXPECT_THAT(faults("\"repeat\": \"i < 2\", \"swap\": [[\"in\", \"out\"]],"),
              testing::Contains(HasSubstr("/kernels/2/swap/0: 'in' is an input")));
  EXPECT_THAT(faults("\"repeat\": \"i < 2\", \"swap\": [[\"out\", \"partial\"]],"),
              testing::Contains(HasSubstr("'out' and 'partial' have different types or shapes")));
  const std::string open =
      replaced(with_launches(
                   replaced(kRepeated, "i < 2\",", "i < 2\", \"swap\": [[\"out\", \"partial\"]],")),
               "\"name\": \"partial\", \"type\": \"float\", \"shape\": [",
               "\"name\": \"partial\", \"type\": \"float\", \"shape\": [\"TODO: how many\", ");
  folder.write("space.json", open);
  EXPECT_THAT(folder.faults(), testing::ElementsAre(HasSubstr("TODO: how many")));
  EXPECT_THAT(faults("\"repeat\": \"i < 2\", \"swap\": [[\"out\", \"out\"]],"),
              testing::Contains(HasSubstr("'out' cannot be swapped with itself")));
  EXPECT_THAT(faults("\"repeat\": \"i < 2\", \"swap\": [[\"out\"]],"),
              testing::Contains(HasSubstr("[\"out\"] is not a pair of buffers")));
  EXPECT_THAT(faults("\"repeat\": \"min < 2\","),
              testing::Contains(HasSubstr("'min' cannot count the repetitions")));
  EXPECT_THAT(faults("\"repeat\": \"N < 2\","),
              testing::Contains(HasSubstr("'N' has two meanings")));
  EXPECT_THAT(faults("\"repeat\": \"k < 2\","), testing::Contains(HasSubstr("unknown name 'i'")));
  folder.write("space.json", with_launches(replaced(kRepeated, "\"block\": [32]",
                                                    "\"repeat\": 2, \"block\": [32]")));
  EXPECT_THAT(without_lines(folder.faults()),
              testing::Contains(HasSubstr(
                  "/kernels/2/repeat: is inside another \"repeat\"; repeats cannot be nested")));
}

TEST(SpaceFile, ReadsScalarsAsTheirTypeAsks) {
  const SpaceFolder folder;
  const auto scalar = [&](const std::string& rest) {
    folder.write("space.json", replaced(kSpace, R"("type": "int", "value": "N")", rest));
    return folder.load().space.kernels[0].arguments[2];
  };
  EXPECT_EQ("9223372036854775807",
            scalar(R"("type": "long long", "value": 9223372036854775807)").value->text);
  EXPECT_EQ(0.5, scalar(R"("type": "float", "value": 0.5)").number);
  EXPECT_EQ(2, scalar(R"("type": "double", "value": 2)").number);
  EXPECT_EQ("2 * N", scalar(R"("type": "T", "value": "2 * N")").value->text);
}

TEST(SpaceFile, KnowsConstantMemoryByItsSymbol) {
  const SpaceFolder folder;
  const auto weights = [&](const std::string& rest) {
    folder.write("space.json",
                 replaced(kSpace, "\"arguments\": [",
                          "\"arguments\": [{ \"name\": \"weights\", \"type\": \"float\", "
                          "\"shape\": [9], \"role\": \"input\", \"init\": \"normal\", " +
                              rest + " },"));
    return folder.load().space.kernels[0].arguments[0];
  };
  EXPECT_EQ(weights(R"("memory": "constant")").memory, MemorySpace::constant);
  EXPECT_EQ("weights", weights(R"("memory": "constant")").symbol);
  EXPECT_EQ("filter", weights(R"("memory": "constant", "symbol": "filter")").symbol);
}

TEST(SpaceFile, ComparesSumsOfResultsOnly) {
  const SpaceFolder folder;
  const auto faults = [&](const std::string& role, const std::string& compare) {
    folder.write("space.json", replaced(kSpace, "\"arguments\": [",
                                        "\"arguments\": [{ \"name\": \"sums\", \"type\": "
                                        "\"float\", \"shape\": [9], \"role\": \"" +
                                            role + "\", \"init\": \"zero\", \"compare\": \"" +
                                            compare + "\" },"));
    return without_lines(folder.faults());
  };
  EXPECT_THAT(faults("inout", "sum"), IsEmpty());
  EXPECT_TRUE(folder.load().space.kernels[0].arguments[0].compares_sum);
  EXPECT_THAT(faults("output", "sum"), IsEmpty());
  EXPECT_THAT(faults("input", "sum"), ElementsAre(HasSubstr("/arguments/0/compare: is for the")));
  EXPECT_THAT(faults("output", "mean"),
              ElementsAre(HasSubstr("/arguments/0/compare: 'mean' is not one of sum, sorted")));
}

TEST(SpaceFile, KnowsTensorMapsClustersAndRegistersOfWarpgroups) {
  const SpaceFolder folder;
  std::string text = replaced(kSpace, "\"arguments\": [",
                              "\"arguments\": [{ \"name\": \"matrix\", \"type\": \"__half\", "
                              "\"shape\": [\"N\", 64], \"role\": \"input\", \"init\": \"iota\", "
                              "\"memory\": \"tensor_map\", \"box\": [\"N / 2\", 64], "
                              "\"element_strides\": [2, 1], \"swizzle\": 128 },");
  const std::size_t grid = text.find("\"grid\"");
  text.insert(grid,
              "\"cluster\": [2, \"N / N\"], \"warpgroup_registers\": [40, \"232 * N / N\"], ");
  folder.write("space.json", text);
  EXPECT_THAT(folder.faults(), IsEmpty());
  const KernelTemplate kernel = folder.load().space.kernels[0];
  const ArgumentTemplate& matrix = kernel.arguments[0];
  EXPECT_EQ(matrix.memory, MemorySpace::tensor_map);
  ASSERT_EQ(matrix.box.size(), 2u);
  EXPECT_EQ(matrix.box[0].text, "N / 2");
  EXPECT_EQ(matrix.element_strides[0].text, "2");
  EXPECT_EQ(matrix.swizzle->text, "128");
  ASSERT_EQ(kernel.launches[0].cluster.size(), 2u);
  EXPECT_EQ(kernel.launches[0].cluster[1].text, "N / N");
  const LoadedSpace loaded = folder.load();
  const KernelBinding bound(loaded.space, loaded.space.kernels[0], loaded.space.problems[0],
                            h200_limits());
  EXPECT_THAT(bound.instantiate(kernel.default_configuration).launches[0].warpgroup_registers,
              ElementsAre(40, 232));
  folder.write("space.json", replaced(text, "[40, \"232 * N / N\"]", "232"));
  EXPECT_THAT(folder.faults(), ElementsAre(HasSubstr("/kernels/0/warpgroup_registers: ")));
}

TEST(SpaceFile, KnowsTexturesOfOneToFourElements) {
  const SpaceFolder folder;
  const auto texels = [&](const std::string& type, const std::string& shape) {
    folder.write(
        "space.json",
        replaced(kSpace, "\"arguments\": [",
                 "\"arguments\": [{ \"name\": \"texels\", \"type\": \"" + type +
                     "\", \"shape\": " + shape +
                     ", \"role\": \"input\", \"init\": \"iota\", \"memory\": \"texture\" },"));
    return without_lines(folder.faults());
  };
  for (const char* const type : {"float", "int", "unsigned int", "short", "unsigned char"}) {
    EXPECT_THAT(texels(type, "[9]"), IsEmpty()) << type;
    EXPECT_THAT(texels(type, "[\"N\", 4]"), IsEmpty()) << type;
  }
  EXPECT_EQ(MemorySpace::texture, folder.load().space.kernels[0].arguments[0].memory);
  EXPECT_EQ("", folder.load().space.kernels[0].arguments[0].symbol);
  for (const char* const type : {"double", "long long", "__half", "__nv_bfloat16"}) {
    EXPECT_THAT(
        texels(type, "[9]"),
        testing::Contains("space.json: /arguments/0/type: a texture has no elements of type '" +
                          std::string(type) + "', only float and integers of 8, 16 or 32 bits"));
  }
  EXPECT_THAT(
      texels("bytes(16)", "[9]"),
      testing::Contains("space.json: /arguments/0/memory: a texture has no elements of type "
                        "'bytes(16)'"));
  EXPECT_THAT(
      texels("float", "[2, 2, 2]"),
      testing::Contains("space.json: /arguments/0/shape: a texture has one dimension, and a second "
                        "one of 1, 2 or 4 elements if these are fetched at once, not 3"));
}

TEST(SpaceFile, TakesEveryAllowedOption) {
  const SpaceFolder folder;
  for (const char* const option :
       {"--use_fast_math", "--fmad=true", "--fmad=false", "--maxrregcount=64", "-lineinfo",
        "--std=c++14", "--std=c++17", "--std=c++20", "--extra-device-vectorization", "--ftz=true",
        "--prec-div=false", "--prec-sqrt=false", "--device-int128", "-DNAME", "-DNAME=1",
        "-DNAME=-0.5e+3"}) {
    folder.write("space.json", replaced(kSpace, "--use_fast_math", option));
    EXPECT_THAT(folder.faults(), IsEmpty()) << option;
    EXPECT_EQ(option, folder.load().space.kernels[2].options[0]);
  }
}

TEST(SpaceFile, TakesParametersInOptions) {
  const SpaceFolder folder;
  const std::string space = replaced(replaced(kSpace, "--use_fast_math", "--maxrregcount=${REGS}"),
                                     "\"SWITCH\": [", "\"REGS\": [32, 64], \"SWITCH\": [");
  folder.write("space.json", space);
  EXPECT_THAT(folder.faults(), IsEmpty());  // REGS has an effect.
  EXPECT_EQ("--maxrregcount=${REGS}", folder.load().space.kernels[2].options[0]);
  folder.write("space.json", replaced(space, "[32, 64], \"S", "[32, 8], \"S"));
  EXPECT_THAT(folder.faults(), testing::Contains(HasSubstr(
                                   "/kernels/2/options/0: '--maxrregcount=8' is not allowed: '8' "
                                   "is not a value of --maxrregcount=")));
  folder.write("space.json", replaced(space, "${REGS}\"", "${REGS}\", \"-DMOST=${REG}\""));
  EXPECT_THAT(folder.faults(),
              testing::Contains(HasSubstr("'REG' is neither a parameter nor a name "
                                          "of the problem; did you mean 'REGS'?")));
  folder.write("space.json", replaced(space, "${REGS}", "${REGS"));
  EXPECT_THAT(folder.faults(), testing::Contains(HasSubstr("has no name between ${ and }")));
}

/// One change of the space and the fault that must be reported.
struct Fault {
  std::string name;
  std::string from;
  std::string to;
  std::string expected;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class FaultySpace : public testing::TestWithParam<Fault> {};

TEST(SpaceFile, SaysOfAFaultyParameterOnlyWhatIsWrongWithIt) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, "[8, 16, 32]", "[]"));
  EXPECT_THAT(
      without_lines(folder.faults()),
      testing::ElementsAre("space.json: /kernels/1/parameters/TILE: [] is not a list of values"));
}

TEST_P(FaultySpace, IsRefusedWithPlaceAndReason) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, GetParam().from, GetParam().to));
  const std::vector<std::string> faults = folder.faults();
  ASSERT_THAT(faults, testing::Not(IsEmpty()));
  EXPECT_THAT(without_lines(faults), testing::Contains("space.json" + GetParam().expected));
  for (const std::string& fault : faults) {
    EXPECT_THAT(fault, testing::StartsWith("space.json:"));
    EXPECT_EQ(std::string::npos, fault.find('\n')) << "a fault is one line";
  }
  try {
    folder.load();
    FAIL() << "load_space() did not throw";
  } catch (const InputError& error) {
    EXPECT_EQ(faults.front(), folder.shortened(error.what()));
  }
}

std::string fault_name(const testing::TestParamInfo<Fault>& info) { return info.param.name; }

const std::string kDeep = std::string(40, '[') + std::string(40, ']');

INSTANTIATE_TEST_SUITE_P(
    Json, FaultySpace,
    testing::Values(
        Fault{"MissingComma", "\"base\",", "\"base\"",
              ":3:15: this is not JSON: syntax error while parsing object - unexpected string "
              "literal; expected '}'"},
        Fault{"Comment", "{\n", "{ // a space\n",
              ":1:3: this is not JSON: syntax error while parsing object key - invalid literal; "
              "last read: '{ /'; expected string literal"},
        Fault{"Empty", kSpace, "", ":1:1: this is not JSON: the file is empty"},
        Fault{"NoObject", kSpace, "[1, 2]", ": [1, 2] is not an object"},
        Fault{"Duplicate", "\"cpu_problems\"", "\"problems\"", ": /problems: the key occurs twice"},
        Fault{"DuplicateParameter", "\"WIDE\": [false, true]", "\"TILE\": [false]",
              ": /kernels/1/parameters/TILE: the key occurs twice"},
        Fault{"TooLargeForAnInteger", "1024", "9223372036854775808",
              ": /problems/0/N: 9223372036854775808 is above the largest integer, "
              "9223372036854775807"},
        Fault{"BecomesADouble", "1024", "18446744073709551616",
              ": /problems/0/N: 18446744073709551616 is not an integer of 64 bits"},
        Fault{"BecomesANegativeDouble", "1024", "-9223372036854775809",
              ": /problems/0/N: -9223372036854775809 is not an integer of 64 bits"},
        Fault{"Infinite", "1e-6", "1e999",
              ":13:43: this is not JSON: number overflow parsing '1e999'"},
        Fault{"TooDeep", "\"Adds one.\"", kDeep,
              ": /description/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: "
              "nested more than 32 levels deep"},
        Fault{"LongText", "Adds one.", std::string(70'000, 'x'),
              ": /description: a string of 70000 bytes; at most 65536"},
        Fault{"ControlCharacter", "Adds one.", "\\u001b[2J",
              ": /description: a string with a control character: '?[2J'"},
        Fault{"LongFile", "{\n", "{" + std::string(1 << 20, ' '),
              ": has " + std::to_string(kSpace.size() - 1 + (1 << 20)) +
                  " bytes, at most 1048576 are read"},
        Fault{"NotUtf8", "Adds one.", "\xff",
              ":3:19: this is not JSON: syntax error while parsing value - invalid string: "
              "ill-formed UTF-8 byte; last read: '\"?'"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Keys, FaultySpace,
    testing::Values(
        Fault{"Misspelt", "\"problems\"", "\"problem\"",
              ": /problem: unknown key; did you mean 'problems'?"},
        Fault{"Unknown", "\"description\"", "\"colour\"",
              ": /colour: unknown key; the keys are $schema, name, description, problems, "
              "cpu_problems, arguments, metrics, verify, kernels"},
        Fault{"OfAnArgument", "\"shape\": [\"N\"], \"role\": \"output\"",
              "\"shapes\": [\"N\"], \"role\": \"output\"",
              ": /arguments/1/shapes: unknown key; did you mean 'shape'?"},
        Fault{"OfVerify", "\"absolute\"", "\"absolut\"",
              ": /verify/absolut: unknown key; did you mean 'absolute'?"},
        Fault{"OfAKernel", "\"constraints\"", "\"constraint\"",
              ": /kernels/1/constraint: unknown key; did you mean 'constraints'?"},
        Fault{"OfALaunch", "\"dynamic_shared_bytes\"", "\"dynamic_shared_byte\"",
              ": /kernels/2/launches/1/dynamic_shared_byte: unknown key; did you mean "
              "'dynamic_shared_bytes'?"},
        Fault{"OfAKernelsVerify", "\"relative\": 1e-5", "\"reference\": \"plain\"",
              ": /kernels/1/verify/reference: unknown key; the keys are absolute, relative, ulps, "
              "derived"},
        Fault{"OfAnExpectation", "\"within_percent\"", "\"within_per_cent\"",
              ": /kernels/1/expect/within_per_cent: unknown key; did you mean 'within_percent'?"},
        Fault{"WithASlash", "\"description\"", "\"a/b~c\"",
              ": /a~1b~0c: unknown key; the keys are $schema, name, description, problems, "
              "cpu_problems, arguments, metrics, verify, kernels"},
        Fault{"NoName", "\"name\": \"base\",", "", ": lacks \"name\""},
        Fault{"NoProblems",
              "\"problems\": [{ \"N\": 1024, \"T\": \"float\" }, { \"N\": 100, "
              "\"T\": \"int\" }],",
              "", ": lacks \"problems\""},
        Fault{"NoKernelName", "\"name\": \"tiled\",", "", ": /kernels/1: lacks \"name\""},
        Fault{"NoSource", "\"source\": \"plain.cu\",", "", ": /kernels/0: lacks \"source\""},
        Fault{"NoBlock", "\"block\": [\"THREADS\"],", "", ": /kernels/0: lacks \"block\""},
        Fault{"NoType", "\"type\": \"int\", \"value\"", "\"value\"",
              ": /arguments/2: lacks \"type\""},
        Fault{"EmptyProblems", "\"cpu_problems\": [{ \"N\": 64, \"T\": \"float\" }]",
              "\"cpu_problems\": []", ": /cpu_problems: [] is not a list of problems"},
        Fault{"WrongType", "\"Adds one.\"", "7", ": /description: 7 is not a string"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Problems, FaultySpace,
    testing::Values(
        Fault{"Fraction", "1024", "1024.5",
              ": /problems/0/N: 1024.5 is not an integer, a boolean or a word"},
        Fault{"OtherName", "{ \"N\": 100,", "{ \"n_\": 100,",
              ": /problems/1/n_: the first problem has no 'n_'"},
        Fault{"LessNames", "{ \"N\": 100, \"T\": \"int\" }", "{ \"N\": 100 }",
              ": /problems/1: lacks 'T', which the first problem has"},
        Fault{"OtherKind", "{ \"N\": 100, \"T\": \"int\" }", "{ \"N\": 100, \"T\": 4 }",
              ": /problems/1/T: '4' is an integer, but the first problem has 'float'"},
        Fault{"OtherKindOfAlso", "\"also\": [{ \"N\": 1,", "\"also\": [{ \"N\": \"one\",",
              ": /verify/also/0/N: 'one' is a word, but the first problem has '1024'"},
        Fault{"Twice", "{ \"N\": 100, \"T\": \"int\" }", "{ \"N\": 1024, \"T\": \"float\" }",
              ": /problems/1: 'N=1024,T=float' occurs twice"},
        Fault{"NoWord", "\"T\": \"int\" }],", "\"T\": \"int, int\" }],",
              ": /problems/1/T: 'int, int' is not a word: a letter, then letters, digits, _ : < > "
              "and single spaces, at most 64"},
        Fault{"NoElementType", "{ \"N\": 100, \"T\": \"int\" }", "{ \"N\": 100, \"T\": \"flaot\" }",
              ": /problems/1/T: 'flaot' is not an element type; did you mean 'float'?"},
        Fault{"NoElementTypeInAlso", "\"also\": [{ \"N\": 1, \"T\": \"int\" }]",
              "\"also\": [{ \"N\": 1, \"T\": \"floats\" }]",
              ": /verify/also/0/T: 'floats' is not an element type; did you mean 'float'?"},
        Fault{"NoName", "\"N\": 1024", "\"2N\": 1024", ": /problems/0/2N: '2N' is not a name"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Names, FaultySpace,
    testing::Values(
        Fault{"NoIdentifier", "\"base\"", "\"base space\"",
              ": /name: 'base space' is not a name: a letter, then letters, digits and _, at most "
              "64"},
        Fault{"OfTheProblem", "\"WIDE\": [false", "\"N\": [false",
              ": /kernels/1/parameters/N: 'N' cannot be a parameter, because it is a name of the "
              "problems"},
        Fault{"OfTheDevice", "\"THREADS\": [64", "\"sm_count\": [64",
              ": /kernels/0/parameters/sm_count: 'sm_count' cannot be a parameter, because it is a "
              "limit of the device"},
        Fault{"OfAType", "\"THREADS\": [64", "\"int\": [64",
              ": /kernels/0/parameters/int: 'int' cannot be a parameter, because it is a type"},
        Fault{"OfAFunction", "\"THREADS\": [64", "\"min\": [64",
              ": /kernels/0/parameters/min: 'min' cannot be a parameter, because it is a word of "
              "the expression language"},
        Fault{"OfCpp", "\"THREADS\": [64", "\"template\": [64",
              ": /kernels/0/parameters/template: 'template' cannot be a parameter, because it is a "
              "word of CUDA C++"},
        Fault{"OfAnArgument", "\"THREADS\": [64", "\"n\": [64",
              ": /kernels/0/parameters/n: 'n' cannot be a parameter, because it is an argument"},
        Fault{"ArgumentOfTheProblem", "\"name\": \"out\"", "\"name\": \"N\"",
              ": /arguments/1/name: 'N' cannot be an argument, because it is a name of the "
              "problems"},
        Fault{"ArgumentOfDefinitions", "\"name\": \"n\"", "\"name\": \"sum\"",
              ": /arguments/2/name: 'sum' cannot be an argument, because it is a word of the "
              "expression language"},
        Fault{"ValueOfAName", "[\"on\", \"off\"]", "[\"on\", \"BLOCK\"]",
              ": /kernels/2/parameters/SWITCH/1: 'BLOCK' cannot be a value, because it is a "
              "parameter"},
        Fault{"TwoKernels", "\"name\": \"tiled\"", "\"name\": \"plain\"",
              ": /kernels/1/name: there are two kernels 'plain'"},
        Fault{"TwoArguments", "\"name\": \"out\"", "\"name\": \"in\"",
              ": /arguments/1: there are two arguments 'in'"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Arguments, FaultySpace,
    testing::Values(
        Fault{"NoRole", ", \"role\": \"output\"", "",
              ": /arguments/1: lacks \"role\", one of input, output, inout, scratch"},
        Fault{"OtherRole", "\"role\": \"output\"", "\"role\": \"outputs\"",
              ": /arguments/1/role: 'outputs' is not one of input, output, inout, scratch; did you "
              "mean 'output'?"},
        Fault{"NoInit", ", \"init\": \"uniform(-1, 1)\"", "",
              ": /arguments/0: lacks \"init\", its initial contents, such as uniform(-1, 1)"},
        Fault{"OtherInit", "uniform(-1, 1)", "unifrom(-1, 1)",
              ": /arguments/0/init: 'unifrom' is not one of uniform, normal, iota, zero, constant, "
              "permutation, file; did you mean 'uniform'?"},
        Fault{"InitWithoutEnd", "uniform(-1, 1)", "uniform(-1)",
              ": /arguments/0/init: 'uniform(-1)' is not of the form uniform or uniform(LOW, "
              "HIGH)"},
        Fault{"InitReversed", "uniform(-1, 1)", "uniform(1, -1)",
              ": /arguments/0/init: 'uniform(1, -1)': LOW is above HIGH"},
        Fault{"InitNoNumber", "uniform(-1, 1)", "uniform(-1, nan)",
              ": /arguments/0/init: 'nan' column 1: unknown name 'nan'"},
        Fault{"InitUnclosed", "uniform(-1, 1)", "uniform(-1, 1",
              ": /arguments/0/init: 'uniform(-1, 1' lacks a ')' at its end"},
        Fault{"InitNoFile", "uniform(-1, 1)", "file(\\\"none.npy\\\")",
              ": /arguments/0/init: there is no 'none.npy' in ."},
        Fault{"InitFileOutside", "uniform(-1, 1)", "file(\\\"/etc/passwd\\\")",
              ": /arguments/0/init: '/etc/passwd' is absolute; sources are named relative to the "
              "space file"},
        Fault{"ShapeAndValue", "\"value\": \"N\"", "\"value\": \"N\", \"shape\": [\"N\"]",
              ": /arguments/2: needs one of \"shape\" (a buffer), \"value\" (a scalar) and "
              "\"members\" (a struct)"},
        Fault{"FractionOfAnInteger", "\"value\": \"N\"", "\"value\": 1.5",
              ": /arguments/2/value: 1.5 is not an integer, but the type is 'int'"},
        Fault{"OtherType", "\"type\": \"int\", \"value\"", "\"type\": \"itn\", \"value\"",
              ": /arguments/2/type: 'itn' is neither an element type nor a name in the problems "
              "that stands for one; did you mean 'int'?"},
        Fault{"NoOutput", "\"role\": \"output\"", "\"role\": \"scratch\"",
              ": /arguments: none has the role \"output\" or \"inout\", so nothing could be "
              "verified"},
        Fault{"InitOfScratch", "\"role\": \"scratch\"", "\"role\": \"scratch\", \"init\": \"zero\"",
              ": /kernels/2/arguments/3/shape/0: the parameter 'BLOCK' would change the problem; "
              "only a scratch buffer may depend on one"},
        Fault{
            "ConstantOutput", "\"role\": \"output\"",
            "\"role\": \"output\", \"memory\": \"constant\"",
            ": /arguments/1/memory: constant memory and textures are for the role \"input\" only"},
        Fault{"OtherMemory", "\"role\": \"input\"", "\"role\": \"input\", \"memory\": \"textures\"",
              ": /arguments/0/memory: 'textures' is not one of constant, texture, tensor_map, "
              "texture_2d; did you mean 'texture'?"},
        Fault{"NoBox", "\"role\": \"input\"", "\"role\": \"input\", \"memory\": \"tensor_map\"",
              ": /arguments/0: lacks \"box\", the elements that are copied at a time in each "
              "dimension"},
        Fault{"BoxOfOtherDimensions", "\"role\": \"input\"",
              "\"role\": \"input\", \"memory\": \"tensor_map\", \"box\": [8, 64]",
              ": /arguments/0/box: has 2 dimensions, the shape has 1"},
        Fault{"SwizzleOfAPointer", "\"role\": \"input\"", "\"role\": \"input\", \"swizzle\": 128",
              ": /arguments/0/swizzle: needs \"memory\": \"tensor_map\" beside it"},
        Fault{"SymbolOfATexture", "\"role\": \"input\"",
              "\"role\": \"input\", \"memory\": \"texture\", \"symbol\": \"weights\"",
              ": /arguments/0/symbol: needs \"memory\": \"constant\" beside it"},
        Fault{"SymbolAlone", "\"role\": \"input\"", "\"role\": \"input\", \"symbol\": \"weights\"",
              ": /arguments/0/symbol: needs \"memory\": \"constant\" beside it"},
        Fault{"RoleOfAScalar", "\"value\": \"N\"", "\"value\": \"N\", \"role\": \"output\"",
              ": /arguments/2/role: a scalar can only be an input"},
        Fault{"UnknownByName", "\"arguments\": [\"in\", \"out\", \"n\",\n",
              "\"arguments\": [\"in\", \"outs\", \"n\",\n",
              ": /kernels/2/arguments/1: the space has no argument 'outs'; did you mean 'out'?"},
        Fault{"ShapeOfAParameter", "\"role\": \"scratch\"", "\"role\": \"output\"",
              ": /kernels/2/arguments/3/shape/0: the parameter 'BLOCK' would change the problem; "
              "only a scratch buffer may depend on one"},
        Fault{"AnotherShape", "\"arguments\": [\"in\",",
              "\"arguments\": [{ \"name\": \"in\", \"type\": \"T\", \"shape\": [\"N\", 1], "
              "\"role\": \"input\", \"init\": \"uniform(-1, 1)\" },",
              ": /kernels/2/launches/0/arguments/0: "
              "{...} is not an argument's name"},
        Fault{"NoList", "\"shape\": [\"N\"], \"role\": \"output\"",
              "\"shape\": \"N\", \"role\": \"output\"",
              ": /arguments/1/shape: \"N\" is not a list of expressions, outermost dimension "
              "first"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Verify, FaultySpace,
    testing::Values(
        Fault{"NoReference", "\"reference\": \"plain\",", "",
              ": lacks /verify/reference, the kernel that gives the answer"},
        Fault{"OtherReference", "\"reference\": \"plain\"", "\"reference\": \"plan\"",
              ": /verify/reference: there is no kernel 'plan'; did you mean 'plain'?"},
        Fault{"NoWitness", "\"also\":", "\"also_reference\": \"plan\", \"also\":",
              ": /verify/also_reference: there is no kernel 'plan'; did you mean 'plain'?"},
        Fault{"WitnessIsReference", "\"also\":", "\"also_reference\": \"plain\", \"also\":",
              ": /verify/also_reference: 'plain' is the reference already"},
        Fault{"Negative", "1e-6", "-1e-6",
              ": /verify/absolute: -1e-06 is not a number of 0 or "
              "more"},
        Fault{"TooLax", "1e-5", "1",
              ": /kernels/1/verify/relative: 1 would accept 0 for every value; give less than 1"},
        Fault{"NoDefinition", "\"out[i] = in[i] + 1\"", "[]",
              ": /verify/definition: [] is not a definition or a list of them"},
        Fault{"DefinesAnInput", "\"out[i] = in[i] + 1\"", "\"in[i] = in[i] + 1\"",
              ": /verify/definition: 'in' is not an output of the reference kernel"},
        Fault{"DefinesTwice", "\"out[i] = in[i] + 1\"",
              "[\"out[i] = in[i] + 1\", \"out[i] = 1 + in[i]\"]",
              ": /verify/definition/1: 'out' is defined twice"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Kernels, FaultySpace,
    testing::Values(
        Fault{"NoEntry", "\"entry\": \"plain<T>\",", "",
              ": /kernels/0: needs either \"entry\" with \"block\" and \"grid\", or \"launches\""},
        Fault{"EntryAndLaunches", "\"launches\": [", "\"entry\": \"macro\", \"launches\": [",
              ": /kernels/2: needs either \"entry\" with \"block\" and \"grid\", or \"launches\""},
        Fault{"BlockBesideLaunches", "\"include\":", "\"block\": [32], \"include\":",
              ": /kernels/2/block: belongs in each of the launches"},
        Fault{"EntryUnclosed", "plain<T>", "plain<T",
              ": /kernels/0/entry: 'plain<T' lacks a '>' at its end"},
        Fault{"EntryEmptyArgument", "plain<T>", "plain<T, >",
              ": /kernels/0/entry: 'plain<T, >' has an empty template argument"},
        Fault{"EntryNoName", "plain<T>", "plain kernel<T>",
              ": /kernels/0/entry: 'plain kernel' is not the name of a function"},
        Fault{"OtherEntry", "tiled<T, TILE, WIDE>", "tiledd<T, TILE, WIDE>",
              ": /kernels/1/entry: folder/tiled.cu has no __global__ function 'tiledd'; did you "
              "mean 'tiled'?"},
        Fault{"OtherEntryOfALaunch", "\"entry\": \"macro_end\"", "\"entry\": \"end\"",
              ": /kernels/2/launches/1/entry: macro.cu has no __global__ function 'end'; it has "
              "macro, macro_end"},
        Fault{"OtherPass", "\"define\"", "\"defines\"",
              ": /kernels/2/pass: 'defines' is neither \"template\" nor \"define\""},
        Fault{"FourDimensions", "\"block\": [\"THREADS\"]", "\"block\": [1, 2, 3, 4]",
              ": /kernels/0/block: [1, 2, 3, 4] is not a list of one to three expressions (x, y, "
              "z)"},
        Fault{"NoGuess", "\"pass\": \"define\"", "\"default_is_a_guess\": 1",
              ": /kernels/2/default_is_a_guess: 1 is neither true nor false"},
        Fault{"NoGuessedDefinition",
              "\"definition\":", "\"definition_is_a_guess\": 1, \"definition\":",
              ": /verify/definition_is_a_guess: 1 is neither true nor false"},
        Fault{"NoBoolean", "\"pass\": \"define\"", "\"architecture_specific\": 1",
              ": /kernels/2/architecture_specific: 1 is neither true nor false"},
        Fault{"UnknownFeature", "\"pass\": \"define\"",
              "\"pass\": \"define\", \"requires\": [\"tensor_core\"]",
              ": /kernels/2/requires/0: 'tensor_core' is not a feature; did you mean "
              "'tensor_cores'?"},
        Fault{"FeatureTwice", "\"pass\": \"define\"",
              "\"pass\": \"define\", \"requires\": [\"tma\", \"tma\"]",
              ": /kernels/2/requires/1: 'tma' occurs twice"},
        Fault{"UnknownArgument", "[\"in\", \"partial\", \"n\"]", "[\"in\", \"partials\", \"n\"]",
              ": /kernels/2/launches/0/arguments/1: there is no argument 'partials' to pass; did "
              "you mean 'partial'?"},
        Fault{"EmptyParameter", "\"THREADS\": [64, 128]", "\"THREADS\": []",
              ": /kernels/0/parameters/THREADS: [] is not a list of values"},
        Fault{"QuotedNumber", "[8, 16, 32]", "[8, \"16\", 32]",
              ": /kernels/1/parameters/TILE/1: \"16\" is text: a number has no quotation marks"},
        Fault{"FractionOfAParameter", "[8, 16, 32]", "[8, 16, 0.5]",
              ": /kernels/1/parameters/TILE/2: 0.5 is not an integer, a boolean or a word"},
        Fault{"ValueTwice", "[8, 16, 32]", "[8, 16, 8]",
              ": /kernels/1/parameters/TILE/2: '8' occurs twice"},
        Fault{"TrueIsOne", "[false, true]", "[false, true, 1]",
              ": /kernels/1/parameters/WIDE/2: '1' occurs twice"},
        Fault{"MixedValues", "[8, 16, 32]", "[8, 16, \"large\"]",
              ": /kernels/1/parameters/TILE/2: 'large' is a word, but the first value is '8'"},
        Fault{"DefaultNotListed", "\"default\": { \"TILE\": 16 }", "\"default\": { \"TILE\": 64 }",
              ": /kernels/1/default/TILE: '64' is not one of the parameter's values 8, 16, 32"},
        Fault{"DefaultUnknown", "\"default\": { \"TILE\": 16 }", "\"default\": { \"TILES\": 16 }",
              ": /kernels/1/default/TILES: there is no parameter 'TILES'; did you mean 'TILE'?"},
        Fault{"WithoutEffect", "\"THREADS\": [64, 128]", "\"THREADS\": [64], \"UNROLL\": [1, 2]",
              ": /kernels/0/parameters/UNROLL: has no effect: neither the entry's template "
              "arguments nor the launch uses 'UNROLL'"},
        Fault{"MacroWithoutEffect", "\"SWITCH\": [", "\"SWITCHES\": [",
              ": /kernels/2/parameters/SWITCHES: has no effect: neither the source nor the launch "
              "uses 'SWITCHES'"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Options, FaultySpace,
    testing::Values(
        Fault{"Include", "--use_fast_math", "-I/etc",
              ": /kernels/2/options/0: '-I/etc' is not allowed: it would read files elsewhere; "
              "folders are named by \"include\""},
        Fault{"PreInclude", "--use_fast_math", "--pre-include=/etc/passwd",
              ": /kernels/2/options/0: '--pre-include=/etc/passwd' is not allowed: it would read "
              "files elsewhere; folders are named by \"include\""},
        Fault{"Architecture", "--use_fast_math", "-arch=sm_80",
              ": /kernels/2/options/0: '-arch=sm_80' is not allowed: the device decides the "
              "architecture"},
        Fault{"File", "--use_fast_math", "--time=/tmp/x",
              ": /kernels/2/options/0: '--time=/tmp/x' is not allowed: only --use_fast_math, "
              "--fmad=, --ftz=, --prec-div=, --prec-sqrt=, --maxrregcount=, --std=, "
              "--extra-device-vectorization, --device-int128, -lineinfo and -DNAME=VALUE may be "
              "given"},
        Fault{"Value", "--use_fast_math", "--fmad=maybe",
              ": /kernels/2/options/0: '--fmad=maybe' is not allowed: 'maybe' is not a value of "
              "--fmad="},
        Fault{"Registers", "--use_fast_math", "--maxrregcount=4294967300",
              ": /kernels/2/options/0: '--maxrregcount=4294967300' is not allowed: '4294967300' is "
              "not a value of --maxrregcount=, which takes 16 to 255"},
        Fault{"Mistyped", "--use_fast_math", "--maxregcount=32",
              ": /kernels/2/options/0: '--maxregcount=32' is not allowed: only --use_fast_math, "
              "--fmad=, --ftz=, --prec-div=, --prec-sqrt=, --maxrregcount=, --std=, "
              "--extra-device-vectorization, --device-int128, -lineinfo and -DNAME=VALUE may be "
              "given; did you mean '--maxrregcount='?"},
        Fault{"Standard", "--use_fast_math", "--std=c++03",
              ": /kernels/2/options/0: '--std=c++03' is not allowed: 'c++03' is not a value of "
              "--std="},
        Fault{"MacroName", "-DLIMIT=3", "-D3=LIMIT",
              ": /kernels/2/options/1: '-D3=LIMIT' is not allowed: '3' is not the name of a macro"},
        Fault{"MacroValue", "-DLIMIT=3", "-DLIMIT=3;system(0)",
              ": /kernels/2/options/1: '-DLIMIT=3;system(0)' is not allowed: a macro's value may "
              "have letters, digits, _ . + and - only"},
        Fault{"MacroOfAParameter", "-DLIMIT=3", "-DBLOCK=3",
              ": /kernels/2/options/1: 'BLOCK' is a parameter, which gets its value from the "
              "search"},
        Fault{"MacroOfTheProblem", "-DLIMIT=3", "-DN=3",
              ": /kernels/2/options/1: 'N' is a name of the problems, which give it its value"},
        Fault{"Twice", "-DLIMIT=3", "--use_fast_math",
              ": /kernels/2/options/1: '--use_fast_math' occurs twice"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    Expressions, FaultySpace,
    testing::Values(
        Fault{"NoText", "\"block\": [\"THREADS\"]", "\"block\": [1.5]",
              ": /kernels/0/block/0: 1.5 is not an expression or an integer"},
        Fault{"DefaultOfTheReference", "\"parameters\": { \"THREADS\"",
              "\"constraints\": [\"N >= 64\"], \"parameters\": { \"THREADS\"",
              ": /kernels/0: the reference's default 'THREADS=64' fails `N >= 64` for the problem "
              "'N=1,T=int', so there is no answer to compare with"},
        Fault{"DefaultNowhere", "<= 32\"", "<= 8\"",
              ": /kernels/1: the default 'TILE=16,WIDE=0' satisfies the constraints for no "
              "problem"}),
    fault_name);

/// Core tests the faults of expressions; these tests check only where they are reported.
class FaultyExpression : public testing::TestWithParam<Fault> {};

TEST_P(FaultyExpression, IsNamedByItsPlaceAndText) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, GetParam().from, GetParam().to));
  const std::vector<std::string> faults = without_lines(folder.faults());
  ASSERT_THAT(faults, testing::Not(IsEmpty()));
  const std::size_t colon = GetParam().expected.rfind('|');
  EXPECT_THAT(faults[0],
              testing::StartsWith("space.json: " + GetParam().expected.substr(0, colon)));
  EXPECT_THAT(faults[0], HasSubstr(GetParam().expected.substr(colon + 1)));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyExpression,
    testing::Values(
        Fault{"UnknownName", "TILE * (WIDE + 1) <= 32", "TILES * (WIDE + 1) <= 32",
              "/kernels/1/constraints/0: |TILES"},
        Fault{"NoExpression", "\"block\": [\"THREADS\"]", "\"block\": [\"THREADS +\"]",
              "/kernels/0/block/0: |THREADS +"},
        Fault{"DivisionByZero", "TILE * (WIDE + 1) <= 32", "TILE / WIDE <= 32",
              "/kernels/1/constraints|TILE / WIDE"},
        Fault{"NegativeSize", "\"dynamic_shared_bytes\": \"BLOCK * 4\"",
              "\"dynamic_shared_bytes\": \"-BLOCK\"",
              "/kernels/2/launches/1/dynamic_shared_bytes: |-BLOCK"},
        Fault{"Metric", "\"flops\": \"N\"", "\"flops\": \"N + T\"", "/metrics/flops: |N + T"},
        Fault{"ExpectedTime", "TILE * (1 + WIDE)", "TILES", "/kernels/1/expect/time: |TILES"},
        Fault{"NoTime", "TILE * (1 + WIDE)", "WIDE", "/kernels/1/expect/time: a time of 0"},
        Fault{"Shape", "\"shape\": [\"N\"], \"role\": \"output\"",
              "\"shape\": [\"N - 2\"], \"role\": \"output\"", "/arguments/1/shape/0: |'out'"},
        Fault{"Definition", "in[i] + 1", "inn[i] + 1", "/verify/definition: |inn"}),
    fault_name);

TEST(CheckSpace, FindsEveryIndependentFault) {
  const SpaceFolder folder;
  std::string text = replaced(kSpace, "\"Adds one.\"", "3");
  text = replaced(text, "\"role\": \"output\"", "\"role\": \"result\"");
  text = replaced(text, "[8, 16, 32]", "[8, 16, 0.5]");
  text = replaced(text, "-DLIMIT=3", "-I.");
  folder.write("space.json", text);
  EXPECT_THAT(folder.faults(),
              ElementsAre(HasSubstr("/description: "), HasSubstr("/arguments/1/role: "),
                          HasSubstr("/kernels/1/parameters/TILE/2: "),
                          HasSubstr("/kernels/2/options/1: ")));
}

TEST(CheckSpace, ListsEveryTodoWithItsPlace) {
  const SpaceFolder folder;
  std::string text = replaced(kSpace, "\"N\": 1024", "\"N\": \"TODO: how many\"");
  text =
      replaced(text, "[\"N\"], \"role\": \"input\"", "[\"TODO: elements\"], \"role\": \"input\"");
  text = replaced(text, "uniform(-1, 1)", "TODO: indices");
  text = replaced(text, "[\"ceil_div(N, TILE)\"]", "[\"TODO: blocks in x\"]");
  folder.write("space.json", text);
  EXPECT_THAT(folder.faults(), ElementsAre("space.json:4: /problems/0/N: TODO: how many",
                                           "space.json:7: /arguments/0/shape/0: TODO: elements",
                                           "space.json:7: /arguments/0/init: TODO: indices",
                                           "space.json:24: /kernels/1/grid/0: TODO: blocks in x"));
}

TEST(CheckSpace, NamesTheLineOfAnExpressionThatHasNoValue) {
  const SpaceFolder folder;
  for (const auto& [grid, fault] : {std::pair("N / TILES", "unknown name 'TILES'"),
                                    std::pair("N / (N - N)", "division by zero")}) {
    folder.write("space.json", replaced(kSpace, "ceil_div(N, TILE)", grid));
    EXPECT_THAT(folder.faults(),
                ElementsAre(testing::AllOf(
                    testing::StartsWith("space.json:24: /kernels/1/grid/0: "), HasSubstr(fault))));
  }
}

TEST(SpaceFile, ReadsStructsAsBytes) {
  const SpaceFolder folder;
  const auto load = [&](const std::string& type, const std::string& rest) {
    folder.write("space.json", replaced(kSpace, "\"type\": \"int\", \"value\": \"N\"",
                                        "\"type\": \"" + type + "\", " + rest));
    return folder.load().space.kernels[0].arguments[2];
  };
  folder.write("data.npy", "");
  const ArgumentTemplate buffer =
      load("bytes(24)", "\"shape\": [\"N\"], \"role\": \"inout\", \"init\": \"zero\"");
  EXPECT_EQ(buffer.type, "unsigned char");
  ASSERT_EQ(buffer.shape.size(), 2u);
  EXPECT_EQ(buffer.shape[1].text, "24");
  const ArgumentTemplate scalar = load("bytes(24)", "\"value\": \"file(\\\"data.npy\\\")\"");
  EXPECT_EQ(scalar.raw_bytes, 24);
  EXPECT_EQ(scalar.init.kind, Init::Kind::file);
  EXPECT_FALSE(scalar.is_buffer());
  EXPECT_THROW(load("bytes(0)", "\"value\": \"zero\""), InputError);
  EXPECT_THROW(load("bytes(4097)", "\"value\": \"zero\""), InputError);
  EXPECT_THROW(load("bytes(4)", "\"value\": \"uniform(0, 1)\""), InputError);
  EXPECT_THROW(load("bytes(4)", "\"value\": 3"), InputError);
}

TEST(SpaceFile, TakesTheFirstKernelForItsDefaultReference) {
  const SpaceFolder folder;
  folder.write("space.json",
               replaced(kSpace, R"("reference": "plain")", R"("reference": "default")"));
  EXPECT_EQ(folder.load().space.verify.reference, "plain");
}

TEST(SpaceFile, TakesUnitsInTheLastPlace) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, R"("absolute": 1e-6)", R"("ulps": 4)"));
  const Tolerance tolerance = folder.load().space.kernels[0].tolerance;
  EXPECT_EQ(tolerance.ulps, 4);
  EXPECT_TRUE(tolerance.is_given());
}

TEST(SpaceFile, TakesExpectedOutputsOfDataThatIsAlwaysTheSame) {
  const SpaceFolder folder;
  folder.write("out.npy", "");
  const std::string expected = replaced(
      kSpace, "\"absolute\": 1e-6", "\"absolute\": 1e-6, \"expected\": { \"out\": \"out.npy\" }");
  folder.write("space.json", expected);
  EXPECT_THAT(folder.faults(), ElementsAre(HasSubstr("/arguments/0/init: /verify/expected holds")));
  const std::string same = replaced(expected, "uniform(-1, 1)", "iota");
  folder.write("space.json", same);
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_EQ(folder.load().space.verify.expected.at("out").path.filename(), "out.npy");
  folder.write("space.json", replaced(same, "{ \"out\":", "{ \"in\":"));
  EXPECT_THAT(folder.faults(),
              ElementsAre(HasSubstr("/verify/expected/in: 'in' is not an output")));
  folder.write("space.json", replaced(same, "out.npy", "other.npy"));
  EXPECT_THAT(folder.faults(), ElementsAre(HasSubstr("/verify/expected/out: there is no")));
}

TEST(SpaceFile, HandsOverAsMacrosWhatTheSourceUsesAndIsNoTemplateArgument) {
  const SpaceFolder folder;
  folder.write("mixed.cu",
               "template <typename T, int N> __global__ void mixed(const T* in, T* out, int n) {\n"
               "  int b = BLOCK;\n}\n");
  const std::string kernel =
      "{ \"name\": \"mixed\", \"source\": \"mixed.cu\", \"pass\": \"define\", "
      "\"entry\": \"mixed<T, N>\", \"parameters\": { \"BLOCK\": [32] }, "
      "\"block\": [\"BLOCK\"], \"grid\": [1] },\n";
  const std::string first = "{ \"name\": \"plain\",";
  folder.write("space.json", replaced(kSpace, first, kernel + first));
  const auto options = [&] {
    const LoadedSpace loaded = folder.load();
    const KernelTemplate& mixed = loaded.space.kernels[0];
    const KernelBinding bound(loaded.space, mixed, loaded.space.problems[0], Device{});
    const KernelInstance instance = bound.instantiate(mixed.default_configuration);
    return instance.launches[0].name_expression + testing::PrintToString(instance.options);
  };
  EXPECT_EQ(options(), "mixed<float, 1024>{ \"-DBLOCK=32\" }");
  folder.write("space.json",
               replaced(replaced(kSpace, first, kernel + first), "mixed<T, N>", "mixed<T, 3>"));
  EXPECT_EQ(options(), "mixed<float, 3>{ \"-DBLOCK=32\" }") << "it is a template's parameter";
  folder.write("mixed.cu",
               "template <typename T, int M> __global__ void mixed(const T* in, T* out, int n) {\n"
               "  int b = BLOCK + N;\n}\n");
  EXPECT_EQ(options(), "mixed<float, 3>{ \"-DBLOCK=32\", \"-DN=1024\" }");
}

TEST(LoadSpace, NotesHeadersThatCostTime) {
  const SpaceFolder folder;
  EXPECT_THAT(folder.load().notes, IsEmpty());
  folder.write("plain.cu", "#include <cub/block/block_reduce.cuh>\n" + kPlain);
  EXPECT_THAT(folder.load().notes,
              ElementsAre(HasSubstr("plain.cu:1: <cub/block/block_reduce.cuh>: reading")));
  folder.write("plain.cu", "#include <cub/cub.cuh>\n" + kPlain);
  EXPECT_THAT(folder.load().notes,
              ElementsAre(HasSubstr("plain.cu:1: <cub/cub.cuh>: NVRTC cannot read this header")));
}

TEST(CheckSpace, SaysThatTheFileIsMissing) {
  const SpaceFolder folder;
  fs::remove(folder.file());
  EXPECT_THAT(folder.faults(),
              ElementsAre("space.json: cannot be opened: No such file or directory"));
}

TEST(CheckSpace, RefusesWhatIsNoRegularFile) {
  const SpaceFolder folder;
  fs::remove(folder.file());
  ASSERT_EQ(0, mkfifo(folder.file().c_str(), 0600));
  EXPECT_THAT(folder.faults(), ElementsAre("space.json: is not a regular file"));
}

/// A change of a source and the fault that must be reported.
class FaultySource : public testing::TestWithParam<Fault> {};

TEST_P(FaultySource, IsNamedWithItsLine) {
  const SpaceFolder folder;
  folder.write(GetParam().from, GetParam().to);
  const std::vector<std::string> faults = without_lines(folder.faults());
  EXPECT_THAT(faults, testing::Contains(testing::StartsWith("space.json: " + GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, FaultySource,
    testing::Values(
        Fault{"RedefinesAParameter", "macro.cu", "#define BLOCK 64\n" + kMacro,
              "/kernels/2/parameters/BLOCK: macro.cu:1: #define BLOCK 64 overrides the value that "
              "is passed in; put it under #ifndef BLOCK"},
        Fault{"RedefinesAParameterInAHeader", "headers/deep.cuh", "\n\n#  define BLOCK 64\n",
              "/kernels/2/parameters/BLOCK: deep.cuh:3: #define BLOCK 64 overrides"},
        Fault{"RedefinesBehindElse", "macro.cu",
              "#ifndef BLOCK\n#else\n#define BLOCK 64\n#endif\n" + kMacro,
              "/kernels/2/parameters/BLOCK: macro.cu:3: #define BLOCK 64 overrides"},
        Fault{"UndefinesAParameter", "macro.cu", "#undef BLOCK\n" + kMacro,
              "/kernels/2/parameters/BLOCK: macro.cu:1: #undef BLOCK overrides"},
        Fault{"RedefinesTheProblem", "macro.cu", "#define N 4096\n" + kMacro,
              "/kernels/2/source: macro.cu:1: #define N 4096 overrides the problem's value"},
        Fault{"NoKernel", "plain.cu", "// __global__ void plain(int n) {}\n",
              "/kernels/0/entry: plain.cu has no __global__ function 'plain'; it has none"},
        Fault{"MissingHeader", "plain.cu", "\n#include \"none.cuh\"\n" + kPlain,
              "/kernels/0/source: plain.cu:2: 'none.cuh' is found neither beside this file"},
        Fault{"HeaderOutside", "plain.cu", "#include \"../../../../../../etc/passwd\"\n" + kPlain,
              "/kernels/0/source: plain.cu:1: '../../../../../../etc/passwd' leaves the folder"},
        Fault{"AbsoluteHeader", "plain.cu", "#include \"/etc/passwd\"\n" + kPlain,
              "/kernels/0/source: plain.cu:1: '/etc/passwd' is absolute"},
        Fault{"HeaderIsAFolder", "plain.cu", "#include \"headers\"\n" + kPlain,
              "/kernels/0/source: plain.cu:1: 'headers' is not a regular file"}),
    fault_name);

TEST(Sources, MayGuardAParameterAgainstItsAbsence) {
  const SpaceFolder folder;
  for (const char* const guarded :
       {"#ifndef BLOCK\n#define BLOCK 64\n#endif\n",
        "#if !defined(BLOCK)\n#define BLOCK 64\n#endif\n",
        "#ifdef BLOCK\n#else\n#define BLOCK 64\n#endif\n", "// #define BLOCK 64\n",
        "/*\n#define BLOCK 64\n*/\n", "#define BLOCKS 64\n", "#define TWICE (2 * BLOCK)\n"}) {
    folder.write("macro.cu", guarded + kMacro);
    EXPECT_THAT(folder.faults(), IsEmpty()) << guarded;
  }
}

TEST(Sources, MustNotLeaveTheirFolders) {
  const SpaceFolder folder;
  folder.write("inner/headers/deep.cuh", "");
  const auto first_fault = [&](const std::string& source) {
    folder.write("inner/space.json", replaced(kSpace, "plain.cu", source));
    const std::vector<std::string> faults =
        check_space(folder.path() / "inner/space.json", folder.share());
    return faults.empty() ? "" : faults.front();
  };
  EXPECT_THAT(first_fault("../outside.cu"), HasSubstr("/kernels/0/source: '../outside.cu' leaves"));
  EXPECT_THAT(first_fault("../none.cu"), HasSubstr("/kernels/0/source: '../none.cu' leaves"));
  EXPECT_THAT(first_fault("/etc/passwd"), HasSubstr("'/etc/passwd' is absolute"));
  fs::create_symlink(folder.path() / "outside.cu", folder.path() / "inner/link.cu");
  EXPECT_THAT(first_fault("link.cu"), HasSubstr("'link.cu' leaves"));
  fs::create_symlink("/proc/self", folder.path() / "inner/process");
  EXPECT_THAT(first_fault("process/environ"), HasSubstr("'process/environ' leaves"));
  ASSERT_EQ(0, mkfifo((folder.path() / "inner/pipe.cu").c_str(), 0600));
  EXPECT_THAT(first_fault("pipe.cu"), HasSubstr("'pipe.cu' is not a regular file"));
  fs::create_symlink("real.cu", folder.path() / "inner/alias.cu");
  folder.write("inner/real.cu", kPlain);
  EXPECT_THAT(first_fault("alias.cu"), testing::Not(HasSubstr("/kernels/0/source")));
  EXPECT_THAT(first_fault("nowhere.cu"), HasSubstr("'nowhere.cu' is neither in"));
}

TEST(Sources, MustBeOfAReasonableSize) {
  const SpaceFolder folder;
  folder.write("plain.cu", kPlain + std::string(4 << 20, '\n'));
  EXPECT_THAT(folder.faults(), ElementsAre(HasSubstr("bytes, at most 4194304 are read")));
}

TEST(Sources, MustNotMeanTwoFilesByOneName) {
  const SpaceFolder folder;
  folder.write("plain.cu", "#include \"a.cuh\"\n#include \"folder/b.cuh\"\n" + kPlain);
  folder.write("a.cuh", "");
  folder.write("folder/b.cuh", "\n#include \"a.cuh\"\n");
  folder.write("folder/a.cuh", "");
  EXPECT_THAT(folder.faults(), ElementsAre(HasSubstr("folder/b.cuh:2: 'a.cuh' means ")));
}

TEST(Sources, MayIncludeEachOther) {
  const SpaceFolder folder;
  folder.write("plain.cu", "#include \"a.cuh\"\n" + kPlain);
  folder.write("a.cuh", "#pragma once\n#include \"b.cuh\"\n");
  folder.write("b.cuh", "#pragma once\n#include \"a.cuh\"\n");
  EXPECT_EQ(3u, folder.load().sources.at("plain").files.size());
}

TEST(IncludeFolders, MustExistBeneathTheSpacesFolder) {
  const SpaceFolder folder;
  folder.write("space.json", replaced(kSpace, "[\"headers\"]", "[\"header\", \"..\", \"/usr\"]"));
  EXPECT_THAT(folder.faults(),
              ElementsAre(HasSubstr("/kernels/2/include/0: there is no folder 'header'"),
                          HasSubstr("/kernels/2/include/1: '..' leaves"),
                          HasSubstr("/kernels/2/include/2: '/usr' leaves")));
}

TEST(Kernels, WorkOnTheSameBuffers) {
  const SpaceFolder folder;
  const auto fault = [&](const std::string& argument) {
    folder.write("space.json",
                 replaced(kSpace, "\"arguments\": [\"in\", \"out\",",
                          "\"arguments\": [\"in\", { \"name\": \"out\", " + argument + " },"));
    const std::vector<std::string> faults = folder.faults();
    return faults.empty() ? "" : without_line(faults.front());
  };
  const std::string begin =
      "space.json: /kernels/2/arguments/1: all kernels work on the same 'out'; in /arguments/1 it "
      "is ";
  EXPECT_EQ("", fault(R"("type": "T", "shape": ["N"], "role": "output")"));
  EXPECT_EQ(begin + "of another shape",
            fault(R"("type": "T", "shape": ["N", 1], "role": "output")"));
  EXPECT_EQ(begin + "of another type",
            fault(R"("type": "float", "shape": ["N"], "role": "output")"));
  EXPECT_EQ(begin + "of another role",
            fault(R"("type": "T", "shape": ["N"], "role": "inout", "init": "zero")"));
  EXPECT_EQ(begin + "initialized differently",
            fault(R"("type": "T", "shape": ["N"], "role": "output", "init": "zero")"));
}

TEST(ParseProblem, AsksForTheNamesOfTheSpace) {
  const SpaceFolder folder;
  const Space space = folder.load().space;
  EXPECT_EQ((Problem{{"N", 7}, {"T", "double"}}), parse_problem(space, "T=double,N=7"));
  const auto message = [&](const std::string& text) -> std::string {
    try {
      return key(parse_problem(space, text));
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ("problem 'N=7': lacks 'T'; a problem is like 'N=1024,T=float'", message("N=7"));
  EXPECT_EQ("problem 'N=7,T=int,X=1': space 'base' has no 'X', its problems have N, T",
            message("N=7,T=int,X=1"));
  EXPECT_EQ("problem 'N=x,T=int': 'N' is an integer, such as '1024', not 'x'",
            message("N=x,T=int"));
  EXPECT_EQ("problem 'N=1,T=4': 'T' is a word, such as 'float', not '4'", message("N=1,T=4"));
  EXPECT_EQ("problem 'N=1,T=a;b': 'a;b' is not a word", message("N=1,T=a;b"));
}

TEST(ParseConfiguration, TakesDefaultsForWhatIsLeftOut) {
  const SpaceFolder folder;
  const Space space = folder.load().space;
  const KernelTemplate& tiled = *space.kernel("tiled");
  EXPECT_EQ("TILE=16,WIDE=0", key(parse_configuration(tiled, "")));
  EXPECT_EQ("TILE=12,WIDE=0", key(parse_configuration(tiled, "TILE=12"))) << "off the list";
  const auto message = [&](const std::string& text) -> std::string {
    try {
      return key(parse_configuration(tiled, text));
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(
      "configuration 'TIL=1': kernel 'tiled' has no 'TIL', its parameters are TILE, WIDE; did you "
      "mean 'TILE'?",
      message("TIL=1"));
  EXPECT_EQ("configuration 'TILE=x': 'TILE' is an integer, such as '16', not 'x'",
            message("TILE=x"));
}

class ShippedSpace : public testing::TestWithParam<std::string> {};

TEST_P(ShippedSpace, HasNoFault) {
  const fs::path root = SMEMTUNE_SOURCE_DIR;
  EXPECT_THAT(check_space(root / "configs" / (GetParam() + ".json"), root), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedSpace, testing::Values("add_one", "gemm", "stencil1d"),
                         [](const auto& space) { return space.param; });

}  // namespace
}  // namespace smemtune
