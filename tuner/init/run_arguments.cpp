#include "tuner/init/run_arguments.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/init/host_terms.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

/// Returns the arguments of a command `$(LAUNCHER) ./$(program) 1024 100`; nullopt if it is no such
/// command.
std::optional<std::vector<std::string>> arguments_in(const std::string& command) {
  const std::size_t program = command.find("./");
  const bool begins = program == 0 || (program != std::string::npos &&
                                       std::string_view(" \t@").find(command[program - 1]) !=
                                           std::string_view::npos);
  const bool is_comment = command.find('#') < program;
  if (!begins || is_comment) return std::nullopt;
  std::istringstream words(
      command.substr(program, command.find_first_of("|>;&#", program) - program));
  std::vector<std::string> arguments;
  std::string word;
  words >> word;
  while (words >> word) arguments.push_back(word);
  return arguments;
}

/// Returns the arguments of the first command that runs a program of the folder. `is_makefile`: only
/// recipes for `run` and `test` hold such.
RunArguments arguments_of(const std::string& name, const std::string& text, bool is_makefile) {
  std::istringstream lines(text);
  bool is_run = !is_makefile;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (is_makefile && !line.starts_with('\t')) {
      is_run = line.starts_with("run") || line.starts_with("test");
      continue;
    }
    const auto found = is_run ? arguments_in(line) : std::nullopt;
    if (found) return {.file = name, .line = number, .values = *found};
  }
  return {};
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-+eE") == std::string::npos &&
         text.find_first_of("0123456789") != std::string::npos;
}

bool reads_number(const CppToken& token) {
  static constexpr std::array<std::string_view, 17> kFunctions = {
      "atoi",   "atol", "atoll", "atof",  "strtol", "strtoul", "strtoll", "strtoull", "strtof",
      "strtod", "stoi", "stol",  "stoul", "stoll",  "stoull",  "stof",    "stod"};
  return std::ranges::find(kFunctions, token.text) != kFunctions.end();
}

/// Returns k of `argv[k]` at token i.
std::optional<std::int64_t> index_at(const CppTokens& tokens, std::size_t i) {
  const bool is_element = i + 3 < tokens.size() && tokens[i].is("argv") && tokens[i + 1].is("[") &&
                          tokens[i + 3].is("]");
  return is_element ? number_of(tokens[i + 2].text) : std::nullopt;
}

/// Returns true if every argument that the text reads is one of a fixed place.
bool reads_by_place(const CppTokens& tokens) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].text.starts_with("getopt") || tokens[i].is("optarg")) return false;
    const bool reads = tokens[i].is("argv") && tokens[i + 1].is("[");
    // `char* argv[]` declares it.
    if (reads && !tokens[i + 2].is("]") && !index_at(tokens, i)) return false;
  }
  return true;
}

/// Replaces tokens `first` to `last` by another text and blanks, if there is room for it.
void put(std::string& text, const CppToken& first, const CppToken& last, const std::string& by) {
  const std::size_t room = last.end() - first.begin;
  const bool has_room =
      by.size() <= room && text.find('\n', first.begin) >= first.begin + by.size();
  if (!has_room) return;
  for (std::size_t i = 0; i < room; ++i) {
    char& place = text[first.begin + i];
    if (place != '\n') place = i < by.size() ? by[i] : ' ';
  }
}

}  // namespace

RunArguments run_arguments_beside(const fs::path& source) {
  for (const std::string_view name : {"Makefile", "makefile", "GNUmakefile", "run", "run.sh"}) {
    const fs::path file = source.parent_path() / name;
    std::error_code error;
    if (!fs::is_regular_file(file, error)) continue;
    const bool is_makefile = !name.starts_with("run");
    const RunArguments found =
        arguments_of(std::string(name), read_text(file, kMaxSourceBytes), is_makefile);
    if (!found.file.empty()) return found;
  }
  return {};
}

FlatSource with_run_arguments(FlatSource source, const RunArguments& arguments) {
  const std::string whole = source.text;
  const CppTokens tokens = cpp_tokens(whole);
  if (arguments.file.empty() || !reads_by_place(tokens)) return source;
  for (std::size_t i = 0; i + 6 < tokens.size(); ++i) {
    const bool declares = i > 0 && tokens[i - 1].is_word() && !tokens[i - 1].is("return");
    if (tokens[i].is("argc") && !declares) {
      put(source.text, tokens[i], tokens[i], std::to_string(arguments.values.size() + 1));
    }
    const auto place = reads_number(tokens[i]) ? index_at(tokens, i + 2) : std::nullopt;
    const std::size_t close = place ? closing(tokens, i + 1) : tokens.size();
    if (close >= tokens.size() || *place < 1 || *place > std::ssize(arguments.values)) continue;
    const std::string& value = arguments.values[static_cast<std::size_t>(*place - 1)];
    const std::size_t colons = i > 0 && tokens[i - 1].is("::") ? 1 : 0;
    const std::size_t first = i - colons - (colons > 0 && i > 1 && tokens[i - 2].is("std") ? 1 : 0);
    if (is_number(value)) put(source.text, tokens[first], tokens[close], value);
  }
  return source;
}

}  // namespace smemtune
