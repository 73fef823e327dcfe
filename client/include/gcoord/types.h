// Result types of the client library: grants, verdicts, descriptions of locks, elections and the
// cluster.
//
// Plain values: copying them is safe, and no function here asks a node. Times are durations that a
// node measured when it answered; they are not corrected for the way of the answer, so a program
// that needs certainty uses the functions of Lock, Lease and Election, which count by the client's
// own clock. A session id of 0 stands for "no session", a token of 0 for "no token": neither is
// ever assigned. Names are UTF-8, compared by bytes: what Unicode writes in two ways (NFC, NFD) is
// two names. New names, notes and values have no control characters (GC1114, GC6028); a name that
// an earlier release let in may have some, and a note or value of then is any bytes.
// gcoord/client.h says which function returns which type.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::client {

// Stands for the session of a holder, waiter or candidate whom this client may not see: nodes that
// check rights show it to those who lack lock.read.details of the name (watch.details in events).
// No session has this id. `hidden` of the types below says the same.
inline constexpr std::uint64_t kHiddenSession = ~std::uint64_t{0};

// Result of an acquire: the lock is held by the session from now on (Session::acquire_async with a
// callback; the other forms return a Lock, which keeps the grant).
struct Grant {
  // Hand the token to the guarded resource with every write; the resource refuses tokens below the
  // highest that it has seen.
  std::uint64_t token = 0;  // Fencing token: rises with every grant of this name, for ever.
  std::uint64_t epoch = 0;  // Term of the leader that granted.
  // The time that the session had left at the node when it granted.
  std::chrono::milliseconds ttl_left{0};
  bool already_held = false;  // This session held the lock before; the token is the old one.
  bool held_again = false;    // The same, and it owes one release more now (holds_max).
};

// Answer to the check of a fencing token (Client::check). A token is never granted twice, so a
// token that is Stale or Free never becomes Valid again.
enum class Verdict : std::uint8_t {
  Valid = 1,  // The lock is held under this very token.
  Stale = 2,  // It is held under another token.
  Free = 3,   // Nobody holds it; the token is of the past.
};

// One entry of Client::check_batch: is this name held under this token?
struct TokenCheck {
  std::string name;
  std::uint64_t token = 0;
};

// One waiting request in the queue of a lock.
struct Waiter {
  std::uint64_t session_id = 0;
  // The number of the request within its session and shard; two waits of one session differ in it.
  std::uint64_t sequence = 0;
  // How long it has waited, as the node that answered measured it.
  std::chrono::milliseconds waited{0};
};

// One of the sessions that share a lock, as readers or with permits of a semaphore.
struct Holder {
  std::uint64_t session_id = 0;
  // Every sharer has a token of its own.
  std::uint64_t token = 0;
  // The index of the log entry that granted it, in the log of the lock's shard.
  std::uint64_t acquired_index = 0;
  // The permits that it took (AcquireOptions::permits).
  std::uint32_t permits = 0;
};

// State of a lock that is held or waited for (Client::get, list and read). A lock that is neither
// has no description: get() returns GC6016 and read() an empty optional. To who lacks
// lock.read.details of the name, nodes say that it is held and not by whom: then `hidden` is true,
// holder_session is kHiddenSession, and the token, note, waiters and holders are left out, which
// says nothing of what they are.
struct LockDescription {
  std::string name;
  // The shard that keeps the lock: that of its name, unless an operator moved the lock.
  std::uint32_t shard = 0;
  std::uint64_t holder_session = 0;  // 0: not held.
  std::uint64_t token = 0;           // 0 where hidden: it has one.
  std::uint64_t acquired_index = 0;  // The log entry that granted it.
  // The time that the holder's session has left at the node that answered.
  std::chrono::milliseconds ttl_left{0};
  std::uint32_t waiter_count = 0;
  std::vector<Waiter> waiters;  // In queue order, when asked for.

  // Only get() fills this member and the following ones. The number of releases that the holder
  // owes (AcquireOptions::holds_max). 0: the holder failed, and the lock is not granted before its
  // lock-delay is over.
  std::uint32_t hold_count = 1;
  std::string note;               // From the holder, for others to read: any bytes.
  std::uint32_t permits_max = 0;  // Of a semaphore.
  std::vector<Holder> holders;    // Of a lock that is shared, oldest first; the first is above too.

  bool hidden = false;  // Somebody holds it whom this client may not see.
};

// Result of Client::break_lock: the hold that an operator broke.
struct BrokenLock {
  std::string name;
  std::uint64_t session_id = 0;  // Of its holder; 0 when an earlier try broke it.
  std::uint64_t token = 0;       // Of several, the oldest.
};

// Notice of a lock that a living session has lost because an operator broke the hold
// (SessionOptions::on_lost, Session::next_event). The session's other locks are not affected.
struct LostLock {
  std::string name;
  std::uint64_t token = 0;
  std::uint32_t shard = 0;
  std::uint64_t broken_index = 0;  // The entry of the shard's log that says who and why.
};

// Leader of an election and its present term (Client::leader).
struct Leader {
  std::uint64_t session_id = 0;
  std::uint64_t epoch = 0;  // Fencing token of this term of office.
  // The time that the leader's session has left at the node that answered.
  std::chrono::milliseconds ttl_left{0};
  std::uint32_t candidates_waiting = 0;  // In line behind the leader.
  std::string value;                     // Of the leader, for others to read: any bytes.

  // There is a leader, whom this client may not see (lock.read.details): session_id is
  // kHiddenSession, and epoch and value are left out.
  bool hidden = false;
};

// One candidate in the queue of an election.
struct CandidateView {
  std::uint64_t session_id = 0;
  std::uint64_t sequence = 0;  // Of its campaign: another campaign is another wait.
  // How long it has waited, as the node that answered measured it.
  std::chrono::milliseconds waited{0};
  // CampaignOptions::priority; a leader with `hysteresis` prefers higher values.
  std::uint32_t priority = 0;
  // CampaignOptions::value: any bytes, at most 512.
  std::string value;

  // As Leader::hidden: session_id is kHiddenSession, and value is left out.
  bool hidden = false;
};

// State of an election: its leader and the queue of candidates (Client::candidates).
struct ElectionView {
  Leader leader;
  // The requested next leader; 0: nobody; kHiddenSession: somebody.
  std::uint64_t wanted_session = 0;
  std::vector<CandidateView> candidates;  // In the order of the line, the first 1,000.
};

// Selection of Client::list and Client::read_list. A sequence of pages needs the same prefix on
// every page.
struct ListOptions {
  // Only locks whose names begin with it; empty: all locks.
  std::string prefix{};
  std::string cursor{};  // Of the last page; empty: from the beginning.
  // The maximum number of locks on a page, 1 to 1,000 (GC1111).
  std::uint32_t limit = 100;
  // Whether descriptions include the waiters, and not only their number.
  bool waiters = false;
  bool quorum = false;  // Confirmed by a quorum, whatever leaders' leases say.
};

// One page of Client::list: a snapshot of one node's shards. Locks that move between nodes while
// the pages are read may be missed or seen twice. A page may be empty and yet not the last one:
// only an empty next_cursor ends the list.
struct LockPage {
  std::vector<LockDescription> locks;
  std::string next_cursor;  // Empty: no more.

  // False when locks were left out: a node could not be asked, or shards had no leader that could
  // confirm itself.
  bool complete = true;
};

// State of the circuit breaker of one endpoint: whether requests go there
// (ClientOptions::breaker_failures; docs/reference/client.md has the transitions).
enum class BreakerState : std::uint8_t {
  Closed,    // They do.
  Open,      // They go to others, or wait, until a pause is over.
  HalfOpen,  // One try is on its way there; the rest waits for what comes of it.
};

// Argument of Client::log_levels: the levels of a node's log that are wanted, "info,peers=debug";
// empty: none is changed. `who` is for the node's log; nothing proves it. At most 128 bytes.
struct LogLevelChange {
  std::string levels;
  std::string who;
};

// One node as this client sees it.
struct NodeView {
  // 0 while the node at this address has never answered.
  std::uint32_t node_id = 0;
  // "host:port" of its client port.
  std::string address;
  bool connected = false;
  BreakerState breaker = BreakerState::Closed;
  std::string last_error;               // Why it is not connected, or its breaker not closed.
  std::uint32_t last_error_number = 0;  // 3106 for GC3106, where it has one; 0: it has none.
};

// Identity of a client, as the cluster knows it (Client::identity).
struct Identity {
  std::string kind;  // "anonymous", "certificate", "user" or "node".
  std::string name;  // Empty for anonymous.

  // A secret: whoever shows it is this user for as long. Empty without a login.
  std::string token;
  std::chrono::seconds token_left{0};
};

// State of the cluster as this client knows it (Client::cluster); asks no node.
struct ClusterView {
  // These six are settings of the cluster, as the first node that answered stated them.
  std::uint64_t cluster_id = 0;
  std::uint32_t shard_count = 0;
  std::chrono::milliseconds tick{0};
  std::chrono::milliseconds election_timeout{0};
  // The bounds of a session's TTL; others are refused with GC1104 and GC1105.
  std::chrono::milliseconds ttl_min{0};
  std::chrono::milliseconds ttl_max{0};
  std::vector<NodeView> nodes;
};

// Counters of one client since connect(), for tests, benchmarks and monitoring
// (Client::statistics). They only rise.
struct ClientStatistics {
  std::uint64_t requests = 0;    // Slots sent, retries included.
  std::uint64_t frames = 0;      // Frames sent; requests / frames is the mean batch.
  std::uint64_t retries = 0;     // Sent again after a back-off.
  std::uint64_t redirects = 0;   // Sent again to the leader a node named.
  std::uint64_t moves = 0;       // Sent again to the shard where a lock was moved to.
  std::uint64_t reconnects = 0;  // Connections lost after they were up.
};

}  // namespace gcoord::client
