#include "tuner/init/program_sources.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/source/source_files.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

/// The names in a file.
struct FileNames {
  fs::path file;
  std::set<std::string> defined;  ///< Functions with a body that other files may call.
  std::set<std::string> used;     ///< Words that are followed by ( or <.
};

/// Returns true for a function that each file may have by the same name.
bool is_local(const CppToken& first) {
  static constexpr std::array<std::string_view, 5> kWords = {"static", "inline", "__inline__",
                                                             "__forceinline__", "__device__"};
  return std::ranges::find(kWords, first.text) != kWords.end();
}

FileNames names_in(const fs::path& file) {
  FileNames names = {.file = file, .defined = {}, .used = {}};
  const std::string text = read_text(file, kMaxSourceBytes);
  const CppTokens tokens = cpp_tokens(text);
  for (const SourceItem& item : read_items(tokens).items) {
    const bool is_shared = item.body != kNoToken && !is_local(tokens[item.first]);
    if (is_shared) names.defined.insert(item.declares.begin(), item.declares.end());
  }
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool is_called = tokens[i + 1].is("(") || tokens[i + 1].is("<");
    if (tokens[i].is_word() && is_called) names.used.emplace(tokens[i].text);
  }
  return names;
}

bool has_common(const std::set<std::string>& one, const std::set<std::string>& other) {
  return std::ranges::any_of(one, [&](const std::string& name) { return other.contains(name); });
}

/// Returns the other sources of the folder that can be read.
std::vector<FileNames> files_beside(const fs::path& source) {
  static constexpr std::array<std::string_view, 5> kExtensions = {".cu", ".cpp", ".cc", ".cxx",
                                                                  ".c"};
  constexpr std::size_t kMost = 40;
  std::vector<fs::path> files;
  std::error_code error;
  const fs::path folder = source.has_parent_path() ? source.parent_path() : ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    const bool is_source = std::ranges::find(kExtensions, extension) != kExtensions.end() &&
                           !entry.path().stem().string().ends_with("_kernel");
    if (is_source && entry.is_regular_file(error) && !fs::equivalent(entry.path(), source, error)) {
      files.push_back(entry.path());
    }
  }
  if (files.size() > kMost) return {};
  std::ranges::sort(files);
  std::vector<FileNames> names;
  for (const fs::path& file : files) {
    try {
      names.push_back(names_in(file));
    } catch (const InputError&) {
      continue;  // It is too large, or not readable.
    }
  }
  return names;
}

}  // namespace

std::vector<fs::path> program_sources(const fs::path& source) {
  constexpr std::size_t kMost = 8;
  FileNames program = names_in(source);
  std::vector<FileNames> others = files_beside(source);
  std::vector<fs::path> found;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (FileNames& other : others) {
      const bool belongs =
          has_common(other.used, program.defined) || has_common(program.used, other.defined);
      if (other.file.empty() || !belongs || has_common(other.defined, program.defined)) continue;
      if (found.size() == kMost) return found;
      found.push_back(std::exchange(other.file, fs::path()));
      program.defined.merge(other.defined);
      program.used.merge(other.used);
      has_grown = true;
    }
  }
  return found;
}

}  // namespace smemtune
