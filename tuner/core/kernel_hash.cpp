#include "tuner/core/kernel_hash.h"

#include "tuner/core/hash.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <concepts>

namespace smemtune {
namespace {

/// A text of labelled fields, each with its length, so that different fields never give the same
/// text.
class CanonicalText {
 public:
  void add(std::string_view label, std::string_view value) {
    text_ += label;
    text_ += ' ' + std::to_string(value.size()) + ':';
    text_ += value;
    text_ += '\n';
  }
  /// Only for bool itself, to which text in quotes would be converted.
  void add(std::string_view label, std::same_as<bool> auto flag) { add(label, std::int64_t{flag}); }
  void add(std::string_view label, std::int64_t value) { add(label, std::to_string(value)); }
  void add(std::string_view label, const std::optional<double>& value) {
    add(label, value ? shortest(*value) : "");
  }
  void add(std::string_view label, const std::optional<ExpressionText>& value) {
    add(label, value ? value->text : "");
  }
  void add(std::string_view label, const std::vector<ExpressionText>& values) {
    add(label, std::ssize(values));
    for (const ExpressionText& value : values) add(label, value.text);
  }
  void add(std::string_view label, const std::vector<std::string>& values) {
    add(label, std::ssize(values));
    for (const std::string& value : values) add(label, value);
  }
  void add(std::string_view label, const KernelSource& source) {
    add(label, std::ssize(source.files));
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      // The template's own path does not affect what it computes; an include's name occurs in a
      // text.
      add(label, i == 0 ? "" : source.files[i].name);
      add(label, source.files[i].text);
    }
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Returns the number of a word, which its enumeration fixes.
template <typename Word>
std::int64_t code(Word word) {
  return static_cast<std::int64_t>(word);
}

void add_argument(CanonicalText& text, const ArgumentTemplate& argument) {
  text.add("name", argument.name);
  text.add("type", argument.type);
  text.add("role", code(argument.role));
  text.add("shape", argument.shape);
  text.add("init", code(argument.init.kind));
  text.add("init_a", std::optional(argument.init.a));
  text.add("init_b", std::optional(argument.init.b));
  if (!argument.init_numbers.empty()) text.add("init_numbers", argument.init_numbers);
  text.add("init_file", argument.init.file.sha256);
  if (argument.init.kind == Init::Kind::definition) {
    text.add("init_definition", argument.init.definition);
    text.add("reads", std::ssize(argument.reads));
    for (const ArgumentTemplate& other : argument.reads) add_argument(text, other);
  }
  text.add("in_constant_memory", std::int64_t{argument.memory == MemorySpace::constant});
  if (argument.memory == MemorySpace::texture) text.add("texture", std::int64_t{1});
  if (argument.memory == MemorySpace::texture_2d) {
    text.add("texture_2d", static_cast<std::int64_t>(argument.reading.address));
    text.add("linear", argument.reading.is_linear);
    text.add("normalized", argument.reading.is_normalized);
  }
  if (argument.memory == MemorySpace::tensor_map) {
    visit_tensor_map_keys(
        [&](const SpaceKey& key, const auto& given) { text.add(key.hashed_as, given); }, argument);
  }
  text.add("symbol", argument.symbol);
  text.add("value", argument.value);
  text.add("number", argument.number);
  if (argument.compares_sum) text.add("compares_sum", std::int64_t{1});
  if (argument.compares_sorted) text.add("compares_sorted", std::int64_t{1});
  if (argument.nan_agrees) text.add("nan_agrees", std::int64_t{1});
  if (!argument.members.empty()) text.add("members", argument.members);
  if (argument.raw_bytes > 0 && !argument.is_buffer()) text.add("raw_bytes", argument.raw_bytes);
}

bool is_left_out(bool flag) { return !flag; }
template <typename T>
bool is_left_out(const std::vector<T>& values) {
  return values.empty();
}
template <typename T>
bool is_left_out(const std::optional<T>& value) {
  return !value;
}

// Adds a kernel's expressions, sources and launches, but not its values and constraints.
void add_kernel(CanonicalText& text, const KernelTemplate& kernel, const KernelSource& source) {
  text.add("source", source);
  text.add("pass", code(kernel.pass));
  text.add("options", kernel.options);
  text.add("architecture_specific", std::int64_t{kernel.architecture_specific});
  std::vector<std::string> names = texts_of(kernel.parameters, &Parameter::name);
  std::sort(names.begin(), names.end());
  text.add("parameters", names);
  text.add("launches", std::ssize(kernel.launches));
  for (const LaunchTemplate& launch : kernel.launches) {
    text.add("entry", launch.template_arguments.empty() ? launch.entry : launch.entry_name);
    text.add("template_arguments", launch.template_arguments);
    visit_launch_keys(
        [&](const SpaceKey& key, const auto& given) {
          using enum SpaceKey::Hashed;
          if (key.hashed == always || (key.hashed == if_given && !is_left_out(given))) {
            text.add(key.hashed_as, given);
          }
        },
        launch);
  }
  for (const Repeat& repeat : kernel.repeats) {
    text.add("repeat_first", static_cast<std::int64_t>(repeat.first));
    text.add("repeat_end", static_cast<std::int64_t>(repeat.end));
    text.add("repeat_counter", repeat.counter);
    text.add("repeat_times", repeat.times.text);
    for (const auto& [a, b] : repeat.swaps) text.add("swap", std::vector{a, b});
  }
  text.add("arguments", std::ssize(kernel.arguments));
  for (const ArgumentTemplate& argument : kernel.arguments) add_argument(text, argument);
}

}  // namespace

std::string kernel_hash(const Space& space, const KernelTemplate& kernel,
                        const KernelSource& source, const KernelSource& reference_source) {
  CanonicalText text;
  // Version of this layout; a change makes old results unknown.
  text.add("smemtune kernel", std::int64_t{1});
  add_kernel(text, kernel, source);
  text.add("absolute", kernel.tolerance.absolute);
  text.add("relative", kernel.tolerance.relative);
  if (kernel.tolerance.ulps) text.add("ulps", kernel.tolerance.ulps);
  if (kernel.tolerance.derived) text.add("derived", kernel.tolerance.derived);
  text.add("also", std::ssize(space.verify.also));
  for (const Problem& problem : space.verify.also) text.add("problem", key(problem));
  text.add("definitions", space.verify.definitions);
  if (space.verify.definition_is_a_guess) text.add("definition_is_a_guess", "true");
  for (const auto& [output, file] : space.verify.expected) {
    text.add("expected " + output, file.sha256);
  }
  if (const KernelTemplate* witness = space.kernel(space.verify.also_reference)) {
    text.add("also_reference", key(witness->default_configuration));
    add_kernel(text, *witness, reference_source);
  }
  if (const KernelTemplate* reference = space.kernel(space.verify.reference)) {
    text.add("reference", key(reference->default_configuration));
    add_kernel(text, *reference, reference_source);
  } else {
    text.add("reference", reference_source);
  }
  return sha256(text.text());
}

}  // namespace smemtune
