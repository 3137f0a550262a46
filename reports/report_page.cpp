#include "reports/report_page.h"

#include "tuner/core/hash.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>

// Files that are embedded in the program; cmake/EmbedText.cmake writes their definitions.
namespace smemtune::embedded {

extern const std::string_view kPageHtml;  ///< Contains placeholders of the form @NAME@.
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;
extern const std::string_view kChartJs;  ///< Chart.js; empty if it was not available at build time.

}  // namespace smemtune::embedded

namespace smemtune {
namespace {

/// Returns one printable line without any markup of HTML; safe in attributes, too.
std::string for_html(std::string_view text) {
  std::string html;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

/// Encodes a hash, given as hexadecimal digits, in base64 (RFC 4648).
std::string base64_of_hex(const std::string& hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char digit : hex) {
    bits = bits << 4 | static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    held += 4;
    if (held < 6) continue;
    held -= 6;
    text += kDigits[bits >> held & 63];
  }
  if (held > 0) text += kDigits[bits << (6 - held) & 63];
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

/// Returns the name by which a Content-Security-Policy allows an inline script or style.
std::string source_hash(std::string_view text) {
  return "'sha256-" + base64_of_hex(sha256(text)) + "'";
}

std::string policy(std::string_view charts, bool live) {
  return "default-src 'none'; script-src " + source_hash(embedded::kPageJs) +
         (charts.empty() ? "" : " " + source_hash(charts)) + "; style-src " +
         source_hash(embedded::kPageCss) + (live ? "; connect-src 'self'" : "") +
         "; base-uri 'none'; form-action 'none'";
}

/// Returns JSON that cannot end the HTML element around it, whatever its strings contain.
std::string inert_json(const nlohmann::ordered_json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

/// Returns Chart.js's own name for its version: `Chart.js v3.9.1`.
std::string charts_version(std::string_view charts) {
  const std::size_t at = charts.find("Chart.js v");
  if (at == std::string_view::npos) return "Chart.js";
  return std::string(charts.substr(at, charts.find_first_of(" \r\n*", at + 10) - at));
}

}  // namespace

std::string report_page(const nlohmann::ordered_json& data, const std::string& title,
                        std::string_view charts) {
  const std::map<std::string, std::string, std::less<>> parts = {
      {"POLICY", policy(charts, data.contains("live"))},
      {"VERSION", SMEMTUNE_VERSION},
      {"TITLE", for_html(title)},
      {"STYLE", std::string(embedded::kPageCss)},
      {"DATA", inert_json(data)},
      {"SCRIPT", std::string(embedded::kPageJs)},
      {"CHART_SCRIPT", charts.empty() ? "" : "<script>" + std::string(charts) + "</script>"},
      {"CHARTS", charts.empty() ? "It was built without Chart.js: this page has tables only."
                                : "Charts by " + for_html(charts_version(charts)) +
                                      " (MIT License, chartjs.org), which is in this page."},
  };
  std::string page;
  std::string_view rest = embedded::kPageHtml;
  for (;;) {
    const std::size_t begin = rest.find('@');
    if (begin == std::string_view::npos) break;
    const std::size_t end = rest.find('@', begin + 1);
    page += rest.substr(0, begin);
    page += parts.at(std::string(rest.substr(begin + 1, end - begin - 1)));
    rest.remove_prefix(end + 1);
  }
  page += rest;
  return page;
}

std::string_view embedded_charts() { return embedded::kChartJs; }

}  // namespace smemtune
