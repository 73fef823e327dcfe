// One node of a scenario: a stepper over its rows, what it knows of its peers, and its clock.
//
// A node may be stopped (its memory is lost, its storage stays), paused (it does nothing while its
// clock goes on, as under SIGSTOP) and run with a clock that is too fast or too slow. Its storage
// may be replaced by an empty one or by an old image of itself; then it is the next generation of
// the node. A new start has the next incarnation and starts its ticks at 1. Host only; one thread.
#pragma once

#include "consensus/scenario/fake_storage.h"
#include "consensus/scenario/link_network.h"
#include "consensus/scenario/observer.h"
#include "consensus/scenario/replica.h"
#include "consensus/step/liveness.h"
#include "consensus/step/stepper.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::consensus::scenario {

using StepperFactory =
    std::function<std::unique_ptr<Stepper>(std::uint32_t row_count, std::uint32_t slot_count)>;

// The pace of a perfect clock: thousandths of a tick per tick of the scenario.
inline constexpr std::uint32_t kClockRatePerfect = 1000;

// A channel that always takes one more message.
inline constexpr std::uint32_t kCreditUnlimited = ~std::uint32_t{0};

struct NodeOptions {
  NodeId self;
  std::uint32_t node_count = 0;
  std::uint32_t shard_count = 1;
  std::uint32_t slot_count = kReplicaSlots;
  std::uint32_t inbox_messages = 1;  // Messages that one step folds in.
  std::uint64_t seed = 1;
  Timing timing;
  StepLimits limits;
  Configuration configuration;  // What the node's empty storage says of every shard.
  Durability durability = Durability::Durable;
  StepperFactory make_stepper;
};

enum class NodeCondition : std::uint8_t { Running, Paused, Stopped };

class Node {
 public:
  // Starts the first life, which need not wait before it votes.
  explicit Node(const NodeOptions& options);

  NodeId self() const { return options_.self; }

  NodeCondition condition() const { return condition_; }

  bool running() const { return condition_ == NodeCondition::Running; }

  Tick tick() const { return tick_; }

  Incarnation incarnation() const { return incarnation_; }

  // What the rows of this node see besides themselves.
  StepInput step_input() const;

  const Stepper& stepper() const { return *stepper_; }

  // Null while the node is stopped.
  Replica* replica(ShardId shard);
  const Replica* replica(ShardId shard) const;

  // What survives the node's lives.
  const FakeStorage& storage(ShardId shard) const { return storage_[shard.value]; }

  std::vector<PeerLiveness>& peers() { return peers_; }

  // Ends the process: requests under way at the storage are lost, or become durable unacknowledged.
  enum class UnderWay : std::uint8_t { Lost, Durable };
  void stop(UnderWay requests);

  // The storage of a stopped node is lost: the next start finds an empty one, or the image.
  enum class Found : std::uint8_t { Nothing, Image };
  void replace_storage(Found found);

  // Keeps what storage holds now, as a backup does.
  void keep_image() { image_ = storage_; }

  // Starts anew.
  void start();
  void pause();
  void resume();

  void set_clock_rate(std::uint32_t thousandths) { clock_rate_ = thousandths; }

  // The members that the node wants its shards to have, from now on and in later lives; it moves
  // those that it leads. If it is a witness by them, it is one at once.
  void set_target(const MembersTarget& target);

  // How many messages the channel to a peer still takes.
  void set_credit(NodeId peer, std::uint32_t credit);

  // Hold from the next step on, for all rows and lives.
  void set_storage_acknowledging(Acknowledging by);
  void set_apply_acknowledging(Acknowledging by);

  // One tick of the scenario passes.
  void pass_tick();

  void send_heartbeats(LinkNetwork& network);
  void read_heartbeats(LinkNetwork& network, Observer& observer);

  // Takes what arrived, steps the rows that are due and carries out what they ask for. False if
  // there was nothing to do.
  bool turn(LinkNetwork& network, Observer& observer);

 private:
  void boot();
  bool lives_end() const;
  void note_rejoined();
  bool is_witness(NodeId node) const;
  void note_witnesses();
  void wake_all();
  PeerLiveness* peer(NodeId node);
  bool well_packed(const Packet& packet);
  void route(LinkNetwork& network, Observer& observer);
  void send(LinkNetwork& network, Observer& observer, const Packet& packet, const Replica& sender);

  NodeOptions options_;
  std::vector<FakeStorage> storage_;
  std::vector<FakeStorage> image_;  // Empty until one was kept.
  bool rejoining_ = false;          // Some replica may not know what an earlier storage promised.
  std::unique_ptr<Stepper> stepper_;
  std::vector<Replica> replicas_;
  std::vector<PeerLiveness> peers_;
  NodeCondition condition_ = NodeCondition::Stopped;
  Incarnation incarnation_;
  Tick tick_;
  Tick vote_after_;
  std::uint64_t clock_ = 0;  // Thousandths of ticks since this life began.
  std::uint32_t clock_rate_ = kClockRatePerfect;
  Acknowledging storage_by_ = Acknowledging::Automatic;
  Acknowledging apply_by_ = Acknowledging::Automatic;
  MembersTarget target_;
};

}  // namespace gcoord::consensus::scenario
