#include "tuner/init/small_problem.h"

#include "tuner/core/text.h"
#include "tuner/init/names.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// A launch of a kernel, with the numbers that its extents are made of besides the problem's.
struct Launch {
  const Json* kernel = nullptr;
  Json defaults;
  std::vector<std::string> block = {};
  std::vector<std::string> grid = {};
  std::vector<std::string> turns = {};  ///< Numbers of turns of the loops around it.

  std::int64_t value(const std::string& text, const Json& problem) const {
    return value_with(text, {&problem, &defaults}).value_or(1);
  }
  double product(const std::vector<std::string>& factors, const Json& problem) const {
    double all = 1;
    for (const std::string& factor : factors)
      all *= std::max(1.0, static_cast<double>(value(factor, problem)));
    return all;
  }
};

// NOLINTNEXTLINE(misc-no-recursion): as deep as launches lie in each other.
void add_launches(const Json& from, Launch launch, std::vector<Launch>& launches) {
  const Json none = Json::array();
  const std::string repeat = from.value("repeat", "");  // `turn < N`
  const std::size_t bound = repeat.find("< ");
  if (bound != std::string::npos) launch.turns.push_back(repeat.substr(bound + 2));
  const Json inner = from.value("launches", none);
  for (const Json& one : inner) add_launches(one, launch, launches);
  if (!inner.empty()) return;
  const Json block = from.value("block", none);
  const Json grid = from.value("grid", none);
  for (const Json& extent : block) launch.block.push_back(plain_text(extent));
  for (const Json& extent : grid) launch.grid.push_back(plain_text(extent));
  launches.push_back(std::move(launch));
}

std::vector<Launch> launches_of(const Json& kernels) {
  std::vector<Launch> launches;
  for (const Json& kernel : kernels) {
    add_launches(kernel, {.kernel = &kernel, .defaults = kernel.value("default", Json::object())},
                 launches);
  }
  return launches;
}

bool has_empty_grid(const Launch& launch, const Json& problem) {
  return std::ranges::any_of(
      launch.grid, [&](const std::string& extent) { return launch.value(extent, problem) == 0; });
}

bool has_large_block(const Launch& launch, const Json& problem) {
  return launch.product(launch.block, problem) > 1024;  // No device allows more threads.
}

/// Returns the number of threads of all times that a kernel is launched.
double threads_of(const Launch& launch, const Json& problem) {
  return launch.product(launch.block, problem) * launch.product(launch.grid, problem) *
         launch.product(launch.turns, problem);
}

/// Keeps in a smaller problem how its sizes depend on each other: some are equal, one is larger by
/// 1, is the product of two or three others, or is a number of blocks.
class Relations {
 public:
  Relations(const SpaceNames& names, const std::vector<Launch>& launches) {
    for (const auto& [name, value] : names.problem().items()) {
      const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
      if (number >= kLeast && !names.is_guess(name)) whole_.emplace(name, number);
    }
    for (const Launch& launch : launches) {
      for (const auto& [name, value] : launch.defaults.items()) {
        const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
        if (number >= kLeast && counts_threads(name)) threads_.insert(number);
      }
    }
  }

  void keep(Json& small) const {
    constexpr int kTimes = 2;  // Some follow from those that follow.
    for (int time = 0; time < kTimes; ++time) {
      for (const auto& [name, value] : whole_) {
        const std::int64_t follows = related(name, value, small);
        if (follows > 0) small[name] = std::min(value, follows);
      }
    }
  }

 private:
  using Sizes = std::map<std::string, std::int64_t>;

  static constexpr std::int64_t kLeast = 16;  // Smaller numbers are equal by chance.

  /// Returns what a size has to be in the smaller problem; 0 if it depends on no other.
  std::int64_t related(const std::string& name, std::int64_t value, const Json& small) const {
    const auto blocks_of = [](std::int64_t size, std::int64_t block) {
      return size / block + (size % block > 0 ? 1 : 0);
    };
    for (const auto& [one, size] : whole_) {
      const auto its = small[one].get<std::int64_t>();
      if (one == name) continue;
      if (value == size) return std::max(its, small[name].get<std::int64_t>());
      if (value - 1 == size) return its + 1;
      for (const std::int64_t block : threads_) {
        if (value == blocks_of(size, block)) return blocks_of(its, block);
      }
    }
    return product(whole_.begin(), value, small, 0);
  }

  /// Returns the product in the smaller problem of those sizes from `first` on whose product is
  /// `value` in the whole one; 0 if there are none. `factors`: how many others have been found.
  // NOLINTNEXTLINE(misc-no-recursion): at most three times.
  std::int64_t product(Sizes::const_iterator first, std::int64_t value, const Json& small,
                       int factors) const {
    constexpr int kMostFactors = 3;
    if (value == 1) return 1;
    if (factors == kMostFactors) return 0;
    for (auto one = first; one != whole_.end(); ++one) {
      const bool is_alone = factors == 0 && one->second == value;
      if (is_alone || value % one->second != 0) continue;
      const std::int64_t others = product(std::next(one), value / one->second, small, factors + 1);
      if (others > 0) return others * small[one->first].get<std::int64_t>();
    }
    return 0;
  }

  Sizes whole_;
  std::set<std::int64_t> threads_;  ///< Numbers of threads that blocks have by default.
};

bool any_launch(const std::vector<Launch>& launches, const Json& problem,
                bool (*is_wrong)(const Launch&, const Json&)) {
  return std::ranges::any_of(launches,
                             [&](const Launch& launch) { return is_wrong(launch, problem); });
}

/// Makes a problem as small as its blocks have to be.
void fit_blocks(const std::vector<Launch>& launches, Json& problem) {
  constexpr std::int64_t kLeast = 32;
  for (bool is_smaller = true; is_smaller && any_launch(launches, problem, has_large_block);) {
    is_smaller = false;
    for (auto& [name, value] : problem.items()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() <= kLeast) continue;
      value = value.get<std::int64_t>() / 2;
      is_smaller = true;
    }
  }
}

/// Makes the size that an extent of a grid is made of a multiple of what a block covers of it,
/// where that of the whole problem is one.
void fill_blocks(const Json& whole, const Launch& launch, const std::string& extent, Json& small) {
  constexpr std::int64_t kMostOfBlock = 1024;
  std::set<std::string> sizes;
  for (const std::string_view name : identifiers(extent)) {
    if (whole.contains(name)) sizes.emplace(name);
  }
  if (sizes.size() != 1 || !whole[*sizes.begin()].is_number_integer()) return;
  const std::string& name = *sizes.begin();
  const auto blocks_of = [&](std::int64_t size) {
    Json other = whole;
    other[name] = size;
    return value_with(extent, {&other, &launch.defaults}).value_or(0);
  };
  const auto size = whole[name].get<std::int64_t>();
  const std::int64_t blocks = blocks_of(size);
  const std::int64_t covered = blocks > 0 ? size / blocks : 0;
  // Rounded up or down, the number of blocks changes at a multiple of what one covers.
  const bool is_multiple = covered > 1 && size % blocks == 0 && blocks_of(covered) == 1 &&
                           (blocks_of(covered + 1) == 2 || blocks_of(covered - 1) == 0);
  if (!is_multiple || covered > kMostOfBlock) return;
  Json& its = small[name];
  its = std::min(size, (its.get<std::int64_t>() + covered - 1) / covered * covered);
}

/// Returns the sizes that bound loops of the kernels: each thread has as many turns as their
/// product.
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

/// Returns the turns of all threads of the kernel that has the most to do.
double work_of(const std::vector<Launch>& launches, const std::set<std::string>& loops,
               const Json& problem) {
  std::map<const Json*, double> threads;
  for (const Launch& launch : launches) threads[launch.kernel] += threads_of(launch, problem);
  double most = 0;
  for (const auto& [kernel, its] : threads) most = std::max(most, its);
  for (const std::string& size : loops) most *= problem[size].get<double>();
  return most;
}

/// Returns the turns of the loops of a function of the host, as far as sizes bound them.
double turns_of(const SpaceNames& names, const HostFunction& function, const Json& problem) {
  double most = 1;
  for (const std::vector<std::string>& nest : function.nests) {
    double turns = 1;
    for (const std::string& bound : nest) {
      const auto size =
          std::ranges::find(names.sizes(), bound, [](const auto& one) { return one.first; });
      const std::string& name = size == names.sizes().end() ? bound : size->second;
      const auto value = value_with(name, {&problem});
      if (value && *value > 1) turns *= static_cast<double>(*value);
    }
    most = std::max(most, turns);
  }
  return most;
}

/// Halves the largest size that decides how much there is to do, and those that are equal to it in
/// the whole problem too. Returns false if there is none.
bool halve_largest(const SpaceNames& names, const std::function<double(const Json&)>& work,
                   Json& small) {
  std::int64_t largest = 32;  // Smaller sizes stay.
  Json best = small;
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
  const bool is_smaller = best != small;
  small = std::move(best);
  return is_smaller;
}

/// Makes the largest sizes smaller until no kernel has more to do than a CPU emulates in a second
/// or two, as far as threads and loops over sizes tell.
void limit_work(const SpaceNames& names, const std::vector<Launch>& launches,
                const HostFunction* witness, Json& small) {
  constexpr double kMost = 1 << 22;
  const auto work = [&, loops = sizes_of_loops(names)](const Json& problem) {
    return std::max(work_of(launches, loops, problem),
                    witness == nullptr ? 0 : turns_of(names, *witness, problem));
  };
  while (work(small) > kMost && halve_largest(names, work, small)) continue;
}

Json fitted(const SpaceNames& names, const Json& kernels, const HostFunction* witness,
            Json problem) {
  const std::vector<Launch> launches = launches_of(kernels);
  fit_blocks(launches, problem);
  limit_work(names, launches, witness, problem);
  for (const Launch& launch : launches) {
    for (const std::string& extent : launch.grid) {
      fill_blocks(names.problem(), launch, extent, problem);
    }
  }
  while (problem != names.problem() && any_launch(launches, problem, has_empty_grid)) {
    for (auto& [name, value] : problem.items()) {
      if (!value.is_number_integer()) continue;
      const auto whole = names.problem()[name].get<std::int64_t>();
      value = std::min(whole, std::max<std::int64_t>(1, value.get<std::int64_t>()) * 2);
    }
  }
  Relations(names, launches).keep(problem);
  return problem;
}

}  // namespace

Json cpu_problem(const SpaceNames& names, const Json& kernels) {
  return fitted(names, kernels, nullptr, names.cpu_problem());
}

Json small_problem(const SpaceNames& names, const Json& kernels, const HostFunction* witness) {
  constexpr std::int64_t kFewest = 3;
  const Json on_cpu = cpu_problem(names, kernels);
  Json small = fitted(names, kernels, witness, names.small_problem(largest_default(kernels)));
  for (const bool halves : {true, true, false}) {  // It is to be another problem.
    if (small != names.problem() && small != on_cpu) break;
    for (auto& [name, value] : small.items()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() <= kFewest) continue;
      value = halves ? value.get<std::int64_t>() / 2 : value.get<std::int64_t>() * 8;
    }
    small = fitted(names, kernels, witness, std::move(small));
  }
  return small;
}

}  // namespace smemtune
