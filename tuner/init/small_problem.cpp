#include "tuner/init/small_problem.h"

#include "tuner/core/text.h"
#include "tuner/init/names.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

/// Returns the largest number that a kernel has as a default.
std::int64_t largest_default(const Json& kernels) {
  std::int64_t largest = 0;
  for (const Json& kernel : kernels) {
    largest = std::max(largest, largest_number(kernel.value("default", Json::object())));
  }
  return largest;
}

/// Returns true if a kernel or launch, with these defaults, has a grid without blocks.
// NOLINTNEXTLINE(misc-no-recursion): as deep as launches lie in each other.
bool has_empty_grid(const Json& launch, const Json& problem, const Json& defaults) {
  const auto is_empty = [&](const Json& extent) {
    return extent.is_string() &&
           value_with(extent.get<std::string>(), {&problem, &defaults}).value_or(1) == 0;
  };
  const Json none = Json::array();
  const Json grid = launch.value("grid", none);
  const Json launches = launch.value("launches", none);
  return std::ranges::any_of(grid, is_empty) || std::ranges::any_of(launches, [&](const Json& one) {
           return has_empty_grid(one, problem, defaults);
         });
}

/// Keeps in a smaller problem what its sizes have to do with each other: those that are equal, one
/// that is the product of others, one that is larger by 1, and the number of blocks of as many threads as a kernel has by
/// default.
void keep_relations(const SpaceNames& names, const Json& kernels, Json& small) {
  constexpr std::int64_t kLeast = 16;  // Smaller numbers are equal by chance.
  std::map<std::string, std::int64_t> whole;
  for (const auto& [name, value] : names.problem().items()) {
    const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
    if (number >= kLeast && !names.is_guess(name)) whole.emplace(name, number);
  }
  std::set<std::int64_t> threads;
  for (const Json& kernel : kernels) {
    const Json defaults = kernel.value("default", Json::object());
    for (const auto& [name, value] : defaults.items()) {
      if (counts_threads(name) && value.is_number_integer())
        threads.insert(value.get<std::int64_t>());
    }
  }
  const auto related = [&](const std::string& name, std::int64_t value) -> std::int64_t {
    for (const auto& [one, size] : whole) {
      const auto its = small[one].get<std::int64_t>();
      if (one == name) continue;
      if (value == size) return std::max(its, small[name].get<std::int64_t>());
      if (value == size + 1) return its + 1;
      for (const std::int64_t block : threads) {
        const bool counts_blocks = block >= kLeast && value == (size + block - 1) / block;
        if (counts_blocks) return (its + block - 1) / block;
      }
      for (const auto& [other, second] : whole) {
        if (other == name || other <= one || size > value / second) continue;
        const std::int64_t both = its * small[other].get<std::int64_t>();
        if (value == size * second) return both;
        for (const auto& [last, third] : whole) {
          const bool is_product = last != name && last > other && value == size * second * third;
          if (is_product) return both * small[last].get<std::int64_t>();
        }
      }
    }
    return 0;
  };
  constexpr int kTimes = 2;  // Some follow from those that follow.
  for (int time = 0; time < kTimes; ++time) {
    for (const auto& [name, value] : whole) {
      const std::int64_t follows = related(name, value);
      if (follows > 0) small[name] = std::min(value, follows);
    }
  }
}

/// Returns true if a kernel or launch, with these defaults, has more threads in a block than any
/// device allows.
// NOLINTNEXTLINE(misc-no-recursion): likewise.
bool has_large_block(const Json& launch, const Json& problem, const Json& defaults) {
  constexpr std::int64_t kMostThreads = 1024;
  const Json none = Json::array();
  std::int64_t threads = 1;
  for (const Json& extent : launch.value("block", none)) {
    const auto its = value_with(plain_text(extent), {&problem, &defaults}).value_or(1);
    if (its > kMostThreads) return true;
    threads *= std::max<std::int64_t>(1, its);
  }
  const Json launches = launch.value("launches", none);
  return threads > kMostThreads || std::ranges::any_of(launches, [&](const Json& one) {
           return has_large_block(one, problem, defaults);
         });
}

bool any_kernel(const Json& kernels, const Json& problem,
                bool (*is_wrong)(const Json&, const Json&, const Json&)) {
  return std::ranges::any_of(kernels, [&](const Json& kernel) {
    return is_wrong(kernel, problem, kernel.value("default", Json::object()));
  });
}

/// Makes a problem as small as its blocks have to be.
void fit_blocks(const Json& kernels, Json& problem) {
  constexpr std::int64_t kLeast = 32;
  for (bool is_smaller = true; is_smaller && any_kernel(kernels, problem, has_large_block);) {
    is_smaller = false;
    for (auto& [name, value] : problem.items()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() <= kLeast) continue;
      value = value.get<std::int64_t>() / 2;
      is_smaller = true;
    }
  }
}

/// Calls `use` for every extent of the grids of a kernel and of its launches.
// NOLINTNEXTLINE(misc-no-recursion): as deep as launches lie in each other.
void for_each_extent(const Json& launch, const std::function<void(const std::string&)>& use) {
  const Json none = Json::array();
  const Json grid = launch.value("grid", none);
  const Json launches = launch.value("launches", none);
  for (const Json& extent : grid) use(plain_text(extent));
  for (const Json& one : launches) for_each_extent(one, use);
}

/// Makes sizes multiples of what a block covers of them where those of the whole problem are.
void fill_blocks(const Json& whole, const Json& kernels, Json& small) {
  constexpr std::int64_t kMostOfBlock = 1024;
  for (const Json& kernel : kernels) {
    const Json defaults = kernel.value("default", Json::object());
    for_each_extent(kernel, [&](const std::string& extent) {
      std::set<std::string> sizes;
      for (const std::string_view name : identifiers(extent)) {
        if (whole.contains(name)) sizes.emplace(name);
      }
      if (sizes.size() != 1 || !whole[*sizes.begin()].is_number_integer()) return;
      const auto blocks_of = [&](std::int64_t size) {
        Json other = whole;
        other[*sizes.begin()] = size;
        return value_with(extent, {&other, &defaults}).value_or(0);
      };
      const auto size = whole[*sizes.begin()].get<std::int64_t>();
      const std::int64_t blocks = blocks_of(size);
      const std::int64_t covered = blocks > 0 ? size / blocks : 0;
      // Rounded up or down, the number of blocks changes at a multiple of what one covers.
      const bool is_multiple = covered > 1 && size % blocks == 0 && blocks_of(covered) == 1 &&
                               (blocks_of(covered + 1) == 2 || blocks_of(covered - 1) == 0);
      if (!is_multiple || covered > kMostOfBlock) return;
      Json& its = small[*sizes.begin()];
      its = std::min(size, (its.get<std::int64_t>() + covered - 1) / covered * covered);
    });
  }
}

/// Returns the number of threads of all launches.
// NOLINTNEXTLINE(misc-no-recursion): likewise.
double threads_of(const Json& launch, const Json& problem, const Json& defaults) {
  const Json none = Json::array();
  const auto value = [&](const std::string& text) {
    const auto number = value_with(text, {&problem, &defaults});
    return static_cast<double>(std::max<std::int64_t>(1, number.value_or(1)));
  };
  double threads = 1;
  for (const char* const key : {"block", "grid"}) {
    const Json extents = launch.value(key, none);
    for (const Json& extent : extents) threads *= value(plain_text(extent));
  }
  const Json launches = launch.value("launches", none);
  if (!launches.empty()) threads = 0;
  for (const Json& one : launches) threads += threads_of(one, problem, defaults);
  const std::string repeat = launch.value("repeat", "");  // `turn < N`
  const std::size_t bound = repeat.find("< ");
  return bound == std::string::npos ? threads : threads * value(repeat.substr(bound + 2));
}

/// Returns the sizes that bound loops of the kernels: each thread has as many turns as their product.
std::set<std::string> sizes_of_loops(const SpaceNames& names) {
  std::set<std::string> sizes;
  for (const KernelFunction* const kernel : names.kernels()) {
    for (const std::string& bound : kernel->loop_bounds) {
      const Json value = names.problem().value(bound, Json());
      if (value.is_number_integer()) sizes.insert(bound);  // It may be a type.
      for (const auto& [argument, size] : names.sizes()) {
        if (argument == bound) sizes.insert(size);
      }
    }
  }
  return sizes;
}

/// Makes the largest sizes smaller until no kernel has more to do than a CPU emulates in a second or
/// two.
void limit_work(const SpaceNames& names, const Json& kernels, Json& small) {
  constexpr double kMost = 1 << 22;
  constexpr std::int64_t kLeast = 32;
  const std::set<std::string> loops = sizes_of_loops(names);
  const auto work = [&](const Json& problem) {
    double most = 0;
    for (const Json& kernel : kernels) {
      double its = threads_of(kernel, problem, kernel.value("default", Json::object()));
      for (const std::string& size : loops) its *= problem[size].get<double>();
      most = std::max(most, its);
    }
    return most;
  };
  for (bool is_smaller = true; is_smaller && work(small) > kMost;) {
    Json best = small;
    std::int64_t largest = kLeast;
    for (const auto& [name, value] : small.items()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() <= largest) continue;
      Json halved = small;
      for (auto& [other, its] : halved.items()) {
        const bool is_equal = its == value && names.problem()[other] == names.problem()[name];
        if (is_equal) its = value.get<std::int64_t>() / 2;
      }
      if (work(halved) >= work(small)) continue;
      largest = value.get<std::int64_t>();
      best = std::move(halved);
    }
    is_smaller = best != small;
    small = std::move(best);
  }
}

Json fitted(const SpaceNames& names, const Json& kernels, Json problem) {
  fit_blocks(kernels, problem);
  limit_work(names, kernels, problem);
  fill_blocks(names.problem(), kernels, problem);
  while (problem != names.problem() && any_kernel(kernels, problem, has_empty_grid)) {
    for (auto& [name, value] : problem.items()) {
      if (!value.is_number_integer()) continue;
      const auto whole = names.problem()[name].get<std::int64_t>();
      value = std::min(whole, std::max<std::int64_t>(1, value.get<std::int64_t>()) * 2);
    }
  }
  keep_relations(names, kernels, problem);
  return problem;
}

}  // namespace

Json cpu_problem(const SpaceNames& names, const Json& kernels) {
  return fitted(names, kernels, names.cpu_problem());
}

Json small_problem(const SpaceNames& names, const Json& kernels) {
  constexpr std::int64_t kFewest = 3;
  const Json on_cpu = cpu_problem(names, kernels);
  Json small = fitted(names, kernels, names.small_problem(largest_default(kernels)));
  for (const bool halves : {true, true, false}) {  // It is to be another problem.
    if (small != names.problem() && small != on_cpu) break;
    for (auto& [name, value] : small.items()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() <= kFewest) continue;
      value = halves ? value.get<std::int64_t>() / 2 : value.get<std::int64_t>() * 8;
    }
    small = fitted(names, kernels, std::move(small));
  }
  return small;
}

}  // namespace smemtune
