#include "tuner/init/space_draft.h"

#include "tuner/config/json_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/expression.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

std::string in_case(std::string_view text, int (*convert)(int)) {
  std::string result;
  for (const char c : text) {
    result += static_cast<char>(convert(static_cast<unsigned char>(c)));
  }
  return result;
}

std::string lower(std::string_view text) { return in_case(text, std::tolower); }
std::string upper(std::string_view text) { return in_case(text, std::toupper); }

template <std::size_t N>
bool holds_any(const std::string& name, const std::array<std::string_view, N>& parts) {
  const std::string small = lower(name);
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return small.find(part) != std::string::npos; });
}

/// What a number is for, as far as its name tells.
enum class Meaning { tunable, unknown, problem };

Meaning meaning_of(const std::string& name) {
  static constexpr std::array<std::string_view, 18> kProblem = {
      "radius", "kernel_l", "kernel_s", "kernel_w", "kernel_h", "filter",
      "length", "width",    "height",   "iter",     "size",     "eps",
      "pi",     "alphabet", "seed",     "count",    "samples",  "num_"};
  static constexpr std::array<std::string_view, 6> kWholeProblem = {"n",  "m",  "k",
                                                                    "nx", "ny", "nz"};
  static constexpr std::array<std::string_view, 23> kTunable = {
      "block", "tile",  "thread", "unroll", "item",  "per_",  "vec",   "step",
      "chunk", "warps", "wpt",    "stage",  "pad",   "bdim",  "coars", "work",
      "rows",  "cols",  "bsize",  "group",  "split", "depth", "factor"};
  static constexpr std::array<std::string_view, 12> kWhole = {
      "bm", "bn", "bk", "tm", "tn", "tk", "ts", "wm", "wn", "mwg", "nwg", "kwg"};
  const std::string small = lower(name);
  if (small.starts_with("max_") || std::ranges::find(kWholeProblem, small) != kWholeProblem.end()) {
    return Meaning::problem;
  }
  if (std::ranges::find(kWhole, small) != kWhole.end() || holds_any(name, kTunable)) {
    return Meaning::tunable;
  }
  return holds_any(name, kProblem) ? Meaning::problem : Meaning::unknown;
}

/// Of the C library: SIZE_MAX.
bool is_limit(const std::string& name) {
  return name.ends_with("_MAX") || name.ends_with("_MIN") || name.ends_with("_EPSILON") ||
         name.starts_with("HUGE_VAL") || name == "MAXFLOAT";
}

bool is_macro_name(const std::string& name) { return name.size() > 2 && name == upper(name); }

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

/// Values around the one that the source has. A name that does not tell what it is for keeps its
/// own value only.
Json values_around(const std::string& name, std::int64_t value, bool may_vary) {
  constexpr std::int64_t kMost = 1024;
  Json values = Json::array();
  if (!may_vary) {
    values.push_back(value);
  } else if (value == 0 || (value == 1 && lower(name).find("pad") != std::string::npos)) {
    values = {0, 1};
  } else if (is_power_of_two(value)) {
    for (std::int64_t v = std::max<std::int64_t>(1, value / 4); v <= std::max(value, kMost);
         v *= 2) {
      if (v <= 4 * value) values.push_back(v);
    }
  } else {
    values.push_back(value);
  }
  return values;
}

/// `block_size_x` is of axis 0, `TILE_Y` of axis 1; nullopt: of none.
std::optional<std::size_t> axis_of(const std::string& name) {
  const std::string small = lower(name);
  const std::size_t size = small.size();
  if (size < 2 || small.back() < 'x' || small.back() > 'z') return std::nullopt;
  const bool is_apart = small[size - 2] == '_' || small.ends_with("dimx") ||
                        small.ends_with("dimy") || small.ends_with("dimz");
  if (!is_apart) return std::nullopt;
  return static_cast<std::size_t>(small.back() - 'x');
}

/// Whether a number of this name is how many threads a block has (in one dimension).
bool counts_threads(const std::string& name) {
  static constexpr std::array<std::string_view, 5> kThreads = {"block", "thread", "group", "bdim",
                                                               "wg_"};
  static constexpr std::array<std::string_view, 7> kOther = {"num_", "blocks_", "per_", "rows",
                                                             "cols", "item",    "steps"};
  return holds_any(name, kThreads) && !holds_any(name, kOther) &&
         !lower(name).ends_with("blocks") && !lower(name).ends_with("_num");
}

/// Values and a default for a name that nothing defines.
struct Guess {
  std::vector<std::int64_t> values;
  std::int64_t first = 1;
};

Guess guess(const std::string& name, bool is_extent, int block_dimensions) {
  static constexpr std::array<std::string_view, 4> kFlags = {"pad", "use_", "is_", "with_"};
  if (holds_any(name, kFlags)) return {{0, 1}, 0};
  const std::optional<std::size_t> axis = axis_of(name);
  if (counts_threads(name) && block_dimensions == 1 && axis.value_or(0) == 0) {
    return {{32, 64, 128, 256, 512, 1024}, 256};
  }
  if (counts_threads(name) && axis == 0u) return {{16, 32, 64, 128, 256}, 32};
  if (counts_threads(name) && axis == 1u) return {{1, 2, 4, 8, 16}, 8};
  const bool unrolls = holds_any(name, std::array<std::string_view, 1>{"unroll"});
  if ((is_extent && !unrolls) || (counts_threads(name) && !axis)) return {{8, 16, 32, 64}, 16};
  if (lower(name).find("num_") != std::string::npos || lower(name).ends_with("_num")) {
    return {{64, 128, 256, 512, 1024}, 256};
  }
  return {{1, 2, 4, 8}, 1};
}

/// What a type of CUDA C++ is made of: `float4` is 4 of float.
struct Elements {
  std::string type;  ///< Empty: not known.
  int count = 1;
};

Elements elements_of(const std::string& type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kShort = {
      {{"uint", "unsigned int"},
       {"uchar", "unsigned char"},
       {"ushort", "unsigned short"},
       {"ulong", "unsigned long"},
       {"longlong", "long long"},
       {"ulonglong", "unsigned long long"},
       {"half", "__half"},
       {"nv_bfloat16", "__nv_bfloat16"},
       {"nv_half", "__half"},
       {"__half2", "__half"},
       {"half2", "__half"},
       {"__nv_bfloat162", "__nv_bfloat16"},
       {"nv_bfloat162", "__nv_bfloat16"},
       {"unsigned", "unsigned int"},
       {"uint_t", "unsigned int"},
       {"std::size_t", "unsigned long long"}}};
  const auto known = [](std::string_view name) -> std::string {
    for (const auto& [shorter, whole] : kShort) {
      if (name == shorter) return std::string(whole);
    }
    std::string_view bare = name;
    if (bare.starts_with("std::")) bare.remove_prefix(5);
    return scalar_type(bare) ? std::string(bare) : "";
  };
  if (type.ends_with("half2") || type.ends_with("bfloat162")) return {known(type), 2};
  if (const std::string name = known(type); !name.empty()) return {name, 1};
  const char last = type.empty() ? '0' : type.back();
  if (last < '1' || last > '4') return {};
  const std::string name = known(std::string_view(type).substr(0, type.size() - 1));
  return {name, name.empty() ? 1 : last - '0'};
}

bool is_floating_name(const std::string& type) {
  const std::optional<ScalarType> known = scalar_type(type);
  return known && is_floating(*known);
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const KernelFunction& kernel_named(const KernelFile& file, const std::string& name) {
  return *std::ranges::find(file.kernels, name, &KernelFunction::name);
}

std::string last_name(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

const std::vector<std::string> kNone;  // NOLINT(cert-err58-cpp)

/// How much there is in constant memory is the problem's, unless the name says something else.
Meaning meaning_in(const KernelFile& file, const std::string& name) {
  const Meaning meaning = meaning_of(name);
  if (meaning != Meaning::unknown || file.compared.contains(name)) return meaning;
  const bool is_extent = std::ranges::any_of(file.constants, [&](const SharedArray& constant) {
    return std::ranges::any_of(constant.extents, [&](const std::string& extent) {
      const std::vector<std::string_view> names = identifiers(extent);
      return std::ranges::find(names, name) != names.end();
    });
  });
  return is_extent ? Meaning::problem : meaning;
}

/// The space of one signature.
class Draft {
 public:
  Draft(const KernelFile& file, const DraftRequest& request)
      : file_(file), request_(request), first_(kernel_named(file, request.kernels.front())) {
    numbers_ = tunable_numbers(file);
    for (const NamedNumber& number : problem_numbers(file)) add_number(number.name, number.value);
    for (const MissingName& missing : file.missing) {
      if (meaning_of(missing.name) != Meaning::problem || missing.name.size() < 2) continue;
      if (is_limit(missing.name)) continue;
      if (reserved_meaning(missing.name).empty()) add_number(missing.name, guessed_size(missing));
    }
    for (const KernelParameter& parameter : first_.parameters) taken_.insert(parameter.name);
    for (const std::string& name : request_.kernels) {
      for (const auto& parameter : kernel_named(file_, name).template_parameters) {
        taken_.insert(parameter.name);
      }
    }
    // As macros, names of the problem must not be words of the source.
    if (!numbers_.empty() || !problem_.empty() || !file_.missing.empty())
      taken_.insert(file_.names.begin(), file_.names.end());
  }

  Json json() {
    add_type_problems();
    Json arguments = Json::array();
    choose_sizes();
    for (const KernelParameter& parameter : first_.parameters) {
      arguments.push_back(argument(parameter));
    }
    add_constants(arguments);
    Json kernels = Json::array();
    for (const std::string& name : request_.kernels) kernels.push_back(kernel(name));
    if (problem_.empty()) {
      problem_[free_name("N")] = 1 << 20;
      cpu_problem_ = problem_;
    }

    Json root;
    root["name"] = request_.name;
    root["description"] = "From " + request_.written_from +
                          " by smemtune init. Replace every TODO; smemtune --check lists those "
                          "that are left. The sizes of the problems are guesses.";
    root["problems"] = Json::array({problem_});
    root["cpu_problems"] = Json::array({cpu_problem_});
    root["arguments"] = std::move(arguments);
    root["verify"] = verify();
    root["kernels"] = std::move(kernels);
    return root;
  }

 private:
  std::string free_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 0; taken_.contains(name) || !reserved_meaning(name).empty(); ++i) {
      name = i == 0 ? "PROBLEM_" + wanted : "PROBLEM_" + wanted + "_" + std::to_string(i);
    }
    taken_.insert(name);
    return name;
  }

  /// A number that the kernels have as a macro, and that is the problem's.
  void add_number(const std::string& name, std::int64_t value) {
    constexpr std::int64_t kLarge = 1024;
    constexpr std::int64_t kSmaller = 16;
    const bool is_reached = std::ranges::any_of(request_.kernels, [&](const std::string& kernel) {
      return kernel_named(file_, kernel).reached.contains(name);
    });
    if (!is_reached) return;
    macro_sizes_.push_back(name);
    add_problem(name, value, value >= kLarge ? value / kSmaller : value);
  }

  static std::int64_t guessed_size(const MissingName& missing) {
    static constexpr std::array<std::string_view, 4> kFew = {"radius", "filter", "kernel", "iter"};
    return holds_any(missing.name, kFew) ? 3 : 4096;
  }

  void add_problem(const std::string& name, const Json& value, const Json& cpu_value) {
    problem_[name] = value;
    cpu_problem_[name] = cpu_value;
  }

  const LaunchSite* launch_of(const std::string& kernel) const {
    const auto site = std::ranges::find(file_.launches, last_name(kernel), &LaunchSite::kernel);
    if (site != file_.launches.end()) return &*site;
    // Through a pointer to the function, which may be any of them.
    const auto is_alike = [&](const LaunchSite& other) {
      const LaunchSite& first = file_.launches.front();
      return other.kernel == first.kernel && other.grid == first.grid && other.block == first.block;
    };
    const bool is_indirect = !file_.launches.empty() &&
                             std::ranges::all_of(file_.launches, is_alike) &&
                             std::ranges::none_of(file_.kernels, [&](const KernelFunction& other) {
                               return last_name(other.name) == file_.launches.front().kernel;
                             });
    return is_indirect ? &file_.launches.front() : nullptr;
  }

  /// Template arguments that are types, or that change what is computed.
  void add_type_problems() {
    for (const std::string& name : request_.kernels) {
      const KernelFunction& kernel = kernel_named(file_, name);
      for (std::size_t i = 0; i < kernel.template_parameters.size(); ++i) {
        const TemplateParameter& parameter = kernel.template_parameters[i];
        if (parameter.is_type()) {
          const std::string text = template_value(kernel, i);
          const std::string type = elements_of(text).count == 1 ? elements_of(text).type : "";
          const std::string shown = type.empty() ? "float" : type;
          add_problem(parameter.name, shown, shown);
        } else if (meaning_of(parameter.name) == Meaning::problem) {
          const std::int64_t value = number_of(template_value(kernel, i)).value_or(3);
          add_problem(parameter.name, value, value);
        }
      }
    }
  }

  /// What the host or the default says of a template parameter; may be empty.
  std::string template_value(const KernelFunction& kernel, std::size_t i) const {
    const LaunchSite* const site = launch_of(kernel.name);
    if (site != nullptr && i < site->template_arguments.size()) {
      const std::string& text = site->template_arguments[i];
      const auto number = std::ranges::find(file_.numbers, text, &NamedNumber::name);
      return number == file_.numbers.end() ? text : std::to_string(number->value);
    }
    return kernel.template_parameters[i].default_text;
  }

  static bool is_size(const KernelParameter& parameter) {
    static constexpr std::array<std::string_view, 23> kOther = {
        "radius", "iter",  "step", "offset", "shift", "seed", "flag",  "mode",
        "start",  "begin", "end",  "index",  "idx",   "pow",  "value", "pitch",
        "stride", "power", "gpu",  "border", "halo",  "pad",  "tile"};
    if (parameter.pointers > 0) return false;
    const Elements elements = elements_of(parameter.type);
    return !elements.type.empty() && elements.count == 1 && !is_floating_name(elements.type) &&
           parameter.type != "bool" && scalar_bytes_of(elements.type) >= 4 &&
           !holds_any(parameter.name, kOther) && !lower(parameter.name).starts_with("ld");
  }

  static std::size_t scalar_bytes_of(const std::string& type) {
    const std::optional<ScalarType> known = scalar_type(type);
    return known ? size_of(*known) : 0;
  }

  /// Every integer that looks like a size becomes a name of the problem.
  void choose_sizes() {
    std::vector<std::string> names;
    for (const KernelParameter& parameter : first_.parameters) {
      if (is_size(parameter)) names.push_back(parameter.name);
    }
    const bool is_line = names.size() == 1 && first_.grid_dimensions == 1;
    const std::int64_t size = is_line ? 1 << 24 : names.size() <= 2 ? 4096 : 1024;
    const std::int64_t cpu_size = is_line ? 1 << 16 : names.size() <= 2 ? 256 : 64;
    for (const std::string& name : names) {
      const std::string chosen = free_name(upper(name));
      sizes_.emplace_back(name, chosen);
      add_problem(chosen, size, cpu_size);
    }
  }

  std::string sizes_text() const {
    if (sizes_.empty()) return sizes_of_macros();
    std::string text;
    for (const auto& [name, chosen] : sizes_) text += (text.empty() ? "" : " * ") + chosen;
    const bool is_square = sizes_.size() == 1 && first_.grid_dimensions > 1;
    return is_square ? text + " * " + text : text;
  }

  /// `image_width * image_height`, of those that look like a grid's extents.
  std::string sizes_of_macros() const {
    static constexpr std::array<std::string_view, 7> kParts = {"filter", "kernel", "radius", "iter",
                                                               "max_",   "border", "halo"};
    std::string text;
    std::size_t sizes = 0;
    for (const std::string& name : macro_sizes_) {
      if (holds_any(name, kParts)) continue;
      text += (text.empty() ? "" : " * ") + name;
      ++sizes;
    }
    const bool is_square = sizes == 1 && first_.grid_dimensions > 1;
    return text.empty() ? "a number" : is_square ? text + " * " + text : text;
  }

  /// Of `filter`: `filter_height * filter_width`, where the source has macros of these names.
  std::optional<std::string> sizes_named_after(const std::string& parameter) const {
    static constexpr std::array<std::array<std::string_view, 2>, 4> kPairs = {
        {{"_height", "_width"}, {"_rows", "_cols"}, {"_h", "_w"}, {"_size_y", "_size_x"}}};
    for (const auto& [rows, columns] : kPairs) {
      const std::string high = extent_called(lower(parameter) + std::string(rows));
      const std::string wide = extent_called(lower(parameter) + std::string(columns));
      if (!high.empty() && !wide.empty()) return high + " * " + wide;
    }
    return std::nullopt;
  }

  /// What a macro of this name, in any case, stands for in names of the problem; may be empty.
  std::string extent_called(const std::string& name) const {
    for (const std::string& size : macro_sizes_) {
      if (lower(size) == name) return size;
    }
    for (const auto& [macro, texts] : file_.meanings) {
      if (lower(macro) != name) continue;
      const std::string ours = expanded(macro);
      if (is_of_problem(ours)) return ours;
    }
    return "";
  }

  Json argument(const KernelParameter& parameter) {
    Json json = {{"name", parameter.name}};
    if (parameter.is_texture()) {
      add_texture(json, parameter);
      return json;
    }
    const bool is_template = std::ranges::any_of(
        first_.template_parameters,
        [&](const TemplateParameter& t) { return t.is_type() && t.name == parameter.type; });
    Elements elements = resolved_elements(parameter.type);
    if (is_template) elements.type = parameter.type;
    const std::string type =
        !elements.type.empty() && parameter.pointers <= 1
            ? elements.type
            : "TODO: bytes(SIZE), SIZE being sizeof(" + parameter.type +
                  std::string(static_cast<std::size_t>(std::max(0, parameter.pointers - 1)), '*') +
                  ") on the GPU, or the type of its elements";
    if (parameter.pointers > 0) {
      add_buffer(json, parameter, elements, type);
    } else {
      add_scalar(json, parameter, elements, type, is_template);
    }
    return json;
  }

  /// Of a type that the source gives a name. Where it depends on a macro how many elements it has,
  /// it is one of them.
  Elements resolved_elements(const std::string& type, int depth = 0) const {
    constexpr int kMaxDepth = 4;
    const Elements known = elements_of(type);
    const auto found = file_.meanings.find(type);
    if (!known.type.empty() || found == file_.meanings.end() || depth == kMaxDepth) return known;
    Elements all;
    for (const std::string& text : found->second) {
      const Elements one = resolved_elements(text, depth + 1);
      if (one.type.empty() || (!all.type.empty() && all.type != one.type)) return {};
      all = {one.type, all.type.empty() || all.count == one.count ? one.count : 1};
    }
    return all;
  }

  void add_buffer(Json& json, const KernelParameter& parameter, const Elements& elements,
                  const std::string& type) const {
    static constexpr std::array<std::string_view, 8> kIndex = {"idx",    "index", "indic", "ptr",
                                                               "offset", "row",   "col",   "map"};
    json["type"] = type;
    json["shape"] = Json::array({"TODO: elements of " + parameter.name + ", such as " +
                                 sizes_named_after(parameter.name).value_or(sizes_text())});
    if (elements.count > 1) json["shape"].push_back(elements.count);
    std::string role = "inout";
    std::string why = "it is read and written";
    if (parameter.is_const) {
      role = "input";
      why = "it is const";
    } else if (parameter.access == Access::read) {
      role = "input";
      why = "it is only read";
    } else if (parameter.access == Access::written) {
      role = "output";
      why = "it is only written";
    } else if (parameter.access == Access::unknown) {
      why = "the source does not show how it is used; output where it is only written";
    }
    json["role"] = role;
    if (role != "output") {
      const bool is_integer =
          !elements.type.empty() && scalar_type(elements.type) && !is_floating_name(elements.type);
      if (is_integer && holds_any(parameter.name, kIndex)) {
        json["init"] =
            "TODO: if these are indices, what keeps them in range: permutation, iota, "
            "uniform(0, 99), file(\"NAME.npy\")";
      } else if (elements.type.empty()) {
        json["init"] = "zero";
      } else if (is_integer && scalar_bytes_of(elements.type) == 1) {
        json["init"] = "uniform(0, 127)";
      } else {
        json["init"] = is_integer ? "uniform(0, 100)" : "uniform(-1, 1)";
      }
    }
    json["description"] = upper(role.substr(0, 1)) + role.substr(1) + ", because " + why + ".";
  }

  /// Over linear memory: what other functions than tex1Dfetch read from is not made here.
  void add_texture(Json& json, const KernelParameter& parameter) const {
    const Elements elements = elements_of(parameter.texel);
    const bool is_known = !elements.type.empty() && is_texel_type(*scalar_type(elements.type));
    json["type"] = is_known ? elements.type
                            : "TODO: type of the texels that tex1Dfetch reads, such as float; "
                              "there are no textures for tex2D and others";
    json["shape"] =
        Json::array({"TODO: texels of " + parameter.name + ", such as " + sizes_text()});
    if (elements.count > 1) json["shape"].push_back(elements.count);
    json["role"] = "input";
    json["init"] =
        is_known && !is_floating_name(elements.type) ? "uniform(0, 100)" : "uniform(-1, 1)";
    json["memory"] = "texture";
    json["description"] = "A texture object over linear memory is passed.";
  }

  /// Constant memory is an argument that is not passed.
  void add_constants(Json& arguments) const {
    for (const SharedArray& constant : file_.constants) {
      const std::string name = last_name(constant.name);
      if (!first_.reached.contains(name)) continue;
      const Elements elements = elements_of(constant.type);
      Json json = {{"name", name}};
      json["type"] = elements.type.empty()
                         ? "TODO: type of the elements, in the source " + constant.type
                         : elements.type;
      json["shape"] = Json::array();
      for (const std::string& extent : constant.extents) {
        const std::string ours = expanded(extent);
        if (const auto value = constant_value(ours)) {
          json["shape"].push_back(*value);
        } else if (is_of_problem(ours)) {
          json["shape"].push_back(ours);
        } else {
          json["shape"].push_back("TODO: elements of " + name + ", in the source " + extent);
        }
      }
      if (constant.extents.empty()) json["shape"].push_back(1);
      if (elements.count > 1) json["shape"].push_back(elements.count);
      json["role"] = "input";
      json["init"] = "uniform(-1, 1)";
      json["memory"] = "constant";
      if (constant.name != name) json["symbol"] = constant.name;
      json["description"] = "A __constant__ variable; not passed.";
      arguments.push_back(std::move(json));
    }
  }

  /// A text of the source with what its macros stand for, but for names of the problem.
  std::string expanded(const std::string& text, int depth = 0) const {
    constexpr int kMaxDepth = 8;
    std::string result;
    std::size_t end = 0;
    for (const CppToken& token : cpp_tokens(text)) {
      if (token.begin > end) result += ' ';
      end = token.end();
      const std::string name(token.text);
      const auto found = file_.meanings.find(name);
      const bool stands = found != file_.meanings.end() && found->second.size() == 1 &&
                          !problem_.contains(name) && !parameters_.contains(name);
      if (!stands || depth == kMaxDepth) {
        result += name;
        continue;
      }
      const std::string inner = expanded(found->second.front(), depth + 1);
      const bool is_whole = cpp_tokens(inner).size() == 1 || inner.starts_with('(');
      result += is_whole ? inner : "(" + inner + ")";
    }
    return result;
  }

  static std::optional<std::int64_t> constant_value(const std::string& text) {
    try {
      return Expression::compile(text, Scope()).evaluate();
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
  }

  bool is_of_problem(const std::string& text) const {
    Scope scope;
    for (const auto& [name, value] : problem_.items()) {
      scope.add_constant(name, value.is_string() ? Value(value.get<std::string>())
                                                 : Value(value.get<std::int64_t>()));
    }
    try {
      Expression::compile(text, scope);
      return true;
    } catch (const ExpressionError&) {
      return false;
    }
  }

  void add_scalar(Json& json, const KernelParameter& parameter, const Elements& elements,
                  const std::string& type, bool is_template) const {
    const auto size =
        std::ranges::find(sizes_, parameter.name, &std::pair<std::string, std::string>::first);
    if (elements.type.empty() || elements.count > 1) {
      json["type"] = elements.type.empty()
                         ? type
                         : "bytes(" +
                               std::to_string(scalar_bytes_of(elements.type) *
                                              static_cast<std::size_t>(elements.count)) +
                               ")";
      json["value"] = "TODO: zero, or file(\"NAME.npy\") with its bytes";
      return;
    }
    json["type"] = type;
    if (size != sizes_.end()) {
      json["value"] = size->second;
    } else if (is_template || is_floating_name(elements.type)) {
      json["value"] = 0.5;
      json["description"] = "A guess.";
    } else {
      json["value"] = passed_value(parameter);
    }
  }

  /// What the host passes for a scalar.
  Json passed_value(const KernelParameter& parameter) const {
    const auto number = static_cast<std::size_t>(&parameter - first_.parameters.data());
    const LaunchSite* const site = launch_of(first_.name);
    const bool said = site != nullptr && number < site->arguments.size();
    if (said) {
      const auto ours = in_our_terms(*site, site->arguments[number], Json::array());
      if (ours) return number_of(*ours) ? Json(*number_of(*ours)) : Json(*ours);
    }
    static constexpr std::array<std::string_view, 4> kFromZero = {"offset", "begin", "start",
                                                                  "first"};
    if (!said && holds_any(parameter.name, kFromZero)) return 0;
    return "TODO: value of " + parameter.name +
           (sizes_.empty() ? "" : ", a number or such as " + sizes_.front().second) +
           (said ? "; line " + std::to_string(site->line) + " passes " +
                       in_full(*site, site->arguments[number])
                 : "");
  }

  Json verify() const {
    Json verify;
    std::string text = "Every configuration is compared with the default of " +
                       last_name(request_.kernels.front()) + ".";
    if (request_.kernels.size() > 1) text += " Remove kernels that compute something else.";
    text += " Worth adding: a definition, and in \"also\" a size that no tile divides.";
    verify["description"] = text;
    if (request_.kernels.size() > 1) verify["reference"] = last_name(request_.kernels.front());
    return verify;
  }

  // --- Kernels.

  Json kernel(const std::string& name) {
    const KernelFunction& kernel = kernel_named(file_, name);
    parameters_ = Json::object();
    default_ = Json::object();
    notes_.clear();
    bool has_macros = std::ranges::any_of(
        macro_sizes_, [&](const std::string& size) { return kernel.reached.contains(size); });
    std::vector<std::string> unused;
    for (const NamedNumber& number : numbers_) {
      if (!kernel.reached.contains(number.name)) continue;
      has_macros = true;
      add_parameter(number.name, number.value);
    }
    std::vector<std::string> guessed;
    for (const MissingName& missing : file_.missing) {
      if (!kernel.reached.contains(missing.name) || !is_parameter(missing)) continue;
      has_macros = true;
      if (const std::vector<std::int64_t> values = compared(missing.name); !values.empty()) {
        parameters_[missing.name] = values;
        default_[missing.name] = values.front();
        continue;
      }
      const Guess guessed_values =
          guess(missing.name, is_shared_extent(kernel, missing.name), kernel.block_dimensions);
      parameters_[missing.name] = guessed_values.values;
      default_[missing.name] = guessed_values.first;
      guessed.push_back(missing.name);
    }
    if (!guessed.empty()) {
      notes_.push_back(
          "Not defined in the source, so that the values are guesses: " + listed(guessed) + ".");
    }
    for (const NamedNumber& number : file_.numbers) {
      if (!kernel.reached.contains(number.name) || parameters_.contains(number.name) ||
          problem_.contains(number.name)) {
        continue;
      }
      unused.push_back(number.name + " = " + std::to_string(number.value));
    }
    if (!unused.empty()) {
      notes_.push_back(
          "Not searched, because what is computed seems to depend on it: " + listed(unused) + ".");
    }
    add_template_parameters(kernel);
    Json block = block_of(kernel);

    Json grid = grid_of(kernel, block);
    describe_shared(kernel);
    if (parameters_.empty()) notes_.emplace_back("Nothing to tune was found: add parameters.");
    std::string description =
        "Line " + std::to_string(kernel.line) + " of " + request_.written_from + ".";
    for (const std::string& note : notes_) description += " " + note;
    Json json = {{"name", last_name(name)}, {"description", description}};
    json["source"] = request_.source;
    if (has_macros) json["pass"] = "define";
    json["entry"] = entry(kernel);
    if (!parameters_.empty()) {
      json["parameters"] = parameters_;
      json["default"] = default_;
    }
    json["block"] = std::move(block);
    json["grid"] = std::move(grid);
    add_constraints(kernel, json);
    add_dynamic_shared(kernel, json);
    return json;
  }

  /// The array may be one of a function that the kernel calls: the launch tells.
  void add_dynamic_shared(const KernelFunction& kernel, Json& json) const {
    const LaunchSite* const site = launch_of(kernel.name);
    const bool said = site != nullptr && !site->shared_bytes.empty() && site->shared_bytes != "0";
    if (said) {
      if (const auto ours = in_our_terms(*site, site->shared_bytes, json["block"])) {
        const auto number = number_of(*ours);
        json["dynamic_shared_bytes"] = number ? Json(*number) : Json(*ours);
        return;
      }
    }
    if (!said && std::ranges::none_of(kernel.shared, &SharedArray::is_dynamic)) return;
    json["dynamic_shared_bytes"] =
        "TODO: bytes of the extern __shared__ array" +
        (said ? "; line " + std::to_string(site->line) + " passes " +
                    in_full(*site, site->shared_bytes)
              : ", such as " + (parameters_.empty() ? std::string("4 * 256")
                                                    : "4 * " + parameters_.begin().key()));
  }

  /// A text of the host; of a variable also what it was made of.
  static std::string in_full(const LaunchSite& site, const std::string& text) {
    const auto variable = site.variables.find(text);
    return variable == site.variables.end() ? text : text + " = " + variable->second;
  }

  /// What the host asserts of parameters before it launches.
  void add_constraints(const KernelFunction& kernel, Json& json) {
    const LaunchSite* const site = launch_of(kernel.name);
    if (site == nullptr) return;
    Json constraints = Json::array();
    for (const std::string& text : site->asserted) {
      const auto ours = in_our_terms(*site, expanded(text), json["block"]);
      const bool says = ours && std::ranges::any_of(identifiers(*ours), [&](std::string_view name) {
                          return parameters_.contains(std::string(name));
                        });
      if (says) constraints.push_back(*ours);
    }
    if (constraints.empty()) return;
    json["constraints"] = std::move(constraints);
    json["description"] = json["description"].get<std::string>() +
                          " Constraints as asserted before line " + std::to_string(site->line) +
                          ".";
  }

  static bool is_parameter(const MissingName& missing) {
    const Meaning meaning = meaning_of(missing.name);
    const bool is_short = missing.name.size() < 2;
    const bool is_tunable =
        missing.is_constant || meaning == Meaning::tunable || is_macro_name(missing.name);
    return is_tunable && meaning != Meaning::problem && !is_short && !is_limit(missing.name) &&
           reserved_meaning(missing.name).empty();
  }

  static bool is_shared_extent(const KernelFunction& kernel, const std::string& name) {
    return std::ranges::any_of(kernel.shared, [&](const SharedArray& array) {
      return std::ranges::find(array.extents, name) != array.extents.end();
    });
  }

  /// The values that #if and #elif tell apart; of a single one, whether it is that one.
  std::vector<std::int64_t> compared(const std::string& name) const {
    const auto found = file_.compared.find(name);
    if (found == file_.compared.end()) return {};
    std::set<std::int64_t> values = found->second;
    if (values.size() == 1 && (values.contains(0) || values.contains(1))) values = {0, 1};
    return values.size() > 1 ? std::vector<std::int64_t>(values.begin(), values.end())
                             : std::vector<std::int64_t>();
  }

  void add_parameter(const std::string& name, std::int64_t value) {
    default_[name] = value;
    const std::vector<std::int64_t> known = compared(name);
    if (std::ranges::find(known, value) != known.end()) {
      parameters_[name] = known;
      return;
    }
    const bool may_vary = meaning_of(name) == Meaning::tunable;
    parameters_[name] = values_around(name, value, may_vary);
    if (!may_vary) notes_.push_back(name + " has one value: add those that it may take.");
  }

  void add_template_parameters(const KernelFunction& kernel) {
    for (std::size_t i = 0; i < kernel.template_parameters.size(); ++i) {
      const TemplateParameter& parameter = kernel.template_parameters[i];
      if (parameter.is_type() || problem_.contains(parameter.name)) continue;
      const std::string text = template_value(kernel, i);
      if (parameter.kind == "bool") {
        parameters_[parameter.name] = {false, true};
        default_[parameter.name] = text == "true";
        continue;
      }
      static constexpr std::array<std::string_view, 2> kThreads = {"thread", "block"};
      const std::int64_t guess = !holds_any(parameter.name, kThreads) ? 4
                                 : first_.block_dimensions > 1        ? 16
                                                                      : 128;
      add_parameter(parameter.name, number_of(text).value_or(guess));
    }
  }

  std::string entry(const KernelFunction& kernel) const {
    std::string text;
    for (const TemplateParameter& parameter : kernel.template_parameters) {
      text += (text.empty() ? "" : ", ") + parameter.name;
    }
    return text.empty() ? kernel.name : kernel.name + "<" + text + ">";
  }

  /// Whether an expression of the source has a value here, too.
  bool is_known(const std::string& text) const {
    if (text.empty() || text.find('.') != std::string::npos) return false;
    for (const std::string_view name : identifiers(text)) {
      if (!parameters_.contains(std::string(name)) && !problem_.contains(std::string(name))) {
        return false;
      }
    }
    return true;
  }

  /// Of a text of the host: a template argument is called by its parameter's name, and a number of
  /// the source that is no parameter by its value.
  std::string in_our_names(const KernelFunction& kernel, const std::string& text) const {
    const LaunchSite* const site = launch_of(kernel.name);
    for (std::size_t i = 0; site != nullptr && i < site->template_arguments.size() &&
                            i < kernel.template_parameters.size();
         ++i) {
      const std::string& name = kernel.template_parameters[i].name;
      if (site->template_arguments[i] == text && parameters_.contains(name)) return name;
    }
    const auto number = std::ranges::find(file_.numbers, text, &NamedNumber::name);
    const bool is_fixed = number != file_.numbers.end() && !parameters_.contains(text);
    return is_fixed ? std::to_string(number->value) : text;
  }

  Json block_of(const KernelFunction& kernel) {
    const LaunchSite* const site = launch_of(kernel.name);
    if (site != nullptr && !site->block.empty()) {
      Json block = Json::array();
      bool is_free = kernel.uses_block_size && kernel.launch_bounds.empty();
      for (const std::string& text : site->block) {
        const std::string ours = in_our_names(kernel, text);
        is_free = is_free && number_of(ours).has_value();
        if (is_known(ours)) block.push_back(ours);
      }
      if (is_free && block.size() == site->block.size()) return free_block(kernel, block);
      if (block.size() == site->block.size()) return numbers_as_numbers(block);
    }
    if (!kernel.launch_bounds.empty() && is_known(kernel.launch_bounds.front())) {
      const std::string& bound = kernel.launch_bounds.front();
      if (kernel.block_dimensions == 1) return numbers_as_numbers(Json::array({bound}));
      const std::size_t star = bound.find('*');
      if (kernel.block_dimensions == 2 && star != std::string::npos) {
        return Json::array({trimmed(bound.substr(0, star)), trimmed(bound.substr(star + 1))});
      }
    }
    if (const Json named = named_block(kernel); !named.empty()) return named;
    if (kernel.uses_block_size) return free_block(kernel, Json::array());
    Json block = Json::array();
    for (int i = 0; i < kernel.block_dimensions; ++i) {
      block.push_back(
          "TODO: threads of a block in " + axis(i) + ", such as " +
          proposed_block(kernel, static_cast<std::size_t>(i)) +
          launched_with(site, site == nullptr ? kNone : site->block, static_cast<std::size_t>(i)));
    }
    return block;
  }

  /// Of the parameters whose names say that they are the block's extents; empty where not all of
  /// its dimensions have one.
  Json named_block(const KernelFunction& kernel) {
    const auto dimensions = static_cast<std::size_t>(kernel.block_dimensions);
    std::vector<std::vector<std::string>> found(3);
    for (const auto& [name, values] : parameters_.items()) {
      if (!counts_threads(name)) continue;
      const std::optional<std::size_t> axis = axis_of(name);
      if (axis || dimensions == 1) found[axis.value_or(0)].push_back(name);
    }
    Json block = Json::array();
    for (std::size_t i = 0; i < dimensions; ++i) {
      if (found[i].size() != 1) return Json::array();
      block.push_back(found[i].front());
    }
    notes_.emplace_back("Block by the parameters' names.");
    return block;
  }

  static std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" ");
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(" ") - begin + 1);
  }

  static Json numbers_as_numbers(const Json& texts) {
    Json result = Json::array();
    for (const Json& text : texts) {
      const auto number = number_of(text.get<std::string>());
      result.push_back(number ? Json(*number) : text);
    }
    return result;
  }

  /// The kernel reads its block's size, so that this is a parameter by itself.
  Json free_block(const KernelFunction& kernel, const Json& present) {
    static const std::array<std::vector<std::int64_t>, 3> kUsual = {
        std::vector<std::int64_t>{256}, {16, 16}, {8, 8, 4}};
    const auto dimensions =
        std::max(present.size(), static_cast<std::size_t>(kernel.block_dimensions));
    Json block = Json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(3, dimensions); ++i) {
      std::int64_t value = kUsual[std::min<std::size_t>(3, dimensions) - 1][i];
      if (i < present.size()) value = number_of(present[i].get<std::string>()).value_or(value);
      const std::string base = dimensions == 1 ? "THREADS" : "THREADS_" + upper(axis(i));
      std::string name = base;
      for (int n = 2; taken_.contains(name) || parameters_.contains(name); ++n) {
        name = base + "_" + std::to_string(n);
      }
      parameters_[name] = values_around(name, value, true);
      default_[name] = value;
      block.push_back(name);
    }
    return block;
  }

  static std::string axis(std::size_t i) {
    return std::string(1, "xyz"[std::min<std::size_t>(i, 2)]);
  }
  static std::string axis(int i) { return axis(static_cast<std::size_t>(i)); }

  /// A parameter that is called so, or how far a shared array, row by row, reaches.
  std::string proposed_block(const KernelFunction& kernel, std::size_t i) const {
    for (const auto& [name, values] : parameters_.items()) {
      if (counts_threads(name) && axis_of(name) == i) return name;
    }
    for (const SharedArray& array : kernel.shared) {
      if (i >= array.extents.size()) continue;
      const std::string& extent = array.extents[array.extents.size() - 1 - i];
      if (is_known(extent) && !number_of(extent)) return extent;
    }
    return parameters_.empty() ? "256" : parameters_.begin().key();
  }

  /// What the host has in dimension i; all of it where it does not say one by one.
  static std::string launched_with(const LaunchSite* site, const std::vector<std::string>& texts,
                                   std::size_t i) {
    if (site == nullptr || texts.empty()) return "";
    return "; line " + std::to_string(site->line) + " has " +
           (i < texts.size() ? in_full(*site, texts[i]) : listed(texts));
  }

  /// An expression of the host in our names, if it is one that can be evaluated here: its variables
  /// are known by the arguments that they are passed as.
  std::optional<std::string> in_our_terms(const LaunchSite& site, const std::string& text,
                                          const Json& block) const {
    std::vector<std::pair<std::string, std::string>> terms;
    for (std::size_t i = 0; i < std::min(site.arguments.size(), first_.parameters.size()); ++i) {
      const auto size = std::ranges::find(sizes_, first_.parameters[i].name,
                                          &std::pair<std::string, std::string>::first);
      if (size != sizes_.end()) terms.emplace_back(site.arguments[i], size->second);
    }
    for (std::size_t i = 0; i < block.size() && !site.block_name.empty(); ++i) {
      std::string extent = block[i].is_string() ? block[i].get<std::string>() : block[i].dump();
      if (block[i].is_string() && !is_identifier(extent)) extent = "(" + extent + ")";
      terms.emplace_back(site.block_name + "." + axis(i), extent);
      if (block.size() == 1) terms.emplace_back(site.block_name, extent);
    }
    for (std::size_t i = 0; i < std::min(site.block.size(), block.size()); ++i) {
      if (!is_identifier(site.block[i]) || !block[i].is_string()) continue;
      terms.emplace_back(site.block[i], block[i].get<std::string>());
    }
    for (const NamedNumber& number : file_.numbers) {
      if (!parameters_.contains(number.name)) {
        terms.emplace_back(number.name, std::to_string(number.value));
      }
    }
    Scope scope;
    for (const auto& [name, value] : parameters_.items()) {
      scope.add_constant(name, Value(std::int64_t{1}));
    }
    for (const auto& [name, value] : problem_.items()) {
      if (scope.contains(name)) continue;
      scope.add_constant(
          name, value.is_string() ? Value(value.get<std::string>()) : Value(std::int64_t{1}));
    }
    constexpr int kMaxDepth = 4;
    std::string ours = substituted(text, terms);
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      try {
        Expression::compile(ours, scope);
        return without_parentheses(ours);
      } catch (const ExpressionError&) {
        const std::string deeper = substituted(in_variables(ours, site, scope), terms);
        if (deeper == ours) return std::nullopt;
        ours = deeper;
      }
    }
    return std::nullopt;
  }

  /// Without those around all of it.
  static std::string without_parentheses(const std::string& text) {
    const std::vector<CppToken> tokens = cpp_tokens(text);
    const bool is_enclosed =
        !tokens.empty() && tokens.front().is("(") && closing(tokens, 0) + 1 == tokens.size();
    if (!is_enclosed) return text;
    const std::size_t begin = tokens.front().end();
    return without_parentheses(trimmed(text.substr(begin, tokens.back().begin - begin)));
  }

  /// With the host's variables replaced by what they were made of.
  static std::string in_variables(const std::string& text, const LaunchSite& site,
                                  const Scope& scope) {
    std::vector<std::pair<std::string, std::string>> terms;
    for (const std::string_view name : identifiers(text)) {
      const auto variable = site.variables.find(std::string(name));
      if (scope.contains(name) || variable == site.variables.end()) continue;
      const bool is_single = cpp_tokens(variable->second).size() == 1;
      terms.emplace_back(name, is_single ? variable->second : "(" + variable->second + ")");
    }
    return substituted(text, terms);
  }

  /// `text` with whole terms (one token or several, such as `a.x`) replaced.
  static std::string substituted(const std::string& text,
                                 const std::vector<std::pair<std::string, std::string>>& terms) {
    const std::vector<CppToken> tokens = cpp_tokens(text);
    std::string result;
    for (std::size_t i = 0; i < tokens.size();) {
      const std::string* by = nullptr;
      std::size_t most = 0;
      for (const auto& [term, ours] : terms) {
        const std::vector<CppToken> wanted = cpp_tokens(term);
        const bool fits =
            !wanted.empty() && i + wanted.size() <= tokens.size() &&
            std::equal(wanted.begin(), wanted.end(), tokens.begin() + static_cast<long>(i),
                       [](const CppToken& a, const CppToken& b) { return a.text == b.text; });
        if (!fits || wanted.size() <= most) continue;
        most = wanted.size();
        by = &ours;
      }
      if (i > 0 && tokens[i].begin > tokens[i - 1].end()) result += ' ';
      result += by != nullptr ? *by : std::string(tokens[i].text);
      i += std::max<std::size_t>(most, 1);
    }
    return result;
  }

  /// As the host has it, where that can be said in our names.
  Json grid_of(const KernelFunction& kernel, const Json& block) {
    const LaunchSite* const site = launch_of(kernel.name);
    const std::vector<std::string>& texts = site == nullptr ? kNone : site->grid;
    const bool says_each = texts.size() > 1 || kernel.grid_dimensions == 1;
    Json grid = Json::array();
    const std::size_t dimensions = std::max(static_cast<std::size_t>(kernel.grid_dimensions),
                                            says_each ? texts.size() : std::size_t{0});
    bool is_hosts = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, dimensions); ++i) {
      if (says_each && i < texts.size()) {
        if (const auto ours = in_our_terms(*site, texts[i], block)) {
          const auto number = number_of(*ours);
          grid.push_back(number ? Json(*number) : Json(*ours));
          is_hosts = true;
          continue;
        }
      }
      const std::string size = size_of_axis(kernel, i);
      std::string per_block = proposed_block(kernel, i);
      if (i < block.size() && block[i].is_string() && !is_todo(block[i].get<std::string>())) {
        per_block = block[i].get<std::string>();
      }
      std::string blocks;  // A parameter that says it itself.
      for (const auto& [name, values] : parameters_.items()) {
        const bool multiplies = axis_of(name) == i && !counts_threads(name) && name != per_block;
        if (multiplies) per_block += " * " + name;
        if (i == 0 && lower(name).find("num_blocks") != std::string::npos) blocks = name;
      }
      if (blocks.empty()) blocks = "ceil_div(" + size + ", " + per_block + ")";
      grid.push_back("TODO: blocks in " + axis(i) + ", such as " + blocks +
                     launched_with(site, texts, i));
    }
    if (is_hosts) {
      notes_.push_back("Grid as in line " + std::to_string(site->line) +
                       ": see that it covers sizes that no block divides.");
    }
    return grid;
  }

  /// How far the problem reaches in dimension i, as far as the kernel's comparisons and names tell.
  std::string size_of_axis(const KernelFunction& kernel, std::size_t i) const {
    static constexpr std::array<std::array<std::string_view, 3>, 3> kNames = {
        {{"width", "cols", "columns"}, {"height", "rows", "rows"}, {"depth", "slices", "layers"}}};
    std::vector<std::string> names;
    for (const auto& [name, chosen] : sizes_) names.push_back(chosen);
    if (names.empty()) names = macro_sizes_;
    const std::string& compared = kernel.extents[std::min<std::size_t>(2, i)];
    for (const auto& [name, chosen] : sizes_) {
      if (name == compared) return chosen;
    }
    if (std::ranges::find(macro_sizes_, compared) != macro_sizes_.end()) return compared;
    for (const std::string& name : names) {
      if (holds_any(name, kNames[std::min<std::size_t>(2, i)])) return name;
    }
    return names.empty() ? "1000000" : names[std::min(names.size() - 1, i)];
  }

  void describe_shared(const KernelFunction& kernel) {
    std::vector<std::string> arrays;
    for (const SharedArray& array : kernel.shared) {
      std::string text = array.type + " " + array.name;
      for (const std::string& extent : array.extents) text += "[" + extent + "]";
      arrays.push_back(text + (array.is_dynamic ? "[]" : ""));
    }
    if (!arrays.empty()) notes_.push_back("Shared memory: " + listed(arrays) + ".");
    if (!kernel.launch_bounds.empty()) {
      notes_.push_back("Launch bounds: " + listed(kernel.launch_bounds) + ".");
    }
  }

  const KernelFile& file_;
  const DraftRequest& request_;
  const KernelFunction& first_;
  std::vector<NamedNumber> numbers_;
  std::set<std::string> taken_;
  std::vector<std::pair<std::string, std::string>> sizes_;  ///< Argument, name of the problem.
  std::vector<std::string> macro_sizes_;  ///< Names of the problem that the kernels have as macros.
  Json problem_ = Json::object();
  Json cpu_problem_ = Json::object();
  Json parameters_ = Json::object();  ///< Of the kernel that is being described...
  Json default_;
  std::vector<std::string> notes_;  ///< ... and what else there is to say of it.
};

/// JSON in lines of at most 100 characters where that can be.
std::string laid_out(const Json& value, std::size_t indent, std::size_t column) {
  constexpr std::size_t kColumns = 100;
  const std::string whole = [&] {
    std::string text;
    if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        text += (text.empty() ? "{ " : ", ") + Json(key).dump() + ": " + laid_out(member, 0, 0);
      }
      return text.empty() ? "{}" : text + " }";
    }
    if (value.is_array()) {
      for (const Json& member : value) text += (text.empty() ? "[" : ", ") + laid_out(member, 0, 0);
      return text.empty() ? "[]" : text + "]";
    }
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }();
  const bool fits = column + whole.size() < kColumns && whole.find('\n') == std::string::npos;
  if (!value.is_structured() || (fits && (column == 0 || indent > 0))) return whole;
  std::string text = value.is_object() ? "{\n" : "[\n";
  const std::string pad(indent + 2, ' ');
  std::size_t left = value.size();
  for (const auto& [key, member] : value.items()) {
    const std::string label = value.is_object() ? Json(key).dump() + ": " : "";
    text += pad + label + laid_out(member, indent + 2, indent + 2 + label.size());
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::vector<NamedNumber> tunable_numbers(const KernelFile& file) {
  std::vector<NamedNumber> numbers;
  for (const NamedNumber& number : file.numbers) {
    const Meaning meaning = meaning_in(file, number.name);
    if (meaning == Meaning::problem || !reserved_meaning(number.name).empty()) continue;
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<NamedNumber> problem_numbers(const KernelFile& file) {
  std::vector<NamedNumber> numbers;
  for (const NamedNumber& number : file.numbers) {
    if (meaning_in(file, number.name) != Meaning::problem) continue;
    if (reserved_meaning(number.name).empty()) numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::string> kernels_like(const KernelFile& file, const std::string& kernel) {
  const auto same = [](const KernelParameter& a, const KernelParameter& b) {
    return a.type == b.type && a.name == b.name && a.pointers == b.pointers;
  };
  const KernelFunction& wanted = kernel_named(file, kernel);
  std::vector<std::string> names;
  for (const KernelFunction& other : file.kernels) {
    if (!std::ranges::equal(wanted.parameters, other.parameters, same)) continue;
    if (std::ranges::find(names, other.name) == names.end()) names.push_back(other.name);
  }
  return names;
}

std::string draft_space(const KernelFile& file, const DraftRequest& request) {
  const Json json = Draft(file, request).json();
  std::string text = "{\n";
  std::size_t left = json.size();
  for (const auto& [key, member] : json.items()) {
    const std::string label = "  " + Json(key).dump() + ": ";
    text += label + laid_out(member, 2, label.size()) + (--left > 0 ? ",\n" : "\n");
  }
  return text + "}\n";
}

}  // namespace smemtune
