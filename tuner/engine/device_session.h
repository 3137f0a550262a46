#pragma once

#include "tuner/engine/messages.h"
#include "tuner/engine/worker_pool.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The outcome of a request to a device worker.
struct DeviceAnswer {
  std::optional<Frame> reply = std::nullopt;  ///< Nullopt when the worker was lost, as `failure`
                                              ///< says.
  Failure failure = {};
  bool from_outside = false;     ///< True if something else on the machine killed the worker.
  bool not_asked = false;        ///< True if the unit was gone before the request could be sent.
  bool host_lost = false;        ///< True if the unit's host was lost: nobody knows what became of
                                 ///< the request.
  std::uint64_t generation = 0;  ///< Generation of the worker that was asked; it may be gone by
                                 ///< now.
  int phase_number = 0;          ///< In a round: index of the entry being run.
  double elapsed_s = 0;          ///< Duration of the request, without preparing.
};

/// Facts about a problem's reference kernel that all sessions of the problem share.
struct ReferenceRecord {
  std::string name;     ///< Name in messages.
  bool worked = false;  ///< True if it ran correctly on some unit.
  std::string hint;     ///< A possible cause when the reference is wrong; may be empty.
};

/// The requests and data that prepare a device for a problem.
struct Preparation {
  std::vector<std::uint8_t> payload;  ///< A PrepareRequest.
  std::vector<std::uint8_t> again;    ///< The same for a unit that was prepared with `payload`
                                      ///< before.
  std::vector<Module> modules;        ///< Modules that the request names.
  std::vector<DataFile> files;        ///< Files that the request reads.
  std::int64_t data_bytes = 0;        ///< Size of its buffers, without copies of them.
};

/// A problem on a unit. Prepares the unit before the first request and whenever its worker was
/// replaced. Preparing runs the reference kernel as a canary: if the device fails twice in a row at
/// what it, or another unit, once got right, it is unhealthy and given up.
class DeviceSession {
 public:
  using Note = std::function<void(const std::string&)>;

  DeviceSession(WorkerPool& pool, std::size_t unit, std::shared_ptr<ReferenceRecord> reference,
                double prepare_deadline_s, Note note)
      : pool_(pool),
        unit_(unit),
        reference_(std::move(reference)),
        prepare_deadline_s_(prepare_deadline_s),
        note_(std::move(note)) {}

  const Device& device() const { return pool_.greeting().devices[unit_]; }

  /// Whether the unit has failed for good or its host is away, so that it cannot be asked.
  bool gone() const { return !pool_.has_unit(unit_); }

  /// Has the device fill the buffers of what set_preparation() will be called with, if it is idle
  /// and was not asked before.
  void fill(const Preparation& buffers);

  /// REQUIRES: called once, before the first request.
  void set_preparation(std::shared_ptr<const Preparation> preparation) {
    preparation_ = std::move(preparation);
  }

  /// Whether a request could be sent now. The first call starts preparing.
  bool ready();

  /// Whether another request could be sent while the device works on one. That is so for a unit of
  /// a distant host, which then need not wait for the next request.
  bool takes_ahead() const;

  /// Times of copies between host and device, from preparing.
  const std::optional<Transfers>& transfers() const { return transfers_; }

  /// Tolerances derived while preparing.
  const std::vector<DerivedTolerance>& derived() const { return derived_; }

  /// Results of comparing the reference with definitions and files while preparing.
  const std::vector<ComparedOutput>& compared() const { return compared_; }

  /// Whether a request has not been answered yet or its answer has not been taken.
  bool busy() const { return !pending_.empty() || !answers_.empty(); }
  bool preparing() const { return preparing_.has_value() || filling_.has_value(); }

  /// Asks the device. `modules`: those that the request names. When `try_again`, the request is
  /// repeated once if something else killed the worker. REQUIRES: !busy() && ready(), or
  /// takes_ahead().
  void submit(MessageType type, std::vector<std::uint8_t> payload, std::vector<Module> modules,
              double deadline_s, bool try_again);

  /// Handles a worker's event. Throws ReferenceError when the reference kernel fails the first
  /// time, UnavailableError when the device is unhealthy and the last one.
  void handle(const WorkerEvent& event);

  /// Sends everything that can be sent now.
  void step();

  /// Returns the next answer, in the order of the requests, once it is there.
  std::optional<DeviceAnswer> take_answer();

  /// Generation of the unit's worker. What one generation of a worker keeps is lost in another.
  std::uint64_t generation() const { return pool_.device_generation(unit_); }

  /// How long the device has been working on requests, preparing included.
  double busy_s() const { return busy_s_; }
  /// Returns the time that preparing the device took; 0 if it was not prepared.
  double prepare_s() const { return prepare_s_; }

  /// Replaces the worker before the next request, because the one that answered has lost its
  /// context. If it has ended by itself, its successor, which may be preparing already, is left
  /// alone.
  void context_is_lost() { restart(prepared_generation_); }

 private:
  struct Pending {
    MessageType type = MessageType::evaluate;
    std::vector<std::uint8_t> payload;
    std::vector<Module> modules;
    double deadline_s = 0;
    bool try_again = false;
    std::optional<Ticket> ticket = std::nullopt;  ///< Set once the request is sent.
  };

  void prepare();
  Ticket ask(const Preparation& preparation, const std::vector<std::uint8_t>& payload);
  void send();
  void answered(const WorkerEvent& event);
  void send_again();
  void restart(std::uint64_t its_generation);
  void unit_gone(const WorkerEvent& event);
  void prepared(const WorkerEvent& event);
  void preparation_failed(const std::string& what, bool from_outside, bool shortage = false);

  WorkerPool& pool_;
  std::size_t unit_;
  std::shared_ptr<ReferenceRecord> reference_;
  double prepare_deadline_s_;
  Note note_;
  std::shared_ptr<const Preparation> preparation_;
  std::optional<Transfers> transfers_;
  std::vector<DerivedTolerance> derived_;
  std::vector<ComparedOutput> compared_;
  bool was_prepared_ = false;
  std::deque<Pending> pending_;  ///< The device works on the first.
  std::deque<DeviceAnswer> answers_;
  std::optional<Ticket> preparing_;
  std::optional<Ticket> filling_;
  bool wanted_ = false;
  bool was_asked_to_fill_ = false;
  double asked_at_s_ = 0;  ///< When the device could begin its current request.
  double busy_s_ = 0;
  double fill_s_ = 0;  ///< How long fill() took.
  double prepare_s_ = 0;
  std::uint64_t prepared_generation_ = 0;  ///< 0 when never prepared.
  int failed_preparations_ = 0;            ///< Consecutive failures.
};

}  // namespace smemtune
