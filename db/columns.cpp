#include "db/columns.h"

#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <simdjson.h>

namespace smemtune::db {

namespace {

/// Usual size of a name and its value in a JSON object, for reserving memory.
constexpr std::size_t kUsualBytes = 24;

std::string column_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Appends the word as a JSON string. Most stored strings need no escapes, which is the fast case.
void append_string(const std::string& word, std::string& text) {
  const bool is_plain = std::ranges::all_of(
      word, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain) {
    text.append(1, '"').append(word).append(1, '"');
  } else {
    text += column_text(Json(word));
  }
}

/// Parses the column as JSON and returns what `read` makes of it.
template <typename Read>
auto parse(const Statement& row, std::string_view column, Read read) {
  thread_local simdjson::dom::parser parser;
  try {
    return read(parser.parse(row.text(column)).value());
  } catch (const simdjson::simdjson_error& error) {
    throw row.damaged(column, error.what());
  } catch (const InputError& error) {
    throw row.damaged(column, error.what());
  }
}

}  // namespace

std::string all_equal(const std::vector<std::string>& columns) {
  return joined(columns, " AND ",
                [](const std::string& column) { return column + " = :" + column; });
}

NewRow& NewRow::set(const std::string& column, const Dim3& size) {
  return set(column + "_x", size[0]).set(column + "_y", size[1]).set(column + "_z", size[2]);
}

std::int64_t NewRow::store_in(const Connection& connection, const std::string& table) const {
  Statement insert(connection, "INSERT INTO " + table + " (" + joined(columns_, ", ") +
                                   ") VALUES (:" + joined(columns_, ", :") +
                                   ") ON CONFLICT DO NOTHING");
  for (const auto& bind : binders_) bind(insert);
  insert.run();
  Statement select(connection, "SELECT id FROM " + table + " WHERE " + all_equal(key_));
  for (std::size_t i = 0; i < key_.size(); ++i) binders_[i](select);
  return select.id();
}

ResultGroup read_group(const Statement& row) {
  return {.model_id = row.integer("model_id"),
          .kernel_id = row.integer("kernel_id"),
          .problem_id = row.integer("problem_id")};
}

Statement& bind_group(Statement& statement, const ResultGroup& group) {
  return statement.bind(":model", group.model_id)
      .bind(":kernel", group.kernel_id)
      .bind(":problem", group.problem_id);
}

void read_column(const Statement& row, std::string_view column, bool& value) {
  value = row.integer(column) != 0;
}

void read_column(const Statement& row, std::string_view column, int& value) {
  value = static_cast<int>(row.integer(column));
}

void read_column(const Statement& row, std::string_view column, std::int64_t& value) {
  value = row.integer(column);
}

void read_column(const Statement& row, std::string_view column, double& value) {
  value = row.real(column);
}

void read_column(const Statement& row, std::string_view column, std::string& value) {
  value = row.text(column);
}

void read_column(const Statement& row, std::string_view column, Dim3& value) {
  const auto of = [&](const char* axis) { return row.integer(std::string(column) + axis); };
  value = {of("_x"), of("_y"), of("_z")};
}

void read_column(const Statement& row, std::string_view column,
                 std::vector<ComparedOutput>& value) {
  value.clear();
  if (row.text(column).empty()) return;
  parse(row, column, [&](JsonElement all) {
    for (const simdjson::dom::array one : all) {
      value.push_back({.problem = read_bindings(one.at(0).value()),
                       .output = std::string(std::string_view(one.at(1))),
                       .with = parse_compared_with(std::string(std::string_view(one.at(2)))),
                       .compared = one.at(3),
                       .elements_total = one.at(4),
                       .only_sum = one.size() > 5 && bool(one.at(5))});
    }
  });
}

void read_column(const Statement& row, std::string_view column, FinalsFacts& value) {
  value = {};
  if (row.text(column).empty()) return;
  try {
    value = finals_from(Json::parse(row.text(column)));
  } catch (const Json::exception& error) {
    throw row.damaged(column, error.what());
  } catch (const InputError& error) {
    throw row.damaged(column, error.what());
  }
}

std::string to_json(const Bindings& bindings) {
  std::array<char, 24> digits{};
  std::string text = "{";
  text.reserve(kUsualBytes * bindings.size());
  for (const auto& [name, value] : bindings) {
    if (text.size() > 1) text += ',';
    append_string(name, text);
    text += ':';
    if (const auto* word = std::get_if<std::string>(&value)) {
      append_string(*word, text);
    } else {
      text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(),
                                               std::get<std::int64_t>(value))
                                     .ptr);
    }
  }
  text += '}';
  return text;
}

Bindings bindings_from_json(const Statement& row, const char* column) {
  return parse(row, column, read_bindings);
}

std::string to_json(const std::vector<LaunchResult>& launches) {
  if (launches.empty()) return "[]";
  return column_text(list_json(launches, [](const LaunchResult& launch) {
    Json object = launch_json(launch);
    // Unknown values are left out: earlier releases expect a number in each member that is present.
    for (auto member = object.begin(); member != object.end();) {
      member = member->is_null() ? object.erase(member) : std::next(member);
    }
    return object;
  }));
}

std::vector<LaunchResult> launches_from_json(const Statement& row, const char* column) {
  return parse(row, column, [](simdjson::dom::array array) {
    std::vector<LaunchResult> launches;
    for (const JsonElement object : array) launches.push_back(read_launch(object));
    return launches;
  });
}

std::string to_json(const std::vector<ComparedOutput>& compared) {
  if (compared.empty()) return "";
  Json array = Json::array();
  for (const ComparedOutput& one : compared) {
    array.push_back(Json::array({bindings_json(one.problem), one.output, to_text(one.with),
                                 one.compared, one.elements_total}));
    if (one.only_sum) array.back().push_back(true);
  }
  return column_text(array);
}

std::string to_json(const FinalsFacts& facts) {
  return facts == FinalsFacts() ? "" : column_text(finals_json(facts));
}

std::string to_json(const std::map<std::string, double>& metrics) {
  if (metrics.empty()) return "{}";
  Json object = Json::object();
  for (const auto& [name, value] : metrics) {
    if (std::isfinite(value)) object[name] = value;
  }
  return column_text(object);
}

std::map<std::string, double> metrics_from_json(const Statement& row, const char* column) {
  return parse(row, column, [](simdjson::dom::object object) {
    std::map<std::string, double> metrics;
    for (const auto& [name, value] : object) metrics.emplace(name, value);
    return metrics;
  });
}

std::string to_json(const std::vector<std::string>& words) { return column_text(Json(words)); }

std::vector<std::string> words_from_json(const Statement& row, const char* column) {
  return parse(row, column, [](simdjson::dom::array array) {
    std::vector<std::string> words;
    for (const JsonElement word : array) words.emplace_back(std::string_view(word));
    return words;
  });
}

std::vector<std::uint8_t> to_blob(std::span<const double> samples_ms) {
  std::vector<std::uint8_t> blob(samples_ms.size() * 4);
  auto byte = blob.begin();
  for (const double sample : samples_ms) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(sample));
    for (int shift = 0; shift < 32; shift += 8) *byte++ = static_cast<std::uint8_t>(bits >> shift);
  }
  return blob;
}

std::vector<double> samples_from_blob(std::span<const std::uint8_t> blob) {
  std::vector<double> samples_ms;
  samples_ms.reserve(blob.size() / 4);
  for (std::size_t i = 0; i + 4 <= blob.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 4; byte-- > 0;) bits = bits << 8 | blob[i + byte];
    samples_ms.push_back(static_cast<double>(std::bit_cast<float>(bits)));
  }
  return samples_ms;
}

std::string truncated(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const auto note = [&](std::size_t kept) {
    return "\n[" + std::to_string(text.size() - kept) + " bytes left out]";
  };
  std::size_t kept = limit - std::min(limit, note(0).size());
  // A byte of the form 10xxxxxx continues a UTF-8 character.
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
  return text.substr(0, kept) + note(kept);
}

}  // namespace smemtune::db
