// Sessions with the functions of etcd's leases: granted with an id, shown, listed, counted.
//
// A granted session is registered in its home shard at once, and lives there for its TTL after the
// last keep-alive, whether it holds a lock or not. A session of Client::open_session is registered
// only in the shards where it holds or waits for locks. Both kinds are shown by Client::session and
// Client::list_sessions, and renewed by Client::keep_alive_once.
//
// Plain values; no thread rules. Times are milliseconds. The remaining time of a session, as a
// node says it, was measured by the node; a program that owns the session asks Session::remaining
// instead, which counts by its own clock.
//
//  auto session = client.grant_session({.ttl = 60s, .session_id = 7});
//  auto known = client.session(7);  // alive, remaining, lock_count, keys
//
// All pages of the sessions that hold a lock:
//
//  SessionListOptions options{.filter = SessionFilter::Holding};
//  do {
//    auto page = client.list_sessions(options);
//    ...
//    options.cursor = page.value().next_cursor;
//  } while (!options.cursor.empty());
#pragma once

#include "gcoord/options.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::client {

// Options of Client::grant_session.
struct GrantOptions {
  // How long the session lives after its last keep-alive. The cluster has bounds
  // (ClusterView::ttl_min and ttl_max): GC1104 below them, GC1105 above.
  std::chrono::milliseconds ttl{10'000};
  // The wanted id, 1 to 2^48 - 1 (GC6302 for others); 0: the cluster chooses. GC6301 when a session
  // with this id exists already. A repeated call whose first answer was lost finds its own session
  // and gets GC6301 too.
  std::uint64_t session_id = 0;
  // As SessionOptions::on_event: runs on the client's own thread and must return soon.
  std::function<void(SessionEvent)> on_event{};
  std::function<void(const LostLock&)> on_lost{};  // As SessionOptions::on_lost.
  SessionHealth health{};                          // As SessionOptions::health.
};

// State of one session, as nodes know it (Client::session, list_sessions and keep_alive_once). A
// session that has ended is an answer and not an error: alive is false and remaining is -1.
struct SessionDescription {
  std::uint64_t session_id = 0;
  bool alive = false;  // It is registered somewhere.
  // It was opened by Client::grant_session, and not by open_session.
  bool granted = false;
  std::chrono::milliseconds ttl{0};         // As granted.
  std::chrono::milliseconds remaining{-1};  // -1: it is gone.
  std::uint32_t shard_count = 0;            // Where it is registered.
  // The number of locks that it holds, in all shards where it is registered.
  std::uint32_t lock_count = 0;
  std::vector<std::string> keys;  // Names of its locks, the first 800; of Client::session only.
};

// Selection of sessions by their locks (SessionListOptions::filter).
enum class SessionFilter : std::uint8_t {
  All = 0,
  Holding = 1,  // At least one lock.
  Idle = 2,     // None.
};

// Selection of Client::list_sessions. A session matches when all of these conditions hold.
struct SessionListOptions {
  SessionFilter filter = SessionFilter::All;
  // Only sessions with less time left than this; max(): all.
  std::chrono::milliseconds remaining_below{std::chrono::milliseconds::max()};
  std::uint32_t limit = 1000;  // Of one page; 1 to 10,000.
  // Whether pages carry only the number of sessions and no descriptions. The total is the sum of
  // the pages' counts.
  bool count_only = false;
  std::string cursor{};  // Of the last page; empty: from the beginning.
};

// One page of Client::list_sessions: sessions of one node. Each session is shown by one node only;
// a session that opens or ends while the pages are read may be missed.
struct SessionsPage {
  std::vector<SessionDescription> sessions;
  std::uint64_t count = 0;  // Of this page.
  std::string next_cursor;  // Empty: no more. A page may be empty and yet not the last one.
  bool complete = true;     // False: a node did not answer.
};

// The client behind a session (Client::session_origins and holder_origins), as the ledger has it:
// the principal that a node has proven, the address that it saw, and the name that the client gave
// itself, which proves nothing. Sessions without a note have none: those of clients that proved
// nothing, unless the nodes have --session-notes all, and those of clusters of earlier releases.
struct SessionOrigin {
  std::uint64_t session_id = 0;
  std::uint64_t since_ms = 0;  // Unix milliseconds: when it was opened.
  std::string principal_kind;  // "anonymous", "certificate", "user" or "node".
  std::string principal;       // Its name; empty for "anonymous".
  std::string address_class;   // "loopback", "private", "public", "local" or "unknown".
  std::string address;         // "192.0.2.7"; "-" where there is none.
  std::string client;          // At most 64 bytes.
};

}  // namespace gcoord::client
