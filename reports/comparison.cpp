#include "reports/comparison.h"

#include "db/export_formats.h"
#include "db/json_forms.h"
#include "db/rows.h"
#include "reports/result_texts.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace smemtune {

namespace {

using db::Comparison;
using db::Json;
using db::kSameBetweenSessions_percent;
using db::StoredResult;
using Names = std::vector<std::string>;  ///< column_names().

/// The most GPUs that are shown one by one, and held against each other in a matrix.
constexpr std::size_t kShownGpus = 8;

/// Maximum number of parameters named in a line.
constexpr std::size_t kNamedEffects = 4;

double median_ms(const StoredResult& stored) { return stored.result.measurement.median_ms; }

/// Formats a share in per cent, with a decimal if it is close to 100 %.
std::string percent(double share) {
  const double from_all = std::abs(share - 1);
  return decimal(share * 100, from_all >= 0.0005 && from_all <= 0.005 ? 1 : 0) + " %";
}

/// Returns text like ` by 32 and 120 samples`; empty if either number is unknown.
std::string samples_text(const Measurement& one, const Measurement& other) {
  if (one.sample_count == 0 || other.sample_count == 0) return "";
  return " by " + format_count(static_cast<std::uint64_t>(one.sample_count)) + " and " +
         counted(static_cast<std::uint64_t>(other.sample_count), "sample");
}

/// Returns text like `1.50x (1.49 to 1.52)`, followed by the verdict unless it is "slower".
std::string against_fastest(const StoredResult& stored, const Comparison::Row& row,
                            const std::optional<Slowdown>& slower) {
  std::string text = decimal(median_ms(stored) / row.fastest_gpu_ms, 2) + "x";
  if (!slower) return text;
  text += " (" + decimal(1 + slower->low_percent / 100, 2) + " to " +
          decimal(1 + slower->high_percent / 100, 2) + ")";
  const Verdict verdict = verdict_of(slower, kSameBetweenSessions_percent);
  return verdict == Verdict::slower ? text : text + ", " + to_text(verdict);
}

std::string configuration_text(const Comparison::ForAll& one) {
  return one.kernel + " " + key(one.configuration);
}

/// Returns text like `keeps 91 % on NVIDIA A100, 100 % on NVIDIA H200`; if there are many GPUs,
/// only the worst.
std::string shares_text(const Names& names, const Comparison::Row& row,
                        const Comparison::ForAll& one) {
  constexpr std::size_t kNamedGpus = 4;
  const auto on = [&](std::size_t i) { return "on " + names[row.gpus[i]]; };
  if (one.shares.size() > kNamedGpus) {
    const auto worst = std::ranges::min_element(one.shares) - one.shares.begin();
    return "keeps " + percent(one.worst_share) + " at worst (" +
           on(static_cast<std::size_t>(worst)) + ")";
  }
  std::vector<std::string> words;
  for (std::size_t i = 0; i < one.shares.size(); ++i) {
    words.push_back(percent(one.shares[i]) + " " + on(i));
  }
  return "keeps " + joined(words, ", ");
}

bool is_as_good(double share) { return (1 / share - 1) * 100 <= kSameBetweenSessions_percent; }

/// Returns whether one configuration is enough for all GPUs, and otherwise how much a GPU gains
/// from its own.
std::string gain_text(const Names& names, const Comparison::Row& row) {
  const std::vector<double>& shares = row.least_worst->shares;
  const auto worst = std::ranges::min_element(shares);
  if (is_as_good(*worst))
    return "one is enough: no GPU gains more than " + decimal(kSameBetweenSessions_percent, 0) +
           " % by a configuration of its own";
  const std::size_t on = row.gpus[static_cast<std::size_t>(worst - shares.begin())];
  return "a configuration of its own makes a GPU up to " + decimal((1 / *worst - 1) * 100, 0) +
         " % faster (on " + names[on] + ")";
}

/// Returns text like `of 960 timed configurations that the search chose, TILE alone explains 31 %
/// of the variance of log time, ROWS alone 12 %`. Says what to tune first only if the
/// configurations were not chosen by their times.
std::string effects_text(const std::vector<MainEffect>& effects, ChosenBy chosen_by) {
  const MainEffect& first = effects.front();
  const bool is_fair = chosen_by == ChosenBy::chance || chosen_by == ChosenBy::all;
  std::string text = is_fair ? "tune " + first.parameter + " first: " : "";
  text += "of " + timed_text(first.configurations, chosen_by) + ", " + first.parameter +
          " alone explains " + percent(first.explained) + " of the variance of log time";
  constexpr double kNamedShare = 0.01;
  for (std::size_t i = 1; i < effects.size() && i < kNamedEffects; ++i) {
    if (effects[i].explained < kNamedShare) break;  // Effects are sorted, most important first.
    text += ", " + effects[i].parameter + " alone " + percent(effects[i].explained);
  }
  return text;
}

/// Returns text like `; set TILE=64: measured here, keeps 84 %`; empty if no measured repair helps.
std::string repair_text(const Comparison::Advice& advice) {
  if (advice.repairs.empty()) return "";
  const Comparison::Repair& repair = advice.repairs.front();
  return "; set " + repair.parameter + "=" + to_text(repair.value) + ": measured here, keeps " +
         percent(repair.share) + (repair.is_best ? " (the best here)" : "");
}

std::string worst_text(const Names& names, const Comparison::Row& row,
                       const Comparison::Advice& advice) {
  const Comparison::Guest& guest = row.guests[*advice.worst];
  const std::string best = "the best of " + names[guest.best_of];
  if (!guest.failure.empty()) {
    return "do not take over " + best + ": it does not run, " + guest.failure + repair_text(advice);
  }
  const double share = guest.share.value_or(0);
  const Verdict verdict = verdict_of(guest.slower, kSameBetweenSessions_percent);
  std::string kept = "keeps " + percent(share);
  if (guest.slower) kept += ", " + verdict_text(guest.slower, kSameBetweenSessions_percent);
  kept += samples_text(guest.time, row.best.at(guest.on).result.measurement);
  if (verdict == Verdict::same || is_as_good(share)) {
    const bool is_measured = std::ranges::all_of(row.guests, [&](const Comparison::Guest& one) {
      return one.on != advice.on || one.share.has_value();
    });
    return std::string("the others' bests") + (is_measured ? "" : " that were measured here") +
           " will do: even " + best + " " + kept;
  }
  return "do not take over " + best + ": it " + kept + repair_text(advice);
}

/// Returns text like `both GPUs`, `all 6 GPUs`.
std::string all_gpus(const Comparison::Row& row) {
  return row.gpus.size() == 2 ? "both GPUs" : "all " + std::to_string(row.gpus.size()) + " GPUs";
}

/// Returns text like `configuration keeps 97 % of the best on both GPUs`. REQUIRES: one runs there.
std::string kept_on_all(const Comparison::Row& row) {
  return "configuration keeps " + percent(std::min(1.0, row.least_worst->worst_share)) +
         " of the best on " + all_gpus(row);
}

/// Returns text like `, of 5 of 9 that were looked at`; empty if all were.
std::string looked_text(const Comparison::Row& row) {
  if (row.looked >= row.known) return "";
  return ", of " + format_count(row.looked) + " of " + format_count(row.known) +
         " that were looked at";
}

std::string tried_text(const Comparison::Row& row) {
  return ", of " + format_count(row.on_all) + " that were tried on " + all_gpus(row) +
         looked_text(row);
}

/// Returns the answer for all problems that were measured on several GPUs. Of one, text like `one
/// configuration keeps 97 % of the best on both GPUs; tuned per GPU gains at most 3 %`; of several
/// it says for how many a configuration runs on all GPUs, and the least that these keep.
std::string answer_text(std::span<const Comparison::Row* const> rows) {
  double worst = 1;
  std::size_t answered = 0;
  for (const Comparison::Row* row : rows) {
    if (!row->least_worst) continue;
    ++answered;
    worst = std::min(worst, row->least_worst->worst_share);
  }
  if (answered == 0 || worst <= 0) {
    return "no configuration is known to run on all GPUs: a run on one of them that knows these "
           "results tries the others' bests";
  }
  std::string text = "one ";
  if (rows.size() == 1) {
    text += kept_on_all(*rows.front());
  } else {
    text = "for " + (answered == rows.size() ? "each" : format_count(answered)) + " of " +
           counted(rows.size(), "problem") + " a configuration is known that runs on all " +
           (answered == 1 || answered == rows.size() ? "its" : "their") + " GPUs; " +
           (answered == 1 ? "it" : "one for each problem") + " keeps " + percent(worst) +
           " or more of the best";
  }
  return text + (is_as_good(worst)
                     ? "; tuned per GPU gains nothing that can be told apart"
                     : "; tuned per GPU gains at most " + decimal((1 / worst - 1) * 100, 0) + " %");
}

/// Returns what the GPU of a column keeps with one configuration for all; nullopt if there is none.
std::optional<double> share_for_all(const Comparison::Row& row, std::size_t column) {
  if (!row.least_worst) return std::nullopt;
  const auto gpu = std::ranges::find(row.gpus, column) - row.gpus.begin();
  return row.least_worst->shares[static_cast<std::size_t>(gpu)];
}

class Writer {
 public:
  Writer(const Comparison& comparison, Markup markup, bool all_pairs)
      : comparison_(comparison),
        names_(column_names(comparison)),
        markup_(markup),
        all_pairs_(all_pairs) {}

  std::string text() {
    const std::vector<Comparison::Row>& rows = comparison_.rows;
    for (std::size_t begin = 0; begin < rows.size();) {
      std::size_t end = begin + 1;
      while (end < rows.size() && rows[end].space == rows[begin].space) ++end;
      add_space({rows.data() + begin, end - begin});
      begin = end;
    }
    return std::move(text_);
  }

 private:
  bool is_markdown() const { return markup_ == Markup::markdown; }
  bool is_gpu(std::size_t column) const { return comparison_.columns[column].is_gpu(); }
  bool shows_each(const Comparison::Row& row) const {
    return all_pairs_ || row.gpus.size() <= kShownGpus;
  }

  void add_title(const std::string& title) {
    text_ += (is_markdown() ? "## " + for_markdown(title) + "\n" : printable(title)) + "\n";
  }

  void add_line(const std::string& line) {
    text_ += is_markdown() ? for_markdown(line) + "\n\n" : printable(line) + "\n";
  }

  void add_points(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      text_ += is_markdown() ? "- " + for_markdown(line) : "  " + printable(line);
      text_ += "\n";
    }
    if (!lines.empty()) text_ += "\n";
  }

  void add(const Table& table) {
    text_ += (is_markdown() ? table.markdown() : table.text("  ")) + "\n";
  }

  void add_space(std::span<const Comparison::Row> problems) {
    add_title(problems.front().space);
    std::vector<const Comparison::Row*> shared;
    for (const Comparison::Row& row : problems) {
      if (row.gpus.size() > 1) shared.push_back(&row);
    }
    if (!shared.empty()) add_points({answer_text(shared)});
    for (const Comparison::Row* row : shared) add_problem(*row);
    if (!shared.empty()) {
      const std::size_t others = problems.size() - shared.size();
      if (others > 0) {
        add_points({counted(others, "other problem") + (others == 1 ? " was" : " were") +
                    " measured on one GPU or on CPUs only"});
      }
      return;
    }
    for (const Comparison::Row& row : problems) add_problem(row);
  }

  void add_problem(const Comparison::Row& row) {
    const std::string problem = key(row.problem);
    if (!problem.empty()) add_line(problem);
    if (row.gpus.size() > 1) add_points(for_all_sentences(names_, row));
    if (shows_each(row)) {
      add_bests(row);
      if (row.gpus.size() > 1) add_shares(row);
      add_points(advice_sentences(names_, row));
      return;
    }
    add_architectures(row);
    add_points({"--all-pairs shows each of the " + std::to_string(row.gpus.size()) + " GPUs"});
  }

  static std::string kept_text(const Comparison::Row& row, std::size_t column) {
    const std::optional<double> share = share_for_all(row, column);
    return share ? percent(*share) : "";
  }

  static std::string source_of(const StoredResult& stored) {
    return source_word(stored.shared_from, stored.origin.has_value());
  }

  void add_bests(const Comparison::Row& row) {
    Table table({"device", ">time", "vs fastest GPU", ">keeps", "=source", "?rate",
                 "=?compared with", "=kernel", "=configuration"});
    bool any_cpu = false;
    for (const auto& [column, stored] : row.best) {
      any_cpu = any_cpu || !is_gpu(column);
      const auto slower = row.slower_than_fastest.find(column);
      const bool has_ratio = slower != row.slower_than_fastest.end();
      const bool is_fastest = is_gpu(column) && !has_ratio && row.gpus.size() > 1;
      table.add_row({names_[column], format_time(median_ms(stored)),
                     has_ratio    ? against_fastest(stored, row, slower->second)
                     : is_fastest ? "fastest"
                                  : "",
                     is_gpu(column) ? kept_text(row, column) : "", source_of(stored),
                     rates(stored.result), to_text(stored.result.coverage()),
                     stored.result.kernel + (stored.stale ? " (stale)" : ""),
                     key(stored.result.configuration)});
    }
    add(table);
    if (any_cpu) add_points({kCpuTimes});
  }

  /// The GPUs of each architecture: how many, the fastest, the slowest, and the one that keeps least
  /// with one configuration for all.
  void add_architectures(const Comparison::Row& row) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (const std::size_t column : row.gpus) {
      const std::string& architecture = comparison_.columns[column].device.architecture;
      groups[architecture.empty() ? "unknown" : architecture].push_back(column);
    }
    Table table({"architecture", ">GPUs", ">fastest", "", ">slowest", "", ">keeps least", ""});
    const auto time = [&](std::size_t column) { return median_ms(row.best.at(column)); };
    for (const auto& [architecture, columns] : groups) {
      const auto [fastest, slowest] = std::ranges::minmax(columns, {}, time);
      const auto share = [&](std::size_t column) { return share_for_all(row, column).value_or(0); };
      const std::size_t least = std::ranges::min(columns, {}, share);
      table.add_row({architecture, std::to_string(columns.size()), format_time(time(fastest)),
                     names_[fastest], format_time(time(slowest)), names_[slowest],
                     kept_text(row, least), row.least_worst ? names_[least] : ""});
    }
    add(table);
  }

  static std::string share_text(const Comparison::Guest& guest) {
    if (!guest.share) return "";
    return guest.failure.empty() ? percent(*guest.share) : "fails";
  }

  void add_shares(const Comparison::Row& row) {
    const bool any = std::ranges::any_of(
        row.guests, [](const Comparison::Guest& guest) { return guest.share.has_value(); });
    if (!any) {
      add_points(
          {"no GPU's best was measured on another; a run on one of them that knows this database "
           "tries the others'"});
      return;
    }
    add_line((is_markdown() ? "" : "  ") +
             std::string("what the best of one GPU keeps of the optimum on another"));
    std::vector<std::string> titles = {"best of"};
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      titles.push_back(">on " + std::to_string(i + 1));
    }
    Table table(titles);
    for (std::size_t of = 0; of < row.gpus.size(); ++of) {
      std::vector<std::string> cells = {std::to_string(of + 1) + " " + names_[row.gpus[of]]};
      for (const std::size_t on : row.gpus) {
        const auto guest = std::ranges::find_if(row.guests, [&](const Comparison::Guest& one) {
          return one.on == on && one.best_of == row.gpus[of];
        });
        cells.push_back(guest == row.guests.end() ? "best" : share_text(*guest));
      }
      table.add_row(std::move(cells));
    }
    add(table);
  }

  const Comparison& comparison_;
  Names names_;
  Markup markup_;
  bool all_pairs_;
  std::string text_;
};

/// Returns `own` or `imported`, or the whole name of the shared file.
std::string source_for_programs(const Comparison::Column& column) {
  return column.shared_from.empty() ? source_word("", column.is_imported) : column.shared_from;
}

Json slower_json(const std::optional<Slowdown>& slower) {
  Json json = db::slowdown_json(slower);
  if (slower) json["verdict"] = to_text(verdict_of(slower, kSameBetweenSessions_percent));
  return json;
}

/// Returns true if the configuration ran on the guest device and its time comes from samples.
bool has_time(const Comparison::Guest& guest) {
  return guest.time.median_ms > 0 && guest.time.has_median();
}

Json for_all_json(const std::optional<Comparison::ForAll>& one) {
  if (!one) return nullptr;
  return {{"kernel", one->kernel},
          {"configuration", db::bindings_json(one->configuration)},
          {"shares", one->shares},
          {"worst_share", one->worst_share},
          {"performance_portability", one->portability}};
}

class JsonWriter {
 public:
  explicit JsonWriter(const Comparison& comparison) : comparison_(comparison) {}

  std::string text() const {
    const auto device = [](const Comparison::Column& column) -> Json {
      return {{"column", column.label},
              {"source", source_for_programs(column)},
              {"kind", to_text(column.device.kind)},
              {"model", db::device_model_key(column.device)}};
    };
    return db::document_text("smemtune-comparison", 4,
                             {{"same_percent", kSameBetweenSessions_percent},
                              {"devices", db::list_json(comparison_.columns, device)},
                              {"problems", db::list_json(comparison_.rows, [this](const auto& row) {
                                 return problem(row);
                               })}});
  }

 private:
  const std::string& label(std::size_t column) const { return comparison_.columns[column].label; }

  Json problem(const Comparison::Row& row) const {
    const auto best = [&](const auto& its) {
      const auto& [column, stored] = its;
      Json entry = {{"column", label(column)}};
      entry.update(db::stored_json(stored));
      if (comparison_.columns[column].is_gpu()) {
        entry["time_to_fastest_gpu"] = db::number_json(median_ms(stored) / row.fastest_gpu_ms);
        const auto slower = row.slower_than_fastest.find(column);
        entry["slower"] =
            slower == row.slower_than_fastest.end() ? Json(nullptr) : slower_json(slower->second);
      }
      return entry;
    };
    const auto name = [&](std::size_t column) { return label(column); };
    const auto guest = [&](const Comparison::Guest& one) { return this->guest(one); };
    const auto advice = [&](const Comparison::Advice& one) { return matters(one, row); };
    return {{"space", row.space},
            {"problem", db::bindings_json(row.problem)},
            {"best", db::list_json(row.best, best)},
            {"gpus", db::list_json(row.gpus, name)},
            {"portability", db::list_json(row.guests, guest)},
            {"least_worst", for_all_json(row.least_worst)},
            {"most_portable", for_all_json(row.most_portable)},
            {"parameters", db::list_json(row.advice, advice)},
            {"configurations_known", row.known},
            {"configurations_looked_at", row.looked},
            {"configurations_on_all_gpus", row.on_all}};
  }

  Json guest(const Comparison::Guest& one) const {
    return {{"on", label(one.on)},
            {"best_of", label(one.best_of)},
            {"share", db::or_null(one.share)},
            {"median_ms", has_time(one) ? db::number_json(one.time.median_ms) : Json(nullptr)},
            {"samples", one.time.sample_count > 0 ? Json(one.time.sample_count) : Json(nullptr)},
            {"failure", one.failure},
            {"slower", slower_json(one.slower)}};
  }

  Json matters(const Comparison::Advice& one, const Comparison::Row& row) const {
    const auto effect = [](const MainEffect& its) -> Json {
      return {{"parameter", its.parameter},
              {"explained", its.explained},
              {"configurations", its.configurations}};
    };
    const auto repair = [](const Comparison::Repair& its) -> Json {
      return {{"parameter", its.parameter},
              {"value", to_text(its.value)},
              {"share", db::number_json(its.share)}};
    };
    return {
        {"on", label(one.on)},
        {"effects", db::list_json(one.effects, effect)},
        {"chosen_by", to_text(one.chosen_by)},
        {"worst_guest", one.worst ? Json(label(row.guests[*one.worst].best_of)) : Json(nullptr)},
        {"repairs", db::list_json(one.repairs, repair)}};
  }

  const Comparison& comparison_;
};

}  // namespace

bool has_one_for_all(const Comparison::Row& row) {
  return row.least_worst && row.least_worst->kernel == row.most_portable->kernel &&
         row.least_worst->configuration == row.most_portable->configuration;
}

std::string for_all_answer(const Names& names, const Comparison::Row& row) {
  if (!row.least_worst) {
    return "No configuration is known to run on " + all_gpus(row) + looked_text(row) + ".";
  }
  return "One " + kept_on_all(row) + tried_text(row) + "; " + gain_text(names, row) + ".";
}

std::vector<std::string> for_all_sentences(const Names& names, const Comparison::Row& row) {
  if (!row.least_worst) return {};
  const Comparison::ForAll& least = *row.least_worst;
  const Comparison::ForAll& most = *row.most_portable;
  const auto tenths = [](double share) { return decimal(100 * share, 1) + " %"; };
  const std::string mean = "performance portability " + tenths(most.portability) +
                           " (the harmonic mean of what the GPUs keep)";
  return {"smallest loss on the worst GPU: " + configuration_text(least) + ", which " +
              shares_text(names, row, least) + tried_text(row),
          has_one_for_all(row) ? "best on average: the same, with " + mean
                               : "best on average: " + configuration_text(most) + ", which " +
                                     shares_text(names, row, most) + ": " + mean +
                                     ", where the former has " + tenths(least.portability),
          gain_text(names, row)};
}

std::vector<std::string> advice_sentences(const Names& names, const Comparison::Row& row) {
  std::vector<std::string> sentences;
  for (const Comparison::Advice& advice : row.advice) {
    std::vector<std::string> parts;
    if (!advice.effects.empty()) parts.push_back(effects_text(advice.effects, advice.chosen_by));
    if (advice.worst) parts.push_back(worst_text(names, row, advice));
    if (parts.empty()) continue;
    sentences.push_back("on " + names[advice.on] + ": " + joined(parts, "; "));
  }
  return sentences;
}

std::string comparison_text(const Comparison& comparison, Markup markup, bool all_pairs) {
  return Writer(comparison, markup, all_pairs).text();
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text =
      "space,problem,on,on_source,best_of,best_of_source,kernel,configuration,median_ms,share,"
      "failure,verdict,"
      "slower_percent,slower_low_percent,slower_high_percent,samples,best_samples\n";
  const auto add = [&](const Comparison::Row& row, const Comparison::Guest& guest) {
    const Result& best = row.best.at(guest.best_of).result;
    const Measurement& own = row.best.at(guest.on).result.measurement;
    const auto samples = [](const Measurement& time) {
      return time.sample_count > 0 ? std::to_string(time.sample_count) : std::string();
    };
    const auto slower = [&guest](double Slowdown::*member) {
      return guest.slower ? db::csv_number(*guest.slower.*member) : std::string();
    };
    const std::vector<std::string> cells = {
        db::csv_text(row.space),
        db::csv_text(key(row.problem)),
        db::csv_text(comparison.columns[guest.on].label),
        db::csv_text(source_for_programs(comparison.columns[guest.on])),
        db::csv_text(comparison.columns[guest.best_of].label),
        db::csv_text(source_for_programs(comparison.columns[guest.best_of])),
        db::csv_text(best.kernel),
        db::csv_text(key(best.configuration)),
        has_time(guest) ? db::csv_number(guest.time.median_ms) : "",
        guest.share ? db::csv_number(*guest.share) : "",
        db::csv_text(guest.failure),
        guest.slower ? to_text(verdict_of(guest.slower, kSameBetweenSessions_percent)) : "",
        slower(&Slowdown::percent),
        slower(&Slowdown::low_percent),
        slower(&Slowdown::high_percent),
        samples(guest.time),
        guest.share ? samples(own) : ""};
    text += joined(cells, ",") + "\n";
  };
  for (const Comparison::Row& row : comparison.rows) {
    for (const auto& [column, stored] : row.best) {
      Comparison::Guest own;
      own.on = column;
      own.best_of = column;
      own.share = 1;
      own.time = stored.result.measurement;
      add(row, own);
    }
    for (const Comparison::Guest& guest : row.guests) add(row, guest);
  }
  return text;
}

std::string comparison_json(const Comparison& comparison) { return JsonWriter(comparison).text(); }

}  // namespace smemtune
