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
// What it serves: three nodes, all with this turn, on GPUs or as their twins.
// Two of them reach each other through memory that they map (resident_join.h), or by proxy over the
// peer network (resident_proxies.h), as both ends choose alike (resident_links.h); host services
// speak over the peer network as ever. Nothing is decided before all three have admitted each other
// once, as with any turn.
//
// A node whose data directory is lost comes back as another life of it, as with the host's turn
// (--rejoin, docs/adr/0025, 0069): its rows begin as ones that have forgotten.
//
// In durable mode what rows promise is in the log of record first (resident_storage.h). A node that
// ended begins again with what it stored, at once and with nobody, and channels are joined as it
// and the others find each other (docs/adr/0029, resident_connect.cc). In memory mode it begins
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

#include "common/device_calls.h"
#include "common/metrics.h"
#include "ledger/data_directory.h"
#include "netcore/peer_network.h"
#include "server/directory_claim.h"
#include "server/engine_admission.h"
#include "server/engine_options.h"
#include "server/heartbeats.h"
#include "server/replicated_log.h"
#include "server/resident_begin.h"
#include "server/resident_channel_metrics.h"
#include "server/resident_device.h"
#include "server/resident_join.h"
#include "server/resident_links.h"
#include "server/resident_node.h"
#include "server/resident_patience.h"
#include "server/resident_probe.h"
#include "server/resident_proxies.h"
#include "server/resident_ready.h"
#include "server/resident_requests.h"
#include "server/resident_rows.h"
#include "server/resident_states.h"
#include "server/resident_storage.h"
#include "server/resident_turn.h"
#include "server/service.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct ResidentEngineOptions {
  // Of these it takes cluster, node, shard_count, peers, addresses, data_directory, durability,
  // ticks and timing, device, device_fault, resident_peers, seed and clock_us.
  EngineOptions engine;
  std::uint32_t locks_max = 1u << 20;  // What the lock tables of the node are sized for.
  std::uint64_t index_seed = 0;
};

// How long the host may stand still before its device falls silent: half of what peers wait for.
constexpr std::uint64_t host_patience_ms(const EngineOptions& options) {
  return std::uint64_t{options.timing.election_ticks} * options.tick_ms / 2;
}

// How long a peer's device may be silent on a proxy: less than devices stand, by as much as one
// host may read the time later than the other's device.
constexpr std::uint64_t proxy_silence_ms(const EngineOptions& options) {
  return std::uint64_t{options.timing.election_ticks} * options.tick_ms * 3 / 4;
}

// The most that the tables of a resident node are sized for, over all stripes.
inline constexpr std::uint32_t kResidentLocksMax = 1u << 20;

class ResidentEngine final : public ReplicatedLog, private netcore::Sink {
 public:
  // Failures are for the operator: OptionInvalid for what is not served, the directory's and the
  // device's own numbers, the network's.
  static Result<std::unique_ptr<ResidentEngine>> open(ResidentEngineOptions options,
                                                      Service& service,
                                                      MetricsRegistry& metrics);
  ~ResidentEngine() override;

  bool takes(const locks::LockCommand& command) const override {
    return ResidentRequests::has_place(command);
  }

  Abilities abilities() const override { return {.lists = false, .timed_leases = false}; }

  void propose(ShardId shard, std::span<const std::byte> command, std::uint64_t cookie) override;
  void read(ShardId shard, std::uint64_t cookie) override;

  ShardView view(ShardId shard) const override { return rows_->view(shard); }

  NodeView view() const override;
  bool send_peer_message(NodeId to, std::span<const std::byte> message) override;

  std::size_t turn() override;

  Status failure() const override { return failure_; }

  bool arm() override;
  std::vector<int> event_fds() const override;
  std::chrono::milliseconds until_next_deadline() const override;

  bool shrink() override { return false; }

  Incarnation incarnation() const override { return identity_->incarnation(); }

  std::uint16_t listen_port() const override { return network_->listen_port(); }

  void transfer(ShardId shard, NodeId to) override { requests_->transfer(shard, to); }

  std::string shard_channel(NodeId peer) const override;

 private:
  struct Refusal {
    std::uint64_t cookie = 0;
    bool read = false;
    Status status;
    NodeId leader;
  };

  struct Peer {
    NodeId id;
    std::uint64_t heard_ms = 0;  // 0: not since its channel last came up.
    Tick heard_last;             // 0: never in this life.
    bool ready = false;          // To begin its turn.
    std::uint64_t joined_ms = 0;
    ResidentPlace place;  // As it last said.
    std::uint64_t looked_ms = 0;
    Mapping mapping = Mapping::Unknown;
    ResidentLink link;
    std::uint32_t proxy_epoch = 0;  // A proxy is to be made under it; 0: none.
    Incarnation life;               // 0: its network was never up.
    ResidentPatience patience;      // Of that life.
    SayLimit said;                  // Of the way to it.
    std::string unmapped;           // Why its memory could not be mapped, the last time.
    std::string unproxied;          // Likewise a proxy; empty: it could, or was not tried.
  };

  // Of joining peers.
  struct JoinMetrics {
    explicit JoinMetrics(MetricsRegistry& registry);
    Counter& changes;
    Counter& unmapped;
    Counter& unproxied;
    Counter& far;
    Counter& form;
  };

  struct Metrics {
    explicit Metrics(MetricsRegistry& registry);
    Counter& entries;
    Counter& compared;
    Gauge& absent;
    Gauge& under_way;
    Gauge& memory_bytes;
    Counter& growths;
    Gauge& voting;
    Gauge& forgotten;
  };

  ResidentEngine(ResidentEngineOptions options, Service& service, MetricsRegistry& metrics);

  Status open_directory();
  Status open_storage(MetricsRegistry& metrics);
  Status open_memory_rows();
  Status stand_in_for_peers();
  Status open_node();
  Status open_network(MetricsRegistry& metrics);
  // resident_connect.cc
  Status begin();
  Result<std::size_t> prepare();
  Result<std::size_t> meet(std::uint64_t now_ms);
  ResidentMeeting meeting(std::uint64_t now_ms);
  Result<std::size_t> connect_found();
  Status connect(const ResidentJoin::Found& found);
  Result<std::size_t> connect_proxies();
  Status join_by_proxy(Peer& peer, std::uint32_t epoch);
  void on_mapping_failed(Peer& peer, const Status& status);
  bool is_far(NodeId peer, const ResidentReady& said) const;
  Mapping mapping_of(const Peer& peer) const;
  void take_link(Peer& peer, const ResidentLink& link);
  static std::string reason_of_none(const Peer& peer);
  ResidentLinkKind way_to(NodeId peer) const;
  void learn(Peer& peer, const ResidentReady& said);
  void join_anew(Peer& peer, const ResidentReady& said);
  Status rest();
  Status go_on();
  void say_ready_when_due(std::uint64_t now_ms);
  void say_ready(NodeId to);
  // nullptr: no peer has this id.
  const Peer* find_peer(NodeId id) const;
  Peer* find_peer(NodeId id);
  void on_ready_bytes(NodeId from, std::span<const std::byte> message);
  void on_ready(NodeId from, const ResidentReady& said);
  void begin_life(NodeId peer, Incarnation life);

  bool is_durable() const { return storage_ != nullptr; }

  // What peers remember of this directory: how far its log reaches; in memory mode, where there is
  // none, whether it ever took part, so that an image from before that does not come back.
  std::uint64_t durable_word() const {
    return is_durable() ? storage_->durable_lsn() : identity_->in_use() ? 1 : 0;
  }

  bool turns_here() const { return turn_ != nullptr && turn_->needs_calls(); }

  void refuse(
      std::uint64_t cookie, bool read, StatusCode code, std::uint32_t detail, NodeId leader);
  std::size_t give_refusals();
  void note_gap(std::uint64_t now_us);
  Result<std::size_t> run(std::uint64_t now_us);
  Result<std::size_t> store(std::uint64_t now_ms);
  Result<std::size_t> listen();
  Result<std::uint32_t> hear(std::uint32_t lane, std::uint32_t most);
  bool disk_stands_still(std::uint64_t now_ms) const;
  Status tell_alive(std::uint64_t now_ms);
  void talk(std::uint64_t now_ms);
  void tell_metrics();
  void tell_link(NodeId peer, const ResidentLink& link, bool in_use);
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

  ResidentEngineOptions options_;
  Service& service_;
  MetricsRegistry& registry_;
  Metrics metrics_;
  JoinMetrics joins_;
  ResidentChannelMetrics channel_metrics_;
  std::unique_ptr<DeviceCalls> calls_;
  std::unique_ptr<ledger::DataDirectory> directory_;  // In memory mode.
  ledger::IdentityFile* identity_ = nullptr;
  std::unique_ptr<ResidentNode> node_;
  std::unique_ptr<ResidentRequests> requests_;
  std::unique_ptr<ResidentRows> rows_;
  std::unique_ptr<ResidentStates> states_;
  std::unique_ptr<ResidentStorage> storage_;  // In durable mode.
  std::unique_ptr<ResidentProbe> probe_;
  std::unique_ptr<EngineAdmission> admission_;
  std::unique_ptr<DirectoryClaim> claim_;
  std::unique_ptr<netcore::PeerNetwork> network_;
  std::unique_ptr<Heartbeats> heartbeats_;  // Of milliseconds.
  std::unique_ptr<ResidentProxies> proxies_;
  std::unique_ptr<ResidentJoin> join_;
  std::unique_ptr<ResidentTurn> turn_;
  ResidentPlace place_;
  std::vector<Peer> peers_;
  std::vector<Refusal> refusals_;
  ResidentDeviceFacts device_;  // Where the node lives.
  Status failure_;
  bool has_promised_ = false;  // Rows of this directory may have, before this start.
  bool prepared_ = false;
  bool running_ = false;
  std::uint64_t established_ms_ = 0;  // Since when it is known; 0: it is not.
  std::uint64_t next_ready_ms_ = 0;
  std::uint64_t next_network_us_ = 0;
  std::uint64_t busy_until_us_ = 0;  // Work may come any moment: do not sleep.
  std::uint64_t next_alive_ms_ = 0;
  std::uint64_t turned_us_ = 0;  // The last turn.
  std::uint32_t next_lane_ = 0;  // Where the next pass begins to listen.
  ResidentRowCounts told_;       // As of the last metrics.
};

}  // namespace gcoord::server
