#include "db/stored_names.h"

#include "tuner/core/names.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <filesystem>

namespace smemtune::db {

namespace {

/// Appends the column `name` of all rows. Bindings, if the statement has them: :source, :run.
void add_names(const Connection& connection, const Query& query, const char* sql,
               std::vector<std::string>& names) {
  Statement select(connection, sql);
  const std::string_view text = sql;
  if (text.find(":source") != std::string_view::npos) select.bind(":source", query.source);
  if (text.find(":run") != std::string_view::npos) select.bind(":run", query.run);
  while (select.step()) names.push_back(select.text("name"));
}

bool same_ignoring_case(std::string_view one, std::string_view other) {
  return lower_case(one) == lower_case(other);
}

std::string meant_file(const std::string& given, const std::vector<std::string>& files) {
  const auto whole = [](const std::string& file) { return file; };
  const auto without_folder = [](const std::string& file) {
    return std::filesystem::path(file).filename().string();
  };
  const auto without_extension = [&](const std::string& file) {
    const std::string name = without_folder(file);
    return name.substr(0, name.find('.', 1));
  };
  std::vector<std::string> meant;
  const auto look = [&](const auto& form) {
    if (!meant.empty()) return;
    std::ranges::copy_if(files, std::back_inserter(meant), [&](const std::string& file) {
      return same_ignoring_case(form(file), given);
    });
  };
  look(whole);
  look(without_folder);
  look(without_extension);
  return only_name("source", given, meant.empty() ? meant_names(given, files) : meant);
}

/// Returns the kernel's name. `space`: only kernels of this space; empty: of any space.
std::string meant_kernel(const std::string& given, const std::string& space,
                         const std::vector<StoredNames::Kernel>& kernels) {
  std::vector<std::string> names;
  std::vector<std::string> with_space;
  for (const StoredNames::Kernel& one : kernels) {
    if (!space.empty() && one.space != space) continue;
    names.push_back(one.name);
    with_space.push_back(one.space + "/" + one.name);
  }
  const bool has_space =
      given.find('/') != std::string::npos && std::ranges::find(names, given) == names.end();
  return meant_name("kernel", given, has_space ? with_space : names);
}

}  // namespace

bool is_source_word(const std::string& source) {
  return source == "own" || source == "imported" || source == "all";
}

void StoredNames::add(const Connection& connection, const Query& query) {
  // An imported file is not linked to its kernels by name, so the names in all imports are
  // candidates.
  Query of = query;
  if (!is_source_word(of.source)) of.source = "imported";
  if (!query.device.empty()) {
    add_names(connection, of, R"sql(
      SELECT DISTINCT name FROM device_model
      WHERE CASE :source WHEN 'own' THEN NOT imported WHEN 'imported' THEN imported ELSE 1
            END)sql",
              devices);
    add_names(connection, of, "SELECT DISTINCT name FROM device_model WHERE kind = 'cpu'", cpus);
    add_names(connection, of, "SELECT DISTINCT uuid AS name FROM device_unit", uuids);
  }
  if (!query.space.empty()) {
    add_names(connection, of, R"sql(
      SELECT DISTINCT space.name FROM run JOIN space ON space.id = run.space_id
      WHERE CASE :source WHEN 'own' THEN origin_id = 0 WHEN 'imported' THEN origin_id <> 0 ELSE 1
            END)sql",
              spaces);
  }
  if (!query.kernel.empty()) {
    Statement select(connection, R"sql(
      SELECT DISTINCT space.name AS space_name, kernel.name AS kernel_name
      FROM kernel JOIN space ON space.id = kernel.space_id
      WHERE EXISTS (SELECT 1 FROM device_model CROSS JOIN result
                      ON result.model_id = device_model.id AND result.kernel_id = kernel.id
                    WHERE CASE :source WHEN 'own' THEN NOT imported
                                       WHEN 'imported' THEN imported ELSE 1 END))sql");
    select.bind(":source", of.source);
    while (select.step()) {
      kernels.push_back({.space = select.text("space_name"), .name = select.text("kernel_name")});
    }
  }
  if (!query.run.empty()) {
    add_names(connection, of, R"sql(
      SELECT uid AS name FROM run WHERE substr(uid, 1, length(:run)) = :run LIMIT 100)sql",
              runs);
  }
  if (!is_source_word(query.source)) {
    add_names(connection, of, "SELECT DISTINCT file AS name FROM origin", files);
  }
}

Query exact_query(Query query, const StoredNames& names) {
  if (query.exact) return query;
  query.exact = true;
  const bool is_uuid = std::ranges::any_of(names.uuids, [&](const std::string& uuid) {
    return !uuid.empty() && same_ignoring_case(uuid, query.device);
  });
  if (!query.device.empty() && !is_uuid) {
    const bool is_cpu = !names.cpus.empty() && same_ignoring_case("cpu", query.device);
    query.device = is_cpu ? only_name("device", query.device, names.cpus)
                          : meant_name("device", query.device, names.devices);
  }
  if (!query.space.empty()) query.space = meant_name("space", query.space, names.spaces);
  if (!query.kernel.empty()) query.kernel = meant_kernel(query.kernel, query.space, names.kernels);
  if (!query.run.empty() && std::ranges::find(names.runs, query.run) == names.runs.end()) {
    query.run = only_name("run", query.run, names.runs);
  }
  if (!is_source_word(query.source)) query.source = meant_file(query.source, names.files);
  return query;
}

Query exact_query(const Connection& connection, const Query& query) {
  StoredNames names;
  if (!query.exact) names.add(connection, query);
  return exact_query(query, names);
}

}  // namespace smemtune::db
