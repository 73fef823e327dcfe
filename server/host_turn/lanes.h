// The lanes of a node, as one: who has which shard, and what a turn does for all of them.
//
// A turn is work() for all lanes, at once where that pays; what leaves them goes on lane by lane,
// in their order: calls of the service, one record of the log of record, messages, decided entries.
// One thread, the owner's; turn threads work inside of work() only.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/host_turn/lane.h"
#include "server/host_turn/turn_threads.h"
#include "server/interfaces/replica_view.h"
#include "server/replicas/checkpointing.h"
#include "server/replicas/disk.h"
#include "server/replicas/recoveries.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gcoord::server {

class TurnLanes {
 public:
  // All outlive it.
  struct Environment {
    const ReplicaOptions& options;
    StateMachine& service;
    const ReplicaClock& clock;
    MetricsRegistry& registry;
    ReplicaMetrics& metrics;
  };

  // Divides the slices and opens a stepper for each lane. The options hold a shard.
  static Result<std::unique_ptr<TurnLanes>> open(const Environment& environment);
  ~TurnLanes();
  TurnLanes(const TurnLanes&) = delete;
  TurnLanes& operator=(const TurnLanes&) = delete;

  // What the rows need besides, once it is open; all outlive the lanes.
  struct Connections {
    Checkpointing& checkpointing;  // Of a part for each lane.
    const ReplicaPeers& peers;
    SnapshotSender& sender;
    netcore::PeerNetwork& network;
  };

  // Every row is to be stepped, and the threads begin.
  void connect(const Connections& connections);

  const std::vector<std::unique_ptr<TurnLane>>& all() const { return lanes_; }

  // The lane of each slice.
  const Recoveries::Deal& deal() const { return deal_; }

  ReplicaRows& rows_of(ShardId shard) const {
    return lanes_[deal_[consensus::slice_of(shard)]]->rows;
  }

  // Each lane's first look for due rows begins after `part` of `parts` of its rows.
  void begin_at(std::size_t part, std::size_t parts);

  // Between turns: rows may send to the node from here on, or have nothing to do with it any more.
  void add_peer(NodeId node);
  void remove_peer(NodeId node);

  // Between turns: the rows have at least so many slots from here on; at most kReplicaSlots. Fails
  // as the steppers do.
  Status make_slots(std::uint32_t slot_count);

  // Rows that found no credit are tried again, in every lane or where credit came back.
  void retry_stalled(bool everywhere, const netcore::PeerNetwork& network);
  void wake_all();
  // Once and for all: readmission.h.
  void turn_on_readmission();

  // Which members the shards are to have from now on, by the view of this epoch: members_mover.h.
  // The columns have a slot for each of them, as far as kReplicaSlots go.
  void set_members_targets(const MembersTargets& targets, std::uint64_t epoch);

  // Whether a node may keep what is handed to it, by these members.
  bool keeps_leaderships(NodeId node) const {
    return lanes_.front()->members.keeps_leaderships(node);
  }

  // How far the shards led here are with it.
  MembersProgress members_progress() const;

  // Works on all lanes: what they are told, then, with `steps`, the rows of the turn. What they say
  // to the service is said when this returns. The first failure.
  struct Turn {
    const TurnState& state;
    const consensus::StepInput& input;
    ledger::Lsn durable;
    bool steps = true;
  };

  Status work(const Turn& turn, const netcore::PeerNetwork& network);

  // Once a tick, before anything of a turn leaves: rows that rest in memory which only a device
  // sees may have changed by themselves.
  Status look_over();

  // Hands what the lanes want durable to the disk as one record, so that all of the turn becomes
  // durable with one sync.
  void submit(ReplicaDisk& disk);
  // Sends what the lanes have gathered.
  void send(netcore::PeerNetwork& network);
  void apply();
  // Returns what the lanes have done in the turn. A turn that failed sends nothing.
  std::size_t end_turn(bool failed);

  // For how many ticks the disk has owed the oldest acknowledgement.
  std::uint64_t waits_since(Tick now, ledger::Lsn durable) const;
  // Whether the next turn has something to do without waiting for anybody.
  bool wants_turn(ledger::Lsn durable) const;
  Tick next_deadline(Tick now) const;
  // Whether rows had grown to what a burst needs and gave it back; give_back() does the rest.
  bool shrink();
  void give_back();
  std::uint32_t forgotten_count() const;
  // Messages that no step has taken yet.
  std::size_t messages_left() const;
  // Adds what the lanes count.
  void describe(NodeView& node) const;

 private:
  explicit TurnLanes(const Environment& environment);

  void start_threads();
  void begin(const Turn& turn, const netcore::PeerNetwork& network);
  bool may_wait() const;
  bool worth_threads(const Turn& turn) const;

  Environment env_;
  Recoveries::Deal deal_{};
  std::mutex reading_;
  std::unique_ptr<DeviceMetrics> device_metrics_;  // nullptr on the CPU.
  std::vector<std::unique_ptr<TurnLane>> lanes_;
  std::size_t first_to_send_ = 0;         // What is left of the credit is not always of the same.
  ledger::WalBatch merged_;               // Of several lanes; kept warm.
  std::unique_ptr<TurnThreads> threads_;  // None for one lane.
  Counter& shared_turns_;
};

}  // namespace gcoord::server
