// Result types of the client library: grants, verdicts, descriptions of locks and of the cluster.
// Plain values; no thread rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::client {

// A granted lock.
struct Grant {
  std::uint64_t token = 0;  // Fencing token: rises with every grant of this name, for ever.
  std::uint64_t epoch = 0;  // Term of the leader that granted.
  std::chrono::milliseconds ttl_left{0};
  bool already_held = false;  // This session held the lock before; the token is the old one.
  bool held_again = false;    // The same, and it owes one release more now (holds_max).
};

enum class Verdict : std::uint8_t {
  Valid = 1,  // The lock is held under this very token.
  Stale = 2,  // It is held under another token.
  Free = 3,   // Nobody holds it; the token is of the past.
};

struct TokenCheck {
  std::string name;
  std::uint64_t token = 0;
};

struct Waiter {
  std::uint64_t session_id = 0;
  std::uint64_t sequence = 0;
  std::chrono::milliseconds waited{0};
};

// One of those who share a lock.
struct Holder {
  std::uint64_t session_id = 0;
  std::uint64_t token = 0;
  std::uint64_t acquired_index = 0;
  std::uint32_t permits = 0;
};

// A lock that is held or waited for.
struct LockDescription {
  std::string name;
  std::uint32_t shard = 0;
  std::uint64_t holder_session = 0;  // 0: not held.
  std::uint64_t token = 0;
  std::uint64_t acquired_index = 0;  // The log entry that granted it.
  std::chrono::milliseconds ttl_left{0};
  std::uint32_t waiter_count = 0;
  std::vector<Waiter> waiters;  // In queue order, when asked for.

  // Of get() only.
  // How many releases the holder owes; 0: the holder failed, and nobody has the lock until the
  // delay that it asked for is over.
  std::uint32_t hold_count = 1;
  std::string note;               // What the holder left for others to read: any bytes.
  std::uint32_t permits_max = 0;  // Of a semaphore.
  std::vector<Holder> holders;    // Of a lock that is shared, oldest first; the first is above too.
};

// A hold that an operator broke.
struct BrokenLock {
  std::string name;
  std::uint64_t session_id = 0;  // Whose it was; 0 when an earlier try broke it.
  std::uint64_t token = 0;       // Of several, the oldest.
};

// A lock that a session lost although the session lives: somebody broke the hold.
struct LostLock {
  std::string name;
  std::uint64_t token = 0;
  std::uint32_t shard = 0;
  std::uint64_t broken_index = 0;  // The entry of the shard's log that says who and why.
};

// Who leads in an election.
struct Leader {
  std::uint64_t session_id = 0;
  std::uint64_t epoch = 0;  // Fencing token of this term of office.
  std::chrono::milliseconds ttl_left{0};
  std::uint32_t candidates_waiting = 0;  // In line behind the leader.
  std::string value;                     // What it said of itself: any bytes.
};

// One who waits to lead.
struct CandidateView {
  std::uint64_t session_id = 0;
  std::uint64_t sequence = 0;  // Of its campaign: another campaign is another wait.
  std::chrono::milliseconds waited{0};
  std::uint32_t priority = 0;
  std::string value;
};

// An election: who leads, and the line behind.
struct ElectionView {
  Leader leader;
  std::uint64_t wanted_session = 0;       // Who was asked for as the next leader; 0: nobody.
  std::vector<CandidateView> candidates;  // In the order of the line, the first 1,000.
};

struct ListOptions {
  std::string prefix;
  std::string cursor;  // Of the last page; empty: from the beginning.
  std::uint32_t limit = 100;
  bool waiters = false;
  bool quorum = false;  // Confirmed by a quorum, whatever leaders' leases say.
};

// A page is a snapshot of one node's shards; locks that move meanwhile may be missed or seen twice.
// A page may be empty and yet not the last one.
struct LockPage {
  std::vector<LockDescription> locks;
  std::string next_cursor;  // Empty: no more.

  // False when locks were left out: a node could not be asked, or shards had no leader that could
  // confirm itself.
  bool complete = true;
};

// Whether requests go to an endpoint (ClientOptions::breaker_failures).
enum class BreakerState : std::uint8_t {
  Closed,    // They do.
  Open,      // They go to others, or wait, until a pause is over.
  HalfOpen,  // One try is on its way there; the rest waits for what comes of it.
};

struct NodeView {
  std::uint32_t node_id = 0;
  std::string address;
  bool connected = false;
  BreakerState breaker = BreakerState::Closed;
  std::string last_error;  // Why it is not connected, or its breaker not closed.
};

// What the client knows of its cluster.
struct ClusterView {
  std::uint64_t cluster_id = 0;
  std::uint32_t shard_count = 0;
  std::chrono::milliseconds tick{0};
  std::chrono::milliseconds election_timeout{0};
  std::chrono::milliseconds ttl_min{0};
  std::chrono::milliseconds ttl_max{0};
  std::vector<NodeView> nodes;
};

// Counted since connect(); for tests, benchmarks and curiosity.
struct ClientStatistics {
  std::uint64_t requests = 0;    // Slots sent, retries included.
  std::uint64_t frames = 0;      // Frames sent; requests / frames is the mean batch.
  std::uint64_t retries = 0;     // Sent again after a back-off.
  std::uint64_t redirects = 0;   // Sent again to the leader a node named.
  std::uint64_t moves = 0;       // Sent again to the shard where a lock was moved to.
  std::uint64_t reconnects = 0;  // Connections lost after they were up.
};

}  // namespace gcoord::client
