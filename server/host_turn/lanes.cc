#include "server/host_turn/lanes.h"

#include "common/assert.h"
#include "server/host_turn/due_rows.h"
#include "server/host_turn/lane_maps.h"
#include "server/platform/operator_log.h"
#include "server/replicas/node_view.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gcoord::server {
namespace {

// Rows with work, in all lanes, for which it pays to wake the turn threads: stepping them takes
// several times as long as waking a thread.
constexpr std::size_t kThreadsFrom = 128;

// A node that cannot end a turn is silent, so others lead meanwhile; it ends when this is no matter
// of a slow disk or a busy host any more. At least, and ten election timeouts.
constexpr std::uint64_t kStuckMsLeast = 10'000;

std::uint32_t slot_count(const ReplicaOptions& options) {
  const auto nodes = static_cast<std::uint32_t>(options.peers.size() + 1);
  return options.replica_slots != 0 ? options.replica_slots
                                    : std::min(nodes, consensus::kReplicaSlots);
}

Result<ChosenStepper> open_stepper(const ReplicaOptions& options, std::uint32_t row_count) {
  if (options.make_stepper) {
    GCOORD_TRY(auto stepper, options.make_stepper(row_count, slot_count(options)));
    return ChosenStepper{std::move(stepper), "the caller's own"};
  }
  return choose_stepper({.device = options.device,
                         .fault = options.device_fault,
                         .check_one_in = options.device_check_one_in,
                         .row_count = row_count,
                         .slot_count = slot_count(options)});
}

[[noreturn]] void end_stuck(std::uint32_t lane) {
  log_error(LogComponent::Node,
            "turn thread {} does not come back: this node cannot go on and ends",
            lane);
  std::abort();
}

}  // namespace

Result<std::unique_ptr<TurnLanes>> TurnLanes::open(const Environment& environment) {
  std::unique_ptr<TurnLanes> lanes(new TurnLanes(environment));
  const LaneMaps maps(environment.options);
  GCOORD_ASSERT(maps.count() > 0);
  lanes->deal_ = maps.deal();
  for (std::uint32_t lane = 0; lane < maps.count(); ++lane) {
    const consensus::RowMap map = maps.map(lane);
    GCOORD_TRY(ChosenStepper stepper, open_stepper(environment.options, map.row_count()));
    if (lane == 0 && !stepper.stepper->report().product.empty()) {
      lanes->device_metrics_ = std::make_unique<DeviceMetrics>(environment.registry);
    }
    lanes->lanes_.push_back(
        std::make_unique<TurnLane>(TurnLane::Environment{environment.options,
                                                         environment.service,
                                                         lanes->reading_,
                                                         environment.clock,
                                                         environment.registry,
                                                         environment.metrics,
                                                         lanes->device_metrics_.get(),
                                                         maps.count()},
                                   std::move(stepper),
                                   map));
  }
  return lanes;
}

TurnLanes::TurnLanes(const Environment& environment)
    : env_(environment),
      shared_turns_(environment.registry.counter(
          {"gcoord_server_turns_shared_total", "Turns that several turn threads worked on"})) {}

TurnLanes::~TurnLanes() = default;

void TurnLanes::connect(const Connections& connections) {
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    lanes_[k]->rows.wake_all();
    lanes_[k]->connect({connections.checkpointing.marks(k),
                        connections.peers,
                        connections.sender,
                        connections.network});
  }
  env_.registry
      .gauge({"gcoord_server_turn_threads", "Threads that share the shards in a turn on the host"})
      .set(static_cast<std::int64_t>(lanes_.size()));
  if (lanes_.size() > 1 && !env_.options.lanes_by_turns) {
    start_threads();
  }
}

void TurnLanes::start_threads() {
  const std::uint64_t election_ms =
      std::uint64_t{env_.options.timing.election_ticks} * env_.options.tick_ms;
  TurnThreads::Options threads{.lane_count = static_cast<std::uint32_t>(lanes_.size()),
                               .stuck_ms = std::max(kStuckMsLeast, 10 * election_ms),
                               .on_stuck = env_.options.on_stuck};
  if (!threads.on_stuck) {
    threads.on_stuck = end_stuck;
  }
  threads_ = std::make_unique<TurnThreads>(std::move(threads),
                                           [this](std::uint32_t lane) { lanes_[lane]->work(); });
}

void TurnLanes::begin_at(std::size_t part, std::size_t parts) {
  for (const auto& lane : lanes_) {
    lane->rows.deadlines.begin_at(part, parts);
  }
}

void TurnLanes::add_peer(NodeId node) {
  for (const auto& lane : lanes_) {
    lane->outflow.add_peer(node);
  }
}

void TurnLanes::remove_peer(NodeId node) {
  for (const auto& lane : lanes_) {
    lane->outflow.remove_peer(node);
  }
}

Status TurnLanes::make_slots(std::uint32_t slot_count) {
  for (const auto& lane : lanes_) {
    if (const Status grown = lane->rows.stepper->grow(slot_count); !grown.ok()) {
      return explain_device(grown);
    }
  }
  return Status{};
}

void TurnLanes::retry_stalled(bool everywhere, const netcore::PeerNetwork& network) {
  for (const auto& lane : lanes_) {
    if (lane->rows.stalled_count() > 0 && (everywhere || lane->credit_returned(network))) {
      lane->rows.retry(kRowsPerTurn / static_cast<std::uint32_t>(lanes_.size()));
    }
  }
}

void TurnLanes::wake_all() {
  for (const auto& lane : lanes_) {
    lane->rows.wake_all();
  }
}

void TurnLanes::turn_on_readmission() {
  for (const auto& lane : lanes_) {
    lane->readmission.turn_on();
  }
}

void TurnLanes::set_members_targets(const MembersTargets& targets, std::uint64_t epoch) {
  for (const auto& lane : lanes_) {
    lane->members.set_targets(targets, epoch);
  }
}

MembersProgress TurnLanes::members_progress() const {
  MembersProgress sum;
  for (const auto& lane : lanes_) {
    const MembersProgress part = lane->members.progress();
    sum.epoch = part.epoch;
    sum.led += part.led;
    sum.settled += part.settled;
    sum.ready += part.ready;
    sum.settled_sum += part.settled_sum;
    sum.all_sum += part.all_sum;
  }
  return sum;
}

Status TurnLanes::work(const Turn& turn, const netcore::PeerNetwork& network) {
  begin(turn, network);
  const bool wait = may_wait();
  for (const auto& lane : lanes_) {
    if (wait) {
      lane->calls.keep();
    }
  }
  if (wait && worth_threads(turn)) {
    threads_->run();
    shared_turns_.add();
  } else {
    for (const auto& lane : lanes_) {
      lane->work();
    }
  }
  Status failure;
  std::size_t row_count = 0;
  for (const auto& lane : lanes_) {
    lane->calls.tell();
    row_count += lane->row_count();
    failure = failure.ok() ? lane->failure().status() : failure;
  }
  for (const auto& lane : lanes_) {
    if (failure.ok()) {
      lane->send_snapshots();
    }
  }
  env_.metrics.active_rows.set(static_cast<std::int64_t>(row_count));
  return failure;
}

// One lane after the other gets what is left over of the credit.
void TurnLanes::begin(const Turn& turn, const netcore::PeerNetwork& network) {
  const std::size_t takes_rest = turn.state.number % lanes_.size();
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    lanes_[k]->begin({turn.state, turn.input, turn.durable, network, k == takes_rest, turn.steps});
  }
}

// Whether what the steps say to the service may wait until the lanes have met: a snapshot is
// installed, and its state written down, in the midst of a step.
bool TurnLanes::may_wait() const {
  return lanes_.size() > 1 && std::none_of(lanes_.begin(), lanes_.end(), [](const auto& lane) {
           return lane->rows.active.any_snapshot() || lane->owes_snapshot();
         });
}

bool TurnLanes::worth_threads(const Turn& turn) const {
  if (threads_ == nullptr) {
    return false;
  }
  std::size_t count = 0;
  for (const auto& lane : lanes_) {
    count += lane->waiting_count(turn.state.tick, turn.durable);
  }
  return count >= kThreadsFrom;
}

Status TurnLanes::look_over() {
  for (const auto& lane : lanes_) {
    const std::uint64_t begin_us = env_.clock.peek_us();
    const Status looked = lane->rows.stepper->look_over();
    if (device_metrics_) {
      device_metrics_->observe_look(*lane->rows.stepper, env_.clock.peek_us() - begin_us, looked);
    }
    if (!looked.ok()) {
      return explain_device(looked);
    }
  }
  return Status{};
}

void TurnLanes::submit(ReplicaDisk& disk) {
  if (lanes_.size() > 1) {
    for (const auto& lane : lanes_) {
      merged_.append(lane->record.batch());
    }
  }
  ledger::WalBatch& batch = lanes_.size() > 1 ? merged_ : lanes_.front()->record.batch();
  const ledger::Lsn lsn = batch.empty() ? ledger::Lsn{} : disk.submit(batch);
  for (const auto& lane : lanes_) {
    lane->record.batch().clear();
    if (lsn != ledger::Lsn{}) {
      lane->record.on_submitted(lsn);
    }
    GCOORD_ASSERT(lane->record.settled());
  }
}

void TurnLanes::send(netcore::PeerNetwork& network) {
  first_to_send_ = (first_to_send_ + 1) % lanes_.size();
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    lanes_[(first_to_send_ + k) % lanes_.size()]->outflow.send(network);
  }
}

void TurnLanes::apply() {
  std::uint32_t leader_count = 0;
  std::uint64_t entry_bytes = 0;
  for (const auto& lane : lanes_) {
    lane->apply();
    leader_count += lane->leader_count();
    entry_bytes += lane->rows.pool.used_bytes();
  }
  env_.metrics.entry_bytes.set(static_cast<std::int64_t>(entry_bytes));
  env_.metrics.leaders.set(leader_count);
}

std::size_t TurnLanes::end_turn(bool failed) {
  std::size_t done = 0;
  for (const auto& lane : lanes_) {
    done += lane->done();
    if (failed) {
      lane->outflow.clear();
    }
    lane->end_turn();
  }
  return done;
}

std::uint64_t TurnLanes::waits_since(Tick now, ledger::Lsn durable) const {
  std::uint64_t longest = 0;
  for (const auto& lane : lanes_) {
    longest = std::max(longest, lane->record.waits_since(now, durable));
  }
  return longest;
}

bool TurnLanes::wants_turn(ledger::Lsn durable) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [durable](const auto& lane) {
    return lane->rows.active.waiting() || lane->arrivals.size() != 0 || lane->rows.waking() ||
           lane->readmission.waiting() || lane->members.waiting() || lane->record.due(durable);
  });
}

Tick TurnLanes::next_deadline(Tick now) const {
  Tick next = kTickNever;
  for (const auto& lane : lanes_) {
    const Tick again = lane->rows.stalled_count() > 0 ? now + 1 : kTickNever;
    next = min_id(next, min_id(again, lane->rows.deadlines.next()));
    next = min_id(next, lane->members.next_deadline());
  }
  return next;
}

bool TurnLanes::shrink() {
  bool shrunk = false;
  for (const auto& lane : lanes_) {
    shrunk |= lane->rows.active.shrink();
  }
  return shrunk;
}

void TurnLanes::give_back() {
  merged_ = {};
  for (const auto& lane : lanes_) {
    lane->shrink();
  }
}

std::size_t TurnLanes::messages_left() const {
  std::size_t count = 0;
  for (const auto& lane : lanes_) {
    count += lane->rows.active.messages_left() + lane->arrivals.size();
  }
  return count;
}

std::uint32_t TurnLanes::forgotten_count() const {
  std::uint32_t count = 0;
  for (const auto& lane : lanes_) {
    count += lane->readmission.forgotten_count();
  }
  return count;
}

void TurnLanes::describe(NodeView& node) const {
  const TurnLane& first = *lanes_.front();
  node.stepper = first.rows.stepper->report();
  node.stepper_why = first.rows.stepper_why;
  node.readmits = first.readmission.on();
  for (const auto& lane : lanes_) {
    node.leader_count += lane->leader_count();
    node.entry_bytes += lane->rows.pool.used_bytes();
    add_counts(node, lane->readmission);
  }
}

}  // namespace gcoord::server
