#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A source in which each #include of the user's is replaced by the file that it names, each file
/// once, so that a kernel's host code, headers and macros are one text.
struct FlatSource {
  FlatSource() = default;
  explicit FlatSource(std::string whole) : text(std::move(whole)) {}

  /// Returns where a line of the text comes from: `line 12` of the source, `tile.h:12` of another
  /// file.
  std::string place(std::size_t line) const;
  std::string places(std::size_t first, std::size_t last) const;  ///< Returns `lines 3-5`.
  bool is_of_source(std::size_t line) const;

  std::string text;
  /// The included files in the order of inclusion, without the source.
  std::vector<std::string> files;
  /// Includes whose files do not lie beside the including one, `"size.h"`, and these files.
  std::map<std::string, std::filesystem::path> elsewhere;
  /// Includes that were not found and so not read: `"timer.h"`.
  std::vector<std::string> missing;

  /// Says which file the lines of the text from `line` on come from (0: the source), and the number
  /// of the first of these lines there.
  struct Piece {
    std::size_t line = 1;
    std::size_t file = 0;
    std::size_t line_there = 1;
  };
  std::vector<Piece> pieces;  ///< In the order of lines. Empty if the text is the source.
};

/// The surroundings in which a source is compiled.
struct SourceSurroundings {
  std::vector<std::filesystem::path> folders;  ///< Folders in which headers are looked for as well.
  std::vector<std::string> macros;             ///< `NAME` or `NAME=VALUE`.
  std::vector<std::filesystem::path>
      further;  ///< Files that launch its kernels, and their headers.
};

/// Reads a source and the files that it includes, which are looked for beside the including file,
/// beside the source and in those folders, and where none of these has it beneath the source's
/// folder and, unless it is in <>, beneath the one above; then the further files. Throws InputError
/// naming a file that cannot be read.
FlatSource read_flat_source(const std::filesystem::path& file, const SourceSurroundings& with = {});

}  // namespace smemtune
