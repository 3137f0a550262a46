#include "reports/failure_lines.h"

#include <map>
#include <utility>
#include <vector>

namespace smemtune {

std::string telling_line(const Result& result) {
  const std::string& detail = result.detail;
  std::size_t begin = result.status == Status::compile ? detail.find("error") : std::string::npos;
  begin = begin == std::string::npos ? 0 : detail.rfind('\n', begin) + 1;
  const std::string line = detail.substr(begin, detail.find('\n', begin) - begin);
  const bool is_texture = line.find("texture is not a template") != std::string::npos;
  return line +
         (is_texture ? "; CUDA 12 removed texture references: pass a cudaTextureObject_t" : "");
}

std::string failure_lines(const ProblemSummary& problem) {
  std::map<std::pair<std::string, std::string>, std::vector<const Result*>> groups;
  for (const Result& result : problem.results) {
    if (result.failed()) {
      groups[{to_text(result.status), result.reason}].push_back(&result);
    }
  }
  std::string text = groups.empty() ? "" : "  rejected or failed:\n";
  for (const auto& [group, results] : groups) {
    const Result& example = *results.front();
    text += "  " + std::to_string(results.size()) + " " + group.first + "/" + group.second +
            ", for example " + example.kernel + " " + key(example.configuration) + ": " +
            telling_line(example) + "\n";
  }
  return text;
}

}  // namespace smemtune
