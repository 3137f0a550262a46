#include "tuner/source/kernel_file.h"

#include "tuner/source/device_text.h"
#include "tuner/source/directive.h"
#include "tuner/source/reach.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace smemtune {
namespace {

/// Adds a text that a name stands for.
void add_meaning(const std::string& name, const std::string& text, Meanings& meanings) {
  constexpr std::size_t kMost = 50;
  std::vector<std::string>& texts = meanings[name];
  const bool is_known = std::ranges::find(texts, text) != texts.end();
  if (texts.size() < kMost && !is_known) texts.push_back(text);
}

constexpr std::string_view kInclude = "#include ";

/// Reads one source, step by step.
class FileReader {
 public:
  FileReader(const FlatSource& source, const std::set<std::string>& guard,
             const std::set<std::string>& only)
      : source_(source),
        guard_(guard),
        only_(only),
        tokens_(cpp_tokens(source.text)),
        read_(read_items(tokens_)),
        items_(read_.items),
        reach_(read_) {}

  KernelFile read() {
    read_names();
    read_kernels();
    keep_device_part();
    read_meanings();
    read_numbers();
    read_compared();
    read_declarations();
    file_.device_lines = device_lines();
    DeviceText text = device_text(source_, tokens_, items_, kept_, guarded_);
    file_.device_text = headers_for(text.text) + text.text;
    file_.left_out = std::move(text.left_out);
    return std::move(file_);
  }

 private:
  std::string device_lines() const {
    std::string text = source_.text;
    blank(text, 0, text.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      if (!kept_[i] || item.kind == SourceItem::Kind::include || item.end <= item.first) continue;
      const std::size_t begin = tokens_[item.first].begin;
      const std::size_t end = tokens_[item.end - 1].end();
      text.replace(begin, end - begin, source_.text, begin, end - begin);
    }
    return text;
  }

  /// Returns #includes of the headers that the text needs and that the host's headers included:
  /// cublasLt.h includes cuda_bf16.h, random includes limits.
  std::string headers_for(const std::string& text) const {
    constexpr auto kHeaders = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"cuda_bf16.h", "__nv_bfloat16"},
         {"cuda_bf16.h", "nv_bfloat16"},
         {"cuda_bf16.h", "__nv_bfloat162"},
         {"cuda_bf16.h", "nv_bfloat162"},
         {"cuda_fp8.h", "__nv_fp8_e4m3"},
         {"cuda_fp8.h", "__nv_fp8x2_e4m3"},
         {"cuda_fp8.h", "__nv_fp8x4_e4m3"},
         {"cuda_fp16.h", "__half"},
         {"cuda_fp16.h", "half"},
         {"cuda_fp16.h", "__half2"},
         {"cuda_fp16.h", "half2"},
         {"cooperative_groups.h", "cooperative_groups"},
         {"limits", "numeric_limits"},
         {"type_traits", "is_same"},
         {"type_traits", "is_same_v"},
         {"type_traits", "conditional_t"},
         {"type_traits", "enable_if_t"},
         {"utility", "swap"}});
    std::string includes;
    std::set<std::string_view> names;
    for (const CppToken& token : cpp_tokens(text)) names.insert(token.text);
    for (const auto& [header, name] : kHeaders) {
      const std::string line = "#include <" + std::string(header) + ">\n";
      const std::string quoted = '"' + std::string(header) + '"';
      if ((text + includes).find(line) != std::string::npos ||
          text.find(quoted) != std::string::npos)
        continue;
      const bool is_own =
          file_.declared.contains(std::string(name));  // Such as a kernel called half.
      if (names.contains(name) && !is_own) includes += line;
    }
    return includes;
  }

  void read_names() {
    for (const CppToken& token : tokens_) {
      if (token.is_word()) file_.names.emplace(token.text);
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive directive = directive_of(token);
      for (const std::string_view word : identifiers(directive.rest)) file_.names.emplace(word);
    }
  }

  void read_kernels() {
    std::unordered_map<std::string, std::size_t> known;  // Index in file_.kernels, by name.
    std::vector<std::size_t> places;                     // Their items.
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      if (!item.is_kernel || item.body == kNoToken || item.declares.empty()) continue;
      KernelFunction kernel = kernel_of(tokens_, item);
      Reach::Reached reached = reach_.from({i});
      for (const std::size_t other : reached.items) {
        if (other == i || items_[other].body == kNoToken) continue;
        use_body(tokens_, {items_[other].body, items_[other].end}, kernel);
      }
      kernel.reached = std::move(reached.names);
      const auto [place, is_new] = known.try_emplace(kernel.name, file_.kernels.size());
      if (!is_new && are_versions(items_[places[place->second]], item)) {
        KernelFunction& first = file_.kernels[place->second];
        first.other_lines.push_back(kernel.line);
        first.add_uses_of(kernel);
        continue;
      }
      file_.kernels.push_back(std::move(kernel));
      places.push_back(i);
    }
  }

  /// Returns true if the second is compiled when the first, in another branch of an #if, is not.
  bool are_versions(const SourceItem& first, const SourceItem& second) const {
    for (const SourceBranch& branch : read_.branches_of(second)) {
      if (items_[branch.marks->front()].first > first.first) continue;
      return items_[branch.mark()].first > first.first;
    }
    return false;
  }

  void keep_device_part() {
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      const bool is_wanted = only_.empty() || item.declares.empty() ||
                             only_.contains(item.name_space + item.declares.front());
      if (item.is_kernel && is_wanted) roots.push_back(i);
    }
    const Reach::Reached first = reach_.from(roots);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      const bool stays =
          item.kind == SourceItem::Kind::include
              ? is_of_use(item.what.substr(kInclude.size()), first.names)
              : item.kind == SourceItem::Kind::pragma && !item.what.starts_with("#error");
      if (stays) roots.push_back(i);
    }
    kept_.assign(items_.size(), false);
    for (const std::size_t item : reach_.from(roots).items) kept_[item] = true;
  }

  /// Returns true for a header of the device; one that takes long to read must have its namespace
  /// or its names used.
  static bool is_of_use(const std::string& name, const std::set<std::string>& reached) {
    if (!is_device_include(name) || name == "<time.h>" || name == "<ctime>") return false;
    const auto is_used = [&](const char* space) { return reached.contains(space); };
    if (name.starts_with("<cooperative_groups")) return is_used("cooperative_groups");
    if (name.starts_with("<cub/")) return is_used("cub");
    if (name == "<curand_kernel.h>") {
      return std::ranges::any_of(reached,
                                 [](const std::string& one) { return one.starts_with("curand"); });
    }
    if (name.starts_with("<cuda/")) return is_used("cuda") || is_used("cub");
    if (is_cpp_header(name.substr(1, name.size() - 2))) return is_used("std");
    return true;
  }

  void read_meanings() {
    std::set<std::string> defined;
    for (const SourceItem& item : items_) {
      if (item.what.starts_with("#define"))
        defined.insert(item.declares.begin(), item.declares.end());
      if (is_compiled(item, defined)) read_meaning(item);
      file_.declared.insert(item.declares.begin(), item.declares.end());
    }
    file_.declared.insert(reach_.name_spaces().begin(), reach_.name_spaces().end());
  }

  /// Reads an item that defines a macro, or another name for a type.
  void read_meaning(const SourceItem& item) {
    const CppToken& first = tokens_[item.first];
    for (std::size_t i = item.first; i < item.end; ++i) {  // A function may define macros, too.
      if (tokens_[i].kind == CppToken::Kind::directive) read_macro(tokens_[i]);
    }
    if (first.is("typedef") && item.end > item.first + 3 && !item.declares.empty()) {
      const TokenRange type = {item.first + 1, item.end - 2};
      add_meaning(item.declares.back(), joined(tokens_, type), file_.meanings);
    } else if (first.is("using") && item.end > item.first + 4 && tokens_[item.first + 2].is("=")) {
      const TokenRange type = {item.first + 3, item.end - 1};
      if (!item.declares.empty()) {
        add_meaning(item.declares.front(), joined(tokens_, type), file_.meanings);
      }
    }
  }

  void read_macro(const CppToken& line) {
    const auto macro = defined_macro(line);
    if (!macro || macro->second.text.empty()) return;
    if (macro->second.is_called) {
      file_.function_macros[macro->first] = macro->second;
    } else {
      add_meaning(macro->first, macro->second.text, file_.meanings);
    }
  }

  /// Returns false for an item in a branch whose condition asks for a macro that is not defined, or
  /// that follows a branch whose condition holds. `defined`: the macros defined before the item.
  bool is_compiled(const SourceItem& item, const std::set<std::string>& defined) const {
    for (const SourceBranch& branch : read_.branches_of(item)) {
      for (std::size_t i = 0; i <= branch.number; ++i) {
        const std::optional<bool> holds = condition(items_[(*branch.marks)[i]], defined);
        if (!holds) break;
        if (*holds != (i == branch.number)) return false;
      }
    }
    return true;
  }

  /// Returns whether the condition holds; nullopt if it asks for more than whether one macro is
  /// defined.
  static std::optional<bool> condition(const SourceItem& mark,
                                       const std::set<std::string>& defined) {
    const bool asks = mark.uses.size() == 2 && mark.uses.front() == "defined";
    const bool is_plain = mark.what.find_first_of("&|=<>") == std::string::npos;
    const bool is_negated = mark.what.find('!') != std::string::npos;
    if (mark.what.starts_with("#ifdef") && !mark.uses.empty()) {
      return defined.contains(mark.uses.front());
    }
    // It is mostly the macro's own guard.
    if (mark.what.starts_with("#ifndef")) return std::nullopt;
    if (mark.what.starts_with("#else")) return true;
    if (!asks || !is_plain) return std::nullopt;
    return defined.contains(mark.uses.back()) != is_negated;
  }

  void read_compared() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      for (std::size_t j = items_[i].first; kept_[i] && j < items_[i].end; ++j) {
        if (tokens_[j].kind != CppToken::Kind::directive) continue;
        const Directive directive = directive_of(tokens_[j]);
        if (directive.asks()) add_comparisons(directive.rest, file_.meanings, file_.compared);
      }
    }
  }

  /// Returns how many different numbers a macro stands for in the branches of #if.
  std::ptrdiff_t numbers_among(const std::string& name) const {
    const auto found = file_.meanings.find(name);
    if (found == file_.meanings.end()) return 0;
    return std::ranges::count_if(
        found->second, [](const std::string& text) { return whole_number(text).has_value(); });
  }

  /// Returns true for a macro that is defined again behind an #undef.
  bool is_defined_again(const std::string& name) const {
    const auto undefined = std::ranges::find(items_, "#undef " + name, &SourceItem::what);
    return std::any_of(undefined, items_.end(), [&](const SourceItem& item) {
      const bool defines = item.what.starts_with("#define");
      return defines && std::ranges::find(item.declares, name) != item.declares.end();
    });
  }

  void read_numbers() {
    std::set<std::string> known;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      if (!kept_[i] || item.declares.size() != 1) continue;
      const std::string& name = item.declares.front();
      const std::optional<std::int64_t> value = number(item);
      const bool guarded = is_guarded(item);
      const bool defines = value || item.what.starts_with("#define");
      if (!guarded && defines && guard_.contains(name)) guarded_.insert(&item);
      if (!value || numbers_among(name) > 1 || is_defined_again(name)) continue;
      if (!known.insert(name).second) continue;
      file_.numbers.push_back(
          {.name = name, .value = *value, .line = tokens_[item.first].line, .is_guarded = guarded});
    }
  }

  std::optional<std::int64_t> number(const SourceItem& item) const {
    if (item.kind == SourceItem::Kind::declaration && item.name_space.empty())
      return constant(item);
    if (item.kind != SourceItem::Kind::define) return std::nullopt;
    const auto macro = defined_macro(tokens_[item.first]);
    return macro && !macro->second.is_called ? whole_number(macro->second.text) : std::nullopt;
  }

  /// Returns the value of `const int NAME = 16;`.
  std::optional<std::int64_t> constant(const SourceItem& item) const {
    bool is_const = false;
    bool is_integer = false;
    std::size_t i = item.first;
    for (; i < item.end && !tokens_[i].is("="); ++i) {
      const std::string_view word = tokens_[i].text;
      is_const = is_const || word == "const" || word == "constexpr";
      is_integer = is_integer || word == "int" || word == "unsigned" || word == "size_t";
    }
    if (!is_const || !is_integer || i + 2 >= item.end) return std::nullopt;
    return whole_number(joined(tokens_, {i + 1, item.end - 1}));
  }

  /// Returns true if it lies under `#ifndef NAME`.
  bool is_guarded(const SourceItem& item) const {
    return std::ranges::any_of(read_.branches_of(item), [&](const SourceBranch& branch) {
      const SourceItem& open = items_[branch.marks->front()];
      return open.what.starts_with("#ifndef") && open.uses == std::vector{item.declares.front()};
    });
  }

  /// Reads constant memory, and the texture references that CUDA had up to version 11.
  void read_declarations() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      if (!kept_[i] || item.kind != SourceItem::Kind::declaration || item.list != kNoToken)
        continue;
      for (SharedArray& array : arrays_of(tokens_, {item.first, item.end}, "__constant__")) {
        array.name = item.name_space + array.name;
        file_.constants.push_back(std::move(array));
      }
      const bool is_texture = tokens_[item.first].is("texture") && !item.declares.empty();
      if (is_texture) file_.texture_references.push_back(item.declares.back());
    }
  }

  const FlatSource& source_;
  const std::set<std::string>& guard_;
  const std::set<std::string>& only_;
  CppTokens tokens_;
  SourceItems read_;
  const std::vector<SourceItem>& items_;
  Reach reach_;
  std::vector<bool> kept_;               ///< True for each item that is kept.
  std::set<const SourceItem*> guarded_;  ///< Items to put under #ifndef.
  KernelFile file_;
};

}  // namespace

KernelFile read_kernel_file(const FlatSource& source, const std::set<std::string>& guard,
                            const std::set<std::string>& only) {
  return FileReader(source, guard, only).read();
}

}  // namespace smemtune
