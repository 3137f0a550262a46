#include "tuner/init/space_draft.h"

#include "tuner/config/space_words.h"
#include "tuner/core/text.h"
#include "tuner/init/argument_draft.h"
#include "tuner/init/copies.h"
#include "tuner/init/definition_draft.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/kernel_draft.h"
#include "tuner/init/launch_sequence.h"
#include "tuner/init/names.h"
#include "tuner/init/small_problem.h"
#include "tuner/init/space_names.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

/// Returns true if the number decides how much the host allocates for memory that it passes to a
/// kernel.
bool is_allocated_by(const KernelFile& file, const std::string& name) {
  return std::ranges::any_of(file.launches, [&](const LaunchSite& site) {
    return std::ranges::any_of(site.frames, [&](const HostFrame& frame) {
      const auto values = [&](const std::string& word) {
        const auto meaning = file.meanings.find(word);
        const bool is_macro = meaning != file.meanings.end() && meaning->second.size() == 1;
        return is_macro ? meaning->second : value_among(frame.variables, word);
      };
      return std::ranges::any_of(frame.allocated, [&](const auto& allocated) {
        return names_behind({allocated.second}, values).contains(name);
      });
    });
  });
}

/// Returns true if the number is the size of an array in shared memory, so that it decides how the
/// work is done, not what is done.
bool sizes_shared_memory(const KernelFile& file, const std::string& name) {
  return std::ranges::any_of(file.kernels, [&](const KernelFunction& kernel) {
    return std::ranges::any_of(kernel.shared, [&](const SharedArray& array) {
      return std::ranges::find(array.extents, name) != array.extents.end();
    });
  });
}

/// Returns the meaning of a number. Sizes of constant memory and of the host's allocations belong
/// to the problem, unless a kernel that is launched has it and the name says something else.
Meaning meaning_in(const KernelFile& file, const std::string& name) {
  const Meaning meaning = meaning_of(name);
  if (meaning == Meaning::problem && sizes_shared_memory(file, name)) {
    return is_allocated_by(file, name) ? meaning : Meaning::unknown;
  }
  const bool is_launched = std::ranges::any_of(file.kernels, [&](const KernelFunction& kernel) {
    return kernel.reached.contains(name) && first_launch(file, kernel.name) != nullptr;
  });
  if (!is_launched && is_allocated_by(file, name)) return Meaning::problem;
  if (meaning != Meaning::unknown || file.compared.contains(name)) return meaning;
  if (is_allocated_by(file, name)) return Meaning::problem;
  const bool is_extent = std::ranges::any_of(file.constants, [&](const SharedArray& constant) {
    return std::ranges::any_of(constant.extents,
                               [&](const std::string& extent) { return has_name(extent, name); });
  });
  return is_extent ? Meaning::problem : meaning;
}

/// Returns true if the host passes the same to two kernels, except for what they write.
bool is_passed_the_same(const KernelFile& file, const KernelFunction& one,
                        const KernelFunction& other) {
  const LaunchSite* const first = first_launch(file, one.name);
  const LaunchSite* const second = first_launch(file, other.name);
  return first != nullptr && second != nullptr && passes_the_same(file, *first, *second);
}

/// Returns true if a kernel takes what another takes: parameters of the same types, and the same
/// names or the same arguments.
bool takes_the_same(const KernelFile& file, const KernelFunction& one,
                    const KernelFunction& other) {
  const auto has_same_type = [](const KernelParameter& a, const KernelParameter& b) {
    const bool is_read_only = (a.is_written() && b.is_const) || (b.is_written() && a.is_const);
    return a.type == b.type && a.pointers == b.pointers && !is_read_only;
  };
  const auto has_same_name = [](const KernelParameter& a, const KernelParameter& b) {
    return a.name == b.name;
  };
  if (!std::ranges::equal(one.parameters, other.parameters, has_same_type)) return false;
  return std::ranges::equal(one.parameters, other.parameters, has_same_name) ||
         is_passed_the_same(file, one, other);
}

/// Returns the definition of what another kernel of the same arguments computes, in those of the
/// first; nullopt if it cannot be read.
std::optional<std::string> definition_of(const KernelFunction& other, const KernelFunction& first,
                                         const SpaceNames& names, const Json& arguments) {
  if (!other.store) return std::nullopt;
  Terms terms;
  for (std::size_t i = 0; i < first.parameters.size(); ++i) {
    terms.emplace_back(other.parameters[i].name, first.parameters[i].name);
  }
  KernelFunction renamed = first;
  SingleStore& store = renamed.store.emplace(*other.store);
  for (std::string* const text : {&store.array, &store.index, &store.value}) {
    *text = substituted(*text, terms);
  }
  for (std::string& condition : store.conditions) condition = substituted(condition, terms);
  return definition_of(renamed, names, arguments);
}

/// Returns true for a kernel that only wakes the GPU up.
bool is_warm_up(const std::string& name) { return holds_any(name, {"warmup", "warm_up"}); }

/// Returns true if a kernel's name says that it is the plain one, to compare others with.
bool is_plain(const std::string& kernel) {
  return holds_any(last_name(kernel),
                   {"naive", "simple", "basic", "baseline", "reference", "plain"});
}

/// Returns the kernel to compare with: a plain one, else the first.
std::string reference_of(const DraftRequest& request) {
  const auto plain = std::ranges::find_if(request.kernels, is_plain);
  return last_name(plain == request.kernels.end() ? request.kernels.front() : *plain);
}

Json verification(const DraftRequest& request) {
  Json verify;
  std::string text = "Every configuration is compared with the default of " +
                     (request.together ? request.name : reference_of(request)) + ".";
  if (request.kernels.size() > 1) text += " Remove kernels that compute something else.";
  verify["description"] = text;
  if (request.kernels.size() > 1) verify["reference"] = reference_of(request);
  return verify;
}

void add_text(Json& verify, const std::string& text) {
  verify["description"] = verify["description"].get<std::string>() + text;
}

/// Returns JSON on one line; text of a source that is not UTF-8 is replaced, also in names.
std::string in_utf8(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Says where the host may have the expected results, and how a space names them.
void add_answers(const FlatSource& source, const KernelFile& file, const Json& arguments,
                 Json& verify) {
  const auto output = std::ranges::find_if(arguments, [](const Json& argument) {
    const Json role = argument.value("role", Json());
    return role == "output" || role == "inout";
  });
  if (output == arguments.end()) return;
  for (const Answer& answer : file.answers) {
    const std::string named = answer.is_file ? answer.name : answer.name + ".npy";
    add_text(verify, " In " + source.place(answer.line) + " the host " +
                         (answer.is_file ? "reads " : "lists ") + answer.name +
                         ": if these are the expected results, write \"expected\": { " +
                         in_utf8((*output)["name"]) + ": " + in_utf8(named) + " } here" +
                         (answer.is_file ? "" : ", with the numbers in that file") +
                         ", and the inputs that belong to it as \"init\": \"file(...)\".");
  }
}

/// Adds the definition of what the host expects, or else of what the kernel seems to compute. The
/// latter is a guess unless every run holds a function of the host against it.
void add_definition(const FlatSource& source, const KernelFile& file, const SpaceNames& names,
                    Json& arguments, Json& verify) {
  const auto own = definition_of(names.first(), names, arguments);
  const auto expected = expected_by_host(file, names, arguments);
  // Where the kernel computes something else, it has run several times before the host compares.
  const bool is_of_threads = own && names.first().store->is_of_threads;  // For one block size only.
  const bool is_of_one_launch =
      expected && (!own || is_of_threads || !expected->contents.empty() ||
                   agree(*own, expected->definition, names, arguments).value_or(true));
  if (is_of_one_launch) {
    verify["definition"] = expected->definition;
    for (Json& argument : arguments) {
      const auto held = expected->contents.find(argument["name"]);
      if (held != expected->contents.end()) argument["init"] = held->second;
    }
    // Many definitions have the same total, above all of inputs that are all equal.
    if (expected->is_in_total) verify["definition_is_a_guess"] = true;
    const std::string what =
        expected->is_in_total ? "the kernel itself seems to compute; only its total is what " : "";
    const std::string does =
        expected->is_printed ? "prints beside the results, " : "compares the results with, ";
    add_text(verify,
             " The definition is what " + what + "the host " + does + source.place(expected->line) +
                 (expected->is_in_total ? ": correct it where something else is meant, then remove "
                                          "definition_is_a_guess."
                                        : "."));
  } else if (own) {
    verify["definition"] = *own;
    const bool is_guess = !verify.contains("also_reference");
    if (is_guess) verify["definition_is_a_guess"] = true;
    add_text(verify, std::string(" The definition is what the kernel itself seems to compute: ") +
                         "correct it where something else is meant" +
                         (is_guess ? ", then remove definition_is_a_guess."
                                   : "; what the function computes is held against it."));
  }
}

/// Says what a comparison with a kernel alone may miss.
void add_advice(Json& verify) {
  add_text(verify, std::string(" Worth adding: ") +
                       (verify.contains("definition") ? "" : "a definition, and ") +
                       "in \"also\" a size that no tile divides.");
}

/// Returns true if a text of the host has a variable that a size of the kernel is made of:
/// `rows + 1` where the size is `rows * columns`.
bool is_in_a_size(const std::string& text, std::size_t frame, const HostTerms& terms,
                  const SpaceNames& names, const Json& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_size = arguments[i].contains("value") &&
                         names.problem().contains(plain_text(arguments[i]["value"]));
    const std::string passed = terms.passed_value(i, frame);
    const auto is_its = [&](std::string_view name) { return has_name(passed, name); };
    if (is_size && std::ranges::any_of(identifiers(text), is_its)) return true;
  }
  return false;
}

/// Returns the number of elements of an argument; nullopt if that is not known.
std::optional<std::string> elements_of_argument(const std::string& name, const Json& arguments) {
  for (const Json& argument : arguments) {
    if (argument["name"] != SpaceNames::argument_name(name) || !argument.contains("shape"))
      continue;
    std::string elements;
    for (const Json& extent : argument["shape"]) {
      if (is_todo(plain_text(extent))) return std::nullopt;
      elements += (elements.empty() ? "" : " * ") + in_parentheses(plain_text(extent));
    }
    return elements;
  }
  return std::nullopt;
}

/// Adds the scalars that only the host's function takes to the arguments, and leaves them out of
/// what the kernels take. Returns false if they cannot be said, as numbers that would not follow
/// the sizes of a small problem.
bool add_scalars(const HostFunction& witness, const SpaceNames& names, Json& arguments,
                 Json& kernels) {
  if (witness.scalars.empty()) return true;
  // Where each block has a result, the function computes those of the default.
  const Json parameters = names.most_blocks().empty() ? names.parameters() : Json::object();
  const HostTerms terms = names.terms_of(*names.launch_of(names.first().name), parameters);
  Json before = Json::array();
  for (const Json& argument : arguments) before.push_back(argument["name"]);
  Json added = Json::array();
  for (const HostFunction::Scalar& scalar : witness.scalars) {
    const bool is_real = is_floating_name(scalar.parameter.type);
    auto value = is_real ? terms.formula(scalar.passed, names.numbers_of_problem(), scalar.frame)
                         : terms.in_our_names(scalar.passed, scalar.frame);
    if (!value) value = elements_of_argument(scalar.sizes, arguments);
    if (!value) return false;
    const bool is_number = identifiers(*value).empty();
    if (is_number && is_in_a_size(scalar.passed, scalar.frame, terms, names, arguments)) {
      return false;
    }
    added.push_back({{"name", SpaceNames::argument_name(scalar.parameter.name)},
                     {"type", elements_of(scalar.parameter.type).type},
                     {"value", as_value(*value)},
                     {"description", "Only " + witness.said() + " takes it."}});
  }
  arguments.insert(arguments.end(), added.begin(), added.end());
  for (Json& kernel : kernels) {
    if (!kernel.contains("launches") && !kernel.contains("arguments")) kernel["arguments"] = before;
  }
  return true;
}

/// Clears results that a function of the host adds to, as the host does before it calls it.
void clear_results(const HostFunction& witness, Json& arguments) {
  for (const std::string& name : witness.added_to) {
    for (Json& argument : arguments) {
      const bool is_its = argument["name"] == SpaceNames::argument_name(name);
      if (!is_its || argument.value("role", "") != "output") continue;
      argument["role"] = "inout";
      argument["init"] = "zero";
      argument["description"] = "Begins with zeros, since " + witness.said() + " adds to it.";
    }
  }
}

void add_witness(const DraftRequest& request, const KernelFunction& called, const SpaceNames& names,
                 const Json& problem, Json& verify, Json& kernels) {
  const HostFunction& witness = *request.witness;
  verify["description"] = "On the problems of \"also\" every configuration is compared with " +
                          witness.said() +
                          " in the source, which one thread runs. Worth adding there: a size that "
                          "no tile divides, where the kernels allow for such.";
  verify["reference"] = request.together ? request.name : reference_of(request);
  verify["also"] = Json::array({problem});
  verify["also_reference"] = witness.kernel_name;
  Json kernel = {{"name", witness.kernel_name},
                 {"description", "Computes " + witness.said() + " with one thread."},
                 {"source", request.source},
                 {"entry", witness.kernel_name},
                 {"block", Json::array({1})},
                 {"grid", Json::array({1})}};
  const bool takes_all =
      witness.scalars.empty() && witness.arguments.size() == names.first().parameters.size();
  if (!takes_all) {
    kernel["arguments"] = Json::array();
    for (const std::string& name : witness.arguments) {
      kernel["arguments"].push_back(SpaceNames::argument_name(name));
    }
  }
  const bool has_macros = std::ranges::any_of(
      names.macro_sizes(), [&](const std::string& name) { return called.reached.contains(name); });
  if (has_macros) kernel["pass"] = "define";
  if (kernels.front().contains("pass")) kernel["pass"] = kernels.front()["pass"];
  // The kernel needs values for the macros that it has in the source.
  if (kernels.front().value("pass", "") == "define" && kernels.front().contains("default")) {
    for (const auto& [name, value] : kernels.front()["default"].items()) {
      if (called.reached.contains(name)) kernel["parameters"][name] = Json::array({value});
    }
  }
  kernels.push_back(std::move(kernel));
}

/// Adds to a space what its results are compared with. Returns true if that is a function of the
/// host.
bool complete_verification(const FlatSource& source, const KernelFile& file,
                           const DraftRequest& request, const SpaceNames& names, Json& root) {
  Json& arguments = root["arguments"];
  Json& verify = root["verify"];
  Json& kernels = root["kernels"];
  // The function answers only for a problem that is neither tuned nor the CPU device's.
  const Json small = small_problem(names, kernels, request.witness ? &*request.witness : nullptr);
  const bool is_other = small != names.problem() && small != root["cpu_problems"][0];
  const bool has_witness =
      request.witness && is_other && add_scalars(*request.witness, names, arguments, kernels);
  if (has_witness) {
    const KernelFunction& called = kernel_named(file, request.witness->kernel_name);
    add_witness(request, called, names, small, verify, kernels);
  }
  add_definition(source, file, names, arguments, verify);
  add_answers(source, file, arguments, verify);
  if (has_witness) {
    clear_results(*request.witness, arguments);
  } else {
    add_advice(verify);
  }
  return has_witness;
}

/// Returns true for `WARP_SIZE` and masks of lanes or bits, which no one chooses.
bool is_of_the_hardware(const NamedNumber& number) {
  constexpr std::int64_t kLargest = 0x7fffffff;
  if (number.value > kLargest) return true;
  constexpr std::int64_t kWarpSize = 32;
  constexpr std::int64_t kAllLanes = 0xffffffff;
  const std::string name = lower_case(number.name);
  return (number.value == kWarpSize && name.find("warp") != std::string::npos) ||
         (number.value == kAllLanes && name.ends_with("mask"));
}

/// Returns the problem with a TODO for each name that nothing in the source gives a value.
Json problem_to_complete(const FlatSource& source, const SpaceNames& names) {
  Json problem = names.problem();
  for (auto& [name, value] : problem.items()) {
    if (!names.is_guess(name)) continue;
    const std::string example = plain_text(value);
    const std::size_t loop = names.loop_that_changes(name);
    value = "TODO: " + name + " of the problem, such as " + example + ": " +
            (loop == 0 ? "the source does not say"
                       : "the loop in " + source.place(loop) + " changes it");
  }
  return problem;
}

void add_problem_rows(const SpaceNames& names, SpaceDraft& draft) {
  for (const auto& [name, value] : names.problem().items()) {
    const bool is_open = names.is_guess(name);
    draft.arguments.push_back({.name = name,
                               .role = "problem",
                               .shape = is_open             ? "TODO"
                                        : value.is_string() ? value.get<std::string>()
                                                            : value.dump(),
                               .said_by = is_open ? "nothing" : "the source"});
  }
}

/// Returns JSON in lines of at most 100 characters if possible; the outermost object always has a
/// line for each member. `indent`: indentation of the lines after the first; `column`: where the
/// first one begins, 0 for text within a line.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON.
std::string laid_out(const Json& value, std::size_t indent, std::size_t column) {
  constexpr std::size_t kColumns = 100;
  const std::string whole = [&] {
    std::string text;
    if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        text += (text.empty() ? "{ " : ", ") + in_utf8(key) + ": " + laid_out(member, 0, 0);
      }
      return text.empty() ? "{}" : text + " }";
    }
    if (value.is_array()) {
      for (const Json& member : value) text += (text.empty() ? "[" : ", ") + laid_out(member, 0, 0);
      return text.empty() ? "[]" : text + "]";
    }
    return in_utf8(value);
  }();
  const bool fits = column + whole.size() < kColumns && whole.find('\n') == std::string::npos;
  if (!value.is_structured() || (fits && (column == 0 || indent > 0))) return whole;
  std::string text = value.is_object() ? "{\n" : "[\n";
  const std::string pad(indent + 2, ' ');
  std::size_t left = value.size();
  for (const auto& [key, member] : value.items()) {
    const std::string label = value.is_object() ? in_utf8(key) + ": " : "";
    text += pad + label + laid_out(member, indent + 2, indent + 2 + label.size());
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

/// Returns true if a draft has a TODO.
bool is_open(const Json& drafted) { return in_utf8(drafted).find("TODO") != std::string::npos; }

bool is_launched(const KernelFile& file, const std::string& kernel) {
  return first_launch(file, kernel) != nullptr;
}

/// Returns the kernels of a request without those that DraftRequest::may_leave_out leaves out; all
/// where the host does not launch the first. A plain one that is never launched is kept only where
/// no function of the host says what is right.
std::vector<std::string> kernels_to_draft(const FlatSource& source, const KernelFile& file,
                                          const DraftRequest& request) {
  std::vector<std::string> kernels = request.kernels;
  const bool may_leave_out = request.may_leave_out && !request.together;
  if (!may_leave_out || kernels.size() < 2 || !is_launched(file, kernels.front())) return kernels;
  const SpaceNames names(file, request);
  const std::string first = kernels.front();
  std::erase_if(kernels, [&](const std::string& name) {
    const Json kernel = draft_kernel(source, file, request, names, name).kernel;
    const bool is_needed = is_launched(file, name) || (is_plain(name) && !request.witness);
    return name != first && is_open(is_needed ? kernel["block"] : kernel);
  });
  return kernels;
}

std::vector<NamedNumber> numbers_of(const KernelFile& file, bool is_problem) {
  std::vector<NamedNumber> numbers;
  for (const NamedNumber& number : file.numbers) {
    const bool is_wanted = (meaning_in(file, number.name) == Meaning::problem) == is_problem;
    if (!is_wanted || is_of_the_hardware(number)) continue;
    if (reserved_meaning(number.name).empty()) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::vector<NamedNumber> tunable_numbers(const KernelFile& file) { return numbers_of(file, false); }

std::vector<NamedNumber> problem_numbers(const KernelFile& file) { return numbers_of(file, true); }

const KernelFunction* first_kernel(const FlatSource& source, const KernelFile& file) {
  const auto rank = [&](const KernelFunction& kernel) {
    if (is_copy(kernel.name)) return -1;
    if (kernel.parameters.empty()) return 0;  // Nothing shows what it has done.
    return (is_launched(file, kernel.name) ? 3 : 1) + (source.is_of_source(kernel.line) ? 1 : 0);
  };
  const auto first = std::ranges::max_element(file.kernels, {}, rank);
  return first == file.kernels.end() || rank(*first) < 0 ? nullptr : &*first;
}

std::vector<std::string> kernels_like(const KernelFile& file, const std::string& kernel) {
  constexpr std::size_t kMost = 16;
  const KernelFunction& wanted = kernel_named(file, kernel);
  std::vector<std::string> names;
  for (const KernelFunction& other : file.kernels) {
    if (names.size() == kMost) break;
    if (&other != &wanted && !takes_the_same(file, wanted, other)) continue;
    if (std::ranges::find(names, other.name) == names.end()) names.push_back(other.name);
  }
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return is_launched(file, name); });
  return names;
}

std::vector<std::string> computing_the_same(const KernelFile& file,
                                            std::vector<std::string> kernels) {
  if (kernels.size() < 2) return kernels;
  const DraftRequest request = {.kernels = kernels};
  const SpaceNames names(file, request);
  const Json arguments = draft_arguments(FlatSource(), file, names, Json::array()).arguments;
  const auto own = [&](const std::string& kernel) {
    return definition_of(kernel_named(file, kernel), names.first(), names, arguments);
  };
  const auto differs = [&](const std::string& kernel, const std::string& wanted) {
    const auto its = own(kernel);
    return its && !agree(*its, wanted, names, arguments).value_or(true);
  };
  std::optional<std::string> wanted = own(kernels.front());
  if (const auto expected = expected_by_host(file, names, arguments)) {
    // Where it is none of theirs, something else has happened before the host compares.
    const bool is_of_one = std::ranges::any_of(
        kernels, [&](const std::string& kernel) { return !differs(kernel, expected->definition); });
    if (is_of_one) wanted = expected->definition;
  }
  if (wanted) {
    std::erase_if(kernels, [&](const std::string& kernel) { return differs(kernel, *wanted); });
  }
  if (!std::ranges::all_of(kernels, is_warm_up)) std::erase_if(kernels, is_warm_up);
  return kernels;
}

std::vector<std::string> kernels_launched_with(const KernelFile& file, const std::string& kernel) {
  std::vector<std::string> names;
  const auto sequence = sequence_of(file, kernel);
  if (!sequence) return names;
  for (const LaunchSite& site : sequence->sites) {
    for (const KernelFunction& other : file.kernels) {
      const bool is_known = std::ranges::find(names, other.name) != names.end();
      if (last_name(other.name) == site.kernel && !is_known) names.push_back(other.name);
    }
  }
  return names;
}

KernelFunction as_launched(const KernelFile& file, const DraftRequest& request) {
  const auto sequence =
      request.together ? sequence_of(file, request.kernels.front()) : std::nullopt;
  KernelFunction kernel = sequence ? sequence->whole : kernel_named(file, request.kernels.front());
  const std::vector<std::string> all =
      sequence ? request.kernels : std::vector{request.kernels.front()};
  for (const std::string& name : all) {
    const SpaceNames names(file, {.kernels = {name}});
    const KernelFunction& one = names.first();
    for (std::size_t i = 0; i < one.template_parameters.size(); ++i) {
      const std::string type = names.template_type(one, i);
      if (!one.template_parameters[i].is_type() || elements_of(type).count != 1 ||
          elements_of(type).type.empty())
        continue;
      for (KernelParameter& parameter : kernel.parameters) {
        if (parameter.type == one.template_parameters[i].name) parameter.type = type;
      }
    }
  }
  return kernel;
}

LaunchSite launch_of(const KernelFile& file, const DraftRequest& request) {
  const std::string& first = request.kernels.front();
  if (const auto sequence = request.together ? sequence_of(file, first) : std::nullopt) {
    return sequence->launch;
  }
  const LaunchSite* const site = first_launch(file, first);
  return site == nullptr ? LaunchSite() : *site;
}

std::vector<std::string> left_out_around(const FlatSource& source, const KernelFile& file,
                                         const std::vector<std::string>& kernels) {
  const auto is_drafted = [&](const LaunchSite& site) {
    return std::ranges::any_of(
        kernels, [&](const std::string& name) { return last_name(name) == site.kernel; });
  };
  std::map<std::size_t, std::string> lines;  // Keyed by the loop.
  for (const LaunchSite& site : file.launches) {
    if (!is_drafted(site) || site.loops.empty()) continue;
    const CountingLoop& loop = site.loops.back();
    std::vector<std::string> others;
    for (const LaunchSite& other : file.launches) {
      const bool is_inside = std::ranges::any_of(
          other.loops, [&](const CountingLoop& one) { return one.place == loop.place; });
      const bool shares = std::ranges::any_of(other.arguments, [&](const std::string& text) {
        return !number_of(text) && std::ranges::find(site.arguments, text) != site.arguments.end();
      });
      const bool copies = is_transfer(other.kernel);
      const std::string what =
          copies ? other.kernel + " in " + source.place(other.line) : other.kernel;
      const bool is_new = std::ranges::find(others, what) == others.end() && !is_drafted(other);
      const bool matters = !copies || is_used(loop, site);
      if (is_inside && shares && matters && is_new) others.push_back(what);
    }
    if (others.empty()) continue;
    lines[loop.place] = source.place(loop.line) + ": " + loop.header + " also has " +
                        listed(others) + ": what the host does in between is not in the draft";
  }
  std::vector<std::string> found;
  for (const auto& [place, line] : lines) found.push_back(line);
  return found;
}

SpaceDraft draft_space(const FlatSource& source, const KernelFile& given,
                       const DraftRequest& asked) {
  DraftRequest request = asked;
  request.kernels = kernels_to_draft(source, given, asked);
  KernelFile file = given;
  const auto sequence = asked.together ? sequence_of(given, asked.kernels.front()) : std::nullopt;
  if (sequence) {
    file.kernels.push_back(sequence->whole);
    file.launches.insert(file.launches.begin(), sequence->launch);
    request.kernels = {sequence->whole.name};
  }
  SpaceDraft draft;
  draft.kernels = asked.together ? asked.kernels : request.kernels;
  SpaceNames names(file, request, sequence ? &*sequence : nullptr);
  std::vector<KernelDraft> drafts;
  if (sequence) {
    drafts.push_back(draft_sequence(source, file, request, names, *sequence));
  } else {
    for (const std::string& name : request.kernels) {
      drafts.push_back(draft_kernel(source, file, request, names, name));
    }
  }
  Json kernels = Json::array();
  for (KernelDraft& kernel : drafts) {
    if (drafts.size() == 1) names.set_parameters(kernel.kernel.value("parameters", Json::object()));
    draft.has_guesses = draft.has_guesses || kernel.kernel.contains("default_is_a_guess");
    kernels.push_back(std::move(kernel.kernel));
    draft.launches.insert(draft.launches.end(), kernel.launches.begin(), kernel.launches.end());
  }
  ArgumentDraft arguments = draft_arguments(source, file, names, kernels);
  names.set_most_blocks(arguments.most_blocks);
  names.set_launch(kernels.front());
  draft.arguments = std::move(arguments.rows);
  draft.has_guesses =
      draft.has_guesses || std::ranges::any_of(draft.arguments, &DraftedArgument::is_guess);
  names.need_a_size(is_open(arguments.arguments) || is_open(kernels));
  add_problem_rows(names, draft);

  Json root;
  root["name"] = request.name;
  root["description"] = "From " + request.written_from +
                        " by smemtune init. Replace every TODO; smemtune --check lists those "
                        "that are left.";
  root["problems"] = Json::array({problem_to_complete(source, names)});
  root["cpu_problems"] = Json::array({cpu_problem(names, kernels)});
  root["arguments"] = std::move(arguments.arguments);
  root["verify"] = verification(request);
  root["kernels"] = std::move(kernels);
  draft.has_witness = complete_verification(source, file, request, names, root);
  draft.text = laid_out(root, 0, 1) + "\n";
  return draft;
}

}  // namespace smemtune
