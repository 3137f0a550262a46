#include "tuner/init/program_sources.h"

#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ProgramSources, AreThoseThatCallEachOther) {
  const TemporaryFolder folder;
  const auto names = [&](const std::string& source) {
    std::vector<std::string> found;
    for (const auto& file : program_sources(folder.path() / source)) {
      found.push_back(file.filename().string());
    }
    return found;
  };
  folder.write("scale.cu",
               "__global__ void k(int* p) {}\nvoid scale(int* p) { k<<<1, 1>>>(p); }\n");
  folder.write("main.cu", "void scale(int*);\nint main() { scale(0); scale_cpu(0); }\n");
  folder.write("gold.cpp", "void scale_cpu(int* p) { p[0] = 1; }\n");
  folder.write("other.cu", "void scale(int* p) {}\nint test() { scale(0); }\n");
  folder.write("tool.cc", "int main() { return strlen(\"\"); }\n");
  EXPECT_THAT(names("scale.cu"), ElementsAre("main.cu", "gold.cpp"));
  EXPECT_THAT(names("main.cu"), ElementsAre("gold.cpp", "other.cu"));
  EXPECT_THAT(names("tool.cc"), IsEmpty());
  folder.write("run.cu", "int main() { twice(0); twice_gold(0); }\n");
  folder.write("a_gold.cpp",
               "static int two() { return 2; }\nint twice_gold(int n) { return two() * n; }\n");
  folder.write("b.cu", "__device__ int two() { return 2; }\nvoid twice(int* p) {}\n");
  EXPECT_THAT(names("run.cu"), ElementsAre("a_gold.cpp", "b.cu")) << "two() is each one's own";
}

TEST(ProgramSources, LieInFoldersBesideItWhereTheyAloneDefineWhatIsCalled) {
  const TemporaryFolder folder;
  const auto found = [&] { return program_sources(folder.path() / "main.cu"); };
  folder.write("main.cu", "int main() { softmax(0); norm(0); }\n");
  folder.write("kernels/softmax.cu", "void softmax(int* p) {}\n");
  folder.write("old/norm.cu", "void norm(int* p) {}\n");
  folder.write("tests/test.cu", "int test() { main(); }\n");
  ASSERT_THAT(found(), testing::SizeIs(2));
  folder.write("new/norm.cu", "void norm(int* p) {}\n");
  ASSERT_THAT(found(), testing::SizeIs(1));
  EXPECT_EQ(found()[0].filename(), "softmax.cu");
}

}  // namespace
}  // namespace smemtune
