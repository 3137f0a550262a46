#include "tuner/source/flat_source.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/source/directive.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <map>
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
      if (!is_once && header.size() < 3) continue;
      const fs::path found = is_once ? fs::path() : find(header, path);
      if (!is_once && found.empty()) continue;
      append(text.substr(copied, token.begin - copied));
      copied = token.end();
      if (is_once || !seen_.insert(found).second || flat_.files.size() >= kMaxFiles) continue;
      end_line();
      flat_.files.push_back(header.substr(1, header.size() - 2));
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

  /// Returns the file that a header is, empty if it is not found; notes where that tells something.
  fs::path find(const std::string& header, const fs::path& from) {
    const std::string name = header.substr(1, header.size() - 2);
    const bool is_quoted = header.starts_with('"');
    const bool is_known = is_toolkit_header(name) || is_c_header(name);
    const bool is_system = !is_quoted && (is_known || name.find('.') == std::string::npos);
    if (is_system || fs::path(name).is_absolute()) return {};
    std::vector<fs::path> folders = {from.parent_path()};
    folders.insert(folders.end(), folders_.begin(), folders_.end());
    for (const fs::path& folder : folders) {
      std::error_code error;
      const fs::path found = fs::canonical(folder / name, error);
      if (error || !fs::is_regular_file(found, error)) continue;
      if (!is_quoted || folder != folders.front()) flat_.elsewhere.emplace(header, found);
      return found;
    }
    const fs::path near = is_known ? fs::path() : find_near(name, is_quoted);
    if (!near.empty()) flat_.elsewhere.emplace(header, near);
    if (near.empty() && is_quoted && !is_known) note_missing(header);
    return near;
  }

  /// Returns the only file whose path ends with the name, beneath the source's folder or else, if
  /// it is the user's, beneath the folder that this one lies in; empty if there is none or several.
  fs::path find_near(const std::string& name, bool is_users) {
    std::error_code error;
    const fs::path own = fs::canonical(folders_.front().empty() ? "." : folders_.front(), error);
    for (const fs::path& folder : {own, is_users ? own.parent_path() : own}) {
      std::vector<fs::path> found = files_beneath(folder);
      std::erase_if(found, [&](const fs::path& file) {
        return !file.generic_string().ends_with("/" + name);
      });
      if (!found.empty()) return found.size() == 1 ? found.front() : fs::path();
    }
    return {};
  }

  /// Returns the files up to some folders deep, without hidden folders.
  const std::vector<fs::path>& files_beneath(const fs::path& folder) {
    constexpr int kDeepest = 3;
    constexpr std::size_t kMostEntries = 5000;
    const auto [known, is_new] = beneath_.try_emplace(folder);
    std::vector<fs::path>& files = known->second;
    std::error_code error;
    std::size_t entries = 0;
    const auto skip = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator entry(folder, skip, error), end;
         is_new && !error && entry != end && entries < kMostEntries; entry.increment(error)) {
      ++entries;
      const bool is_hidden = entry->path().filename().string().starts_with('.');
      if (is_hidden || entry.depth() == kDeepest) entry.disable_recursion_pending();
      if (entry->is_regular_file(error)) files.push_back(entry->path());
    }
    return files;
  }

  static constexpr std::size_t kMaxFiles = 256;

  const SourceSurroundings& with_;
  std::vector<fs::path> folders_;
  std::map<fs::path, std::vector<fs::path>> beneath_;  ///< Files, by a folder above them.
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
