#include "tuner/config/json_reader.h"

#include "tuner/core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <limits>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxMembers = 1000;
constexpr std::size_t kMaxElements = 100'000;
constexpr std::size_t kMaxStringBytes = 65'536;

/// Goes over a text and counts its lines. The parser, which tells no places, reads at most one
/// character behind a value, so that this is in the value's line.
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
  std::size_t* line_;         ///< Of the character before, from 1.
  bool is_new_line_ = false;  ///< That character ends its line.
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
      refuse(printable(digits) + " is not an integer of 64 bits");
    }
    return add(value);
  }

  bool string(string_t& value) override {
    if (value.size() > kMaxStringBytes) {
      refuse("a string of " + std::to_string(value.size()) + " bytes; the most is " +
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
    if (!frame.keys.insert(value).second) refuse("the key is there twice");
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
    // `position` counts the bytes that were read, so the last of them is the offending one.
    const std::string_view read = text_.substr(0, position == 0 ? 0 : position - 1);
    const std::size_t line =
        1 + static_cast<std::size_t>(std::count(read.begin(), read.end(), '\n'));
    const std::size_t line_begin =
        read.rfind('\n') == std::string_view::npos ? 0 : read.rfind('\n') + 1;
    const std::size_t column = read.size() - line_begin + 1;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...".
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
    std::string key;             ///< Of the member that comes next.
    std::set<std::string> keys;  ///< Of an object.
  };

  /// Of the value that comes next.
  std::string pointer() const {
    std::string result;
    for (const Frame& frame : frames_) {
      // An array that holds an open value counts it already.
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

  // The node stays where it is while it is open: its parent gets no other element until it closes.
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
  const std::size_t& line_;  ///< Where the parser is.
  JsonLines* lines_;
  Json root_;
  std::vector<Frame> frames_;
};

/// Closes a descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

/// Length of the UTF-8 sequence that begins `text`, or 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80             ? 1
                             : (byte(0) & 0xE0) == 0xC0 ? 2
                             : (byte(0) & 0xF0) == 0xE0 ? 3
                             : (byte(0) & 0xF8) == 0xF0 ? 4
                                                        : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

/// Whether a terminal would act on the character: C0, DEL, C1, and the marks that turn the
/// direction of writing or end a line.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || byte(2) >= 0xA8)) ||  // 200E...
         (byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF);                         // 2060...
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file, JsonLines* lines) {
  std::size_t line = 1;
  Builder builder(text, file, line, lines);
  // Every fault throws, so the result tells nothing more.
  Json::sax_parse(LineCounter(text.data(), line), LineCounter(text.data() + text.size(), line),
                  &builder);
  return builder.take();
}

std::string read_text(const std::filesystem::path& file, std::size_t max_bytes) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(printable(file.string(), 500) + ": " + why);
  };
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (descriptor.value() < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  if (fstat(descriptor.value(), &status) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  std::string text;
  std::vector<char> buffer(65'536);
  while (text.size() <= max_bytes) {
    const ssize_t count = read(descriptor.value(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  refuse("is longer than " + std::to_string(max_bytes) + " bytes");
  return {};
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

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= max_bytes) return result + "...";
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text.substr(0, length))) {
      result += '?';
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string quote(std::string_view text, std::size_t max_bytes) {
  std::string result = "'";
  result += printable(text, max_bytes);
  result += "'";
  return result;
}

std::string summary(const Json& value) {
  if (value.is_string()) return printable("\"" + value.get<std::string>() + "\"");
  // A list is cut before it is written, because its text could be as long as the file.
  if (value.is_array()) {
    std::string result = "[";
    for (const Json& element : value) {
      if (result.size() > 60) return result + ", ...";
      result += (result.size() == 1 ? "" : ", ") + summary(element);
    }
    return result + "]";
  }
  if (value.is_object()) return value.empty() ? "{}" : "{...}";
  return printable(value.dump());
}

}  // namespace smemtune
