#include "tuner/engine/reference_checks.h"

#include "tuner/backend/tolerances.h"
#include "tuner/core/definition.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/text.h"
#include "tuner/core/usable_cores.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace smemtune {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kTried = 16;  // Elements or pairs changed in each output.
constexpr std::int64_t kLongestRow = 4096;

/// A way in which an output may be wrong.
struct Mutation {
  std::vector<Edit> edits = {};
  std::int64_t elements = 0;  ///< Number of elements that differ from the reference's.
};

/// Changes one output of a workload and checks whether the comparison notices.
class MutatedOutput {
 public:
  MutatedOutput(Launcher& launcher, const Check& reference, const Argument& argument)
      : launcher_(launcher), reference_(reference), argument_(argument) {
    const std::span name(reinterpret_cast<const std::uint8_t*>(argument.name.data()),
                         argument.name.size());
    stream_ = crc32(name);
  }

  /// Returns the names of the mutations that the comparison does not notice.
  Outcome<std::vector<std::string>> unseen() {
    std::vector<std::pair<const char*, Mutation>> mutations = {{"zeroed elements", zeroed()},
                                                               {"flipped highest bits", flipped()}};
    if (argument_.compares_each()) {  // Else the order does not matter.
      mutations.emplace_back("two swapped elements", swapped());
      mutations.emplace_back("a row shifted by one element", shifted());
    }
    std::vector<std::string> words;
    for (const auto& [what, mutation] : mutations) {
      if (mutation.elements == 0) continue;
      const Outcome<bool> seen = is_seen(mutation);
      if (!seen) return seen.failure();
      if (!*seen) words.emplace_back(what);
    }
    return words;
  }

 private:
  Outcome<bool> is_seen(const Mutation& mutation) {
    const Outcome<RunReport> report =
        launcher_.compare(reference_.handle, reference_.request(), mutation.edits);
    if (!report) return report.failure();
    if (!report->mismatch) return false;
    // A mutated sum or row is a single edit, and any mismatch reveals it.
    if (argument_.compares_sum || mutation.edits.size() == 1) return true;
    return 2 * report->mismatch->count >= mutation.elements;
  }

  Mutation zeroed() {
    return of_each([](const Bytes& element) { return Bytes(element.size()); });
  }

  /// Zeros are skipped, as -0 equals 0.
  Mutation flipped() {
    return of_each([](Bytes element) {
      element.back() ^= 0x80;
      return element;
    });
  }

  template <typename Change>
  Mutation of_each(const Change& change) {
    Mutation mutation;
    const std::int64_t wanted = argument_.compares_sum ? 1 : kTried;
    for (const std::int64_t place : places(kTried)) {
      const Bytes element = elements(place, 1);
      if (is_zero(element)) continue;
      mutation.edits.push_back({argument_.name, place, change(element)});
      if (++mutation.elements == wanted) break;
    }
    return mutation;
  }

  Mutation swapped() {
    Mutation mutation;
    const std::vector<std::int64_t> both = places(2 * kTried);
    for (std::size_t i = 0; i + 1 < both.size(); i += 2) {
      const Bytes one = elements(both[i], 1);
      const Bytes other = elements(both[i + 1], 1);
      if (number(one) == number(other)) continue;
      mutation.edits.push_back({argument_.name, both[i], other});
      mutation.edits.push_back({argument_.name, both[i + 1], one});
      mutation.elements += 2;
    }
    return mutation;
  }

  /// Rotates the first of a few rows that a rotation changes; empty when there is none.
  Mutation shifted() {
    const std::int64_t all = argument_.elements();
    const std::int64_t row = argument_.shape.back() > 1 ? argument_.shape.back() : all;
    const std::int64_t length = std::min(row, kLongestRow);
    for (const std::int64_t place : places(4)) {
      const std::int64_t first = std::min(place / row * row, all - length);
      const Bytes before = elements(first, length);
      Bytes after = before;
      const auto size = static_cast<std::ptrdiff_t>(size_of(argument_.type));
      std::rotate(after.begin(), after.begin() + size, after.end());
      if (after != before) return {.edits = {{argument_.name, first, after}}, .elements = length};
    }
    return {};
  }

  /// Returns at most `count` different random places.
  std::vector<std::int64_t> places(std::int64_t count) const {
    const auto all = static_cast<std::uint64_t>(argument_.elements());
    std::set<std::int64_t> known;
    std::vector<std::int64_t> found;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(4 * count); ++i) {
      const auto place = static_cast<std::int64_t>(random_bits(stream_, i) % all);
      if (!known.insert(place).second) continue;
      found.push_back(place);
      if (std::ssize(found) == count) break;
    }
    return found;
  }

  Bytes elements(std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> at(static_cast<std::size_t>(count));
    std::iota(at.begin(), at.end(), first);
    return launcher_.kept_elements(reference_.workload, argument_.name, at);
  }

  double number(const Bytes& element) const { return to_doubles(element, argument_.type).front(); }
  bool is_zero(const Bytes& element) const { return number(element) == 0; }

  Launcher& launcher_;
  const Check& reference_;
  const Argument& argument_;
  std::uint64_t stream_ = 0;
};

std::string listed_with_or(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

std::string first_element(Launcher& launcher, const NumberedWorkload& workload,
                          const std::string& output) {
  const Argument& argument = *find_argument(workload.workload.arguments, output);
  const Bytes bytes = launcher.kept_elements(workload.id, output, std::vector<std::int64_t>{0});
  const std::string exact = is_floating(argument.type)
                                ? std::string()
                                : exact_text(to_bits(bytes, argument.type).front(), argument.type);
  return exact.empty() ? significant(to_doubles(bytes, argument.type).front(), 9) : exact;
}

void note_once(PrepareReply& reply, const std::string& note) {
  if (std::ranges::find(reply.notes, note) == reply.notes.end()) reply.notes.push_back(note);
}

void add(const std::vector<ComparedOutput>& compared, PrepareReply& reply) {
  for (const ComparedOutput& one : compared) add_compared(reply.compared, one);
}

}  // namespace

void add_outputs(Launcher& launcher, const std::vector<KeptOutput>& kept,
                 const NumberedWorkload& workload, std::vector<ReferenceOutput>& outputs) {
  const std::string problem = key(workload.problem);
  for (const KeptOutput& one : kept) {
    const std::string constant = one.is_constant && one.elements > 0
                                     ? first_element(launcher, workload, one.name)
                                     : std::string();
    const auto known = std::ranges::find_if(outputs, [&](const ReferenceOutput& output) {
      return output.problem == problem && output.output == one.name;
    });
    if (known == outputs.end()) {
      outputs.push_back({problem, one.name, one.elements, one.changed, constant});
    } else {
      known->changed = std::max(known->changed, one.changed);
      if (known->constant != constant) known->constant.clear();
    }
  }
}

std::vector<std::string> notes_on(const std::vector<ReferenceOutput>& outputs) {
  std::vector<std::string> notes;
  std::map<std::string, std::string> shares;  // The changed share on each problem, by output.
  for (const ReferenceOutput& output : outputs) {
    if (output.elements == 0) continue;  // A size is 0.
    const std::string on = output.problem.empty() ? "" : " on " + output.problem;
    const std::string elements = format_count(static_cast<std::uint64_t>(output.elements));
    if (output.changed == 0) {
      notes.push_back("*** the reference changes none of the " + elements + " elements of " +
                      output.output + on +
                      ": nothing could differ in it, so that comparing it says nothing");
      continue;
    }
    if (output.changed < output.elements) {
      std::string& share = shares[output.output];
      share += (share.empty() ? "" : ", ") +
               format_count(static_cast<std::uint64_t>(output.changed)) + " of " + elements + on;
    }
    // One element, or the elements on one set of data, may be equal by chance.
    const bool is_told = output.elements > 1 && output.problem == outputs.front().problem;
    if (output.constant != "0" && (output.constant.empty() || !is_told)) continue;
    notes.push_back("*** " + output.output + " of the reference is " + output.constant +
                    " everywhere" + on + ": a kernel that writes " +
                    (output.constant == "0" ? "zeros" : "nothing else") +
                    " would count as correct");
  }
  for (const auto& [output, share] : shares) {
    notes.push_back("of the elements of " + output + " the reference changes " + share);
  }
  return notes;
}

Outcome<std::vector<std::string>> blind_spots(Launcher& launcher,
                                              const std::vector<KeptOutput>& kept,
                                              const Check& reference,
                                              const NumberedWorkload& workload) {
  std::vector<std::string> notes;
  for (const KeptOutput& one : kept) {
    const Argument* const argument = find_argument(workload.workload.arguments, one.name);
    if (argument == nullptr || one.changed == 0) continue;
    const auto unseen = MutatedOutput(launcher, reference, *argument).unseen();
    if (!unseen) return unseen.failure();
    if (unseen->empty()) continue;
    notes.push_back("*** on " + reference.label + " a comparison would not see " +
                    listed_with_or(*unseen) + " of " + one.name +
                    ": they change it by less than the tolerance");
  }
  return notes;
}

void ReferenceChecks::begin(const PrepareRequest& request) {
  if (request.definitions.empty() || request.again) {
    definitions_.reset();
  } else if (!definitions_ || !definitions_->are_of(request.workloads, request.definitions)) {
    definitions_.reset();
    definitions_ = std::make_unique<DefinitionChecks>(
        launcher_, request.workloads, request.definitions,
        DefinitionBudget{.host_bytes = usable_memory_bytes() / 2});
  }
}

std::optional<Failure> ReferenceChecks::hold(const Check& check, const NumberedWorkload& workload,
                                             const Problem& tuned, const PrepareRequest& request,
                                             PrepareReply& reply) {
  if (definitions_) {
    channel_.tell_phase("definition");
    if (auto failure = hold_against_definitions(check, request, reply)) return failure;
  }
  // The second set of data of the tuned problem has answers in files with two sets.
  const bool has_files = !request.expected.empty() && !request.again && workload.problem == tuned;
  return has_files ? hold_against_files(check, workload, request.expected, reply) : std::nullopt;
}

std::optional<Failure> ReferenceChecks::hold_against_definitions(const Check& check,
                                                                 const PrepareRequest& request,
                                                                 PrepareReply& reply) {
  const auto note_guess = [&](const std::string& why) {
    note_once(reply,
              "the definition that init derived from the kernel is not what the kernel "
              "computes: correct or remove it: " +
                  why);
  };
  try {
    const Outcome<Comparisons> held = definitions_->compare(check);
    if (held) {
      for (const std::string& note : held->notes) note_once(reply, note);
      // Agreement means nothing for a definition that was read from the kernel itself.
      if (!request.definition_is_a_guess) add(held->compared, reply);
      return std::nullopt;
    }
    const Failure& failure = held.failure();
    const bool is_wrong = failure.status == Status::correctness && failure.reason == "definition";
    if (!is_wrong || !request.definition_is_a_guess) return failure;
    note_guess(failure.detail);
  } catch (const ExpressionError& error) {
    const std::string why = "on " + check.label + ": " + error.what();
    if (!request.definition_is_a_guess) throw InputError("the definition " + why);
    note_guess(why);
  }
  return std::nullopt;
}

/// Compares the outputs on the tuned problem, which the files are for.
std::optional<Failure> ReferenceChecks::hold_against_files(
    const Check& check, const NumberedWorkload& workload,
    const std::map<std::string, DataFile>& expected, PrepareReply& reply) {
  channel_.tell_phase("expected");
  try {
    const Outcome<Comparisons> held = check_expected(launcher_, check, workload, expected);
    if (!held) return held.failure();
    add(held->compared, reply);
  } catch (const InputError& error) {
    reply.notes.push_back("the reference was not checked against its expected outputs on " +
                          check.label + ": " + error.what());
  }
  return std::nullopt;
}

}  // namespace smemtune
