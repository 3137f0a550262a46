#include "db/layered_store.h"

#include "db/comparison.h"
#include "db/import.h"
#include "db/recording.h"
#include "db/rows.h"
#include "db/sections.h"
#include "db/sqlite.h"
#include "db/stored_names.h"
#include "db/stored_portfolio.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

bool is_shareable(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(std::vector<std::string_view>{".sqlite", ".db", ".json", ".json.gz"},
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Imports an export into a database in memory.
ResultStore read_export(const std::filesystem::path& file, const std::string& space,
                        const std::function<void(const std::string&)>& warn) {
  ResultStore store(":memory:");
  const auto add = [&store](RunRecord&& record) { store.add(std::move(record)); };
  const ImportedFile read = read_runs(file, {}, Runs::ours, add, space);
  if (read.cut_off) warn(file.string() + ": is cut off; the results before the cut are read");
  if (read.odd.count > 0) {
    warn(file.string() + ": " + read.odd.faults.front() + read.odd.others_text() + "; left out");
  }
  return store;
}

ResultStore open_shared(const std::filesystem::path& file, const std::string& space,
                        const std::function<void(const std::string&)>& warn) {
  if (is_database(file)) return ResultStore(file, ResultStore::Mode::read_only);
  return read_export(file, space, warn);
}

/// The parsed form of a query's source.
struct Sources {
  bool own = false;
  bool shared = false;
  bool imported = false;
  std::string file = {};  ///< Name of a file, or part of it.
};

Sources sources_of(const std::string& words) {
  Sources sources;
  // If no word is a keyword, the whole text is the name of a file, commas included.
  bool any = false;
  for (const std::string& word : split(words, ',')) {
    const bool all = word == "all";
    if (all || word == "own") sources.own = true;
    if (all || word == "shared") sources.shared = true;
    if (all || word == "imported") sources.imported = true;
    const bool is_word = all || word == "own" || word == "shared" || word == "imported";
    any = any || is_word;
    if (!is_word) sources.file = word;
  }
  if (!any) sources.file = words;
  if (any && !sources.file.empty()) {
    throw InputError("--source: " + quote(sources.file) +
                     " is not one of own, shared, imported and all; give a file's name by itself");
  }
  return sources;
}

/// Returns the source to query a single database with; empty if the database is not asked.
std::string source_in(const std::string& layer, const Sources& sources) {
  const bool is_own = layer.empty();
  if (is_own ? sources.own : sources.shared) return sources.imported ? "all" : "own";
  if (is_own && sources.imported) return "imported";
  return !is_own && layer == sources.file ? "own" : sources.file;
}

/// A question that only one layer answers: the device's name and model, the space, the problem, and
/// whether the results are imported ones.
using Question = std::tuple<std::string, std::string, std::string, std::string, bool>;

/// Keeps track of the questions that earlier layers have answered.
class Answered {
 public:
  /// Returns the question that `one`, from the current layer, answers; nullopt if an earlier layer
  /// has answered it.
  std::optional<Question> asked(const StoredResult& one) {
    std::string& model = models_[one.model_id];
    if (model.empty()) model = device_model_key(one.device);
    Question question(one.device.name, model, one.space, key(one.result.problem),
                      one.origin.has_value());
    if (before_.contains(question)) return std::nullopt;
    now_.insert(question);
    return question;
  }

  void end_layer() {
    before_.merge(now_);
    now_.clear();
    models_.clear();
  }

 private:
  // Cached, because computing the keys for millions of results takes long.
  std::map<std::int64_t, std::string> models_;
  std::set<Question> before_;
  std::set<Question> now_;
};

}  // namespace

bool means_shared(const std::string& source) {
  const Sources sources = sources_of(source);
  return sources.shared || !sources.file.empty();
}

std::optional<std::vector<std::uint8_t>> database_of_export(const std::filesystem::path& file) {
  bool is_whole = true;
  const ResultStore store =
      read_export(file, {}, [&is_whole](const std::string&) { is_whole = false; });
  if (!is_whole) return std::nullopt;
  return store.connection().file_bytes();
}

std::vector<SharedFile> files_in(const std::filesystem::path& folder, const std::string& name) {
  std::vector<SharedFile> files;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    if (!is_shareable(entry.path())) continue;
    files.push_back({.file = entry.path(), .name = name + "/" + entry.path().filename().string()});
  }
  std::ranges::sort(files, {}, &SharedFile::file);
  return files;
}

std::vector<SharedFile> shared_files(const std::string& list) {
  std::vector<SharedFile> files;
  for (const std::string& member : split(list, ':')) {
    if (member.empty()) continue;
    std::error_code ignored;
    if (std::filesystem::is_directory(member, ignored)) {
      std::ranges::move(files_in(member, member), std::back_inserter(files));
    } else {
      files.push_back({.file = member, .name = member});
    }
  }
  return files;
}

LayeredStore::LayeredStore(std::optional<ResultStore> own, const std::vector<SharedFile>& shared,
                           const std::function<void(const std::string&)>& warn,
                           std::function<void(Device&)> complete, const std::string& space)
    : complete_(std::move(complete)) {
  if (own) layers_.push_back({.name = "", .store = std::move(*own)});
  for (const SharedFile& one : shared) {
    try {
      layers_.push_back({.name = one.name, .store = open_shared(one.file, space, warn)});
    } catch (const Error& error) {
      warn(std::string(error.what()) + "; left out");
    }
  }
}

void LayeredStore::label(StoredResult& one, const Layer& layer) const {
  one.shared_from = layer.name;
  if (complete_) complete_(one.device);
}

Query LayeredStore::exact(const Query& query) const {
  if (query.exact) return query;
  const Sources sources = sources_of(query.source);
  StoredNames names;
  for (const Layer& layer : layers_) {
    Query its = query;
    its.source = sources.file.empty() ? source_in(layer.name, sources) : sources.file;
    if (its.source.empty()) continue;
    names.add(layer.store.connection(), its);
    if (!layer.name.empty()) names.files.push_back(layer.name);
  }
  Query its = query;
  // A single database does not know combinations of words.
  if (sources.file.empty()) its.source = "all";
  Query exact = exact_query(its, names);
  if (sources.file.empty()) exact.source = query.source;
  return exact;
}

void LayeredStore::visit(const Query& asked,
                         const std::function<void(const Layer&, const Query&)>& visit) const {
  const Query query = exact(asked);
  const Sources sources = sources_of(query.source);
  std::set<std::string> spaces = {query.space};
  for (const Layer& layer : layers_) {
    Query its = query;
    its.source = source_in(layer.name, sources);
    if (its.source.empty()) continue;
    for (const std::string& space : spaces) {
      its.space = space;
      visit(layer, its);
    }
    if (!layer.name.empty() || !query.space.empty()) continue;
    spaces.clear();
    for (const StoredRun& run : layer.store.runs({.source = "all"})) spaces.insert(run.space);
  }
}

std::vector<StoredResult> LayeredStore::first_answers(
    const Query& query,
    const std::function<std::vector<StoredResult>(const ResultStore&, const Query&)>& ask) const {
  Answered answered;
  std::vector<StoredResult> all;
  std::vector<Question> questions;  // Of each result of `all`.
  std::set<std::string> layers;     // Layers that had an answer.
  visit(query, [&](const Layer& layer, const Query& its) {
    std::vector<StoredResult> answers = ask(layer.store, its);
    auto kept = answers.begin();
    for (auto one = kept; one != answers.end(); ++one) {
      auto question = answered.asked(*one);
      if (!question) continue;
      label(*one, layer);
      layers.insert(layer.name);
      questions.push_back(std::move(*question));
      if (kept != one) *kept = std::move(*one);
      ++kept;
    }
    answers.erase(kept, answers.end());
    answered.end_layer();
    if (all.empty()) {
      all = std::move(answers);
    } else {
      std::ranges::move(answers, std::back_inserter(all));
    }
  });
  if (layers.size() < 2) return all;  // The results of a single layer are in order already.
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) -> const Question& { return questions[i]; });
  std::vector<StoredResult> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(all[i]));
  return sorted;
}

std::vector<StoredResult> LayeredStore::best(const Query& query, bool per_kernel) const {
  return first_answers(query, [per_kernel](const ResultStore& store, const Query& its) {
    return store.best(its, per_kernel);
  });
}

std::vector<StoredResult> LayeredStore::candidates(const Query& query) const {
  return first_answers(
      query, [](const ResultStore& store, const Query& its) { return store.candidates(its); });
}

Comparison LayeredStore::compare(const Query& asked) const {
  const Query query = exact(asked);
  return db::compare(
      best(query, /*per_kernel=*/false), best(query, /*per_kernel=*/true), query,
      [this](const StoredResult& stored) -> const Connection& {
        return std::ranges::find(layers_, stored.shared_from, &Layer::name)->store.connection();
      });
}

std::vector<KernelDefaults> LayeredStore::defaults(const Query& query) const {
  std::vector<KernelDefaults> all;
  visit(query, [&](const Layer& layer, const Query& its) {
    for (KernelDefaults& one : layer.store.defaults(its)) {
      const bool is_known = std::ranges::any_of(all, [&](const KernelDefaults& known) {
        return known.space == one.space && known.kernel == one.kernel;
      });
      if (!is_known) all.push_back(std::move(one));
    }
  });
  return all;
}

void LayeredStore::each_result(const Query& query, std::size_t limit,
                               const std::function<void(StoredResult&&)>& take) const {
  Answered answered;
  std::size_t taken = 0;
  visit(query, [&](const Layer& layer, const Query& its) {
    if (limit > 0 && taken >= limit) return;
    layer.store.each_result(its, limit > 0 ? limit - taken : 0, [&](StoredResult&& one) {
      if (!answered.asked(one)) return;
      label(one, layer);
      ++taken;
      take(std::move(one));
    });
    answered.end_layer();
  });
}

std::vector<StoredResult> LayeredStore::one_of_each_kernel(const Query& query) const {
  return first_answers(query, [](const ResultStore& store, const Query& its) {
    return store.one_of_each_kernel(its);
  });
}

void LayeredStore::each_newest(const Query& query,
                               const std::function<void(StoredResult&&)>& take) const {
  visit(query, [&](const Layer& layer, const Query& its) {
    layer.store.each_newest(its, [&](StoredResult&& one) {
      label(one, layer);
      take(std::move(one));
    });
  });
}

std::vector<ProblemResults> LayeredStore::sections(const Query& query, std::size_t most) const {
  std::vector<ProblemResults> all;
  const auto question_of = [](const ProblemResults& section) {
    return std::tuple(section.device.name, device_model_key(section.device), key(section.problem),
                      section.results.front().origin.has_value());
  };
  std::set<decltype(question_of(ProblemResults()))> answered;
  visit(query, [&](const Layer& layer, const Query& its) {
    for (ProblemResults& section : layer.store.sections(its, most)) {
      if (!answered.insert(question_of(section)).second) continue;
      if (complete_) complete_(section.device);
      for (StoredResult& one : section.results) label(one, layer);
      for (StoredResult& one : section.best) label(one, layer);
      all.push_back(std::move(section));
    }
  });
  std::ranges::stable_sort(all, {}, question_of);
  return all;
}

std::vector<StoredRun> LayeredStore::runs(const Query& query) const {
  std::vector<StoredRun> all;
  visit(query, [&](const Layer& layer, const Query& its) {
    for (StoredRun& run : layer.store.runs(its)) {
      run.shared_from = layer.name;
      all.push_back(std::move(run));
    }
  });
  std::ranges::stable_sort(all, {}, &StoredRun::started_unix);
  return all;
}

std::string LayeredStore::space_text(const StoredResult& stored) const {
  const auto layer = std::ranges::find(layers_, stored.shared_from, &Layer::name);
  return layer == layers_.end() ? "" : layer->store.space_text(stored);
}

std::vector<std::string> LayeredStore::kernels() const {
  std::set<std::string> names;
  for (const Layer& layer : layers_) {
    const std::vector<std::string> its = layer.store.kernels();
    names.insert(its.begin(), its.end());
  }
  return {names.begin(), names.end()};
}

std::vector<StoredPortfolio> LayeredStore::portfolios(const Query& query, std::size_t most,
                                                      bool per_kernel) const {
  const auto question_of = [&](const StoredPortfolio& one) {
    const StoredResult& best = one.bests.front();
    const std::string kernel =
        per_kernel && !one.variants.empty() ? one.variants.front().kernel : std::string();
    return std::tuple(best.space, best.device.name, device_model_key(best.device),
                      best.origin.has_value(), kernel);
  };
  std::vector<StoredPortfolio> all;
  std::vector<StoredPortfolio> without;  // Portfolios too small to run all problems.
  std::set<decltype(question_of(StoredPortfolio()))> answered;
  visit(query, [&](const Layer& layer, const Query& its) {
    for (StoredPortfolio& one : layer.store.portfolios(its, most, per_kernel)) {
      if (answered.contains(question_of(one))) continue;
      for (StoredResult& best : one.bests) label(best, layer);
      for (StoredResult& chosen : one.chosen) label(chosen, layer);
      const bool is_measured = one.portfolio && !one.is_predicted;
      if (is_measured) answered.insert(question_of(one));
      (is_measured ? all : without).push_back(std::move(one));
    }
  });
  for (StoredPortfolio& one : without) {
    const bool answers = one.is_predicted || one.bests.front().shared_from.empty();
    if (answers && answered.insert(question_of(one)).second) all.push_back(std::move(one));
  }
  if (all.empty()) return without;
  std::ranges::stable_sort(all, {}, question_of);
  return all;
}

LayeredStore::SharedTimings LayeredStore::prior_timings(
    const std::string& space, const Device& device, const std::vector<Problem>& problems) const {
  SharedTimings shared;
  for (const Layer& layer : layers_) {
    if (layer.name.empty()) continue;
    std::vector<PriorTimings> its =
        layer.store.prior_timings(space, device, problems, /*is_log=*/false);
    if (its.empty()) continue;
    shared.from.push_back(layer.name);
    std::ranges::move(its, std::back_inserter(shared.prior_timings));
  }
  return shared;
}

}  // namespace smemtune::db
