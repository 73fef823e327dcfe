// Interface of a replicated service to a turn on a device, and the requests of its clients.
//
// A service is a POD that the node passes by value to its kernels. It keeps one state per row, in
// memory of its own, and is called by the one thread that has the row, in log order:
//
//   using Entry                            16, 32 or 64 bytes, trivially copyable: one log entry.
//   static Entry noop()                    the first entry of a leader's term
//   static bool is_noop(const Entry&)
//   static Entry command(const TurnRequest&)          what a client asked for
//   uint32_t offers(row, order)            how many entries the service itself wants in the log of
//                                          a row that leads here: expiries, feeds; 0 for none.
//                                          order: the host's word (TurnControl)
//   Entry offer(row, index, k)             the k-th of them, at its index; equal wherever it goes
//   void offering(row)                     before the step that they are offered to
//   void offered(row, first, count)        after it: so many were taken, from this index on; or
//   none TurnResult apply(row, index, entry)    executes a decided entry that is no no-op void
//   save(row, Slot&), install(row, const Slot&)  a snapshot of the row in 64 bytes
//   void begin_turn(stripe)                by one member, before a turn of the stripe
//   static constexpr kEntriesKept          entries that stay in the log behind what is applied
//   static bool is_piece(const Entry&)     where there are such: whether a later entry may need
//   this
//                                          one; only pieces side by side, up to the entry, are read
//   static uint32_t pieces_through(const Entry&)   of a piece, how many there are of its command up
//                                          to it; else 0. So many stay, where they are more
//   static constexpr kTellsHost            the host hears of everything that is decided, see below
//   static constexpr kReadmits             rows whose node has forgotten what it promised are taken
//                                          back, see below
//   static constexpr kHashed               where somebody keeps trees of the logs, entries stay
//                                          until they are in them (device_turn_trees.h)
//   static constexpr kVoters               the voters of its rows; where it says nothing, three
//                                          (voters.h)
//
// A service that tells its host all (kTellsHost) has 64-byte entries and, in place of apply(),
//
//   bool apply_told(log, row, index, entry, TurnResult&)   false: not now; asked again next turn
//   uint32_t apply_together(log, DecidedRun, teller)   the same of a run of entries, by all members
//                                          of a group; how many it applied, from the first on. Of
//                                          each, by number: teller.told(k, TurnResult) by any
//                                          member, or bool teller.apply(k), by the first one, which
//                                          is to call apply_told() and say what that says
//
// and judges each request before it is proposed, since its host and whoever writes in its place may
// be wrong (docs/adr/0144):
//
//   static uint32_t judge(const Slot&, const TurnPass&, homes)   of the slot of a TurnRequest. 0:
//                                          sound; else the reason, which the refusal says
//                                          (TurnReply::detail)
//   uint32_t homes(stripe, shard_count)    among how many shards judge() looks for a name's home
//
// In durable mode it is also told what to make durable (Store, device_turn_store.h), and says when
// it is. There log(k) is the row's entry of `index` or an earlier one (kEntriesKept). Its node
// pushes to the host, per shard in log order and never dropping any: each decided entry as a reply
// followed by the entry itself (Committed with its tag where the request was proposed here, Told
// elsewhere); and that a snapshot took a row's place (Installed). What the host leaves no room for
// is not applied until it does. Who leads its rows stands in a table beside the ring
// (leader_table.h).
//
// A service that takes rows back (kReadmits; device_turn_readmit.h) has room for a configuration in
// an entry of its log, to which apply does nothing:
//
//   static Entry configuration_entry(const consensus::Configuration&)
//   static bool is_configuration(const Entry&)        no command() is one
//   static consensus::Configuration configuration_of(const Entry&)
//
// Contract: deterministic but for `offers`; no waiting; host and device. Requests come from
// outside: `command` may be given anything and must make something harmless of it.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "consensus/step/inbox.h"
#include "netcore/memory/slot.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// What applying an entry gave, for the client; its meaning is the service's.
struct TurnResult {
  std::uint64_t word[2]{};
};

// Decided entries of a row, side by side.
struct DecidedRun {
  std::uint32_t row = 0;
  LogIndex applied;  // The one before the first.
  std::uint32_t count = 0;
};

// One slot from a client. Never renumber: host and device may be of different builds.
struct alignas(64) TurnRequest {
  ShardId shard;
  std::uint32_t head = 0;  // The service's, like the words.
  std::uint64_t tag = 0;   // Names the request in its reply; not 0.
  std::uint64_t word[6]{};
};

static_assert(sizeof(TurnRequest) == netcore::kSlotBytes);
static_assert(offsetof(TurnRequest, shard) == 0);
static_assert(offsetof(TurnRequest, head) == 4);
static_assert(offsetof(TurnRequest, tag) == 8);
static_assert(offsetof(TurnRequest, word) == 16);

// Whose the requests are that follow in a lane, and which rights its writer found them to lack. It
// holds until the next one; a lane begins with zeros, which is the node itself.
struct TurnPass {
  std::uint64_t principal = 0;  // A number that means something to the writer; 0: the node itself.
  std::uint64_t withheld = 0;   // Bits of rights; their meaning is the service's.
};

static_assert(sizeof(TurnPass) == 16);

// Tags that no client's request has. To hand the leadership of `shard` to the node that word 0
// names, which is answered by roles alone; device_turn_store.h has the other one.
inline constexpr std::uint64_t kTransferTag = ~std::uint64_t{0} - 1;

// A request with this tag is a TurnPass in its words 0 and 1; nothing answers it.
inline constexpr std::uint64_t kPassTag = ~std::uint64_t{0} - 2;

// A request with this tag asks when the state of `shard` is linearizable, without an entry in its
// log: word 0 is the tag of the answer, word 1 what is proof enough (consensus::ReadProof). One of
// a row is under way at a time: a second one takes the place of the first, which is then answered
// no more. The answer is ReadReady, or a refusal.
inline constexpr std::uint64_t kReadTag = ~std::uint64_t{0} - 3;

GCOORD_HD inline TurnRequest read_request(ShardId shard,
                                          std::uint64_t tag,
                                          consensus::ReadProof proof) {
  TurnRequest request;
  request.shard = shard;
  request.tag = kReadTag;
  request.word[0] = tag;
  request.word[1] = static_cast<std::uint64_t>(proof);
  return request;
}

GCOORD_HD inline TurnRequest pass_request(const TurnPass& pass) {
  TurnRequest request;
  request.tag = kPassTag;
  request.word[0] = pass.principal;
  request.word[1] = pass.withheld;
  return request;
}

GCOORD_HD inline TurnPass pass_of(const TurnRequest& request) {
  return {request.word[0], request.word[1]};
}

// Never renumber.
enum class TurnVerdict : std::uint32_t {
  None = 0,
  Committed = 1,   // Decided by a quorum and applied here.
  NotLeader = 2,   // `leader` may name who is.
  Overloaded = 3,  // Too much is under way; try again.
  Refused = 4,     // Detail 0: no such shard on this lane, or no tag. Else it is not sound (judge).
  // Of a service that tells its host all:
  Told = 5,  // Decided and applied here; nobody here asked for it.
  // 6 was a change of role, which leader_table.h says now.
  Installed = 7,  // The row stands for a snapshot up to `index`.
  Store = 8,      // To be made durable, then acknowledged: device_turn_store.h.
  // Leadership is being handed over, and nothing was appended; try again.
  Transferring = 9,
  // Of a service that tells its host all: no-ops that were decided and applied in several rows, in
  // one slot (HostNoops).
  Noops = 10,
  // A read may be answered from what is applied up to `index` at least: this row still led when it
  // was asked. Detail: how that was proved (ReadWay). The result's word 0: the tick of the answer.
  ReadReady = 11,
};

// TurnReply::detail of a ReadReady. Never renumber.
enum class ReadWay : std::uint32_t {
  Lease = 1,  // By the leader's lease, at once.
  Round = 2,  // A quorum acknowledged a round that was opened for the read.
};

// What is told of the first entry of a term that this node leads has a tag of its own, in place of
// a request's: this bit and the term's low half. Once it is applied, so is all that was
// acknowledged before.
inline constexpr std::uint64_t kOwnTermTag = std::uint64_t{1} << 62;

// What tags and slots have room for of a term: enough to tell it from those of years before.
GCOORD_HD constexpr std::uint32_t low_term(Term term) {
  return static_cast<std::uint32_t>(term.value);
}

GCOORD_HD constexpr std::uint64_t own_term_tag(Term term) {
  return kOwnTermTag | low_term(term);
}

// No request's: those count up from 1.
GCOORD_HD constexpr bool is_own_term(std::uint64_t tag) {
  return (tag & kOwnTermTag) != 0;
}

// One slot to a client.
struct alignas(64) TurnReply {
  ShardId shard;
  TurnVerdict verdict = TurnVerdict::None;
  std::uint64_t tag = 0;
  LogIndex index;  // Committed: where.
  NodeId leader;
  std::uint32_t detail = 0;  // Store, ReadReady: see there. Refused: the service's reason.
  TurnResult result;
  Term term;  // Committed and Told: of the row now.
};

static_assert(sizeof(TurnReply) == netcore::kSlotBytes);

// A no-op of one row.
struct HostNoop {
  std::uint32_t row = 0;
  std::uint32_t own_term = 0;  // The term that this node led and began with it; 0: another's.
  LogIndex index;
};

inline constexpr std::uint32_t kNoopsPerSlot = 3;

// One slot to a client, in place of a TurnReply. When a node is lost a third of all rows begin a
// term, and each would be two slots.
struct alignas(64) HostNoops {
  std::uint32_t count = 0;
  TurnVerdict verdict = TurnVerdict::Noops;  // Where TurnReply has it.
  HostNoop noop[kNoopsPerSlot];
};

static_assert(sizeof(HostNoops) == netcore::kSlotBytes);
static_assert(offsetof(HostNoops, verdict) == offsetof(TurnReply, verdict));

}  // namespace gcoord::server
