#include "reports/figures/figures.h"

#include "reports/figures/each_figure.h"
#include "reports/problem_results.h"
#include "tuner/core/error.h"
#include "tuner/core/main_effects.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

namespace smemtune {
namespace {

using db::StoredResult;
using db::StoredSection;

struct SectionFigure {
  FigureInfo info;
  Figure (*draw)(const ReportSource&, const StoredSection&);
};

const std::vector<SectionFigure>& section_figures() {
  static const std::vector<SectionFigure> list = {
      {{"ladder", "the kernels, each at its best and at its default"}, ladder_figure},
      {{"times", "every configuration's time, sorted"}, times_figure},
      {{"values", "the best and the median time with each value of each parameter"}, values_figure},
      {{"heat-map", "the two parameters that matter most against each other"}, heat_map_figure},
      {{"parallel", "a line for each configuration through its values"}, parallel_figure},
      {{"resources",
        "registers, shared memory and occupancy against time; of a dry run, against "
        "occupancy"},
       resources_figure},
      {{"roofline", "work per second against work per byte"}, roofline_figure},
      {{"convergence", "the best so far against evaluations and seconds"}, convergence_figure},
      {{"finalists", "the finalists' samples and the intervals of their medians"},
       finalists_figure},
      {{"failures", "how many configurations were rejected or failed, by reason"},
       failures_figure}};
  return list;
}

const FigureInfo kDevices = {"devices", "what each device's best reaches on the others"};
const FigureInfo kVersions = {"versions", "two versions before and after, of a document of diff"};

std::string drawn(const std::string& what, const FigureInfo& info, const Figure& figure) {
  if (figure) return figure->str();
  throw InputError(what + " has nothing for the figure " + quote(info.name) + " (" +
                   info.description + ")");
}

[[noreturn]] void refuse_name(const std::string& name) {
  const std::vector<std::string> names = figure_names();
  const std::string nearest = suggestion(name, names);
  throw InputError("there is no figure " + quote(name) +
                   (nearest.empty() ? "; there are " + joined(names, ", ") : nearest));
}

const StoredSection& the_section(const ReportSource& source) {
  if (source.sections.size() == 1) return source.sections.front();
  std::vector<std::string> all;
  for (const StoredSection& section : source.sections) {
    all.push_back(device_label(section.device) +
                  (section.problem.empty() ? "" : " " + key(section.problem)));
  }
  throw InputError(
      "a figure shows one device and one problem; choose with --device and --problem: " +
      joined(all, "; "));
}

}  // namespace

const std::vector<FigureInfo>& figures() {
  static const std::vector<FigureInfo> list = [] {
    std::vector<FigureInfo> all;
    for (const SectionFigure& one : section_figures()) all.push_back(one.info);
    all.insert(all.end(), {kDevices, kVersions});
    return all;
  }();
  return list;
}

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const FigureInfo& one : figures()) names.push_back(one.name);
  return names;
}

std::string figure(const std::string& name, const ReportSource& source) {
  if (name == kDevices.name) {
    return drawn(source.space, kDevices,
                 source.devices ? devices_figure(*source.devices) : std::nullopt);
  }
  if (name == kVersions.name) {
    throw InputError("the figure 'versions' needs a document that smemtune diff --json wrote");
  }
  const auto found =
      std::ranges::find(section_figures(), name, [](const auto& one) { return one.info.name; });
  if (found == section_figures().end()) refuse_name(name);
  const StoredSection& section = the_section(source);
  const std::string problem = section.problem.empty() ? "" : ", " + key(section.problem);
  return drawn(source.space + " on " + device_label(section.device) + problem, found->info,
               found->draw(source, section));
}

std::string figure(const std::string& name, const VersionDiff& diff) {
  if (name == kVersions.name) {
    return drawn(version_diff_title(diff), kVersions, versions_figure(diff));
  }
  const std::vector<std::string> names = figure_names();
  if (std::ranges::find(names, name) == names.end()) refuse_name(name);
  throw InputError("a document of two versions has only the figure 'versions', not " + quote(name));
}

double median_ms(const StoredResult& stored) { return stored.result.measurement.median_ms; }

std::vector<double> times_ms(const std::vector<const StoredResult*>& results) {
  std::vector<double> times;
  for (const StoredResult* one : results) times.push_back(median_ms(*one));
  return times;
}

Svg::Title titled(const ReportSource& source, const StoredSection& section,
                  const std::string& description, const std::string& kernel) {
  const bool names_kernel = !kernel.empty() && kernel != source.space;
  return {.text = (names_kernel ? kernel + " of " : "") + source.space + " on " +
                  device_label(section.device),
          .under_it = key(section.problem),
          .description = description};
}

std::vector<std::string> kernels_of(const ReportSource& source) {
  std::set<std::string> kernels;
  for (const StoredSection& section : source.sections) {
    for (const StoredResult& one : section.results) kernels.insert(one.result.kernel);
  }
  return {kernels.begin(), kernels.end()};
}

int series_of(const ReportSource& source, const std::string& kernel) {
  const std::vector<std::string> all = kernels_of(source);
  return static_cast<int>(std::ranges::find(all, kernel) - all.begin());
}

std::string main_kernel(const StoredSection& section) {
  if (!section.best.empty()) return section.best.front().result.kernel;
  std::map<std::string, std::size_t> counts;
  for (const StoredResult& one : section.results) ++counts[one.result.kernel];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most == counts.end() ? std::string() : most->first;
}

std::string value_of(const StoredResult& stored, const std::string& parameter) {
  const auto value = stored.result.configuration.find(parameter);
  return value == stored.result.configuration.end() ? std::string() : to_text(value->second);
}

bool value_before(const std::string& one, const std::string& other) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && parsed == end ? std::optional(value) : std::nullopt;
  };
  const std::optional<double> left = number(one);
  const std::optional<double> right = number(other);
  if (left && right) return *left < *right;
  return left.has_value() != right.has_value() ? left.has_value() : one < other;
}

std::vector<std::string> values_of(const std::vector<const StoredResult*>& results,
                                   const std::string& parameter) {
  std::set<std::string> values;
  for (const StoredResult* one : results) {
    const std::string value = value_of(*one, parameter);
    if (!value.empty()) values.insert(value);
  }
  std::vector<std::string> sorted(values.begin(), values.end());
  std::ranges::sort(sorted, value_before);
  return sorted;
}

std::vector<std::string> parameters_by_effect(const std::vector<const StoredResult*>& results) {
  std::vector<const Configuration*> configurations;
  std::vector<double> ms;
  std::set<std::string> names;
  for (const StoredResult* one : results) {
    configurations.push_back(&one->result.configuration);
    ms.push_back(one->result.timed() ? median_ms(*one) : std::numeric_limits<double>::quiet_NaN());
    for (const auto& [name, value] : one->result.configuration) names.insert(name);
  }
  std::vector<std::string> ordered;
  for (const MainEffect& effect : MainEffects(configurations).of(ms)) {
    ordered.push_back(effect.parameter);
    names.erase(effect.parameter);
  }
  for (const std::string& name : names) {
    if (values_of(results, name).size() > 1) ordered.push_back(name);
  }
  return ordered;
}

std::string percent_text(double share) {
  return decimal(100 * share, share >= 0.9995 ? 0 : 1) + " %";
}

}  // namespace smemtune
