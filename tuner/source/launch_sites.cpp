#include "tuner/source/launch_sites.h"

#include "tuner/source/host_code.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kLongestShape = 300;  // Length of the text in <<< >>>, in tokens.
constexpr std::size_t kMostLoops = 1000;

class LaunchReader {
 public:
  LaunchReader(const CppTokens& tokens, const std::vector<SourceItem>& items)
      : tokens_(tokens), host_(tokens, items) {
    for (std::size_t i = 0; i + 1 < tokens_.size() && loops_.size() < kMostLoops; ++i) {
      if (tokens_[i].is("for") && tokens_[i + 1].is("(")) read_loop(i);
    }
  }

  std::vector<LaunchSite> launches() {
    std::vector<LaunchSite> found;
    std::size_t before = kNoToken;  // The previous launch of the same function.
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      const bool is_call = is_launch_call(i);
      if (!is_call && !three(i, "<")) continue;
      const SourceItem* const function = host_.function_at(i);
      if (function != nullptr && function->is_kernel) continue;  // It is launched by a kernel.
      if (std::optional<LaunchSite> site = is_call ? called_launch(i) : launch(i)) {
        site->follows = before != kNoToken && host_.function_at(before) == host_.function_at(i) &&
                        goes_straight(before, i);
        before = i;
        found.push_back(std::move(*site));
      }
      if (!is_call) i += 2;
    }
    return found;
  }

 private:
  struct Loop {
    HostLoop header;
    TokenRange body;
  };

  /// Reads the `for` at token i if its header counts.
  void read_loop(std::size_t i) {
    const std::size_t close = closing(tokens_, i + 1);
    if (close + 1 >= tokens_.size()) return;
    std::vector<TokenRange> parts = {{i + 2, i + 2}};
    for (std::size_t j = i + 2; j < close; ++j) {
      if (tokens_[j].is(";")) {
        parts.back().end = j;
        parts.push_back({j + 1, j + 1});
      } else if (tokens_[j].is("(") || tokens_[j].is("[")) {
        j = closing(tokens_, j);
      }
    }
    parts.back().end = close;
    if (parts.size() != 3) return;
    HostLoop loop;
    loop.place = i;
    if (!read_beginning(parts[0], loop) || !read_end(parts[1], loop) ||
        !read_step(parts[2], loop)) {
      return;
    }
    const TokenRange body = {close + 1, end_of_statement(close + 1)};
    loop.swaps = swaps_in(body);
    loops_.push_back({.header = loop, .body = body});
  }

  /// Finds `swap(a, b)`, and `T c = a; a = b; b = c;`.
  std::vector<std::pair<std::string, std::string>> swaps_in(TokenRange body) const {
    std::vector<std::pair<std::string, std::string>> swaps;
    const std::size_t end = std::min(body.end, tokens_.size());
    for (std::size_t i = body.first; i + 1 < end; ++i) {
      if (tokens_[i].is("swap") && tokens_[i + 1].is("(")) {
        const std::size_t close = std::min(closing(tokens_, i + 1), end);
        const std::vector<std::string> both = texts(tokens_, split(tokens_, {i + 2, close}));
        if (both.size() == 2) swaps.emplace_back(both[0], both[1]);
        continue;
      }
      if (!tokens_[i].is("=")) continue;
      const std::vector<Assigned> three = assignments_from(i, 3, end);
      const bool is_swap = three.size() == 3 && three[0].value == three[1].name &&
                           three[1].value == three[2].name && three[2].value == three[0].name;
      if (is_swap) swaps.emplace_back(three[1].name, three[2].name);
    }
    return swaps;
  }

  struct Assigned {
    std::string name;
    std::string value;
  };

  /// Reads up to `count` statements `name = value;` in a row, the first with its = at token i; it
  /// may declare its variable.
  std::vector<Assigned> assignments_from(std::size_t i, std::size_t count, std::size_t end) const {
    std::vector<Assigned> found;
    std::size_t first = i - 1;
    while (found.size() < count && i < end && tokens_[i].is("=") && first < i) {
      const std::size_t stop = end_of_statement(i);
      if (stop >= end) break;
      found.push_back({joined(tokens_, {first, i}), joined(tokens_, {i + 1, stop})});
      first = i = stop + 1;
      while (i < end && !tokens_[i].is("=") && !tokens_[i].is(";")) ++i;
    }
    return found;
  }

  bool read_beginning(TokenRange range, HostLoop& loop) const {
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (tokens_[i].is(",")) return false;
      if (!tokens_[i].is("=") || i == range.first || !tokens_[i - 1].is_word()) continue;
      loop.counter = tokens_[i - 1].text;
      loop.first = joined(tokens_, {i + 1, range.end});
      return !loop.first.empty();
    }
    return false;
  }

  bool read_end(TokenRange range, HostLoop& loop) const {
    static constexpr std::array<std::string_view, 5> kCompares = {"<", "<=", ">", ">=", "!="};
    if (range.end < range.first + 3 || !tokens_[range.first].is(loop.counter)) return false;
    loop.compares = tokens_[range.first + 1].text;
    loop.bound = joined(tokens_, {range.first + 2, range.end});
    return std::ranges::find(kCompares, loop.compares) != kCompares.end();
  }

  bool read_step(TokenRange range, HostLoop& loop) const {
    if (range.end < range.first + 2) return false;
    const bool is_before = !tokens_[range.first].is_word();
    const std::size_t name = range.first + (is_before ? 1 : 0);
    const CppToken& change = tokens_[range.first + (is_before ? 0 : 1)];
    if (!tokens_[name].is(loop.counter)) return false;
    loop.falls = change.is("--") || change.is("-=");
    if (change.is("++") || change.is("--")) {
      loop.step = "1";
      return range.end == range.first + 2;
    }
    loop.step = joined(tokens_, {range.first + 2, range.end});
    return (change.is("+=") || change.is("-=")) && !loop.step.empty();
  }

  std::size_t end_of_statement(std::size_t first) const {
    for (std::size_t i = first; i < tokens_.size(); ++i) {
      if (tokens_[i].is(";")) return i;
      if (tokens_[i].is("{")) return std::min(closing(tokens_, i), tokens_.size());
      if (tokens_[i].is("(")) i = closing(tokens_, i);
    }
    return tokens_.size();
  }

  std::vector<HostLoop> loops_around(std::size_t token) const {
    const SourceItem* const function = host_.function_at(token);
    std::vector<HostLoop> around;
    for (const Loop& loop : loops_) {
      const bool holds = loop.body.first <= token && token < loop.body.end;
      if (holds && function != nullptr && loop.header.place > function->first) {
        around.push_back(loop.header);
      }
    }
    return around;
  }

  /// Returns true if <<< or >>> begins at token i.
  bool three(std::size_t i, std::string_view symbol) const {
    for (std::size_t j = i; j < i + 3; ++j) {
      if (j >= tokens_.size() || !tokens_[j].is(symbol)) return false;
      if (j > i && tokens_[j].begin != tokens_[j - 1].end()) return false;
    }
    return true;
  }

  /// Returns true if nothing branches or copies between two launches; loops that count are no
  /// branches.
  bool goes_straight(std::size_t first, std::size_t end) const {
    static constexpr std::array<std::string_view, 9> kOther = {
        "if", "else", "switch", "case", "default", "while", "do", "cudaMemcpy", "return"};
    for (std::size_t i = first; i < end; ++i) {
      if (std::ranges::find(kOther, tokens_[i].text) != kOther.end()) return false;
    }
    return true;
  }

  /// Returns the token of the >>> for the <<< at `open`, or kNoToken.
  std::size_t end_of_configuration(std::size_t open) const {
    for (std::size_t i = open + 3; i < std::min(tokens_.size(), open + kLongestShape); ++i) {
      if (three(i, ">")) return i;
      if (tokens_[i].is(";")) return kNoToken;
      if (tokens_[i].is("(") || tokens_[i].is("{")) i = closing(tokens_, i);
    }
    return kNoToken;
  }

  /// Reads `name` or `name<arguments>`, which ends with the token `last`. Returns the token of the
  /// name, or kNoToken.
  std::size_t read_name(std::size_t last, std::size_t first, LaunchSite& site) const {
    std::size_t name = last;
    if (tokens_[last].is(">")) {
      const std::size_t less = opening_angle(tokens_, last, first);
      if (less == kNoToken || less == first) return kNoToken;
      site.template_arguments = texts(tokens_, split(tokens_, {less + 1, last}));
      name = less - 1;
    }
    if (!tokens_[name].is_word()) return kNoToken;
    site.kernel = tokens_[name].text;
    return name;
  }

  std::optional<LaunchSite> launch(std::size_t open) const {
    LaunchSite site;
    const std::size_t name = read_name(open - 1, 0, site);
    if (name == kNoToken) return std::nullopt;
    site.line = tokens_[name].line;
    const std::size_t close = end_of_configuration(open);
    if (close == kNoToken) return std::nullopt;
    const std::vector<TokenRange> parts = split(tokens_, {open + 3, close});
    if (parts.size() < 2) return std::nullopt;
    const bool is_variable =
        parts[1].end == parts[1].first + 1 && tokens_[parts[1].first].is_word();
    if (is_variable) site.block_name = tokens_[parts[1].first].text;
    site.grid = host_.dimensions(parts[0], name);
    site.block = host_.dimensions(parts[1], name);
    if (parts.size() > 2) site.shared_bytes = joined(tokens_, parts[2]);
    const std::size_t list = close + 3;
    if (list < tokens_.size() && tokens_[list].is("(")) {
      const std::size_t end = closing(tokens_, list);
      if (end < tokens_.size()) site.arguments = texts(tokens_, split(tokens_, {list + 1, end}));
    }
    add_surroundings(site, name);
    return site;
  }

  bool is_launch_call(std::size_t i) const {
    const bool is_named = tokens_[i].is("cudaLaunchKernel") ||
                          tokens_[i].is("cudaLaunchCooperativeKernel") ||
                          tokens_[i].is("cudaLaunchKernelEx");
    return is_named && i + 1 < tokens_.size() && tokens_[i + 1].is("(");
  }

  /// Reads `cudaLaunchKernel((void*)name, grid, block, arguments, shared, stream)`.
  std::optional<LaunchSite> called_launch(std::size_t call) const {
    const std::size_t close = closing(tokens_, call + 1);
    if (close >= tokens_.size()) return std::nullopt;
    const std::vector<TokenRange> parts = split(tokens_, {call + 2, close});
    if (tokens_[call].is("cudaLaunchKernelEx")) return configured_launch(call, parts);
    if (parts.size() < 4 || parts[0].empty() || parts[3].empty()) return std::nullopt;
    LaunchSite site;
    const CppToken& kernel = tokens_[parts[0].end - 1];
    if (!kernel.is_word()) return std::nullopt;
    site.kernel = kernel.text;
    site.line = tokens_[call].line;
    site.cooperative = tokens_[call].is("cudaLaunchCooperativeKernel");
    const bool is_variable =
        parts[2].end == parts[2].first + 1 && tokens_[parts[2].first].is_word();
    if (is_variable) site.block_name = tokens_[parts[2].first].text;
    site.grid = host_.dimensions(parts[1], call);
    site.block = host_.dimensions(parts[2], call);
    for (const std::string& text : host_.listed_in(tokens_[parts[3].end - 1].text, call)) {
      // `(void*)&n`
      const std::size_t address = text.rfind('&');
      if (address != std::string::npos) site.arguments.push_back(text.substr(address + 1));
    }
    if (parts.size() > 4) site.shared_bytes = joined(tokens_, parts[4]);
    add_surroundings(site, call);
    return site;
  }

  /// Reads `cudaLaunchKernelEx(&configuration, name, arguments...)`.
  std::optional<LaunchSite> configured_launch(std::size_t call,
                                              const std::vector<TokenRange>& parts) const {
    if (parts.size() < 2 || parts[0].empty() || parts[1].empty()) return std::nullopt;
    LaunchSite site;
    if (read_name(parts[1].end - 1, parts[1].first, site) == kNoToken) return std::nullopt;
    site.line = tokens_[call].line;
    const std::string_view configuration = tokens_[parts[0].end - 1].text;
    const auto assigned = [&](std::string_view member) {
      return host_.assigned_to_member(configuration, member, call);
    };
    site.grid = host_.dimensions(assigned("gridDim"), call);
    site.block = host_.dimensions(assigned("blockDim"), call);
    site.shared_bytes = joined(tokens_, assigned("dynamicSmemBytes"));
    site.arguments = texts(tokens_, {parts.begin() + 2, parts.end()});
    add_surroundings(site, call);
    return site;
  }

  /// Adds what the host does on the way to the launch at a token.
  void add_surroundings(LaunchSite& site, std::size_t name) const {
    site.loops = loops_around(name);
    std::vector<std::string> used = site.arguments;
    for (const HostLoop& loop : site.loops) {
      used.insert(used.end(), {loop.first, loop.bound, loop.step});
    }
    used.insert(used.end(), site.grid.begin(), site.grid.end());
    used.insert(used.end(), site.block.begin(), site.block.end());
    used.push_back(site.shared_bytes);
    used.insert(used.end(), site.template_arguments.begin(), site.template_arguments.end());
    site.frames = host_.frames(name, used);
    site.asserted = host_.asserted(name);
  }

  const CppTokens& tokens_;
  HostCode host_;
  std::vector<Loop> loops_;
};

}  // namespace

std::vector<LaunchSite> launch_sites(const CppTokens& tokens,
                                     const std::vector<SourceItem>& items) {
  return LaunchReader(tokens, items).launches();
}

}  // namespace smemtune
