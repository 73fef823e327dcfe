// The engine of a node whose turn stays on its device: rows, logs, channels and lock tables live
// there, and one kernel polls, steps, sends, applies and tells (device_turn.h). The host decodes
// what clients want, pushes it into rings, and carries what the kernel tells to the service.
//
//   client -> frame -> command -> ring -> device: propose, replicate, commit, apply -> ring ->
//   reply
//
// Without a GPU the same turn is run by this thread, as its twin: slower, and the same to the bit.
//
// Its life: it prepares its turn, joins its peers' memory, says so to them, and begins when both
// have said so, too (resident_begin.h); so no node leads everything because it was first.
//
// What it serves: three, five or seven nodes, all with this turn, on GPUs or as their twins.
// Two of them reach each other through memory that they map (resident_join.h), or by proxy over the
// peer network (resident_proxies.h), as both ends choose alike (resident_links.h); host services
// speak over the peer network as ever. Nothing is decided before all of them have admitted each
// other once, as with any turn.
//
// A node whose data directory is lost comes back as another life of it, as with the host's turn
// (--rejoin, docs/adr/0025, 0069): its rows begin as ones that have forgotten.
//
// In durable mode what rows promise is in the log of record first (resident_storage.h). A node that
// ended begins again with what it stored, at once and with nobody, and channels are joined as it
// and the others find each other (docs/adr/0029, link_keeper.h). In memory mode it begins
// with rows that know that they have forgotten, and the turns of the others take them back one by
// one (docs/adr/0033, device_turn_readmit.h).
//
// A host that cannot work (stopped, or its disk stands still) lets its device fall silent, so that
// the others lead (TurnTiming::host_patience_ns).
//
// The host checks the device: an answer to a probe in every lane about twice a second, equal state
// hashes after every command, entries in order. The first failure ends the node (GC7101 to GC7103)
// with nothing more answered. One thread; calls as in replicated_log.h.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "ledger/directory/data_directory.h"
#include "netcore/peers/network.h"
#include "server/interfaces/state_machine.h"
#include "server/peers/admission.h"
#include "server/peers/heartbeats.h"
#include "server/replicas/failure_latch.h"
#include "server/replicas/options.h"
#include "server/resident/engine/event_drain.h"
#include "server/resident/engine/members.h"
#include "server/resident/engine/pool_keeper.h"
#include "server/resident/engine/refused_requests.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/rows.h"
#include "server/resident/engine/states.h"
#include "server/resident/engine/storage.h"
#include "server/resident/links/link_keeper.h"
#include "server/resident/links/start_barrier.h"
#include "server/resident/node/device.h"
#include "server/resident/saves/checkpointed_log.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct ResidentReplicasOptions {
  // Of these it takes cluster, node, shard_count, peers, addresses, data_directory, durability,
  // ticks and timing, device, device_fault, resident_peers, seed and clock_us.
  ReplicaOptions engine;
  std::uint32_t locks_max = 1u << 20;  // What the lock tables of the node are sized for.
  std::uint64_t index_seed = 0;
  // Whether all nodes of the cluster are known to have Feature::SystemRecords now
  // (Abilities::takes_records); none: they are not.
  std::function<bool()> nodes_take_records;
  // The same of Feature::DeviceLedger (Abilities::publishes). From then on entries say who asked
  // for them and when, for ever: whoever has read one is of a release that has it.
  std::function<bool()> nodes_keep_ledgers;
  // Told of what this host sees of its rows, in place of ReplicaOptions::trace; none: no trace.
  std::function<void(const TurnSighting&)> sight;
  // Threads that follow the lanes; part_shards as resident_part_shards() says.
  CopyOptions copy;
};

// How long the host may stand still before its device falls silent: half of what peers wait for.
constexpr std::uint64_t host_patience_ms(const ReplicaOptions& options) {
  return std::uint64_t{options.timing.election_ticks} * options.tick_ms / 2;
}

// How long a peer's device may be silent on a proxy: less than devices stand, by as much as one
// host may read the time later than the other's device.
constexpr std::uint64_t proxy_silence_ms(const ReplicaOptions& options) {
  return std::uint64_t{options.timing.election_ticks} * options.tick_ms * 3 / 4;
}

class ResidentReplicas final : public CheckpointedLog, private netcore::Sink {
 public:
  // Failures are for the operator: OptionInvalid for what is not served, the directory's and the
  // device's own numbers, the network's.
  static Result<std::unique_ptr<ResidentReplicas>> open(ResidentReplicasOptions options,
                                                        StateMachine& service,
                                                        MetricsRegistry& metrics);
  ~ResidentReplicas() override;

  bool takes(const locks::LockCommand& command) const override {
    return ResidentRequests::has_place(command);
  }

  Abilities abilities() const override {
    return {.ends_max = locks::kEntryEndsMax,
            .on_device = true,
            .timed_leases = false,
            .takes_records = rows_->counts().recorded != 0 ||
                             (options_.nodes_take_records && options_.nodes_take_records()),
            .publishes = requests_->stamps(),
            .keeps_bytes = false};
  }

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override;
  void read(ShardId shard, std::uint64_t cookie) override;
  void read_by_round(ShardId shard, std::uint64_t cookie) override;
  void note_gap() override;

  ShardView view(ShardId shard) const override { return rows_->view(shard); }

  NodeView view() const override;
  bool send_peer_message(NodeId to, std::span<const std::byte> message) override;

  std::size_t turn() override;

  Status failure() const override { return failure_.status(); }

  bool arm() override;
  std::vector<int> event_fds() const override;
  std::chrono::milliseconds until_next_deadline() const override;

  Incarnation incarnation() const override { return identity_->incarnation(); }

  std::uint16_t listen_port() const override { return network_->listen_port(); }

  void transfer(ShardId shard, NodeId to) override;
  void set_members(const ClusterMembers& members) override;
  MembersProgress members_progress() const override;

  std::string shard_channel(NodeId peer) const override { return links_->channel_text(peer); }

  void on_observed(bool observed) override { events_->leave_all(observed); }

 private:
  // When work of the loop is due, by the engine's clock; 0: at once, or not yet known.
  struct Due {
    std::uint64_t established_ms = 0;  // Since when it is known; 0: it is not.
    std::uint64_t network_us = 0;      // The next look at the peers' sockets.
    std::uint64_t sleep_us = 0;        // Until then work may come any moment: do not sleep.
    std::uint64_t alive_ms = 0;        // The next word to the device that its host works.
    std::uint64_t turned_us = 0;       // The last turn.
    std::uint64_t gap_told_us = 0;     // When a standstill was told last.
    std::uint64_t trust_us = 0;        // Votes that a doubt holds are not let go before.
    PoolKeeper pools;                  // Looks whether pools are too large.
  };

  ResidentReplicas(ResidentReplicasOptions options,
                   StateMachine& service,
                   MetricsRegistry& metrics);

  // resident_open.cc
  Status open_directory();
  Status open_storage(MetricsRegistry& metrics);
  Status open_memory_rows();
  Status open_node();
  Status open_network(MetricsRegistry& metrics);
  Status open_links(MetricsRegistry& metrics);

  bool is_durable() const { return storage_ != nullptr; }

  // What peers remember of this directory: how far its log reaches; in memory mode, where there is
  // none, whether it ever took part, so that an image from before that does not come back.
  std::uint64_t durable_word() const {
    return is_durable() ? storage_->durable_lsn() : identity_->in_use() ? 1 : 0;
  }

  Result<std::size_t> meet(std::uint64_t now_ms);
  Status while_quiesced(const std::function<Status()>& work);
  Result<std::size_t> run(std::uint64_t now_us);
  Result<std::size_t> store(std::uint64_t now_ms);
  bool disk_stands_still(std::uint64_t now_ms) const;
  Status tell_alive(std::uint64_t now_ms);
  void fail(const Status& status);

  std::uint64_t now_ms() const { return options_.engine.clock_us() / 1000; }

  // netcore::Sink
  void on_frame(NodeId from,
                netcore::Band band,
                std::span<const netcore::Slot> slots,
                const netcore::PayloadView& payloads) override;
  void on_heartbeat(NodeId from, const netcore::Heartbeat& heartbeat) override;
  void on_peer_up(NodeId peer, Incarnation incarnation, std::uint32_t epoch) override;
  void on_peer_down(NodeId peer, std::string_view reason) override;
  void on_refused(NodeId peer, const netcore::Refusal& refusal) override;

  ResidentReplicasOptions options_;
  StateMachine& service_;
  ResidentMetrics metrics_;
  std::unique_ptr<ledger::DataDirectory> directory_;  // In memory mode.
  ledger::IdentityFile* identity_ = nullptr;
  bool has_promised_ = false;  // Rows of this directory may have, before this start.
  ResidentDevice device_;      // Where the node lives, and its turn.
  std::unique_ptr<ResidentRequests> requests_;
  std::unique_ptr<ResidentRows> rows_;
  std::unique_ptr<ResidentStates> states_;
  std::unique_ptr<ResidentStorage> storage_;  // In durable mode.
  std::unique_ptr<EventDrain> events_;
  std::unique_ptr<PeerAdmission> admission_;
  std::unique_ptr<ResidentMembers> members_;
  std::unique_ptr<netcore::PeerNetwork> network_;
  std::unique_ptr<Heartbeats> heartbeats_;  // Of milliseconds.
  std::unique_ptr<LinkKeeper> links_;
  RefusedRequests refused_;
  FailureLatch failure_;
  Due due_;
};

}  // namespace gcoord::server
