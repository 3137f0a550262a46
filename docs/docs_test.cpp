// The pages and the program say the same: links lead somewhere, every option, key and function is
// described and exists, and the tutorial runs as it stands there.

#include "tuner/core/device.h"
#include "tuner/core/expression.h"
#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

namespace fs = std::filesystem;
using Words = std::set<std::string>;

const fs::path kRoot = SMEMTUNE_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

/// Every match of the pattern's first group.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> result;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    result.push_back((*match)[1]);
  }
  return result;
}

Words words(const std::string& text, const std::string& pattern) {
  const std::vector<std::string> found = matches(text, pattern);
  return {found.begin(), found.end()};
}

/// Both streams are in `out`.
Ended shell(const std::string& command) { return in_shell("exec 2>&1\n" + command); }

std::string smemtune(const std::string& arguments) {
  const Ended ended = shell(std::string(SMEMTUNE_EXECUTABLE) + " " + arguments);
  EXPECT_EQ(0, ended.status) << ended.out;
  return ended.out;
}

/// The part of a page below the heading, up to the next one of its rank or above.
std::string section(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find("\n" + heading + "\n");
  if (begin == std::string::npos) return {};
  const std::string rank = "\n" + heading.substr(0, heading.find(' ') + 1);
  return page.substr(begin, page.find(rank, begin + heading.size()) - begin);
}

/// The address in a page of a heading, as GitHub makes it.
std::string anchor(const std::string& heading) {
  std::string result;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      result += '-';
    }
  }
  return result;
}

std::vector<fs::path> pages_below(const fs::path& root) {
  std::vector<fs::path> pages;
  for (const char* place : {"README.md", "CHANGELOG.md", "db/EXPORT.md", "db/README.md",
                            "bench/RESULTS.md", "tuner/README.md"}) {
    pages.push_back(root / place);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

void expect_links_hold(const fs::path& root) {
  for (const fs::path& page : pages_below(root)) {
    for (const std::string& link : matches(read(page), R"(\]\(([^)\s]+)\))")) {
      if (link.find("://") != std::string::npos) continue;
      const std::size_t hash = link.find('#');
      const fs::path target =
          hash == 0 ? page : fs::weakly_canonical(page.parent_path() / link.substr(0, hash));
      EXPECT_TRUE(fs::exists(target)) << page << ": " << link;
      if (hash == std::string::npos || !fs::exists(target)) continue;
      Words anchors;
      for (const std::string& line : lines(read(target))) {
        if (line.starts_with("#")) anchors.insert(anchor(line.substr(line.find(' ') + 1)));
      }
      EXPECT_TRUE(anchors.contains(link.substr(hash + 1))) << page << ": " << link;
    }
  }
}

TEST(Pages, HaveLinksThatLeadSomewhere) { expect_links_hold(kRoot); }

TEST(Pages, HaveLinksThatLeadSomewhereWhereTheyAreInstalled) {
  const TemporaryFolder folder;
  const Ended installed =
      shell(SMEMTUNE_CMAKE " --install " SMEMTUNE_BUILD_DIR " --component documentation --prefix " +
            folder.path().string());
  ASSERT_EQ(0, installed.status) << installed.out;
  expect_links_hold(folder.path() / SMEMTUNE_PAGES);
  EXPECT_TRUE(fs::exists(folder.path() / SMEMTUNE_PAGES / "examples/mine.cu"));
}

TEST(Readme, IsOneScreen) {
  const std::vector<std::string> readme = lines(read(kRoot / "README.md"));
  EXPECT_LE(readme.size(), 150u);
  for (const std::string& line : readme) EXPECT_LE(line.size(), 100u) << line;
}

/// Options such as --space and -q, and positionals, of a command's --help.
Words options_in_help(const std::string& command) {
  const std::string help = smemtune(command + " --help");
  Words options;
  for (const std::string& line : lines(help)) {
    for (const std::string& option : matches(line, R"(^  (-[^ =]+))")) {
      for (const std::string& name : matches(option, R"((--?[a-z][a-z-]*))")) options.insert(name);
    }
  }
  return options;
}

TEST(Commands, AreThoseOfTheProgram) {
  const std::string page = read(kRoot / "docs/commands.md");
  const std::string help = smemtune("--help");
  const Words in_help = words(help.substr(help.find("Subcommands:")), R"(\n  ([a-z]+) )");
  EXPECT_THAT(words(page, R"(\n## smemtune ([a-z]+)\n)"), testing::ContainerEq(in_help));
  EXPECT_THAT(words(page, R"(\n\| \[`([a-z]+)`\])"), testing::ContainerEq(in_help));
  const std::string manual = read(kRoot / "docs/smemtune.1");
  for (const std::string& command : in_help) {
    EXPECT_THAT(manual, testing::HasSubstr("\n.It Cm " + command + "\n"));
  }
}

TEST(Commands, HaveTheirOptionsDescribed) {
  const std::string page = read(kRoot / "docs/commands.md");
  const std::string in_first_column = R"(\n\| ([^|]*) \|)";
  const auto options_of = [&](const std::string& heading) {
    Words options;
    for (const std::string& cell : matches(section(page, heading), in_first_column)) {
      options.merge(words(cell, R"((?:^|[`, ])(--?[a-z][a-z-]*))"));
    }
    return options;
  };
  const Words common = options_of("## Options of several commands");
  EXPECT_GE(common.size(), 5u);
  std::map<std::string, int> uses;
  for (const std::string& command : matches(page, R"(\n## smemtune ([a-z]+)\n)")) {
    const Words in_help = options_in_help(command);
    Words described = options_of("## smemtune " + command);
    for (const std::string& option : described) {
      EXPECT_TRUE(in_help.contains(option)) << "smemtune " << command << " has no " << option;
    }
    for (const std::string& option : in_help) {
      uses[option] += common.contains(option) ? 1 : 0;
      EXPECT_TRUE(described.contains(option) || common.contains(option))
          << "docs/commands.md does not describe " << option << " of smemtune " << command;
    }
  }
  for (const std::string& option : common) EXPECT_GE(uses[option], 2) << option;
}

/// Names of members that a schema allows.
void collect_keys(const nlohmann::json& schema, Words& keys) {
  if (schema.is_array()) {
    for (const nlohmann::json& element : schema) collect_keys(element, keys);
  }
  if (!schema.is_object()) return;
  if (schema.contains("properties") && schema["properties"].is_object()) {
    for (const auto& [key, value] : schema["properties"].items()) keys.insert(key);
  }
  for (const auto& [key, value] : schema.items()) collect_keys(value, keys);
}

TEST(SpaceFile, HasEveryKeyDescribedWithAnExample) {
  const std::string page = read(kRoot / "docs/space_file.md");
  Words in_schema;
  collect_keys(nlohmann::json::parse(read(kRoot / "configs/schema.json")), in_schema);
  // Inside of expect, which the page shows as one example.
  for (const char* inner : {"time", "within_percent"}) {
    EXPECT_EQ(1u, in_schema.erase(inner));
    EXPECT_THAT(page, testing::HasSubstr('"' + std::string(inner) + '"'));
  }
  Words described;
  const std::regex row(R"(\n\| ((?:`[a-z_$]+`(?:, )?)+) \| `([^|]*)` \|)");
  for (const char* heading : {"## The file", "## An argument", "## Verification", "## A kernel"}) {
    const std::string part = section(page, heading);
    for (std::sregex_iterator match(part.begin(), part.end(), row), end; match != end; ++match) {
      described.merge(words((*match)[1], "`([a-z_$]+)`"));
      const std::string example = (*match)[2];
      EXPECT_TRUE(example.find("...") != std::string::npos || nlohmann::json::accept(example))
          << example;
    }
  }
  EXPECT_THAT(described, testing::ContainerEq(in_schema));
}

TEST(SpaceFile, HasEveryFunctionWithAnExampleThatHolds) {
  const std::string page = read(kRoot / "docs/space_file.md");
  const Words in_code = words(read(kRoot / "tuner/core/expression_operations.h"),
                              R"re(\{"([a-z_0-9]+)", Operation::)re");
  EXPECT_GE(in_code.size(), 11u);
  Scope scope;
  scope.add_constants({{"N", Value(std::int64_t{100})},
                       {"A", Value(std::int64_t{2})},
                       {"B", Value(std::int64_t{3})},
                       {"VEC", Value(std::int64_t{2})},
                       {"T", Value(std::string("float"))}});
  Words described;
  const std::string part = section(page, "## Expressions");
  const std::regex row(R"(\n\| `([a-z_0-9]+)` \| `([^`]+)` \| ([^|\n]+) \|)");
  for (std::sregex_iterator match(part.begin(), part.end(), row), end; match != end; ++match) {
    described.insert((*match)[1]);
    const std::int64_t value = Expression::compile((*match)[2].str(), scope).evaluate();
    const std::string shown = (*match)[3];
    if (std::isdigit(static_cast<unsigned char>(shown.front())) != 0) {
      EXPECT_EQ(std::stoll(shown), value) << (*match)[2];
    }
  }
  Words operators_left_out = in_code;
  std::erase_if(operators_left_out, [](const std::string& name) {
    return name == "and" || name == "or" || name == "not";
  });
  EXPECT_THAT(described, testing::ContainerEq(operators_left_out));
}

TEST(SpaceFile, HasEveryNameOfTheDevice) {
  const std::string part = section(read(kRoot / "docs/space_file.md"), "## Expressions");
  const std::string table = part.substr(part.find("| name of the device"));
  Words in_code;
  for (const auto& [name, value] : device_names(Device{})) in_code.insert(name);
  EXPECT_THAT(words(table, R"(\n\| `([a-z_0-9]+)` \|)"), testing::ContainerEq(in_code));
}

TEST(Troubleshooting, QuotesMessagesThatExist) {
  std::string sources = read(kRoot / "cmake/Dependencies.cmake");
  for (const char* folder : {"tuner", "db", "reports"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".cpp") && !name.ends_with("_test.cpp")) sources += read(entry.path());
    }
  }
  // Literals that a line's end has divided are one again.
  sources = std::regex_replace(sources, std::regex("\"\n *\""), "");
  const std::vector<std::string> quoted =
      matches(read(kRoot / "docs/troubleshooting.md"), R"(\n\*\*`([^`]+)`\*\*)");
  EXPECT_GE(quoted.size(), 10u);
  for (const std::string& message : quoted) {
    EXPECT_NE(std::string::npos, sources.find(message)) << message;
  }
}

TEST(Tutorial, RunsAsItStandsThere) {
  const std::string page = read(kRoot / "docs/tutorial.md");
  const TemporaryFolder folder;
  const std::string setting = "cd " + folder.path().string() + " && export PATH=" +
                              fs::path(SMEMTUNE_EXECUTABLE).parent_path().string() +
                              ":$PATH SMEMTUNE_DB=results.sqlite SMEMTUNE_CACHE=cache && ";
  int commands = 0;
  std::string block;  // Its language while inside of one.
  std::string text;
  for (const std::string& line : lines(page)) {
    if (!line.starts_with("```")) {
      text += line + "\n";
      if (block == "console" && line.starts_with("$ ")) {
        const Ended ended = shell(setting + line.substr(2));
        ASSERT_EQ(0, ended.status) << line << "\n" << ended.out;
        ++commands;
      }
      continue;
    }
    const std::map<std::string, std::string> files = {{"cuda", "mine.cu"}, {"json", "mine.json"}};
    if (files.contains(block)) {
      const std::string& file = files.at(block);
      EXPECT_EQ(read(kRoot / "examples" / file), text) << "the page's " << file;
      std::ofstream(folder.path() / file) << text;
    }
    block = block.empty() ? line.substr(3) : "";
    text.clear();
  }
  EXPECT_GE(commands, 10);
  EXPECT_THAT(read(folder.path() / "best.h"), testing::HasSubstr("namespace smemtune_best"));
}

/// Size of a PNG by its header, and length of the file.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::size_t bytes = 0;
};

std::map<std::string, Picture> pictures_in(const fs::path& folder) {
  std::map<std::string, Picture> pictures;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".png") continue;
    const std::string bytes = read(entry.path());
    const auto number = [&](std::size_t at) {
      std::uint32_t value = 0;
      for (std::size_t i = at; i < at + 4; ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes.at(i));
      }
      return value;
    };
    pictures[entry.path().filename().string()] = {number(16), number(20), bytes.size()};
  }
  return pictures;
}

TEST(Pictures, AreThoseThatTheScriptDrawsFromTheStoredResults) {
  if (std::string(SMEMTUNE_BROWSER).empty()) GTEST_SKIP() << "no Chromium";
  if (std::string(SMEMTUNE_NODE).empty()) GTEST_SKIP() << "no node";
  if (std::string(SMEMTUNE_CHART_JS).empty()) GTEST_SKIP() << "built without Chart.js";
  const TemporaryFolder folder;
  const Ended drawn =
      shell("SMEMTUNE=" SMEMTUNE_EXECUTABLE " CHROMIUM=" SMEMTUNE_BROWSER " " SMEMTUNE_NODE " " +
            (kRoot / "docs/figures/draw").string() + " " + folder.path().string());
  ASSERT_EQ(0, drawn.status) << drawn.out;
  const std::map<std::string, Picture> stored = pictures_in(kRoot / "docs/figures");
  EXPECT_GE(stored.size(), 6u);
  std::map<std::string, Picture> now = pictures_in(folder.path());
  EXPECT_EQ(stored.size(), now.size());
  for (const auto& [name, before] : stored) {
    const Picture& after = now[name];
    EXPECT_EQ(before.width, after.width) << name;
    // Other fonts and versions of Chromium break lines and compress pixels in other ways; a blank
    // picture has a tenth of the bytes.
    EXPECT_NEAR(before.height, after.height, 0.1 * before.height) << name;
    EXPECT_GT(after.bytes, before.bytes / 2) << name;
    EXPECT_LT(after.bytes, before.bytes * 2) << name;
  }
}

TEST(Pictures, AreAllShown) {
  const std::string pages =
      read(kRoot / "README.md") + read(kRoot / "docs/report.md") + read(kRoot / "docs/families.md");
  for (const auto& [name, picture] : pictures_in(kRoot / "docs/figures")) {
    EXPECT_THAT(pages, testing::HasSubstr("figures/" + name + ")"));
  }
}

TEST(Manual, IsReadByManWithoutAWarning) {
  if (shell("man --version").status != 0) GTEST_SKIP() << "no man";
  const Ended ended = shell("LC_ALL=C.UTF-8 man --warnings -l -Tutf8 -Z " +
                            (kRoot / "docs/smemtune.1").string() + " >/dev/null");
  EXPECT_EQ(0, ended.status);
  EXPECT_EQ("", ended.out);
}

}  // namespace
}  // namespace smemtune
