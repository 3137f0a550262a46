#include "db/json_entries.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace smemtune::db {

namespace {

using simdjson::ondemand::json_type;

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kMaxStringBytes = std::size_t{1} << 20;
constexpr std::array<std::string_view, 5> kLists = {"cache", "results", "best", "Results",
                                                    "candidates"};

/// Parses what Python writes where JSON has no number; simdjson reports no type for it.
std::optional<double> python_number(JsonText value) {
  std::string_view token = value.raw_json_token();
  token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (token == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (token == "Infinity") return kInfinity;
  if (token == "-Infinity") return -kInfinity;
  return std::nullopt;
}

std::string_view within_limit(std::string_view text) {
  if (text.size() > kMaxStringBytes) throw InputError("a string of more than a million bytes");
  return text;
}

class WholeJson {
 public:
  Json read(JsonText value, std::size_t depth = 0) {
    if (++values_ > kMaxValues) throw InputError("more than a million values in one place");
    json_type type = json_type::null;
    if (value.type().get(type) != simdjson::SUCCESS) {
      if (python_number(value)) return nullptr;
      type = json_type::number;  // Reading it as a number reports what is wrong with it.
    }
    switch (type) {
      case json_type::object:
        return object(value, depth + 1);
      case json_type::array:
        return array(value, depth + 1);
      case json_type::string:
        return std::string(within_limit(value.get_string()));
      case json_type::boolean:
        return bool(value.get_bool());
      case json_type::null:
        if (!bool(value.is_null())) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
        return nullptr;
      default:
        return number(value);
    }
  }

 private:
  static void check_depth(std::size_t depth) {
    if (depth > kMaxDepth) throw InputError("nested deeper than " + std::to_string(kMaxDepth));
  }

  Json object(JsonText value, std::size_t depth) {
    check_depth(depth);
    Json all = Json::object();
    std::unordered_set<std::string> names;  // Used once there are more than a few names.
    const auto is_new = [&](const std::string& name) {
      constexpr std::size_t kFew = 32;  // Up to this many names a linear search is faster.
      if (all.size() < kFew) return !all.contains(name);
      if (names.empty()) {
        for (const auto& member : all.items()) names.insert(member.key());
      }
      return names.insert(name).second;
    };
    for (auto member : value.get_object()) {
      std::string name(within_limit(member.unescaped_key()));
      if (!is_new(name)) throw InputError("the name " + quote(name) + " occurs twice");
      all.get_ref<Json::object_t&>().Container::emplace_back(std::move(name),
                                                             read(member.value(), depth));
    }
    return all;
  }

  Json array(JsonText value, std::size_t depth) {
    check_depth(depth);
    Json all = Json::array();
    for (auto one : value.get_array()) all.push_back(read(one.value(), depth));
    return all;
  }

  static Json number(JsonText value) {
    if (python_number(value)) return nullptr;  // "-Infinity" begins like a number.
    const simdjson::ondemand::number number = value.get_number();
    if (number.is_uint64()) return number.get_uint64();
    if (number.is_int64()) return number.get_int64();
    return number.get_double();
  }

  std::size_t values_ = 0;
};

/// Returns the text up to and including its last closing brace.
std::string_view up_to_last_end(std::string_view text) {
  return text.substr(0, text.find_last_of('}') + 1);
}

/// Returns true if the text opens more objects and arrays than it closes.
bool leaves_open(std::string_view text) {
  std::int64_t open = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (!in_string && (c == '{' || c == '[')) ++open;
    if (!in_string && (c == '}' || c == ']')) --open;
  }
  return open > 0;
}

/// Returns the text before the unterminated string, which begins at the last quote that is not
/// escaped.
std::string_view up_to_open_string(std::string_view text) {
  for (std::size_t end = text.rfind('"'); end != std::string_view::npos && end > 0;
       end = text.rfind('"', end - 1)) {
    const std::size_t before = text.find_last_not_of('\\', end - 1);
    const std::size_t backslashes = end - 1 - (before == std::string_view::npos ? 0 : before);
    if (backslashes % 2 == 0) return text.substr(0, end);
  }
  return {};
}

class EntriesReader {
 public:
  EntriesReader(const std::string& what, std::string&& text, const JsonEntries::IsEnough& is_enough,
                const JsonEntries::Take& take)
      : what_(what), text_(std::move(text)), is_enough_(is_enough), take_(take) {
    // Programs on Windows write this mark at the beginning of UTF-8 files.
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
    text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
  }

  JsonEntries read() {
    const std::size_t last = text_.find_last_not_of(" \t\r\n");
    if (last != std::string::npos && text_[last] != '}') cut_to(up_to_last_end(text_));
    if (begin() == simdjson::UNCLOSED_STRING) {
      cut_to(up_to_last_end(up_to_open_string(text_)));
      begin();
    }
    read_.head = Json::object();
    if (text_.empty()) return std::move(read_);
    pass([this](const std::string& name, JsonText value) { take_member(name, value); });
    if (later_.empty()) return std::move(read_);
    if (document_.is_alive()) {
      document_.rewind();
    } else {
      begin();
    }
    pass([this](const std::string& name, JsonText value) {
      if (std::ranges::find(later_, name) != later_.end()) take_entries(name, value);
    });
    return std::move(read_);
  }

 private:
  void cut_to(std::string_view beginning) {
    text_.resize(beginning.size());
    read_.cut_off = true;
  }

  simdjson::error_code begin() {
    error_ = parser_.iterate(text_.data(), text_.size(), text_.capacity()).get(document_);
    return error_;
  }

  /// Visits the members of the top-level object.
  template <typename Visit>
  void pass(Visit visit) {
    try {
      if (error_ != simdjson::SUCCESS) throw simdjson::simdjson_error(error_);
      simdjson::ondemand::object members = document_.get_object();
      for (auto member : members) {
        const std::string name(within_limit(member.unescaped_key()));
        visit(name, member.value());
      }
      const char* behind = nullptr;
      if (document_.current_location().get(behind) == simdjson::SUCCESS) {
        throw InputError("there is text after the end of the JSON object");
      }
    } catch (const simdjson::simdjson_error& thrown) {
      note(thrown);
    } catch (const Json::exception& thrown) {
      throw InputError(what_ + ": " + thrown.what());
    } catch (const InputError& thrown) {
      const std::string text = thrown.what();
      throw InputError(text.starts_with(what_) ? text : what_ + ": " + text);
    }
  }

  static bool is_list(const std::string& name, JsonText value) {
    if (std::ranges::find(kLists, name) == kLists.end()) return false;
    const json_type type = value.type();
    return type == json_type::object || type == json_type::array;
  }

  void take_member(const std::string& name, JsonText value) {
    if (!names_.insert(name).second) {
      throw InputError("the name " + quote(name) + " occurs twice");
    }
    // Appends by position: a lookup of each name would take quadratic time.
    Json& member =
        read_.head.get_ref<Json::object_t&>().Container::emplace_back(name, nullptr).second;
    if (!is_list(name, value)) {
      member = head_.read(value);
      return;
    }
    member = value.type() == json_type::array ? Json::array() : Json::object();
    if (is_enough_(read_.head, name)) {
      take_entries(name, value);
    } else {
      later_.push_back(name);
    }
  }

  void take_entries(const std::string& name, JsonText value) {
    if (!is_list(name, value)) return;
    if (value.type() == json_type::array) {
      for (auto entry : value.get_array()) take_(read_.head, name, entry.value());
    } else {
      for (auto entry : value.get_object()) take_(read_.head, name, entry.value());
    }
  }

  /// Treats an error at the end of the text as truncation if something is still open; throws any
  /// other error.
  void note(const simdjson::simdjson_error& error) {
    const char* const begin = text_.data();
    const char* at = begin;
    if (error_ == simdjson::SUCCESS) {
      const bool at_end = document_.current_location().get(at) != simdjson::SUCCESS ||
                          at == begin || at + 1 >= begin + text_.size();
      if (at_end && leaves_open(text_)) {
        read_.cut_off = true;
        return;
      }
    }
    const auto line = 1 + std::count(begin, std::min(at, begin + text_.size()), '\n');
    throw InputError(what_ + ": line " + std::to_string(line) + ": " + error.what());
  }

  const std::string& what_;
  std::string text_;
  const JsonEntries::IsEnough& is_enough_;
  const JsonEntries::Take& take_;
  std::unordered_set<std::string> names_;  ///< Names of the members of the top-level object.
  /// Lists that came before the members needed to read their entries.
  std::vector<std::string> later_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  simdjson::error_code error_ = simdjson::SUCCESS;  ///< Error that concerns the whole text.
  WholeJson head_;
  JsonEntries read_;
};

}  // namespace

std::optional<std::string> fault_of_entry(const std::function<void()>& read) {
  try {
    read();
  } catch (const WholeFileFault&) {
    throw;
  } catch (const InputError& error) {
    return error.what();
  } catch (const Json::exception& error) {
    return error.what();
  } catch (const simdjson::simdjson_error& error) {
    // Errors of a single value, whose end is known nevertheless.
    constexpr simdjson::error_code kOfValues[] = {simdjson::INCORRECT_TYPE, simdjson::NUMBER_ERROR,
                                                  simdjson::NUMBER_OUT_OF_RANGE,
                                                  simdjson::STRING_ERROR};
    if (std::ranges::find(kOfValues, error.error()) == std::end(kOfValues)) throw;
    return error.what();
  }
  return std::nullopt;
}

Json whole_json(JsonText value) { return WholeJson().read(value); }

double number_of(JsonText value) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) return number;
  return python_number(value).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string_view string_of(JsonText value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? within_limit(text)
                                                           : std::string_view();
}

JsonEntries read_json_entries(const std::string& what, std::string text,
                              const JsonEntries::IsEnough& is_enough,
                              const JsonEntries::Take& take) {
  return EntriesReader(what, std::move(text), is_enough, take).read();
}

}  // namespace smemtune::db
