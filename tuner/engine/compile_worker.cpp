#include "tuner/core/error.h"
#include "tuner/core/machine_fault.h"
#include "tuner/core/reasons.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/worker_channel.h"
#include "tuner/engine/workers.h"

#include <new>
#include <span>
#include <system_error>

namespace smemtune {

namespace {

// Compilers take all cores; what the device worker does on the host meanwhile is what a run waits
// for, and goes first.
constexpr int kNiceness = 5;

CompiledTogether compile(Compiler& compiler, std::span<const CompileRequest> requests) {
  Failure failed;
  try {
    return compiler.compile_together(requests);
  } catch (const UnavailableError&) {
    throw;
  } catch (const std::bad_alloc&) {
    failed = failure({Status::compile, "out_of_memory"},
                     "the compiler needs more memory than its worker may have");
  } catch (const std::system_error& error) {  // An error of a file or thread.
    throw_system_error(error.what(), error.code().value());
  } catch (const std::exception& error) {
    failed = failure({Status::compile, "error"}, error.what());
  }
  if (requests.size() == 1) return {failed};
  CompiledTogether outcomes;
  for (const CompileRequest& request : requests) {
    outcomes.push_back(compile(compiler, {&request, 1}).front());
  }
  return outcomes;
}

}  // namespace

int compile_worker_main(const std::function<std::unique_ptr<Compiler>()>& make, int descriptor) {
  return worker_main("compile worker", descriptor, [&make](WorkerChannel& channel) {
    lower_priority(kNiceness);
    const std::unique_ptr<Compiler> compiler = make();
    channel.send(MessageType::hello,
                 CompilerHello{.version = compiler->version(), .sha256 = compiler->sha256()});
    while (const std::optional<Frame> frame = channel.receive()) {
      if (frame->type != MessageType::compile)
        throw WireError("not a message for a compile worker");
      channel.send(MessageType::compiled,
                   make_reply(compile(*compiler, unpack<CompileBatch>(frame->payload))));
    }
  });
}

}  // namespace smemtune
