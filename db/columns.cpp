#include "db/columns.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace smemtune::db {

namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Parses the column and lets `read` take what it needs.
template <typename Read>
auto parse(const Statement& row, const char* column, Read read) {
  try {
    return read(json::parse(row.text(column)));
  } catch (const json::exception& error) {
    throw row.damaged(column, error.what());
  }
}

json dimensions(const Dim3& dimensions) {
  return json::array({dimensions[0], dimensions[1], dimensions[2]});
}

}  // namespace

std::string to_json(const Bindings& bindings) {
  json object = json::object();
  for (const auto& [name, value] : bindings) {
    std::visit([&, &key = name](const auto& held) { object[key] = held; }, value);
  }
  return dump(object);
}

Bindings bindings_from_json(const Statement& row, const char* column) {
  return parse(row, column, [](const json& object) {
    Bindings bindings;
    for (const auto& [name, value] : object.items()) {
      if (value.is_string()) {
        bindings[name] = value.get<std::string>();
      } else {
        bindings[name] = value.get<std::int64_t>();
      }
    }
    return bindings;
  });
}

std::string to_json(const std::vector<LaunchResult>& launches) {
  json array = json::array();
  for (const LaunchResult& launch : launches) {
    const LaunchShape& shape = launch.shape;
    const Resources& resources = launch.resources;
    const Occupancy& occupancy = launch.occupancy;
    json object = {{"entry", shape.name_expression},
                   {"grid", dimensions(shape.grid)},
                   {"block", dimensions(shape.block)},
                   {"dynamic_shared_bytes", shape.dynamic_shared_bytes},
                   {"arguments", shape.arguments},
                   {"resources",
                    {{"registers_per_thread", resources.registers_per_thread},
                     {"static_shared_bytes", resources.static_shared_bytes},
                     {"stack_bytes", resources.stack_bytes},
                     {"spill_store_bytes", resources.spill_store_bytes},
                     {"spill_load_bytes", resources.spill_load_bytes},
                     {"constant_bytes", resources.constant_bytes},
                     {"barriers", resources.barriers},
                     {"max_threads_per_block", resources.max_threads_per_block}}},
                   {"occupancy",
                    {{"blocks_per_sm", occupancy.blocks_per_sm},
                     {"warps_per_sm", occupancy.warps_per_sm},
                     {"percent", std::isfinite(occupancy.percent) ? occupancy.percent : 0.0},
                     {"blocks_by_threads", occupancy.blocks_by_threads},
                     {"blocks_by_registers", occupancy.blocks_by_registers},
                     {"blocks_by_shared", occupancy.blocks_by_shared},
                     {"blocks_by_limit", occupancy.blocks_by_limit}}}};
    if (resources.wgmma_serialized) object["resources"]["wgmma_serialized"] = true;
    if (shape.static_shared_bytes) object["static_shared_bytes"] = *shape.static_shared_bytes;
    array.push_back(std::move(object));
  }
  return dump(array);
}

std::vector<LaunchResult> launches_from_json(const Statement& row, const char* column) {
  return parse(row, column, [](const json& array) {
    std::vector<LaunchResult> launches;
    for (const json& object : array) {
      LaunchResult launch;
      LaunchShape& shape = launch.shape;
      shape.name_expression = object.at("entry").get<std::string>();
      shape.grid = object.at("grid").get<Dim3>();
      shape.block = object.at("block").get<Dim3>();
      shape.dynamic_shared_bytes = object.at("dynamic_shared_bytes").get<std::int64_t>();
      shape.arguments = object.at("arguments").get<std::vector<std::string>>();
      if (object.contains("static_shared_bytes")) {
        shape.static_shared_bytes = object.at("static_shared_bytes").get<std::int64_t>();
      }
      const json& resources = object.at("resources");
      launch.resources = {
          .registers_per_thread = resources.at("registers_per_thread").get<int>(),
          .static_shared_bytes = resources.at("static_shared_bytes").get<std::int64_t>(),
          .stack_bytes = resources.at("stack_bytes").get<std::int64_t>(),
          .spill_store_bytes = resources.at("spill_store_bytes").get<std::int64_t>(),
          .spill_load_bytes = resources.at("spill_load_bytes").get<std::int64_t>(),
          .constant_bytes = resources.at("constant_bytes").get<std::int64_t>(),
          .barriers = resources.at("barriers").get<int>(),
          .max_threads_per_block = resources.at("max_threads_per_block").get<int>(),
          .wgmma_serialized = resources.value("wgmma_serialized", false)};
      const json& occupancy = object.at("occupancy");
      launch.occupancy = {.blocks_per_sm = occupancy.at("blocks_per_sm").get<int>(),
                          .warps_per_sm = occupancy.at("warps_per_sm").get<int>(),
                          .percent = occupancy.at("percent").get<double>(),
                          .blocks_by_threads = occupancy.at("blocks_by_threads").get<int>(),
                          .blocks_by_registers = occupancy.at("blocks_by_registers").get<int>(),
                          .blocks_by_shared = occupancy.at("blocks_by_shared").get<int>(),
                          .blocks_by_limit = occupancy.at("blocks_by_limit").get<int>()};
      launches.push_back(std::move(launch));
    }
    return launches;
  });
}

std::string to_json(const std::map<std::string, double>& metrics) {
  json object = json::object();
  for (const auto& [name, value] : metrics) {
    if (std::isfinite(value)) object[name] = value;
  }
  return dump(object);
}

std::map<std::string, double> metrics_from_json(const Statement& row, const char* column) {
  return parse(row, column,
               [](const json& object) { return object.get<std::map<std::string, double>>(); });
}

std::string to_json(const std::vector<std::string>& words) { return dump(json(words)); }

std::vector<std::uint8_t> to_blob(std::span<const double> samples_ms) {
  std::vector<std::uint8_t> blob;
  blob.reserve(samples_ms.size() * 4);
  for (const double sample : samples_ms) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(sample));
    for (int shift = 0; shift < 32; shift += 8) {
      blob.push_back(static_cast<std::uint8_t>(bits >> shift));
    }
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
  // 10xxxxxx continues a character of UTF-8.
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
  return text.substr(0, kept) + note(kept);
}

}  // namespace smemtune::db
