// The first exchange of every connection: who speaks which version, which cluster, which node.
//
// The client sends one Hello slot, alone in its first frame. The node answers with a Welcome, or
// with a refusal (ErrorCode::VersionUnsupported, ClusterForeign) and closes. Anything else before a
// Hello is ErrorCode::HelloMissing. Encoded lists and texts have explicit counts and are bounded;
// decoding hostile bytes fails, never reads outside, never allocates more than it was given.
// Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcoord::protocol {

// Versions of the slots' meaning that this build speaks.
inline constexpr std::uint16_t kProtocolVersionMin = 1;
inline constexpr std::uint16_t kProtocolVersionMax = 1;

// Never renumber: bits of features. A peer ignores bits that it does not know.
enum class Feature : std::uint64_t {
  Locks = 1,
  CheckBatch = 2,
  LeaderMap = 4,
  Snapshots = 8,
  LockHolds = 16,          // LockAcquireHold, and RequestFlag::Details.
  LockForce = 32,          // LockBreak, SessionLosses, RequestFlag::TellBroken, LockHold::delay_ms.
  Elections = 64,          // Requests 72 to 75, and HoldFlag::Ranked.
  Watches = 128,           // WatchOpen and its kin.
  Sessions = 256,          // LockRead, SessionGrant and their neighbours; WriteIndex and Quorum.
  Deadlocks = 512,         // RequestFlag::Blocks, LockDeadlocks.
  LedgerPruning = 2048,    // LedgerPrune.
  LockMoves = 4096,        // LockMove, RequestFlag::Moved.
  Past = 8192,             // LockGetAt.
  SessionEnds = 16384,     // Between nodes: one entry ends many sessions (locks/commands/ends.h).
  MovePlaces = 32768,      // Between nodes: MoveIn that lapses, MoveLapse (locks/state/import.h).
  WatchFollow = 65536,     // RequestFlag::WatchFollow.
  Coordinators = 131072,   // Between nodes: coordinator_message.h.
  WatchKinds = 262144,     // WatchQuery::kinds.
  WatchPrevious = 524288,  // RequestFlag::WatchPrevious.
  NamedTerms = 1048576,    // RequestFlag::NamesTerm.
  LogLevels = 2097152,     // LogLevels.
  Groups = 4194304,        // GroupJoin and its kin; between nodes: locks/commands/group_command.h.
  ClusterView = 8388608,   // ViewGet, MemberUpdate; between nodes: entries of the cluster view.
  Members = 16777216,      // Nodes that come and go: requests 130 to 139, and entries for them.
  Rendezvous = 33554432,   // Requests 125 to 127; between nodes: membership/rendezvous/command.h.
  MemberMarks = 67108864,  // MemberAlarms; between nodes: entries that mark several nodes at once.
  Witnesses = 134217728,   // Between nodes: voters without services' state, which never lead.
  Identities = 268435456,  // Authenticate, SessionAttach, keys in replies about sessions.
  Roles = 536870912,       // AccessGet, AccessChange; between nodes: entries of users and roles.
  // Between nodes whose turn is resident: groups and lists of ends as entries of a device
  // (locks/commands/entry_text.h).
  DeviceGroups = 8589934592,
  // Between nodes whose turn is resident: the view, users and roles, limits, and notes of sessions
  // as entries of a device (locks/commands/entry_record.h).
  SystemRecords = 17179869184,
  // LedgerOrders; between nodes: limits of TTLs of sessions and orders to prune
  // (security/limits/command.h), and grants of rights from session.choose on
  // (security/roles/rights.h).
  Safeguards = 274877906944,
  // Between nodes whose turn is resident: an entry of the view that gives a node's number to
  // another directory (ViewCommandKind::Renew).
  Renewals = 34359738368,
  // Between nodes: signatures under granted votes (server/evidence/message.h).
  VoteSignatures = 549755813888,
  // Between nodes whose turn is resident: entries of a device say who asked for them and when, and
  // their leaves are the records of a turn on the host (server/interfaces/entry_stamp.h); the
  // cluster log is published; breaks say that their author is proven.
  DeviceLedger = 2199023255552,
  // Between nodes whose turn is resident: moves of locks as entries of a device
  // (locks/commands/entry_move.h).
  DeviceMoves = 8796093022208,
  Audit = 1073741824,   // SessionDescribe, HolderDescribe; between nodes: entries that say who.
  Limits = 2147483648,  // LimitsGet, LimitsChange; between nodes: entries of limits and denials.
};

inline constexpr std::uint64_t kFeatures =
    1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256 | 512 | 2048 | 4096 | 8192 | 16384 | 32768 | 65536 |
    131072 | 262144 | 524288 | 1048576 | 2097152 | 4194304 | 8388608 | 16777216 | 33554432 |
    67108864 | 134217728 | 268435456 | 536870912 | 1073741824 | 2147483648 | 8589934592 |
    17179869184 | 34359738368 | 274877906944 | 549755813888 | 2199023255552 | 8796093022208;

struct Hello {
  std::uint16_t version_min = kProtocolVersionMin;
  std::uint16_t version_max = kProtocolVersionMax;
  std::uint64_t features = kFeatures;
  ClusterId cluster;   // 0: any; otherwise a node of another cluster refuses.
  std::string client;  // Name and version for the node's log; at most 255 bytes.
};

struct NodeAddress {
  NodeId node;
  std::string address;  // "host:port" of the client port.
};

struct Welcome {
  std::uint16_t version = 0;   // The highest that both speak.
  std::uint64_t features = 0;  // What both have.
  ClusterId cluster;
  NodeId node;  // Who answers.
  std::uint32_t shard_count = 0;
  std::uint32_t tick_ms = 0;
  std::uint32_t election_ms = 0;  // Election timeout: how long a shard may be without a leader.
  std::uint32_t ttl_ms_min = 0;
  std::uint32_t ttl_ms_max = 0;
  std::vector<NodeAddress> nodes;  // All nodes of the cluster, the answering one too.
  // This connection, as the node's log names it (connection_name() in reply_sink.h). 0: the node is
  // of a release that does not say.
  std::uint64_t connection = 0;
  // Epoch of the view of which the nodes are; 0: there is none, or the node does not say. Said only
  // behind a connection's name, and where both have Feature::Members.
  std::uint64_t view_epoch = 0;
};

std::vector<std::byte> encode(const Hello& hello);
std::vector<std::byte> encode(const Welcome& welcome);
Result<Hello> decode_hello(std::span<const std::byte> payload);

// Also refuses fields that no node of a sound cluster sends, so that what a client computes with
// them is bounded: a version that this build does not speak, no shards or more than kShardsMax,
// times above a day, no nodes, a node without an id or two of one id.
Result<Welcome> decode_welcome(std::span<const std::byte> payload);

// The version to speak, or 0 when the ranges do not meet.
std::uint16_t common_version(const Hello& hello);

}  // namespace gcoord::protocol
