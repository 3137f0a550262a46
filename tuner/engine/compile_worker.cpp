#include "tuner/engine/messages.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_channel.h"

#include <cstdio>
#include <new>

namespace smemtune {

namespace {

constexpr int kBroken = 1;

Outcome<CompiledKernel> compile(Compiler& compiler, const CompileRequest& request) {
  try {
    return compiler.compile(request);
  } catch (const UnavailableError&) {
    throw;
  } catch (const std::bad_alloc&) {
    return Failure{.status = Status::compile,
                   .reason = "out_of_memory",
                   .detail = "the compiler needs more memory than its worker may have"};
  } catch (const std::exception& error) {
    return Failure{.status = Status::compile, .reason = "error", .detail = error.what()};
  }
}

int serve(WorkerChannel& channel, const std::function<std::unique_ptr<Compiler>()>& make) {
  try {
    const std::unique_ptr<Compiler> compiler = make();
    channel.send(MessageType::hello,
                 CompilerHello{.version = compiler->version(), .sha256 = compiler->sha256()});
    while (const std::optional<Frame> frame = channel.receive()) {
      if (frame->type != MessageType::compile) throw WireError("not for a compile worker");
      const auto request = unpack<CompileRequest>(frame->payload);
      channel.send(MessageType::compiled, CompileReply{.outcome = compile(*compiler, request)});
    }
    return 0;
  } catch (const WireError&) {
    throw;
  } catch (const Error& error) {
    channel.send(MessageType::broken,
                 Broken{.message = error.what(),
                        .input = dynamic_cast<const InputError*>(&error) != nullptr});
    return kBroken;
  }
}

}  // namespace

int compile_worker_main(const std::function<std::unique_ptr<Compiler>()>& make, int in, int out) {
  try {
    WorkerChannel channel(in, out);
    return serve(channel, make);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile worker: %s\n", error.what());
    return kBroken;
  }
}

}  // namespace smemtune
