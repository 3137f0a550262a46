#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// A source with the files that it includes by #include "..." in the place of these lines, each
/// once, so that a kernel's host code, headers and macros are one text.
struct FlatSource {
  FlatSource() = default;
  explicit FlatSource(std::string whole) : text(std::move(whole)) {}

  /// Where a line of the text comes from: `line 12` of the source, `tile.h:12` of another file.
  std::string place(std::size_t line) const;
  std::string places(std::size_t first, std::size_t last) const;  ///< `lines 3-5`.
  bool is_of_source(std::size_t line) const;

  std::string text;
  std::vector<std::string> files;    ///< As they are included; the source is not among them.
  std::vector<std::string> missing;  ///< `line 3: "timer.h"`: not found, so not read.

  /// From a line of the text on: the number of the file, 0 being the source, and its line there.
  struct Piece {
    std::size_t line = 1;
    std::size_t file = 0;
    std::size_t line_there = 1;
  };
  std::vector<Piece> pieces;  ///< By line. Empty: the text is the source.
};

/// What a source is compiled with.
struct SourceSurroundings {
  std::vector<std::filesystem::path> folders;  ///< In which headers are looked for, too.
  std::vector<std::string> macros;             ///< `NAME` or `NAME=VALUE`.
  std::vector<std::filesystem::path>
      further;  ///< Files that launch its kernels, and their headers.
};

/// Reads a source and what it includes, beside the including file, beside the source or in those
/// folders; then the further files. Throws InputError naming a file that cannot be read.
FlatSource read_flat_source(const std::filesystem::path& file, const SourceSurroundings& with = {});

}  // namespace smemtune
