#include "consensus/scenario/node.h"

#include "common/assert.h"
#include "common/incarnation.h"
#include "common/random.h"

#include <algorithm>
#include <utility>

namespace gcoord::consensus::scenario {

Node::Node(const NodeOptions& options)
    : options_(options), storage_(options.shard_count, FakeStorage(options.configuration)) {
  boot();
}

void Node::boot() {
  ++incarnation_;
  clock_ = kClockRatePerfect;
  tick_ = Tick{1};
  const bool first_life = incarnation_.value == 1;
  const bool memory = options_.durability == Durability::Memory;
  vote_after_ = first_life ? Tick{} : tick_ + options_.timing.election_ticks;
  peers_.clear();
  for (std::uint32_t node = 1; node <= options_.node_count; ++node) {
    if (NodeId{node} != self()) {
      PeerLiveness record;
      record.node = NodeId{node};
      record.credit = kCreditUnlimited;
      record.lives_by_start = memory ? 1 : 0;
      peers_.push_back(record);
    }
  }
  note_witnesses();
  stepper_ = options_.make_stepper(options_.shard_count, options_.slot_count);
  replicas_.clear();
  const bool forgetful = rejoining_ || (memory && !first_life);
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    replicas_.emplace_back(
        self(), ShardRef(stepper_->columns(), shard), storage_[shard], forgetful);
  }
  set_storage_acknowledging(storage_by_);
  set_apply_acknowledging(apply_by_);
  condition_ = NodeCondition::Running;
}

StepInput Node::step_input() const {
  StepInput input;
  input.tick = tick_;
  input.seed = random64(options_.seed, self().value, incarnation_.value);
  input.self = self();
  input.vote_after = vote_after_;
  input.timing = options_.timing;
  input.limits = options_.limits;
  input.incarnation = incarnation_;
  input.durability = options_.durability;
  input.first_life = incarnation_.value == 1 ? 1 : 0;
  input.lives_end = lives_end() ? 1 : 0;
  input.peer = peers_.data();
  input.peer_count = static_cast<std::uint32_t>(peers_.size());
  input.witness = is_witness(self()) ? 1 : 0;
  return input;
}

bool Node::is_witness(NodeId node) const {
  const gcoord::Found<TargetNode> found = find_target(target_, node);
  return found.found() && (found->flags & kTargetWitness) != 0;
}

void Node::note_witnesses() {
  for (PeerLiveness& peer : peers_) {
    peer.witness = is_witness(peer.node) ? 1 : 0;
  }
}

void Node::set_target(const MembersTarget& target) {
  target_ = target;
  note_witnesses();
}

bool Node::lives_end() const {
  return generation_of(incarnation_) != 0 ||
         std::any_of(peers_.begin(), peers_.end(), [](const PeerLiveness& peer) {
           return generation_of(peer.incarnation) != 0;
         });
}

// A restart on the way back forgets again; once every replica remembers, none does.
void Node::note_rejoined() {
  rejoining_ =
      rejoining_ && std::any_of(replicas_.begin(), replicas_.end(), [](const Replica& each) {
        return (each.row().hot().flags & kRowForgetful) != 0;
      });
}

Replica* Node::replica(ShardId shard) {
  return shard.value < replicas_.size() ? &replicas_[shard.value] : nullptr;
}

const Replica* Node::replica(ShardId shard) const {
  return shard.value < replicas_.size() ? &replicas_[shard.value] : nullptr;
}

void Node::stop(UnderWay requests) {
  for (FakeStorage& storage : storage_) {
    if (requests == UnderWay::Durable && storage.under_way()) {
      storage.finish();
    }
    storage.forget();
  }
  replicas_.clear();
  stepper_.reset();
  condition_ = NodeCondition::Stopped;
}

void Node::replace_storage(Found found) {
  GCOORD_ASSERT(condition_ == NodeCondition::Stopped);
  GCOORD_ASSERT(found == Found::Nothing || !image_.empty());
  const FakeStorage empty(options_.configuration);
  storage_ = found == Found::Image ? image_ : std::vector<FakeStorage>(options_.shard_count, empty);
  incarnation_ = incarnation_of(generation_of(incarnation_) + 1, start_of(incarnation_));
  rejoining_ = true;
}

void Node::start() {
  if (condition_ == NodeCondition::Stopped) {
    boot();
  }
}

void Node::pause() {
  condition_ = running() ? NodeCondition::Paused : condition_;
}

void Node::resume() {
  if (condition_ == NodeCondition::Paused) {
    condition_ = NodeCondition::Running;
    tick_ = Tick{clock_ / kClockRatePerfect};
  }
}

PeerLiveness* Node::peer(NodeId node) {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const PeerLiveness& record) {
    return record.node == node;
  });
  return found == peers_.end() ? nullptr : &*found;
}

void Node::set_credit(NodeId node, std::uint32_t credit) {
  PeerLiveness* record = peer(node);
  GCOORD_ASSERT(record != nullptr);
  const bool returned = record->credit == 0 && credit != 0;
  record->credit = credit;
  if (returned) {
    wake_all();
  }
}

void Node::set_storage_acknowledging(Acknowledging by) {
  storage_by_ = by;
  for (Replica& each : replicas_) {
    each.set_storage_acknowledging(by);
  }
}

void Node::set_apply_acknowledging(Acknowledging by) {
  apply_by_ = by;
  for (Replica& each : replicas_) {
    each.set_apply_acknowledging(by);
  }
}

void Node::wake_all() {
  for (Replica& each : replicas_) {
    each.wishes().woken = true;
  }
}

void Node::pass_tick() {
  clock_ += clock_rate_;
  if (running()) {
    tick_ = Tick{clock_ / kClockRatePerfect};
  }
}

void Node::send_heartbeats(LinkNetwork& network) {
  for (const PeerLiveness& record : peers_) {
    Heartbeat heartbeat;
    heartbeat.incarnation = incarnation_;
    heartbeat.echo_incarnation = record.incarnation;
    heartbeat.send = tick_;
    heartbeat.echo = record.peer_tick;
    network.send_heartbeat(self(), record.node, heartbeat);
  }
}

void Node::read_heartbeats(LinkNetwork& network, Observer& observer) {
  for (PeerLiveness& record : peers_) {
    const auto heartbeat = network.take_heartbeat(record.node, self());
    const LivenessChange change =
        heartbeat.has_value()
            ? on_heartbeat(record, *heartbeat, incarnation_, tick_, options_.timing)
            : refresh(record, tick_, options_.timing);
    if (change != LivenessChange::None) {
      wake_all();
      observer.on_liveness(self(), record, change);
    }
  }
}

bool Node::well_packed(const Packet& packet) {
  const Message& message = packet.message;
  if (peer(message.from) == nullptr) {
    return false;
  }
  if (message.kind == MessageKind::Append) {
    return packet.entries.size() == message.count;
  }
  return packet.snapshot == nullptr || packet.snapshot->state.applied == message.index;
}

void Node::route(LinkNetwork& network, Observer& observer) {
  while (auto packet = network.take(self())) {
    Replica* to = replica(packet->message.shard);
    if (to == nullptr || !well_packed(*packet)) {
      observer.on_unroutable(self());
      continue;
    }
    to->arrive(std::move(*packet));
  }
}

void Node::send(LinkNetwork& network,
                Observer& observer,
                const Packet& packet,
                const Replica& sender) {
  PeerLiveness* record = peer(packet.message.to);
  GCOORD_ASSERT(record != nullptr);  // `route` lets nobody else in.
  const SendFate fate = network.send(packet);
  record->credit -= record->credit == kCreditUnlimited || record->credit == 0 ? 0 : 1;
  observer.on_send(packet, fate, sender);
}

bool Node::turn(LinkNetwork& network, Observer& observer) {
  route(network, observer);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < replicas_.size(); ++row) {
    replicas_[row].move_members(step_input(), target_);
    if (replicas_[row].due(tick_)) {
      rows.push_back(row);
    }
  }
  std::vector<Inbox> in(rows.size());
  std::vector<Outbox> out(rows.size());
  std::vector<std::pair<Hot, Log>> before;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    replicas_[rows[k]].fill(in[k], options_.inbox_messages, observer);
    before.emplace_back(replicas_[rows[k]].row().hot(), replicas_[rows[k]].row().log());
  }
  const Status stepped = stepper_->step(rows, in, out, step_input());
  GCOORD_ASSERT(stepped.ok());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    Replica& replica = replicas_[rows[k]];
    const StepReport report{self(), before[k].first, before[k].second, in[k], out[k], replica};
    observer.on_step(report);
    replica.drain_outbox(out[k], tick_, observer, [&](const Packet& packet) {
      send(network, observer, packet, replica);
    });
    observer.on_carried_out(report);
  }
  note_rejoined();
  return !rows.empty();
}

}  // namespace gcoord::consensus::scenario
