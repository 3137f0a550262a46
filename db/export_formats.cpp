#include "db/export_formats.h"

#include <algorithm>

namespace smemtune::db {

const std::vector<ExportFormat>& export_formats() {
  using enum ExportFormat::Takes;
  static const std::vector<ExportFormat> kFormats = {
      {"json", "", bests, true,
       [](const ExportInput& of, const TextSink& out) {
         export_json(of.results, of.defaults, of.candidates, of.portfolios, out);
       }},
      {"times", "JSON with tables of times only, for sizes that were not measured", bests, true,
       [](const ExportInput& of, const TextSink& out) {
         out(export_times(of.results, of.defaults, of.candidates));
       }},
      {"csv", "", bests, false,
       [](const ExportInput& of, const TextSink& out) { out(export_csv(of.results)); }},
      {"header", "a C++17 header with tables and select()", bests, true,
       [](const ExportInput& of, const TextSink& out) {
         out(export_header(of.results, of.defaults, of.notes, of.candidates));
       }},
      {"defines", "the #defines of one configuration", one_configuration, false,
       [](const ExportInput& of, const TextSink& out) { out(export_defines(of.results.front())); }},
      {"vllm", "JSON by one size, as vLLM reads it", bests, false,
       [](const ExportInput& of, const TextSink& out) { out(export_vllm(of.results)); }},
      {"cub", "a C++ header with a policy hub for CUB", bests, false,
       [](const ExportInput& of, const TextSink& out) { out(export_cub(of.results)); }},
      {"cubins", "compiled kernels with a launcher, as a C header", compiled, false,
       [](const ExportInput& of, const TextSink& out) {
         out(export_bundle(of.results, of.compiled));
       }},
      {"kernel-tuner", "all results of one kernel, for other tuners", all_results, false,
       [](const ExportInput& of, const TextSink& out) {
         export_kernel_tuner(of.all_results, out);
       }},
      {"t4", "all results of one kernel, for other tuners", all_results, false,
       [](const ExportInput& of, const TextSink& out) { export_t4(of.all_results, out); }},
  };
  return kFormats;
}

const ExportFormat& export_format(std::string_view name) {
  return *std::ranges::find(export_formats(), name, &ExportFormat::name);
}

}  // namespace smemtune::db
