#include "tuner/core/kernel_binding.h"

#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_expressions.h"
#include "tuner/core/measurement.h"
#include "tuner/core/text.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <variant>

namespace smemtune {

namespace {

double largest(ScalarType type) {
  switch (type) {
    case ScalarType::float8_e4m3:
      return 448;
    case ScalarType::float16:
      return 65504;
    case ScalarType::bfloat16:
      return 0x1.FEp127;
    case ScalarType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

bool Argument::is_random() const {
  return init.kind == Init::Kind::uniform || init.kind == Init::Kind::normal ||
         init.kind == Init::Kind::full_range || init.kind == Init::Kind::permutation ||
         std::ranges::any_of(reads, &Argument::is_random);
}

std::int64_t Argument::elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

std::int64_t Argument::bytes() const {
  return raw_bytes > 0 ? raw_bytes : elements() * static_cast<std::int64_t>(size_of(type));
}

const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  return found == arguments.end() ? nullptr : &*found;
}

std::int64_t total_bytes(const std::vector<Argument>& arguments) {
  std::int64_t bytes = 0;
  for (const Argument& argument : arguments) bytes += argument.bytes();
  return bytes;
}

std::vector<Turn> turns_of(const std::vector<LaunchShape>& launches) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchShape& shape = launches[i];
    for (const Repetition& repetition : shape.repetitions) {
      turns.push_back({.launch = i, .as = repetition});
    }
    if (!shape.repetitions.empty() || shape.times == 0) continue;
    turns.push_back({.launch = i,
                     .as = {.turn = static_cast<std::int64_t>(i),
                            .grid = shape.grid,
                            .block = shape.block,
                            .dynamic_shared_bytes = shape.dynamic_shared_bytes,
                            .arguments = shape.arguments,
                            .scalars = {}}});
  }
  std::ranges::stable_sort(turns, {}, [](const Turn& turn) { return turn.as.turn; });
  return turns;
}

const std::string& holder_of(const std::string& name, const std::vector<Turn>& turns) {
  if (turns.empty()) return name;
  const auto renamed = turns.back().as.renamed.find(name);
  return renamed == turns.back().as.renamed.end() ? name : renamed->second;
}

/// The values of one configuration, and what a kernel's expressions give for them.
class KernelBinding::Evaluation {
 public:
  Evaluation(const Compiled& compiled, const Configuration& configuration)
      : compiled_(compiled), configuration_(configuration), slots_(compiled.slots(configuration)) {
    slots_.resize(slots_.size() + compiled.repeats.size());  // Slots of the counters.
  }

  std::span<const std::int64_t> slots() const { return slots_; }

  std::int64_t value(const PlacedExpression& placed) const {
    try {
      return placed.expression.evaluate(slots_);
    } catch (const ExpressionError& error) {
      fail(placed.where, error.what());
    }
  }

  double real_value(const PlacedExpression& placed) const {
    return std::bit_cast<double>(value(placed));
  }

  /// Returns all launches, with their repetitions.
  std::vector<LaunchShape> launches() {
    std::vector<LaunchShape> shapes;
    for (std::size_t i = 0; i < compiled_.launches.size(); ++i) shapes.push_back(launch(i));
    if (compiled_.repeats.empty()) {
      for (LaunchShape& shape : shapes) {
        if (compiled_.may_be_empty && is_empty(shape.grid)) launch_nothing(shape);
      }
      return shapes;
    }
    renamed_.clear();
    std::int64_t turn = 0;
    for (std::size_t i = 0; i < shapes.size();) {
      const auto repeat = std::ranges::find_if(
          compiled_.repeats, [&](const CompiledRepeat& r) { return r.source->first == i; });
      if (repeat == compiled_.repeats.end()) {
        add_repetition(i, shapes, turn, compiled_.may_be_empty);
        ++i;
      } else {
        add_repetitions(*repeat, shapes, turn);
        i = repeat->source->end;
      }
    }
    note_renamed(shapes);
    for (LaunchShape& shape : shapes) {
      shape.times = std::ssize(shape.repetitions);
      if (shape.repetitions.empty()) {
        launch_nothing(shape);
        continue;
      }
      shape.grid = shape.repetitions.front().grid;
      shape.block = shape.repetitions.front().block;
      shape.dynamic_shared_bytes = 0;
      for (const Repetition& one : shape.repetitions) {
        shape.dynamic_shared_bytes = std::max(shape.dynamic_shared_bytes, one.dynamic_shared_bytes);
      }
    }
    return shapes;
  }

  std::string option(const std::string& option) const {
    const auto name = name_in_option(option);
    if (!name) return option;
    const Bindings& values = configuration_.contains(*name) ? configuration_ : compiled_.problem;
    return bind_option(option, values.find(*name)->second);
  }

  Argument argument(const CompiledArgument& compiled) const {
    const ArgumentTemplate& source = *compiled.source;
    Argument argument;
    visit_argument_traits([](const auto& given, auto& result) { result = given; }, source,
                          argument);
    argument.type = compiled.type ? *compiled.type : parameter_type(compiled);
    if (source.init.kind == Init::Kind::definition) argument.problem = compiled_.problem;
    for (const CompiledArgument& other : compiled.reads) {
      argument.reads.push_back(this->argument(other));
    }
    if (source.memory == MemorySpace::constant && source.symbol.empty()) {
      argument.symbol = source.name;
    }
    if (source.is_buffer()) {
      add_init_numbers(compiled, argument);
      add_shape(compiled, argument);
      visit_tensor_map_keys(
          [&](const SpaceKey&, const auto& given, auto& result) { bind(given, result); }, compiled,
          argument);
    } else if (!source.members.empty()) {
      add_members(source, argument);
    } else if (source.raw_bytes > 0) {
      argument.raw_bytes = source.raw_bytes;
    } else if (compiled.value && compiled.value->is_real) {
      set_number(argument, compiled.value->where, real_value(*compiled.value));
    } else if (compiled.value) {
      set_integer(argument, compiled.value->where, value(*compiled.value));
    } else {
      set_number(argument, source.where + "/value", *source.number);
    }
    return argument;
  }

 private:
  static constexpr std::int64_t kMostTurns = 65536;
  static constexpr std::int64_t kAddressBytes = 8;

  static bool is_empty(const Dim3& grid) { return std::ranges::find(grid, 0) != grid.end(); }

  static void launch_nothing(LaunchShape& shape) {
    shape.times = 0;
    shape.grid = {1, 1, 1};  // No extent is checked if nothing is launched.
  }

  /// Adds a launch for the current counters, or none where `may_be_empty` and its grid is.
  void add_repetition(std::size_t number, std::vector<LaunchShape>& shapes, std::int64_t& turn,
                      bool may_be_empty) const {
    Repetition one = repetition(number, turn++);
    if (!may_be_empty || !is_empty(one.grid)) shapes[number].repetitions.push_back(std::move(one));
  }

  LaunchShape launch(std::size_t number) const {
    const CompiledLaunch& launch = compiled_.launches[number];
    LaunchShape shape;
    shape.name_expression = name_expression(launch);
    visit_launch_keys(
        [&](const SpaceKey&, const auto& given, auto& result) { bind(given, result); }, launch,
        shape);
    check_bytes(launch.static_shared_bytes, shape.static_shared_bytes.value_or(0));
    check_bytes(launch.dynamic_shared_bytes, shape.dynamic_shared_bytes);
    check_range(launch.shared_carveout, -1, 100);
    check_range(launch.programmatic, 0, 1);
    return shape;
  }

  /// Returns a launch for the current counters and swapped buffers.
  Repetition repetition(std::size_t number, std::int64_t turn) const {
    const CompiledLaunch& launch = compiled_.launches[number];
    Repetition one;
    one.turn = turn;
    bind(launch.block, one.block);
    bind(launch.grid, one.grid);
    bind(launch.dynamic_shared_bytes, one.dynamic_shared_bytes);
    check_bytes(launch.dynamic_shared_bytes, one.dynamic_shared_bytes);
    for (const std::string& name : launch.arguments) {
      const auto renamed = renamed_.find(name);
      one.arguments.push_back(renamed == renamed_.end() ? name : renamed->second);
    }
    for (const CompiledArgument& compiled : compiled_.arguments) {
      const bool is_taken = takes(launch, compiled.source->name);
      const bool changes =
          compiled.value &&
          std::ranges::any_of(compiled.value->expression.variables(), [&](std::size_t slot) {
            return slot >= compiled_.kernel->parameters.size();
          });
      if (is_taken && changes) one.scalars.push_back(argument(compiled));
    }
    return one;
  }

  /// Returns whether a launch takes an argument, itself or in a struct.
  // NOLINTNEXTLINE(misc-no-recursion): a struct stands behind its members.
  bool takes(const CompiledLaunch& launch, const std::string& name) const {
    if (std::ranges::find(launch.arguments, name) != launch.arguments.end()) return true;
    return std::ranges::any_of(compiled_.arguments, [&](const CompiledArgument& one) {
      const std::vector<std::string>& members = one.source->members;
      return std::ranges::find(members, name) != members.end() && takes(launch, one.source->name);
    });
  }

  void add_repetitions(const CompiledRepeat& repeat, std::vector<LaunchShape>& shapes,
                       std::int64_t& turn) {
    const std::int64_t times = value(repeat.times);
    const auto launches = static_cast<std::int64_t>(repeat.source->end - repeat.source->first);
    if (times < 0 || times > (kMostTurns - turn) / launches) {
      fail(repeat.times.where,
           in_quotes(repeat.times.expression.text()) + " is " + std::to_string(times) + ", 0 to " +
               std::to_string((kMostTurns - turn) / launches) + " repetitions are possible");
    }
    std::int64_t& counter = slots_[repeat.slot];
    for (counter = 0; counter < times; ++counter) {
      for (std::size_t i = repeat.source->first; i < repeat.source->end; ++i) {
        // A turn may have no work: the last step of an elimination has no row.
        add_repetition(i, shapes, turn, /*may_be_empty=*/true);
      }
      for (const auto& [a, b] : repeat.source->swaps) {
        const auto now = [&](const std::string& name) {
          const auto renamed = renamed_.find(name);
          return renamed == renamed_.end() ? name : renamed->second;
        };
        const std::string of_a = now(a);
        renamed_[a] = now(b);
        renamed_[b] = of_a;
      }
    }
  }

  /// Stores in the last repetition which buffers have changed places in the end.
  void note_renamed(std::vector<LaunchShape>& shapes) const {
    Repetition* last = nullptr;
    for (LaunchShape& shape : shapes) {
      if (shape.repetitions.empty()) continue;
      Repetition& one = shape.repetitions.back();
      if (last == nullptr || one.turn > last->turn) last = &one;
    }
    if (last == nullptr) return;
    for (const auto& [name, other] : renamed_) {
      if (name != other) last->renamed[name] = other;
    }
  }

  [[noreturn]] void fail(const std::string& where, const std::string& message) const {
    const std::string text = key(configuration_);
    compiled_.fail(where, message + (text.empty() ? "" : " (" + text + ")"));
  }

  std::string word(std::size_t parameter) const {
    return to_text(configuration_.find(compiled_.kernel->parameters[parameter].name)->second);
  }

  void bind(const std::vector<PlacedExpression>& extents, Dim3& result) const {
    for (std::size_t i = 0; i < extents.size(); ++i) result[i] = value(extents[i]);
  }
  void bind(const std::vector<PlacedExpression>& numbers, std::vector<std::int64_t>& result) const {
    for (const PlacedExpression& number : numbers) result.push_back(value(number));
  }
  void bind(const std::optional<PlacedExpression>& number, auto& result) const {
    if (number) result = value(*number);
  }
  template <typename T>
  void bind(const T& given, T& result) const {
    result = given;
  }

  void check_range(const std::optional<PlacedExpression>& placed, std::int64_t low,
                   std::int64_t high) const {
    const std::int64_t number = placed ? value(*placed) : low;
    if (number >= low && number <= high) return;
    fail(placed->where, in_quotes(placed->expression.text()) + " is " + std::to_string(number) +
                            ", " + std::to_string(low) + " to " + std::to_string(high) +
                            " are possible");
  }

  void check_bytes(const std::optional<PlacedExpression>& placed, std::int64_t bytes) const {
    if (bytes >= 0) return;
    fail(placed->where, in_quotes(placed->expression.text()) + " is " + std::to_string(bytes) +
                            " bytes, a size cannot be negative");
  }

  std::string cpp(const CppText& pieces) const {
    std::string text;
    for (const auto& piece : pieces) {
      const auto* parameter = std::get_if<std::size_t>(&piece);
      text += parameter != nullptr ? word(*parameter) : std::get<std::string>(piece);
    }
    return text;
  }

  std::string name_expression(const CompiledLaunch& launch) const {
    if (launch.template_arguments.empty()) return cpp(launch.entry);
    std::string text;
    for (const TemplateArgument& argument : launch.template_arguments) {
      text += text.empty() ? "" : ", ";
      if (const auto* placed = std::get_if<PlacedExpression>(&argument)) {
        text += std::to_string(value(*placed));
      } else if (const auto* parameter = std::get_if<std::size_t>(&argument)) {
        text += word(*parameter);
      } else if (const auto* pieces = std::get_if<CppText>(&argument)) {
        text += cpp(*pieces);
      } else {
        text += std::get<std::string>(argument);
      }
    }
    return cpp(launch.entry) + "<" + text + ">";
  }

  ScalarType parameter_type(const CompiledArgument& compiled) const {
    return compiled_.require_type(compiled.source->where + "/type",
                                  compiled_.kernel->parameters[compiled.type_parameter].name,
                                  word(compiled.type_parameter));
  }

  /// Lays a struct out as compilers do: each member at a multiple of its alignment, which is its
  /// size or, of a struct, that of its largest member.
  void add_members(const ArgumentTemplate& source, Argument& argument) const {
    std::int64_t largest = 1;
    for (const std::string& name : source.members) {
      const Argument member = argument_named(name);
      const std::int64_t alignment = alignment_of(member);
      largest = std::max(largest, alignment);
      const std::int64_t offset = round_up(argument.raw_bytes, alignment);
      argument.members.push_back({.name = name, .offset = offset});
      argument.raw_bytes = offset + (member.is_buffer() ? kAddressBytes : member.bytes());
    }
    argument.raw_bytes = round_up(argument.raw_bytes, largest);
  }

  static std::int64_t round_up(std::int64_t bytes, std::int64_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  std::int64_t alignment_of(const Argument& argument) const {
    if (argument.is_buffer()) return kAddressBytes;
    std::int64_t alignment = argument.raw_bytes > 0 ? 1 : argument.bytes();
    for (const StructMember& member : argument.members) {
      alignment = std::max(alignment, alignment_of(argument_named(member.name)));
    }
    return alignment;
  }

  Argument argument_named(const std::string& name) const {
    return argument(*std::ranges::find_if(compiled_.arguments, [&](const CompiledArgument& one) {
      return one.source->name == name;
    }));
  }

  void add_init_numbers(const CompiledArgument& compiled, Argument& argument) const {
    if (compiled.init_numbers.empty()) return;
    Init& init = argument.init;
    init.a = real_value(compiled.init_numbers.front());
    if (compiled.init_numbers.size() > 1) init.b = real_value(compiled.init_numbers.back());
    if (const std::string fault = init_fault(init); !fault.empty()) {
      compiled_.fail(compiled.init_numbers.front().where, fault);
    }
  }

  void add_shape(const CompiledArgument& compiled, Argument& argument) const {
    std::int64_t bytes = static_cast<std::int64_t>(size_of(argument.type));
    for (const PlacedExpression& placed : compiled.shape) {
      const std::int64_t extent = value(placed);
      const int least =
          compiled_.may_be_empty && !argument.is_texture() && !argument.is_tensor_map() ? 0 : 1;
      if (extent < least) {
        fail(placed.where, in_quotes(argument.name) + " would have " + std::to_string(extent) +
                               " elements in this dimension, at least " + std::to_string(least) +
                               " is needed");
      }
      if (__builtin_mul_overflow(bytes, extent, &bytes)) {
        fail(placed.where, in_quotes(argument.name) + " would have more than 2^63 bytes");
      }
      argument.shape.push_back(extent);
    }
    const std::int64_t texel = argument.is_texture() ? argument.texel_elements() : 1;
    if (texel != 1 && texel != 2 && texel != 4) {
      fail(compiled.shape.back().where,
           in_quotes(argument.name) + " would have " + std::to_string(texel) +
               " elements in a texel, 1, 2 or 4 are possible" +
               (argument.is_texture_2d() ? "" : "; \"memory\": \"texture_2d\" has rows of texels"));
    }
  }

  void set_integer(Argument& argument, const std::string& where, std::int64_t integer) const {
    if (is_floating(argument.type))
      return set_number(argument, where, static_cast<double>(integer));
    const auto low = static_cast<std::int64_t>(lowest_of(argument.type));
    // Values have 63 bits and a sign, whatever the type.
    const auto high = static_cast<std::int64_t>(
        std::min<Whole>(highest_of(argument.type), std::numeric_limits<std::int64_t>::max()));
    if (integer < low || integer > high) {
      fail(where, in_quotes(argument.name) + " is " + std::to_string(integer) + ", " +
                      std::string(cuda_name(argument.type)) + " holds " + std::to_string(low) +
                      " to " + std::to_string(high));
    }
    argument.integer = integer;
  }

  void set_number(Argument& argument, const std::string& where, double number) const {
    if (!is_floating(argument.type)) {
      constexpr double kTwoTo63 = 9223372036854775808.0;
      if (number != std::floor(number) || number < -kTwoTo63 || number >= kTwoTo63) {
        fail(where, in_quotes(argument.name) + " is " + shortest(number) + ", " +
                        std::string(cuda_name(argument.type)) + " holds integers");
      }
      return set_integer(argument, where, static_cast<std::int64_t>(number));
    }
    if (!(std::abs(number) <= largest(argument.type))) {
      fail(where, in_quotes(argument.name) + " is " + shortest(number) + ", " +
                      std::string(cuda_name(argument.type)) + " holds at most " +
                      shortest(largest(argument.type)));
    }
    argument.number = number;
  }

  const Compiled& compiled_;
  const Configuration& configuration_;
  std::vector<std::int64_t> slots_;  // Slots of the parameters, then of the counters.
  // For each name, the buffer that has it after the swaps.
  std::map<std::string, std::string> renamed_;
};

KernelBinding::KernelBinding(const Space& space, const KernelTemplate& kernel,
                             const Problem& problem, const Device& device)
    : kernel_(&kernel),
      problem_(problem),
      compiled_(std::make_shared<Compiled>(space, kernel, problem, device)) {}

const SearchSpace& KernelBinding::search_space(const std::function<bool()>& must_end) const {
  if (search_space_) return *search_space_;
  if (!kernel_->configurations.empty()) {
    search_space_ = std::make_shared<SearchSpace>(listed_configurations());
    return *search_space_;
  }
  try {
    std::vector<Expression> conditions = compiled_->constraints;
    std::ranges::copy(compiled_->promising, std::back_inserter(conditions));
    search_space_ = std::make_shared<SearchSpace>(kernel_->parameters, conditions, must_end);
  } catch (const InputError& error) {
    compiled_->fail(kernel_->where + "/constraints", error.what());
  }
  return *search_space_;
}

SearchSpace KernelBinding::listed_configurations() const {
  std::vector<Configuration> listed = kernel_->configurations;
  listed.push_back(kernel_->default_configuration);
  std::vector<std::vector<std::uint16_t>> points;
  for (const Configuration& one : listed) {
    if (why_not_searched(one)) continue;
    const auto indices = value_indices(kernel_->parameters, one);
    if (indices) points.emplace_back(indices->begin(), indices->end());
  }
  return SearchSpace::of_points(kernel_->parameters, std::move(points));
}

bool KernelBinding::satisfies_constraints(const Configuration& configuration) const {
  const Evaluation evaluation(*compiled_, configuration);
  try {
    return satisfies(compiled_->constraints, evaluation.slots());
  } catch (const ExpressionError& error) {
    compiled_->fail(kernel_->where + "/constraints", error.what());
  }
}

namespace {

/// Returns the text of the first condition that does not hold.
std::optional<std::string> first_violated(const std::vector<ExpressionText>& texts,
                                          const std::vector<Expression>& conditions,
                                          std::span<const std::int64_t> slots) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      if (!satisfies(std::span(&conditions[i], 1), slots)) return texts[i].text;
    } catch (const ExpressionError&) {
      continue;  // Another condition is false, so this one need not have a value.
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> KernelBinding::violated_constraint(
    const Configuration& configuration) const {
  if (satisfies_constraints(configuration)) return std::nullopt;
  const Evaluation evaluation(*compiled_, configuration);
  return first_violated(kernel_->constraints, compiled_->constraints, evaluation.slots());
}

std::optional<std::string> KernelBinding::why_not_searched(
    const Configuration& configuration) const {
  if (auto violated = violated_constraint(configuration)) return violated;
  const Evaluation evaluation(*compiled_, configuration);
  try {
    if (satisfies(compiled_->promising, evaluation.slots())) return std::nullopt;
  } catch (const ExpressionError& error) {
    compiled_->fail(kernel_->where + "/promising", error.what());
  }
  return first_violated(kernel_->promising, compiled_->promising, evaluation.slots());
}

KernelInstance KernelBinding::instantiate(const Configuration& configuration) const {
  Evaluation evaluation(*compiled_, configuration);
  KernelInstance instance;
  instance.kernel = kernel_->name;
  instance.architecture_specific = kernel_->architecture_specific;
  instance.required_features = kernel_->required_features;
  instance.tolerance = kernel_->tolerance;
  for (const std::string& option : kernel_->options) {
    instance.options.push_back(evaluation.option(option));
  }
  if (kernel_->pass == KernelTemplate::Pass::as_define) {
    Bindings macros = problem_;
    macros.insert(configuration.begin(), configuration.end());
    for (const auto& [name, value] : macros) {
      const bool is_argument =
          std::ranges::find(kernel_->arguments, name, &ArgumentTemplate::name) !=
          kernel_->arguments.end();
      const bool is_unused = is_argument || kernel_->unused_names.contains(name);
      if (is_unused || kernel_->names_template_argument(name)) continue;
      instance.options.push_back("-D" + name + "=" + to_text(value));
    }
  }
  for (const CompiledArgument& argument : compiled_->arguments) {
    instance.arguments.push_back(evaluation.argument(argument));
  }
  instance.launches = evaluation.launches();
  return instance;
}

std::map<std::string, double> KernelBinding::metrics(const Configuration& configuration) const {
  const Evaluation evaluation(*compiled_, configuration);
  std::map<std::string, double> metrics;
  for (const auto& [name, expression] : compiled_->metrics) {
    metrics.emplace(name, static_cast<double>(evaluation.value(expression)));
  }
  return metrics;
}

std::optional<std::int64_t> KernelBinding::expected_time(const Configuration& configuration) const {
  if (!compiled_->expected_time) return std::nullopt;
  const Evaluation evaluation(*compiled_, configuration);
  const std::int64_t time = evaluation.value(*compiled_->expected_time);
  if (time > 0) return time;
  compiled_->fail(compiled_->expected_time->where,
                  "a time of " + std::to_string(time) + " for '" + key(configuration) + "'");
}

std::vector<double> launch_times_ms(const std::vector<Turn>& turns, std::size_t launches,
                                    const std::vector<std::vector<double>>& passes_ms) {
  std::vector<std::vector<double>> sums_ms(launches, std::vector<double>(passes_ms.size()));
  for (std::size_t pass = 0; pass < passes_ms.size(); ++pass) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      sums_ms[turns[i].launch][pass] += passes_ms[pass][i];
    }
  }
  std::vector<double> medians_ms;
  for (const std::vector<double>& sums : sums_ms) medians_ms.push_back(median(sums));
  return medians_ms;
}

}  // namespace smemtune
