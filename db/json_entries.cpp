#include "db/json_entries.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace smemtune::db {

namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kMaxStringBytes = std::size_t{1} << 20;
constexpr std::array<std::string_view, 3> kLists = {"cache", "results", "best"};

/// Builds what the parser meets: the document without its lists, or one entry of a list at a time.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string what, const JsonEntries::Take& take) : what_(std::move(what)), take_(take) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    if (value.size() > kMaxStringBytes) fail("a string of more than a million bytes");
    return add(std::move(value));
  }
  bool binary(binary_t&) override { fail("binary data"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.empty()) {  // Of an entry in a list that is an object.
      return true;
    }
    if (open_.back()->contains(name)) fail("the name " + quote(name) + " stands twice");
    name_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    position_ = position;
    error_ = error.what();
    return false;
  }

  Json take_head() { return std::move(head_); }
  std::size_t error_position() const { return position_; }
  const std::string& error() const { return error_; }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InputError(what_ + ": " + what); }

  /// Whether what comes now is an entry of a list.
  bool in_list() const { return !list_.empty() && open_.empty(); }

  Json& place(Json&& value) {
    if (++values_ > kMaxValues) fail("more than a million values outside of one entry, or in one");
    if (in_list()) {
      entry_ = std::move(value);
      return entry_;
    }
    if (open_.empty()) {
      head_ = std::move(value);
      return head_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return parent.back();
    }
    // The name is new: key() has seen to it.
    auto& members = parent.get_ref<Json::object_t&>();
    members.Container::emplace_back(std::move(name_), std::move(value));
    return members.back().second;
  }

  bool add(Json&& value) {
    place(std::move(value));
    if (in_list()) hand_over();
    return true;
  }

  bool open(Json&& value) {
    const bool is_list = list_.empty() && open_.size() == 1 && head_.is_object() &&
                         std::ranges::find(kLists, name_) != kLists.end();
    if (is_list) {
      list_ = name_;
      head_values_ = std::exchange(values_, 0);
      head_.get_ref<Json::object_t&>().Container::emplace_back(std::move(name_), nullptr);
      open_.clear();
      return true;
    }
    if (open_.size() >= kMaxDepth) fail("nested deeper than " + std::to_string(kMaxDepth));
    Json& placed = place(std::move(value));
    open_.push_back(&placed);
    return true;
  }

  bool close() {
    if (in_list()) {  // The list itself ends.
      list_.clear();
      values_ = head_values_;
      open_ = {&head_};
      return true;
    }
    open_.pop_back();
    if (in_list()) hand_over();
    return true;
  }

  void hand_over() {
    values_ = 0;
    take_(head_, list_, std::move(entry_));
  }

  std::string what_;
  const JsonEntries::Take& take_;
  Json head_;
  Json entry_;
  std::vector<Json*> open_;  ///< From the outermost; of the entry where a list is read.
  std::string name_;         ///< Of the member that comes next.
  std::string list_;         ///< The list that is read; empty: none.
  std::size_t values_ = 0;
  std::size_t head_values_ = 0;
  std::size_t position_ = 0;
  std::string error_;
};

}  // namespace

JsonEntries read_json_entries(const std::string& what, std::string_view text,
                              const JsonEntries::Take& take) {
  Builder builder(what, take);
  const bool whole = Json::sax_parse(text, &builder);
  const bool cut_off = !whole && builder.error_position() >= text.size();
  JsonEntries read = {.head = builder.take_head(), .cut_off = cut_off};
  if (!whole && !(cut_off && read.head.is_object()))
    throw InputError(what + ": " + builder.error());
  return read;
}

}  // namespace smemtune::db
