#include "tuner/engine/wire.h"

#include "tuner/core/hash.h"
#include "tuner/engine/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <typeinfo>

namespace smemtune {

/// An initializer for a member of any type.
struct Anything {
  template <typename T>
  operator T() const&;  // NOLINT(google-explicit-constructor)
};

namespace {

Resources some_resources() {
  Resources resources;
  resources.registers_per_thread = 40;
  resources.static_shared_bytes = 1024;
  resources.spill_load_bytes = 8;
  return resources;
}

CompiledKernel some_module() {
  return {.entries = {{"k<1>", "_Zk1", some_resources(), "c0de"}},
          .symbols = {{"coefficients", "coefficients"}},
          .image = {1, 2, 3, 0, 255},
          .read = {{.path = "/include", .state = "12"}},
          .log = "ptxas info",
          .compile_ms = 12.5};
}

std::vector<Argument> some_arguments() {
  Argument buffer;
  buffer.name = "in";
  buffer.type = ScalarType::float64;
  buffer.role = Role::inout;
  buffer.shape = {3, 4};
  buffer.init = {.kind = Init::Kind::file, .a = 1, .b = -2.5, .file = {"data/x.npy", "abc"}};
  Argument scalar;
  scalar.name = "n";
  scalar.type = ScalarType::int64;
  scalar.integer = std::numeric_limits<std::int64_t>::min();
  scalar.number = std::numeric_limits<double>::infinity();
  return {buffer, scalar};
}

Job some_job() {
  LaunchShape launch;
  launch.name_expression = "k<1>";
  launch.grid = {7, 8, 9};
  launch.dynamic_shared_bytes = 99;
  launch.static_shared_bytes = 1024;
  launch.arguments = {"in", "n"};
  return {.modules = {some_module()},
          .images = {3},
          .parts = {{.module = 0,
                     .launches = {launch},
                     .arguments = some_arguments(),
                     .tolerance = {.absolute = 1e-6, .relative = std::nullopt},
                     .workloads = {0, 1}}}};
}

CompileRequest some_compile_request() {
  return {.architecture = "sm_90",
          .source = {.files = {{"k.cu", "template <int N> __global__ void k();"}, {"k.cuh", ""}}},
          .name_expressions = {"k<1>"},
          .symbol_expressions = {"coefficients"},
          .options = {"--use_fast_math"},
          .signatures = {{{.name_expression = "k<1>",
                           .arguments = {{.name = "out",
                                          .kind = PassedArgument::Kind::buffer,
                                          .type = ScalarType::float16,
                                          .is_result = true}}}}}};
}

PrepareRequest some_prepare_request() {
  const Problem problem = {{"N", std::int64_t{5}}, {"T", std::string("float")}};
  return {.workloads = {{.id = 2,
                         .label = "N=5",
                         .problem = problem,
                         .workload = {.arguments = some_arguments(), .seed = UINT64_MAX}}},
          .reference = some_job(),
          .definitions = {{"out[i] = in[i]", "/verify"}},
          .expected = {{"out", {"/data/out.npy", "def"}}},
          .with_transfers = true,
          .again = true};
}

EvaluateReply some_evaluate_reply() {
  EvaluateReply reply;
  reply.failure = Failure{.status = Status::timeout, .reason = "hang", .detail = "too long"};
  reply.loaded = {.handle = 3, .launches = {{.resources = some_resources(), .blocks_per_sm = -1}}};
  reply.max_relative_error = 1e-7;
  reply.time = {
      .samples_ms = {1, 2, 3}, .launches_per_sample = 4, .discarded = 1, .transfers = Transfers{}};
  return reply;
}

/// A message of each type, and a function that reads its payload.
struct Example {
  const char* name = "";
  Frame frame;
  std::function<void(const std::vector<std::uint8_t>&)> read;
};

template <typename Message>
Example example(const char* name, MessageType type, const Message& message) {
  return {.name = name,
          .frame = {.type = type,
                    .sequence = 42,
                    .payload = pack(message),
                    .worker = 7,
                    .deadline_ms = 1500},
          .read = [](const std::vector<std::uint8_t>& bytes) { unpack<Message>(bytes); }};
}

std::vector<Example> examples() {
  Device device;
  device.name = "NVIDIA H200";
  device.kind = DeviceKind::cpu;
  const Failure lost = {
      .status = Status::runtime, .reason = "a", .detail = "b", .context_lost = true};
  return {
      example("compiler hello", MessageType::hello, CompilerHello{"NVRTC 13.0", "abc"}),
      example("device hello", MessageType::hello, device),
      example("broken", MessageType::broken, Broken{"no driver", true}),
      example("phase", MessageType::phase, Phase{"verify", 3}),
      example("compile", MessageType::compile, CompileBatch{some_compile_request()}),
      example("compiled", MessageType::compiled,
              CompileReply{{some_module()}, {{0}, {-1, lost}, {0}}}),
      example("prepare", MessageType::prepare, some_prepare_request()),
      example("prepared", MessageType::prepared, PrepareReply{lost, {"a note"}, Transfers{}}),
      example("evaluate", MessageType::evaluate, EvaluateRequest{some_job(), false, 3, 1.5, 7}),
      example("evaluated", MessageType::evaluated, some_evaluate_reply()),
      example("round", MessageType::sample_round, SampleRoundRequest{{1, 2}, {3, 4}}),
      example("heartbeat", MessageType::heartbeat, std::string()),
      example("welcome", MessageType::welcome, HostWelcome{"n1", "h200", "tuning", false, {"a"}}),
      example("host hello", MessageType::host_hello,
              HostHello{8,
                        1 << 30,
                        {device},
                        "no GPU is visible",
                        device,
                        {{"cuda", {"NVRTC 13.0", "abc"}}},
                        {{"cpu", "no compiler"}},
                        {13000}}),
      example("start", MessageType::start_worker, WorkerStart{{"a", "b"}, 1, 2, true, "GPU-1"}),
      example("end", MessageType::end_worker, WorkerDeath{}),
      example("ended", MessageType::worker_ended, WorkerDeath{}),
      example("file", MessageType::file, FilePiece{std::string(64, 'a'), {1, 2, 3}, true}),
      example("note", MessageType::note, std::string("waiting")),
      example("sampled", MessageType::sampled,
              SampleRoundReply{{1.5, std::nullopt, 3, 1200, true}, {0, lost}}),
  };
}

std::optional<Frame> decode(std::span<const std::uint8_t> bytes) {
  FrameDecoder decoder;
  decoder.append(bytes);
  return decoder.next();
}

/// Returns the number of members of an aggregate.
template <typename T, typename... Initializers>
consteval std::size_t member_count() {
  if constexpr (requires { T{Initializers()..., Anything()}; }) {
    return member_count<T, Initializers..., Anything>();
  } else {
    return sizeof...(Initializers);
  }
}

/// Gives every member that is sent a distinct value, and checks that every member is sent.
class Filler {
 public:
  template <typename... Ts>
  void operator()(Ts&... values) {
    sent_ += sizeof...(values);
    (fill(values), ...);
  }

 private:
  template <typename T>
  void fill(T& value) requires std::is_arithmetic_v<T> {
    value = static_cast<T>(std::same_as<T, bool> ? !value : ++last_);
  }
  template <typename T>
  void fill(T& value) requires std::is_enum_v<T> {
    value = last_enumerator(T{});
  }
  void fill(std::string& value) { value = "text " + std::to_string(++last_); }
  void fill(std::filesystem::path& value) { value = "file " + std::to_string(++last_); }
  void fill(Value& value) { value = "word " + std::to_string(++last_); }
  template <typename T>
  void fill(std::vector<T>& values) {
    if (std::same_as<T, Argument> && is_in_argument_) return;  // Arguments may contain arguments.
    values.resize(2);
    for (T& value : values) fill(value);
  }
  template <typename T, std::size_t N>
  void fill(std::array<T, N>& values) {
    for (T& value : values) fill(value);
  }
  template <typename K, typename V, typename C>
  void fill(std::map<K, V, C>& values) {
    K name{};
    fill(name);
    fill(values[name]);
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <typename T>
  void fill(T& value) requires requires(Filler& filler) {
    fields(filler, value);
  }
  {
    Filler one;
    one.last_ = last_;
    one.is_in_argument_ = is_in_argument_ || std::same_as<T, Argument>;
    fields(one, value);
    last_ = one.last_;
    EXPECT_EQ(one.sent_, member_count<T>()) << typeid(T).name();
  }

  int last_ = 0;
  std::size_t sent_ = 0;  ///< Number of members that were given a value.
  bool is_in_argument_ = false;
};

template <typename Message>
void expect_sent_whole() {
  Message message;
  Filler filler;
  filler(message);
  EXPECT_NE(message, Message{}) << typeid(Message).name();
  EXPECT_EQ(unpack<Message>(pack(message)), message) << typeid(Message).name();
}

TEST(Wire, SendsArgumentsThatAreReadByOthersButNotWithoutEnd) {
  Workload workload;
  Argument argument;
  argument.name = "inner";
  for (int level = 0; level < 10; ++level) {
    Argument outer;
    outer.reads = {std::move(argument)};
    argument = std::move(outer);
  }
  workload.arguments = {argument};
  EXPECT_EQ(workload, unpack<Workload>(pack(workload)));
  for (int level = 0; level < 200; ++level) {
    Argument outer;
    outer.reads = {std::move(argument)};
    argument = std::move(outer);
  }
  workload.arguments = {argument};
  EXPECT_THROW(unpack<Workload>(pack(workload)), WireError);
}

TEST(Wire, SendsEveryMemberOfEveryMessage) {
  expect_sent_whole<CompilerHello>();
  expect_sent_whole<Device>();
  expect_sent_whole<Broken>();
  expect_sent_whole<Phase>();
  expect_sent_whole<HostWelcome>();
  expect_sent_whole<HostHello>();
  expect_sent_whole<FilePiece>();
  expect_sent_whole<WorkerStart>();
  expect_sent_whole<WorkerDeath>();
  expect_sent_whole<CompileBatch>();
  expect_sent_whole<CompileReply>();
  expect_sent_whole<PrepareRequest>();
  expect_sent_whole<PrepareReply>();
  expect_sent_whole<EvaluateRequest>();
  expect_sent_whole<EvaluateReply>();
  expect_sent_whole<SampleRoundRequest>();
  expect_sent_whole<SampleRoundReply>();
}

TEST(Wire, GivesBackWhatWasSent) {
  for (const Example& example : examples()) {
    EXPECT_EQ(decode(encode(example.frame)), example.frame) << example.name;
  }
}

TEST(Wire, DeflatesWhatBecomesSmaller) {
  Frame frame = {.type = MessageType::module, .sequence = 7, .payload = {}, .worker = 3};
  std::uint32_t random = 1;
  for (int i = 0; i < 5000; ++i) {
    random = random * 1664525 + 1013904223;
    frame.payload.push_back(static_cast<std::uint8_t>(random >> 24));
  }
  EXPECT_EQ(encode_deflated(frame), encode(frame));  // Noise does not become smaller.
  for (int i = 0; i < 100'000; ++i) frame.payload.push_back(static_cast<std::uint8_t>(i / 1000));
  EXPECT_LT(encode_deflated(frame).size(), 8000u);
  EXPECT_EQ(decode(encode_deflated(frame)), frame);
  for (const Example& example : examples()) {
    EXPECT_EQ(decode(encode_deflated(example.frame)), example.frame) << example.name;
  }
}

TEST(Wire, RefusesWhatCannotBeInflated) {
  Frame frame = {.type = MessageType::phase, .sequence = 1, .payload = {}};
  const auto decode_as_deflated = [&](std::vector<std::uint8_t> payload) {
    // The checksum covers the bit that says "deflated", so encode_deflated() sets it before the
    // payload is replaced.
    frame.payload.assign(100'000, 0);
    const std::vector<std::uint8_t> deflated = encode_deflated(frame);
    frame.payload = std::move(payload);
    std::vector<std::uint8_t> bytes = encode(frame);
    std::copy_n(deflated.begin() + 6, 2, bytes.begin() + 6);
    std::array<std::uint8_t, 8> sums{};
    const std::uint32_t of_header = crc32(std::span(bytes).first(28));
    const std::uint32_t of_payload = crc32(std::span(bytes).subspan(kFrameHeaderBytes));
    std::memcpy(sums.data(), &of_header, 4);
    std::memcpy(sums.data() + 4, &of_payload, 4);
    const std::uint32_t sum = crc32(sums);
    std::memcpy(bytes.data() + 28, &sum, 4);
    return decode(bytes);
  };
  frame.payload.assign(2000, 5);
  const std::vector<std::uint8_t> whole = encode_deflated(frame);
  const std::vector<std::uint8_t> good(whole.begin() + kFrameHeaderBytes, whole.end());
  EXPECT_EQ(decode_as_deflated(good)->payload, std::vector<std::uint8_t>(2000, 5));
  EXPECT_THROW(decode_as_deflated({}), WireError);
  EXPECT_THROW(decode_as_deflated({1, 0, 0}), WireError);
  for (const std::uint32_t length : {0u, 1999u, 2001u, 16u << 20, 17u << 20, 0xFFFFFFFFu}) {
    std::vector<std::uint8_t> payload = good;
    std::memcpy(payload.data(), &length, sizeof length);
    EXPECT_THROW(decode_as_deflated(payload), WireError) << length;
  }
  EXPECT_THROW(decode_as_deflated({good.begin(), good.end() - 1}), WireError);
}

TEST(Wire, PutsFramesTogetherFromSingleBytes) {
  std::vector<std::uint8_t> bytes;
  for (const Example& example : examples()) {
    const std::vector<std::uint8_t> frame = encode(example.frame);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  FrameDecoder decoder;
  std::vector<Frame> frames;
  for (const std::uint8_t byte : bytes) {
    decoder.append(std::span(&byte, 1));
    while (auto frame = decoder.next()) frames.push_back(std::move(*frame));
  }
  EXPECT_FALSE(decoder.inside_frame());
  ASSERT_EQ(frames.size(), examples().size());
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(frames[i], examples()[i].frame);
}

TEST(Wire, AFrameThatEndsTooEarlyIsNoFrame) {
  for (const Example& example : examples()) {
    const std::vector<std::uint8_t> bytes = encode(example.frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(decode(std::span(bytes).first(size)), std::nullopt) << example.name << " " << size;
    }
  }
}

TEST(Wire, NoBitOfAFrameCanChangeUnnoticed) {
  for (const Example& example : examples()) {
    const std::vector<std::uint8_t> bytes = encode(example.frame);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::vector<std::uint8_t> changed = bytes;
      changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1u << (bit % 8)));
      try {
        // The decoder waits for more bytes if the frame became longer.
        EXPECT_EQ(decode(changed), std::nullopt) << example.name << " bit " << bit;
      } catch (const WireError&) {
        continue;
      }
    }
  }
}

TEST(Wire, APayloadThatEndsTooEarlyIsAnError) {
  for (const Example& example : examples()) {
    const std::vector<std::uint8_t>& payload = example.frame.payload;
    for (std::size_t size = 0; size < payload.size(); ++size) {
      EXPECT_THROW(example.read({payload.begin(), payload.begin() + static_cast<long>(size)}),
                   WireError)
          << example.name << " " << size;
    }
  }
}

TEST(Wire, APayloadWithMoreThanTheMessageIsAnError) {
  for (const Example& example : examples()) {
    std::vector<std::uint8_t> payload = example.frame.payload;
    payload.push_back(0);
    EXPECT_THROW(example.read(payload), WireError) << example.name;
  }
}

// A payload with a right checksum may still be wrong: it is read or refused, and the sanitizers
// check that nothing else happens.
TEST(Wire, ChangedPayloadsAreReadOrRefused) {
  std::mt19937_64 random(1);
  std::size_t refused = 0;
  for (const Example& example : examples()) {
    for (int i = 0; i < 3000; ++i) {
      std::vector<std::uint8_t> payload = example.frame.payload;
      const std::size_t changes = 1 + random() % 4;
      for (std::size_t change = 0; change < changes; ++change) {
        payload[random() % payload.size()] = static_cast<std::uint8_t>(random());
      }
      try {
        example.read(payload);
      } catch (const WireError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Wire, ASizeIsNotBelievedBeforeItsElementsAreThere) {
  Writer writer;
  writer(std::uint64_t{1} << 40);
  EXPECT_THROW(unpack<SampleRoundRequest>(writer.take()), WireError);
}

TEST(Wire, EnumeratorsAndFlagsOutOfRangeAreErrors) {
  Writer writer;
  writer(static_cast<std::uint32_t>(last_enumerator(Status{})) + 1, std::string(), std::string(),
         false);  // A status beyond the last.
  EXPECT_THROW(unpack<Failure>(writer.take()), WireError);
  Writer flag;
  flag(Status::runtime, std::string(), std::string(), std::uint8_t{2});
  EXPECT_THROW(unpack<Failure>(flag.take()), WireError);
}

TEST(Wire, RefusesALengthBeyondTheLimitBeforeThePayloadComes) {
  Frame frame = {.type = MessageType::phase, .sequence = 1, .payload = {}};
  std::vector<std::uint8_t> bytes = encode(frame);
  const std::uint32_t length = 16 * 1024 * 1024 + 1;
  std::memcpy(bytes.data() + 8, &length, sizeof length);
  EXPECT_THROW(decode(bytes), WireError);
  frame.payload.resize(length);
  EXPECT_THROW(encode(frame), WireError);
  frame.type = MessageType::compiled;
  EXPECT_NO_THROW(encode(frame));
}

TEST(Messages, WithImpossibleNumbersAreRefused) {
  EvaluateRequest request = {.job = some_job(), .verify = true, .screen_samples = 3};
  EvaluateReply good = some_evaluate_reply();
  good.failure.reset();
  EXPECT_NO_THROW(check(good, request));
  EvaluateReply reply = good;
  reply.time.samples_ms = {1, std::nan(""), 1};
  EXPECT_THROW(check(reply, request), WireError);
  reply.time.samples_ms = {1, 0, 1};
  EXPECT_THROW(check(reply, request), WireError);
  reply.time.samples_ms = {};
  EXPECT_THROW(check(reply, request), WireError);
  reply.time.samples_ms = {1, 1, 1, 1};
  EXPECT_THROW(check(reply, request), WireError);
  reply = good;
  reply.max_absolute_error = std::numeric_limits<double>::infinity();
  EXPECT_THROW(check(reply, request), WireError);
  reply = good;
  reply.loaded.launches.clear();
  EXPECT_THROW(check(reply, request), WireError);
  reply = good;
  reply.time.mismatch = Mismatch{.argument = "out", .reason = "mismatch", .count = 1};
  EXPECT_THROW(check(reply, request), WireError);
}

TEST(Messages, ARoundMayOnlyBeCutShortByALostContext) {
  const SampleRoundRequest request = {{1, 1}, {2, 1}};
  const Failure failure = {.status = Status::runtime, .reason = "a", .detail = ""};
  Failure lost = failure;
  lost.context_lost = true;
  EXPECT_NO_THROW(check(SampleRoundReply{{1, std::nullopt}, {0, failure}}, request));
  EXPECT_NO_THROW(check(SampleRoundReply{{0, lost}}, request));
  EXPECT_THROW(check(SampleRoundReply{{0, failure}}, request), WireError);
  EXPECT_THROW(check(SampleRoundReply{{1, std::nullopt}}, request), WireError);
  EXPECT_THROW(check(SampleRoundReply{{1, std::nullopt}, {-1, std::nullopt}}, request), WireError);
  EXPECT_THROW(check(SampleRoundReply{{1, std::nullopt, -1}, {0, lost}}, request), WireError);
  EXPECT_THROW(check(SampleRoundReply{}, request), WireError);
}

TEST(Messages, AModuleMustHaveTheEntriesThatWereAskedFor) {
  const CompileBatch batch = {some_compile_request()};
  const auto reply_of = [](const CompiledKernel& module) { return CompileReply{{module}, {{0}}}; };
  EXPECT_NO_THROW(check(reply_of(some_module()), batch));
  CompiledKernel other = some_module();
  other.entries.insert(other.entries.begin(), other.entries[0]);
  other.entries[0].name_expression = "more<1>";
  EXPECT_NO_THROW(check(reply_of(other), batch));
  other = some_module();
  other.entries[0].name_expression = "k<2>";
  EXPECT_THROW(check(reply_of(other), batch), WireError);
  other = some_module();
  other.symbols.clear();
  EXPECT_THROW(check(reply_of(other), batch), WireError);
  other = some_module();
  other.entries[0].resources.registers_per_thread = -1;
  EXPECT_THROW(check(reply_of(other), batch), WireError);
}

TEST(Messages, EveryRequestOfABatchMustBeAnswered) {
  const CompileBatch batch = {some_compile_request(), some_compile_request()};
  EXPECT_NO_THROW(check(CompileReply{{some_module()}, {{0}, {0}}}, batch));
  EXPECT_NO_THROW(check(CompileReply{{some_module()}, {{0}, {-1, Failure{}}}}, batch));
  EXPECT_THROW(check(CompileReply{{some_module()}, {{0}}}, batch), WireError);
  EXPECT_THROW(check(CompileReply{{some_module()}, {{0}, {1}}}, batch), WireError);
}

TEST(Messages, ModulesThatAreSharedAreSentOnce) {
  const auto shared = std::make_shared<const CompiledKernel>(some_module());
  const Failure failure = {.status = Status::compile, .reason = "error", .detail = "no"};
  const CompiledTogether outcomes = {shared, failure, shared};
  const CompileReply reply = make_reply(outcomes);
  EXPECT_EQ(reply.modules.size(), 1u);
  const std::vector<Outcome<Module>> again = outcomes_of(reply, 7);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(static_cast<const CompiledKernel&>(**again[0]), *shared);
  EXPECT_EQ((*again[0])->number, module_number(7, 0));
  EXPECT_EQ(*again[0], *again[2]);
  EXPECT_EQ(again[1].failure().detail, "no");
}

}  // namespace
}  // namespace smemtune
