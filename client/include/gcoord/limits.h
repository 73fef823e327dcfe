// Limits of clients, and who is denied the cluster.
//
// Both are replicated state: Client::limits reads it, Client::change_limits changes it in one entry
// of the ledger, each change raising the epoch by one. Every node enforces them by itself, on what
// comes to it, so a rate counts at each node. A request beyond a rate is refused with GC6580 and
// says how long to wait, which this client does by itself; beyond a quota with GC6581. Requests
// that keep alive or give back are never limited. A denial closes the connections that it is about,
// on all nodes, and ends by itself. docs/reference/limits.md has the bounds. Plain values; no
// thread rules.
//
//  LimitsChange change{.action = LimitsAction::Set};
//  change.limit = {.scope = LimitScope::Principal, .name = "batch", .rate = 100, .burst = 200};
//  auto report = client.change_limits(change);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::client {

// Whom a limit is about, by its name. Never renumber: they are in requests.
enum class LimitScope : std::uint8_t {
  // A principal, by its name; "-": each address of clients that have proven nobody; "*": each
  // principal and address without a limit of its own.
  Principal = 1,
  Prefix = 2,   // All clients together, on names that begin so; a rate and a burst.
  Network = 3,  // All addresses of a network, as "192.0.2.0/24": connections.
};

// A limit. A field that is 0 limits nothing of its kind. All but rate and burst count what one
// identity has at each node; one more is refused with GC6581, and a connection with GC6582.
struct Limit {
  LimitScope scope = LimitScope::Principal;
  std::string name;
  std::uint32_t rate = 0;   // Requests a second at each node.
  std::uint32_t burst = 0;  // At once, 1 at least where there is a rate.
  std::uint32_t connections = 0;
  std::uint32_t sessions = 0;
  std::uint32_t locks = 0;    // Held by its sessions.
  std::uint32_t waiters = 0;  // Its requests that wait for locks.
  std::uint32_t watches = 0;
  std::uint64_t bytes = 0;  // Of replies that a node keeps because its clients do not read.
  // The longest TTL of its sessions, 100 to 86,400,000 ms. Requests that open a session, acquire or
  // join with a longer one are refused with GC6745. GC6746 while a node does not know it.
  std::uint32_t session_ttl_ms_max = 0;
};

// Whom a denial is about, by its name. Never renumber: they are in requests.
enum class DenialScope : std::uint8_t {
  Principal = 1,
  Serial = 2,           // Of a certificate, in hexadecimal digits.
  CertificateName = 3,  // A subject alternative name, or the common name.
  Network = 4,          // An address or a network; loopback cannot be denied.
};

// A denial: no node serves connections that it is about before its end. Its sessions are not closed
// by it; they live for their TTL.
struct Denial {
  DenialScope scope = DenialScope::Principal;
  std::string name;
  std::uint64_t until_ms = 0;  // Unix time of its end.
  std::string reason;          // For operators.
};

// Kinds of changes, with the fields that they go by. Never renumber: they are in requests.
enum class LimitsAction : std::uint8_t {
  Set = 1,     // `limit`, in the place of one of that scope and name.
  Remove = 2,  // The limit of limit.scope and limit.name.
  Deny = 3,    // `denial`, until duration_ms from now; in the place of one of that scope and name.
  Allow = 4,   // Ends the denial of denial.scope and denial.name.
};

// Argument of Client::change_limits: one change, which happens as a whole or not at all.
struct LimitsChange {
  LimitsAction action = LimitsAction::Set;
  Limit limit;
  Denial denial;
  std::uint64_t duration_ms = 0;  // Of a denial: 1 second to 30 days.
  // Change this epoch only, or fail with GC6586; 0: whichever is the newest.
  std::uint64_t epoch = 0;
  bool dry_run = false;  // Judge it, and change nothing.
  std::string who;       // For the ledger, where the connection proves nobody.
};

// Argument of Client::limits, for one kind of rows: in the order of their scopes, then of their
// names. LimitsReport::more says that there are other rows, which a query that
// begins after the last one reads.
struct LimitsQuery {
  bool denials = false;  // Those, or limits.
  // Rows behind that of this scope and name; 0: from the first.
  std::uint8_t after_scope = 0;
  std::string after_name;
  // Read what this node has applied, which may be older, and is what it enforces; 0: what the
  // leader has.
  std::uint32_t node_id = 0;
};

// The state of limits and denials, as of `epoch`, with the rows that were wanted. The use of
// limits is no part of it: each node has its own, in its metrics.
struct LimitsReport {
  std::uint64_t epoch = 0;  // 0: there are none, and never were.
  std::uint32_t limit_count = 0;
  std::uint32_t denial_count = 0;
  std::vector<Limit> limits;
  std::vector<Denial> denials;  // Those that have not ended, by the clock of the node.
  bool more = false;            // Rows behind the last one were left out.
};

}  // namespace gcoord::client
