// Start options of a replica engine.
//
// Values come validated in form from server/options; HostReplicas::open checks what they mean
// together. Cluster-wide values (election, heartbeat and tick length, shard count, peers at first
// boot) must agree on all nodes. Host only.
#pragma once

#include "common/device/device_calls.h"
#include "common/ids.h"
#include "consensus/step/inbox.h"
#include "consensus/step/liveness.h"
#include "consensus/step/stepper.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/disk/disk.h"
#include "ledger/disk/storage_driver.h"
#include "ledger/space/guard.h"
#include "netcore/memory/registry.h"
#include "netcore/peers/network.h"
#include "server/interfaces/replica_view.h"
#include "server/interfaces/vote_observer.h"
#include "server/platform/choices.h"
#include "server/platform/device_choice.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

inline constexpr std::uint32_t kTurnThreadsMax = 16;

struct ReplicaOptions {
  ClusterId cluster;
  ClusterId former_cluster;  // The one whose place it took; 0: none.
  NodeId node;
  std::uint32_t shard_count = 65536;
  // Slices (shard mod 256) whose shards are kept here, ascending; none: all. The data directory may
  // hold shards of others: they are neither taken up nor touched (docs/internals/threads.md).
  std::vector<std::uint8_t> slices;

  // Threads among which a turn on the host divides the slices, at most as many as there are slices
  // with shards, and kTurnThreadsMax; one where the rows lie on a device. Nothing that is stored or
  // sent depends on it.
  std::uint32_t turn_threads = 1;
  // For simulations: the lanes are worked on one after the other, which decides the same.
  bool lanes_by_turns = false;
  // For tests: called when a turn thread does not come back; empty: the process ends.
  std::function<void(std::uint32_t lane)> on_stuck;

  // The other nodes of the cluster. At first boot they and this node become the voters of every
  // shard, in ascending order of ids, at most 7 of them; later boots keep what was decided since.
  std::vector<netcore::PeerAddress> peers;
  // The epoch of the view that `peers` and `removed` are of; 0: the fixed list. With a view they
  // are not compared with what the cluster was founded with, and are up to kViewNodesMax with this
  // node; the shards keep the configurations that they have.
  std::uint64_t members_epoch = 0;
  // Nodes that have left for good: refused for ever (HostReplicas::set_members has more).
  std::vector<NodeId> removed;
  // A directory that is made now is one of a node that joins a running cluster: its shards have no
  // configuration until their leaders send one, and until then do nothing but follow. The directory
  // remembers that; for one that exists this says nothing.
  bool joins = false;
  // This node is a witness of its cluster: it votes, and never campaigns. For the life of its
  // directory, as its view says.
  bool witness = false;
  // A directory that is made now takes the place of one whose node knew a view (--rejoin): its
  // shards begin like those of a joining node, and what the one before promised counts as
  // forgotten. For one that exists this says nothing.
  bool carried = false;
  std::string listen_host = "127.0.0.1";
  std::uint16_t listen_port = 0;
  netcore::TransportKind transport_kind = netcore::TransportKind::Tcp;
  // Proofs of the other nodes, and TLS with them; off by default.
  netcore::PeerProofOptions proof;
  std::shared_ptr<const netcore::LinkTlsRules> peer_tls;
  // For tests and simulations: used in place of transport_kind when set.
  std::unique_ptr<netcore::Transport> transport;

  // The data directory (ledger/directory/data_directory.h).
  std::string data_directory;
  // For tests and simulations, both or neither: disks in place of data_directory's files; the
  // checkpoint store still lies in data_directory/checkpoint, unless it is given, too. They outlive
  // the engine.
  ledger::Disk* identity_disk = nullptr;
  ledger::Disk* wal_disk = nullptr;
  std::function<Result<std::unique_ptr<ledger::CheckpointStore>>()> open_checkpoint_store;
  // Guards the space of data_directory, and what is written there waits for it. Outlives the
  // engine; nullptr: nobody does.
  ledger::SpaceGuard* space = nullptr;
  // Called when the data directory is locked, before this start counts as an incarnation
  // (ledger/directory/data_directory.h). Empty: nothing else can refuse the start.
  std::function<Status()> before_start;
  // Called once the data directory is open and locked, before anything is recovered from it; a
  // failure is the engine's. Empty: nothing else lies there.
  std::function<Status()> on_directory;
  // Called before every write to the checkpoint store, by the thread that writes: what else has to
  // be durable before it. A failure is the checkpoint's.
  std::function<Status()> before_checkpoint;
  // Owner: nothing is written but in HostReplicas::advance_storage.
  ledger::StorageDriver storage_driver = ledger::StorageDriver::Thread;
  // Entries of the log are those of the resident turn (resident_storage.h), in the directory for
  // ever: no other turn reads them, or its own there.
  bool resident_entries = false;
  std::uint64_t wal_segment_bytes = std::uint64_t{64} << 20;  // As in ledger/wal/recovery.h.

  // What an acknowledgement stands on, in the whole cluster. Memory: nothing is written but
  // checkpoints, behind, and a node that restarts comes back as readmission.h says.
  consensus::Durability durability = consensus::Durability::Durable;

  // An operator's word that this node may come back although its data directory, or what it
  // promised since it was copied, is lost (docs/adr/0025): a peer's refusal then makes the
  // directory the next generation, and the engine fails with kDirectoryTakenOver, to be opened
  // anew.
  bool rejoin = false;

  // Shards whose history here is not the others' (docs/adr/0032): what is kept of them is ignored,
  // and their replicas come back as forgetful ones of a directory of the next generation. To be
  // given at every opening until none of them is forgetful and a checkpoint was written since.
  std::vector<ShardId> repaired_shards;

  // Length of a tick in milliseconds, and the timing of consensus in ticks.
  std::uint32_t tick_ms = 10;
  consensus::Timing timing;
  // Replicas per shard that memory is set aside for at first; 0: as many as there are nodes. It
  // grows with the shards' configurations.
  std::uint32_t replica_slots = 0;

  // How often changed shards are checkpointed; 0: on request and under segment pressure only.
  std::uint64_t checkpoint_interval_ms = 30000;
  // A checkpoint starts when the log of record has grown by so much since the last one: eight
  // segments, less than a second of replay.
  std::uint64_t checkpoint_wal_bytes = std::uint64_t{512} << 20;

  // Where the shards are stepped, and the fault to inject there.
  DeviceChoice device;
  DeviceFaultPlan device_fault;
  // One of so many steps there is done again on the host; 0: nothing is checked.
  std::uint32_t device_check_one_in = consensus::kDeviceCheckOneIn;
  // Of a turn that stays on the device; 0: by the number of shards.
  std::uint32_t turn_stripes = 0;
  ResidentPeers resident_peers = ResidentPeers::Auto;
  // For tests: used in place of `device` when set.
  std::function<Result<std::unique_ptr<consensus::Stepper>>(std::uint32_t row_count,
                                                            std::uint32_t slot_count)>
      make_stepper;
  // For tests: the memory of a resident node that has no GPU, when set.
  std::function<std::unique_ptr<netcore::MemorySource>()> make_memory;

  // Names the random numbers of this life of the node, and of its data directory when that is
  // created; another one at every start. 0: drawn from the system.
  std::uint64_t seed = 0;
  // Microseconds that only grow and count suspended time; empty: CLOCK_BOOTTIME.
  std::function<std::uint64_t()> clock_us;
  // Hears of votes and candidates, of a turn on the host; outlives the engine. nullptr: nobody
  // does.
  VoteObserver* votes = nullptr;
  // Told of every change of role, term, vote, leader, commit; empty: no trace.
  std::function<void(const ShardTransition&)> trace;
};

}  // namespace gcoord::server
