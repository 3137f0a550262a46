#include "tuner/engine/cached_compiler.h"

#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

/// Makes a module of the request's name expressions and counts its calls.
class CountingCompiler final : public Compiler {
 public:
  CountingCompiler(std::string compiler_version, int& calls)
      : version_(std::move(compiler_version)), calls_(calls) {}
  std::string version() const override { return version_; }
  std::string sha256() const override { return "0"; }
  Outcome<CompiledKernel> compile(const CompileRequest& request) override {
    ++calls_;
    CompiledKernel kernel;
    for (const std::string& entry : request.name_expressions) {
      if (entry == "broken") return Failure{Status::compile, "error", "no"};
      kernel.entries.push_back({.name_expression = entry,
                                .lowered_name = "_Z" + entry,
                                .resources = {},
                                .code_sha256 = "c0de"});
    }
    kernel.image.assign(1000, static_cast<std::uint8_t>(kernel.entries.size()));
    kernel.log = "fine";
    if (const char* const read = std::getenv("COUNTING_COMPILER_READS")) {
      kernel.read.push_back(read_place(read));
    }
    return kernel;
  }

 private:
  std::string version_;
  int& calls_;
};

class CachedCompilerTest : public testing::Test {
 protected:
  CachedCompiler compiler(const std::string& version = "1", std::uint64_t max_bytes = 1u << 30) {
    return {std::make_unique<CountingCompiler>(version, calls_), folder_, max_bytes};
  }

  static CompileRequest request(const std::string& entry, const std::string& text = "void f();") {
    CompileRequest asked;
    asked.architecture = "sm_90";
    asked.source.files = {{"f.cu", text}};
    asked.name_expressions = {entry};
    return asked;
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  TemporaryFolder own_folder_;
  fs::path folder_ = own_folder_.path();
  int calls_ = 0;
};

TEST_F(CachedCompilerTest, CompilesOnceAcrossProcessesAndGivesTheSame) {
  const auto first = compiler().compile(request("f<1>"));
  const auto second = compiler().compile(request("f<1>"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(calls_, 1);
}

TEST_F(CachedCompilerTest, AsksAgainWhenAnythingOfTheRequestOrTheCompilerDiffers) {
  compiler().compile(request("f<1>"));
  compiler().compile(request("f<2>"));
  compiler().compile(request("f<1>", "void f() {}"));
  CompileRequest other = request("f<1>");
  other.options = {"-DA=1"};
  compiler().compile(other);
  other.options.clear();
  other.architecture = "sm_80";
  compiler().compile(other);
  compiler("2").compile(request("f<1>"));
  EXPECT_EQ(calls_, 6);
}

TEST_F(CachedCompilerTest, CompilesADamagedFileAgainAndMendsIt) {
  const auto good = compiler().compile(request("f<1>"));
  const fs::path file = fs::directory_iterator(folder_)->path();
  const auto size = fs::file_size(file);
  for (const std::uintmax_t damage : {std::uintmax_t{0}, std::uintmax_t{3}, size / 2, size - 1}) {
    fs::resize_file(file, damage);
    calls_ = 0;
    const auto again = compiler().compile(request("f<1>"));
    EXPECT_EQ(calls_, 1);
    EXPECT_EQ(*again, *good);
    EXPECT_EQ(fs::file_size(file), size);
  }
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(size / 2));
    stream.put('\x7f');
  }
  calls_ = 0;
  compiler().compile(request("f<1>"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(CachedCompilerTest, CompilesAgainWhatIsTooLargeToBeAModule) {
  compiler().compile(request("f<1>"));
  fs::resize_file(fs::directory_iterator(folder_)->path(), std::uintmax_t{200} << 30);  // A sparse
                                                                                        // file.
  compiler().compile(request("f<1>"));
  EXPECT_EQ(calls_, 2);
}

TEST_F(CachedCompilerTest, MakesItsFolderForItsUserWhateverTheMaskSays) {
  fs::remove(folder_);
  const mode_t mask = umask(0);
  compiler().compile(request("f<1>"));
  umask(mask);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  const fs::path file = fs::directory_iterator(folder_)->path();
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(CachedCompilerTest, DoesNotRunWhatOthersMayHaveWritten) {
  compiler().compile(request("f<1>"));
  const fs::path file = fs::directory_iterator(folder_)->path();
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  compiler().compile(request("f<1>"));
  EXPECT_EQ(calls_, 2);  // The module is written anew, for its user only.
  compiler().compile(request("f<1>"));
  EXPECT_EQ(calls_, 2);
  fs::permissions(folder_, fs::perms::group_write, fs::perm_options::add);
  compiler().compile(request("f<1>"));
  EXPECT_EQ(calls_, 3);
}

TEST_F(CachedCompilerTest, CompilesAgainWhatCannotBeRead) {
  const auto good = compiler().compile(request("f<1>"));
  const fs::path file = fs::directory_iterator(folder_)->path();
  fs::remove(file);
  fs::create_directory(file);  // A folder can be opened, but reading it is an error.
  const auto again = compiler().compile(request("f<1>"));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *good);
  EXPECT_EQ(calls_, 2);
}

TEST_F(CachedCompilerTest, KeepsAModuleOfSeveralRequestsOnceForEachOfThem) {
  const std::vector<CompileRequest> all = {request("f<1>"), request("f<2>"), request("f<3>")};
  const CompiledTogether first = compiler().compile_together(all);
  ASSERT_TRUE(first[0] && first[1] && first[2]);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(files(), 3u);
  EXPECT_EQ(fs::hard_link_count(fs::directory_iterator(folder_)->path()), 3u);
  EXPECT_EQ(*compiler().compile(request("f<2>")), **first[1]);
  EXPECT_EQ(calls_, 1);
  // Only the new request is compiled.
  const std::vector<CompileRequest> more = {request("f<1>"), request("f<4>"), request("broken")};
  const CompiledTogether second = compiler().compile_together(more);
  EXPECT_EQ(**second[0], **first[0]);
  ASSERT_TRUE(second[1]);
  EXPECT_EQ((*second[1])->entries.size(), 1u);
  EXPECT_FALSE(second[2]);
  EXPECT_EQ(files(), 4u);
}

TEST_F(CachedCompilerTest, TakesNothingForItsOwnThatAKilledProcessOfTheSameIdLeft) {
  compiler().compile(request("f<1>"));
  const fs::path other = fs::directory_iterator(folder_)->path();
  for (const std::string name : {"writing.", "linking."}) {
    fs::copy_file(other, folder_ / (name + std::to_string(getpid())));
  }
  const auto made = compiler().compile(request("f<2>"));
  const auto kept = compiler().compile(request("f<2>"));
  ASSERT_TRUE(made && kept);
  EXPECT_EQ(*kept, *made);
}

TEST_F(CachedCompilerTest, CompilesAgainWhereAFurtherFileThatWasReadHasChanged) {
  const fs::path headers = folder_ / "headers";
  fs::create_directory(headers);
  std::ofstream(headers / "cuda_fp16.h") << "struct half {};";
  for (const fs::path& read : {headers / "cuda_fp16.h", headers}) {
    setenv("COUNTING_COMPILER_READS", read.c_str(), 1);
    const int before = calls_;
    const std::string entry = read.filename().string();
    compiler().compile(request(entry));
    compiler().compile(request(entry));
    EXPECT_EQ(calls_, before + 1) << read;
    std::ofstream(headers / "cuda_fp16.h") << "struct HALF {};";
    compiler().compile(request(entry));
    const CompileRequest both[] = {request(entry), request(entry + "2")};
    compiler().compile_together(both);
    EXPECT_EQ(calls_, before + 3) << read << ": once for the change, once for the new one";
    fs::remove(headers / "cuda_fp16.h");
    compiler().compile(request(entry));
    EXPECT_EQ(calls_, before + 4) << read;
    std::ofstream(headers / "cuda_fp16.h") << "struct half {};";
  }
  unsetenv("COUNTING_COMPILER_READS");
}

TEST_F(CachedCompilerTest, KeepsNoFailures) {
  EXPECT_FALSE(compiler().compile(request("broken")));
  EXPECT_FALSE(compiler().compile(request("broken")));
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(files(), 0u);
}

TEST_F(CachedCompilerTest, StaysBelowItsSizeByDroppingTheOldest) {
  CachedCompiler small = compiler("1", 5000);
  for (int i = 0; i < 20; ++i) small.compile(request("f<" + std::to_string(i) + ">"));
  std::uintmax_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) total += entry.file_size();
  EXPECT_LE(total, 5000u);
  EXPECT_GE(files(), 2u);
}

TEST_F(CachedCompilerTest, WorksWithoutAFolderThatCanBeWritten) {
  const fs::path file = folder_ / "a-file";
  std::ofstream(file) << "in the way";
  CachedCompiler cached(std::make_unique<CountingCompiler>("1", calls_), file);
  EXPECT_TRUE(cached.compile(request("f<1>")));
  EXPECT_TRUE(cached.compile(request("f<1>")));
  EXPECT_EQ(calls_, 2);
}

TEST(DefaultCacheFolder, IsOffWhenToldSo) {
  setenv("SMEMTUNE_CACHE", "off", 1);
  EXPECT_EQ(default_cache_folder(), "");
  setenv("SMEMTUNE_CACHE", "elsewhere", 1);
  EXPECT_EQ(default_cache_folder(), "elsewhere");
  unsetenv("SMEMTUNE_CACHE");
  setenv("SMEMTUNE_SCRATCH", "/local", 1);
  EXPECT_EQ(default_cache_folder(), "/local/smemtune-" + std::to_string(geteuid()));
  unsetenv("SMEMTUNE_SCRATCH");
}

}  // namespace
}  // namespace smemtune
