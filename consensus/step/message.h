// Message between two replicas of one shard: 64 bytes, the size of a netcore slot.
//
// Entries travel as extents beside the header; a header names them by index. All entries of one
// Append have one term, so that a term per entry is never sent. A message is a hint that may be
// lost, repeated, delayed or forged by a broken peer: handlers check every field and drop what
// cannot be. Host and device.
#pragma once

#include "common/ids.h"

#include <cstdint>

namespace gcoord::consensus {

// Never renumber: kinds travel between nodes of different versions.
enum class MessageKind : std::uint8_t {
  // (Pre-)votes and their replies carry commit and, in entry_term, that entry's term.
  None = 0,
  PreVote = 1,       // term: the one the sender would campaign in. index, log_term: its last entry.
  PreVoteReply = 2,  // term: the request's when granted, the sender's own when rejected.
  // term, index, log_term as PreVote. context: with kFlagTransfer, the transfer's expiry.
  Vote = 3,
  VoteReply = 4,  // kFlagReject or a durable vote.
  Append = 5,     // index, log_term: previous entry. count entries of entry_term follow. commit.
                  // context: read round.
  // index: matched and durable; with kFlagReject the refused previous index, and log_term,
  // entry_term (an index) as hint. commit: the follower's. context: the request's.
  AppendReply = 6,
  Snapshot = 7,    // index, log_term: what the snapshot covers. Its bytes are the payload.
  TimeoutNow = 8,  // campaign at once. context: the leader's tick after which the order is void.
  // context: the term in which the sender led until now; with kFlagForgetful its life, in which it
  // leads nothing up to term.
  StepDown = 9,
  LeaderQuery = 10,   // context: the term in which the sender believes the receiver to lead.
  LeaderAnswer = 11,  // context: the term that was asked about. kFlagLeads: yes.
  // index: a decided configuration in which the receiver does not vote, appended after its life
  // `context` (an incarnation) had begun.
  Readmit = 12,
};

inline constexpr std::uint8_t kMessageKindLast = static_cast<std::uint8_t>(MessageKind::Readmit);

inline constexpr std::uint8_t kFlagReject = 1;         // Replies: refused.
inline constexpr std::uint8_t kFlagTransfer = 2;       // Vote: campaign on the leader's order.
inline constexpr std::uint8_t kFlagConfiguration = 4;  // Append: its entry may be a configuration.
// LeaderAnswer: the sender leads in the term asked about.
inline constexpr std::uint8_t kFlagLeads = 8;
// AppendReply, StepDown: the sender has forgotten what it promised in an earlier life; it counts in
// no quorum.
inline constexpr std::uint8_t kFlagForgetful = 16;
// Append without entries or read round: what agrees with it need not answer. A receiver that does
// not know the flag answers.
inline constexpr std::uint8_t kFlagNotice = 32;

// Little-endian on the wire, as in memory on every supported machine.
struct alignas(16) Message {
  ShardId shard;
  MessageKind kind = MessageKind::None;
  std::uint8_t flags = 0;
  std::uint16_t count = 0;  // Entries that follow an Append.
  NodeId from;
  NodeId to;
  Term term;  // The sender's term unless the kind says otherwise.
  LogIndex index;
  Term log_term;
  LogIndex commit;
  std::uint64_t entry_term = 0;  // Term of the entries; an index in a rejecting AppendReply.
  std::uint64_t context = 0;
};

static_assert(sizeof(Message) == 64);

// The part of a node's heartbeat that liveness is made of. One per pair of nodes and heartbeat
// interval, whatever the number of shards (liveness.h).
struct Heartbeat {
  Incarnation incarnation;       // The sender's present life.
  Incarnation echo_incarnation;  // The receiver's life that `echo` belongs to.
  Tick send;                     // The sender's tick when it was sent.
  Tick echo;                     // The receiver's newest `send` that the sender has heard; 0: none.
};

static_assert(sizeof(Heartbeat) == 24);

}  // namespace gcoord::consensus
