#include "tuner/init/host_launches.h"

#include "tuner/init/copies.h"
#include "tuner/init/host_terms.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace smemtune {
namespace {

/// Returns true if <<< or >>> begins at token i; editors write `<< <` as well.
bool three(const CppTokens& tokens, std::size_t i, std::string_view symbol) {
  for (std::size_t j = i; j < i + 3; ++j) {
    if (j >= tokens.size() || !tokens[j].is(symbol)) return false;
    if (j > i && tokens[j].begin > tokens[j - 1].end() + 1) return false;
  }
  return true;
}

/// Reads launches at a place.
struct LaunchReader {
  const CppTokens& tokens;
  const HostState& state;
  const std::map<std::string, std::string>& turns;

  /// Reads the launch whose <<< is at token `open`.
  std::optional<LaunchSite> launch(std::size_t open, TokenRange range) const {
    const std::optional<CallText> name = name_before(tokens, open, range.first);
    std::size_t close = open + 3;
    while (close < range.end && !three(tokens, close, ">")) {
      const bool opens = tokens[close].is("(", "{");
      close = (opens ? closing(tokens, close) : close) + 1;
    }
    if (!name || close >= range.end) return std::nullopt;
    const std::vector<std::string> parts = texts(tokens, split(tokens, {open + 3, close}));
    if (parts.size() < 2) return std::nullopt;
    LaunchSite site = shaped(*name, parts[0], parts[1]);
    if (parts.size() > 2) site.shared_bytes = parts[2];
    const std::size_t list = close + 3;
    const bool is_list = list < range.end && tokens[list].is("(");
    if (is_list && closing(tokens, list) < tokens.size()) site.arguments = parts_in(tokens, list);
    return site;
  }

  /// Reads `cudaLaunchKernel((void*)name, grid, block, arguments, shared, stream)`, and
  /// `cudaLaunchKernelEx(&configuration, name, arguments...)`.
  std::optional<LaunchSite> called_launch(std::size_t call, TokenRange range) const {
    const std::size_t close = closing(tokens, call + 1);
    if (close >= range.end) return std::nullopt;
    const std::vector<TokenRange> parts = split(tokens, {call + 2, close});
    const bool is_configured = tokens[call].text.starts_with("cudaLaunchKernelEx");
    if (parts.size() < (is_configured ? 2U : 4U)) return std::nullopt;
    const TokenRange named = parts[is_configured ? 1 : 0];
    const std::optional<CallText> name = name_before(tokens, named.end, named.first);
    if (!name) return std::nullopt;
    if (is_configured) return configured_launch(*name, parts);
    LaunchSite site = shaped(*name, joined(tokens, parts[1]), joined(tokens, parts[2]));
    for (const std::string& text : state.list(std::string(tokens[parts[3].end - 1].text))) {
      const std::size_t address = text.rfind('&');  // `(void*)&n`
      if (address != std::string::npos) site.arguments.push_back(text.substr(address + 1));
    }
    if (parts.size() > 4) site.shared_bytes = joined(tokens, parts[4]);
    site.cooperative = tokens[call].is("cudaLaunchCooperativeKernel");
    return site;
  }

  LaunchSite configured_launch(const CallText& name, const std::vector<TokenRange>& parts) const {
    const std::string configuration(tokens[parts[0].end - 1].text);
    const auto member = [&](const char* of) {
      return state.value(configuration + "." + of).value_or("");
    };
    LaunchSite site = shaped(name, member("gridDim"), member("blockDim"));
    site.shared_bytes = member("dynamicSmemBytes");
    site.arguments = texts(tokens, {parts.begin() + 2, parts.end()});
    return site;
  }

  LaunchSite shaped(const CallText& name, std::string grid, std::string block) const {
    LaunchSite site;
    site.kernel = name.name;
    site.template_arguments = name.template_arguments;
    const Terms terms(turns.begin(), turns.end());
    for (std::string* const text : {&grid, &block}) *text = substituted(*text, terms);
    const CppTokens words = cpp_tokens(block);
    if (words.size() == 1 && words[0].is_word()) site.block_name = block;
    site.grid = state.extents(grid);
    const std::optional<std::string> value = state.value(grid);
    const bool is_number = value && site.grid == std::vector{*value} && identifiers(*value).empty();
    if (is_number) site.grid.front() = grid;  // Its name may be that of a size.
    site.block = state.extents(block);
    return site;
  }
};

/// Adds the functions on the way to a launch in `function`, each with the allocations for what the
/// launch's arguments are made of.
void add_frames(LaunchSite& site, const DeclaredFunction* function, const HostState* state,
                const HostMemory& memory, const Sizes& common, const Callers& callers) {
  constexpr std::size_t kMost = 4;
  std::size_t line = site.line;
  std::map<std::string, std::string> passed;
  std::vector<std::string> used = site.arguments;
  for (;;) {
    HostFrame frame = memory.frame(*function, *state, common);
    for (std::string& text : used) {  // `buffer.a`
      const std::string object = text.substr(0, text.find('.'));
      if (frame.allocated.contains(object)) text = object;
    }
    const std::set<std::string> names = names_behind(
        used, [&](const std::string& name) { return value_among(frame.variables, name); });
    std::erase_if(frame.allocated, [&](const auto& entry) { return !names.contains(entry.first); });
    frame.line = line;
    frame.parameters = std::move(passed);
    site.frames.push_back(std::move(frame));
    const auto caller = callers.find(function);
    if (site.frames.size() == kMost || caller == callers.end()) return;
    const FunctionCall& call = caller->second;
    passed = call.passed;
    used.clear();
    for (const auto& [name, text] : passed) {
      if (names.contains(name)) used.push_back(text);
    }
    for (const auto& [former, variable] : site.frames.back().former) {
      const auto same = passed.find(variable);
      if (same != passed.end()) passed.emplace(former, same->second);
    }
    std::erase_if(passed, [&](const auto& entry) {
      return site.frames.back().changed.contains(entry.first);
    });
    function = call.caller;
    state = &call.state;
    line = call.line;
  }
}

}  // namespace

HostLaunches::HostLaunches(const CppTokens& tokens) : tokens_(tokens) {
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (!tokens_[i].is("assert") || !tokens_[i + 1].is("(")) continue;
    asserts_.push_back({i + 2, closing(tokens_, i + 1)});
  }
}

void HostLaunches::clear() {
  launches_.clear();
  seen_.clear();
}

HostLaunches::Outside HostLaunches::enter_branches(std::size_t line, const std::string& condition,
                                                   const HostState& state) {
  const Outside outside = {launches_.size(), conditions_.size(), is_chosen_, follows_};
  std::set<std::string> counters;
  for (const CountingLoop& loop : loops_) {
    if (!loop.counter.empty()) counters.insert(loop.counter);
  }
  if (state.uses(condition, counters)) conditions_.emplace_back(line, condition);
  is_chosen_ = true;
  follows_ = false;
  return outside;
}

void HostLaunches::leave_branches(const Outside& outside) {
  conditions_.resize(outside.conditions);
  is_chosen_ = outside.is_chosen;
  follows_ = outside.follows && launches_.size() == outside.launches;
}

void HostLaunches::add_each(const std::vector<std::string>& kernels, LaunchSite site,
                            std::size_t token, const DeclaredFunction& function,
                            const HostState& state) {
  const std::vector<CountingLoop> loops = std::exchange(loops_, {});
  const bool was_chosen = std::exchange(is_chosen_, true);
  for (const std::string& kernel : kernels) {
    follows_ = false;
    seen_.erase(token);
    site.kernel = pointer_in(kernel);
    add(site, token, function, state);
  }
  loops_ = loops;
  is_chosen_ = was_chosen;
  follows_ = false;
}

void HostLaunches::record(TokenRange range, const DeclaredFunction* function,
                          const HostState& state) {
  if (function == nullptr) return;
  const LaunchReader reader = {tokens_, state, turns_};
  for (std::size_t i = range.first; i < range.end; ++i) {
    const bool is_launch = three(tokens_, i, "<");
    const bool is_call =
        tokens_[i].text.starts_with("cudaLaunch") && i + 1 < range.end && tokens_[i + 1].is("(");
    if ((!is_launch && !is_call) || seen_.contains(i)) continue;
    std::optional<LaunchSite> site =
        is_launch ? reader.launch(i, range) : reader.called_launch(i, range);
    const std::vector<std::string> listed =
        site ? state.list(site->kernel) : std::vector<std::string>();
    if (!listed.empty()) {
      add_each(listed, *site, i, *function, state);
    } else if (site) {
      add(std::move(*site), i, *function, state);
    }
  }
}

void HostLaunches::record_transfer(const CallText& call, std::size_t token,
                                   const DeclaredFunction* function, const HostState& state) {
  if (!call.name.starts_with("cudaMem") || function == nullptr) return;
  std::optional<LaunchSite> site = as_launch(call.name, call.arguments);
  const bool waits = !site && call.name == "cudaMemcpy" && call.arguments.size() > 1;
  if (waits && is_in_loop()) {
    site.emplace();
    site->kernel = call.name;
    site->arguments = {pointer_in(call.arguments[0]), pointer_in(call.arguments[1])};
  }
  if (waits) follows_ = false;
  if (site) add(std::move(*site), token, *function, state);
  if (waits) follows_ = false;
}

bool HostLaunches::counts_turns(const std::string& name) const {
  return std::ranges::find(loops_, name, &CountingLoop::counter) != loops_.end();
}

std::vector<LaunchSite> HostLaunches::sites(const HostMemory& memory, const Sizes& common,
                                            const Callers& callers) const {
  std::vector<LaunchSite> sites;
  for (const auto& [site, function, state] : launches_) {
    sites.push_back(site);
    add_frames(sites.back(), function, &state, memory, common, callers);
  }
  return sites;
}

void HostLaunches::add(LaunchSite site, std::size_t token, const DeclaredFunction& function,
                       const HostState& state) {
  if (!seen_.insert(token).second) return;
  site.line = tokens_[token].line;
  add_surroundings(site, token, function, state);
  follows_ = true;
  launches_.push_back({.site = std::move(site), .function = &function, .state = state});
}

void HostLaunches::add_surroundings(LaunchSite& site, std::size_t token,
                                    const DeclaredFunction& function,
                                    const HostState& state) const {
  for (const std::string& argument : site.arguments) {
    const auto type = function.types.find(argument);
    site.types.push_back(type == function.types.end() ? "" : type->second);
  }
  site.is_chosen = is_chosen_;
  site.conditions = conditions_;
  std::erase_if(site.conditions,
                [&](const auto& condition) { return turns_.contains(condition.second); });
  site.follows = follows_;
  const std::vector<std::string> used = site.texts();
  for (const CountingLoop& loop : loops_) {
    if (turns_.contains(loop.counter)) continue;  // It is done in one turn only.
    const bool is_used = std::ranges::any_of(
        used, [&](const std::string& text) { return state.uses(text, loop.changes); });
    // A `for` that is not understood mostly measures; a `while` waits for something.
    const bool is_known = !loop.counter.empty();
    if (is_known || is_used || !loop.header.starts_with("for")) site.loops.push_back(loop);
  }
  const TokenRange body = function.body.range;
  for (const TokenRange& condition : asserts_) {
    if (condition.first > body.first && condition.first < token) {
      site.asserted.push_back(joined(tokens_, condition));
    }
  }
  constexpr std::ptrdiff_t kMost = 20;
  const auto many = std::ssize(site.asserted) - kMost;
  if (many > 0) site.asserted.erase(site.asserted.begin(), site.asserted.begin() + many);
}

}  // namespace smemtune
