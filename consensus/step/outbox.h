// Outputs of one step of one shard: messages, storage, application, answers to proposals and reads.
//
// The owner of the table clears the outbox, runs the step and then carries out, in this order:
//   1. payloads. First by inbox message, in order: `stored[k]` (keep entries of Append k) and
//      `snapshot_installed` (Snapshot k replaces log and service state). Then the new
//      entries by index: configuration_index, `accepted`, `own_entry`;
//   2. `storage`: write, make durable, and acknowledge by the inbox of a later step (with
//      StepInput::stored_at_once it is memory, and done with 1);
//   3. `message[]`: send. A message that finds no room may be dropped;
//   4. `apply`: apply in order and acknowledge by `Inbox::applied`.
// "Durable before sent" is kept by the step itself: a reply is here only if the storage fields
// cover it.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "consensus/step/inbox.h"
#include "consensus/step/message.h"

#include <cstdint>

namespace gcoord::consensus {

// One request and one reply per peer, and one reply to a guest.
inline constexpr std::uint32_t kOutboxMessages = 2 * kReplicaSlots + 1;

// Make durable: hard state, then entries first..last (none if first > last) as the log says now.
// Everything at or above `first` that storage held before is void. One request per row is under way
// at most.
struct StorageRequest {
  Term term;
  NodeId vote;
  std::uint8_t present = 0;
  std::uint8_t snapshot = 0;  // The snapshot installed last comes before the entries.
  std::uint8_t reserved[2]{};
  LogIndex first;
  LogIndex last;
  // Decided up to here: to be stored beside the hard state; recovery needs it (recover.h).
  LogIndex commit;
};

// Apply first..last to the service; present iff first <= last and first > 0.
struct ApplyRequest {
  LogIndex first;
  LogIndex last;
};

// Never renumber: kinds are part of the log.
enum class EntryKind : std::uint8_t {
  Command = 0,        // Bytes of a service.
  Noop = 1,           // First entry of a leader's term; no bytes.
  Configuration = 2,  // A Configuration, 48 bytes.
};

// Entries that this step put into the log. count == 0: none.
struct Appended {
  LogIndex first;
  std::uint32_t count = 0;
  EntryKind kind = EntryKind::Command;
};

enum class ProposalVerdict : std::uint8_t {
  None = 0,
  Accepted = 1,   // `accepted` says where; fewer than asked when the uncommitted limit was reached.
  NotLeader = 2,  // Hot::leader may name who is.
  Transferring = 3,  // Leadership is being handed over; try again.
  Overloaded = 4,    // Too many uncommitted entries; try again.
  // Configuration: another one is under way, it may not follow, or no own-term commit yet.
  Refused = 5,
};

enum class ReadVerdict : std::uint8_t {
  None = 0,
  Ready = 1,  // Reads of round read_sequence may be answered once read_index is applied here.
  Lost = 2,   // Not or no longer the leader: the round is void.
};

// Why the role or the leader changed; for traces and metrics.
enum class Cause : std::uint8_t {
  None = 0,
  Timeout = 1,
  HigherTerm = 2,
  Elected = 3,
  CheckQuorum = 4,
  Transfer = 5,
  Removed = 6,
  LeaderKnown = 7,
  Resigned = 8,
  VoteLost = 9,
};

// One row of output apart from its arrays, which go wherever the caller of the step says
// (step_row.h).
struct OutboxHead {
  std::uint32_t message_count = 0;
  std::uint8_t again = 0;  // The row wants another step in the next turn.
  // 1 + number of the inbox message whose snapshot was taken over.
  std::uint8_t snapshot_installed = 0;
  Cause cause = Cause::None;
  ProposalVerdict proposal = ProposalVerdict::None;
  ProposalVerdict configuration = ProposalVerdict::None;
  ReadVerdict read = ReadVerdict::None;
  std::uint8_t beyond_plain = 0;  // A plain step found out that it is none (step_row.h).
  std::uint32_t dropped = 0;      // Messages that could not be true; count them.
  Appended accepted;              // Proposals.
  Appended own_entry;             // The leader's no-op or the end of a joint configuration.
  LogIndex configuration_index;   // Where a proposed configuration went.
  std::uint64_t read_sequence = 0;
  LogIndex read_index;
  StorageRequest storage;
  ApplyRequest apply;

  // Takes back to "nothing"; message slots beyond message_count are never read.
  GCOORD_HD void clear() {
    message_count = 0;
    again = 0;
    snapshot_installed = 0;
    cause = Cause::None;
    proposal = ProposalVerdict::None;
    configuration = ProposalVerdict::None;
    read = ReadVerdict::None;
    beyond_plain = 0;
    dropped = 0;
    accepted = Appended{};
    own_entry = Appended{};
    configuration_index = LogIndex{};
    read_sequence = 0;
    read_index = LogIndex{};
    storage = StorageRequest{};
    apply = ApplyRequest{};
  }

  GCOORD_HD void want_again(bool wanted) { again = wanted ? std::uint8_t{1} : again; }
};

// One row of output as an owner on the host keeps it.
struct Outbox : OutboxHead {
  // First entry to keep from Append k, up to its last one; 0: keep none.
  LogIndex stored[kInboxMessages];
  Message message[kOutboxMessages];

  GCOORD_HD void clear() {
    OutboxHead::clear();
    for (LogIndex& first : stored) {
      first = LogIndex{};
    }
  }
};

}  // namespace gcoord::consensus
