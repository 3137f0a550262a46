#include "reports/comparison.h"

#include "db/device_model.h"
#include "db/json_forms.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace smemtune {

namespace {

using db::Json;
using db::StoredResult;

/// Longer configurations are broken at a comma.
constexpr std::size_t kColumnWidth = 32;

/// A device model with a column of its own.
struct Contender {
  std::string model;  ///< device_model_key().
  std::string label;  ///< Its name; `(CPU)` where it is one, a number where two have one name.
  bool is_gpu = true;
};

/// A space's problem, and the best of each contender (by its index) that has one.
struct Row {
  std::string space;
  Problem problem;
  std::map<std::size_t, const StoredResult*> best;
  double fastest_gpu_ms = 0;  ///< 0: no GPU.
};

/// How a GPU does with the best configuration of another.
struct Loss {
  const Row* row = nullptr;
  std::size_t on = 0;
  std::size_t best_of = 0;
  const StoredResult* measured = nullptr;  ///< There; nullptr: it was not.
  std::optional<double> percent = {};      ///< Nullopt where it does not run.
};

double median_ms(const StoredResult& stored) { return stored.result.measurement.median_ms; }

bool is_gpu(const StoredResult& stored) { return stored.device.kind == DeviceKind::gpu; }

/// GPUs by name, then CPUs.
std::vector<Contender> contenders(const std::vector<StoredResult>& best) {
  std::map<std::tuple<bool, std::string, std::string>, Contender> ordered;
  for (const StoredResult& stored : best) {
    const std::string model = db::device_model_key(stored.device);
    const bool gpu = is_gpu(stored);
    ordered[{!gpu, stored.device.name, model}] = {
        .model = model, .label = stored.device.name + (gpu ? "" : " (CPU)"), .is_gpu = gpu};
  }
  std::vector<Contender> list;
  std::map<std::string, int> named;
  for (auto& [order, contender] : ordered) {
    const int number = ++named[contender.label];
    if (number > 1) contender.label.append(" #").append(std::to_string(number));
    list.push_back(contender);
  }
  return list;
}

std::vector<Row> rows(const std::vector<StoredResult>& best,
                      const std::vector<Contender>& contenders) {
  std::map<std::pair<std::string, std::string>, Row> ordered;
  for (const StoredResult& stored : best) {
    if (!stored.result.timed()) continue;
    const std::string model = db::device_model_key(stored.device);
    const auto contender =
        std::find_if(contenders.begin(), contenders.end(),
                     [&](const Contender& candidate) { return candidate.model == model; });
    const auto column = static_cast<std::size_t>(contender - contenders.begin());
    Row& row = ordered[{stored.space, key(stored.result.problem)}];
    row.space = stored.space;
    row.problem = stored.result.problem;
    const auto [place, added] = row.best.try_emplace(column, &stored);
    if (!added && median_ms(stored) < median_ms(*place->second)) place->second = &stored;
  }
  std::vector<Row> list;
  for (auto& [order, row] : ordered) {
    for (const auto& [column, stored] : row.best) {
      if (!is_gpu(*stored)) continue;
      const double ms = median_ms(*stored);
      row.fastest_gpu_ms = row.fastest_gpu_ms == 0 ? ms : std::min(row.fastest_gpu_ms, ms);
    }
    list.push_back(std::move(row));
  }
  return list;
}

/// Identifies a configuration of one version of a kernel, on one problem and device.
using Subject =
    std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

Subject subject(const std::string& model, const StoredResult& stored) {
  return {model,
          stored.space,
          key(stored.result.problem),
          stored.result.kernel,
          stored.kernel_hash,
          key(stored.result.configuration)};
}

/// The losses point to the rows.
std::vector<Loss> losses(const std::vector<Row>& rows, const std::vector<Contender>& contenders,
                         const std::vector<StoredResult>& all) {
  std::map<Subject, const StoredResult*> newest;
  for (const StoredResult& stored : all) {
    if (stored.result.status == Status::correct && !stored.result.timed()) continue;
    newest[subject(db::device_model_key(stored.device), stored)] = &stored;
  }
  std::vector<Loss> list;
  for (const Row& row : rows) {
    for (const auto& [on, own] : row.best) {
      for (const auto& [best_of, others] : row.best) {
        if (on == best_of || !contenders[on].is_gpu || !contenders[best_of].is_gpu) continue;
        Loss loss;
        loss.row = &row;
        loss.on = on;
        loss.best_of = best_of;
        const auto measured = newest.find(subject(contenders[on].model, *others));
        if (measured != newest.end()) {
          loss.measured = measured->second;
          if (loss.measured->result.timed()) {
            loss.percent = (median_ms(*loss.measured) / median_ms(*own) - 1) * 100;
          }
        }
        list.push_back(loss);
      }
    }
  }
  return list;
}

/// Work of a metric per second; nullopt where the space does not define it.
std::optional<double> per_second(const Result& result, const char* metric) {
  const auto work = result.metrics.find(metric);
  if (work == result.metrics.end()) return std::nullopt;
  return work->second / (result.measurement.median_ms * 1e-3);
}

std::string rates(const Result& result) {
  const auto flops = per_second(result, "flops");
  const auto bytes = per_second(result, "bytes");
  std::string text = flops ? format_rate(*flops, "FLOP/s") : "";
  if (bytes) text.append(text.empty() ? "" : ", ").append(format_rate(*bytes, "B/s"));
  return text;
}

/// The text in lines that are broken after commas, none of them longer than a column where that can
/// be had.
std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines(1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size() - 1) + 1;
    if (!lines.back().empty() && lines.back().size() + (end - begin) > kColumnWidth) {
      lines.emplace_back();
    }
    lines.back() += text.substr(begin, end - begin);
    begin = end;
  }
  return lines;
}

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", value);
  return text;
}

std::size_t gpus(const Row& row, const std::vector<Contender>& contenders) {
  return static_cast<std::size_t>(
      std::count_if(row.best.begin(), row.best.end(),
                    [&](const auto& entry) { return contenders[entry.first].is_gpu; }));
}

/// What a table says of one device's best: time, rates, kernel, configuration.
std::vector<std::string> cell(const StoredResult& stored, const Row& row, bool with_ratio) {
  std::string time = format_time(median_ms(stored));
  if (with_ratio) {
    time.append(" (").append(ratio(median_ms(stored) / row.fastest_gpu_ms)).append(")");
  }
  std::vector<std::string> lines = {time};
  const std::string rate = rates(stored.result);
  if (!rate.empty()) lines.push_back(rate);
  lines.push_back(stored.result.kernel + (stored.stale ? " (stale)" : ""));
  const std::vector<std::string> configuration = wrapped(key(stored.result.configuration));
  lines.insert(lines.end(), configuration.begin(), configuration.end());
  return lines;
}

/// One space's problems as rows of several lines, one column for each device that has a best there.
std::string space_text(const std::string& space, const std::vector<Row>& rows,
                       const std::vector<Contender>& contenders) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const Row& row) { return row.space == space && row.best.count(i) > 0; })) {
      columns.push_back(i);
    }
  }
  std::vector<Table::Column> titles = {{"problem"}};
  for (const std::size_t column : columns) titles.push_back({contenders[column].label});
  Table table(titles);
  bool first = true;
  for (const Row& row : rows) {
    if (row.space != space) continue;
    std::vector<std::vector<std::string>> cells = {wrapped(key(row.problem))};
    for (const std::size_t column : columns) {
      const auto best = row.best.find(column);
      if (best == row.best.end()) {
        cells.push_back({"-"});
      } else {
        const bool with_ratio = contenders[column].is_gpu && gpus(row, contenders) > 1;
        cells.push_back(cell(*best->second, row, with_ratio));
      }
    }
    std::size_t height = 0;
    for (const auto& lines : cells) height = std::max(height, lines.size());
    if (!first) table.add_row(std::vector<std::string>(cells.size()));
    first = false;
    for (std::size_t line = 0; line < height; ++line) {
      std::vector<std::string> words;
      words.reserve(cells.size());
      for (const auto& lines : cells) words.push_back(line < lines.size() ? lines[line] : "");
      table.add_row(words);
    }
  }
  return printable(space) + "\n" + table.text("  ") + "\n";
}

std::string loss_word(const Loss& loss) {
  if (!loss.percent) {
    const Result& result = loss.measured->result;
    return "does not run: " + to_text(result.status) +
           (result.reason.empty() ? "" : " (" + result.reason + ")");
  }
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", *loss.percent);
  return text;
}

std::string losses_text(const std::vector<Loss>& losses, const std::vector<Contender>& contenders) {
  Table table({{"space"},
               {"problem"},
               {"on"},
               {"best of"},
               {"kernel"},
               {"configuration"},
               {"time", Table::Align::right},
               {"loss"}});
  std::size_t unknown = 0;
  for (const Loss& loss : losses) {
    if (loss.measured == nullptr) {
      ++unknown;
      continue;
    }
    const Result& result = loss.measured->result;
    table.add_row({loss.row->space, key(loss.row->problem), contenders[loss.on].label,
                   contenders[loss.best_of].label, result.kernel, key(result.configuration),
                   result.timed() ? format_time(median_ms(*loss.measured)) : "-", loss_word(loss)});
  }
  std::string text;
  if (unknown < losses.size()) {
    text = "A GPU that runs the best configuration of another\n" + table.text("  ");
  }
  if (unknown > 0) {
    text += format_count(unknown) + " of " + format_count(losses.size()) +
            " such pairs: not measured there\n";
  }
  return text;
}

Json entry_json(const StoredResult& stored, const Contender& contender, const Row& row) {
  Json entry = {{"column", contender.label}};
  entry.update(db::stored_json(stored));
  if (contender.is_gpu) {
    entry["time_to_fastest_gpu"] = db::number_json(median_ms(stored) / row.fastest_gpu_ms);
  }
  return entry;
}

Json loss_json(const Loss& loss, const std::vector<Contender>& contenders) {
  Json object = {{"space", loss.row->space},
                 {"problem", db::bindings_json(loss.row->problem)},
                 {"on", contenders[loss.on].label},
                 {"best_of", contenders[loss.best_of].label},
                 {"result", nullptr}};
  if (loss.measured != nullptr) object["result"] = db::result_json(loss.measured->result);
  if (loss.percent) object["loss_percent"] = db::number_json(*loss.percent);
  return object;
}

}  // namespace

std::string comparison_text(const std::vector<StoredResult>& best,
                            const std::vector<StoredResult>& all) {
  const std::vector<Contender> columns = contenders(best);
  const std::vector<Row> problems = rows(best, columns);
  std::string text;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0 && problems[i].space == problems[i - 1].space) continue;
    text += space_text(problems[i].space, problems, columns);
  }
  if (std::any_of(problems.begin(), problems.end(),
                  [&](const Row& row) { return gpus(row, columns) > 1; })) {
    text += "(1.50x): time against that of the fastest GPU\n\n";
  }
  return text + losses_text(losses(problems, columns, all), columns);
}

std::string comparison_json(const std::vector<StoredResult>& best,
                            const std::vector<StoredResult>& all) {
  const std::vector<Contender> columns = contenders(best);
  const std::vector<Row> problems = rows(best, columns);
  Json devices = Json::array();
  for (const Contender& contender : columns) {
    devices.push_back({{"column", contender.label},
                       {"kind", contender.is_gpu ? "gpu" : "cpu"},
                       {"model", contender.model}});
  }
  Json problem_list = Json::array();
  for (const Row& row : problems) {
    Json entries = Json::array();
    for (const auto& [column, stored] : row.best) {
      entries.push_back(entry_json(*stored, columns[column], row));
    }
    problem_list.push_back({{"space", row.space},
                            {"problem", db::bindings_json(row.problem)},
                            {"best", std::move(entries)}});
  }
  Json loss_list = Json::array();
  for (const Loss& loss : losses(problems, columns, all)) {
    loss_list.push_back(loss_json(loss, columns));
  }
  return db::document_text("smemtune-comparison", 2,
                           {{"devices", std::move(devices)},
                            {"problems", std::move(problem_list)},
                            {"losses", std::move(loss_list)}});
}

}  // namespace smemtune
