#include "tuner/engine/several_compilers.h"

#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

/// Logs its name and the options of each request.
class NamedCompiler final : public Compiler {
 public:
  explicit NamedCompiler(std::string name) : name_(std::move(name)) {}
  std::string version() const override { return name_; }
  std::string sha256() const override { return name_; }
  Outcome<CompiledKernel> compile(const CompileRequest& request) override {
    CompiledKernel kernel;
    kernel.log = name_;
    for (const std::string& option : request.options) kernel.log += " " + option;
    return kernel;
  }

 private:
  std::string name_;
};

SeveralCompilers two() {
  std::map<std::int64_t, std::unique_ptr<Compiler>> by_version;
  by_version.emplace(11080, std::make_unique<NamedCompiler>("NVRTC 11.8"));
  by_version.emplace(13000, std::make_unique<NamedCompiler>("NVRTC 13.0"));
  return {std::move(by_version), 13000};
}

CompileRequest with(std::vector<std::string> options) {
  CompileRequest request;
  request.options = std::move(options);
  return request;
}

TEST(SeveralCompilers, CompileByTheOneThatIsAskedFor) {
  SeveralCompilers compilers = two();
  EXPECT_EQ("NVRTC 11.8 -DA=1", compilers.compile(with({"--nvrtc=11080", "-DA=1"}))->log);
  EXPECT_EQ("NVRTC 13.0 -DA=1", compilers.compile(with({"-DA=1", "--nvrtc=13000"}))->log);
  EXPECT_EQ("NVRTC 13.0 -DA=1", compilers.compile(with({"-DA=1"}))->log);
  EXPECT_THROW(compilers.compile(with({"--nvrtc=12000"})), UnavailableError);
}

TEST(SeveralCompilers, AnswerInTheOrderOfTheRequests) {
  const std::vector<CompileRequest> requests = {with({"--nvrtc=11080"}), with({"--nvrtc=13000"}),
                                                with({"--nvrtc=11080", "-DA=1"}), with({})};
  std::vector<std::string> logs;
  SeveralCompilers compilers = two();
  for (const auto& outcome : compilers.compile_together(requests)) logs.push_back((*outcome)->log);
  EXPECT_THAT(logs,
              testing::ElementsAre("NVRTC 11.8", "NVRTC 13.0", "NVRTC 11.8 -DA=1", "NVRTC 13.0"));
}

TEST(SeveralCompilers, AreNamedTogetherAndDifferFromEach) {
  EXPECT_EQ("NVRTC 13.0, NVRTC 11.8", two().version());
  EXPECT_EQ(64u, two().sha256().size());
}

Space space_of_one_kernel() {
  Space space;
  space.file = "space.json";
  space.problems = {{{"N", std::int64_t{64}}}};
  KernelTemplate kernel;
  kernel.name = "k";
  kernel.where = "/kernels/0";
  kernel.pass = KernelTemplate::Pass::as_define;
  kernel.parameters = {{.name = "TILE", .values = {std::int64_t{8}, std::int64_t{16}}}};
  kernel.default_configuration = {{"TILE", std::int64_t{8}}};
  LaunchTemplate launch;
  launch.entry = launch.entry_name = "k";
  launch.block = {{"TILE", ""}};
  launch.grid = {{"N / TILE", ""}};
  kernel.launches = {launch};
  space.kernels = {kernel};
  return space;
}

TEST(CompilerChoice, IsAParameterThatIsNoMacro) {
  Space space = space_of_one_kernel();
  choose_among(space, std::vector<std::int64_t>{13000, 11080});
  const KernelTemplate& kernel = space.kernels.front();
  EXPECT_EQ("NVRTC=13000,TILE=8", key(kernel.default_configuration));
  const KernelBinding binding(space, kernel, space.problems.front(), Device());
  EXPECT_EQ(4u, binding.search_space().size());
  std::vector<std::string> options = binding.instantiate(parse_key("NVRTC=11080,TILE=16")).options;
  EXPECT_EQ(11080, take_compiler(options));
  EXPECT_THAT(options, testing::ElementsAre("-DN=64", "-DTILE=16"));
  EXPECT_EQ(std::nullopt, take_compiler(options));
}

TEST(CompilerChoice, RefusesAKernelThatHasTheName) {
  Space space = space_of_one_kernel();
  space.problems.front().emplace("NVRTC", std::int64_t{1});
  EXPECT_THROW(choose_among(space, std::vector<std::int64_t>{13000, 11080}), InputError);
}

}  // namespace
}  // namespace smemtune
