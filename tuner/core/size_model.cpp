#include "tuner/core/size_model.h"

#include "tuner/core/expression.h"
#include "tuner/core/selection.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

namespace smemtune {

namespace {

constexpr float kUnknown = -1;

// Most that a time counts, by that of the best: trees need to tell apart what may be chosen only.
constexpr double kMostPredicted = 1.5;

float log_of(double value) { return value > 0 ? static_cast<float>(std::log2(value)) : kUnknown; }

/// Returns the largest value; 0 if none is known.
double largest(const std::vector<std::optional<std::int64_t>>& values) {
  std::int64_t most = 0;
  for (const auto& value : values) most = std::max(most, value.value_or(0));
  return static_cast<double>(most);
}

/// Returns the words of problems and configurations, and the names of kernels.
std::set<std::string> words_of(const std::vector<SizeModel::Measured>& measured) {
  std::set<std::string> words;
  for (const SizeModel::Measured& one : measured) {
    words.insert(one.of.kernel);
    for (const Bindings* const bindings : {&one.of.problem, &one.of.configuration}) {
      for (const auto& [name, value] : *bindings) {
        if (const auto* const word = std::get_if<std::string>(&value)) words.insert(*word);
      }
    }
  }
  return words;
}

std::set<std::string> parameters_of(const std::vector<SizeModel::Measured>& measured) {
  std::set<std::string> parameters;
  for (const SizeModel::Measured& one : measured) {
    for (const auto& [name, value] : one.of.configuration) parameters.insert(name);
  }
  return parameters;
}

std::size_t problems_of(const std::vector<SizeModel::Measured>& measured) {
  std::set<Problem> problems;
  for (const SizeModel::Measured& one : measured) problems.insert(one.of.problem);
  return problems.size();
}

std::size_t most_features(const std::map<std::string, LaunchFeatures>& kernels) {
  std::size_t most = 0;
  for (const auto& [name, features] : kernels) most = std::max(most, features.count());
  return most;
}

/// Returns the number of a word; kUnknown if it is none of them.
float number_of(const std::string& word, const std::set<std::string>& words) {
  const auto its = words.find(word);
  return its == words.end() ? kUnknown : static_cast<float>(std::distance(words.begin(), its));
}

}  // namespace

LaunchFeatures::LaunchFeatures(const LaunchTexts& texts, const Configuration& configuration,
                               const Problem& problem)
    : blocks_(texts.blocks, configuration, problem),
      threads_(texts.threads, configuration, problem),
      metrics_(texts_of(texts.metrics, [](const auto& metric) { return metric.second; }),
               configuration, problem) {}

double LaunchFeatures::blocks(const Configuration& configuration, const Problem& problem,
                              const Bindings& device) const {
  // A grid that is no larger than the multiprocessors hold, whose blocks take one part of the problem
  // after the other, has a block for each part where there are more multiprocessors than parts.
  constexpr std::int64_t kMany = 1 << 20;
  Bindings large = device;
  large["sm_count"] = kMany;
  const double parts = largest(blocks_.values(configuration, problem, large));
  large["sm_count"] = 2 * kMany;
  const bool has_parts = parts == largest(blocks_.values(configuration, problem, large));
  return has_parts ? parts : largest(blocks_.values(configuration, problem, device));
}

void LaunchFeatures::append_to(std::vector<float>& row, const Configuration& configuration,
                               const Problem& problem, const Bindings& device) const {
  const double count = blocks(configuration, problem, device);
  row.push_back(log_of(count));
  const auto multiprocessors = device.find("sm_count");
  const bool is_known = multiprocessors != device.end() && count > 0;
  const double waves =
      is_known ? count / static_cast<double>(std::get<std::int64_t>(multiprocessors->second)) : 0;
  row.push_back(waves > 0 ? static_cast<float>(waves / std::ceil(waves)) : kUnknown);
  const double threads = largest(threads_.values(configuration, problem, device));
  row.push_back(threads > 0 ? static_cast<float>(threads) : kUnknown);
  row.push_back(log_of(count * threads));
  for (const auto& value : metrics_.values(configuration, problem, device)) {
    const double of_block = static_cast<double>(value.value_or(0)) / std::max(count, 1.0);
    row.push_back(log_of(of_block));
    row.push_back(log_of(of_block / std::max(threads, 1.0)));
  }
}

SizeModel::SizeModel(const std::vector<Measured>& measured,
                     std::map<std::string, LaunchFeatures> kernels, Bindings device)
    : kernels_(std::move(kernels)),
      launch_features_(most_features(kernels_)),
      device_(std::move(device)),
      words_(words_of(measured)),
      parameters_(parameters_of(measured)),
      problems_(problems_of(measured)),
      trees_(fitted_to(measured)) {}

BoostedTrees SizeModel::fitted_to(const std::vector<Measured>& measured) const {
  std::vector<std::vector<float>> rows;
  std::vector<double> targets;
  for (const Measured& one : measured) {
    rows.push_back(row(one.of));
    targets.push_back(std::log(std::min(one.to_best, kMostPredicted)));
  }
  return {rows, targets};
}

std::vector<float> SizeModel::row(const Sized& sized) const {
  std::vector<float> row = {number_of(sized.kernel, words_)};
  for (const auto& [name, value] : sized.problem) {
    if (const auto* const word = std::get_if<std::string>(&value)) {
      row.push_back(number_of(*word, words_));
      row.push_back(static_cast<float>(type_size(*word).value_or(0)));
    } else {
      const std::int64_t size = std::get<std::int64_t>(value);
      row.push_back(log_of(static_cast<double>(size)));
      row.push_back(static_cast<float>(alignment(size)));
    }
  }
  for (const std::string& name : parameters_) {
    const auto its = sized.configuration.find(name);
    if (its == sized.configuration.end()) {
      row.push_back(kUnknown);
    } else if (const auto* const word = std::get_if<std::string>(&its->second)) {
      row.push_back(number_of(*word, words_));
    } else {
      row.push_back(static_cast<float>(std::get<std::int64_t>(its->second)));
    }
  }
  const std::size_t width = row.size() + launch_features_;
  if (const auto its = kernels_.find(sized.kernel); its != kernels_.end()) {
    its->second.append_to(row, sized.configuration, sized.problem, device_);
  }
  row.resize(width, kUnknown);
  return row;
}

}  // namespace smemtune
