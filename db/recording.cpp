#include "db/recording.h"

#include "db/result_store.h"
#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <tuple>
#include <zlib.h>

namespace smemtune::db {

namespace {

double device_ms(const Result& result) {
  const Measurement& measured = result.measurement;
  const double samples_ms =
      std::accumulate(measured.samples_ms.begin(), measured.samples_ms.end(), 0.0);
  return result.verify_ms + samples_ms * measured.launches_per_sample;
}

/// Adds the configuration's values to the parameters: a database lists only the values that were
/// tried.
void note_values(const Configuration& configuration, std::vector<Parameter>& parameters) {
  for (const auto& [name, value] : configuration) {
    auto parameter = std::ranges::find(parameters, name, &Parameter::name);
    if (parameter == parameters.end()) {
      parameters.push_back({.name = name, .values = {}});
      parameter = parameters.end() - 1;
    }
    const auto place = std::ranges::lower_bound(parameter->values, value);
    if (place == parameter->values.end() || *place != value) parameter->values.insert(place, value);
  }
}

std::vector<Recording> read_database(const std::filesystem::path& file) {
  const ResultStore store(file, ResultStore::Mode::read_only);
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, Recording> recordings;
  for (StoredResult& stored : store.results({.source = "all"})) {
    if (stored.stale) continue;
    const std::string kernel = stored.space + "/" + stored.result.kernel;
    const std::string problem = key(stored.result.problem);
    Recording& recording = recordings[{kernel, stored.device.name, problem}];
    recording.file = file;
    recording.format = "smemtune-database";
    recording.kernel = kernel;
    recording.device = stored.device.name;
    recording.problem = problem;
    note_values(stored.result.configuration, recording.parameters);
    const double time_ms = stored.result.time_ms().value_or(0);
    const double kept_ms = device_ms(stored.result);
    recording.evaluations.push_back({.result = std::move(stored.result),
                                     .time_ms = time_ms,
                                     .device_ms = kept_ms,
                                     .at_unix = stored.at_unix});
  }
  std::vector<Recording> all;
  for (auto& [name, recording] : recordings) all.push_back(std::move(recording));
  return all;
}

}  // namespace

std::string OddEntries::others_text() const {
  if (count < 2) return "";
  return "; and so " + format_count(count - 1) + (count == 2 ? " other entry" : " other entries");
}

FileText read_compressed(const std::filesystem::path& file) {
  InputFile input(file, kMostFileBytes);
  FileText read;
  constexpr std::uintmax_t kPadding = 64;  // Parsers read past the end.
  read.text.reserve(input.size() + kPadding);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> stream(gzdopen(input.release(), "rb"), gzclose);
  if (!stream) throw std::bad_alloc();
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    const int count = gzread(stream.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (count > 0) read.text.append(buffer.data(), static_cast<std::size_t>(count));
    if (read.text.size() > kMostFileBytes) {
      throw InputError(file.string() + ": decompressed it has more than the " +
                       std::to_string(kMostFileBytes) + " bytes that are read at most");
    }
    if (count == static_cast<int>(buffer.size())) continue;
    int status = Z_OK;
    const std::string message = gzerror(stream.get(), &status);
    if (status == Z_BUF_ERROR) {
      read.cut_off = true;
    } else if (status != Z_OK) {
      throw InputError(file.string() + ": " + message);
    }
    if (count <= 0 || read.cut_off) return read;
  }
}

bool is_database(const std::filesystem::path& file) {
  constexpr std::string_view kDatabase = "SQLite format 3";
  std::string start(kDatabase.size(), '\0');
  InputFile(file).read(start);
  return start == kDatabase;
}

std::vector<Recording> read_recordings(const std::filesystem::path& file) {
  if (is_database(file)) return read_database(file);
  FileText read = read_compressed(file);
  if (read.text.empty() && !read.cut_off) throw InputError(file.string() + ": is empty");
  return {read_recording_json(file, std::move(read.text), read.cut_off)};
}

SearchSpace recorded_space(const Recording& recording) {
  for (const Parameter& parameter : recording.parameters) {
    if (parameter.values.size() > UINT16_MAX) {
      throw InputError(recording.file.string() + ": " + quote(parameter.name) + " has " +
                       std::to_string(parameter.values.size()) + " values; 65535 are searched");
    }
  }
  std::vector<std::vector<std::uint16_t>> points;
  for (const Recording::Evaluation& evaluation : recording.evaluations) {
    const auto indices = value_indices(recording.parameters, evaluation.result.configuration);
    if (indices) points.emplace_back(indices->begin(), indices->end());
  }
  return SearchSpace::of_points(recording.parameters, std::move(points));
}

}  // namespace smemtune::db
