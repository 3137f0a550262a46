#include "tuner/source/source_items.h"

#include "tuner/source/directive.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace smemtune {
namespace {

bool begins_type(std::string_view word) {
  return word == "struct" || word == "class" || word == "union" || word == "enum";
}

class ItemReader {
 public:
  explicit ItemReader(const CppTokens& tokens) : tokens_(tokens) {}

  SourceItems read() {
    std::size_t i = 0;
    while (i < tokens_.size()) i = read(i);
    pair();
    return {.items = std::move(items_),
            .spaces = std::move(space_groups_),
            .conditions = std::move(condition_groups_)};
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

  SourceItem& add(SourceItem::Kind kind, std::size_t first, std::size_t end) {
    SourceItem& item = items_.emplace_back();
    item.kind = kind;
    item.first = first;
    item.end = std::min(end, tokens_.size());
    item.name_space = name_space();
    return item;
  }

  /// Reads the item that begins at token i; returns where the next one begins.
  std::size_t read(std::size_t i) {
    const CppToken& token = tokens_[i];
    if (token.kind == CppToken::Kind::directive) return directive(i);
    if (token.is(";")) return i + 1;
    if (token.is("}")) {
      if (!names_.empty()) names_.pop_back();
      add(SourceItem::Kind::close, i, i + 1);
      return i + 1;
    }
    const std::size_t space = token.is("inline") && at(i + 1).is("namespace") ? i + 1 : i;
    if (at(space).is("namespace")) {
      std::size_t brace = space + 1;
      std::string name;
      while (at(brace).is_word() || at(brace).is("::")) name += at(brace++).text;
      if (at(brace).is("{")) {
        names_.push_back(name.empty() || space != i ? "" : name + "::");
        add(SourceItem::Kind::open, i, brace + 1).what = "namespace " + name;
        return brace + 1;
      }
    }
    if (token.is("extern") && at(i + 1).kind == CppToken::Kind::literal && at(i + 2).is("{")) {
      names_.emplace_back();
      add(SourceItem::Kind::open, i, i + 3).what = "extern \"C\"";
      return i + 3;
    }
    return declaration(i);
  }

  std::size_t directive(std::size_t i) {
    const Directive found = directive_of(tokens_[i]);
    const std::vector<std::string_view> words = identifiers(found.rest);
    SourceItem::Kind kind = SourceItem::Kind::pragma;
    if (found.name == "include") kind = SourceItem::Kind::include;
    if (found.name == "define" || found.name == "undef") kind = SourceItem::Kind::define;
    if (found.is_conditional()) kind = SourceItem::Kind::conditional;
    SourceItem& item = add(kind, i, i + 1);
    item.what = "#" + found.name + " " + found.rest;
    if (kind == SourceItem::Kind::include) {
      item.what = "#include " + included(found);
      return i + 1;
    }
    item.uses.assign(words.begin(), words.end());
    if (kind == SourceItem::Kind::define && !words.empty()) {
      item.declares = {item.uses.front()};
      item.what = "#" + found.name + " " + item.uses.front();
      item.uses.erase(item.uses.begin());
      const bool is_for_device = std::ranges::any_of(item.uses, [&](const std::string& word) {
        return word == "__device__" || for_device_.contains(word);
      });
      if (is_for_device) for_device_.insert(item.declares.front());
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
    const bool is_alias = at(head).is("typedef", "using");
    bool is_type = false;
    bool is_value = false;  // True behind a =, where the value follows.
    std::size_t list = kNoToken;
    std::size_t body = kNoToken;
    std::size_t end = tokens_.size();
    for (; i < tokens_.size(); ++i) {
      const CppToken& token = tokens_[i];
      if (token.is(";")) {
        end = i + 1;
        break;
      }
      if (token.is("}")) {  // It ends the enclosing block: the declaration has no end of its own.
        end = std::max(i, first + 1);
        break;
      }
      if (list == kNoToken && !is_value && begins_type(token.text)) is_type = true;
      if (token.is("=")) is_value = true;
      if (token.is("(") && list == kNoToken && !is_value && i > head &&
          name_before(i, head) != kNoToken) {
        list = i;
      }
      if (token.is("(", "[")) i = closing(tokens_, i);
      if (token.is("{")) {
        const std::size_t close = closing(tokens_, i);
        if (list != kNoToken && !is_value && !is_alias) {
          body = i;
          end = std::min(close, tokens_.size() - 1) + 1;
          if (at(end).is(";")) ++end;
          break;
        }
        i = close;
      }
    }
    SourceItem& item = add(SourceItem::Kind::declaration, first, end);
    describe(item, head, list, body, is_type && list == kNoToken, is_alias);
    return std::max(item.end, first + 1);
  }

  /// Returns the token that names a function whose list opens at `list`: in `f(`, in `f<int>(` of a
  /// specialization; for an operator, the word `operator`. kNoToken if the list belongs to no
  /// function.
  std::size_t name_before(std::size_t list, std::size_t head) const {
    constexpr std::size_t kLongest = 3;  // An operator such as `>>=`, where each > is a token.
    std::size_t name = list - 1;
    for (std::size_t i = name; i > head && name - i <= kLongest && !tokens_[i].is_word();) {
      if (tokens_[--i].is("operator")) return i;
    }
    if (tokens_[name].is(">")) {
      const std::size_t open = opening_angle(tokens_, name, head);
      if (open == kNoToken || open <= head) return kNoToken;
      name = open - 1;
    }
    return tokens_[name].is_word() && !is_attribute(tokens_[name].text) ? name : kNoToken;
  }

  void describe(SourceItem& item, std::size_t head, std::size_t list, std::size_t body,
                bool is_type, bool is_alias) {
    // Words behind the parameters may be the next function's, where text that is not code stands
    // between the two.
    const auto has = [&](std::string_view word) {
      for (std::size_t i = item.first; i < list; ++i) {
        if (tokens_[i].is(word)) return true;
        if (word == "__device__" && for_device_.contains(tokens_[i].text)) return true;
      }
      return false;
    };
    const bool is_function = list != kNoToken && !is_alias && !is_type;
    if (is_function) {
      item.list = list;
      item.body = body;
      item.name = name_before(list, head);
      item.is_operator = tokens_[item.name].is("operator");
      if (!item.is_operator) item.declares = {std::string(tokens_[item.name].text)};
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
      if (token.is_word()) item.uses.emplace_back(token.text);
      if (token.kind != CppToken::Kind::directive) continue;
      const Directive inner = directive_of(token);
      for (const std::string_view word : identifiers(inner.rest)) item.uses.emplace_back(word);
    }
    item.what = item.declares.empty()
                    ? joined(tokens_, {item.first, std::min(item.end, item.first + 4)})
                    : item.declares.front();
    if (at(head).is("using") && at(head + 1).is("namespace")) {
      item.declares.clear();
      item.what = joined(tokens_, {head, item.end});
    }
  }

  /// Adds the names that struct, class, union, enum, typedef and using declare.
  void add_types(SourceItem& item, std::size_t head) {
    const bool is_enum = at(head).is("enum") || (at(head).is("typedef") && at(head + 1).is("enum"));
    for (std::size_t i = head; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      if (token.is("{")) {
        const std::size_t close = std::min(closing(tokens_, i), item.end);
        for (std::size_t j = i + 1; is_enum && j < close; ++j) {
          const bool begins = tokens_[j - 1].is("{", ",");
          if (begins && tokens_[j].is_word()) item.declares.emplace_back(tokens_[j].text);
        }
        i = close;
        continue;
      }
      const CppToken& next = at(i + 1);
      const bool specializes = next.is("<") && i > head && !tokens_[i - 1].is("typedef") &&
                               begins_type(tokens_[i - 1].text);
      const bool ends = next.is("{", ";", ":", "=", ",", "[", ")") || specializes;
      if (token.is_word() && ends) item.declares.emplace_back(token.text);
      if (token.is("=")) break;
    }
  }

  void add_variables(SourceItem& item, std::size_t head) {
    for (std::size_t i = head; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      const CppToken& next = at(i + 1);
      const bool ends = next.is("=", ";", "[", ",", "{");
      if (token.is_word() && ends) item.declares.emplace_back(token.text);
      if (next.is("=")) {  // The value may hold anything up to the next comma.
        while (i + 1 < item.end && !at(i + 1).is(",") && !at(i + 1).is(";")) {
          ++i;
          if (at(i).is("{", "(")) i = std::min(closing(tokens_, i), item.end);
        }
      } else if (token.is("[", "{")) {
        i = std::min(closing(tokens_, i), item.end);
      }
    }
  }

  /// Finds the namespaces and conditionals, and the innermost ones that each item lies in.
  void pair() {
    std::vector<std::size_t> spaces;
    std::vector<std::vector<std::size_t>> conditionals;  // #if, #else, ...
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const SourceItem& item = items_[i];
      if (item.kind == SourceItem::Kind::open) spaces.push_back(i);
      if (item.kind == SourceItem::Kind::close && !spaces.empty()) {
        space_groups_.push_back({.marks = {spaces.back(), i}, .end = i + 1});
        spaces.pop_back();
      }
      if (item.kind != SourceItem::Kind::conditional) continue;
      if (item.what.starts_with("#if")) {
        conditionals.push_back({i});
      } else if (!conditionals.empty()) {
        conditionals.back().push_back(i);
        if (!item.what.starts_with("#endif")) continue;
        condition_groups_.push_back({.marks = std::move(conditionals.back()), .end = i + 1});
        conditionals.pop_back();
      }
    }
    // The #endif lies in the declaration that follows.
    for (std::vector<std::size_t>& open : conditionals) {
      const std::size_t end = open.back() + 2;
      condition_groups_.push_back({.marks = std::move(open), .end = end});
    }
    place(space_groups_, &SourceItem::name_space_group);
    place(condition_groups_, &SourceItem::condition_group);
  }

  /// Stores in each item the innermost of these groups that it lies in; a group's first mark lies
  /// outside of it.
  void place(std::vector<SourceGroup>& groups, std::size_t SourceItem::*innermost) {
    std::ranges::sort(groups, {}, [](const SourceGroup& group) { return group.marks.front(); });
    std::vector<std::size_t> open;
    std::size_t next = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      while (!open.empty() && groups[open.back()].end <= i) open.pop_back();
      items_[i].*innermost = open.empty() ? kNoToken : open.back();
      if (next < groups.size() && groups[next].marks.front() == i) open.push_back(next++);
    }
  }

  const CppTokens& tokens_;
  std::vector<SourceItem> items_;
  std::vector<SourceGroup> space_groups_;
  std::vector<SourceGroup> condition_groups_;
  std::vector<std::string> names_;  ///< Names of the open namespaces.
  /// Macros that mark a function for the device: `#define DEVICE __device__`.
  std::set<std::string, std::less<>> for_device_;
};

}  // namespace

std::vector<SourceBranch> SourceItems::branches_of(const SourceItem& item) const {
  std::vector<SourceBranch> branches;
  for (std::size_t group = item.condition_group; group != kNoToken;) {
    const std::vector<std::size_t>& marks = conditions[group].marks;
    std::size_t number = 0;
    while (number + 1 < marks.size() && items[marks[number + 1]].first < item.first) ++number;
    branches.push_back({.marks = &marks, .number = number});
    group = items[marks.front()].condition_group;
  }
  return branches;
}

SourceItems read_items(const CppTokens& tokens) { return ItemReader(tokens).read(); }

bool is_attribute(std::string_view word) {
  return is_one_of(word,
                   {"__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__",
                    "__attribute__", "__align__", "__declspec", "alignas", "decltype", "noexcept"});
}

}  // namespace smemtune
