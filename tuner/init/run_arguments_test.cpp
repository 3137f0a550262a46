#include "tuner/init/run_arguments.h"

#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunArguments arguments_of(const std::string& makefile) {
  const TemporaryFolder folder;
  folder.write("Makefile", makefile);
  return run_arguments_beside(folder.path() / "main.cu");
}

TEST(RunArguments, AreThoseOfTheMakefilesRun) {
  const RunArguments found = arguments_of(
      "main: main.o\n\t./configure 7\nrun: main\n\t$(LAUNCHER) ./$(program) 1024 0.5 > log\n");
  EXPECT_THAT(found.values, ElementsAre("1024", "0.5"));
  EXPECT_EQ(found.line, 4u);
  EXPECT_THAT(arguments_of("clean:\n\trm -f ./main 3\n").file, IsEmpty());
  EXPECT_THAT(arguments_of("run:\n\tcd ../main 3\n").file, IsEmpty());
}

TEST(RunArguments, AreThoseOfTheScriptThatRunsIt) {
  for (const char* const name : {"run", "run.sh"}) {
    const TemporaryFolder folder;
    folder.write("Makefile", "all:\n\tcc main.c\n");
    folder.write(name, "#!/bin/sh\n# ./main 7\nmake\n./main 2048 10 data/a.txt\n");
    const RunArguments found = run_arguments_beside(folder.path() / "main.cu");
    EXPECT_EQ(found.file, name);
    EXPECT_EQ(found.line, 4u);
    EXPECT_THAT(found.values, ElementsAre("2048", "10", "data/a.txt"));
  }
}

TEST(RunArguments, StandForWhatTheProgramReads) {
  const RunArguments given = {.file = "Makefile", .line = 1, .values = {"1024", "0.5", "a.txt"}};
  const auto read = [&](const std::string& text) {
    return with_run_arguments(FlatSource(text), given).text;
  };
  const std::string main = "int main(int argc, char** argv) {\n";
  EXPECT_EQ(read(main + "int n = atoi(argv[1]); if (argc > 2) f = std::stof(argv[2]); }"),
            main + "int n = 1024         ; if (4    > 2) f = 0.5               ; }");
  EXPECT_THAT(read(main + "read(argv[3]); int n = atoi(argv[3]); }"),
              HasSubstr("int n = atoi(argv[3])"))
      << "it is no number";
  EXPECT_EQ(read(main + "int n = ::atoi(argv[1]); }"), main + "int n = 1024           ; }");
  const std::string in_two_lines = main + "int n = atoi(\n  argv[1]); }";
  EXPECT_EQ(with_run_arguments(FlatSource(in_two_lines), {"Makefile", 1, {"1048576"}}).text,
            in_two_lines)
      << "there is no room before the end of the line";
  EXPECT_EQ(read("argv["), "argv[");
  const std::string options =
      main + "for (i = 1; i < argc; ++i) n = atoi(argv[i]); m = atoi(argv[1]); }";
  EXPECT_EQ(read(options), options);
}

}  // namespace
}  // namespace smemtune
