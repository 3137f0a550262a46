#include "tuner/cli/progress.h"

#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace smemtune::cli {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPipeInterval = std::chrono::seconds(5);

/// Returns text like `node1, node2, node3 and 5 more`.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

bool waits_for_hosts(const Progress& progress) {
  return progress.waiting_for == "compiler" && !progress.compiling_hosts.empty();
}

/// Returns how sure it is that nothing is much faster: `77 % sure within 1 %`. Only what has no chance
/// to be faster is 100 % sure.
std::string sure_text(const Progress& progress) {
  const double sure_percent = 100 * (1 - *progress.chance_of_better);
  const double shown = *progress.chance_of_better > 0 ? std::min(sure_percent, 99.0) : sure_percent;
  return decimal(shown, 0) + " % sure within " + significant(progress.chance_percent, 2) + " %";
}

/// Prints text with terminal control sequences, unlike write_error().
void draw(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  }
  return text;
}

std::string hosts_text(const Progress& progress) {
  std::string text;
  if (waits_for_hosts(progress)) {
    text = "waiting for compiler on " + names_text(progress.compiling_hosts);
  }
  if (!progress.hosts_away.empty()) {
    text += (text.empty() ? "" : ", ") + ("without " + names_text(progress.hosts_away));
  }
  return text;
}

std::string progress_text(const Progress& progress, DeviceKind device, std::size_t width) {
  std::string text;
  if (progress.problem_count > 1) {
    text += "[" + std::to_string(progress.problem_number) + "/" +
            std::to_string(progress.problem_count) + "] ";
  }
  // The number of valid configurations is unknown until they have been counted.
  const bool is_counted = progress.valid > 0;
  if (progress.phase != "search" || !is_counted) text += progress.phase + ", ";
  if (progress.best) {
    text += "best " + format_time(progress.best->measurement.median_ms) + ", ";
    if (progress.chance_of_better) text += sure_text(progress) + ", ";
  }
  text += progress.remaining_s ? format_duration(*progress.remaining_s) + " left"
                               : format_duration(progress.elapsed_s);
  if (is_counted) {
    text += ", " + std::to_string(progress.done);
    if (progress.valid != UINT64_MAX) text += " of " + std::to_string(progress.valid);
  }
  if (progress.failed > 0) text += ", " + std::to_string(progress.failed) + " failed";
  if (progress.configurations_per_s > 0) {
    text += ", " + decimal(progress.configurations_per_s, 1) + "/s";
  }
  if (!progress.waiting_for.empty() && !waits_for_hosts(progress)) {
    text += ", waiting for " + std::string(progress.waiting_for != "device" ? "compiler"
                                           : device == DeviceKind::gpu      ? "GPU"
                                                                            : "CPU");
  }
  const std::string hosts = hosts_text(progress);
  if (!hosts.empty()) text += ", " + hosts;
  if (progress.best) {
    text += ", " + progress.best->kernel + " " + key(progress.best->configuration);
  }
  text = printable(text);
  if (text.size() > width) {
    text.resize(width > 3 ? width - 3 : width);
    if (width > 3) text += "...";
  }
  return text;
}

ProgressLine::ProgressLine(Verbosity verbosity, bool terminal, bool color, DeviceKind device,
                           std::string label)
    : verbosity_(verbosity),
      terminal_(terminal),
      color_(color),
      device_(device),
      label_(label.empty() ? "" : label + ": ") {}

ProgressLine::~ProgressLine() { clear(); }

Observer ProgressLine::observer() {
  return {.progress = [this](const Progress& progress) { show(progress); },
          .result = [this](const Result& result, bool known) { show_result(result, known); },
          .note = [this](const std::string& note) { show_note(note); }};
}

void ProgressLine::clear() {
  if (!line_is_shown_) return;
  draw("\r\x1b[K");
  line_is_shown_ = false;
}

void ProgressLine::show(const Progress& progress) {
  if (verbosity_ == Verbosity::quiet) return;
  const auto now = std::chrono::steady_clock::now();
  const bool new_phase = progress.phase != last_phase_ || progress.problem_number != last_problem_;
  const auto interval = terminal_ ? std::chrono::steady_clock::duration(kTerminalInterval)
                                  : std::chrono::steady_clock::duration(kPipeInterval);
  if (!new_phase && last_shown_ && now - *last_shown_ < interval) return;
  last_shown_ = now;
  last_phase_ = progress.phase;
  last_problem_ = progress.problem_number;
  if (!terminal_) {
    write_error(label_ + progress_text(progress, device_, 200) + "\n");
    return;
  }
  const std::size_t columns = std::max<std::size_t>(terminal_columns(STDERR_FILENO), 2) - 1;
  const std::size_t width = columns - std::min(columns, label_.size());
  const std::string text = label_ + progress_text(progress, device_, width);
  draw(color_ ? "\r\x1b[K\x1b[2m" + text + "\x1b[0m" : "\r\x1b[K" + text);
  line_is_shown_ = true;
}

void ProgressLine::show_result(const Result& result, bool known) {
  if (verbosity_ != Verbosity::verbose) return;
  clear();
  std::string text = result.kernel + " " + key(result.configuration) + ": ";
  if (result.timed()) {
    text +=
        format_time(result.measurement.median_ms) + " (" + format_spread(result.measurement) + ")";
  } else if (!result.failed()) {
    text += to_text(result.status);
  } else {
    text += to_text(result.status) + " (" + result.reason + "): " + telling_line(result);
  }
  write_error(printable(text) + (known ? "  [known]\n" : "\n"));
}

void ProgressLine::show_note(const std::string& note) {
  if (verbosity_ == Verbosity::quiet) return;
  clear();
  write_error(printable(note) + "\n");
}

namespace {

constexpr double kPunctual_s = 1;
constexpr double kWorthNaming_s = 0.1;

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", value);
  return text;
}

}  // namespace

OverrunTimer::OverrunTimer(Clock::time_point begun, double most_s)
    : begun_(begun), most_s_(most_s) {}

void OverrunTimer::leave_out(Clock::time_point from, Clock::time_point to) { begun_ += to - from; }

void OverrunTimer::phase(std::string what, Clock::time_point now) {
  if (!steps_.empty() && steps_.back().what == what) return;
  steps_.push_back({.what = std::move(what), .from = now});
}

std::string OverrunTimer::text(Clock::time_point now) const {
  const auto between_s = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  const double late_s = between_s(begun_, now) - most_s_;
  if (most_s_ <= 0 || late_s <= kPunctual_s) return "";
  std::vector<std::pair<double, std::string>> shares;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const double from_s = std::max(between_s(begun_, steps_[i].from), most_s_);
    const double to_s = between_s(begun_, i + 1 < steps_.size() ? steps_[i + 1].from : now);
    if (to_s <= from_s) continue;
    const auto known =
        std::ranges::find(shares, steps_[i].what, &std::pair<double, std::string>::second);
    if (known == shares.end()) {
      shares.emplace_back(to_s - from_s, steps_[i].what);
    } else {
      known->first += to_s - from_s;
    }
  }
  std::ranges::sort(shares, std::ranges::greater());
  std::vector<std::string> reasons;
  for (const auto& [share_s, what] : shares) {
    if (share_s >= kWorthNaming_s || reasons.empty()) {
      reasons.push_back(seconds(share_s) + " " + what);
    }
  }
  return "ended " + seconds(late_s) + " after the " + seconds(most_s_) + " of --max-time" +
         (reasons.empty() ? "" : ": " + joined(reasons, ", "));
}

}  // namespace smemtune::cli
