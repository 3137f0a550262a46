#include "tuner/config/json_reader.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxMembers = 1000;
constexpr std::size_t kMaxElements = 100'000;
constexpr std::size_t kMaxStringBytes = 65'536;

/// Iterates over a text and counts its lines. The parser, which reports no places, reads at most
/// one character behind a value, so that the count is the line of the value.
class LineCounter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* at, std::size_t& line) : at_(at), line_(&line) {}

  reference operator*() const { return *at_; }
  LineCounter& operator++() {
    if (is_new_line_) ++*line_;
    is_new_line_ = *at_++ == '\n';
    return *this;
  }
  LineCounter operator++(int) {
    const LineCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCounter& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* line_;         ///< Line, from 1, of the previous character.
  bool is_new_line_ = false;  ///< True if the previous character ends its line.
};

/// Builds the document from the parser's events, because only these show duplicate keys and the
/// digits of a number.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::string& file, const std::size_t& line, JsonLines* lines)
      : text_(text), file_(file), line_(line), lines_(lines) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }

  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(std::to_string(value) + " is above the largest integer, 9223372036854775807");
    }
    return add(static_cast<std::int64_t>(value));
  }

  bool number_float(number_float_t value, const string_t& digits) override {
    if (digits.find_first_of(".eE") == string_t::npos) {
      refuse(printable(digits, 80) + " is not an integer of 64 bits");
    }
    return add(value);
  }

  bool string(string_t& value) override {
    if (value.size() > kMaxStringBytes) {
      refuse("a string of " + std::to_string(value.size()) + " bytes; at most " +
             std::to_string(kMaxStringBytes));
    }
    const auto is_control = [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    };
    if (std::any_of(value.begin(), value.end(), is_control)) {
      refuse("a string with a control character: " + quote(value));
    }
    return add(std::move(value));
  }

  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*elements*/) override {
    open(Json::object());
    return true;
  }

  bool key(string_t& value) override {
    Frame& frame = frames_.back();
    frame.key = value;
    if (!frame.keys.insert(value).second) refuse("the key occurs twice");
    if (frame.keys.size() > kMaxMembers) {
      refuse("an object with more than " + std::to_string(kMaxMembers) + " members");
    }
    note_line();
    return true;
  }

  bool end_object() override { return close(); }

  bool start_array(std::size_t /*elements*/) override {
    open(Json::array());
    return true;
  }

  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& error) override {
    if (text_.empty()) throw InputError(file_ + ":1:1: this is not JSON: the file is empty");
    // `position` is the number of bytes that were read, so the last of them is the offending one.
    const std::string_view read = text_.substr(0, position == 0 ? 0 : position - 1);
    const std::size_t line =
        1 + static_cast<std::size_t>(std::count(read.begin(), read.end(), '\n'));
    const std::size_t line_begin =
        read.rfind('\n') == std::string_view::npos ? 0 : read.rfind('\n') + 1;
    const std::size_t column = read.size() - line_begin + 1;
    // The message is "[json.exception.parse_error.101] parse error at line 1, column 2: syntax
    // error ...".
    std::string_view what = error.what();
    for (const std::string_view prefix : {"] ", "column "}) {
      const std::size_t at = what.find(prefix);
      if (at != std::string_view::npos) what.remove_prefix(at + prefix.size());
    }
    const std::size_t digits = what.find_first_not_of("0123456789");
    if (digits != std::string_view::npos && what.substr(digits, 2) == ": ") {
      what.remove_prefix(digits + 2);
    }
    throw InputError(file_ + ":" + std::to_string(line) + ":" + std::to_string(column) +
                     ": this is not JSON: " + printable(what, 300));
  }

 private:
  /// An object or array that is not closed yet.
  struct Frame {
    Json* node = nullptr;
    std::string key;             ///< Key of the next member.
    std::set<std::string> keys;  ///< Keys of an object.
  };

  /// Returns the JSON pointer of the next value.
  std::string pointer() const {
    std::string result;
    for (const Frame& frame : frames_) {
      // An array that contains an open value counts it already.
      const std::size_t held = &frame == &frames_.back() ? 0 : 1;
      result = frame.node->is_object() ? child(result, frame.key)
                                       : child(result, frame.node->size() - held);
    }
    return result;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    const std::string where = pointer();
    throw InputError(file_ + ":" + std::to_string(line_) + ": " +
                     (where.empty() ? "" : printable(where, 200) + ": ") + why);
  }

  void note_line() {
    if (lines_ != nullptr) lines_->emplace(pointer(), line_);
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  Json* place(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = frames_.back();
    if (frame.node->is_object()) {
      return &(frame.node->get_ref<Json::object_t&>()[frame.key] = std::move(value));
    }
    if (frame.node->size() >= kMaxElements) {
      refuse("an array with more than " + std::to_string(kMaxElements) + " elements");
    }
    note_line();
    frame.node->push_back(std::move(value));
    return &frame.node->back();
  }

  // Opens an object or array. Its node does not move while it is open: its parent gets no other
  // element until then.
  void open(Json value) {
    if (frames_.size() >= kMaxDepth) {
      refuse("nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
    Json* const node = place(std::move(value));
    frames_.push_back({.node = node, .key = {}, .keys = {}});
  }

  bool close() {
    frames_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const std::size_t& line_;  ///< Line of the parser.
  JsonLines* lines_;
  Json root_;
  std::vector<Frame> frames_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file, JsonLines* lines) {
  std::size_t line = 1;
  Builder builder(text, file, line, lines);
  // Every fault throws, so the return value can be ignored.
  Json::sax_parse(LineCounter(text.data(), line), LineCounter(text.data() + text.size(), line),
                  &builder);
  return builder.take();
}

std::string child(const std::string& pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string child(const std::string& pointer, std::size_t index) {
  return pointer + "/" + std::to_string(index);
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string summary(const Json& value) {
  if (value.is_string()) return printable("\"" + value.get<std::string>() + "\"", 80);
  // An array is cut before it is formatted, because its text could be as long as the file.
  if (value.is_array()) {
    std::string result = "[";
    for (const Json& element : value) {
      if (result.size() > 60) return result + ", ...";
      result += (result.size() == 1 ? "" : ", ") + summary(element);
    }
    return result + "]";
  }
  if (value.is_object()) return value.empty() ? "{}" : "{...}";
  return printable(value.dump(), 80);
}

}  // namespace smemtune
