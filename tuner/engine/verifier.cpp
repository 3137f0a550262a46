#include "tuner/engine/verifier.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/npy_file.h"
#include "tuner/backend/tolerances.h"
#include "tuner/core/definition.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/on_all_cores.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"
#include "tuner/core/usable_cores.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace smemtune {

namespace {

// An element that costs more than the budget is evaluated if it costs no more than this many
// budgets.
constexpr std::uint64_t kDearElement = 5;

/// Returns a number with the digits that tell it apart from another: 9, which are enough for any
/// float, or the 17 of a double.
std::string told_apart(double number, double other) {
  constexpr int kFloat = 9;
  constexpr int kDouble = 17;
  std::string text = significant(number, kFloat);
  return text == significant(other, kFloat) ? significant(number, kDouble) : text;
}

std::string value_text(const Mismatch& mismatch) {
  return mismatch.exact_value.empty() ? told_apart(mismatch.value, mismatch.expected)
                                      : mismatch.exact_value;
}

std::string expected_text(const Mismatch& mismatch) {
  return mismatch.exact_expected.empty() ? told_apart(mismatch.expected, mismatch.value)
                                         : mismatch.exact_expected;
}

std::string sum_text(const std::string& argument) { return "the sum of " + argument; }

Failure failure_of_reference(const Mismatch& mismatch, const std::string& label) {
  Failure failure = failure_of(mismatch, "on " + label);
  if (mismatch.reason == "unwritten") {
    failure.detail +=
        "; if it is to leave elements as they are, the role of " + mismatch.argument + " is inout";
  }
  if (mismatch.reason == "nan") {
    failure.detail +=
        "; give its inputs an \"init\" and its scalars values for which it computes numbers";
  }
  return failure;
}

Failure on(const std::string& label, Failure failure) {
  failure.detail +=
      (failure.detail.empty() ? "on " : " (on ") + label + (failure.detail.empty() ? "" : ")");
  return failure;
}

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

HostArray take_array(const Argument& argument, std::map<std::string, EncodedArray>& from) {
  return array_of(argument, std::move(from[argument.name].bytes), argument.elements());
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

/// Whether an element that must match exactly is only known as a double too large to be exact.
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

Sum sum_of(const HostArray& array) {
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
  const auto own = reference.tolerances.find(argument.name);
  const Tolerance used = tolerance_for(
      own == reference.tolerances.end() ? reference.tolerance : own->second, argument.type);
  if (argument.compares_sum) {
    const Sum want = sum_of(expected);
    const Sum have = sum_of(actual.in_numbers());
    if (distance(have, want, argument.type) <= allowed_error(used, argument.type, want.number)) {
      return std::nullopt;
    }
    return failure({Status::correctness, "definition"},
                   sum_text(argument.name) + " is " + told_apart(have.number, want.number) +
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

RunRequest reference_run(const Check& reference) {
  return {.workload = reference.workload,
          .as_reference = true,
          .tolerance = reference.tolerance,
          .tolerances = reference.tolerances,
          .download = {}};
}

}  // namespace

Failure failure_of(const Mismatch& mismatch, const std::string& where) {
  if (mismatch.count == 0) {
    return {.status = Status::correctness,
            .reason = mismatch.reason,
            .detail = sum_text(mismatch.argument) + " is " + value_text(mismatch) + ", expected " +
                      expected_text(mismatch) + " " + where};
  }
  std::string detail = mismatch.argument + "[" + std::to_string(mismatch.index) + "] is ";
  if (mismatch.reason == "unwritten") {
    detail += "not written";
  } else if (mismatch.reason == "overrun") {
    detail += mismatch.index < 0 ? "written, before its beginning" : "written, past its end";
  } else {
    detail += value_text(mismatch);
    if (!std::isnan(mismatch.expected)) detail += ", expected " + expected_text(mismatch);
  }
  detail += " (" + std::to_string(mismatch.count) + " such elements) " + where;
  // It may have written beyond the guard zone, too: into other buffers, and into the expected
  // outputs that later kernels are compared with.
  return {.status = Status::correctness,
          .reason = mismatch.reason,
          .detail = std::move(detail),
          .context_lost = mismatch.reason == "overrun"};
}

std::map<std::string, Tolerance> timed_tolerances(const Check& check, const Workload& workload) {
  constexpr double kTimes = 2;
  std::map<std::string, Tolerance> wider;
  for (const Argument& argument : workload.arguments) {
    if (!argument.is_result()) continue;
    const auto own = check.tolerances.find(argument.name);
    Tolerance& tolerance = wider[argument.name];
    tolerance =
        tolerance_for(own == check.tolerances.end() ? check.tolerance : own->second, argument.type);
    for (std::optional<double>* part :
         {&tolerance.absolute, &tolerance.relative, &tolerance.ulps}) {
      if (*part) **part *= kTimes;
    }
    const auto largest = check.largest_values.find(argument.name);
    const bool is_absolute = tolerance.absolute && !check.tolerance.derived;
    if (largest == check.largest_values.end() || is_absolute) continue;
    const double least = allowed_error({.absolute = {}, .relative = {}, .ulps = kDerivedUlps},
                                       argument.type, largest->second);
    tolerance.absolute = std::max(tolerance.absolute.value_or(0), least);
  }
  return wider;
}

Outcome<Verification> verify(Launcher& launcher, std::span<const Check> checks) {
  Verification worst;
  for (const Check& check : checks) {
    const Outcome<RunReport> report = launcher.run(check.handle, {.workload = check.workload,
                                                                  .tolerance = check.tolerance,
                                                                  .tolerances = check.tolerances,
                                                                  .download = {}});
    if (!report) return on(check.label, report.failure());
    if (report->mismatch) return failure_of(*report->mismatch, "on " + check.label);
    worst.max_absolute_error = std::max(worst.max_absolute_error, report->max_absolute_error);
    worst.max_relative_error = std::max(worst.max_relative_error, report->max_relative_error);
    worst.launched_ms = report->elapsed_ms;
  }
  return worst;
}

std::optional<Failure> establish_reference(Launcher& launcher, const Check& reference,
                                           const std::map<std::string, std::vector<double>>& exact,
                                           bool has_run) {
  if (!has_run || !exact.empty()) {
    RunRequest request = reference_run(reference);
    request.reference = exact;
    const auto first = run_reference(launcher, reference, request);
    if (!first) return first.failure();
  }
  const Outcome<Verification> second = verify(launcher, std::span(&reference, 1));
  if (second) return std::nullopt;
  Failure failure = second.failure();
  if (failure.status == Status::correctness) {
    failure.detail = "two runs of it do not agree: " + failure.detail;
  }
  return failure;
}

Outcome<std::map<std::string, std::vector<double>>> run_reference(Launcher& launcher,
                                                                  const Check& reference,
                                                                  const RunRequest& request) {
  Outcome<RunReport> report = launcher.run(reference.handle, request);
  if (!report) return on(reference.label, report.failure());
  if (report->mismatch) return failure_of_reference(*report->mismatch, reference.label);
  std::map<std::string, std::vector<double>> numbers;
  for (const auto& [name, array] : report->after) numbers[name] = array.doubles();
  return numbers;
}

namespace {

/// Definitions and the data that they are evaluated with.
struct DefinitionRun {
  std::vector<Definition> definitions;
  std::map<std::string, HostArray> before;
  std::map<std::string, double> scalars;
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

/// Returns the bytes that the arrays of run_for() take on the host at most; of those that are
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

/// Runs the reference, which keeps its outputs.
std::optional<Failure> run_for(DefinitionRun& run, Launcher& launcher, const Check& reference,
                               const NumberedWorkload& workload) {
  RunRequest request = reference_run(reference);
  const NeededArguments needed = needed_arguments(run, workload);
  for (const Argument* one : needed.read) {
    if (begins_with_contents(*one) && !is_drawn(*one)) request.download_before.push_back(one->name);
  }
  Outcome<RunReport> report = launcher.run(reference.handle, request);
  if (!report) return on(reference.label, report.failure());
  if (report->mismatch) return failure_of_reference(*report->mismatch, reference.label);
  for (const Argument* one : needed.defined) {
    run.before[one->name] = {.shape = one->shape, .elements = {}, .type = one->type};
  }
  for (const Argument* one : needed.read) {
    // A buffer that begins as poison has no contents that a definition could mean: it means what
    // the buffer's own definition gives.
    if (begins_with_contents(*one)) {
      run.before[one->name] = is_drawn(*one) ? drawn_contents(*one, workload.workload.seed)
                                             : take_array(*one, report->before);
      continue;
    }
    Outcome<HostArray> kept = kept_array(launcher, reference, *one);
    if (!kept) return kept.failure();
    run.before[one->name] = std::move(*kept);
  }
  return std::nullopt;
}

const Argument& argument_of(const NumberedWorkload& workload, const std::string& output) {
  return *std::ranges::find(workload.workload.arguments, output, &Argument::name);
}

std::string gigabytes(std::uint64_t bytes) {
  return significant(static_cast<double>(bytes) * 1e-9, 3) + " GB";
}

std::string not_compared(const std::string& output, const Check& reference,
                         const std::string& why) {
  return "*** " + output + " is not compared with its definition on " + reference.label + ": " +
         why;
}

/// Evaluates as many elements as the budget allows; for a sum all of them or none.
DefinedElements evaluate(const DefinitionRun& run, const Definition& definition,
                         const Argument& output, std::uint64_t seed, DefinitionBudget& budget) {
  DefinitionEffort effort = {.sample = budget.sample, .threads = usable_cores()};
  effort.whole = std::max(budget.operations, effort.sample);
  effort.one_element = std::max(kDearElement * budget.operations, effort.whole);
  if (!output.compares_each()) effort.sample = effort.least_elements = 0;
  DefinedElements some = definition.evaluate_some(run.before, run.scalars, effort, seed);
  budget.operations -= std::min(budget.operations, some.operations);
  if (!output.compares_each() && std::ssize(some.values) < output.elements()) {
    throw TooManyOperations(std::string(output.compares_sum ? "its sum" : "its order") +
                            " needs all elements, and they more than " +
                            std::to_string(effort.whole) + " operations");
  }
  return some;
}

/// Adds the comparison to `comparisons`, or the reason why it could not be made.
std::optional<Failure> check_definition(Launcher& launcher, const DefinitionRun& run,
                                        std::size_t number, const std::string& text,
                                        const Check& reference, const NumberedWorkload& workload,
                                        DefinitionBudget& budget, Comparisons& comparisons) {
  const Definition& definition = run.definitions[number];
  const Argument& argument = argument_of(workload, definition.output());
  DefinedElements expected;
  try {
    expected = evaluate(run, definition, argument, workload.workload.seed, budget);
  } catch (const TooManyOperations& error) {
    comparisons.notes.push_back(not_compared(argument.name, reference, error.what()));
    return std::nullopt;
  }
  comparisons.compared.push_back(
      {.problem = workload.problem,
       .output = argument.name,
       .with = ComparedWith::definition,
       .compared = expected.values.size(),
       .elements_total = static_cast<std::uint64_t>(argument.elements())});
  const HostArray wanted = {.shape = argument.shape,
                            .elements = std::move(expected.values),
                            .type = argument.type,
                            .bits = std::move(expected.bits)};
  const Outcome<HostArray> actual = kept_array(launcher, reference, argument, expected.at);
  if (!actual) return actual.failure();
  return compare(argument, wanted, *actual, reference, text, expected.at);
}

}  // namespace

Outcome<std::vector<Defined>> evaluate_definitions(Launcher& launcher, const Check& reference,
                                                   const NumberedWorkload& workload,
                                                   const std::vector<ExpressionText>& definitions) {
  DefinitionRun run = compile_definitions(workload, definitions);
  if (auto failure = run_for(run, launcher, reference, workload)) return *failure;
  std::vector<Defined> outputs;
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    const std::string& output = run.definitions[i].output();
    const Outcome<HostArray> actual =
        kept_array(launcher, reference, argument_of(workload, output));
    if (!actual) return actual.failure();
    outputs.push_back({.output = output,
                       .definition = definitions[i].text,
                       .expected = run.definitions[i].evaluate(run.before, run.scalars),
                       .actual = actual->in_numbers()});
  }
  return outputs;
}

Outcome<Comparisons> check_definitions(Launcher& launcher, const Check& reference,
                                       const NumberedWorkload& workload,
                                       const std::vector<ExpressionText>& definitions,
                                       DefinitionBudget& budget) {
  DefinitionRun run = compile_definitions(workload, definitions);
  Comparisons comparisons;
  const std::uint64_t bytes = host_bytes(run, workload);
  if (bytes > budget.host_bytes) {
    const std::string why = "its arrays would take " + gigabytes(bytes) +
                            " on the host, more than the " + gigabytes(budget.host_bytes) +
                            " that may be used";
    for (const Definition& definition : run.definitions) {
      comparisons.notes.push_back(not_compared(definition.output(), reference, why));
    }
    return comparisons;
  }
  if (auto failure = run_for(run, launcher, reference, workload)) return *failure;
  comparisons.has_run = true;
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    if (auto failure = check_definition(launcher, run, i, definitions[i].text, reference, workload,
                                        budget, comparisons)) {
      return *failure;
    }
  }
  return comparisons;
}

Outcome<Comparisons> check_expected(Launcher& launcher, const Check& reference,
                                    const NumberedWorkload& workload,
                                    const std::map<std::string, DataFile>& expected) {
  RunRequest request = reference_run(reference);
  std::map<std::string, HostArray> wanted;
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
    request.download.push_back(argument.name);
    const auto bytes = initial_contents(argument, workload.workload.seed);
    HostArray& want = wanted[argument.name];
    want = {argument.shape, to_doubles(bytes, argument.type), argument.type};
    if (!is_floating(argument.type)) want.bits = to_bits(bytes, argument.type);
  }
  if (wanted.empty()) return Comparisons{};
  Outcome<RunReport> report = launcher.run(reference.handle, request);
  if (!report) return on(reference.label, report.failure());
  if (report->mismatch) return failure_of_reference(*report->mismatch, reference.label);
  Comparisons comparisons = {.compared = {}, .notes = {}, .has_run = true};
  for (const Argument& argument : workload.workload.arguments) {
    const auto want = wanted.find(argument.name);
    if (want == wanted.end()) continue;
    const std::string file = expected.at(argument.name).path.filename().string();
    if (auto failure =
            compare(argument, want->second, take_array(argument, report->after), reference, file)) {
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
