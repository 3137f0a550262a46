#include "db/json_values.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <variant>

namespace smemtune::db {

using nlohmann::ordered_json;

ordered_json json_number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json json_bindings(const Bindings& bindings) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : bindings) {
    std::visit([&, &key = name](const auto& held) { object[key] = held; }, value);
  }
  return object;
}

}  // namespace smemtune::db
