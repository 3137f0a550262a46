#include "tuner/engine/definition_checks.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/npy_file.h"
#include "tuner/backend/tolerances.h"
#include "tuner/core/definition.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"
#include "tuner/core/usable_cores.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <stop_token>
#include <utility>

namespace smemtune {

namespace {

// An element that costs more than the budget is evaluated if it costs no more than this many
// budgets.
constexpr std::uint64_t kDearElement = 5;

// Arrays of more elements are not drawn as a whole, but as their elements are read.
constexpr std::size_t kSmallArray = std::size_t{1} << 20;

// Operations that an output of further data of a problem is worth.
constexpr std::uint64_t kFurtherData = 2'500'000;

/// Returns the bits of an element of the type. `value`: an integer that a double holds.
std::uint64_t bits_of_double(double value, ScalarType type) {
  return to_bits(encode(value, type), type).front();
}

/// Returns a host array of `argument` with these bytes of `elements` elements, which it takes.
HostArray array_of(const Argument& argument, std::vector<std::uint8_t> bytes,
                   std::int64_t elements) {
  HostArray array = {
      .shape = argument.shape, .elements = {}, .type = argument.type, .bytes = std::move(bytes)};
  if (array.size() != static_cast<std::size_t>(elements)) {
    throw UnavailableError("the device returned " + std::to_string(array.size()) + " elements of " +
                           argument.name + ", not " + std::to_string(elements));
  }
  return array;
}

/// Returns these elements of an output as the reference left it; all if `at` is empty.
Outcome<HostArray> kept_array(Launcher& launcher, const Check& reference, const Argument& argument,
                              std::span<const std::int64_t> at = {}) {
  const std::int64_t count = at.empty() ? argument.elements() : std::ssize(at);
  std::vector<std::uint8_t> bytes = launcher.kept_elements(reference.workload, argument.name, at);
  if (bytes.empty() && count > 0) {
    return failure(
        {Status::correctness, "unwritten"},
        "the kernel that answers on " + reference.label + " does not write " + argument.name);
  }
  return array_of(argument, std::move(bytes), count);
}

/// Returns the contents with which an argument begins, drawn as they are read.
HostArray drawn_contents(const Argument& argument, std::uint64_t seed) {
  const auto contents = std::make_shared<const Contents>(argument, seed);
  return {.shape = argument.shape,
          .elements = {},
          .type = argument.type,
          .read = [contents](std::size_t begin, std::span<std::uint8_t> part) {
            contents->read(begin, part);
          }};
}

double number_at(const HostArray& array, std::size_t i) {
  return array.bytes.empty() ? array.elements[i] : element_at(array.bytes, array.type, i);
}

/// Returns the bits of an element of an integer type.
std::uint64_t bits_at(const HostArray& array, std::size_t i) {
  if (!array.bytes.empty()) return smemtune::bits_at(array.bytes, array.type, i);
  return array.bits.empty() ? bits_of_double(array.elements[i], array.type) : array.bits[i];
}

/// Returns a number as text that differs from that of `other`, an integer with all digits if these
/// are known.
std::string element_text(const HostArray& array, std::size_t i, double other) {
  const bool knows_bits = !array.bits.empty() || !array.bytes.empty();
  const std::string exact = knows_bits ? exact_text(bits_at(array, i), array.type) : "";
  return exact.empty() ? told_apart(number_at(array, i), other) : exact;
}

/// Returns true if an element that must match exactly is only known as a double too large to be
/// exact.
bool is_rounded(const HostArray& expected, std::size_t i, double allowed) {
  constexpr double kTwoTo53 = 9007199254740992;
  return expected.bits.empty() && is_wide_integer(expected.type) && allowed == 0 &&
         std::abs(expected.elements[i]) > kTwoTo53;
}

/// Elements of an output beside expected ones.
struct Compared {
  const HostArray& expected;
  const HostArray& actual;

  /// Returns the difference from the expected value; exact for integers with known bits.
  double error(std::size_t i) const {
    if (expected.bits.empty()) return std::abs(number_at(actual, i) - expected.elements[i]);
    return distance(bits_at(actual, i), expected.bits[i], expected.type);
  }

  /// Returns the first expected element for which is_wrong(i) holds; their number if there is none.
  std::size_t find_first(const auto& is_wrong) const {
    constexpr std::uint64_t kWorthAThread = 1 << 16;
    const std::size_t count = expected.elements.size();
    std::atomic<std::size_t> first = count;
    on_all_cores(count, kWorthAThread, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::size_t i = begin; i < end && i < first; ++i) {
        if (!is_wrong(i)) continue;
        std::size_t known = first;
        while (i < known && !first.compare_exchange_weak(known, i)) {
        }
      }
    });
    return first;
  }
};

Sum array_sum(const HostArray& array) {
  if (is_floating(array.type)) return {.number = smemtune::sum_of(array.elements)};
  std::vector<std::uint64_t> bits;
  for (std::size_t i = 0; i < array.elements.size(); ++i) bits.push_back(bits_at(array, i));
  return smemtune::sum_of(
      encode_bits(bits.size(), array.type,
                  each<std::uint64_t>([&bits](std::uint64_t i) { return bits[i]; })),
      array.type);
}

/// Returns the elements in ascending order, NaN last.
HostArray sorted(const HostArray& array) {
  std::vector<std::size_t> order(array.elements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&array](std::size_t i, std::size_t j) {
    if (!is_floating(array.type)) {
      return whole_of(bits_at(array, i), array.type) < whole_of(bits_at(array, j), array.type);
    }
    return is_before(array.elements[i], array.elements[j]);
  });
  HostArray result = {.shape = array.shape, .elements = {}, .type = array.type};
  for (const std::size_t i : order) {
    result.elements.push_back(array.elements[i]);
    if (!array.bits.empty()) result.bits.push_back(array.bits[i]);
  }
  return result;
}

/// `numbers`: indices of the elements in the output; empty: 0, 1, 2, ...
std::optional<Failure> compare(const Argument& argument, const HostArray& expected,
                               const HostArray& actual, const Check& reference,
                               const std::string& definition,
                               std::span<const std::int64_t> numbers = {}) {
  if (argument.compares_sorted) {
    Argument in_order = argument;
    in_order.compares_sorted = false;
    in_order.name += " in ascending order";
    return compare(in_order, sorted(expected), sorted(actual.in_numbers()), reference, definition);
  }
  const Tolerance used = tolerance_for(reference.tolerance_of(argument.name), argument.type);
  if (argument.compares_sum) {
    const Sum want = array_sum(expected);
    const Sum have = array_sum(actual.in_numbers());
    if (distance(have, want, argument.type) <= allowed_error(used, argument.type, want.number)) {
      return std::nullopt;
    }
    return failure({Status::correctness, "definition"},
                   "the sum of " + argument.name + " is " + told_apart(have.number, want.number) +
                       ", but `" + definition + "` gives " + told_apart(want.number, have.number) +
                       " on " + reference.label);
  }
  const Compared compared = {.expected = expected, .actual = actual};
  const std::size_t wrong = compared.find_first([&](std::size_t i) {
    const double wanted = expected.elements[i];
    if (agrees_beyond_numbers(number_at(actual, i), wanted, argument.nan_agrees)) return false;
    const double allowed = allowed_error(used, argument.type, wanted);
    // Written so that NaN fails.
    return !(compared.error(i) <= allowed) || is_rounded(expected, i, allowed);
  });
  if (wrong == expected.elements.size()) return std::nullopt;
  const double wanted = expected.elements[wrong];
  const auto number = numbers.empty() ? static_cast<std::int64_t>(wrong) : numbers[wrong];
  const bool rounded = is_rounded(expected, wrong, allowed_error(used, argument.type, wanted));
  return failure({Status::correctness, "definition"},
                 argument.name + "[" + std::to_string(number) + "] is " +
                     element_text(actual, wrong, wanted) + ", but `" + definition + "` gives " +
                     element_text(expected, wrong, number_at(actual, wrong)) + " on " +
                     reference.label +
                     (rounded ? ", in double precision, which does not hold such integers: "
                                "write it without sqrt, exp, log and fractions, and quotients as "
                                "floor(a / b), or give a tolerance"
                              : ""));
}

/// Definitions and the data that they are evaluated with.
struct DefinitionRun {
  std::vector<Definition> definitions = {};
  std::map<std::string, HostArray> arrays = {};
  std::map<std::string, double> scalars = {};
};

/// Compiles the definitions, without running the reference.
DefinitionRun compile_definitions(const NumberedWorkload& workload,
                                  const std::vector<ExpressionText>& definitions) {
  DefinitionRun run;
  std::map<std::string, std::size_t> dimensions;
  std::vector<std::string> scalar_names;
  Bindings constants = workload.problem;  // Also has the integer scalars, exactly.
  for (const Argument& argument : workload.workload.arguments) {
    if (argument.is_buffer()) {
      dimensions[argument.name] = argument.shape.size();
    } else if (is_floating(argument.type)) {
      if (constants.contains(argument.name)) continue;  // The problem's value, under its name.
      scalar_names.push_back(argument.name);
      run.scalars[argument.name] = argument.number;
    } else {
      constants[argument.name] = argument.integer;
    }
  }
  for (const ExpressionText& definition : definitions) {
    run.definitions.push_back(
        Definition::compile(definition.text, constants, dimensions, scalar_names));
  }
  return run;
}

/// The arguments that definitions read, and those that they define.
struct NeededArguments {
  std::vector<const Argument*> read = {};
  std::vector<const Argument*> defined = {};
};

NeededArguments needed_arguments(const DefinitionRun& run, const NumberedWorkload& workload) {
  NeededArguments needed;
  for (const Argument& argument : workload.workload.arguments) {
    if (argument.is_scratch()) continue;
    const auto reads = [&](const Definition& definition) {
      return std::ranges::find(definition.arrays(), argument.name) != definition.arrays().end();
    };
    const auto defines = [&](const Definition& definition) {
      return definition.output() == argument.name;
    };
    if (std::ranges::any_of(run.definitions, reads)) needed.read.push_back(&argument);
    if (std::ranges::any_of(run.definitions, defines)) needed.defined.push_back(&argument);
  }
  return needed;
}

/// Returns the bytes that the arrays of a run take on the host at most; of those that are
/// compared also as doubles.
std::uint64_t host_bytes(const DefinitionRun& run, const NumberedWorkload& workload) {
  const NeededArguments needed = needed_arguments(run, workload);
  std::uint64_t bytes = 0;
  for (const Argument* one : needed.read) {
    const bool is_held = !begins_with_contents(*one) || !is_drawn(*one);
    if (is_held) bytes += static_cast<std::uint64_t>(one->bytes());
  }
  for (const Argument* one : needed.defined) {
    bytes += static_cast<std::uint64_t>(one->bytes()) +
             sizeof(double) * static_cast<std::uint64_t>(one->elements());
  }
  return bytes;
}

/// Adds the arrays that the definitions define, and the drawn contents that they read.
void add_drawn(DefinitionRun& run, const NumberedWorkload& workload) {
  const NeededArguments needed = needed_arguments(run, workload);
  for (const Argument* one : needed.defined) {
    run.arrays[one->name] = {.shape = one->shape, .elements = {}, .type = one->type};
  }
  for (const Argument* one : needed.read) {
    if (!begins_with_contents(*one) || !is_drawn(*one)) continue;
    run.arrays[one->name] = drawn_contents(*one, workload.workload.seed);
  }
}

/// Draws the elements of an array that is small.
void draw_if_small(HostArray& array) {
  if (!array.read || array.size() > kSmallArray) return;
  array.bytes.resize(array.size() * size_of(array.type));
  array.read(0, array.bytes);
  array.read = nullptr;
}

/// Adds the other contents with which arguments begin that the definitions read.
void add_contents(DefinitionRun& run, Launcher& launcher, const NumberedWorkload& workload) {
  for (const Argument* one : needed_arguments(run, workload).read) {
    if (!begins_with_contents(*one) || is_drawn(*one)) continue;
    run.arrays[one->name] =
        array_of(*one, launcher.contents(workload.id, one->name), one->elements());
  }
}

/// Adds what the definitions read of buffers that begin as poison: these have no contents that a
/// definition could mean, so it means what the buffer's own definition gives.
std::optional<Failure> add_outputs(DefinitionRun& run, Launcher& launcher, const Check& reference,
                                   const NumberedWorkload& workload) {
  for (const Argument* one : needed_arguments(run, workload).read) {
    if (begins_with_contents(*one)) continue;
    Outcome<HostArray> kept = kept_array(launcher, reference, *one);
    if (!kept) return kept.failure();
    run.arrays[one->name] = std::move(*kept);
  }
  return std::nullopt;
}

const Argument& argument_of(const NumberedWorkload& workload, const std::string& output) {
  return *find_argument(workload.workload.arguments, output);
}

std::string gigabytes(std::uint64_t bytes) {
  return significant(static_cast<double>(bytes) * 1e-9, 3) + " GB";
}

std::string not_compared(const std::string& output, const std::string& label,
                         const std::string& why) {
  return "*** " + output + " is not compared with its definition on " + label + ": " + why;
}

/// Evaluates as many elements as the budget allows; for a sum all of them or none.
DefinedElements evaluate(const DefinitionRun& run, const Definition& definition,
                         const Argument& output, std::uint64_t seed, DefinitionBudget& budget) {
  DefinitionEffort effort = {.sample = budget.sample, .threads = usable_cores()};
  effort.whole = std::max(budget.operations, effort.sample);
  effort.one_element = std::max(kDearElement * budget.operations, effort.whole);
  if (!output.compares_each()) effort.sample = effort.least_elements = 0;
  DefinedElements some = definition.evaluate_some(run.arrays, run.scalars, effort, seed);
  budget.operations -= std::min(budget.operations, some.operations);
  if (!output.compares_each() && std::ssize(some.values) < output.elements()) {
    throw TooManyOperations(std::string(output.compares_sum ? "its sum" : "its order") +
                            " needs all elements, and they more than " +
                            std::to_string(effort.whole) + " operations");
  }
  return some;
}

}  // namespace

/// The definitions on one workload.
struct DefinitionChecks::Job {
  NumberedWorkload workload;
  bool is_further = false;  ///< True for data of a problem whose first data have a job before.
  DefinitionRun run = {};
  Until until = Until::now;
  std::vector<DefinedElements> elements =
      {};                               ///< What each definition gives; none where it has a note.
  std::vector<std::string> notes = {};  ///< One for each definition; empty where it was evaluated.
  std::exception_ptr error = nullptr;

  void refuse(const std::string& why) {
    for (const Definition& definition : run.definitions) {
      notes.push_back(not_compared(definition.output(), workload.label, why));
    }
    elements.resize(run.definitions.size());
    run.arrays.clear();
  }

  bool is_done() const { return error != nullptr || !notes.empty(); }

  void evaluate(DefinitionBudget& budget) try {
    for (auto& [name, array] : run.arrays) draw_if_small(array);
    DefinitionBudget little = {.operations = kFurtherData, .sample = kFurtherData};
    for (const Definition& definition : run.definitions) {
      const Argument& output = argument_of(workload, definition.output());
      DefinedElements& found = elements.emplace_back();
      std::string& note = notes.emplace_back();
      try {
        found = smemtune::evaluate(run, definition, output, workload.workload.seed,
                                   is_further ? little : budget);
      } catch (const TooManyOperations& refused) {
        note = not_compared(output.name, workload.label, refused.what());
      }
    }
    run.arrays.clear();
  } catch (...) {
    error = std::current_exception();
  }
};

DefinitionChecks::DefinitionChecks(Launcher& launcher,
                                   const std::vector<NumberedWorkload>& workloads,
                                   std::vector<ExpressionText> definitions,
                                   const DefinitionBudget& budget)
    : launcher_(launcher), definitions_(std::move(definitions)), budget_(budget) {
  for (const NumberedWorkload& workload : workloads) {
    const bool is_further = std::ranges::any_of(
        jobs_, [&](const Job& job) { return job.workload.problem == workload.problem; });
    jobs_.push_back({.workload = workload, .is_further = is_further});
    begin(jobs_.back());
  }
  std::stable_partition(jobs_.begin(), jobs_.end(), [](const Job& job) { return !job.is_further; });
  evaluate(Until::now);
}

void DefinitionChecks::evaluate(Until until) {
  if (std::ranges::none_of(jobs_, [until](const Job& job) { return job.until == until; })) return;
  thread_ =
      std::jthread([this, until, before = std::move(thread_)](const std::stop_token& stop) mutable {
        const std::stop_callback forward(stop, [&before] { before.request_stop(); });
        if (before.joinable()) before.join();
        for (Job& job : jobs_) {
          if (job.until == until && !job.is_done() && !stop.stop_requested()) job.evaluate(budget_);
        }
      });
}

void DefinitionChecks::buffers_are_filled() {
  if (std::exchange(are_filled_, true)) return;
  for (Job& job : jobs_) {
    if (job.until == Until::filled && !job.is_done()) {
      add_contents(job.run, launcher_, job.workload);
    }
  }
  evaluate(Until::filled);
}

DefinitionChecks::~DefinitionChecks() = default;

bool DefinitionChecks::are_of(const std::vector<NumberedWorkload>& workloads,
                              const std::vector<ExpressionText>& definitions) const {
  const auto has_job = [this](const NumberedWorkload& workload) {
    return std::ranges::any_of(jobs_, [&](const Job& job) { return job.workload == workload; });
  };
  return definitions == definitions_ && workloads.size() == jobs_.size() &&
         std::ranges::all_of(workloads, has_job);
}

/// Compiles the job's definitions, and finds out what they read.
void DefinitionChecks::begin(Job& job) try {
  job.run = compile_definitions(job.workload, definitions_);
  const std::uint64_t bytes = host_bytes(job.run, job.workload);
  if (bytes > budget_.host_bytes - held_bytes_) {
    job.refuse("its arrays would take " + gigabytes(bytes) + " on the host, more than the " +
               gigabytes(budget_.host_bytes - held_bytes_) + " that may be used");
    return;
  }
  add_drawn(job.run, job.workload);
  for (const Argument* one : needed_arguments(job.run, job.workload).read) {
    if (!begins_with_contents(*one)) {
      job.until = Until::run;
    } else if (!is_drawn(*one)) {
      job.until = std::max(job.until, Until::filled);
      held_bytes_ += static_cast<std::uint64_t>(one->bytes());
    }
  }
} catch (const ExpressionError&) {
  job.error = std::current_exception();
}

Outcome<Comparisons> DefinitionChecks::compare(const Check& reference) {
  if (thread_.joinable()) thread_.join();
  const auto found = std::ranges::find_if(
      jobs_, [&](const Job& job) { return job.workload.id == reference.workload; });
  if (found == jobs_.end()) return Comparisons{};
  Job& job = *found;
  if (job.until == Until::run && !job.is_done()) {
    add_contents(job.run, launcher_, job.workload);
    if (auto failure = add_outputs(job.run, launcher_, reference, job.workload)) return *failure;
    job.evaluate(budget_);
  }
  if (job.error) std::rethrow_exception(job.error);
  Comparisons comparisons;
  for (std::size_t i = 0; i < job.run.definitions.size(); ++i) {
    if (!job.notes[i].empty()) {
      if (!job.is_further) comparisons.notes.push_back(job.notes[i]);
      continue;
    }
    const Argument& argument = argument_of(job.workload, job.run.definitions[i].output());
    DefinedElements expected = std::move(job.elements[i]);
    comparisons.compared.push_back(
        {.problem = job.workload.problem,
         .output = argument.name,
         .with = ComparedWith::definition,
         .compared = expected.values.size(),
         .elements_total = static_cast<std::uint64_t>(argument.elements())});
    const HostArray wanted = {.shape = argument.shape,
                              .elements = std::move(expected.values),
                              .type = argument.type,
                              .bits = std::move(expected.bits)};
    const Outcome<HostArray> actual = kept_array(launcher_, reference, argument, expected.at);
    if (!actual) return actual.failure();
    if (auto failure = smemtune::compare(argument, wanted, *actual, reference, definitions_[i].text,
                                         expected.at)) {
      return *failure;
    }
  }
  return comparisons;
}

Outcome<Outputs> evaluate_definitions(Launcher& launcher, const Check& reference,
                                      const NumberedWorkload& workload,
                                      const std::vector<ExpressionText>& definitions) {
  if (auto failure = keep_outputs(launcher, reference)) return *failure;
  DefinitionRun run = compile_definitions(workload, definitions);
  add_drawn(run, workload);
  add_contents(run, launcher, workload);
  if (auto failure = add_outputs(run, launcher, reference, workload)) return *failure;
  Outputs outputs;
  for (const Definition& definition : run.definitions) {
    const Argument& argument = argument_of(workload, definition.output());
    const Outcome<HostArray> actual = kept_array(launcher, reference, argument);
    if (!actual) return actual.failure();
    outputs[argument.name] = definition.evaluate(run.arrays, run.scalars).elements;
  }
  return outputs;
}

Outcome<Comparisons> check_expected(Launcher& launcher, const Check& reference,
                                    const NumberedWorkload& workload,
                                    const std::map<std::string, DataFile>& expected) {
  Comparisons comparisons;
  for (Argument argument : workload.workload.arguments) {
    const auto file = expected.find(argument.name);
    if (file == expected.end()) continue;
    argument.init = {.kind = Init::Kind::file,
                     .a = 0,
                     .b = 0,
                     .file = file->second,
                     .is_spread = argument.init.is_spread};
    // A file with a single set is the answer to the first one.
    if (argument.init.is_spread && npy_sets(argument) == 1) continue;
    const auto bytes = initial_contents(argument, workload.workload.seed);
    HostArray want = {argument.shape, to_doubles(bytes, argument.type), argument.type};
    if (!is_floating(argument.type)) want.bits = to_bits(bytes, argument.type);
    const Outcome<HostArray> actual = kept_array(launcher, reference, argument);
    if (!actual) return actual.failure();
    if (auto failure =
            compare(argument, want, *actual, reference, file->second.path.filename().string())) {
      failure->reason = "expected";
      return *failure;
    }
    const auto elements = static_cast<std::uint64_t>(argument.elements());
    comparisons.compared.push_back({.problem = workload.problem,
                                    .output = argument.name,
                                    .with = ComparedWith::expected_file,
                                    .compared = elements,
                                    .elements_total = elements});
  }
  return comparisons;
}

}  // namespace smemtune
