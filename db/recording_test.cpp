#include "db/recording.h"

#include "db/folder_test_support.h"
#include "db/result_store.h"
#include "tuner/core/error.h"
#include "tuner/core/planted_recordings_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <zlib.h>

namespace smemtune::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kCache = R"({
"device_name": "NVIDIA A100",
"kernel_name": "scale",
"problem_size": [
4096,
512
],
"tune_params_keys": [
"block",
"pad",
"type"
],
"tune_params": {
"block": [
64,
32
],
"pad": [
true,
false
],
"type": [
"float",
"half"
]
},
"objective": "time",
"cache": {
"64,True,float": {"block": 64, "pad": true, "type": "float", "time": 2.0, "times": [1.5, 2.5, 2.0], "compile_time": 900.5, "verification_time": 3, "benchmark_time": 20},
"32,True,float": {"block": 32, "pad": true, "type": "float", "time": "RuntimeFailedConfig", "compile_time": 800},
"32,False,half": {"block": 32, "pad": false, "type": "half", "__error__": "CompilationFailedConfig", "time": 7},
"96,False,half": {"block": 96, "pad": false, "type": "half", "time": 1e20}
}
})";

class RecordingTest : public TestFolder {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder() / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  std::filesystem::path write_compressed(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder() / name;
    gzFile stream = gzopen(file.c_str(), "wb");
    EXPECT_EQ(static_cast<int>(text.size()),
              gzwrite(stream, text.data(), static_cast<unsigned>(text.size())));
    gzclose(stream);
    return file;
  }

  std::string error(const std::filesystem::path& file) {
    try {
      read_recordings(file);
    } catch (const InputError& thrown) {
      return thrown.what();
    }
    return "none";
  }
};

TEST_F(RecordingTest, ReadsAKernelTunerCache) {
  const Recording recording = read_recordings(write("cache.json", kCache)).at(0);
  EXPECT_EQ("NVIDIA A100", recording.device);
  EXPECT_EQ("scale", recording.kernel);
  EXPECT_EQ("4096x512", recording.problem);
  EXPECT_FALSE(recording.cut_off);
  ASSERT_EQ(3u, recording.parameters.size());
  EXPECT_THAT(
      recording.parameters[0].values,
      ElementsAre(Value{std::int64_t{64}}, Value{std::int64_t{32}}, Value{std::int64_t{96}}));
  EXPECT_THAT(recording.parameters[1].values,
              ElementsAre(Value{std::int64_t{1}}, Value{std::int64_t{0}}));
  ASSERT_EQ(4u, recording.evaluations.size());
  const Recording::Evaluation& first = recording.evaluations[0];
  EXPECT_EQ("block=64,pad=1,type=float", key(first.result.configuration));
  EXPECT_TRUE(first.result.timed());
  EXPECT_EQ(2, first.time_ms);
  EXPECT_THAT(first.result.measurement.samples_ms, ElementsAre(1.5, 2.5, 2));
  EXPECT_EQ(900.5, first.result.compile_ms);
  EXPECT_EQ(23, first.device_ms);
  EXPECT_EQ(Status::runtime, recording.evaluations[1].result.status);
  EXPECT_EQ(Status::compile, recording.evaluations[2].result.status);
  EXPECT_FALSE(recording.evaluations[2].result.timed());
  EXPECT_EQ(Status::runtime, recording.evaluations[3].result.status);
}

TEST_F(RecordingTest, HasTheSpaceThatWasRecorded) {
  const Recording recording = read_recordings(write("cache.json", kCache)).at(0);
  const SearchSpace space = recorded_space(recording);
  EXPECT_EQ(4u, space.size());
  for (const Recording::Evaluation& evaluation : recording.evaluations) {
    EXPECT_TRUE(space.index_of(evaluation.result.configuration));
  }
  EXPECT_EQ(12, space.cartesian_size());
}

TEST_F(RecordingTest, ReadsWhatACrashLeftOfACache) {
  const std::size_t third = kCache.find("\"32,False,half\"");
  for (const std::size_t end : {third, third + 20, third - 1, third - 2}) {
    const auto file = write("cut.json", kCache.substr(0, end));
    const Recording recording = read_recordings(file).at(0);
    EXPECT_TRUE(recording.cut_off);
    EXPECT_EQ(2u, recording.evaluations.size()) << end;
  }
  const std::size_t first = kCache.find("\"64,True,float\"");
  EXPECT_TRUE(
      read_recordings(write("none.json", kCache.substr(0, first))).at(0).evaluations.empty());
}

TEST_F(RecordingTest, ReadsWhatIsCompressedAlsoWhereItIsCutOff) {
  const auto file = write_compressed("cache.json.gz", kCache);
  EXPECT_EQ(4u, read_recordings(file).at(0).evaluations.size());
  std::string many = kCache.substr(0, kCache.rfind("\n}\n}"));
  for (int i = 0; i < 5000; ++i) {
    const std::string block = std::to_string(1000 + i * 7919 % 5003);
    many += ",\n\"" + block + ",True,half\": {\"block\": " + block +
            ", \"pad\": true, \"type\": \"half\", \"time\": " + std::to_string(1 + i % 97) + "}";
  }
  const auto whole = write_compressed("whole.json.gz", many + "\n}\n}");
  EXPECT_EQ(5004u, read_recordings(whole).at(0).evaluations.size());
  std::filesystem::resize_file(whole, std::filesystem::file_size(whole) / 2);
  const Recording cut = read_recordings(whole).at(0);
  EXPECT_TRUE(cut.cut_off);
  EXPECT_GT(cut.evaluations.size(), 1000u);
  EXPECT_LT(cut.evaluations.size(), 5004u);
}

TEST_F(RecordingTest, ReadsT4InItsUnitOfTime) {
  const Recording recording = read_recordings(write("t4.json", R"({
    "schema_version": "1.0.0", "metadata": {"timeunit": "microseconds"},
    "results": [
      {"configuration": {"block": 64}, "invalidity": "correct", "correctness": 1,
       "times": {"compilation_time": 5000, "runtimes": [3000, 5000], "validation": 1000},
       "measurements": [{"name": "time", "value": 4500, "unit": ""}]},
      {"configuration": {"block": 32}, "invalidity": "correct", "correctness": 1,
       "times": {"compilation": 5000, "runtimes": [3000, 5000]}},
      {"configuration": {"block": 16}, "invalidity": "compile", "correctness": 0, "times": {},
       "measurements": [{"name": "time", "value": "CompilationFailedConfig", "unit": ""}]}]})"))
                                  .at(0);
  ASSERT_EQ(3u, recording.evaluations.size());
  EXPECT_DOUBLE_EQ(4.5, recording.evaluations[0].time_ms);
  EXPECT_DOUBLE_EQ(5, recording.evaluations[0].result.compile_ms);
  EXPECT_DOUBLE_EQ(9, recording.evaluations[0].device_ms);
  EXPECT_DOUBLE_EQ(4, recording.evaluations[1].time_ms);
  EXPECT_EQ(Status::compile, recording.evaluations[2].result.status);
}

TEST_F(RecordingTest, RefusesWhatIsNoneNamingTheFile) {
  EXPECT_THAT(error(folder() / "missing.json"),
              HasSubstr("missing.json: cannot be opened: No such file"));
  EXPECT_THAT(error(write("text", "block,time\n64,1\n")), HasSubstr("text: "));
  EXPECT_THAT(error(write("empty", "")), HasSubstr("empty: "));
  EXPECT_THAT(error(write("other.json", "{\"a\": 1}")), HasSubstr("neither a Kernel Tuner cache"));
  EXPECT_THAT(error(write("short.json", R"({"tune_params_keys": ["a"], "tune_params": {"a": [1]},
    "cache": {"1": {"time": 1}}})")),
              HasSubstr("short.json: entry 1 of \"cache\": a result has no \"a\""));
  EXPECT_THAT(error(write("unit.json", R"({"metadata": {"timeunit": "days"}, "results": []})")),
              HasSubstr("'days'"));
  EXPECT_THAT(error(write("word.json", R"({"results": [{"configuration": {"a": 1},
    "invalidity": "tired", "times": {}}]})")),
              HasSubstr("word.json: entry 1 of \"results\": \"invalidity\""));
}

TEST_F(RecordingTest, ReadsADatabaseByKernelDeviceAndProblem) {
  const std::filesystem::path file = folder() / "results.sqlite";
  ResultStore{file};
  EXPECT_TRUE(read_recordings(file).empty());
}

void expect_same(const Recording& cache, const Recording& t4) {
  ASSERT_EQ(cache.evaluations.size(), t4.evaluations.size());
  for (std::size_t i = 0; i < t4.evaluations.size(); ++i) {
    const Recording::Evaluation& one = cache.evaluations[i];
    const Recording::Evaluation& other = t4.evaluations[i];
    ASSERT_EQ(one.result.configuration, other.result.configuration);
    ASSERT_EQ(one.result.status, other.result.status);
    ASSERT_EQ(one.time_ms, other.time_ms);
  }
}

TEST_F(RecordingTest, OfPlantedGpusIsReadAndT4SaysTheSame) {
  write_planted_recordings(folder());
  const Recording cache = read_recordings(folder() / "one.json").at(0);
  const std::vector<PlantedPoint> points = planted_points();
  EXPECT_EQ(points.size(), recorded_space(cache).size());
  expect_same(cache, read_recordings(folder() / "one_T4.json").at(0));
  ASSERT_EQ(points.size(), cache.evaluations.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PlantedPoint& point = points[i];
    ASSERT_EQ(point.failure().empty(), cache.evaluations[i].result.status == Status::correct);
    if (point.failure().empty()) {
      ASSERT_EQ(point.ms(kPlantedGpus[0]), cache.evaluations[i].time_ms);
    }
  }
}

TEST(SharedRecordings, AreReadAndT4SaysTheSame) {
  const std::filesystem::path folder =
      std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution";
  if (!std::filesystem::exists(folder)) {
    ASSERT_EQ(nullptr, std::getenv("SMEMTUNE_REQUIRE_SHARED")) << folder << " is missing";
    GTEST_SKIP() << folder << " is missing";
  }
  const Recording cache = read_recordings(folder / "A100.json.gz").at(0);
  const Recording t4 = read_recordings(folder / "A100_T4.json.gz").at(0);
  EXPECT_EQ(4362u, recorded_space(cache).size());
  expect_same(cache, t4);
}

}  // namespace
}  // namespace smemtune::db
