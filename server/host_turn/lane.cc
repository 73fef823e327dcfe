#include "server/host_turn/lane.h"

#include "server/host_turn/due_rows.h"
#include "server/host_turn/row_workers.h"

#include <utility>

namespace gcoord::server {
namespace {

// A turn stops stepping after so long and leaves the rest to the next one. Peers hear from this
// node and this node hears them once per turn, whatever there is to do: a tenth of the shortest
// sensible election timeout. Lanes share it: what follows their meeting is done for all of them.
constexpr std::uint64_t kStepLimitUs = 20000;

}  // namespace

TurnLane::TurnLane(const Environment& environment,
                   ChosenStepper stepper,
                   const consensus::RowMap& row_map)
    : calls(environment.service, environment.options.trace, environment.reading),
      rows(std::move(stepper), row_map, environment.lane_count),
      outflow(environment.options.peers, rows.log, environment.metrics),
      readmission({environment.options.durability, environment.lane_count},
                  rows.columns(),
                  environment.registry),
      members(
          {environment.options.node, environment.lane_count}, rows.columns(), environment.registry),
      arrivals(rows.stepper->columns_are_rows() ? Arrivals::Bounds{rows.active.messages_max(),
                                                                   rows.active.extent_bytes_max(),
                                                                   rows.map.row_count()}
                                                : Arrivals::Bounds{}),
      env_(environment) {
  outflow.set_votes(environment.options.votes);
}

TurnLane::~TurnLane() = default;

void TurnLane::connect(const Connections& connections) {
  workers_ = std::make_unique<Workers>(*this, connections);
}

void TurnLane::begin(const Turn& turn) {
  turn_ = turn.state;
  turn_.done = 0;
  steps_ = turn.steps;
  stepped_ = 0;
  durable_ = turn.durable;
  peers_.assign(turn.input.peer, turn.input.peer + turn.input.peer_count);
  input_ = turn.input;
  input_.peer = peers_.data();
  credits_.clear();
  for (const consensus::PeerLiveness& peer : peers_) {
    const std::uint32_t credit = turn.network.credit(peer.node, netcore::Band::Consensus);
    const std::uint32_t rest = turn.takes_rest ? credit % env_.lane_count : 0;
    credits_.push_back(credit / env_.lane_count + rest);
  }
}

std::size_t TurnLane::waiting_count(Tick now, ledger::Lsn durable) const {
  std::size_t count = rows.active.waiting_count() + arrivals.size();
  count += record.due(durable) ? record.waiting_count() : 0;
  count += rows.waking() ? kRowsPerTurn : 0;
  count += rows.deadlines.next() <= now ? DeadlineIndex::kBlockRows : 0;
  return count;
}

void TurnLane::work() {
  begin_us_ = env_.clock.peek_us();
  settle();
  rows.active.begin_turn();
  if (steps_ && failure_.ok()) {
    step_rows();
  }
}

std::uint64_t TurnLane::step_limit_us() const {
  return kStepLimitUs / env_.lane_count;
}

void TurnLane::settle() {
  Settler& settler = workers_->settler;
  settler.begin(input_);
  if (steps_) {
    settler.take(arrivals);
  }
  turn_.done += record.take_acks(durable_,
                                 2 * kRowsPerTurn / env_.lane_count,
                                 [&](const TurnRecord::Ack& ack) { settler.on_stored(ack); });
  collect_due(turn_.tick, rows, env_.lane_count);
  readmission.advance(input_, rows.active);
  members.advance(input_, rows.active);
}

void TurnLane::step_rows() {
  const std::uint64_t begin_us = env_.clock.peek_us();
  RowBatch& batch = workers_->batch;
  while (failure_.ok() && batch.take()) {
    look_at_credit();
    const Status filled = batch.fill(input_);
    if (const Status stepped = filled.ok() ? step_batch() : filled; !stepped.ok()) {
      failure_.set(explain_device(stepped));
      break;
    }
    batch.drain();
    stepped_ += batch.size();
    if (took_us() >= step_limit_us()) {
      break;
    }
  }
  turn_.done += stepped_;
  env_.metrics.steps.add(stepped_);
  env_.metrics.stepped_us.add(env_.clock.peek_us() - begin_us);
}

// After a step that fails nothing of its batch is carried out, and the turn neither persists, sends
// nor applies what earlier batches asked for.
Status TurnLane::step_batch() {
  const std::uint64_t begin_us = env_.clock.peek_us();
  const Status stepped = workers_->batch.step(input_);
  if (env_.device_metrics != nullptr) {
    env_.device_metrics->observe(*rows.stepper, env_.clock.peek_us() - begin_us, stepped);
  }
  return stepped;
}

// What the channels take from this lane less what is gathered already.
void TurnLane::look_at_credit() {
  for (std::size_t k = 0; k < peers_.size(); ++k) {
    const std::uint32_t taken = outflow.gathered(peers_[k].node);
    peers_[k].credit = credits_[k] > taken ? credits_[k] - taken : 0;
  }
}

bool TurnLane::credit_returned(const netcore::PeerNetwork& network) const {
  for (const consensus::PeerLiveness& peer : peers_) {
    if (peer.credit == 0 &&
        network.credit(peer.node, netcore::Band::Consensus) >= env_.lane_count) {
      return true;
    }
  }
  return false;
}

bool TurnLane::owes_snapshot() const {
  return workers_->storage.owes_snapshot();
}

void TurnLane::send_snapshots() {
  workers_->messages.send_snapshots();
}

void TurnLane::apply() {
  workers_->applies.apply_all();
}

void TurnLane::end_turn() {
  rows.active.end_turn();
  workers_->reports.tell();
}

std::uint32_t TurnLane::leader_count() const {
  return workers_->reports.leader_count();
}

void TurnLane::shrink() {
  outflow.shrink();
  rows.shrink();
  arrivals.shrink();
  calls.shrink();
  workers_->applies.shrink();
  workers_->messages.shrink();
}

}  // namespace gcoord::server
