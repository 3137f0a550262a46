#include "tuner/source/device_text.h"

#include "tuner/source/reach.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

class Writer {
 public:
  Writer(const FlatSource& source, const CppTokens& tokens,
         const std::set<const SourceItem*>& guard)
      : source_(source), text_(source.text), tokens_(tokens), guard_(guard) {}

  DeviceText write(const std::vector<SourceItem>& items, const std::vector<bool>& kept) {
    std::size_t from = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    if (!items.empty()) {  // A licence above the first item stays.
      const std::size_t begin = text_begin(items.front(), from);
      out_.text += text_.substr(from, begin - from);
      from = begin;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const SourceItem& item = items[i];
      if (item.end <= item.first) continue;
      const std::size_t begin = text_begin(item, from);
      const std::size_t end = std::max(begin, text_end(item));
      const bool was_apart = begin > from;
      from = end;
      if (!kept[i] || takes_back(item)) {
        leave_out(item);
        continue;
      }
      say_what_is_left_out();
      if (was_apart && !out_.text.empty() && !out_.text.ends_with("\n\n")) out_.text += "\n";
      add(item, text_.substr(begin, end - begin));
    }
    say_what_is_left_out();
    return std::move(out_);
  }

 private:
  std::size_t end_of_line(std::size_t at) const {
    const std::size_t end = text_.find('\n', at);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }

  /// Returns the end of the text behind an item: that of its line, unless something else follows
  /// there.
  std::size_t text_end(const SourceItem& item) const {
    const std::size_t end = tokens_[item.end - 1].end();
    const std::size_t line_end = end_of_line(end);
    const bool followed = item.end < tokens_.size() && tokens_[item.end].begin < line_end;
    return followed ? tokens_[item.end].begin : line_end;
  }

  /// Returns the beginning of an item's text: that of the comments above it, up to an empty line.
  std::size_t text_begin(const SourceItem& item, std::size_t from) const {
    const std::size_t begin = tokens_[item.first].begin;
    bool is_empty = true;  // About the line so far.
    std::size_t start = std::min(from, begin);
    for (std::size_t i = start; i < begin; ++i) {
      const std::string_view rest = text_.substr(i, begin - i);
      if (rest.starts_with("/*") || rest.starts_with("//")) {
        const std::size_t end = rest.starts_with("/*") ? rest.find("*/", 2) : rest.find('\n');
        if (end == std::string_view::npos) break;
        i += rest.starts_with("/*") ? end + 1 : end - 1;
        is_empty = false;
      } else if (text_[i] == '\n') {
        if (is_empty) start = i + 1;
        is_empty = true;
      } else if (text_[i] != ' ' && text_[i] != '\t' && text_[i] != '\r') {
        is_empty = false;
      }
    }
    return start;
  }

  /// Returns true for `#undef NAME` of a number that can be passed on the command line.
  bool takes_back(const SourceItem& item) const {
    return item.what.starts_with("#undef ") &&
           std::ranges::any_of(guard_, [&](const SourceItem* guarded) {
             return guarded->declares.front() == item.declares.front();
           });
  }

  void leave_out(const SourceItem& item) {
    constexpr std::size_t kMaxBytes = 160;
    const CppToken& first = tokens_[item.first];
    const CppToken& last = tokens_[item.end - 1];
    const std::size_t last_line =
        last.line + static_cast<std::size_t>(std::ranges::count(last.text, '\n'));
    const bool includes_hosts =
        item.kind == SourceItem::Kind::include && !is_device_include(item.what.substr(9));
    const bool is_hosts = item.is_host || includes_hosts || source_.is_of_source(first.line);
    std::string what;
    for (const char c : item.what) what += c == '\n' || c == '\r' || c == '\\' ? ' ' : c;
    if (item.kind == SourceItem::Kind::close) what.clear();
    const bool continues = pending_ && source_.is_of_source(first.line) ==
                                           source_.is_of_source(out_.left_out.back().first_line);
    if (!continues) {
      say_what_is_left_out();
      out_.left_out.push_back({first.line, last_line, what, is_hosts});
      pending_ = true;
      return;
    }
    LeftOut& left = out_.left_out.back();
    left.last_line = last_line;
    left.is_hosts = left.is_hosts || is_hosts;
    if (what.empty() || left.what.ends_with("...")) return;
    left.what += left.what.size() + what.size() > kMaxBytes ? ", ..." : ", " + what;
  }

  void say_what_is_left_out() {
    if (!std::exchange(pending_, false)) return;
    if (!out_.text.empty() && !out_.text.ends_with("\n")) out_.text += "\n";
    const LeftOut& left = out_.left_out.back();
    out_.text +=
        "// Left out: " + source_.places(left.first_line, left.last_line) + ", " + left.what + "\n";
  }

  void add(const SourceItem& item, std::string_view text) {
    const bool guards = guard_.contains(&item);
    if (guards) out_.text += "#ifndef " + item.declares.front() + "\n";
    out_.text += text;
    if (guards) out_.text += std::string(text.ends_with('\n') ? "" : "\n") + "#endif\n";
  }

  const FlatSource& source_;
  std::string_view text_;
  const CppTokens& tokens_;
  const std::set<const SourceItem*>& guard_;
  DeviceText out_;
  bool pending_ = false;  ///< True if something was left out since the last line.
};

}  // namespace

DeviceText device_text(const FlatSource& source, const CppTokens& tokens,
                       const std::vector<SourceItem>& items, const std::vector<bool>& kept,
                       const std::set<const SourceItem*>& guard) {
  return Writer(source, tokens, guard).write(items, kept);
}

}  // namespace smemtune
