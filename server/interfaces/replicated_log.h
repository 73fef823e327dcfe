// The replicated logs of a node's shards, as its loop and its services see them, whichever turn
// keeps them: the host's (host_replicas.h), or one that stays on a device (resident_replicas.h).
//
// A service proposes commands and hears what was decided by Service (service.h); the loop calls
// turn() and sleeps between:
//
//   loop: if turn() did nothing and arm() is true, sleep on event_fds() for at most
//         until_next_deadline(); then turn() again.
//
// Everything is for one thread, the one that calls turn(). A log that has no loop of its own, such
// as a fake in a test, leaves the second half as it is here.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"
#include "server/interfaces/authority.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/entry_stamp.h"
#include "server/interfaces/replica_view.h"
#include "sessions/session_end.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gcoord::server {

// What a replicated log can do; the same for its whole life but for the last.
struct Abilities {
  // Its replicas apply moves of locks.
  bool moves = true;
  // Sessions that one entry ends at most, a list (locks/commands/ends.h); 1: it has no lists.
  std::uint32_t ends_max = sessions::kEndsMax;
  // Commands lie in it as entries of a device (locks/commands/entry.h), groups' and lists of ends
  // only if all nodes have Feature::DeviceGroups, moves only if all have DeviceMoves.
  bool on_device = false;
  // ShardView::lease is judged by the clock whenever it is read. A log whose rows live on a device
  // only hears who led, and a host that stood still hears it late.
  bool timed_leases = true;
  // It takes records of system kinds (log_record.h) now. One on a device does while all nodes are
  // known to have Feature::SystemRecords, and for ever once it has had some, since no node of a
  // release without them can come back then.
  bool takes_records = true;
  // It takes entries of the publication (RecordKind::Publication), and breaks by authors that are
  // proven (locks::kBreakProven), now. One on a device does while
  // all nodes are known to have Feature::DeviceLedger, and for ever once its log shows that they
  // had it.
  bool publishes = true;
  // It keeps the bytes of a command as they are proposed. One that keeps commands in another form
  // needs none where ProposedCommand::command is there.
  bool keeps_bytes = true;
};

// An entry to be: its bytes, and beside them the lock command that they hold where the caller has
// it, so that a log that keeps commands in another form need not decode them again. All live for
// the call. Bytes may be missing where there is a command and the log keeps none
// (Abilities::keeps_bytes).
struct ProposedCommand {
  template <typename Bytes>

  requires std::is_convertible_v<const Bytes&, std::span<const std::byte>>
  // NOLINTNEXTLINE(google-explicit-constructor): bytes alone are an entry, too.
  ProposedCommand(const Bytes& entry, const locks::LockCommand* decoded = nullptr)
      : bytes(entry), command(decoded) {}

  std::span<const std::byte> bytes;  // A record (log_record.h).
  // Equal in every field to what its encoding in `bytes` decodes to; nullptr: not at hand.
  const locks::LockCommand* command = nullptr;
  // The command's entries for a log on a device, pieces first, where somebody has made them already
  // (server/ingress): as locks::entries_of(*command). Empty: nobody has.
  std::span<const locks::LockEntry> entries;
  Authority authority;  // Under which it is proposed.
  // Who asked for it and when, where there are no bytes that say so.
  EntryStamp stamp;
};

class ReplicatedLog {
 public:
  virtual ~ReplicatedLog() = default;

  // --- For services.

  // Asks for a place in the shard's log; taken in the next turn, in the order of the calls. The
  // bytes are copied, at most kCommandBytesMax; the cookie is not 0. The outcome comes by
  // Service::apply or Service::on_proposal_failed.
  virtual void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) = 0;

  // Asks for a moment at which the shard's applied state is linearizable; answered by
  // Service::on_read in the next turn under a lease, else when a quorum has confirmed leadership.
  virtual void read(ShardId shard, std::uint64_t cookie) = 0;

  // The same, but a quorum confirms leadership whatever a lease says. A log that knows no lease
  // does so for every read.
  virtual void read_by_round(ShardId shard, std::uint64_t cookie) { read(shard, cookie); }

  // Whether the log has room for the command. One that lives on a device has little for what a
  // command says beside its name (locks/commands/entry_text.h).
  virtual bool takes(const locks::LockCommand&) const { return true; }

  virtual Abilities abilities() const { return {}; }

  virtual ShardView view(ShardId shard) const = 0;
  virtual NodeView view() const = 0;

  // Sends bytes to the service of another node (Service::on_peer_message there): one slot of the
  // Rpc band with one extent of 1 to 32 KiB. Loss is allowed: false when the peer is not connected
  // or has no credit.
  virtual bool send_peer_message(NodeId to, std::span<const std::byte> message) = 0;

  // Tells the service of a standstill of the loop now (StateMachine::on_loop_gap), if there was one
  // since the last turn, and not again in the turn that follows. To be called before anything acts
  // on the time of a pass: a deadline that passed while nobody listened says nothing.
  virtual void note_gap() {}

  // --- For the node's loop.

  // One turn. Returns how much was done (rows stepped, entries applied, answers given); 0 means
  // that sleeping is in order. Does nothing once failure() is set.
  virtual std::size_t turn() { return 0; }

  // Why it stopped for good (a failed write or sync, a refused state); OK while it runs. After a
  // failure nothing is acknowledged or sent any more: the process prints this and exits.
  virtual Status failure() const { return {}; }

  // Prepares event_fds() for sleeping. False: there is work now, call turn().
  virtual bool arm() { return true; }

  // Readable when there is work, once arm() returned true. Never read or closed by the caller; the
  // same for the life of the log.
  virtual std::vector<int> event_fds() const { return {}; }

  // How long the caller may sleep from now; 0 when something is due.
  virtual std::chrono::milliseconds until_next_deadline() const { return {}; }

  // Gives back memory that a burst of work made grow, if there is none now. True if it was much.
  virtual bool shrink() { return false; }

  // This life of the node; part of session ids.
  virtual Incarnation incarnation() const { return Incarnation{1}; }

  // Who the nodes of the cluster are from now on: the log keeps a channel to each one that is
  // reachable, refuses those that have left, and brings the configuration of each shard that it
  // leads towards the view, as the plan of its rows says. A log that cannot leaves it.
  virtual void set_members(const ClusterMembers&) {}

  // A node that a later view than the one that was set last has, as another node says, and where
  // it is called; empty: it calls. The log keeps a channel to it, too, so that a leader that this
  // node does not know yet can bring it the later view; nothing else follows from it. Later views
  // say whether it stays. Does nothing for a node that is known or has left.
  virtual void meet(NodeId, const std::string& /*address*/) {}

  // How far the shards led here are with the view that was set last.
  virtual MembersProgress members_progress() const { return {}; }

  // The port that peers reach this node at.
  virtual std::uint16_t listen_port() const { return 0; }

  // Hands the shard's leadership to a voter, if it leads; best effort, seen by Service::on_role.
  // Not to one that drains or leaves by the members that were set.
  virtual void transfer(ShardId, NodeId) {}

  // What the checkpoints wrote. Any thread may read it while the log lives. A log whose checkpoints
  // hold no services' states, and so nothing that a snapshot could be made of, has no store here.
  virtual const ledger::CheckpointStore* checkpoints() const { return nullptr; }

  // Starts a checkpoint of all changed shards at the next turn, or right after the one under way.
  // Returns its number; checkpoint_outcome tells how that one ended, once it has.
  virtual std::uint64_t request_checkpoint() { return 0; }

  virtual std::optional<Status> checkpoint_outcome(std::uint64_t) const { return std::nullopt; }

  // By what way the shards' messages reach a peer, and why, if not by the peer's `transport`; empty
  // otherwise.
  virtual std::string shard_channel(NodeId) const { return {}; }

  // Whether somebody observes each entry as it is applied (apply_observer.h) from now on. When this
  // returns, no entry is in the lock tables that was not told yet, but for those that are below the
  // index which the tables say.
  virtual void on_observed(bool /*observed*/) {}
};

}  // namespace gcoord::server
