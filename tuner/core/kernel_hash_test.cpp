#include "tuner/core/kernel_hash.h"

#include "tuner/core/stencil_space_test_support.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smemtune {
namespace {

class KernelHash : public ::testing::Test {
 protected:
  KernelHash() : space_(stencil()) {
    space_.verify.reference = "shared";
    space_.verify.definitions = {text("out[i] = 0", "/verify/definition")};
  }

  std::string hash() const {
    return kernel_hash(space_, space_.kernels.front(), source_, reference_);
  }

  KernelTemplate& kernel() { return space_.kernels.front(); }

  Space space_;
  KernelSource source_ = {.files = {{"a.cu", "#include \"b.cuh\"\nx"}, {"b.cuh", "y"}}};
  KernelSource reference_ = {.files = {{"r.cu", "z"}}};
};

TEST_F(KernelHash, IsStableAndHas64Digits) {
  EXPECT_EQ(64u, hash().size());
  EXPECT_EQ(hash(), hash());
}

TEST_F(KernelHash, DoesNotDependOnValuesConstraintsNamesAndPlaces) {
  const std::string before = hash();
  kernel().parameters[0].values.push_back(std::int64_t{32});
  kernel().constraints.pop_back();
  kernel().metrics.clear();
  kernel().description = "faster";
  kernel().source = "moved.cu";
  kernel().launches[0].block[0].where = "/elsewhere";
  space_.file = "other.json";
  space_.problems.pop_back();
  source_.files[0].name = "moved.cu";
  EXPECT_EQ(before, hash());
}

TEST_F(KernelHash, DependsOnAllThatIsComputedLaunchedAndVerified) {
  std::vector<std::string> hashes = {hash()};
  const auto changed = [&](const char* what) {
    const std::string now = hash();
    for (const std::string& other : hashes) EXPECT_NE(other, now) << what;
    hashes.push_back(now);
  };
  source_.files[0].text += "y";
  changed("source");
  source_.files[1].text = "yy";
  changed("include");
  source_.files[1].name = "c.cuh";
  changed("include's name");
  reference_.files[0].text = "zz";
  changed("reference");
  kernel().launches[0].entry_name = "other";
  changed("entry");
  kernel().launches[0].template_arguments.pop_back();
  changed("template arguments");
  kernel().launches[0].block[0].text = "THREADS * 1";
  changed("block");
  kernel().launches[0].grid.pop_back();
  changed("grid");
  kernel().launches[0].static_shared_bytes.reset();
  changed("static shared bytes");
  kernel().launches[0].dynamic_shared_bytes = text("0", "");
  changed("dynamic shared bytes");
  kernel().launches[0].arguments = {"out", "in", "n"};
  changed("passed arguments");
  kernel().launches.push_back(kernel().launches[0]);
  changed("launches");
  kernel().arguments[0].init = {.kind = Init::Kind::uniform, .a = -1, .b = 1, .file = {}};
  changed("init");
  kernel().arguments[0].init.b = 2;
  changed("init's bound");
  kernel().arguments[0].type = "float";
  changed("type");
  kernel().arguments[0].role = Role::inout;
  changed("role");
  kernel().arguments[0].shape[0].text = "N";
  changed("shape");
  kernel().arguments[0].memory = MemorySpace::constant;
  changed("constant memory");
  kernel().arguments[0].memory = MemorySpace::texture;
  changed("texture");
  kernel().arguments[0].memory = MemorySpace::tensor_map;
  changed("tensor map");
  kernel().arguments[0].box = {text("64", "")};
  changed("box");
  kernel().arguments[0].element_strides = {text("2", "")};
  changed("element strides");
  kernel().arguments[0].swizzle = text("128", "");
  changed("swizzle");
  kernel().launches[0].cluster = {text("2", "")};
  changed("cluster");
  kernel().arguments[2].number = 1;
  changed("number");
  kernel().options.push_back("--use_fast_math");
  changed("options");
  kernel().architecture_specific = true;
  changed("architecture");
  kernel().pass = KernelTemplate::Pass::as_define;
  changed("pass");
  kernel().parameters.push_back({"UNROLL", integers({1})});
  changed("parameters");
  kernel().tolerance.relative = 1e-6;
  changed("relative tolerance");
  kernel().tolerance.absolute = 1e-6;
  changed("absolute tolerance");
  space_.verify.also.push_back(space_.problems[1]);
  changed("further sizes");
  space_.verify.definitions[0].text = "out[i] = 1";
  changed("definition");
  space_.verify.definition_is_a_guess = true;
  changed("that the definition is a guess");
  kernel().default_configuration["ITEMS"] = std::int64_t{2};
  changed("the reference's default");
}

// Returns a kernel with every word that the hash contains as a number.
Space all_words() {
  KernelTemplate kernel;
  kernel.name = "k";
  kernel.parameters = {{"THREADS", integers({32})}};
  kernel.default_configuration = {{"THREADS", std::int64_t{32}}};
  LaunchTemplate launch;
  launch.entry = "k";
  launch.entry_name = "k";
  launch.block = {text("THREADS", "")};
  launch.grid = {text("N", "")};
  kernel.launches = {launch};
  const auto add = [&kernel](const char* name, Role role, Init::Kind kind) {
    ArgumentTemplate argument = buffer(name, role, "N");
    argument.type = "float";
    argument.init.kind = kind;
    kernel.arguments.push_back(argument);
  };
  add("none", Role::output, Init::Kind::none);
  add("uniform", Role::input, Init::Kind::uniform);
  add("normal", Role::inout, Init::Kind::normal);
  add("iota", Role::scratch, Init::Kind::iota);
  add("zero", Role::input, Init::Kind::zero);
  add("constant", Role::input, Init::Kind::constant);
  add("permutation", Role::input, Init::Kind::permutation);
  kernel.arguments[5].memory = MemorySpace::constant;
  kernel.arguments[6].memory = MemorySpace::texture;
  Space space;
  space.verify.reference = "k";
  space.kernels = {kernel};
  return space;
}

// Version 0.1 stored its results under these hashes.
TEST(KernelHashes, AreThoseOfTheResultsThatAreStored) {
  const KernelSource source = {.files = {{"k.cu", "x"}}};
  Space space = all_words();
  const KernelTemplate& kernel = space.kernels.front();
  EXPECT_EQ("42922bbb7ce4dd49fd1f1f3c2f0e9207d215dd0a2427ac3a281516baa52447ea",
            kernel_hash(space, kernel, source, source));
  space.kernels.front().pass = KernelTemplate::Pass::as_define;
  EXPECT_EQ("8619c3debb168fab012d02227e3ad31c43a2eef67b4800400126a3233737f274",
            kernel_hash(space, kernel, source, source));
}

TEST_F(KernelHash, DependsOnWhatDataFilesHoldAndNotOnWhereTheyLie) {
  kernel().arguments[0].init = {.kind = Init::Kind::file, .file = {"/here/in.npy", "1"}};
  space_.verify.expected = {{"out", {"/here/out.npy", "2"}}};
  const std::string before = hash();
  kernel().arguments[0].init.file.path = "/there/in.npy";
  space_.verify.expected["out"].path = "/there/out.npy";
  EXPECT_EQ(before, hash());
  kernel().arguments[0].init.file.sha256 = "3";
  const std::string other_input = hash();
  EXPECT_NE(before, other_input);
  space_.verify.expected["out"].sha256 = "4";
  EXPECT_NE(other_input, hash());
}

}  // namespace
}  // namespace smemtune
