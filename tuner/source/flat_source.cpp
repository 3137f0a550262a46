#include "tuner/source/flat_source.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/source/directive.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

class Flattener {
 public:
  Flattener(const fs::path& source, const SourceSurroundings& with) : with_(with) {
    folders_ = {source.parent_path()};
    folders_.insert(folders_.end(), with.folders.begin(), with.folders.end());
  }

  FlatSource flatten(const fs::path& source) {
    std::error_code error;
    seen_.insert(fs::weakly_canonical(source, error));
    if (!with_.macros.empty()) {
      flat_.files.emplace_back("-D");
      begin_piece(flat_.files.size(), 1);
      for (std::string macro : with_.macros) {
        const std::size_t equals = macro.find('=');
        if (equals == std::string::npos) macro += " 1";
        if (equals != std::string::npos) macro[equals] = ' ';
        append("#define " + macro + "\n");
      }
    }
    add(source, 0);
    for (const fs::path& file : with_.further) {
      if (!seen_.insert(fs::weakly_canonical(file, error)).second) continue;
      end_line();
      flat_.files.push_back(file.filename().string());
      add(file, flat_.files.size());
    }
    return std::move(flat_);
  }

 private:
  void add(const fs::path& path, std::size_t file) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    const std::string whole = read_text(path, kMaxSourceBytes);
    const std::string_view text = std::string_view(whole).substr(whole.starts_with(kMark) ? 3 : 0);
    begin_piece(file, 1);
    std::size_t copied = 0;
    for (const CppToken& token : cpp_tokens(text)) {
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive directive = directive_of(token);
      const bool is_once = file != 0 && directive.name == "pragma" && directive.rest == "once";
      const std::string header = directive.name == "include" ? included(directive) : "";
      if (!is_once && !header.starts_with('"')) continue;
      const std::string name = is_once ? "" : header.substr(1, header.size() - 2);
      const fs::path found = is_once ? fs::path() : find(name, path);
      if (!is_once && found.empty()) {
        if (!is_toolkit_header(name) && !is_c_header(name)) note_missing(header);
        continue;
      }
      append(text.substr(copied, token.begin - copied));
      copied = token.end();
      if (is_once || !seen_.insert(found).second || flat_.files.size() >= kMaxFiles) continue;
      end_line();
      flat_.files.push_back(name);
      add(found, flat_.files.size());
      end_line();
      const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(copied), '\n');
      begin_piece(file, static_cast<std::size_t>(lines) + 1);
    }
    append(text.substr(copied));
  }

  void append(std::string_view text) {
    flat_.text += text;
    line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  void end_line() {
    if (!flat_.text.empty() && !flat_.text.ends_with('\n')) append("\n");
  }

  void begin_piece(std::size_t file, std::size_t line_there) {
    flat_.pieces.push_back({.line = line_, .file = file, .line_there = line_there});
  }

  void note_missing(const std::string& header) {
    if (std::ranges::find(flat_.missing, header) == flat_.missing.end()) {
      flat_.missing.push_back(header);
    }
  }

  fs::path find(const std::string& name, const fs::path& from) const {
    if (fs::path(name).is_absolute()) return {};
    std::vector<fs::path> folders = {from.parent_path()};
    folders.insert(folders.end(), folders_.begin(), folders_.end());
    for (const fs::path& folder : folders) {
      std::error_code error;
      const fs::path found = fs::canonical(folder / name, error);
      if (!error && fs::is_regular_file(found, error)) return found;
    }
    return {};
  }

  static constexpr std::size_t kMaxFiles = 256;

  const SourceSurroundings& with_;
  std::vector<fs::path> folders_;
  FlatSource flat_;
  std::set<fs::path> seen_;
  std::size_t line_ = 1;
};

}  // namespace

std::string FlatSource::place(std::size_t line) const { return places(line, line); }

std::string FlatSource::places(std::size_t first, std::size_t last) const {
  Piece piece;
  const auto next = std::ranges::upper_bound(pieces, first, {}, &Piece::line);
  if (next != pieces.begin()) piece = *std::prev(next);
  const std::string begin = std::to_string(first - piece.line + piece.line_there);
  const std::string end = std::to_string(last - piece.line + piece.line_there);
  const std::string range = first == last ? begin : begin + "-" + end;
  if (piece.file != 0) return files[piece.file - 1] + ":" + range;
  return (first == last ? "line " : "lines ") + range;
}

bool FlatSource::is_of_source(std::size_t line) const {
  const auto next = std::ranges::upper_bound(pieces, line, {}, &Piece::line);
  return next == pieces.begin() || std::prev(next)->file == 0;
}

FlatSource read_flat_source(const std::filesystem::path& file, const SourceSurroundings& with) {
  return Flattener(file, with).flatten(file);
}

}  // namespace smemtune
