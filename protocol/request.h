// The two slots of the client protocol: what one request and one reply look like in 64 bytes.
//
// A slot has the same fields for every kind; a field that a kind does not use is zero. Text and
// lists travel in the payload that the slot refers to; their encodings are in hello.h,
// session_messages.h and lock_messages.h. Little-endian; compilers for other machines are refused.
// Plain values; no thread rules.
#pragma once

#include "common/status.h"
#include "protocol/limits.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace gcoord::protocol {

static_assert(std::endian::native == std::endian::little);

// Never renumber. An unknown kind is answered with ErrorCode::KindUnknown; the connection stays.
enum class RequestKind : std::uint16_t {
  Hello = 1,  // First on every connection; payload: Hello. Reply payload: Welcome.
  // ttl_ms. Reply: extra = session id, ttl_ms as granted; with Feature::Identities its payload may
  // be the session's key.
  OpenSession = 2,
  KeepAlive = 3,        // Payload: list of sessions. Reply payload: one KeepAliveState each.
  CloseSession = 4,     // session; shard = one shard, or kAllShards: all that this node leads.
  LockAcquire = 16,     // session, sequence, acked_below, ttl_ms, deadline_ms; payload: the name.
  LockRelease = 17,     // session, sequence, acked_below, token; payload: the name.
  LockCancel = 18,      // session, sequence of the acquire to give up; payload: the name.
  LockCheck = 19,       // token; payload: the name. Reply: extra = CheckVerdict.
  LockCheckBatch = 20,  // Payload: list of (name, token). Reply payload: one CheckVerdict each.
  LockGet = 21,         // Payload: the name. Reply payload: a LockRow.
  LockList = 22,        // Payload: ListQuery. Reply payload: ListPage.
  // As LockAcquire, but for more than a plain hold; payload: a LockHold. Feature::LockHolds.
  LockAcquireHold = 23,
  // Ends holds by force. token; payload: a LockBreak. Reply: token and extra name the hold that
  // ended, of several the oldest. Feature::LockForce.
  LockBreak = 24,
  SessionLosses = 25,  // session. Reply payload: list of LossEntry. Feature::LockForce.
  NodeStatus = 32,     // Reply payload: JSON.
  ShardList = 33,      // Payload: ShardRange. Reply payload: JSON.
  ShardShow = 34,      // shard. Reply payload: JSON.
  LeaderMap = 35,      // Payload: ShardRange. Reply payload: LeaderMap.
  // Payload: LogLevelsOrder. Reply payload: JSON of the levels from then on. Feature::LogLevels.
  LogLevels = 40,
  SnapshotOpen = 48,  // Reply: extra = the number of a save, for SnapshotRead.
  SnapshotRead = 49,  // Payload: SnapshotRead. Reply payload: bytes of the file from there on.
  // Payload: WatchQuery. Answered many times, until an error ends it (watch_messages.h).
  WatchOpen = 64,
  WatchClose = 65,     // sequence = the request id of the WatchOpen to end, on the same connection.
  WatchProgress = 66,  // sequence = the request id of a WatchOpen that shall say how far it is.
  // Elections (election_messages.h), all with Feature::Elections.
  ElectProclaim = 72,  // session, sequence, acked_below, token; payload: a Proclamation.
  ElectTransfer =
      73,  // session, sequence, acked_below, token; payload: a Nomination. Reply: token.
  ElectCandidates = 74,  // Payload: the name. Reply payload: a CandidateList.
  ElectAsk = 75,         // token; payload: a Nomination: whoever leads is asked to transfer.
  // Reply payload: JSON of the deadlocks that this node found. Feature::Deadlocks.
  LockDeadlocks = 96,
  // Payload: LockMove. Reply, when the lock has arrived: extra = its shard. Feature::LockMoves.
  LockMove = 97,
  // Payload: LedgerPrune. Reply payload: LedgerPruned, when it is durable. Feature::LedgerPruning.
  LedgerPrune = 104,
  // Feature::Sessions, all of them.
  LockRead = 80,      // deadline_ms; payload: LockRead. Reply payload: LockReadReply.
  LockReadList = 81,  // deadline_ms; payload: LockReadList. Reply payload: LockReadPage.
  SessionGrant = 82,  // session, ttl_ms; shard = its home. Reply: as of OpenSession.
  SessionShow = 83,   // session. Reply payload: SessionRow, as this node sees it.
  SessionList = 84,   // Payload: SessionQuery. Reply payload: SessionPage.
  // Groups (protocol/groups/messages.h), all with Feature::Groups. Where a join or an arrival
  // registers the session, NamesTerm means what it means for an acquire.
  GroupJoin = 120,   // session, sequence, acked_below, ttl_ms. Reply: token = epoch, extra = rank.
  GroupLeave = 121,  // session, sequence, acked_below; payload: the name. Reply: token = epoch.
  GroupGet = 122,    // deadline_ms: how long to wait for another view. Reply payload: GroupAnswer.
  GroupBarrier = 123,  // session, sequence, acked_below, ttl_ms, deadline_ms. Reply: token = which.
  GroupUpdate = 124,   // session, sequence, acked_below. Reply: token = epoch, extra = rank.
  // Rendezvous (protocol/rendezvous/messages.h), all with Feature::Rendezvous.
  // session, sequence, acked_below, ttl_ms, deadline_ms. Reply, when the round is complete: token =
  // round, extra = rank; payload: its members.
  RendezvousJoin = 125,
  RendezvousLeave = 126,  // session, sequence, acked_below; payload: the name.
  RendezvousGet = 127,    // deadline_ms: how long to wait for a change. Reply payload: its state.
  // A lock as of an index of its shard. deadline_ms; payload: PastQuery. Reply payload: PastReply.
  // Feature::Past.
  LockGetAt = 112,
  // The cluster view (protocol/members/view_messages.h), with Feature::ClusterView.
  ViewGet = 128,       // Payload: ViewQuery. Reply payload: ViewAnswer; extra = its epoch.
  MemberUpdate = 129,  // Payload: MemberOrder. Reply as of ViewGet: the view that it made.
  // The nodes of the cluster (protocol/members/change_messages.h), with Feature::Members.
  MemberChange = 130,    // Payload: MemberActionOrder. Reply payload: MemberActionAnswer.
  MemberJoin = 131,      // Payload: JoinRequest (join_messages.h). Reply payload: JoinAnswer.
  MemberProgress = 132,  // No payload. Reply payload: MemberMoves.
  // Payload: AlarmOrder (protocol/members/alarm_messages.h). Reply payload: the node's alarms.
  // Feature::MemberMarks.
  MemberAlarms = 133,
  // Identities (protocol/identities/authenticate_messages.h), with Feature::Identities.
  Authenticate = 140,   // Payload: AuthenticateOrder. Reply payload: AuthenticateAnswer.
  SessionAttach = 143,  // session; payload: its key. This connection speaks for it from now on.
  // Users and roles (protocol/access/messages.h), with Feature::Roles.
  AccessGet = 141,     // Payload: AccessQuery. Reply payload: AccessAnswer; extra = its epoch.
  AccessChange = 142,  // Payload: AccessOrder. Reply as of AccessGet, without rows.
  // Clients behind sessions (protocol/audit/messages.h), with Feature::Audit.
  SessionDescribe = 144,  // Payload: their ids. Reply payload: SessionOrigin each, where known.
  HolderDescribe = 145,   // Payload: a name. The same of its holders and of who waits for it.
  // Limits and denials (protocol/limits/messages.h), with Feature::Limits.
  LimitsGet = 147,     // Payload: LimitsQuery. Reply payload: LimitsAnswer; extra = its epoch.
  LimitsChange = 148,  // Payload: LimitsOrder. Reply as of LimitsGet, without rows.
  // Orders to prune the ledger, which need two persons or a delay
  // (protocol/ledger/order_messages.h). Payload: PruneOrdersQuery. Reply payload:
  // PruneOrdersAnswer. Feature::Safeguards.
  LedgerOrders = 149,
};

// "lock_acquire" and the like; "unknown" for a number outside the enum.
std::string_view request_kind_name(RequestKind kind);
bool request_kind_known(RequestKind kind);

// Never renumber: bits of RequestSlot::flags.
enum class RequestFlag : std::uint16_t {
  Wait = 1,     // LockAcquire: queue while the lock is held, until deadline_ms.
  Waiters = 2,  // LockGet, LockList: name the waiters too.
  // LockRelease, ElectProclaim, ElectTransfer: of a session whose numbers somebody else gives;
  // sequence and acked_below are 0. The token makes it happen once, and a repetition answers that
  // nothing is held under it.
  ByToken = 4,
  Details = 8,  // LockGet: all that is known of its holds. Feature::LockHolds.
  // LockRelease, LockCheck, KeepAlive: say that a hold was broken by force, with a number of its
  // own. Without it such a hold is one that is not there. Feature::LockForce.
  TellBroken = 16,
  // LockAcquire, LockAcquireHold, SessionGrant: `token` is the term of the shard's leader as the
  // client knows it, 0: not at all. Another leader answers ErrorCode::TermStale and the term, so
  // that no late copy begins a session anew. Feature::NamedTerms.
  NamesTerm = 32,
  WatchQueue = 256,  // WatchOpen: tell also who begins and ends to wait.
  // WatchOpen of a name: tell what happens to it in whatever shard its lock is.
  // Feature::WatchFollow.
  WatchFollow = 8192,
  // WatchOpen: tell of each event what was held before it. Feature::WatchPrevious.
  WatchPrevious = 16384,
  // LockAcquire, LockAcquireHold: while it waits, its session gives nothing back; so a circle of
  // such waits is a deadlock, and ErrorCode::Deadlock ends one of them. Feature::Deadlocks.
  Blocks = 1024,
  // What names one lock: the client was told with ErrorCode::LockMoved that it is in this shard,
  // which is not that of the name's hash. Feature::LockMoves.
  Moved = 4096,
  // LockAcquire, LockAcquireHold, LockRelease: say at which log index it was decided.
  // Feature::Sessions.
  WriteIndex = 64,
  // The answer does not say who holds the lock, nor under which token, unless it is the caller. A
  // node sets it for a client who may not see it; it changes nothing else.
  Discreet = 512,
  // LockCheck, LockCheckBatch, LockGet, LockList: confirm by a round of the quorum, whatever the
  // leader's lease says. Feature::Sessions.
  Quorum = 128,
};

// Never renumber: bits of ReplySlot::flags.
enum class ReplyFlag : std::uint8_t {
  // LockAcquire: this session held the lock before; the token is the old one. LockCancel with
  // AcquireGranted: the same of the acquire in question, so that there is nothing to release.
  AlreadyHeld = 1,
  // LockList: locks were left out, because nobody is known to lead their shard or the node could
  // not
  // confirm that it does.
  Partial = 2,
  // LockAcquireHold: the session has one hold more than before, under its old token. LockCancel
  // with
  // AcquireGranted: the same of the acquire in question.
  HeldAgain = 4,
  StillHeld = 8,  // LockRelease: it gave one of several holds back.
  // SnapshotRead: nothing follows these bytes. Without it an empty payload says "not yet".
  Last = 16,
  Indexed = 32,  // To a request with WriteIndex: extra is the log index at which it was decided.
};

// In RequestSlot::shard of CloseSession: every shard that the asked node leads.
inline constexpr std::uint32_t kAllShards = 0xffff'ffff;

struct RequestSlot {
  RequestKind kind{};
  std::uint16_t flags = 0;
  std::uint32_t shard = 0;        // Where the name lives; the node checks it.
  std::uint64_t request_id = 0;   // Chosen by the client, echoed; means nothing to the node.
  std::uint64_t session = 0;      // 0: none.
  std::uint64_t sequence = 0;     // Within (session, shard), from 1; a retry repeats it. 0: a read.
  std::uint64_t acked_below = 0;  // From 1: the client has the replies of all sequences below it.
  std::uint64_t token = 0;        // Fencing token; with NamesTerm a term.
  std::uint32_t deadline_ms = 0;  // How long, from receipt, the answer is wanted; kForeverMs.
  std::uint32_t ttl_ms = 0;       // Of the session; an acquire registers it in the shard.
  std::uint32_t payload_offset = 0;
  std::uint32_t payload_bytes = 0;

  bool has(RequestFlag flag) const { return (flags & static_cast<std::uint16_t>(flag)) != 0; }

  void set(RequestFlag flag) {
    flags = static_cast<std::uint16_t>(flags | static_cast<std::uint16_t>(flag));
  }

  void unset(RequestFlag flag) {
    flags = static_cast<std::uint16_t>(flags & ~static_cast<std::uint16_t>(flag));
  }
};

static_assert(sizeof(RequestSlot) == kSlotBytes);
static_assert(std::is_trivially_copyable_v<RequestSlot>);

struct ReplySlot {
  RequestKind kind{};  // As asked.
  StatusCode code = StatusCode::Ok;
  std::uint8_t flags = 0;
  std::uint32_t detail = 0;      // ErrorCode; 0 when code is Ok.
  std::uint64_t request_id = 0;  // As asked.
  std::uint64_t token = 0;       // Granted; or the present holder's when the lock is busy.
  // Term of the leader that answered; with ErrorCode::NotLeader of the one that is named, 0: not
  // known.
  std::uint64_t epoch = 0;
  // By kind: session id, CheckVerdict, the present holder's session; with ErrorCode::LockMoved the
  // shard where the lock is.
  std::uint64_t extra = 0;
  std::uint32_t ttl_ms = 0;  // Left to the session as the answering leader sees it.
  std::uint32_t leader = 0;  // Node id where to ask instead, with ErrorCode::NotLeader; 0: unknown.
  std::uint32_t shard = 0;   // As asked.
  std::uint32_t reserved = 0;  // Zero.
  std::uint32_t payload_offset = 0;
  std::uint32_t payload_bytes = 0;  // An error's payload is a message for the operator, or empty.

  bool has(ReplyFlag flag) const { return (flags & static_cast<std::uint8_t>(flag)) != 0; }

  void set(ReplyFlag flag) {
    flags = static_cast<std::uint8_t>(flags | static_cast<std::uint8_t>(flag));
  }
};

static_assert(sizeof(ReplySlot) == kSlotBytes);
static_assert(std::is_trivially_copyable_v<ReplySlot>);

// A reply to a request with kind, request id and shard filled in; code Ok.
ReplySlot reply_to(const RequestSlot& request);

}  // namespace gcoord::protocol
