#include "tuner/engine/device_session.h"

#include "tuner/core/derived_tolerance.h"
#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <chrono>
#include <utility>

namespace smemtune {

namespace {

constexpr int kMaxFailedPreparations = 2;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Failure failure_of(const WorkerDeath& death, double deadline_s) {
  if (death.cause == WorkerDeath::Cause::deadline) {
    return failure({Status::timeout, "hang"},
                   "no answer after " + significant(deadline_s, 3) + " s in phase " +
                       (death.phase.empty() ? "start" : death.phase) + ", ended");
  }
  return failure({Status::runtime, "crash"}, "the device worker was lost: " + death.text());
}

}  // namespace

bool DeviceSession::ready() {
  if (!preparation_) return false;
  wanted_ = true;
  step();
  return !preparing() && pool_.device_is_idle(unit_) && prepared_generation_ == generation();
}

bool DeviceSession::takes_ahead() const {
  return pending_.size() == 1 && pending_.front().ticket && answers_.empty() &&
         pool_.device_has_room(unit_);
}

void DeviceSession::submit(MessageType type, std::vector<std::uint8_t> payload,
                           std::vector<Module> modules, double deadline_s, bool try_again) {
  pending_.push_back({.type = type,
                      .payload = std::move(payload),
                      .modules = std::move(modules),
                      .deadline_s = deadline_s,
                      .try_again = try_again});
  step();
}

void DeviceSession::step() {
  if (!wanted_ || preparing()) return;
  if (prepared_generation_ == generation()) {
    send();
  } else if (pool_.device_is_idle(unit_)) {
    prepare();
  }
}

void DeviceSession::prepare() {
  preparing_ = ask(*preparation_, was_prepared_ ? preparation_->again : preparation_->payload);
}

void DeviceSession::fill(const Preparation& buffers) {
  if (was_asked_to_fill_ || !pool_.device_is_idle(unit_)) return;
  was_asked_to_fill_ = true;
  filling_ = ask(buffers, buffers.payload);
}

Ticket DeviceSession::ask(const Preparation& preparation,
                          const std::vector<std::uint8_t>& payload) {
  asked_at_s_ = now_s();
  // With copies, expected outputs and double precision the data may take sixteen times as much.
  if (preparation.data_bytes > device().memory_bytes / 16) pool_.end_spares(unit_);
  for (const DataFile& file : preparation.files) pool_.provide(unit_, file);
  return pool_.ask_device(unit_, MessageType::prepare, payload, preparation.modules,
                          prepare_deadline_s_);
}

void DeviceSession::send() {
  for (Pending& pending : pending_) {
    if (pending.ticket) continue;
    if (!pool_.device_has_room(unit_)) return;
    if (pool_.device_is_idle(unit_)) asked_at_s_ = now_s();
    pending.ticket =
        pool_.ask_device(unit_, pending.type, pending.payload, pending.modules, pending.deadline_s);
  }
}

/// Marks all requests to be sent once the device is prepared: what was sent before is lost.
void DeviceSession::send_again() {
  for (Pending& pending : pending_) pending.ticket.reset();
}

void DeviceSession::handle(const WorkerEvent& event) {
  const bool is_loss =
      event.kind == WorkerEvent::Kind::unit_gone || event.kind == WorkerEvent::Kind::host_lost;
  if (is_loss && event.unit == unit_) {
    unit_gone(event);
    return;
  }
  if (event.kind == WorkerEvent::Kind::compiled) return;
  const double taken_s = now_s() - asked_at_s_;
  if (filling_ == event.ticket) {
    // A failure comes again when the device is prepared, and is reported then.
    filling_.reset();
    fill_s_ = taken_s;
    busy_s_ += taken_s;
  } else if (preparing_ == event.ticket) {
    preparing_.reset();
    prepare_s_ = fill_s_ + taken_s;
    busy_s_ += taken_s;
    prepared(event);
  } else if (!pending_.empty() && pending_.front().ticket == event.ticket) {
    answered(event);
  }
}

void DeviceSession::answered(const WorkerEvent& event) {
  const double end_s = now_s();
  const double elapsed_s = end_s - std::exchange(asked_at_s_, end_s);
  busy_s_ += elapsed_s;
  const bool lost = event.kind == WorkerEvent::Kind::device_lost;
  if (lost) send_again();
  if (event.not_begun) return;
  Pending& asked = pending_.front();
  const bool is_machines_fault = lost && (event.death.from_outside() || event.death.shortage);
  if (is_machines_fault && std::exchange(asked.try_again, false)) {
    note_(event.death.shortage ? event.death.message + "; trying again"
                               : "the device worker was killed by something else; trying again");
    return;
  }
  if (lost && event.death.shortage) throw UnavailableError(event.death.message);
  DeviceAnswer answer = {.generation = event.generation, .elapsed_s = elapsed_s};
  if (lost) {
    answer.failure = failure_of(event.death, asked.deadline_s);
    answer.from_outside = event.death.from_outside();
    answer.phase_number = event.death.phase_number;
  } else {
    answer.reply = event.reply;
  }
  pending_.pop_front();
  answers_.push_back(std::move(answer));
}

/// Restarts the worker, unless it has ended by itself: its successor is already there.
void DeviceSession::restart(std::uint64_t its_generation) {
  if (its_generation != generation()) return;
  pool_.restart_device(unit_);
  send_again();
}

void DeviceSession::unit_gone(const WorkerEvent& event) {
  bool was_asked = !pending_.empty() && pending_.front().ticket;
  if (was_asked || preparing()) busy_s_ += now_s() - asked_at_s_;
  preparing_.reset();
  filling_.reset();
  for (; !pending_.empty(); pending_.pop_front()) {
    // The request that was running may have caused the loss of the unit, so it is not repeated.
    answers_.push_back({.failure = failure({Status::runtime, "lost"},
                                           "the device was lost: " + event.death.message),
                        .not_asked = !was_asked,
                        .host_lost = was_asked && event.kind == WorkerEvent::Kind::host_lost,
                        .phase_number = event.death.phase_number});
    was_asked = false;  // The other requests had not been started.
  }
}

void DeviceSession::prepared(const WorkerEvent& event) {
  if (event.kind == WorkerEvent::Kind::device_lost) {
    preparation_failed(failure_of(event.death, prepare_deadline_s_).detail,
                       event.death.from_outside() || event.death.shortage, event.death.shortage);
    return;
  }
  if (event.reply.type != MessageType::prepared) {
    restart(event.generation);
    preparation_failed("the device worker answered another question", false);
    return;
  }
  PrepareReply reply;
  try {
    reply = unpack<PrepareReply>(event.reply.payload);
  } catch (const WireError& error) {
    restart(event.generation);
    preparation_failed(error.what(), false);
    return;
  }
  if (reply.failure) {
    pool_.end_spares(unit_);
    restart(event.generation);
    preparation_failed(to_text(reply.failure->status) + " (" + reply.failure->reason +
                           "): " + reply.failure->detail +
                           (reply.failure->status == Status::correctness ? reference_->hint : ""),
                       false);
    return;
  }
  // These are reported once, not for every unit or after every restart.
  if (!reference_->worked) {
    for (const std::string& note : reply.notes) note_(note);
    for (const DerivedTolerance& derived : reply.derived)
      note_("tolerance of " + describe(derived));
  }
  // Only the first preparation's times are kept: nothing else starts during it.
  if (!transfers_) transfers_ = reply.transfers;
  derived_ = std::move(reply.derived);
  if (!std::exchange(was_prepared_, true)) compared_ = std::move(reply.compared);
  prepared_generation_ = event.generation;
  reference_->worked = true;
  failed_preparations_ = 0;
}

void DeviceSession::preparation_failed(const std::string& what, bool from_outside, bool shortage) {
  ++failed_preparations_;
  const bool worked_before = reference_->worked;
  // One of several units may be at fault; another one shows meanwhile whether it is the kernel.
  const bool is_transient = worked_before || from_outside || pool_.units() > 1;
  if (failed_preparations_ < kMaxFailedPreparations && is_transient) {
    note_("the reference kernel did not run on the restarted device; trying again: " + what);
    return;
  }
  if (shortage) throw UnavailableError(what);
  if (worked_before) {
    pool_.give_up_unit(unit_, "the device is unhealthy: " + reference_->name +
                                  ", which was right before, failed twice in a row: " + what);
    return;
  }
  throw ReferenceError(reference_->name + ", which the others are compared with, failed: " + what);
}

std::optional<DeviceAnswer> DeviceSession::take_answer() {
  if (answers_.empty()) return std::nullopt;
  DeviceAnswer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

}  // namespace smemtune
