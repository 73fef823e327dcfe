// Options of the client library, with the reason for each default.
//
// All of them are plain structs for designated initialisers: client.connect({.endpoints = {...}}).
// A call copies its options. Times are durations; an option without another remark accepts 0 to a
// day. Callbacks run on the client's own thread: they return soon and call no blocking functions of
// the library (GC4011).
#pragma once

#include "gcoord/clock.h"
#include "gcoord/health.h"
#include "gcoord/types.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

// Wait until granted, or until the session ends.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

// TLS 1.3 to the nodes. A file that is given means TLS; without any, `enabled` does, with the CAs
// of the system. Files are PEM, and read again for the next connection when they have changed.
struct TlsOptions {
  bool enabled = false;

  // Certificates of the CA that those of the nodes must come from; empty: the system's.
  std::string cacert{};

  // The client's own certificate and its key, where nodes demand one: both, or neither. The file of
  // the key must be readable by its owner alone.
  std::string cert{};
  std::string key{};

  // The name or address that a node's certificate must have; empty: the host of its endpoint. For
  // nodes that are reached through a tunnel or a proxy.
  std::string server_name{};
};

// Identity of a client, where nodes want one: a user with a password, or with a token that another
// program got for one. A certificate (TlsOptions) gives one, too; a user has precedence. A password
// is shown to one node, and the token that comes for it to the others and after reconnections; the
// client renews it by itself.
struct Credentials {
  std::string user{};
  std::string password{};

  // Without a password, or in place of it as long as nodes take it. `token_file` is read for each
  // connection, so that another program may renew it there; only its owner may be able to read it.
  std::string token{};
  std::string token_file{};
};

// Options of Client::connect. Only `endpoints` has no default.
struct ClientOptions {
  // "host:port" of client ports, one or more. The other nodes are learned from the first that
  // answers. "srv:_gcoord._tcp.example.org" stands for the hosts and ports of that name's SRV
  // records in DNS, which connect() looks up; "srv:NAME@ADDRESS[:PORT]" asks this name server.
  // "unix:/path" is the Unix socket of a node of this machine, which knows the user of this process
  // by it (GC3140 to GC3144). By "shm:/path" requests take shared memory (GC6690 to GC6693).
  std::vector<std::string> endpoints{};

  // Plain TCP unless something is set here.
  TlsOptions tls{};

  // Nobody, unless something is set here.
  Credentials credentials{};

  // Passwords and tokens go out over TLS, to Unix sockets and to loopback. In plain TCP to any
  // other address a client does not show them, and fails with GC6685; true: it does. Everybody who
  // can read the network then knows them. Each connection counts by the address that it has
  // reached. Keys of sessions, which nodes hand out over the same connections, are not held back.
  bool insecure_credentials = false;

  // How long connect() may take, and one attempt at one node. Before that, looking up "srv:..."
  // may take as long.
  std::chrono::milliseconds connect_timeout{3000};

  // From call to answer, retries and redirects included; a lock's wait is added to it. Longer than
  // an election, so that a failover is not an error.
  std::chrono::milliseconds request_timeout{5000};

  // Back-off between retries: doubles from min, which is above 0, to max, with jitter.
  std::chrono::milliseconds backoff_min{5};
  std::chrono::milliseconds backoff_max{500};

  // Retries that may be taken at once beyond one for ten successes. When they are spent every retry
  // waits backoff_max, so that many clients cannot keep an overloaded cluster down. Acquires that
  // wait for their lock take one for all of a shard together, each time that they are held back
  // (docs/reference/client.md).
  std::uint32_t retry_budget = 10'000;

  // Each endpoint has a circuit breaker (docs/reference/client.md). A connection that cannot be
  // made, or is lost, opens it at once; so do this many requests in a row that the node was too
  // busy for (GC5003) or left unanswered until their deadline. Ten: a single burst that was refused
  // in part is answered in part too. 0: requests never open it. It lets one try through after a
  // pause of backoff_min, doubled up to backoff_max with jitter while tries fail.
  std::uint32_t breaker_failures = 10;

  // While the breakers of all endpoints are open, requests fail at once with GC3011 instead of
  // waiting for a try to succeed until their deadline. Acquires and campaigns that wait for a lock
  // still wait, and so does what gives something back. Off, because a failover is no error to a
  // caller who has time.
  bool fail_fast = false;

  // A lease ends at send time + TTL - (TTL / drift_divisor + drift_margin) on the client's clock:
  // clocks whose rates differ by less than 1 % plus 10 ms of delay never see it outlive the
  // cluster's.
  std::uint32_t drift_divisor = 100;
  std::chrono::milliseconds drift_margin{10};

  // Keep on trying within connect_timeout although every endpoint has refused once: for programs
  // that start together with the cluster.
  bool wait_for_cluster = false;

  // Only talk to this cluster; 0: to whichever answers.
  std::uint64_t cluster_id = 0;

  // Sent to each node with the first message. Logs and the ledger's notes have 64 bytes of it.
  std::string client_name = "libgcoord_client";

  // Seed of the back-off jitter; 0: from the system.
  std::uint64_t seed = 0;

  std::shared_ptr<Clock> clock = boot_clock();
};

// Chubby's words (Burrows, OSDI 2006, section 2.8). Events come in this order, from the client's
// own thread: Jeopardy, then Safe or Expired; nothing after Expired.
enum class SessionEvent : std::uint8_t {
  Jeopardy,  // Two keep-alives in a row were not confirmed by a majority. Stop starting things.
  Safe,      // Confirmed again; nothing was lost.
  Expired,   // All locks of the session are lost. Fires before a node may grant them to others.
};

// Options of Client::open_session.
struct SessionOptions {
  // How long the session lives after its last renewal, and so how long its locks outlive a program
  // that dies. The cluster has bounds: GC1104 below them, GC1105 above.
  std::chrono::milliseconds ttl{10'000};

  // Must return soon and must not call blocking functions of the library (they refuse there).
  std::function<void(SessionEvent)> on_event{};

  // The session lives, but an operator broke its hold of a lock (Client::break_lock): told once for
  // each, with the next keep-alive. That Lock is not valid any more, and its release fails with
  // GC6030. As on_event.
  std::function<void(const LostLock&)> on_lost{};

  // Checks that it is bound to; none by default.
  SessionHealth health{};
};

// Options of Client::break_lock.
struct BreakOptions {
  // The hold to break; 0: all that there are when the call begins.
  std::uint64_t token = 0;

  // For the audit: who breaks it, up to 128 bytes, and why, up to 512. Both are needed (GC6034).
  std::string who{};
  std::string reason{};
};

// Options of Client::attach_session.
struct AttachOptions {
  std::uint64_t session_id = 0;
  std::chrono::milliseconds ttl{10'000};

  // Session::key() of the program that opened it, where nodes ask for it (--session-keys). GC6540
  // when it is no key.
  std::string session_key{};

  // The first request sequence of acquires through this attachment, in every shard. Sequences rise
  // for ever per session and shard, so take one above all that were used before: microseconds of
  // wall-clock time do. Such a client takes the numbering over: the owner's own acquires in that
  // shard are refused from then on. Releases need no sequence and disturb nobody.
  std::uint64_t first_sequence = 1;

  // Whether to keep the session alive from here too. A tool that only releases a lock does not.
  bool keep_alive = false;
  std::function<void(SessionEvent)> on_event{};

  // Of a session that is kept alive from here (else GC6352). They are not run before the call
  // returns: the session is there already.
  SessionHealth health{};
};

// Options of Session::acquire and acquire_all.
struct AcquireOptions {
  // 0: do not wait (a held lock is the error GC6001); kForever; or up to a day (GC6005 after it).
  std::chrono::milliseconds wait = kForever;

  // Left with the lock for others to read (LockDescription::note), as long as it is held so; up to
  // 512 bytes (GC6024) of UTF-8 without control characters (GC6028). Of an acquire that finds the
  // lock held by its own session, nothing comes. Copied by the call. A view, so that options need
  // no destructor: g++ 12 runs it twice for an argument that is made in the midst of a co_await.
  std::string_view note{};

  // Above 0: reentrant. An acquire of what the session holds already then counts one hold more
  // under the same token, up to this many (GC6022), and as many releases free the lock. At most
  // 65,535. 0: such an acquire changes nothing, and one release frees the lock.
  std::uint32_t holds_max = 0;

  // Together with others who ask so, each under a token of its own; at most 64 at a time, further
  // ones wait. Neither notes nor counted holds go with it (GC6025), and who shares a lock cannot
  // have it alone before it releases it (GC6026).
  //   permits_max 0      readers: any number of them, until somebody wants the lock alone
  //   permits_max above  a semaphore: `permits` of it, never more than permits_max out at a time,
  //                      which everybody names alike (GC6027). At most 65,535; permits at most 255.
  bool shared = false;
  std::uint32_t permits = 1;
  std::uint32_t permits_max = 0;

  // While it waits, nobody releases what the session holds: the caller is the only one who works
  // with it, and works on when this is answered. So a circle of such waits is a deadlock, and nodes
  // that know of them (--deadlock-interval) end the youngest of it with GC6040, whose message names
  // the circle. False: somebody else may release, and the wait is left alone.
  bool detect_deadlock = false;

  // With `shared`: the session holds the lock alone and goes on as a reader under the same token.
  bool downgrade = false;

  // Of a candidate that waits, shown to the leader: higher ones are preferred (CampaignOptions). 0:
  // none, which every node knows; others need Feature::Elections (GC4005). At most 255.
  std::uint32_t priority = 0;

  // How long nobody has the lock after this holder failed, that is after its session ran out: for
  // work that may still be on its way to what cannot look at tokens. Waiters wait on; who does not
  // wait gets GC6031. Up to a minute (GC6032). A release, a close and a break pass the lock on at
  // once. Not with `shared`.
  std::chrono::milliseconds delay{0};

  // Lets the caller end the wait from any thread: std::stop_source::request_stop() on its source
  // ends the acquire with GC6006. The request leaves the queue, and a grant that was on its way is
  // released. An acquire that has ended already is not changed. A view, as `note`.
  const std::stop_token* stop = nullptr;
};

// Options of Election::campaign.
struct CampaignOptions {
  // As AcquireOptions::wait.
  std::chrono::milliseconds wait = kForever;

  // For others to read of this candidate while it waits, and of the leader it becomes: an address,
  // a name. Up to 512 bytes (GC6024) of UTF-8 without control characters (GC6028); proclaim()
  // changes it. A view, copied by the call.
  std::string_view value{};

  // Among candidates; 0 to 255, higher is preferred.
  std::uint32_t priority = 0;

  // While it leads, it hands over to a candidate of a higher priority that has stood in line for so
  // long, and not before it has led for so long itself: a candidate that comes and goes moves
  // nothing. Needs `review`. kForever: never.
  std::chrono::milliseconds hysteresis = kForever;

  // While it leads, how often it looks at its line: for those it prefers, and for transfers that
  // others asked for (Client::ask_transfer). Each look is one read. 0: never, and nobody else can
  // make it hand over.
  std::chrono::milliseconds review{0};
};

}  // namespace gcoord::client
