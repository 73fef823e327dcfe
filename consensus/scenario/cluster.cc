#include "consensus/scenario/cluster.h"

#include "common/assert.h"
#include "common/random.h"
#include "consensus/step/step.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::consensus::scenario {
namespace {

// Rounds of turns after which a cluster that still finds something to do is called restless. The
// longest scenario needs about 60.
constexpr std::uint32_t kRoundsMax = 1000;

// What a scenario may ask for: enough for every test, and no more memory than a laptop has.
constexpr std::uint32_t kNodesMax = 16;
constexpr std::uint32_t kShardsMax = 4096;
constexpr std::uint32_t kTicksMax = 1u << 20;
constexpr std::uint32_t kMessageEntriesMax = 0xffff;  // Message::count has 16 bits.

Members all_voters(std::uint32_t nodes) {
  Members members;
  for (std::uint32_t node = 1; node <= nodes; ++node) {
    members.voters.push_back({NodeId{node}, 1});
  }
  return members;
}

// Values with which the step's arithmetic would not hold.
Status check(const ClusterOptions& options) {
  const Timing& timing = options.timing;
  const StepLimits& limits = options.limits;
  const bool sane = options.nodes >= 1 && options.nodes <= kNodesMax && options.shards >= 1 &&
                    options.shards <= kShardsMax && timing.election_ticks >= 2 &&
                    timing.election_ticks <= kTicksMax && timing.resend_ticks >= 1 &&
                    timing.resend_ticks <= kTicksMax && timing.stagger_ticks <= kTicksMax &&
                    timing.retry_ticks <= kTicksMax &&
                    timing.lease_margin_ticks < timing.election_ticks &&
                    limits.window_entries >= 1 && limits.uncommitted_entries >= 1 &&
                    limits.message_entries >= 1 && limits.message_entries <= kMessageEntriesMax &&
                    options.inbox_messages >= 1 && options.inbox_messages <= kInboxMessages;
  if (!sane) {
    return {StatusCode::InvalidArgument,
            "out of range: 1 to 16 nodes, 1 to 4096 shards, election_ticks of at least 2 and above "
            "lease_margin_ticks, everything else at least 1"};
  }
  for (const Voter& voter : options.members.voters) {
    if (voter.node.value < 1 || voter.node.value > options.nodes) {
      return {StatusCode::InvalidArgument, fmt::format("there is no node {}", voter.node.value)};
    }
  }
  for (const NodeId learner : options.members.learners) {
    if (learner.value < 1 || learner.value > options.nodes) {
      return {StatusCode::InvalidArgument, fmt::format("there is no node {}", learner.value)};
    }
  }
  return {};
}

}  // namespace

// Passes every event on to all who watch, the trace and the checker first.
class Cluster::Fanout final : public Observer {
 public:
  explicit Fanout(std::vector<Observer*> observers) : observers_(std::move(observers)) {}

  void on_step(const StepReport& report) override {
    for (Observer* observer : observers_) {
      observer->on_step(report);
    }
  }

  void on_carried_out(const StepReport& report) override {
    for (Observer* observer : observers_) {
      observer->on_carried_out(report);
    }
  }

  void on_send(const Packet& packet, SendFate fate, const Replica& sender) override {
    for (Observer* observer : observers_) {
      observer->on_send(packet, fate, sender);
    }
  }

  void on_liveness(NodeId node, const PeerLiveness& peer, LivenessChange change) override {
    for (Observer* observer : observers_) {
      observer->on_liveness(node, peer, change);
    }
  }

  void on_persist(NodeId node, ShardId shard, const StorageRequest& request) override {
    for (Observer* observer : observers_) {
      observer->on_persist(node, shard, request);
    }
  }

  void on_durable(NodeId node, ShardId shard, const StorageAck& ack) override {
    for (Observer* observer : observers_) {
      observer->on_durable(node, shard, ack);
    }
  }

  void on_unroutable(NodeId node) override {
    for (Observer* observer : observers_) {
      observer->on_unroutable(node);
    }
  }

  void add(Observer& observer) { observers_.push_back(&observer); }

 private:
  std::vector<Observer*> observers_;
};

Cluster::~Cluster() = default;

void Cluster::watch(Observer& observer) {
  observers_->add(observer);
}

Result<std::unique_ptr<Cluster>> Cluster::create(const ClusterOptions& options) {
  GCOORD_TRY_STATUS(check(options));
  const Members members =
      options.members.voters.empty() ? all_voters(options.nodes) : options.members;
  GCOORD_TRY(const Configuration configuration, changed(Configuration{}, members, Change::Simple));
  return std::unique_ptr<Cluster>(new Cluster(options, configuration));
}

Cluster::Cluster(const ClusterOptions& options, const Configuration& configuration)
    : options_(options),
      network_(options.nodes),
      trace_(options.shards),
      checker_(nodes_, options.shards),
      observers_(std::make_unique<Fanout>(std::vector<Observer*>{&trace_, &checker_})) {
  if (options.clocks_astray) {
    checker_.distrust_leases();
  }
  for (std::uint32_t node = 1; node <= options.nodes; ++node) {
    const bool member = slot_of(configuration, NodeId{node}) != kSlotNone;
    nodes_.push_back(std::make_unique<Node>(
        NodeOptions{.self = NodeId{node},
                    .node_count = options.nodes,
                    .shard_count = options.shards,
                    .slot_count = kReplicaSlots,
                    .inbox_messages = options.inbox_messages,
                    .seed = options.seed,
                    .timing = options.timing,
                    .limits = options.limits,
                    .configuration = member ? configuration : Configuration{},
                    .durability = options.durability,
                    .make_stepper = options.make_stepper}));
  }
  exchange_heartbeats();
  exchange_heartbeats();  // The second one brings the echoes of the first.
  settle();
}

Node& Cluster::node(NodeId node) {
  GCOORD_ASSERT(node.value >= 1);
  GCOORD_ASSERT(node.value <= nodes_.size());
  return *nodes_[node.value - 1];
}

void Cluster::exchange_heartbeats() {
  for (const auto& each : nodes_) {
    if (each->running()) {
      each->send_heartbeats(network_);
    }
  }
  for (const auto& each : nodes_) {
    if (each->running()) {
      each->read_heartbeats(network_, *observers_);
    } else if (each->condition() == NodeCondition::Stopped) {
      network_.forget_passing(each->self());
    }
  }
}

void Cluster::tick(std::uint32_t count) {
  for (std::uint32_t k = 0; k < count; ++k) {
    for (const auto& each : nodes_) {
      each->pass_tick();
    }
    checker_.check_replicas();  // Leases as the clocks stand, before anybody learns anything.
    exchange_heartbeats();
    settle();
  }
}

void Cluster::settle() {
  for (std::uint32_t round = 0; round < kRoundsMax; ++round) {
    bool busy = false;
    for (const auto& each : nodes_) {
      if (each->condition() == NodeCondition::Stopped) {
        network_.forget_passing(each->self());
      }
      busy = (each->running() && each->turn(network_, *observers_)) || busy;
    }
    checker_.check_replicas();
    if (!busy) {
      return;
    }
  }
  checker_.violate(fmt::format("rest: still busy after {} rounds of turns", kRoundsMax));
}

std::uint64_t Cluster::read(NodeId at, ShardId shard, ReadProof proof) {
  Replica* replica = node(at).replica(shard);
  GCOORD_ASSERT(replica != nullptr);
  replica->wishes().read_sequence = ++read_sequence_;
  replica->wishes().read_proof = proof;
  if (!options_.clocks_astray || proof == ReadProof::Round) {
    checker_.expect_read(shard, read_sequence_);
  }
  return read_sequence_;
}

std::uint64_t Cluster::lease_ticks(NodeId at, ShardId shard) {
  const Replica* replica = node(at).replica(shard);
  if (replica == nullptr) {
    return 0;
  }
  const Tick end = lease_expires(replica->row(), node(at).step_input());
  return end > node(at).tick() ? end - node(at).tick() : 0;
}

bool Cluster::acknowledge_storage(NodeId at, ShardId shard) {
  Replica* replica = node(at).replica(shard);
  return replica != nullptr && replica->acknowledge_storage(*observers_);
}

void Cluster::inject(const Message& message) {
  Packet packet{message, {}, nullptr};
  const bool configuration = (message.flags & kFlagConfiguration) != 0;
  if (message.kind == MessageKind::Append) {
    const Entry filler =
        configuration ? encode_configuration(Configuration{}) : Entry{EntryKind::Command, "forged"};
    packet.entries.assign(message.count, filler);
  }
  network_.link(message.from, message.to).passing.push_back(packet);
}

void Cluster::force_snapshot(NodeId from, NodeId to, ShardId shard) {
  const Replica* leader = node(from).replica(shard);
  GCOORD_ASSERT(leader != nullptr);
  Message message;
  message.shard = shard;
  message.kind = MessageKind::Snapshot;
  message.from = from;
  message.to = to;
  message.term = leader->row().hot().term;
  message.commit = leader->row().log().commit;
  network_.send(leader->pack(message));
}

std::uint64_t Cluster::digest() {
  std::uint64_t digest = 0;
  for (const auto& each : nodes_) {
    for (std::uint32_t shard = 0; shard < options_.shards; ++shard) {
      const Replica* replica = each->replica(ShardId{shard});
      if (replica != nullptr) {
        digest = mix64(digest ^ row_digest(each->stepper().columns(), shard));
        digest = mix64(digest ^ replica->service().digest());
      }
    }
  }
  return digest;
}

}  // namespace gcoord::consensus::scenario
