#include "tuner/source/launch_sites.h"

#include "tuner/source/host_code.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kMostTokens = 300;  // Of what stands in <<< >>>.

class LaunchReader {
 public:
  LaunchReader(const CppTokens& tokens, const std::vector<SourceItem>& items)
      : tokens_(tokens), host_(tokens, items) {}

  std::vector<LaunchSite> launches() {
    std::vector<LaunchSite> found;
    std::size_t before = kNoToken;  // The launch before, of the same function.
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      if (!three(i, "<")) continue;
      if (std::optional<LaunchSite> site = launch(i)) {
        site->follows = before != kNoToken && host_.function_at(before) == host_.function_at(i) &&
                        goes_straight(before, i);
        before = i;
        found.push_back(std::move(*site));
      }
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

  /// Whether nothing branches, loops or copies between two launches.
  bool goes_straight(std::size_t first, std::size_t end) const {
    static constexpr std::array<std::string_view, 9> kOther = {
        "if", "else", "switch", "case", "for", "while", "do", "cudaMemcpy", "return"};
    for (std::size_t i = first; i < end; ++i) {
      if (tokens_[i].is("{") || tokens_[i].is("}")) return false;
      if (std::ranges::find(kOther, tokens_[i].text) != kOther.end()) return false;
    }
    return true;
  }

  /// Token of the >>> for the <<< at `open`, or kNoToken.
  std::size_t end_of_configuration(std::size_t open) const {
    for (std::size_t i = open + 3; i < std::min(tokens_.size(), open + kMostTokens); ++i) {
      if (three(i, ">")) return i;
      if (tokens_[i].is(";")) return kNoToken;
      if (tokens_[i].is("(") || tokens_[i].is("{")) i = closing(tokens_, i);
    }
    return kNoToken;
  }

  std::optional<LaunchSite> launch(std::size_t open) const {
    LaunchSite site;
    std::size_t name = open - 1;
    if (tokens_[name].is(">")) {
      const std::size_t less = opening_angle(tokens_, name, 1);
      if (less == kNoToken) return std::nullopt;
      site.template_arguments = texts(tokens_, split(tokens_, {less + 1, name}));
      name = less - 1;
    }
    if (!tokens_[name].is_word()) return std::nullopt;
    site.kernel = tokens_[name].text;
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
    std::vector<std::string> used = site.arguments;
    used.insert(used.end(), site.grid.begin(), site.grid.end());
    used.insert(used.end(), site.block.begin(), site.block.end());
    used.push_back(site.shared_bytes);
    site.frames = host_.frames(name, used);
    site.asserted = host_.asserted(name);
    return site;
  }

  const CppTokens& tokens_;
  HostCode host_;
};

}  // namespace

std::vector<LaunchSite> launch_sites(const CppTokens& tokens,
                                     const std::vector<SourceItem>& items) {
  return LaunchReader(tokens, items).launches();
}

}  // namespace smemtune
