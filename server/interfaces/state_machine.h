// State machine interface of a node's engine: the services that apply committed entries.
//
// The engine (host_replicas.h) keeps the shards' logs and tells the service, in this one
// interface, what was decided. All calls come from the thread that calls HostReplicas::turn (or
// open, for install), never from inside propose() or read(). A callback may call propose, read,
// view, transfer and request_checkpoint; it must not call turn and must not block. Spans live for
// the call only. Host only; no exceptions.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "server/interfaces/witness_mark.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

// What a lock command did that the tables have already (server/resident/copy).
struct AppliedOutcome {
  locks::LockReply reply;
  std::span<const locks::LockEvent> events;
  std::uint64_t state_hash = 0;  // Of the shard's locks after it.
};

// One decided entry, told in log order per shard and exactly once per life of the process (a
// restarted node tells again what its checkpoint does not cover).
struct AppliedEntry {
  ShardId shard;
  LogIndex index;
  Term term;
  consensus::EntryKind kind = consensus::EntryKind::Command;
  // Empty for a no-op; a Configuration as encoded; a command behind its header (log_record.h).
  std::span<const std::byte> payload;
  // The lock command that the payload holds, equal in every field to what it decodes to, where the
  // log has it at hand; nullptr: decode the payload. Whoever changes the payload sets it to
  // nullptr. Beside a leaf the payload may then be the record's header alone.
  const locks::LockCommand* command = nullptr;
  // Where a command was applied to the lock tables already: what it did. They may have later
  // entries of the shard by now, too. nullptr: whoever owns the tables applies it now.
  const AppliedOutcome* outcome = nullptr;
  // What history keeps of the entry where the log holds something else than the payload: that of a
  // device (locks/commands/entry.h). Empty: the payload (ledger_service.h).
  std::span<const std::byte> leaf;
  // The cookie of the proposal if it was proposed on this node in this life and term, else 0.
  std::uint64_t cookie = 0;
  bool leader = false;  // This replica leads the shard now.
};

class StateMachine {
 public:
  virtual ~StateMachine() = default;

  // Executes the entry. Deterministic: it may look at the entry and the shard's state only,
  // `cookie` and `leader` merely decide who is answered.
  virtual void apply(const AppliedEntry& entry) = 0;

  // A proposal that will not be reported by apply() under its cookie. Each cookie ends exactly
  // once, here or in apply(). Codes:
  //   FailedPrecondition  kNotLeader: nothing was appended; leader_hint may name the leader (0: not
  //                       known).
  //   ResourceExhausted   kOverloaded: nothing was appended; try again later.
  //   Unavailable         kTransferring: nothing was appended; leadership is being handed over.
  //   Unknown             kLeadershipLost: the entry may or may not become decided. Ask the new
  //                       leader by repeating the request under its (session, sequence).
  virtual void on_proposal_failed(std::uint64_t cookie,
                                  const Status& status,
                                  NodeId leader_hint) = 0;

  // The answer to HostReplicas::read. OK: the shard's state is linearizable now, within this call.
  // Otherwise FailedPrecondition (kNotLeader) or Unavailable (kLeadershipLost): leadership ended
  // before it was confirmed; or ResourceExhausted (kOverloaded): try again later.
  virtual void on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) = 0;

  // This replica came to lead the shard, leads it no more, or leads it in another term. An engine
  // may tell of other changes of role, term or recorded leader, too; whoever needs those asks
  // (ReplicatedLog::view). leader 0: none known.
  virtual void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) = 0;

  // Appends the shard's whole state to `bytes`, as of the newest apply() or install(). Equal states
  // give equal bytes on every node. An empty result stands for the initial state.
  virtual void serialize(ShardId shard, std::vector<std::byte>& bytes) = 0;

  // The same for this node's own checkpoint, which may leave out what the node keeps elsewhere, and
  // durably by then (ReplicaOptions::before_checkpoint). install() takes both.
  virtual void checkpoint(ShardId shard, std::vector<std::byte>& bytes) { serialize(shard, bytes); }

  // The same for a snapshot that goes to a witness, which keeps the cluster view alone: a mark in
  // place of the rest.
  virtual void witness_state(ShardId shard, std::vector<std::byte>& bytes) {
    static_cast<void>(shard);
    append_witness_mark(bytes);
  }

  // The state of the locks alone, as the commands left it: what the tables of a device are filled
  // from.
  virtual void state(ShardId shard, std::vector<std::byte>& bytes) { serialize(shard, bytes); }

  // Replaces the shard's state by what serialize() gave, here or on another node; empty bytes are
  // the initial state. A failure stops the node: the bytes passed their checksums.
  virtual Status install(ShardId shard, std::span<const std::byte> bytes) = 0;

  // Whether install() would take these bytes. They may come from a peer, so everything in them is
  // looked at; nothing is changed.
  virtual bool plausible(ShardId shard, std::span<const std::byte> bytes) const = 0;

  // Whether what the node keeps of the shard elsewhere still begins where this state of its own
  // checkpoint ends, or before. Memory mode asks for it: there a snapshot may have taken the place
  // of what was kept, and have been lost with the process. Else the shard comes back empty.
  virtual bool continues(ShardId shard, std::span<const std::byte> bytes) const {
    static_cast<void>(shard);
    static_cast<void>(bytes);
    return true;
  }

  // A digest of the shard's state, equal on every node at an equal applied index.
  virtual std::uint64_t state_hash(ShardId shard) const = 0;

  // The same of what state() gives: what a device must have, too, where one applies the entries.
  virtual std::uint64_t device_hash(ShardId shard) const { return state_hash(shard); }

  // Bytes that the service of another node sent with HostReplicas::send_peer_message. They come
  // from outside: what does not decode is dropped and counted. The default ignores them.
  virtual void on_peer_message(NodeId from, std::span<const std::byte> message) {
    static_cast<void>(from);
    static_cast<void>(message);
  }

  // Whether more work of its own is waiting than one turn takes: what can wait should, so that
  // it gets the processors and the disk.
  virtual bool behind() const { return false; }

  // The loop stood still for so many ticks (a pause of the process, a slow callback). What depends
  // on the other nodes' patience must be confirmed before it is acted upon. Called by
  // ReplicatedLog::note_gap() and by the turn.
  virtual void on_loop_gap(std::uint64_t ticks) = 0;
};

}  // namespace gcoord::server
