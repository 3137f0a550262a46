#include "tuner/core/sample.h"

#include "tuner/core/random.h"

#include <algorithm>
#include <numeric>

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
  // In one dimension, the first and the last element are the faces.
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

}  // namespace smemtune
