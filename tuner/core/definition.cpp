#include "tuner/core/definition.h"

#include "tuner/core/definition_evaluation.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/random.h"
#include "tuner/core/usable_cores.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace smemtune {

namespace {

std::int64_t random_index(std::int64_t extent, RandomEngine& random) {
  return static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(extent)));
}

/// Returns a random element whose index in one dimension is given.
std::int64_t element_of_face(std::span<const std::int64_t> shape, std::size_t dimension,
                             std::int64_t index, RandomEngine& random) {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    element = element * shape[d] + (d == dimension ? index : random_index(shape[d], random));
  }
  return element;
}

void remove_twins(std::vector<std::int64_t>& sample) {
  std::ranges::sort(sample);
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
}

/// Returns a sample in ascending order. REQUIRES: the array has more elements than are wanted.
std::vector<std::int64_t> some_elements(std::span<const std::int64_t> shape, std::int64_t count,
                                        std::size_t wanted, RandomEngine& random) {
  std::vector<std::int64_t> sample = {0, count - 1};
  // The faces of one dimension are its first and its last element.
  const std::size_t per_face = shape.size() < 2 ? 0 : wanted / (8 * shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (std::size_t i = 0; i < per_face; ++i) {
      sample.push_back(element_of_face(shape, d, 0, random));
      sample.push_back(element_of_face(shape, d, shape[d] - 1, random));
    }
  }
  const std::int64_t inner = count - 2;
  const auto parts = static_cast<std::int64_t>(wanted - std::min(wanted, sample.size()));
  std::int64_t begin = 0;
  for (std::int64_t part = 1; part <= parts; ++part) {
    // inner * part / parts, the product of which may be too large.
    const std::int64_t end = inner / parts * part + inner % parts * part / parts;
    sample.push_back(1 + begin + random_index(end - begin, random));
    begin = end;
  }
  remove_twins(sample);
  constexpr int kTries = 3;
  for (int i = 0; i < kTries && sample.size() < wanted; ++i) {
    const std::size_t missing = wanted - sample.size();
    for (std::size_t k = 0; k < missing; ++k) sample.push_back(random_index(count, random));
    remove_twins(sample);
  }
  return sample;
}

/// Returns how many of `count` elements a thread evaluates at once: some blocks for each thread, of a
/// single element where there are few.
std::uint64_t block_size(std::uint64_t count) {
  return std::clamp<std::uint64_t>(count / 1024, 1, 256);
}

// So few operations take less time than starting threads.
constexpr double kShort = 1'000'000;
constexpr double kLeastInBatch = 16;  // For so many threads even where elements are dear.
constexpr double kMostInBatch = 262'144;

}  // namespace

std::vector<std::int64_t> spread_sample(std::span<const std::int64_t> shape, std::size_t wanted,
                                        std::uint64_t seed) {
  RandomEngine random(seed);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  if (count <= 0 || wanted == 0) return {};
  std::vector<std::int64_t> sample;
  if (static_cast<std::uint64_t>(count) <= wanted) {
    sample.resize(static_cast<std::size_t>(count));
    std::iota(sample.begin(), sample.end(), std::int64_t{0});
  } else {
    sample = some_elements(shape, count, wanted, random);
  }
  // The ends come first, the others in any order.
  if (sample.size() > 2) {
    std::swap(sample[1], sample.back());
    shuffle(std::span(sample).subspan(2), random);
  }
  return sample;
}

/// The elements of an output that are evaluated: all, or a sample of them.
class Definition::Elements {
 public:
  Elements(const Program& program, const std::map<std::string, HostArray>& arrays,
           const std::map<std::string, double>& scalars, unsigned threads)
      : threads_(threads), evaluation_(program, arrays, scalars, threads) {}

  /// Evaluates every element, as Definition::evaluate() does.
  HostArray all(std::uint64_t operations) {
    HostArray output = {
        .shape = evaluation_.output_shape(), .elements = {}, .type = evaluation_.output_type()};
    const std::uint64_t count = evaluation_.elements();
    budget_.allow(operations);
    if (count > operations) evaluation_.fail_too_many();
    output.elements = large_vector<double>(count);
    if (evaluation_.is_whole()) output.bits = large_vector<std::uint64_t>(count);
    const std::uint64_t size = block_size(count);
    evaluation_.in_parallel((count + size - 1) / size, [&](Evaluation& own, std::uint64_t block) {
      const std::uint64_t end = std::min(count, size * (block + 1));
      for (std::uint64_t i = size * block; i < end;) {
        if (const std::size_t several = own.find_row(i, end, output); several > 0) {
          i += several;
          continue;
        }
        const auto [element, bits] = own.element_at(static_cast<std::int64_t>(i));
        output.elements[i] = element;
        if (!output.bits.empty()) output.bits[i] = bits;
        ++i;
      }
    });
    return output;
  }

  /// Evaluates what the effort allows, as Definition::evaluate_some() does.
  DefinedElements some(const DefinitionEffort& effort, std::uint64_t seed) {
    constexpr std::uint64_t kMostSampled = std::uint64_t{1} << 18;
    const std::vector<std::int64_t> probed = probed_elements(effort, seed);
    if (probed.empty()) return {};
    DefinedElements found = probe(probed, effort);
    found.operations = budget_.spent_before();
    if (found.at.size() == evaluation_.elements() && std::ranges::is_sorted(found.at)) {
      found.at.clear();
      return found;
    }
    // Those that were evaluated may cost less than others.
    const double mean = static_cast<double>(budget_.spent_before()) * mean_estimate(probed) /
                        (static_cast<double>(found.at.size()) * mean_estimate(found.at));
    const double expected = mean * static_cast<double>(evaluation_.elements());
    if (expected <= static_cast<double>(effort.whole)) {
      evaluation_.use_threads(expected < kShort ? 1 : threads_);
      if (auto all = whole(effort.whole)) return std::move(*all);
      evaluation_.use_threads(threads_);
    }
    const auto bought = [mean](std::uint64_t operations) {
      return static_cast<std::uint64_t>(static_cast<double>(operations) / mean);
    };
    const std::uint64_t wanted = std::min(
        kMostSampled,
        std::max(bought(effort.sample), std::min(bought(effort.whole), effort.least_elements)));
    if (wanted > found.at.size()) {
      const double batch = static_cast<double>(effort.sample) / mean / 2;
      sample(spread_sample(evaluation_.output_shape(), wanted, seed), effort,
             static_cast<std::size_t>(std::clamp(batch, kLeastInBatch, kMostInBatch)), mean, found);
    }
    found.operations = budget_.spent_before();
    return found;
  }

 private:
  /// Returns elements that are spread over the output. The first is the one that is estimated to
  /// cost most of those that may be evaluated alone: in a prefix sum the last ones depend on most of
  /// the input, the first one on nothing.
  std::vector<std::int64_t> probed_elements(const DefinitionEffort& effort, std::uint64_t seed) {
    constexpr std::size_t kProbed = 16;
    std::vector<std::int64_t> probed = spread_sample(evaluation_.output_shape(), kProbed, seed);
    double most = 0;
    for (std::int64_t& number : probed) {
      const double cost = evaluation_.estimated_cost(number);
      if (cost <= most || cost > static_cast<double>(effort.one_element)) continue;
      most = cost;
      std::swap(probed.front(), number);
    }
    return probed;
  }

  /// Returns the mean of the operations that elements are estimated to cost.
  double mean_estimate(std::span<const std::int64_t> numbers) {
    double sum = 0;
    for (const std::int64_t number : numbers) {
      sum += std::max(1.0, evaluation_.estimated_cost(number));
    }
    return sum / static_cast<double>(numbers.size());
  }

  /// Evaluates a few elements, which show what one costs: the first, and others for which the
  /// sample's operations should suffice. Throws TooManyOperations if the first costs too many.
  DefinedElements probe(std::span<const std::int64_t> probed, const DefinitionEffort& effort) {
    DefinedElements found;
    budget_.allow(effort.one_element);
    add(probed.front(), evaluation_.affordable_element(probed.front()), found);
    budget_.allow(effort.whole);
    const auto sample = static_cast<double>(effort.sample);
    double further_cost = 0;
    std::size_t further = 0;
    for (const std::int64_t number : probed.subspan(1)) {
      further_cost += std::max(1.0, evaluation_.estimated_cost(number));
      if (further_cost > sample || budget_.spent_before() >= effort.sample) break;
      ++further;
    }
    evaluation_.use_threads(further_cost < kShort ? 1 : threads_);
    add_batch(probed.subspan(1, further), found);
    evaluation_.use_threads(threads_);
    budget_.allow(effort.whole);
    return found;
  }

  /// Evaluates all elements; nullopt if that needs more operations.
  std::optional<DefinedElements> whole(std::uint64_t operations) {
    try {
      HostArray all = this->all(operations);
      budget_.allow(0);
      return DefinedElements{.at = {},
                             .values = std::move(all.elements),
                             .bits = std::move(all.bits),
                             .operations = budget_.spent_before()};
    } catch (const TooManyOperations&) {
      return std::nullopt;
    }
  }

  /// Replaces `found` by these elements, or as many of them as the effort allows. `mean`: the
  /// operations that an element takes, as far as known.
  void sample(const std::vector<std::int64_t>& all, const DefinitionEffort& effort,
              std::size_t batch, double mean, DefinedElements& found) {
    found = DefinedElements();
    budget_.allow(std::max(effort.whole, effort.sample));
    while (found.at.size() < all.size()) {
      if (found.at.size() >= effort.least_elements && budget_.spent() >= effort.sample) break;
      const auto affordable = static_cast<double>(budget_.left()) / mean;
      const std::size_t next = static_cast<std::size_t>(std::clamp(
          affordable, 1.0, static_cast<double>(std::min(batch, all.size() - found.at.size()))));
      if (!add_batch(std::span(all).subspan(found.at.size(), next), found)) break;
    }
    budget_.allow(0);
  }

  /// Returns the places of a batch, those of each part in the order of the elements' last index:
  /// sums along columns then find what the sums before them have read in the caches.
  std::vector<std::size_t> by_last_index(std::span<const std::int64_t> batch) {
    constexpr std::size_t kPart = std::size_t{1} << 14;
    std::vector<std::size_t> order(batch.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (evaluation_.output_shape().empty()) return order;
    evaluation_.in_parallel(
        (batch.size() + kPart - 1) / kPart, [&](Evaluation&, std::uint64_t part) {
          const auto begin = order.begin() + static_cast<std::ptrdiff_t>(part * kPart);
          const auto end = std::min(order.end() - begin, static_cast<std::ptrdiff_t>(kPart));
          std::ranges::stable_sort(begin, begin + end, {}, [&](std::size_t i) {
            return batch[i] % evaluation_.output_shape().back();
          });
        });
    return order;
  }

  /// Adds those elements for which there are operations left. Returns whether that is all of them.
  bool add_batch(std::span<const std::int64_t> batch, DefinedElements& found) {
    std::vector<std::optional<Evaluation::Element>> values(batch.size());
    const std::vector<std::size_t> order = by_last_index(batch);
    const std::size_t block = block_size(batch.size());
    try {
      evaluation_.in_parallel((batch.size() + block - 1) / block,
                              [&](Evaluation& own, std::uint64_t number) {
                                for (std::size_t i = block * number;
                                     i < std::min(batch.size(), block * (number + 1)); ++i) {
                                  values[order[i]] = own.affordable_element(batch[order[i]]);
                                }
                              });
    } catch (const TooManyOperations&) {  // Some have no value then.
    }
    bool has_all = true;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (values[i]) add(batch[i], *values[i], found);
      has_all = has_all && values[i];
    }
    if (found.at.empty() && !batch.empty()) evaluation_.fail_too_many();
    return has_all;
  }

  void add(std::int64_t number, const Evaluation::Element& element, DefinedElements& found) const {
    found.at.push_back(number);
    found.values.push_back(element.value);
    if (evaluation_.is_whole()) found.bits.push_back(element.bits);
  }

  unsigned threads_;
  Evaluation evaluation_;
  OperationBudget& budget_ = evaluation_.budget();
};

const std::string& Definition::output() const { return program_->output; }

const std::vector<std::string>& Definition::arrays() const { return program_->arrays; }

std::size_t HostArray::size() const {
  if (!read) return bytes.empty() ? elements.size() : bytes.size() / size_of(type);
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

HostArray HostArray::in_numbers() const {
  if (!has_bytes()) return *this;
  std::vector<std::uint8_t> drawn;
  if (read) {
    drawn.resize(size() * size_of(type));
    read(0, drawn);
  }
  const std::vector<std::uint8_t>& all = read ? drawn : bytes;
  HostArray numbers = {.shape = shape, .elements = to_doubles(all, type), .type = type};
  if (is_wide_integer(type)) numbers.bits = to_bits(all, type);
  return numbers;
}

HostArray Definition::evaluate(const std::map<std::string, HostArray>& arrays,
                               const std::map<std::string, double>& scalars,
                               std::uint64_t max_operations, unsigned threads) const {
  return Elements(*program_, arrays, scalars, threads).all(max_operations);
}

DefinedElements Definition::evaluate_some(const std::map<std::string, HostArray>& arrays,
                                          const std::map<std::string, double>& scalars,
                                          const DefinitionEffort& effort,
                                          std::uint64_t seed) const {
  return Elements(*program_, arrays, scalars, effort.threads).some(effort, seed);
}

}  // namespace smemtune
