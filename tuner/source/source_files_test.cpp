#include "tuner/source/source_files.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;

std::vector<SourceFile> file(const std::string& text) {
  return {{.name = "k.cu", .place = {}, .content = std::make_shared<const SourceText>(text)}};
}

TEST(KernelNames, AreThoseOfGlobalFunctions) {
  EXPECT_THAT(kernel_names(file("__global__ void a(int n) { f(n); }")), ElementsAre("a"));
  EXPECT_THAT(kernel_names(file("template <int N>\n__global__ void __launch_bounds__(N * (2), 1)\n"
                                "    b(int n) {}\nextern \"C\" __global__ void c();\n")),
              ElementsAre("b", "c"));
  EXPECT_THAT(kernel_names(file("__launch_bounds__(32) __global__ void d(void (*f)(int)) {}")),
              ElementsAre("d"));
  EXPECT_THAT(kernel_names(file("static __device__ int e(int n) { return n; }")), IsEmpty());
  EXPECT_THAT(kernel_names(file("// __global__ void f(int n) {}")), IsEmpty());
  EXPECT_THAT(kernel_names(file("#define KERNEL __global__ void g(int n)\n")), IsEmpty());
}

TEST(Redefinition, IsOneThatNothingGuards) {
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file("\n#define N 4\n"), "N"));
  EXPECT_EQ("k.cu:1: #define N(x) x", redefinition(file("#define N(x) x\n"), "N"));
  EXPECT_EQ("k.cu:1: #undef N", redefinition(file("#undef N\n"), "N"));
  EXPECT_EQ(std::nullopt, redefinition(file("#define NN 4\n"), "N"));
  const std::string under_another = "#ifndef tuner\n#define N 4\n#undef N\n#endif\n";
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file(under_another), "N", {"other"}));
  EXPECT_EQ(std::nullopt, redefinition(file(under_another), "N", {"tuner"}));
  EXPECT_EQ(std::nullopt, redefinition(file("#ifndef N\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ(std::nullopt,
            redefinition(
                file("#ifndef N\n#if A\n#define N 4\n#else\n#define N 5\n#endif\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:3: #define N 4", redefinition(file("#ifndef N\n#endif\n#define N 4\n"), "N"));
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file("#ifdef N\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file("#ifndef M\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ(std::nullopt, redefinition(file("#if defined(N)\n#else\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:4: #define N 4",
            redefinition(file("#ifndef N\n#elif A\n#else\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:2: #define N 4",
            redefinition(file("#if !defined(N) || A\n#define N 4\n#endif\n"), "N"));
}

TEST(UsesMacro, WhereItsValueMayMatter) {
  EXPECT_TRUE(uses_macro(file("int a[N];"), "N"));
  EXPECT_TRUE(uses_macro(file("#if N > 2\n#endif"), "N"));
  EXPECT_TRUE(uses_macro(file("#define M (N + 1)"), "N"));
  EXPECT_FALSE(uses_macro(file("#ifndef N\n#define N 4\n#endif"), "N"));
  EXPECT_FALSE(uses_macro(file("int NN; // N"), "N"));
  EXPECT_FALSE(uses_macro(file("template <typename N, int M> void f(N n) {}"), "N"));
  EXPECT_TRUE(uses_macro(file("template <int M, int K = N> void f() {}"), "N"));
  EXPECT_TRUE(uses_macro(file("#if N > 2\ntemplate <int N> void f() {}\n#endif"), "N"));
}

/// Reads a space's folder with these files, of which k.cu is the kernel's; returns the result or
/// the error.
std::string read_of(const std::map<std::string, std::string>& texts,
                    const std::vector<std::filesystem::path>& include = {}) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : texts) folder.write("space/" + name, text);
  folder.write("secret.h", "secret");
  std::filesystem::create_directories(folder.path() / "share");
  KernelTemplate kernel;
  kernel.source = "k.cu";
  kernel.include = include;
  std::string names;
  try {
    const SourceRoots roots = {.space = folder.path() / "space",
                               .templates = folder.path() / "share"};
    SourceTexts known;
    for (const SourceFile& file : read_sources(kernel, roots, known)) names += file.name + " ";
  } catch (const InputError& error) {
    return error.what();
  }
  return names;
}

TEST(ReadSources, FollowsWhatIsIncludedWhereverItLies) {
  EXPECT_EQ("k.cu a.h b.h ", read_of({{"k.cu", "#include \"a.h\"\n"},
                                      {"a.h", "#if 0\n # /* x */ include\\\n \"b.h\"\n#endif"},
                                      {"b.h", "#include <stdint.h>\n#include <type_traits>"}}));
  EXPECT_EQ("k.cu a.h ", read_of({{"k.cu", "%:include \"a.h\"\n"}, {"a.h", ""}}));
  EXPECT_EQ("k.cu a.h ", read_of({{"k.cu", "#inc\\\nlude \"a.h\"\n"}, {"a.h", ""}}));
  EXPECT_EQ("k.cu a.h ", read_of({{"k.cu", "// \\ \n\n#include \"a.h\"\n"}, {"a.h", ""}}));
  EXPECT_EQ("k.cu a.h ", read_of({{"k.cu", "x\r#include \"a.h\"\r"}, {"a.h", ""}}));
  EXPECT_EQ("k.cu mine.h ",
            read_of({{"k.cu", "#include <mine.h>\n"}, {"sub/mine.h", ""}}, {"sub"}));
  EXPECT_EQ("k.cu a.h ", read_of({{"k.cu",
                                   "#if defined(__has_include) && __has_include(\"a.h\")\n#endif\n"
                                   "#ifdef __has_include\n#if __has_include(\"none.h\") || "
                                   "__has_include(<cuda_fp16.h>)\n#endif\n#endif"},
                                  {"a.h", ""}}));
}

TEST(ReadSources, RefusesWhatCannotBeFollowed) {
  const auto refusal = [](const std::string& line) { return read_of({{"k.cu", "\n" + line}}); };
  for (const char* const line : {"#define H \"k.cu\"\n#include H",
                                 "#include </etc/passwd>",
                                 "#include <../k.cu>",
                                 "#include <a b.h>",
                                 "#include <x/*y.h>\n*/",
                                 "#include_next <stdint.h>",
                                 "#import \"k.cu\"",
                                 "#embed \"k.cu\"",
                                 "?"
                                 "?=include \"k.cu\"",
                                 "// ?"
                                 "?/\n",
                                 "#include \"/etc/passwd\"",
                                 "#include \"../secret.h\"",
                                 "#if __has_include(\"../secret.h\")\n#endif",
                                 "#if __has_include(</etc/passwd>)\n#endif",
                                 "#if __has_include(H)\n#endif",
                                 "#define ASK __has_include(\"k.cu\")",
                                 "#if __has_embed(\"k.cu\")\n#endif",
                                 "auto x = R\"(\n#include </etc/passwd>\n)\";",
                                 "#if 0\nR\"(\n#endif\n#include </etc/passwd>\n//)\"",
                                 "#inc\\\nlude </etc/passwd>",
                                 "#include\\ \n </etc/passwd>",
                                 "%: /* */ include </etc/passwd>",
                                 "#\\u0069nclude \"k.cu\"",
                                 "#inc\\u006cude \"k.cu\"",
                                 "#embed </etc/*>"}) {
    EXPECT_THAT(refusal(line), MatchesRegex("k.cu:[2-5]: .*")) << line;
  }
  EXPECT_THAT(read_of({{"k.cu", "\xEF\xBB\xBF#include H\nauto s = '\"'; /*\n*/"}}),
              MatchesRegex("k.cu:1: .*"));
  EXPECT_THAT(refusal(std::string("int a;\0", 7)), MatchesRegex("k.cu:2: .*NUL.*"));
}

TEST(ReadSources, RefusesAnIncludeWhereverALexerMaySeeIt) {
  const std::string include = "#include </etc/passwd>";
  const std::vector<std::string> texts = {
      // Marks that the end of a line divides.
      "/\\\n* *\\\n/ " + include, "/* *\\\n/ " + include + "\n/* */", "%\\\n:include </etc/passwd>",
      "/\\\r\n* *\\\r\n/ " + include, "auto s = R\\\n\"x(\" /* )x\";\n" + include + "\n/* */",
      // A comment that begins in a string for some lexers, or for all.
      "#define X R\"(\" /* )\"\n" + include + "\n/* */",
      "#define X $R\"(\" /* )\"\n" + include + "\n/* */", "$R\"(\" /*\n)\"\n */ " + include,
      "#define X L'/*'\n" + include + "\n#define Y L'*/'",
      "#define X 0x1'a'/*'\n" + include + "\n#define Y '*/'",
      "#pragma foo a'/*'\n" + include + "\n#pragma foo b'*/'",
      "#if 0\n#error don't /*\n#endif\n" + include + "\n#if 0\n*/\n#endif",
      "#if 0\nR\"(\")\" /* \"\n#endif\n" + include + "\n#if 0\n/* */\n#endif",
      "R\"( )\\\n\" /* )\"\n" + include + "\n/* */",
      "char q = '\"'; /*\n*/\n# /*\n*/ include </etc/passwd>",
      "#define X include </*>\n/*/\n" + include + "\n/* */",
      "#pragma GCC dependency <x/*y>\n" + include + "\n/* */",
      "#define X L'/*' 1\n/*/\n" + include + "\n/* */",
      "auto s = \"\\\\\n\" /* \";\n" + include + "\n/* */"};
  for (const std::string& text : texts) {
    EXPECT_THAT(read_of({{"k.cu", "\n" + text}}), MatchesRegex("k.cu:[2-7]: .*")) << text;
  }
}

TEST(ReadSources, RefusesAnIfThatMayAskForAFileByItsMacros) {
  const std::string cat = "#define CAT(a, b) a##b\n";
  for (const std::string& text :
       {cat + "#if CAT(__has_, include)(\"k.cu\")\n#endif",
        cat + "#define ASK CAT(__has_, include)\n#if 0\n#elif ASK(<stdio.h>)\n#endif",
        std::string(
            "#define ASK __has_ %:%: include\n#define WHAT (\"k.cu\")\n#if ASK WHAT\n#endif"),
        std::string("#define OF(x) #x\n#if A_TOOLKITS_MACRO(OF(k.cu))\n#endif"),
        std::string("#if A_TOOLKITS_MACRO(\"k.cu\")\n#endif"),
        std::string("#if A_TOOLKITS_MACRO(<k.cu>)\n#endif"),
        std::string("#define NAME <k.cu>\n#if A_TOOLKITS_MACRO(NAME)\n#endif"),
        std::string("#if _CCCL_HAS_INCLUDE(A_TOOLKITS_MACRO(k.cu))\n#endif")}) {
    EXPECT_THAT(read_of({{"k.cu", text}}), MatchesRegex("k.cu:[1-4]: .*__has_include itself"))
        << text;
  }
  EXPECT_THAT(
      read_of({{"k.cu", "#include \"a.h\"\n#if CAT(__has_, include)(X)\n#endif"}, {"a.h", cat}}),
      MatchesRegex("k.cu:2: .*__has_include itself"));
}

TEST(ReadSources, LeavesToTheCompilerWhatOnlyLooksLikeAnInclude) {
  EXPECT_EQ("k.cu ",
            read_of({{"k.cu",
                      "// #include H\n/*\n#include H\n*/\nconst char* s = \"#include H\";\n"
                      "#pragma unroll\n#define include_this 1\nint import, embed;\n"}}));
  EXPECT_EQ("k.cu ", read_of({{"k.cu",
                               "const char* s = \"/*\"; /* don't */\n/* don't\n#include H */\n"
                               "int n = 1'000'000;  // it's\nauto r = R\"(mov)\";  // x\n"
                               "/*\n#include H\n*/\n"}}));
  EXPECT_EQ("k.cu ",
            read_of({{"k.cu",
                      "#define CAT(a, b) a##b\n#define NAME \"k\"\n"
                      "#define AT_LEAST(a, b) (A > a || (A == a && (B << 1) <= b))\n"
                      "#if AT_LEAST(1, 2) && 'a' < 98 && __has_builtin(__ldg) && OF(A, < 2)\n"
                      "int CAT(a, b);\n#elif defined(CAT)\n#endif\n"}}));
}

}  // namespace
}  // namespace smemtune
