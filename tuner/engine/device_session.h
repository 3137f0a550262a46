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

/// What the device worker made of a request.
struct DeviceAnswer {
  std::optional<Frame> reply = std::nullopt;  ///< Nullopt: the worker was lost, for this reason:
  Failure failure = {};
  bool from_outside = false;     ///< Something else on the machine has killed it.
  bool not_asked = false;        ///< The unit was gone before the request could be sent.
  bool host_lost = false;        ///< The unit's host was lost: nobody knows what came of it.
  std::uint64_t generation = 0;  ///< Of the worker that was asked; it may be gone by now.
  int phase_number = 0;          ///< In a round: which entry it was at.
  double elapsed_s = 0;          ///< Of the request, without preparing.
};

/// What the sessions of a problem know together of its reference kernel.
struct ReferenceRecord {
  std::string name;     ///< How to call it in messages.
  bool worked = false;  ///< On some unit.
  std::string hint;     ///< What may be behind it where it is wrong; may be empty.
};

/// What prepares a device for a problem.
struct Preparation {
  std::vector<std::uint8_t> payload;  ///< A PrepareRequest.
  std::vector<std::uint8_t> again;    ///< The same for a unit that has been prepared by the first.
  std::vector<Module> modules;        ///< That it names.
  std::vector<DataFile> files;        ///< That it reads.
  std::int64_t data_bytes = 0;        ///< Of its buffers, without copies of them.
};

/// One problem on one unit: prepares it before the first request and whenever the worker had to be
/// replaced. Running the reference kernel then is the canary: when the device no longer gets right
/// what it, or another unit, once got right, twice in a row, it is unhealthy and given up.
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

  /// Whether the unit has failed for good, or its host is away. Nothing can be asked then.
  bool gone() const { return !pool_.has_unit(unit_); }

  /// REQUIRES: called once, before the first request.
  void set_preparation(std::shared_ptr<const Preparation> preparation) {
    preparation_ = std::move(preparation);
  }

  /// Whether a request could be sent now. Preparing begins when this is first asked.
  bool ready();

  /// Whether the next one could be sent while the device is at one: to a unit of a host that is
  /// far, which then need not wait for it.
  bool takes_ahead() const;

  /// What preparing said of the copies between host and device.
  const std::optional<Transfers>& transfers() const { return transfers_; }

  /// What preparing said of tolerances.
  const std::vector<DerivedTolerance>& derived() const { return derived_; }

  /// What preparing held against definitions and files.
  const std::vector<ComparedOutput>& compared() const { return compared_; }

  /// Whether a request has not been answered yet, or nobody has taken the answer.
  bool busy() const { return !pending_.empty() || !answers_.empty(); }
  bool preparing() const { return preparing_.has_value(); }

  /// Asks the device. `modules`: those that the request names. A worker that something else killed
  /// is asked again, once, when `try_again`. REQUIRES: !busy() && ready(), or takes_ahead().
  void submit(MessageType type, std::vector<std::uint8_t> payload, std::vector<Module> modules,
              double deadline_s, bool try_again);

  /// Throws ReferenceError when the reference kernel fails the first time, UnavailableError when
  /// the device is unhealthy and the last one.
  void handle(const WorkerEvent& event);

  /// Sends what can be sent now.
  void step();

  /// The next answer, in the order of the requests, once it is there.
  std::optional<DeviceAnswer> take_answer();

  /// What was kept at one generation, of any unit, is not there at another one.
  std::uint64_t generation() const { return pool_.device_generation(unit_); }

  /// How long the device has been asked for something, preparing included.
  double busy_s() const { return busy_s_; }

  /// The worker that answered has lost its context and is replaced before the next request. It may
  /// have ended by itself, and its successor may be preparing already.
  void context_is_lost() { restart(prepared_generation_); }

 private:
  struct Pending {
    MessageType type = MessageType::evaluate;
    std::vector<std::uint8_t> payload;
    std::vector<Module> modules;
    double deadline_s = 0;
    bool try_again = false;
    std::optional<Ticket> ticket = std::nullopt;  ///< Once it is sent.
  };

  void prepare();
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
  std::deque<Pending> pending_;  ///< The device is at the first.
  std::deque<DeviceAnswer> answers_;
  std::optional<Ticket> preparing_;
  bool wanted_ = false;
  double asked_at_s_ = 0;  ///< When it could begin with what it is at.
  double busy_s_ = 0;
  std::uint64_t prepared_generation_ = 0;  ///< 0: never.
  int failed_preparations_ = 0;            ///< One after another.
};

}  // namespace smemtune
