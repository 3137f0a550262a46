#include "tuner/backend/fake/script_test_support.h"

#include "tuner/core/expression.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/text.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace smemtune::fake {

namespace {

/// Returns the words of a list: two for `a, b`.
std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(trimmed(word));
  return words;
}

Value value_of(const std::string& text) { return parse_key("VALUE=" + text).at("VALUE"); }

/// Parses `crash in time when TILE == 8`.
Script::Fault parse_fault(const std::string& text) {
  Script::Fault fault;
  std::istringstream stream(text);
  stream >> fault.kind;
  fault.place = "run";
  std::string word;
  while (stream >> word) {
    if (word == "in") {
      stream >> fault.place;
    } else if (word == "when") {
      std::getline(stream, fault.when);
    } else {
      throw InputError("fault " + text + ": unexpected " + word);
    }
  }
  return fault;
}

void parse_kernel(const std::string& text, Script& script) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) {
    throw InputError("kernel " + text + ": expected NAME(A, B)");
  }
  script.entry = trimmed(text.substr(0, open));
  script.template_names = listed(text.substr(open + 1, close - open - 1));
}

[[noreturn]] void hang() {
  for (;;) pause();
}

/// Returns the path of a file in the folder that SMEMTUNE_FAKE_FOLDER names; empty if that is not
/// set.
std::string file_in_folder(const std::string& name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* folder = std::getenv("SMEMTUNE_FAKE_FOLDER");
  return folder == nullptr ? "" : std::string(folder) + "/" + name;
}

bool has_happened() { return access(file_in_folder("happened").c_str(), F_OK) == 0; }

/// Creates a file in that folder. Returns false if it exists.
bool create(const std::string& name) {
  const std::string file = file_in_folder(name);
  if (file.empty()) throw InputError("SMEMTUNE_FAKE_FOLDER is not set");
  const int created = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (created < 0) return false;
  close(created);
  return true;
}

bool first_time() { return create("happened"); }

void wait_until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Waits until that many files whose names begin with `prefix` are in that folder.
void wait_for_files(const std::string& prefix, std::size_t count) {
  wait_until([&] { return files_in_folder(prefix) >= count; });
}

/// Waits until `count` processes have come here.
void meet(std::size_t count) {
  const std::string prefix = "met-";
  create(prefix + std::to_string(getpid()));
  wait_for_files(prefix, count);
}

constexpr const char* kFilled = "filled-";

}  // namespace

std::size_t files_in_folder(const std::string& prefix) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file_in_folder(""))) {
    if (entry.path().filename().string().starts_with(prefix)) ++count;
  }
  return count;
}

void note_filled() {
  if (file_in_folder(kFilled).empty()) return;
  if (std::filesystem::remove(file_in_folder("abort_when_filled"))) std::abort();
  while (!create(kFilled + std::to_string(files_in_folder(kFilled)))) {
  }
}

Script parse_script(std::string_view text) {
  static const std::map<std::string, std::string Script::*> texts = {
      {"time_ns", &Script::time_ns},
      {"registers", &Script::registers},
      {"static_shared", &Script::static_shared},
      {"spills", &Script::spills},
      {"wgmma_serialized", &Script::wgmma_serialized},
      {"code", &Script::code},
      {"clock_mhz", &Script::clock_mhz},
      {"driver_registers", &Script::driver_registers}};
  Script script;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    line = trimmed(line);
    const auto space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : trimmed(line.substr(space));
    if (line.empty()) continue;
    if (word == "kernel") {
      parse_kernel(rest, script);
    } else if (word == "computes") {
      script.definitions.push_back(rest);
    } else if (const auto known = texts.find(word); known != texts.end()) {
      script.*known->second = rest;
    } else if (word == "noise_percent") {
      script.noise_percent = std::stod(rest);
    } else if (word == "drift_percent") {
      script.drift_percent = std::stod(rest);
    } else if (word == "fault") {
      script.faults.push_back(parse_fault(rest));
    } else {
      throw InputError("a fake kernel does not know '" + line + "'");
    }
  }
  return script;
}

Bindings bindings_of(const Script& script, const std::string& name_expression,
                     const std::vector<std::string>& options) {
  Bindings bindings;
  const auto open = name_expression.find('<');
  std::vector<std::string> arguments;
  if (open != std::string::npos) {
    arguments = listed(name_expression.substr(open + 1, name_expression.rfind('>') - open - 1));
  }
  if (trimmed(name_expression.substr(0, open)) != script.entry ||
      arguments.size() != script.template_names.size()) {
    throw InputError(name_expression + " is not an instance of " + script.entry);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    bindings[script.template_names[i]] = value_of(arguments[i]);
  }
  for (const std::string& option : options) {
    const auto equals = option.find('=');
    if (!option.starts_with("-D") || equals == std::string::npos) continue;
    bindings[option.substr(2, equals - 2)] = value_of(option.substr(equals + 1));
  }
  return bindings;
}

std::int64_t evaluate(const std::string& text, const Bindings& bindings) {
  Scope scope;
  scope.add_constants(bindings);
  scope.add_constant("HAPPENED", std::int64_t{has_happened()});
  return Expression::compile(text, scope).evaluate();
}

std::optional<std::string> fault_at(const Script& script, std::string_view place,
                                    const Bindings& bindings) {
  for (const Script::Fault& fault : script.faults) {
    if (fault.place == place && evaluate(fault.when, bindings) != 0) return fault.kind;
  }
  return std::nullopt;
}

void commit(const std::string& kind, int reply_descriptor) {
  if (kind == "crash" || (kind == "crash_once" && first_time())) std::abort();
  if (kind == "hang") hang();
  if (kind == "exit") _exit(3);
  if (kind == "killed" || (kind == "killed_once" && first_time())) {
    raise(SIGKILL);
    hang();  // Until the signal arrives.
  }
  if (kind == "flood") {
    const std::string line(1023, 'x');
    for (int i = 0; i < 8192; ++i) std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (kind == "pause") std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (kind == "wait") wait_until(has_happened);
  if (kind == "wait_filled") wait_for_files(kFilled, 1);
  if (kind == "meet2") meet(2);
  if (kind == "meet3") meet(3);
  if (kind == "broken") throw UnavailableError("the fake device fell off the bus");
  if (kind == "shortage" || (kind == "shortage_once" && first_time())) {
    throw_system_error("opening what is not there", EMFILE);
  }
  if (kind == "memory") throw std::bad_alloc();
  if (kind == "garbage") {
    const std::string garbage(100, '?');
    if (write(reply_descriptor, garbage.data(), garbage.size()) < 0) std::abort();
    hang();
  }
  if (kind == "torn") {
    const std::string begun(10, '\0');
    if (write(reply_descriptor, begun.data(), begun.size()) < 0) std::abort();
    _exit(1);
  }
}

}  // namespace smemtune::fake
