#include "tuner/init/program_sources.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/source/source_files.h"
#include "tuner/source/source_items.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

/// The names in a file.
struct FileNames {
  fs::path file;
  std::set<std::string> defined = {};  ///< Functions with a body that other files may call.
  std::set<std::string> used = {};     ///< Words that are followed by ( or <.
  bool is_beneath = false;             ///< True if it lies in a folder beside the source.
};

/// Returns true for a function that each file may have by the same name.
bool is_local(const CppToken& first) {
  return is_one_of(first.text, {"static", "inline", "__inline__", "__forceinline__", "__device__"});
}

FileNames names_in(const fs::path& file) {
  FileNames names = {.file = file};
  const std::string text = read_text(file, kMaxSourceBytes);
  const CppTokens tokens = cpp_tokens(text);
  for (const SourceItem& item : read_items(tokens).items) {
    const bool is_shared = item.body != kNoToken && !is_local(tokens[item.first]);
    if (is_shared) names.defined.insert(item.declares.begin(), item.declares.end());
  }
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool is_called = tokens[i + 1].is("(", "<");
    if (tokens[i].is_word() && is_called) names.used.emplace(tokens[i].text);
  }
  return names;
}

bool has_common(const std::set<std::string>& one, const std::set<std::string>& other) {
  return std::ranges::any_of(one, [&](const std::string& name) { return other.contains(name); });
}

/// Returns the sources of a folder other than the source that can be read; none if there are many.
std::vector<FileNames> files_in(const fs::path& folder, const fs::path& source) {
  constexpr std::size_t kMost = 40;
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    const bool is_source = is_one_of(extension, {".cu", ".cpp", ".cc", ".cxx", ".c"}) &&
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

/// Returns the other sources of the folder, and of the folders in it.
std::vector<FileNames> files_around(const fs::path& source) {
  constexpr std::size_t kMostFolders = 20;
  const fs::path folder = source.has_parent_path() ? source.parent_path() : ".";
  std::vector<FileNames> files = files_in(folder, source);
  std::vector<fs::path> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  if (folders.size() > kMostFolders) return files;
  std::ranges::sort(folders);
  for (const fs::path& inner : folders) {
    for (FileNames& file : files_in(inner, source)) {
      file.is_beneath = true;
      files.push_back(std::move(file));
    }
  }
  return files;
}

/// Returns true if no other file defines any of the functions of a file that a program calls.
bool is_only(const FileNames& file, const std::set<std::string>& called,
             const std::vector<FileNames>& files) {
  std::set<std::string> wanted;
  std::ranges::set_intersection(file.defined, called, std::inserter(wanted, wanted.end()));
  return std::ranges::none_of(files, [&](const FileNames& other) {
    return other.file != file.file && has_common(other.defined, wanted);
  });
}

}  // namespace

std::vector<fs::path> program_sources(const fs::path& source) {
  constexpr std::size_t kMost = 8;
  FileNames program = names_in(source);
  std::vector<FileNames> others = files_around(source);
  std::vector<fs::path> found;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (FileNames& other : others) {
      // Other folders may have other programs, with functions of the same names.
      const bool belongs =
          other.is_beneath
              ? has_common(program.used, other.defined) && is_only(other, program.used, others)
              : has_common(other.used, program.defined) || has_common(program.used, other.defined);
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
