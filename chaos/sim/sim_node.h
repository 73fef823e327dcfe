// One simulated process: a CPU stepper over all its shards, their logs and service states, a clock
// of its own, and the duties that the outbox lays on the owner of a row.
//
// The node is what a real node is without sockets and files: it polls messages, reads its clock,
// steps the active rows, writes, sends, applies. A restart is a fresh SimNode over the same
// SimDisk.
#pragma once

#include "chaos/random/sim_random.h"
#include "chaos/sim/sim_checker.h"
#include "chaos/sim/sim_disk.h"
#include "chaos/sim/sim_options.h"
#include "consensus/step/members_plan.h"
#include "consensus/step/stepper.h"
#include "netcore/transport/simulated_network.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::chaos {

// World time advances in quanta; a tick of a clock without drift is this many.
inline constexpr std::uint32_t kQuantaPerTick = 4;

// What all nodes of a world share.
struct SimWorldParts {
  const SimOptions& options;
  netcore::SimulatedNetwork& network;
  SimChecker& checker;
  SimCounts& counts;
};

struct SimNodeOptions {
  NodeId id;
  Incarnation incarnation;
  bool rejoining = false;  // An earlier disk may have held promises that this one does not.
  std::uint64_t boot_quantum = 0;
  std::uint32_t clock_rate_ppm = 1'000'000;  // Of this node's clock, relative to world time.
};

class SimNode {
 public:
  SimNode(const SimWorldParts& world, const SimNodeOptions& options, SimDisk& disk);

  // One turn at world time `quantum`: poll, step, persist, send, apply.
  void turn(std::uint64_t quantum);

  // Requests of users and operators; taken in the next turn, refused or lost like real ones.
  void propose(std::uint32_t shard, std::uint64_t value) { wishes_[shard].values.push_back(value); }

  void reconfigure(std::uint32_t shard, const consensus::Configuration& to) {
    wishes_[shard].configuration = to;
  }

  void transfer(std::uint32_t shard, NodeId to) { wishes_[shard].transfer_to = to; }

  // The members that the node wants its shards to have.
  void set_target(const consensus::MembersTarget& target) { target_ = target; }

  // Every other one by a round of the quorum, whatever the lease says.
  void read(std::uint32_t shard);
  void checkpoint(std::uint32_t shard);

  const consensus::ShardColumns& columns() const { return stepper_->columns(); }

  const SimState& state(std::uint32_t shard) const { return shards_[shard].state; }

  bool leads(std::uint32_t shard) const {
    return columns().hot[shard].role == consensus::Role::Leader;
  }

  // Whether what the node promised on the shard binds it.
  bool remembers(std::uint32_t shard) const {
    return (columns().hot[shard].flags & consensus::kRowForgetful) == 0;
  }

  // Whether the node would answer a read on its own at this very moment.
  bool holds_lease(std::uint32_t shard, std::uint64_t quantum) const;

  bool wants_turn() const { return wants_turn_; }

 private:
  struct ShardLog {
    SimState state;  // Service state, as of state.index.
    LogIndex base;   // entries[k] has index base + 1 + k.
    std::uint64_t base_chain = 0;
    std::vector<SimEntry> entries;
  };

  struct Wishes {
    std::vector<std::uint64_t> values;
    std::optional<consensus::Configuration> configuration;
    NodeId transfer_to;
    std::uint64_t read_sequence = 0;
    consensus::ReadProof read_proof = consensus::ReadProof::LeaseOrRound;
    LogIndex compact_to;
  };

  // Input that waits for the next step of a row.
  struct Waiting {
    std::deque<SimMessage> messages;
    consensus::StorageAck storage_ack;
    LogIndex applied;
    LogIndex configuration_index;
    consensus::Configuration configuration;
    bool woken = false;
    bool again = false;
  };

  struct OpenRead {
    std::uint64_t sequence = 0;
    LogIndex committed_then;
    consensus::ReadProof proof = consensus::ReadProof::LeaseOrRound;
  };

  Tick clock(std::uint64_t quantum) const;
  void recover_shard(std::uint32_t shard);
  void poll(std::uint64_t quantum);
  void beat();
  void wake_all();
  void readmit(std::uint32_t shard);
  void move_members(std::uint32_t shard);
  bool active(std::uint32_t shard) const;
  void step_shard(std::uint32_t shard, std::uint64_t quantum);
  consensus::Inbox fill_inbox(std::uint32_t shard, std::vector<SimMessage>& taken);
  void keep_entries(std::uint32_t shard,
                    const consensus::Outbox& out,
                    const std::vector<SimMessage>& taken,
                    const Wishes& wishes);
  void install(std::uint32_t shard, const SimState& state);
  void append(std::uint32_t shard, SimEntry entry);
  void cut(std::uint32_t shard, LogIndex from);
  void write(std::uint32_t shard, const consensus::Outbox& out, std::uint64_t quantum);
  void send(std::uint32_t shard, const consensus::Outbox& out);
  void apply(std::uint32_t shard, const consensus::ApplyRequest& request);
  void apply_one(std::uint32_t shard, LogIndex index);
  void judge(std::uint32_t shard, const consensus::Outbox& out, consensus::Role before);
  const SimEntry& entry(std::uint32_t shard, LogIndex index) const;
  std::uint64_t chain_at(std::uint32_t shard, LogIndex index) const;

  SimWorldParts world_;
  SimNodeOptions options_;
  SimDisk& disk_;
  std::unique_ptr<consensus::Stepper> stepper_;
  std::vector<ShardLog> shards_;
  std::vector<Waiting> waiting_;
  std::vector<Wishes> wishes_;
  std::vector<OpenRead> reads_;
  std::vector<consensus::PeerLiveness> peers_;
  consensus::StepInput input_;
  SimRandom random_;
  Tick last_beat_;
  std::uint64_t next_read_ = 1;
  consensus::MembersTarget target_;
  bool wants_turn_ = true;
};

}  // namespace gcoord::chaos
