#include "tuner/source/kernel_file.h"

#include "tuner/source/cpp_tokens.h"
#include "tuner/source/source_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

namespace smemtune {
namespace {

using Tokens = std::vector<CppToken>;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool is_word(const CppToken& token) { return token.kind == CppToken::Kind::word; }

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

constexpr std::array<std::string_view, 4> kTypes = {"struct", "class", "union", "enum"};

// Words that take a list in parentheses before a function's name.
bool is_attribute(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kAttributes = {
      "__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__", "__attribute__",
      "__align__",         "__declspec",       "alignas",        "decltype",    "noexcept"};
  return is_one_of(word, kAttributes);
}

/// The text of tokens first to end - 1, with single spaces where the source has any.
std::string joined(const Tokens& tokens, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t i = first; i < end && i < tokens.size(); ++i) {
    if (i > first && tokens[i].begin > tokens[i - 1].end()) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

struct Range {
  std::size_t first = 0;
  std::size_t end = 0;  ///< Behind the last.

  bool empty() const { return first >= end; }
};

/// The parts of tokens first to end - 1 that commas outside brackets separate.
std::vector<Range> split(const Tokens& tokens, std::size_t first, std::size_t end) {
  std::vector<Range> parts;
  std::size_t begin = first;
  for (std::size_t i = first; i < end; ++i) {
    const CppToken& token = tokens[i];
    if (token.is("(") || token.is("[") || token.is("{")) i = std::min(closing(tokens, i), end);
    if (token.is("<")) {
      const std::size_t close = closing(tokens, i);
      if (close < end) i = close;
    }
    if (i < end && tokens[i].is(",")) {
      parts.push_back({begin, i});
      begin = i + 1;
    }
  }
  if (begin < end) parts.push_back({begin, end});
  return parts;
}

std::vector<std::string> texts(const Tokens& tokens, const std::vector<Range>& ranges) {
  std::vector<std::string> result;
  for (const Range& range : ranges) result.push_back(joined(tokens, range.first, range.end));
  return result;
}

/// 16, (16), 0x10u. Nullopt for anything else.
std::optional<std::int64_t> whole_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '(')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == ')' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// --- Preprocessor lines.

struct Directive {
  std::string_view name;  ///< `define`
  std::string rest;       ///< Without comments; lines joined.
};

Directive directive_of(const CppToken& token) {
  Directive directive;
  std::string line;
  for (const SourceLine& part : source_lines(token.text)) line += part.text;
  const std::vector<std::string_view> words = identifiers(line);
  if (words.empty()) return directive;
  const auto at = static_cast<std::size_t>(words.front().data() - line.data());
  const std::size_t in_token = token.text.find(words.front());
  directive.name = token.text.substr(in_token == std::string_view::npos ? 0 : in_token,
                                     in_token == std::string_view::npos ? 0 : words.front().size());
  const std::size_t rest = line.find_first_not_of(" \t\r", at + words.front().size());
  if (rest != std::string::npos) directive.rest = line.substr(rest);
  while (!directive.rest.empty() &&
         (directive.rest.back() == ' ' || directive.rest.back() == '\t' ||
          directive.rest.back() == '\r')) {
    directive.rest.pop_back();
  }
  return directive;
}

/// Of an #include: `<cuda_fp16.h>`, `"tile.h"`.
std::string included(const Directive& directive) {
  const std::string& rest = directive.rest;
  if (rest.size() < 2 || (rest.front() != '<' && rest.front() != '"')) return "";
  const std::size_t end = rest.find(rest.front() == '<' ? '>' : '"', 1);
  return end == std::string::npos ? "" : rest.substr(0, end + 1);
}

// --- Declarations.

/// A piece of the text at the outermost level (or in a namespace).
struct Item {
  enum class Kind { declaration, include, define, conditional, pragma, open, close };
  Kind kind = Kind::declaration;
  std::size_t first = 0;  ///< Tokens...
  std::size_t end = 0;    ///< ... behind the last.
  std::vector<std::string> declares;
  std::vector<std::string> uses;
  std::string what;          ///< For people.
  bool is_kernel = false;    ///< __global__
  bool is_host = false;      ///< A function that only the host has.
  std::string name_space;    ///< Of what is in it, `a::b::`.
  std::size_t body = kNone;  ///< Token of a function's {.
  std::size_t list = kNone;  ///< Token of a function's (.
  std::size_t name = kNone;  ///< Token of a function's name.
  Range encloses = {};  ///< Of a namespace's or conditional's marks: the first and the last item.
  bool kept = false;
};

class ItemReader {
 public:
  explicit ItemReader(const Tokens& tokens) : tokens_(tokens) {}

  std::vector<Item> items() {
    std::size_t i = 0;
    while (i < tokens_.size()) i = read(i);
    pair();
    return std::move(items_);
  }

 private:
  const CppToken& at(std::size_t i) const {
    static const CppToken kEnd;
    return i < tokens_.size() ? tokens_[i] : kEnd;
  }

  std::string name_space() const {
    std::string text;
    for (const std::string& name : names_) text += name;
    return text;
  }

  Item& add(Item::Kind kind, std::size_t first, std::size_t end) {
    Item& item = items_.emplace_back();
    item.kind = kind;
    item.first = first;
    item.end = std::min(end, tokens_.size());
    item.name_space = name_space();
    return item;
  }

  /// Reads what begins at token i; returns where the next begins.
  std::size_t read(std::size_t i) {
    const CppToken& token = tokens_[i];
    if (token.kind == CppToken::Kind::directive) return directive(i);
    if (token.is(";")) return i + 1;
    if (token.is("}")) {
      if (!names_.empty()) names_.pop_back();
      add(Item::Kind::close, i, i + 1);
      return i + 1;
    }
    const std::size_t space = token.is("inline") && at(i + 1).is("namespace") ? i + 1 : i;
    if (at(space).is("namespace")) {
      std::size_t brace = space + 1;
      std::string name;
      while (is_word(at(brace)) || at(brace).is("::")) name += at(brace++).text;
      if (at(brace).is("{")) {
        names_.push_back(name.empty() || space != i ? "" : name + "::");
        add(Item::Kind::open, i, brace + 1).what = "namespace " + name;
        return brace + 1;
      }
    }
    if (token.is("extern") && at(i + 1).kind == CppToken::Kind::literal && at(i + 2).is("{")) {
      names_.emplace_back();
      add(Item::Kind::open, i, i + 3).what = "extern \"C\"";
      return i + 3;
    }
    return declaration(i);
  }

  std::size_t directive(std::size_t i) {
    const Directive found = directive_of(tokens_[i]);
    const std::vector<std::string_view> words = identifiers(found.rest);
    Item::Kind kind = Item::Kind::pragma;
    if (found.name == "include") kind = Item::Kind::include;
    if (found.name == "define" || found.name == "undef") kind = Item::Kind::define;
    if (found.name.starts_with("if") || found.name.starts_with("el") || found.name == "endif") {
      kind = Item::Kind::conditional;
    }
    Item& item = add(kind, i, i + 1);
    item.what = "#" + std::string(found.name) + " " + found.rest;
    if (kind == Item::Kind::include) {
      item.what = "#include " + included(found);
      return i + 1;
    }
    item.uses.assign(words.begin(), words.end());
    if (kind == Item::Kind::define && !words.empty()) {
      item.declares = {item.uses.front()};
      item.what = "#" + std::string(found.name) + " " + item.uses.front();
      item.uses.erase(item.uses.begin());
    }
    return i + 1;
  }

  std::size_t declaration(std::size_t first) {
    std::size_t i = first;
    while (at(i).is("template")) {
      const std::size_t close = at(i + 1).is("<") ? closing(tokens_, i + 1) : tokens_.size();
      if (close == tokens_.size()) break;
      i = close + 1;
    }
    const std::size_t head = i;
    const bool is_alias = at(head).is("typedef") || at(head).is("using");
    bool is_type = false;
    bool is_value = false;  // Something follows a =.
    std::size_t list = kNone;
    std::size_t body = kNone;
    std::size_t end = tokens_.size();
    for (; i < tokens_.size(); ++i) {
      const CppToken& token = tokens_[i];
      if (token.is(";")) {
        end = i + 1;
        break;
      }
      if (token.is("}")) {  // Of what encloses this: the declaration has no end of its own.
        end = std::max(i, first + 1);
        break;
      }
      if (list == kNone && !is_value && is_one_of(token.text, kTypes)) is_type = true;
      if (token.is("=")) is_value = true;
      if (token.is("(") && list == kNone && !is_value && i > head &&
          name_before(i, head) != kNone) {
        list = i;
      }
      if (token.is("(") || token.is("[")) i = closing(tokens_, i);
      if (token.is("{")) {
        const std::size_t close = closing(tokens_, i);
        if (list != kNone && !is_value && !is_alias) {
          body = i;
          end = std::min(close, tokens_.size() - 1) + 1;
          if (at(end).is(";")) ++end;
          break;
        }
        i = close;
      }
    }
    Item& item = add(Item::Kind::declaration, first, end);
    describe(item, head, list, body, is_type && list == kNone, is_alias);
    return std::max(item.end, first + 1);
  }

  /// The token that names a function whose list opens at `list`, `f(` or, of a specialization,
  /// `f<int>(`; kNone: it is no function's.
  std::size_t name_before(std::size_t list, std::size_t head) const {
    std::size_t name = list - 1;
    if (tokens_[name].is(">")) {
      int depth = 0;
      for (; name > head; --name) {
        if (tokens_[name].is(">")) ++depth;
        if (tokens_[name].is("<") && --depth == 0) break;
      }
      if (name <= head) return kNone;
      --name;
    }
    return is_word(tokens_[name]) && !is_attribute(tokens_[name].text) ? name : kNone;
  }

  void describe(Item& item, std::size_t head, std::size_t list, std::size_t body, bool is_type,
                bool is_alias) {
    const std::size_t signature_end = body == kNone ? item.end : body;
    const auto has = [&](std::string_view word) {
      for (std::size_t i = item.first; i < signature_end; ++i) {
        if (tokens_[i].is(word)) return true;
      }
      return false;
    };
    const bool is_function = list != kNone && !is_alias && !is_type;
    if (is_function) {
      item.list = list;
      item.body = body;
      item.name = name_before(list, head);
      item.declares = {std::string(tokens_[item.name].text)};
      item.is_kernel = has("__global__");
      item.is_host =
          !item.is_kernel && !has("__device__") && !has("constexpr") && !has("__constant__");
    } else if (is_alias || is_type) {
      add_types(item, head);
    } else {
      add_variables(item, head);
    }
    for (std::size_t i = item.first; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      if (is_word(token)) item.uses.emplace_back(token.text);
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive inner = directive_of(token);
      for (const std::string_view word : identifiers(inner.rest)) item.uses.emplace_back(word);
    }
    item.what = item.declares.empty()
                    ? joined(tokens_, item.first, std::min(item.end, item.first + 4))
                    : item.declares.front();
    if (at(head).is("using") && at(head + 1).is("namespace")) {
      item.declares.clear();
      item.what = joined(tokens_, head, item.end);
    }
  }

  /// Names of struct, class, union, enum, typedef and using.
  void add_types(Item& item, std::size_t head) {
    const bool is_enum = at(head).is("enum") || (at(head).is("typedef") && at(head + 1).is("enum"));
    for (std::size_t i = head; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      if (token.is("{")) {
        const std::size_t close = std::min(closing(tokens_, i), item.end);
        for (std::size_t j = i + 1; is_enum && j < close; ++j) {
          const bool begins = tokens_[j - 1].is("{") || tokens_[j - 1].is(",");
          if (begins && is_word(tokens_[j])) item.declares.emplace_back(tokens_[j].text);
        }
        i = close;
        continue;
      }
      const CppToken& next = at(i + 1);
      const bool specializes = next.is("<") && i > head && !tokens_[i - 1].is("typedef") &&
                               is_one_of(tokens_[i - 1].text, kTypes);
      const bool ends = next.is("{") || next.is(";") || next.is(":") || next.is("=") ||
                        next.is(",") || next.is("[") || next.is(")") || specializes;
      if (is_word(token) && ends) item.declares.emplace_back(token.text);
      if (token.is("=")) break;
    }
  }

  void add_variables(Item& item, std::size_t head) {
    for (std::size_t i = head; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      const CppToken& next = at(i + 1);
      const bool ends =
          next.is("=") || next.is(";") || next.is("[") || next.is(",") || next.is("{");
      if (is_word(token) && ends) item.declares.emplace_back(token.text);
      if (next.is("=")) {  // The value may hold anything up to the next comma.
        while (i + 1 < item.end && !at(i + 1).is(",") && !at(i + 1).is(";")) {
          ++i;
          if (at(i).is("{") || at(i).is("(")) i = std::min(closing(tokens_, i), item.end);
        }
      } else if (token.is("[") || token.is("{")) {
        i = std::min(closing(tokens_, i), item.end);
      }
    }
  }

  /// Finds what each namespace and each conditional encloses.
  void pair() {
    std::vector<std::size_t> spaces;
    std::vector<std::vector<std::size_t>> conditionals;  // #if, #else, ...
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.kind == Item::Kind::open) spaces.push_back(i);
      if (item.kind == Item::Kind::close && !spaces.empty()) {
        enclose({spaces.back(), i});
        spaces.pop_back();
      }
      if (item.kind != Item::Kind::conditional) continue;
      if (item.what.starts_with("#if")) {
        conditionals.push_back({i});
      } else if (!conditionals.empty()) {
        conditionals.back().push_back(i);
        if (!item.what.starts_with("#endif")) continue;
        enclose(conditionals.back());
        conditionals.pop_back();
      }
    }
    // The #endif lies in the declaration that follows.
    for (const std::vector<std::size_t>& open : conditionals) {
      for (const std::size_t i : open) items_[i].encloses = {open.front(), open.back() + 2};
    }
  }

  void enclose(const std::vector<std::size_t>& marks) {
    for (const std::size_t i : marks) items_[i].encloses = {marks.front(), marks.back()};
  }

  const Tokens& tokens_;
  std::vector<Item> items_;
  std::vector<std::string> names_;  ///< Of the open namespaces.
};

// --- What kernels reach.

/// Headers that NVRTC has, or gets from smemtune; what is not here is the host's.
bool is_device_include(const std::string& name) {
  static constexpr std::array<std::string_view, 10> kHost = {
      "<cuda.h>",  "<cuda_runtime_api.h>", "<cuda_profiler_api.h>",
      "<nvrtc.h>", "<cublas_v2.h>",        "<curand.h>",
      "<cufft.h>", "<cusparse.h>",         "<cudaTypedefs.h>",
      "<nvml.h>"};
  if (name.size() < 3 || is_one_of(name, kHost) || name.starts_with("<thrust/")) return false;
  const std::string_view bare = std::string_view(name).substr(1, name.size() - 2);
  return is_toolkit_header(bare) || is_c_header(bare);
}

/// `using namespace` of what device code has.
bool is_device_namespace(const std::string& name) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "nvcuda", "cooperative_groups", "cg", "cuda", "cub", "cute"};
  return is_one_of(name, kNames);
}

class Reach {
 public:
  Reach(std::vector<Item>& items, const std::set<std::string>& spaces)
      : items_(items), spaces_(spaces) {}

  /// Marks what the kept items and `wanted` need, and returns every name that is reached.
  std::set<std::string> spread(std::set<std::string> wanted = {}) {
    names_ = std::move(wanted);
    for (const Item& item : items_) {
      if (item.kept) names_.insert(item.uses.begin(), item.uses.end());
    }
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < items_.size(); ++i) {
        if (items_[i].kept || !is_needed(i)) continue;
        items_[i].kept = true;
        again = true;
        names_.insert(items_[i].uses.begin(), items_[i].uses.end());
      }
    }
    return std::move(names_);
  }

 private:
  bool is_needed(std::size_t i) const {
    const Item& item = items_[i];
    for (std::size_t j = item.encloses.first; j < std::min(item.encloses.end, items_.size()); ++j) {
      const bool counts =
          items_[j].kind == Item::Kind::declaration || items_[j].kind == Item::Kind::define;
      if (items_[j].kept && counts) return true;
    }
    if (item.kind != Item::Kind::declaration && item.kind != Item::Kind::define) return false;
    if (item.is_host || item.is_kernel) return false;
    if (item.what.starts_with("using namespace ")) {
      const std::vector<std::string_view> words = identifiers(item.what);
      return words.size() > 2 && (is_device_namespace(std::string(words[2])) ||
                                  spaces_.contains(std::string(words[2])));
    }
    return std::ranges::any_of(item.declares,
                               [&](const std::string& name) { return names_.contains(name); });
  }

  std::vector<Item>& items_;
  const std::set<std::string>& spaces_;
  std::set<std::string> names_;
};

std::set<std::string> namespaces(const std::vector<Item>& items) {
  std::set<std::string> names;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::open && item.what.starts_with("namespace ")) {
      names.insert(item.what.substr(10));
    }
  }
  return names;
}

std::set<std::string> declared_names(std::string_view text) {
  const Tokens tokens = cpp_tokens(text);
  std::set<std::string> names;
  for (const Item& item : ItemReader(tokens).items()) {
    names.insert(item.declares.begin(), item.declares.end());
  }
  return names;
}

// --- Kernels.

std::vector<TemplateParameter> template_parameters(const Tokens& tokens, const Item& item) {
  std::vector<TemplateParameter> parameters;
  if (!tokens[item.first].is("template") || item.first + 1 >= item.end) return parameters;
  const std::size_t open = item.first + 1;
  const std::size_t close = tokens[open].is("<") ? closing(tokens, open) : tokens.size();
  if (close >= item.end) return parameters;
  for (const Range& part : split(tokens, open + 1, close)) {
    TemplateParameter parameter;
    std::size_t end = part.end;
    for (std::size_t i = part.first; i < part.end; ++i) {
      if (!tokens[i].is("=")) continue;
      parameter.default_text = joined(tokens, i + 1, part.end);
      end = i;
      break;
    }
    if (end < part.first + 2 || !is_word(tokens[end - 1])) continue;
    parameter.name = tokens[end - 1].text;
    parameter.kind = joined(tokens, part.first, end - 1);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::optional<KernelParameter> kernel_parameter(const Tokens& tokens, Range part) {
  for (std::size_t i = part.first; i < part.end; ++i) {
    if (tokens[i].is("=")) part.end = i;
  }
  KernelParameter parameter;
  while (part.end > part.first && tokens[part.end - 1].is("]")) {
    while (part.end > part.first && !tokens[part.end - 1].is("[")) --part.end;
    if (part.end > part.first) --part.end;
    ++parameter.pointers;
  }
  if (part.empty()) return std::nullopt;
  static constexpr std::array<std::string_view, 8> kQualifiers = {
      "const",    "volatile",          "__restrict__", "__restrict",
      "restrict", "__grid_constant__", "struct",       "typename"};
  std::vector<std::size_t> words;  // That make up the type and the name.
  bool seen_star = false;
  for (std::size_t i = part.first; i < part.end; ++i) {
    const CppToken& token = tokens[i];
    if (token.is("*")) {
      ++parameter.pointers;
      seen_star = true;
    } else if (token.is("const") && !seen_star) {
      parameter.is_const = true;
    } else if (token.is("&") || is_one_of(token.text, kQualifiers)) {
      continue;
    } else {
      words.push_back(i);
    }
  }
  if (words.empty()) return std::nullopt;
  if (words.size() > 1 && is_word(tokens[words.back()])) {
    parameter.name = tokens[words.back()].text;
    words.pop_back();
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool joins = i > 0 && is_word(tokens[words[i]]) && is_word(tokens[words[i - 1]]);
    if (joins) parameter.type += ' ';
    parameter.type += tokens[words[i]].text;
  }
  return parameter;
}

/// What follows an element's brackets and members, `[i].x`.
std::size_t behind_element(const Tokens& tokens, std::size_t i, std::size_t end) {
  while (i < end) {
    if (tokens[i].is("[")) {
      i = std::min(closing(tokens, i), end) + 1;
    } else if ((tokens[i].is(".") || tokens[i].is("->")) && i + 1 < end) {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

Access both(Access a, Access b) {
  if (a == Access::unknown || b == Access::unknown) return Access::unknown;
  return a == b ? a : Access::both;
}

/// How functions and macros use what their arguments lead to.
class AccessReader {
 public:
  AccessReader(const Tokens& tokens, const std::vector<Item>& items)
      : tokens_(tokens), items_(items) {}

  /// Of a pointer called `name`, in tokens first to end - 1.
  Access of(std::size_t first, std::size_t end, const std::string& name) {
    return of(tokens_, first, end, name);
  }

 private:
  Access of(const Tokens& tokens, std::size_t first, std::size_t end, const std::string& name) {
    std::optional<Access> all;
    const auto add = [&](Access access) { all = all ? both(*all, access) : access; };
    for (std::size_t i = first; i < end; ++i) {
      if (!tokens[i].is(name) || !is_word(tokens[i])) continue;
      const std::string_view before = i > 0 ? tokens[i - 1].text : std::string_view();
      if (before == "." || before == "->") continue;  // A member of something else.
      const bool is_element = i + 1 < end && tokens[i + 1].is("[");
      const bool is_dereferenced = before == "*" && is_unary(tokens, i - 1, first);
      const std::size_t behind = behind_element(tokens, i + 1, end);
      const std::string_view after = behind < end ? tokens[behind].text : std::string_view();
      if (!is_element && !is_dereferenced) {
        // Advancing the pointer itself touches nothing.
        const bool advances = after == "+=" || after == "-=" || after == "++" || after == "--";
        if (!advances) add(passed(tokens, i, first, end));
        continue;
      }
      if (before == "&" && is_unary(tokens, i - 1, first)) {
        const Access access = passed(tokens, i, first, end);
        add(access == Access::unknown ? Access::both : access);
        continue;
      }
      add(of_element(before, after));
    }
    return all.value_or(Access::unknown);
  }

  static Access of_element(std::string_view before, std::string_view after) {
    if (after == "=") return Access::written;
    const bool changes = (after.size() == 2 && after[1] == '=' && after != "==" && after != "!=" &&
                          after != "<=" && after != ">=") ||
                         after == "++" || after == "--" || before == "++" || before == "--";
    return changes ? Access::both : Access::read;
  }

  /// Whether the operator at token i has nothing before it that it could join.
  static bool is_unary(const Tokens& tokens, std::size_t i, std::size_t first) {
    if (i <= first) return true;
    const CppToken& before = tokens[i - 1];
    return (!is_word(before) || before.is("return")) && before.kind != CppToken::Kind::number &&
           !before.is(")") && !before.is("]");
  }

  /// Of the pointer at token i, which stands in `f(a, pointer + b)` or `*(pointer + b)`.
  Access passed(const Tokens& tokens, std::size_t i, std::size_t first, std::size_t end) {
    std::size_t argument = 0;
    std::size_t open = i;
    for (int brackets = 0; brackets >= 0;) {
      if (open == first || open + kMostTokens < i) return Access::unknown;
      const CppToken& token = tokens[--open];
      if (token.is(";") || token.is("{") || token.is("}") || token.is("=")) return Access::unknown;
      if (token.is(")") || token.is("]")) ++brackets;
      if (token.is("[") && --brackets < 0) return Access::unknown;
      if (token.is("(")) --brackets;
      if (token.is(",") && brackets == 0) ++argument;
    }
    std::size_t begin = open;  // Of what the parentheses belong to.
    if (begin > first && tokens[begin - 1].is(">")) {
      int angles = 0;
      while (begin > first) {
        --begin;
        if (tokens[begin].is(">")) ++angles;
        if (tokens[begin].is("<") && --angles == 0) break;
      }
    }
    const bool is_named = begin > first && is_word(tokens[begin - 1]);
    if (is_named) --begin;
    const bool is_cast = is_named && tokens[begin].text.ends_with("_cast");
    if (is_named && !is_cast) return of_argument(tokens[begin].text, argument);
    // The pointer itself, in parentheses.
    const std::size_t close = closing(tokens, open);
    const std::size_t behind = behind_element(tokens, close + 1, end);
    const std::string_view before = begin > first ? tokens[begin - 1].text : std::string_view();
    const bool is_dereferenced = before == "*" && is_unary(tokens, begin - 1, first);
    const bool is_element = close + 1 < end && tokens[close + 1].is("[");
    if (!is_element && !is_dereferenced) return Access::unknown;
    return of_element(is_dereferenced ? "" : before,
                      behind < end ? tokens[behind].text : std::string_view());
  }

  Access of_argument(std::string_view function, std::size_t number) {
    if (function.starts_with("__ldg") || function.starts_with("__ldc")) return Access::read;
    if (function.starts_with("atomic") && number == 0) return Access::both;
    std::optional<Access> all;  // Of overloads and branches.
    for (const Item& item : items_) {
      if (item.declares.size() != 1 || item.declares.front() != function) continue;
      if (item.kind != Item::Kind::define && item.body == kNone) continue;
      // Unknown while it is being read: one that calls itself.
      const auto [known, is_new] = known_.try_emplace({&item, number}, Access::unknown);
      if (is_new) {
        if (++depth_ < kMaxDepth) {
          known->second = item.body == kNone ? of_macro(item, number) : of_function(item, number);
        }
        --depth_;
      }
      all = all ? both(*all, known->second) : known->second;
    }
    return all.value_or(Access::unknown);
  }

  Access of_function(const Item& item, std::size_t number) {
    const std::size_t close = std::min(closing(tokens_, item.list), item.end);
    const std::vector<Range> parts = split(tokens_, item.list + 1, close);
    if (number >= parts.size()) return Access::unknown;
    const std::optional<KernelParameter> parameter = kernel_parameter(tokens_, parts[number]);
    if (!parameter || parameter->pointers == 0 || parameter->name.empty()) return Access::unknown;
    if (parameter->is_const) return Access::read;
    return of(tokens_, item.body + 1, item.end, parameter->name);
  }

  Access of_macro(const Item& item, std::size_t number) {
    const std::string rest = directive_of(tokens_[item.first]).rest;
    const Tokens tokens = cpp_tokens(rest);
    if (tokens.size() < 2 || !tokens[1].is("(")) return Access::unknown;
    const std::size_t close = closing(tokens, 1);
    const std::size_t name = 2 + 2 * number;
    if (close >= tokens.size() || name >= close) return Access::unknown;
    return of(tokens, close + 1, tokens.size(), std::string(tokens[name].text));
  }

  static constexpr std::size_t kMostTokens = 1000;  ///< Of a function's arguments.
  static constexpr int kMaxDepth = 50;              ///< Of functions that call functions.

  const Tokens& tokens_;
  const std::vector<Item>& items_;
  std::map<std::pair<const Item*, std::size_t>, Access> known_;  ///< Of arguments.
  int depth_ = 0;
};

/// T of the first `tex1Dfetch<T>(name, ...)`, or empty.
std::string texel_of(const Tokens& tokens, std::size_t first, std::size_t end,
                     const std::string& name) {
  for (std::size_t i = first; i + 3 < end; ++i) {
    if (!tokens[i].is("tex1Dfetch") || !tokens[i + 1].is("<")) continue;
    std::string type;
    std::size_t j = i + 2;
    for (; j < end && !tokens[j].is(">"); ++j) {
      type += (type.empty() ? "" : " ") + std::string(tokens[j].text);
    }
    if (j + 2 < end && tokens[j + 1].is("(") && tokens[j + 2].is(name)) return type;
  }
  return "";
}

/// Those declared behind `space`: __shared__ or __constant__.
std::vector<SharedArray> arrays_of(const Tokens& tokens, std::size_t first, std::size_t end,
                                   std::string_view space) {
  std::vector<SharedArray> arrays;
  for (std::size_t i = first; i < end; ++i) {
    if (!tokens[i].is(space)) continue;
    bool is_dynamic = false;
    for (std::size_t j = i; j > first && is_word(tokens[j - 1]); --j) {
      is_dynamic = is_dynamic || tokens[j - 1].is("extern");
    }
    std::size_t stop = i + 1;
    while (stop < end && !tokens[stop].is(";")) {
      if (tokens[stop].is("(") || tokens[stop].is("[") || tokens[stop].is("{")) {
        stop = std::min(closing(tokens, stop), end);
      }
      ++stop;
    }
    std::string type;
    for (const Range& part : split(tokens, i + 1, std::min(stop, end))) {
      std::size_t name = part.first;
      while (name < part.end &&
             !(is_word(tokens[name]) &&
               (name + 1 == part.end || tokens[name + 1].is("[") || tokens[name + 1].is("=")))) {
        if (tokens[name].is("(")) name = std::min(closing(tokens, name), part.end);
        ++name;
      }
      if (name >= part.end) continue;
      if (type.empty()) type = joined(tokens, part.first, name);
      SharedArray array;
      array.type = type;
      array.name = tokens[name].text;
      array.is_dynamic = is_dynamic;
      for (std::size_t j = name + 1; j < part.end && tokens[j].is("[");) {
        const std::size_t close = std::min(closing(tokens, j), part.end);
        if (close > j + 1) array.extents.push_back(joined(tokens, j + 1, close));
        j = close + 1;
      }
      arrays.push_back(std::move(array));
    }
    i = stop;
  }
  return arrays;
}

/// The highest of x, y, z that is used of a built-in such as threadIdx: 1 to 3; 0: none.
int dimensions_of(const Tokens& tokens, Range body, std::string_view builtin) {
  int dimensions = 0;
  for (std::size_t i = body.first; i + 2 < body.end; ++i) {
    if (!tokens[i].is(builtin) || !tokens[i + 1].is(".")) continue;
    const std::string_view axis = tokens[i + 2].text;
    dimensions = std::max(dimensions, axis == "z" ? 3 : axis == "y" ? 2 : axis == "x" ? 1 : 0);
  }
  return dimensions;
}

void use_dimensions(const Tokens& tokens, Range body, KernelFunction& kernel) {
  const int block = dimensions_of(tokens, body, "blockDim");
  kernel.uses_block_size = kernel.uses_block_size || block > 0;
  kernel.block_dimensions =
      std::max({kernel.block_dimensions, block, dimensions_of(tokens, body, "threadIdx")});
  kernel.grid_dimensions =
      std::max({kernel.grid_dimensions, dimensions_of(tokens, body, "blockIdx"),
                dimensions_of(tokens, body, "gridDim")});
}

/// What `i` of `i = ... blockIdx.x ...` is compared with, as in `i < width`, by dimension.
std::array<std::string, 3> extents_of(const Tokens& tokens, Range body) {
  constexpr std::size_t kMost = 100;
  std::array<std::string, 3> extents;
  std::size_t indices = 0;
  for (std::size_t i = body.first; i + 1 < body.end && indices < kMost; ++i) {
    if (!is_word(tokens[i]) || !tokens[i + 1].is("=")) continue;
    std::set<std::size_t> axes;
    int depth = 0;
    for (std::size_t j = i + 2; j + 2 < body.end && j < i + kMost && !tokens[j].is(";"); ++j) {
      if (tokens[j].is("(")) ++depth;
      if (tokens[j].is(")")) --depth;
      if (tokens[j].is(",") && depth == 0) break;
      if (!tokens[j].is("blockIdx") || !tokens[j + 1].is(".")) continue;
      const std::size_t axis = std::string_view("xyz").find(tokens[j + 2].text);
      if (axis != std::string_view::npos) axes.insert(axis);
    }
    if (axes.size() != 1 || !extents[*axes.begin()].empty()) continue;
    ++indices;
    for (std::size_t j = i + 2; j + 2 < body.end; ++j) {
      const bool compares = tokens[j].is(tokens[i].text) && is_word(tokens[j + 2]) &&
                            (tokens[j + 1].is("<") || tokens[j + 1].is(">="));
      if (!compares) continue;
      extents[*axes.begin()] = tokens[j + 2].text;
      break;
    }
  }
  return extents;
}

/// Arguments, of branches of #if the first's.
Tokens first_branches(const Tokens& tokens, std::size_t first, std::size_t end) {
  Tokens result;
  std::vector<bool> skips;
  for (std::size_t i = first; i < end; ++i) {
    if (tokens[i].kind != CppToken::Kind::directive) {
      if (std::ranges::find(skips, true) == skips.end()) result.push_back(tokens[i]);
      continue;
    }
    const std::string_view name = directive_of(tokens[i]).name;
    if (name.starts_with("if")) skips.push_back(false);
    if (name.starts_with("el") && !skips.empty()) skips.back() = true;
    if (name == "endif" && !skips.empty()) skips.pop_back();
  }
  return result;
}

KernelFunction kernel_of(const Tokens& tokens, const Item& item, AccessReader& access) {
  KernelFunction kernel;
  kernel.name = item.name_space + item.declares.front();
  kernel.line = tokens[item.name].line;
  kernel.names.insert(item.uses.begin(), item.uses.end());
  kernel.template_parameters = template_parameters(tokens, item);
  const std::size_t close = std::min(closing(tokens, item.list), item.end);
  const Tokens list = first_branches(tokens, item.list + 1, close);
  for (const Range& part : split(list, 0, list.size())) {
    std::optional<KernelParameter> parameter = kernel_parameter(list, part);
    if (!parameter || (parameter->type == "void" && parameter->pointers == 0)) continue;
    if (parameter->name.empty()) {
      parameter->name = "argument_" + std::to_string(kernel.parameters.size());
    }
    if (parameter->pointers > 0) {
      parameter->access = access.of(item.body + 1, item.end, parameter->name);
    }
    if (parameter->is_texture()) {
      parameter->texel = texel_of(tokens, item.body + 1, item.end, parameter->name);
    }
    kernel.parameters.push_back(std::move(*parameter));
  }
  for (std::size_t i = item.first; i + 1 < item.body; ++i) {
    if (!tokens[i].is("__launch_bounds__") || !tokens[i + 1].is("(")) continue;
    const std::size_t end = std::min(closing(tokens, i + 1), item.body);
    kernel.launch_bounds = texts(tokens, split(tokens, i + 2, end));
  }
  const Range body = {item.body, item.end};
  kernel.shared = arrays_of(tokens, body.first, body.end, "__shared__");
  use_dimensions(tokens, body, kernel);
  kernel.extents = extents_of(tokens, body);
  return kernel;
}

// --- Names that nothing defines.

/// Words of C++ and CUDA that need no declaration, as far as device code has them.
bool is_builtin(std::string_view word) {
  static constexpr std::array<std::string_view, 78> kWords = {
      "void",     "bool",      "char",     "short",     "int",       "long",     "float",
      "double",   "signed",    "unsigned", "size_t",    "half",      "const",    "constexpr",
      "static",   "volatile",  "extern",   "inline",    "struct",    "class",    "union",
      "enum",     "typename",  "template", "auto",      "register",  "if",       "else",
      "for",      "while",     "do",       "switch",    "case",      "default",  "break",
      "continue", "return",    "goto",     "sizeof",    "alignof",   "true",     "false",
      "nullptr",  "this",      "operator", "using",     "namespace", "typedef",  "new",
      "delete",   "public",    "private",  "protected", "friend",    "decltype", "noexcept",
      "asm",      "threadIdx", "blockIdx", "blockDim",  "gridDim",   "warpSize", "dim3",
      "defined",  "NULL",      "INFINITY", "NAN",       "uint",      "uchar",    "ushort",
      "ulong",    "virtual",   "explicit", "mutable",   "final",     "override", "unroll",
      "nounroll"};
  static constexpr std::array<std::string_view, 10> kBegin = {
      "__", "CUDART_", "FLT_", "DBL_", "INT_", "UINT_", "M_", "CHAR_", "LONG_", "SHRT_"};
  const bool is_sized = word.ends_with("_t") && word.find("int") != std::string_view::npos;
  if (is_one_of(word, kWords) || is_sized) return true;
  const bool is_vector = word.size() > 3 && word.back() >= '1' && word.back() <= '4' &&
                         is_one_of(word.substr(0, word.size() - 1), kWords);
  return is_vector || std::ranges::any_of(
                          kBegin, [&](std::string_view begin) { return word.starts_with(begin); });
}

/// Finds them in what is kept of a file.
class MissingNames {
 public:
  /// `known`: names that are declared outside of functions, here or in a header.
  MissingNames(const Tokens& tokens, const std::set<std::string>& known,
               const std::map<std::string, std::vector<std::string>>& meanings)
      : tokens_(tokens), known_(known), meanings_(meanings) {}

  void add(const Item& item) {
    if (tokens_[item.first].is("namespace") || tokens_[item.first].is("using")) return;
    for (std::size_t i = item.first; i < item.end; ++i) {
      if (!is_word(tokens_[i]) || !declares(i, item.first)) continue;
      local_.emplace(tokens_[i].text);
      const CppToken& before = tokens_[i - 1];
      if (before.is("typename") || before.is("class")) types_.emplace(tokens_[i].text);
    }
    int depth = 0;  // Of square brackets.
    for (std::size_t i = item.first; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      if (token.is("[")) ++depth;
      if (token.is("]")) --depth;
      if (token.kind == CppToken::Kind::directive) add_directive(token);
      if (!is_word(token) || is_foreign(i)) continue;
      use(token.text, token.line, depth > 0);
    }
  }

  std::vector<MissingName> names() {
    std::vector<MissingName> found;
    for (MissingName& name : used_) {
      if (local_.contains(name.name) || optional_.contains(name.name)) continue;
      found.push_back(std::move(name));
    }
    return found;
  }

  /// What #if and #elif compare names with, whether these are missing or not.
  const std::map<std::string, std::set<std::int64_t>>& compared() const { return compared_; }

 private:
  const CppToken& at(std::size_t i) const {
    static const CppToken kEnd;
    return i < tokens_.size() ? tokens_[i] : kEnd;
  }

  /// A member, a name of another namespace, or what is called.
  bool is_foreign(std::size_t i) const {
    const CppToken& before = at(i - 1);
    const CppToken& after = at(i + 1);
    return before.is(".") || before.is("->") || before.is("::") || after.is("::") || after.is("(");
  }

  bool is_type(const CppToken& token) const {
    return is_word(token) && (is_builtin(token.text) || known_.contains(std::string(token.text)) ||
                              types_.contains(std::string(token.text)));
  }

  /// Whether the word at i is declared there: `int x`, `T *x`, `int a, x`, `tile<32> x`.
  bool declares(std::size_t i, std::size_t first) const {
    static constexpr std::array<std::string_view, 8> kNoTypes = {
        "return", "case", "else", "goto", "sizeof", "new", "delete", "operator"};
    static constexpr std::array<std::string_view, 8> kEnds = {"=", ";", ",", ")",
                                                              "[", "{", ":", "("};
    if (i == first) return false;
    const CppToken& before = tokens_[i - 1];
    if (is_word(before)) return !is_one_of(before.text, kNoTypes);
    if (!is_one_of(at(i + 1).text, kEnds) && !at(i + 1).is(">")) return false;
    if (before.is("*") || before.is("&")) {
      std::size_t type = i - 1;
      while (type > first && (tokens_[type].is("*") || tokens_[type].is("&"))) --type;
      return is_type(tokens_[type]) || tokens_[type].is(">");
    }
    if (before.is(">")) return !at(i + 1).is(")");
    if (!before.is(",")) return false;
    std::size_t begin = i - 1;  // Of the statement.
    int depth = 0;
    while (begin > first) {
      const CppToken& token = tokens_[begin - 1];
      if (token.is(")") || token.is("]")) ++depth;
      if ((token.is("(") || token.is("[")) && --depth < 0) break;
      if (depth == 0 && (token.is(";") || token.is("{") || token.is("}"))) break;
      --begin;
    }
    return is_type(tokens_[begin]) && (is_word(at(begin + 1)) || at(begin + 1).is("*"));
  }

  void add_directive(const CppToken& token) {
    const Directive directive = directive_of(token);
    const Tokens rest = cpp_tokens(directive.rest);
    if (directive.name == "ifdef" || directive.name == "ifndef") {
      for (const CppToken& word : rest) optional_.emplace(word.text);
    }
    const bool decides = directive.name == "if" || directive.name == "elif";
    const bool unrolls = directive.name == "pragma" && !rest.empty() && rest[0].is("unroll");
    std::size_t first = 0;
    std::set<std::string_view> own;  // The arguments of a macro.
    if (directive.name == "define") {
      first = 1;
      if (rest.size() > 1 && rest[1].is("(") && rest[1].begin == rest[0].end()) {
        first = std::min(closing(rest, 1), rest.size());
        for (std::size_t i = 2; i < first; ++i) own.insert(rest[i].text);
      }
    } else if (!decides && !unrolls) {
      return;
    }
    for (std::size_t i = first; i < rest.size(); ++i) {
      if (!is_word(rest[i]) || own.contains(rest[i].text)) continue;
      const bool asks = i > 0 && (rest[i - 1].is("defined") ||
                                  (i > 1 && rest[i - 1].is("(") && rest[i - 2].is("defined")));
      const bool calls = i + 1 < rest.size() && (rest[i + 1].is("(") || rest[i + 1].is("::"));
      const bool member = i > 0 && (rest[i - 1].is(".") || rest[i - 1].is("->"));
      if (asks) optional_.emplace(rest[i].text);
      if (asks || calls || member) continue;
      const std::string_view name = meaning(rest[i].text);
      if (decides) compare(std::string(name), rest, i);
      use(name, token.line, decides || unrolls);
    }
  }

  /// What a macro that is but another name stands for.
  std::string_view meaning(std::string_view word) const {
    const auto found = meanings_.find(std::string(word));
    if (found == meanings_.end() || found->second.size() != 1) return word;
    const std::string& text = found->second.front();
    const std::vector<std::string_view> words = identifiers(text);
    return words.size() == 1 && words.front().size() == text.size() ? words.front() : word;
  }

  void compare(const std::string& name, const Tokens& rest, std::size_t i) {
    const auto symbol = [&](std::size_t j) {
      return j < rest.size() && rest[j].kind == CppToken::Kind::symbol ? rest[j].text
                                                                       : std::string_view();
    };
    const auto number = [&](std::size_t j) {
      return j < rest.size() ? whole_number(rest[j].text) : std::nullopt;
    };
    const auto equals = [](std::string_view text) { return text == "==" || text == "!="; };
    if (equals(symbol(i + 1)) && number(i + 2)) {
      compared_[name].insert(*number(i + 2));
    } else if (i > 1 && equals(symbol(i - 1)) && number(i - 2)) {
      compared_[name].insert(*number(i - 2));
    } else {
      const std::string_view before = i > 0 ? symbol(i - 1) : "";
      const std::string_view after = symbol(i + 1);
      const auto joins = [](std::string_view text) {
        return text.empty() || text == "&&" || text == "||" || text == "!" || text == "(" ||
               text == ")";
      };
      if (joins(before) && joins(after)) compared_[name].insert({0, 1});
    }
  }

  void use(std::string_view word, std::size_t line, bool is_constant) {
    if (is_builtin(word) || known_.contains(std::string(word))) return;
    auto name = std::ranges::find(used_, word, &MissingName::name);
    if (name == used_.end()) {
      name = used_.insert(name, MissingName{.name = std::string(word), .line = line});
    }
    name->is_constant = name->is_constant || is_constant;
  }

  const Tokens& tokens_;
  const std::set<std::string>& known_;
  const std::map<std::string, std::vector<std::string>>& meanings_;
  std::set<std::string> local_;     ///< Declared in functions.
  std::set<std::string> optional_;  ///< The source asks whether they are defined.
  std::set<std::string> types_;     ///< Parameters of templates that are types.
  std::map<std::string, std::set<std::int64_t>> compared_;
  std::vector<MissingName> used_;
};

/// Adds what an item that defines a macro without arguments, or another name for a type, makes of
/// it.
void add_meaning(const Tokens& tokens, const Item& item,
                 std::map<std::string, std::vector<std::string>>& meanings) {
  if (item.declares.empty()) return;
  std::string name = item.declares.front();
  std::string text;
  if (item.kind == Item::Kind::define) {
    const Directive directive = directive_of(tokens[item.first]);
    if (directive.name != "define" || directive.rest.size() <= name.size()) return;
    if (directive.rest[name.size()] == '(') return;
    text = directive.rest.substr(directive.rest.find_first_not_of(" \t", name.size()));
  } else if (tokens[item.first].is("typedef") && item.end > item.first + 3) {
    name = item.declares.back();
    text = joined(tokens, item.first + 1, item.end - 2);
  } else if (tokens[item.first].is("using") && item.end > item.first + 4 &&
             tokens[item.first + 2].is("=")) {
    text = joined(tokens, item.first + 3, item.end - 1);
  } else {
    return;
  }
  std::vector<std::string>& texts = meanings[name];
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

// --- Launches.

class LaunchReader {
 public:
  explicit LaunchReader(const Tokens& tokens) : tokens_(tokens) {}

  std::vector<LaunchSite> launches() const {
    std::vector<LaunchSite> found;
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      if (!three(i, "<")) continue;
      if (std::optional<LaunchSite> site = launch(i)) found.push_back(std::move(*site));
      i += 2;
    }
    return found;
  }

 private:
  /// Whether <<< or >>> begins at token i.
  bool three(std::size_t i, std::string_view symbol) const {
    for (std::size_t j = i; j < i + 3; ++j) {
      if (j >= tokens_.size() || !tokens_[j].is(symbol)) return false;
      if (j > i && tokens_[j].begin != tokens_[j - 1].end()) return false;
    }
    return true;
  }

  std::optional<LaunchSite> launch(std::size_t open) const {
    LaunchSite site;
    std::size_t name = open - 1;
    if (tokens_[name].is(">")) {
      int depth = 0;
      std::size_t less = name;
      for (; less > 0; --less) {
        if (tokens_[less].is(">")) ++depth;
        if (tokens_[less].is("<") && --depth == 0) break;
        if (tokens_[less].is(";") || tokens_[less].is("{")) return std::nullopt;
      }
      if (less == 0) return std::nullopt;
      site.template_arguments = texts(tokens_, split(tokens_, less + 1, name));
      name = less - 1;
    }
    if (!is_word(tokens_[name])) return std::nullopt;
    site.kernel = tokens_[name].text;
    site.line = tokens_[name].line;
    std::size_t close = open + 3;
    while (close < tokens_.size() && !three(close, ">")) {
      if (tokens_[close].is(";")) return std::nullopt;
      if (tokens_[close].is("(") || tokens_[close].is("{")) close = closing(tokens_, close);
      ++close;
    }
    if (close >= tokens_.size()) return std::nullopt;
    const std::vector<Range> parts = split(tokens_, open + 3, close);
    if (parts.size() < 2) return std::nullopt;
    const bool is_variable = parts[1].end == parts[1].first + 1 && is_word(tokens_[parts[1].first]);
    if (is_variable) site.block_name = tokens_[parts[1].first].text;
    site.grid = dimensions(parts[0], name);
    site.block = dimensions(parts[1], name);
    if (parts.size() > 2) site.shared_bytes = joined(tokens_, parts[2].first, parts[2].end);
    const std::size_t list = close + 3;
    if (list < tokens_.size() && tokens_[list].is("(")) {
      const std::size_t end = closing(tokens_, list);
      if (end < tokens_.size()) site.arguments = texts(tokens_, split(tokens_, list + 1, end));
    }
    for (const auto& part : {site.grid, site.block, {site.shared_bytes}, site.arguments}) {
      for (const std::string& text : part) add_variables(text, name, site.variables);
    }
    add_asserted(name, site.asserted);
    return site;
  }

  void add_variables(const std::string& text, std::size_t before,
                     std::map<std::string, std::string>& variables) const {
    constexpr std::size_t kMost = 100;
    for (const std::string_view word : identifiers(text)) {
      if (variables.size() == kMost || variables.contains(std::string(word))) continue;
      const std::optional<std::string> value = assigned(word, before);
      if (!value) continue;
      variables.emplace(word, *value);
      add_variables(*value, before, variables);
    }
  }

  /// What was last assigned to a variable before token `before`.
  std::optional<std::string> assigned(std::string_view name, std::size_t before) const {
    for (std::size_t i = before; i-- > 1;) {
      if (!tokens_[i].is(name) || !is_word(tokens_[i]) || !tokens_[i + 1].is("=")) continue;
      if (tokens_[i - 1].is(".") || tokens_[i - 1].is("->")) continue;
      std::size_t end = i + 2;
      while (end < before && !tokens_[end].is(";") && !tokens_[end].is(",")) {
        if (tokens_[end].is("(") || tokens_[end].is("{")) end = closing(tokens_, end);
        ++end;
      }
      if (end >= before) return std::nullopt;
      return joined(tokens_, i + 2, end);
    }
    return std::nullopt;
  }

  /// From the beginning of the function that holds token `end`.
  void add_asserted(std::size_t end, std::vector<std::string>& asserted) const {
    int depth = 0;
    std::size_t begin = end;
    for (std::size_t i = end; i-- > 0;) {
      if (tokens_[i].is("}")) ++depth;
      if (tokens_[i].is("{") && --depth < 0) {
        begin = i;
        depth = 0;
      }
    }
    for (std::size_t i = begin; i + 1 < end; ++i) {
      if (!tokens_[i].is("assert") || !tokens_[i + 1].is("(")) continue;
      const std::size_t close = closing(tokens_, i + 1);
      if (close < end) asserted.push_back(joined(tokens_, i + 2, close));
    }
  }

  /// Whether the statement that holds token i declares variables of type dim3.
  bool declares_dim3(std::size_t i) const {
    while (i > 0 && !tokens_[i - 1].is(";") && !tokens_[i - 1].is("{") && !tokens_[i - 1].is("}")) {
      --i;
    }
    if (tokens_[i].is("const") && i + 1 < tokens_.size()) ++i;
    return tokens_[i].is("dim3");
  }

  /// `dim3(a, b)`, or what the variable of that name was made of before token `before`.
  std::vector<std::string> dimensions(Range range, std::size_t before, int depth = 0) const {
    constexpr int kMaxDepth = 4;
    if (range.empty()) return {};
    const std::size_t first = range.first;
    if (tokens_[first].is("dim3") && first + 1 < range.end &&
        (tokens_[first + 1].is("(") || tokens_[first + 1].is("{"))) {
      const std::size_t close = std::min(closing(tokens_, first + 1), range.end);
      return texts(tokens_, split(tokens_, first + 2, close));
    }
    if (range.end == first + 1 && is_word(tokens_[first]) && depth < kMaxDepth) {
      for (std::size_t i = before; i-- > 1;) {
        if (!tokens_[i].is(tokens_[first].text) || i + 1 >= tokens_.size()) continue;
        const CppToken& next = tokens_[i + 1];
        const bool declared = tokens_[i - 1].is("dim3") || tokens_[i - 1].is(",");
        if (declared && (next.is("(") || next.is("{")) && declares_dim3(i)) {
          const std::size_t close = closing(tokens_, i + 1);
          if (close >= tokens_.size()) return {};
          return texts(tokens_, split(tokens_, i + 2, close));
        }
        if (!next.is("=") || !is_word(tokens_[i - 1])) continue;
        std::size_t end = i + 2;
        while (end < tokens_.size() && !tokens_[end].is(";") && !tokens_[end].is(",")) {
          if (tokens_[end].is("(") || tokens_[end].is("{")) end = closing(tokens_, end);
          ++end;
        }
        if (end >= tokens_.size()) return {};
        return dimensions({i + 2, end}, i, depth + 1);
      }
    }
    return {joined(tokens_, range.first, range.end)};
  }

  const Tokens& tokens_;
};

// --- Putting it together.

class FileReader {
 public:
  FileReader(std::string_view text, const std::map<std::string, std::string>& headers,
             const std::set<std::string>& guard, const std::set<std::string>& only)
      : text_(text),
        headers_(headers),
        guard_(guard),
        only_(only),
        tokens_(cpp_tokens(text)),
        items_(ItemReader(tokens_).items()),
        spaces_(namespaces(items_)) {}

  KernelFile read() {
    for (const CppToken& token : tokens_) {
      if (is_word(token)) file_.names.emplace(token.text);
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive directive = directive_of(token);
      for (const std::string_view word : identifiers(directive.rest)) file_.names.emplace(word);
    }
    read_kernels();
    keep_device_part();
    read_meanings();
    read_numbers();
    read_missing();
    read_constants();
    file_.launches = LaunchReader(tokens_).launches();
    write_device_text();
    return std::move(file_);
  }

  /// Of a header: what `wanted` needs, and nothing of the host's.
  std::string read_header(const std::set<std::string>& wanted) {
    reached_ = Reach(items_, spaces_).spread(wanted);
    keep_includes();
    write_device_text();
    return std::move(file_.device_text);
  }

  /// Whether there is something that device code cannot have.
  bool holds_host_code() const {
    return std::ranges::any_of(items_, [](const Item& item) {
      const bool includes =
          item.kind == Item::Kind::include && item.what.find('<') != std::string::npos;
      return item.is_host || (includes && !is_device_include(item.what.substr(kInclude.size())));
    });
  }

 private:
  void read_kernels() {
    AccessReader access(tokens_, items_);
    for (const Item& item : items_) {
      if (!item.is_kernel || item.body == kNone || item.declares.empty()) continue;
      KernelFunction kernel = kernel_of(tokens_, item, access);
      std::vector<Item> items = items_;
      items[static_cast<std::size_t>(&item - items_.data())].kept = true;
      kernel.reached = Reach(items, spaces_).spread();
      for (const Item& other : items) {
        const bool is_used = other.kept && other.body != kNone && !other.is_kernel;
        if (is_used) use_dimensions(tokens_, {other.body, other.end}, kernel);
      }
      KernelFunction* const version = other_version(item, kernel.name);
      if (version == nullptr) {
        file_.kernels.push_back(std::move(kernel));
        kernel_items_.push_back(&item);
        continue;
      }
      version->other_lines.push_back(kernel.line);
      version->names.merge(kernel.names);
      version->reached.merge(kernel.reached);
      version->block_dimensions = std::max(version->block_dimensions, kernel.block_dimensions);
      version->grid_dimensions = std::max(version->grid_dimensions, kernel.grid_dimensions);
      version->uses_block_size = version->uses_block_size || kernel.uses_block_size;
    }
  }

  /// The kernel that is compiled where this one, in another branch of #if, is not.
  KernelFunction* other_version(const Item& item, const std::string& name) {
    const auto place = static_cast<std::size_t>(&item - items_.data());
    for (std::size_t i = 0; i < file_.kernels.size(); ++i) {
      if (file_.kernels[i].name != name) continue;
      const auto before = static_cast<std::size_t>(kernel_items_[i] - items_.data());
      for (std::size_t j = before; j < place; ++j) {
        const Item& mark = items_[j];
        const bool separates = mark.kind == Item::Kind::conditional && mark.what.starts_with("#el");
        if (separates && mark.encloses.first < before && place < mark.encloses.end) {
          return &file_.kernels[i];
        }
      }
    }
    return nullptr;
  }

  void keep_device_part() {
    for (Item& item : items_) {
      item.kept = item.is_kernel && (only_.empty() || item.declares.empty() ||
                                     only_.contains(item.name_space + item.declares.front()));
    }
    reached_ = Reach(items_, spaces_).spread();
    keep_includes();
  }

  void keep_includes() {
    for (Item& item : items_) {
      if (item.kind == Item::Kind::pragma) item.kept = !item.what.starts_with("#error");
      if (item.kind != Item::Kind::include) continue;
      const std::string name = item.what.substr(kInclude.size());
      item.kept = (is_device_include(name) && is_of_use(name)) ||
                  (name.starts_with('"') && declares_reached(name));
    }
  }

  /// Headers that take long to read are kept where their namespace is used.
  bool is_of_use(const std::string& name) const {
    const auto is_used = [&](const char* space) { return reached_.contains(space); };
    if (name.starts_with("<cooperative_groups")) return is_used("cooperative_groups");
    if (name.starts_with("<cub/")) return is_used("cub");
    if (name.starts_with("<cuda/")) return is_used("cuda") || is_used("cub");
    return true;
  }

  bool declares_reached(const std::string& quoted) const {
    const auto header = headers_.find(quoted.substr(1, quoted.size() - 2));
    if (header == headers_.end()) return false;
    const std::set<std::string> names = declared_names(header->second);
    return std::ranges::any_of(names, [&](const auto& name) { return reached_.contains(name); });
  }

  void read_meanings() {
    for (const auto& [name, text] : headers_) {
      const Tokens tokens = cpp_tokens(text);
      for (const Item& item : ItemReader(tokens).items()) {
        add_meaning(tokens, item, file_.meanings);
        known_.insert(item.declares.begin(), item.declares.end());
      }
    }
    for (const Item& item : items_) {
      add_meaning(tokens_, item, file_.meanings);
      known_.insert(item.declares.begin(), item.declares.end());
    }
    known_.insert(spaces_.begin(), spaces_.end());
  }

  void read_missing() {
    MissingNames missing(tokens_, known_, file_.meanings);
    for (const Item& item : items_) {
      if (item.kept && item.kind != Item::Kind::include) missing.add(item);
    }
    file_.missing = missing.names();
    file_.compared = missing.compared();
  }

  /// How many different numbers a macro stands for, by the branches of #if.
  std::ptrdiff_t numbers_among(const std::string& name) const {
    const auto found = file_.meanings.find(name);
    if (found == file_.meanings.end()) return 0;
    return std::ranges::count_if(
        found->second, [](const std::string& text) { return whole_number(text).has_value(); });
  }

  void read_numbers() {
    for (const Item& item : items_) {
      if (!item.kept || item.declares.size() != 1) continue;
      std::optional<std::int64_t> value;
      const std::string& name = item.declares.front();
      if (item.kind == Item::Kind::define) {
        const std::string rest = directive_of(tokens_[item.first]).rest;
        if (!item.what.starts_with("#define") || rest.size() <= name.size()) continue;
        if (rest[name.size()] == '(') continue;  // It takes arguments.
        value = whole_number(std::string_view(rest).substr(name.size()));
      } else if (item.kind == Item::Kind::declaration && item.name_space.empty()) {
        value = constant(item);
      }
      if (!value || numbers_among(name) > 1) continue;
      NamedNumber number = {.name = name, .value = *value, .line = tokens_[item.first].line};
      number.is_macro = item.kind == Item::Kind::define;
      number.is_guarded = is_guarded(item);
      const auto known = std::ranges::find(file_.numbers, name, &NamedNumber::name);
      if (known == file_.numbers.end()) file_.numbers.push_back(std::move(number));
    }
  }

  void read_constants() {
    for (const Item& item : items_) {
      if (!item.kept || item.kind != Item::Kind::declaration || item.list != kNone) continue;
      for (SharedArray& array : arrays_of(tokens_, item.first, item.end, "__constant__")) {
        array.name = item.name_space + array.name;
        file_.constants.push_back(std::move(array));
      }
    }
  }

  /// Of `const int NAME = 16;`.
  std::optional<std::int64_t> constant(const Item& item) const {
    bool is_const = false;
    bool is_integer = false;
    std::size_t i = item.first;
    for (; i < item.end && !tokens_[i].is("="); ++i) {
      const std::string_view word = tokens_[i].text;
      is_const = is_const || word == "const" || word == "constexpr";
      is_integer = is_integer || word == "int" || word == "unsigned" || word == "size_t";
    }
    if (!is_const || !is_integer || i + 2 >= item.end) return std::nullopt;
    return whole_number(joined(tokens_, i + 1, item.end - 1));
  }

  bool is_guarded(const Item& item) const {
    const auto at = static_cast<std::size_t>(&item - items_.data());
    return std::ranges::any_of(items_, [&](const Item& open) {
      const auto opens = static_cast<std::size_t>(&open - items_.data());
      return open.kind == Item::Kind::conditional && opens < at && at < open.encloses.end &&
             open.uses.size() == 1 && open.uses.front() == item.declares.front() &&
             open.what.starts_with("#ifndef");
    });
  }

  std::size_t end_of_line(std::size_t at) const {
    const std::size_t end = text_.find('\n', at);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }

  /// Where the text behind an item ends: with its line, unless something else follows there.
  std::size_t text_end(const Item& item) const {
    const std::size_t end = tokens_[item.end - 1].end();
    const std::size_t line_end = end_of_line(end);
    const bool followed = item.end < tokens_.size() && tokens_[item.end].begin < line_end;
    return followed ? tokens_[item.end].begin : line_end;
  }

  /// Where an item's text begins: with the comments above it, up to an empty line.
  std::size_t text_begin(const Item& item, std::size_t from) const {
    const std::size_t begin = tokens_[item.first].begin;
    bool is_empty = true;  // The line so far.
    std::size_t start = std::min(from, begin);
    for (std::size_t i = start; i < begin; ++i) {
      const std::string_view rest = text_.substr(i, begin - i);
      if (rest.starts_with("/*") || rest.starts_with("//")) {
        const std::size_t end = rest.starts_with("/*") ? rest.find("*/", 2) : rest.find('\n');
        if (end == std::string_view::npos) break;
        i += rest.starts_with("/*") ? end + 1 : end - 1;
        is_empty = false;
      } else if (text_[i] == '\n') {
        if (is_empty) start = i + 1;
        is_empty = true;
      } else if (text_[i] != ' ' && text_[i] != '\t' && text_[i] != '\r') {
        is_empty = false;
      }
    }
    return start;
  }

  void write_device_text() {
    std::string& out = file_.device_text;
    std::size_t from = 0;
    if (!items_.empty()) {  // A licence stays.
      out += text_.substr(0, text_begin(items_.front(), 0));
      from = out.size();
    }
    bool pending = false;  // Something was left out since the last line.
    for (const Item& item : items_) {
      if (item.end <= item.first) continue;
      const std::size_t begin = text_begin(item, from);
      const std::size_t end = std::max(begin, text_end(item));
      const bool was_apart = begin > from;
      if (!item.kept) {
        leave_out(item, pending);
        pending = true;
        from = end;
        continue;
      }
      if (pending) {
        if (!out.empty() && !out.ends_with("\n")) out += "\n";
        const LeftOut& left = file_.left_out.back();
        out += "// Left out: " + lines_text(left) + ", " + left.what + "\n";
      }
      if (was_apart && !out.empty() && !out.ends_with("\n\n")) out += "\n";
      pending = false;
      write(item, text_.substr(begin, end - begin));
      from = end;
    }
    if (pending) {
      if (!out.empty() && !out.ends_with("\n")) out += "\n";
      const LeftOut& left = file_.left_out.back();
      out += "// Left out: " + lines_text(left) + ", " + left.what + "\n";
    }
  }

  static std::string lines_text(const LeftOut& left) {
    if (left.first_line == left.last_line) return "line " + std::to_string(left.first_line);
    return "lines " + std::to_string(left.first_line) + "-" + std::to_string(left.last_line);
  }

  void leave_out(const Item& item, bool continues) {
    constexpr std::size_t kMaxBytes = 160;
    const CppToken& last = tokens_[item.end - 1];
    const std::size_t last_line =
        last.line + static_cast<std::size_t>(std::ranges::count(last.text, '\n'));
    std::string what;
    for (const char c : item.what) what += c == '\n' || c == '\r' || c == '\\' ? ' ' : c;
    if (item.kind == Item::Kind::close) what.clear();
    if (!continues) {
      file_.left_out.push_back(
          {.first_line = tokens_[item.first].line, .last_line = last_line, .what = what});
      return;
    }
    LeftOut& left = file_.left_out.back();
    left.last_line = last_line;
    if (what.empty() || left.what.ends_with("...")) return;
    left.what += left.what.size() + what.size() > kMaxBytes ? ", ..." : ", " + what;
  }

  void write(const Item& item, std::string_view text) {
    std::string& out = file_.device_text;
    if (const std::string header = device_part(item); !header.empty()) {
      out += "// " + item.what + ", without what is the host's:\n" + header;
      return;
    }
    const bool guards =
        item.declares.size() == 1 && guard_.contains(item.declares.front()) && !is_guarded(item) &&
        std::ranges::find(file_.numbers, item.declares.front(), &NamedNumber::name) !=
            file_.numbers.end();
    if (guards) out += "#ifndef " + item.declares.front() + "\n";
    out += text;
    if (guards) out += std::string(text.ends_with('\n') ? "" : "\n") + "#endif\n";
  }

  /// Of a header that holds code of the host; empty for any other item.
  std::string device_part(const Item& item) const {
    if (item.kind != Item::Kind::include || !item.what.ends_with('"')) return "";
    const auto header = headers_.find(
        item.what.substr(kInclude.size() + 1, item.what.size() - kInclude.size() - 2));
    if (header == headers_.end()) return "";
    FileReader reader(header->second, headers_, guard_, only_);
    return reader.holds_host_code() ? reader.read_header(reached_) : "";
  }

  static constexpr std::string_view kInclude = "#include ";

  std::string_view text_;
  const std::map<std::string, std::string>& headers_;
  const std::set<std::string>& guard_;
  const std::set<std::string>& only_;
  Tokens tokens_;
  std::vector<Item> items_;
  std::set<std::string> spaces_;
  std::set<std::string> reached_;
  std::set<std::string> known_;            ///< Declared outside of functions, here or in a header.
  std::vector<const Item*> kernel_items_;  ///< Of file_.kernels.
  KernelFile file_;
};

}  // namespace

KernelFile read_kernel_file(std::string_view text,
                            const std::map<std::string, std::string>& headers,
                            const std::set<std::string>& guard, const std::set<std::string>& only) {
  return FileReader(text, headers, guard, only).read();
}

std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  for (const CppToken& token : cpp_tokens(text)) {
    if (token.kind != CppToken::Kind::directive) continue;
    const Directive directive = directive_of(token);
    const std::string name = directive.name == "include" ? included(directive) : "";
    if (name.starts_with('"')) names.push_back(name.substr(1, name.size() - 2));
  }
  return names;
}

}  // namespace smemtune
