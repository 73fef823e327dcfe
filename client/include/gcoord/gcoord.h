// The client library for C, and for every language that can call C.
//
// Handles are opaque; a function that makes one gives it to the caller, who frees it with the
// function of that kind, in any order. NULL may be freed. Text is UTF-8 that ends with NUL; what is
// passed in is copied, what a handle returns lives as long as the handle.
//
// Whatever can fail returns a gcoord_status, GCOORD_OK or one of the canonical codes of gRPC, and
// takes last a gcoord_error to be filled on failure, which may be NULL. Its number is the stable
// one of docs/reference/errors.md: 6001 for GC6001. A missing argument is INVALID_ARGUMENT
// (GC1002). On failure nothing is made and results are untouched. No exception leaves a function;
// when memory runs out it says RESOURCE_EXHAUSTED.
//
// Times are milliseconds, or nanoseconds of the client's clock where the name says so. Any function
// may be called from any thread, except that a handle is freed by one thread, when no other uses
// it. Callbacks run on the client's own thread: they return soon, must not throw, and blocking
// functions called in one fail with GC4011. After a handle has been freed its event callback runs
// no more; free() waits for one that runs, unless it is called from it.
//
// A program that holds a lock while it works, without error handling:
//
//  gcoord_client_options options;
//  gcoord_client_options_init(&options);
//  options.endpoints = "10.0.0.1:7400,10.0.0.2:7400";
//  gcoord_client_connect(&options, &client, &error);
//  gcoord_session_open(client, 10000, NULL, NULL, &session, &error);
//  gcoord_lock_acquire(session, "jobs/train", GCOORD_FOREVER, &lock, &error);
//  write_with(gcoord_lock_fence(lock));
//  gcoord_lock_release(lock, &error);
//  gcoord_lock_free(lock);
//  gcoord_session_free(session);
//  gcoord_client_free(client);
//
// The other headers of this interface: gcoord_locks.h (options of an acquire, several locks,
// lists), gcoord_sessions.h (session options, health checks, events, keys), gcoord_reads.h (reads
// by freshness), gcoord_watch.h (watches), gcoord_cluster.h (status), gcoord_access.h (users and
// roles, who the client is), gcoord_limits.h (limits and denials), gcoord_async.h (the other calls
// without waiting), gcoord_stop.h (waits that can be stopped).
#pragma once

#include "gcoord/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Rises when programs must be compiled anew; so does the number of the shared library.
#define GCOORD_ABI_VERSION 0u
// The GCOORD_ABI_VERSION of the library that is loaded. A program that was compiled with another
// value must not use it.
GCOORD_API uint32_t gcoord_abi_version(void);

// ---- outcomes ----

// Outcomes of calls: the canonical codes of gRPC. UNAVAILABLE and DEADLINE_EXCEEDED may be tried
// again later; ABORTED means that another session was first; INVALID_ARGUMENT and OUT_OF_RANGE are
// mistakes of the caller; CANCELLED comes from closing the client. Never renumber.
enum {
  GCOORD_OK = 0,         // Success.
  GCOORD_CANCELLED = 1,  // The client, the watch or the wait was closed (GC4010, GC6207, GC6006).
  GCOORD_UNKNOWN = 2,    // No error of the library has it.
  GCOORD_INVALID_ARGUMENT = 3,     // A mistake of the caller: an empty name (GC1101).
  GCOORD_DEADLINE_EXCEEDED = 4,    // No answer in time (GC4009).
  GCOORD_NOT_FOUND = 5,            // No such lock, session or leader (GC6016, GC6101).
  GCOORD_ALREADY_EXISTS = 6,       // The id is in use (GC6301).
  GCOORD_PERMISSION_DENIED = 7,    // A node cannot use its data directory.
  GCOORD_RESOURCE_EXHAUSTED = 8,   // A limit is reached, such as the locks of a node (GC6012).
  GCOORD_FAILED_PRECONDITION = 9,  // The state does not allow it: a stale token (GC6003).
  GCOORD_ABORTED = 10,         // Another session was first (GC6001), or this one is lost (GC6007).
  GCOORD_OUT_OF_RANGE = 11,    // A number is out of range (GC1112), or the past is gone (GC6201).
  GCOORD_UNIMPLEMENTED = 12,   // The node does not know the request (GC4004).
  GCOORD_INTERNAL = 13,        // A device or a disk of a node failed.
  GCOORD_UNAVAILABLE = 14,     // It may succeed later: no leader at present (GC5001).
  GCOORD_DATA_LOSS = 15,       // Data is damaged, or contradicts a proof.
  GCOORD_UNAUTHENTICATED = 16  // No error of the library has it.
};

// One of the codes above.
typedef int32_t gcoord_status;

// Cause of a failure, filled by the function that failed and untouched on success. The caller owns
// it, for example on the stack.
typedef struct gcoord_error {
  gcoord_status status;
  uint32_t number;     // 6001 for GC6001; 0 when there is none.
  char message[1016];  // Cause, evidence and fix; cut where it would be longer.
} gcoord_error;

// ---- clients ----

// Connection of a program to a cluster: one thread, and connections to all nodes. One client serves
// a whole program.
typedef struct gcoord_client gcoord_client;

// To be filled by gcoord_client_options_init, then changed. The fields mean what those of
// gcoord::client::ClientOptions mean (gcoord/options.h), and have the same defaults.
typedef struct gcoord_client_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  // "host:port,host:port": client ports; "unix:/path": Unix sockets; "shm:/path": shared memory.
  const char* endpoints;
  // How long gcoord_client_connect may take, and one attempt at one node. 0 to a day, as all times
  // here.
  int64_t connect_timeout_ms;
  // From call to answer, retries included; a lock's wait is added to it.
  int64_t request_timeout_ms;
  // A session is certain to live for its TTL less TTL / drift_divisor and drift_margin_ms.
  uint32_t drift_divisor;
  int64_t drift_margin_ms;
  // The only cluster to connect to; 0: whichever answers.
  uint64_t cluster_id;
  // Sent to each node with the first message, at most 255 bytes of it. Nodes do not use it yet.
  const char* client_name;
  // Keep on trying within connect_timeout_ms although every endpoint has refused once.
  bool wait_for_cluster;

  // A clock of the caller's, for tests: nanoseconds since some moment, never going back. Called
  // from any thread. Tell the client of moves by gcoord_client_clock_moved. NULL: the system's.
  int64_t (*now_ns)(void* user);
  void* now_user;

  // Retries, and the circuit breaker of each endpoint.
  // The pause between retries doubles from the first to the second value, with jitter.
  int64_t backoff_min_ms;
  int64_t backoff_max_ms;
  // Retries that may be taken at once beyond one for ten successes.
  uint32_t retry_budget;
  // Failed requests in a row that open the circuit breaker of an endpoint; 0: none do.
  uint32_t breaker_failures;
  // Fail with GC3011 at once while the breakers of all endpoints are open.
  bool fail_fast;

  // TLS 1.3 to the nodes, as gcoord::client::TlsOptions has it: PEM files, or NULL. Any of the
  // first two, or tls, means TLS. The strings are copied by gcoord_client_connect.
  const char* cacert;       // Of the CA that the nodes' certificates must come from.
  const char* cert;         // The client's own, with
  const char* key;          // its key, which only its owner may read.
  const char* server_name;  // What a node's certificate must name; NULL: its endpoint's host.
  bool tls;

  // Who the client is, as gcoord::client::Credentials has it; NULL: not said. The strings are
  // copied by gcoord_client_connect; the library wipes its copies when the client ends, and the
  // caller may wipe its own as soon as the function returns.
  const char* user;
  const char* password;
  const char* token;
  const char* token_file;
  // Show passwords and tokens also in plain TCP to addresses beyond loopback, where others can read
  // them; else that is GC6685.
  bool insecure_credentials;
} gcoord_client_options;

// Fills the options with their defaults. A program calls gcoord_client_options_init; the macro of
// that name passes the size that the program was compiled with, so that a newer library fills only
// the fields that the program has. The function of that name is for programs that were compiled
// with the first version of the library. NULL is ignored.
GCOORD_API void gcoord_client_options_init(gcoord_client_options* options);
GCOORD_API void gcoord_client_options_init_as(gcoord_client_options* options, size_t struct_bytes);
#define gcoord_client_options_init(options) \
  gcoord_client_options_init_as((options), sizeof(gcoord_client_options))

// Connects to a cluster and makes *client, which the caller frees. Blocks until one node has
// answered, or until all have failed: GC3001 with the evidence of each endpoint. The other nodes
// are connected to in the background. GC1001 for a time outside of 0 to a day, GC1002 without
// endpoints.
GCOORD_API gcoord_status gcoord_client_connect(const gcoord_client_options* options,
                                               gcoord_client** client,
                                               gcoord_error* error);

// Ends the client and its threads: no callback runs after this. Any thread may call it, while
// others use the client, which must still be freed.
//
// Sessions and leases that were opened through the client and not detached are closed, also those
// whose handles are not freed: their locks go to the next waiters. That takes 0.2 s at most; a node
// that has not heard of it by then lets them live for the rest of their TTL. Sessions of other
// programs (gcoord_session_attach) live on. Calls in flight fail with GC4010, and so do later calls
// through any handle of the client. These handles must still be freed, at any time.
//
// Once; later calls return GCOORD_OK, when it is done. GCOORD_FAILED_PRECONDITION (GC4011) in a
// callback.
GCOORD_API gcoord_status gcoord_client_close(gcoord_client* client, gcoord_error* error);

// Frees the client, after gcoord_client_close if that has not been called. Handles of sessions,
// locks, watches and the like may be freed before or after it. In a callback it returns
// GCOORD_FAILED_PRECONDITION (GC4011) and frees nothing. NULL is allowed.
GCOORD_API gcoord_status gcoord_client_free(gcoord_client* client);

// Tells the client that the clock of now_ns was moved, so that due timers run. Does nothing for a
// client with the system's clock.
GCOORD_API void gcoord_client_clock_moved(gcoord_client* client);

// The present time of the client's clock, in nanoseconds since some fixed moment; 0 for NULL. It is
// the clock of the functions whose names end with _at or _until_ns.
GCOORD_API int64_t gcoord_client_now_ns(const gcoord_client* client);

// ---- checks and looks ----

// Never renumber. FREE: nobody holds the lock; STALE: it is held under another token.
enum { GCOORD_VALID = 1, GCOORD_STALE = 2, GCOORD_FREE = 3 };

// Checks whether the lock is held under this token, linearizably: *verdict is GCOORD_VALID,
// GCOORD_STALE or GCOORD_FREE. Blocks for at most request_timeout_ms. GC1107 for token 0.
GCOORD_API gcoord_status gcoord_check(
    gcoord_client* client, const char* name, uint64_t token, int32_t* verdict, gcoord_error* error);

// `verdict` means something only when error is NULL; both live during the callback.
typedef void (*gcoord_check_callback)(void* user, int32_t verdict, const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK the callback runs exactly once, on the
// client's thread; otherwise it never runs.
GCOORD_API gcoord_status gcoord_check_async(gcoord_client* client,
                                            const char* name,
                                            uint64_t token,
                                            gcoord_check_callback callback,
                                            void* user,
                                            gcoord_error* error);

// Checks `count` tokens in few messages, each linearizably by itself. `names`, `tokens` and
// `verdicts` have `count` entries; verdicts come in the order of the names. On failure `verdicts`
// is untouched.
GCOORD_API gcoord_status gcoord_check_batch(gcoord_client* client,
                                            const char* const* names,
                                            const uint64_t* tokens,
                                            size_t count,
                                            int32_t* verdicts,
                                            gcoord_error* error);

// Stands for the session of a holder, waiter or candidate whom the client may not see: nodes that
// check rights show it to those who lack lock.read.details of the name (watch.details in events).
// No session has this id. Where it stands, the token, the epoch, the note and the value beside it
// are zeros and empty, which says nothing of what they are.
#define GCOORD_HIDDEN_SESSION UINT64_MAX

// Holder of a lock, or leader of an election.
typedef struct gcoord_holder {
  uint64_t session_id;  // 0: nobody; GCOORD_HIDDEN_SESSION: somebody, without token.
  uint64_t token;       // Fencing token, which is the epoch of an election.
  int64_t ttl_left_ms;
  uint32_t waiter_count;  // Sessions in line behind it.
} gcoord_holder;

// Reads the holder of a lock, linearizably. GC6016 (NOT_FOUND) when the lock is neither held nor
// waited for. gcoord_describe (gcoord/gcoord_locks.h) gives notes, sharers and waiters as well.
GCOORD_API gcoord_status gcoord_get(gcoord_client* client,
                                    const char* name,
                                    gcoord_holder* holder,
                                    gcoord_error* error);

// Takes a lock from its holders by force; the next in its queue gets it. Token 0 breaks all holds,
// another token only the hold under it. `who` (up to 128 bytes) and `reason` (up to 512 bytes) are
// required (GC6034) and recorded in the shard's log. The former holder gets GCOORD_LOCK_LOST.
// `broken`, which may be NULL, gets the session and the token of the broken hold, without times and
// waiters. For operators. GC6002 when nobody holds the lock, GC6003 when the token is not that of a
// hold, GC6560 with token 0 where the holder is hidden.
GCOORD_API gcoord_status gcoord_lock_break(gcoord_client* client,
                                           const char* name,
                                           uint64_t token,
                                           const char* who,
                                           const char* reason,
                                           gcoord_holder* broken,
                                           gcoord_error* error);

// Moves the lock of a name to another shard while it is held and waited for; returns when it has
// arrived. The holder keeps its hold and token, the queue its order. Called again, it continues a
// move that was begun. Only plain holds and waits can move (Client::move_lock of gcoord/client.h).
// For operators. GC6053 and GC6054 when the lock cannot move now, GC6052 on nodes with --turn
// resident, GC1112 when the cluster has no such shard.
GCOORD_API gcoord_status gcoord_lock_move(gcoord_client* client,
                                          const char* name,
                                          uint32_t to_shard,
                                          gcoord_error* error);

// Reads the leader of an election, linearizably: `token` is the epoch of its term, `waiter_count`
// the number of candidates in the queue. GC6101 (NOT_FOUND) when the election has no leader.
GCOORD_API gcoord_status gcoord_leader(gcoord_client* client,
                                       const char* name,
                                       gcoord_holder* leader,
                                       gcoord_error* error);

// One candidate of an election. `value` has value_bytes bytes and lives during the callback;
// waited_ms is measured by the node that answered.
typedef struct gcoord_candidate {
  uint64_t session_id;  // GCOORD_HIDDEN_SESSION: not shown, as is its value.
  int64_t waited_ms;
  uint32_t priority;
  const char* value;
  size_t value_bytes;
} gcoord_candidate;

// Called once for the leader, with place 0 and its epoch as `token`, and once for each of the line
// from place 1 on; on the calling thread.
typedef void (*gcoord_candidate_callback)(void* user,
                                          size_t place,
                                          uint64_t token,
                                          const gcoord_candidate* candidate);

// Reads the leader and the queue of candidates, and passes them to the callback one by one before
// it returns, on the calling thread. At most the first 1,000 candidates are shown. GC6101 when the
// election has no leader; then the callback does not run.
GCOORD_API gcoord_status gcoord_candidates(gcoord_client* client,
                                           const char* name,
                                           gcoord_candidate_callback callback,
                                           void* user,
                                           gcoord_error* error);

// Asks the present leader (epoch 0), or the leader of this epoch, to hand over to the candidate
// with session_id. Returns when the request is recorded; a leader that checks its queue (review_ms)
// acts on it with its next check. Repeat the call until the transfer has happened: a request stands
// for a few seconds. GC6101 when there is no leader, GC6110 when another term has begun, GC6111
// when no such candidate waits.
GCOORD_API gcoord_status gcoord_ask_transfer(gcoord_client* client,
                                             const char* name,
                                             uint64_t session_id,
                                             uint64_t epoch,
                                             gcoord_error* error);

// ---- sessions ----

// A session: it holds locks, and lives as long as its client renews it. gcoord/session.h has the
// promises.
typedef struct gcoord_session gcoord_session;

// They come in this order; nothing comes after EXPIRED. Never renumber.
// LOCK_LOST may come at any time before EXPIRED: the session lives, but an operator broke its hold
// of a lock; gcoord_lock_valid tells of which.
enum { GCOORD_JEOPARDY = 0, GCOORD_SAFE = 1, GCOORD_EXPIRED = 2, GCOORD_LOCK_LOST = 3 };

// Receives the events of a session or lease, on the client's own thread. It must return soon and
// must not call blocking functions (GC4011).
typedef void (*gcoord_event_callback)(void* user, int32_t event);

// Opens a session that lives for ttl_ms after its last renewal; the client renews it in the
// background. on_event may be NULL. The caller frees *session; the end of the client closes it,
// too. GC1104 and GC1105 for a TTL outside of the cluster's bounds.
GCOORD_API gcoord_status gcoord_session_open(gcoord_client* client,
                                             int64_t ttl_ms,
                                             gcoord_event_callback on_event,
                                             void* user,
                                             gcoord_session** session,
                                             gcoord_error* error);

// Frees the session. It is closed, without waiting for the nodes' answers; gcoord_session_close
// waits. Its callbacks run no more. NULL is allowed.
GCOORD_API void gcoord_session_free(gcoord_session* session);

// Ends the session at every node that can be reached, and waits for their answers; its locks go to
// their next waiters. Nodes that cannot be reached end it when its TTL is over. The handle must
// still be freed.
GCOORD_API gcoord_status gcoord_session_close(gcoord_session* session, gcoord_error* error);

// Stops renewing the session; it and its locks live for the rest of the TTL.
GCOORD_API void gcoord_session_detach(gcoord_session* session);

// Renews the session now, and returns when a majority of the nodes has acknowledged: the session
// lives for a whole TTL from the call on.
GCOORD_API gcoord_status gcoord_session_renew(gcoord_session* session, gcoord_error* error);

// The id of the session, by which other programs and gcoordctl name it; 0 for NULL.
GCOORD_API uint64_t gcoord_session_id(const gcoord_session* session);

// The TTL with which the session was opened; 0 for NULL.
GCOORD_API int64_t gcoord_session_ttl_ms(const gcoord_session* session);

// How long the session is certain to live by the client's clock; 0 when it is lost.
GCOORD_API int64_t gcoord_session_remaining_ms(const gcoord_session* session);

// False once the session has run out by the client's clock, even before the event was delivered.
GCOORD_API bool gcoord_session_alive(const gcoord_session* session);

// ---- locks ----

// A held lock of a session.
typedef struct gcoord_lock gcoord_lock;

// As wait_ms: until granted, or until the session ends. 0: not at all; else at most a day.
#define GCOORD_FOREVER INT64_C(-1)

// Acquires a lock for the session and makes *lock, which the caller frees. Blocks until it is
// granted or the wait is over. A lock that the session holds already is granted at once under the
// same token. GC6001 when it is held and wait_ms is 0, GC6005 when the wait is over, GC6007 when
// the session is lost. After GC4009 the client releases whatever it may have acquired.
GCOORD_API gcoord_status gcoord_lock_acquire(gcoord_session* session,
                                             const char* name,
                                             int64_t wait_ms,
                                             gcoord_lock** lock,
                                             gcoord_error* error);

// Either `lock`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_lock_callback)(void* user, gcoord_lock* lock, const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK the callback runs exactly once, on the
// client's thread; otherwise it never runs.
GCOORD_API gcoord_status gcoord_lock_acquire_async(gcoord_session* session,
                                                   const char* name,
                                                   int64_t wait_ms,
                                                   gcoord_lock_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// Frees the handle. A held lock is released, without waiting for the answer; gcoord_lock_release
// waits. NULL is allowed.
GCOORD_API void gcoord_lock_free(gcoord_lock* lock);

// Releases the lock and waits for the answer. GCOORD_OK also when an earlier try of this call has
// released it. GC6030 when an operator has broken the hold. The handle must still be freed.
GCOORD_API gcoord_status gcoord_lock_release(gcoord_lock* lock, gcoord_error* error);

// Leaves the lock held when the handle is freed; it lives as long as its session.
GCOORD_API void gcoord_lock_detach(gcoord_lock* lock);

// The name of the lock; it lives as long as the handle. "" for NULL.
GCOORD_API const char* gcoord_lock_name(const gcoord_lock* lock);

// The fencing token: pass it to the guarded resource with every write. It rises with every grant of
// this name, for ever. 0 for NULL.
GCOORD_API uint64_t gcoord_lock_fence(const gcoord_lock* lock);

// The Raft term of the leader that granted the lock.
GCOORD_API uint64_t gcoord_lock_epoch(const gcoord_lock* lock);

// Whether the session held the lock before this acquire, so that the token is the old one.
GCOORD_API bool gcoord_lock_already_held(const gcoord_lock* lock);

// False once the lock is released or broken, or when the session has run out by the client's clock.
// Asks no node.
GCOORD_API bool gcoord_lock_valid(const gcoord_lock* lock);

// ---- leases (gcoord/lease.h) ----

// One name, held by a session of its own.
typedef struct gcoord_lease gcoord_lease;

// Opens a session with ttl_ms and acquires the name in it. Blocks until it is granted or the wait
// is over; on failure nothing is left. on_event may be NULL. Errors are those of
// gcoord_session_open and gcoord_lock_acquire.
GCOORD_API gcoord_status gcoord_lease_take(gcoord_client* client,
                                           const char* name,
                                           int64_t ttl_ms,
                                           int64_t wait_ms,
                                           gcoord_event_callback on_event,
                                           void* user,
                                           gcoord_lease** lease,
                                           gcoord_error* error);

// Either `lease`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_lease_callback)(void* user, gcoord_lease* lease, const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK `callback` runs exactly once; otherwise it
// never runs. on_event and event_user are as in gcoord_lease_take, and may be called before
// `callback` is.
GCOORD_API gcoord_status gcoord_lease_take_async(gcoord_client* client,
                                                 const char* name,
                                                 int64_t ttl_ms,
                                                 int64_t wait_ms,
                                                 gcoord_event_callback on_event,
                                                 void* event_user,
                                                 gcoord_lease_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// Frees the lease. A held lease is released, without waiting for the answers; gcoord_lease_release
// waits. NULL is allowed.
GCOORD_API void gcoord_lease_free(gcoord_lease* lease);

// Releases the name and ends the session of the lease. GCOORD_OK when the name is free for others
// afterwards, also when the lease was lost before. The handle must still be freed.
GCOORD_API gcoord_status gcoord_lease_release(gcoord_lease* lease, gcoord_error* error);

// Leaves the lease to live for the rest of its TTL.
GCOORD_API void gcoord_lease_detach(gcoord_lease* lease);

// Renews the lease now, and returns when a majority of the nodes has acknowledged. The library
// renews it in the background as well.
GCOORD_API gcoord_status gcoord_lease_renew(gcoord_lease* lease, gcoord_error* error);

// The name that the lease holds; it lives as long as the handle. "" for NULL.
GCOORD_API const char* gcoord_lease_name(const gcoord_lease* lease);

// The fencing token of the name, as gcoord_lock_fence.
GCOORD_API uint64_t gcoord_lease_fence(const gcoord_lease* lease);

// The id of the lease's own session.
GCOORD_API uint64_t gcoord_lease_session_id(const gcoord_lease* lease);

// How long the lease is certain from now on, by the client's clock; 0 when it is lost.
GCOORD_API int64_t gcoord_lease_remaining_ms(const gcoord_lease* lease);

// The moment of the client's clock until which the lease is certain if no node is heard any more; a
// past moment, or 0, once it is lost.
GCOORD_API int64_t gcoord_lease_certain_until_ns(const gcoord_lease* lease);

// Whether no other session can hold the name now, by the client's clock. Asks no node.
GCOORD_API bool gcoord_lease_valid(const gcoord_lease* lease);

// ---- elections (gcoord/election.h says what they promise) ----

// The candidacy of one session in one election. The name of an election is the name of a lock: its
// holder leads.
typedef struct gcoord_election gcoord_election;

// Makes the session's candidacy in the election of this name. Asks no node and campaigns for
// nothing yet.
GCOORD_API gcoord_status gcoord_election_make(gcoord_session* session,
                                              const char* name,
                                              gcoord_election** election,
                                              gcoord_error* error);

// Frees the candidacy. It resigns, without waiting for the answer; gcoord_election_resign waits.
// NULL is allowed.
GCOORD_API void gcoord_election_free(gcoord_election* election);

// Hands over to the next candidate and waits for the answer. gcoord_election_is_leader is false
// from the call on. GCOORD_OK also when the candidate does not lead. A campaign that is under way
// leaves the queue at once and ends with GC6006.
GCOORD_API gcoord_status gcoord_election_resign(gcoord_election* election, gcoord_error* error);

// Waits in the queue until the candidate leads, at once if it leads already. GC6001 or GC6005 when
// another candidate leads and the wait is over, GC6006 when it resigned meanwhile, GC6007 when the
// session is lost.
GCOORD_API gcoord_status gcoord_election_campaign(gcoord_election* election,
                                                  int64_t wait_ms,
                                                  gcoord_error* error);

// `error` is NULL when it leads, and lives during the callback.
typedef void (*gcoord_campaign_callback)(void* user, const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK the callback runs exactly once, also when
// the handle was freed meanwhile; otherwise it never runs.
GCOORD_API gcoord_status gcoord_election_campaign_async(gcoord_election* election,
                                                        int64_t wait_ms,
                                                        gcoord_campaign_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

// Options of a campaign. To be filled by gcoord_campaign_options_init, then changed;
// gcoord/options.h has the meaning of each (CampaignOptions).
typedef struct gcoord_campaign_options {
  int64_t wait_ms;        // 0: do not wait; GCOORD_FOREVER.
  const char* value;      // What others read; may be NULL.
  size_t value_bytes;     // At most 512.
  uint32_t priority;      // 0 to 255; higher is preferred.
  int64_t hysteresis_ms;  // GCOORD_FOREVER: hand over to nobody for its priority.
  int64_t review_ms;      // 0: never look at the line while it leads.
} gcoord_campaign_options;

// Fills the options: waits for ever, without value and priority, and never checks the queue while
// it leads.
GCOORD_API void gcoord_campaign_options_init(gcoord_campaign_options* options);

// Campaigns with options; otherwise as gcoord_election_campaign_async. The options are copied.
GCOORD_API gcoord_status gcoord_election_stand_async(gcoord_election* election,
                                                     const gcoord_campaign_options* options,
                                                     gcoord_campaign_callback callback,
                                                     void* user,
                                                     gcoord_error* error);

// Campaigns with options and waits; otherwise as gcoord_election_campaign.
GCOORD_API gcoord_status gcoord_election_stand(gcoord_election* election,
                                               const gcoord_campaign_options* options,
                                               gcoord_error* error);

// Leaves the leadership to live with its session. The handle does not lead any more, and freeing it
// resigns nothing.
GCOORD_API void gcoord_election_detach(gcoord_election* election);

// Changes the value that others read of this leader, within its term: value_bytes of UTF-8 without
// control characters (GC6028), at most 512 (GC6024). GC6110 when it does not lead; then nothing has
// changed.
GCOORD_API gcoord_status gcoord_election_proclaim(gcoord_election* election,
                                                  const char* value,
                                                  size_t value_bytes,
                                                  gcoord_error* error);

// Hands over to the candidate with session_id, who leads at once under a new epoch; the others keep
// their places in the queue. GC6111 when no such candidate waits: this candidate leads on. GC6110
// when it does not lead.
GCOORD_API gcoord_status gcoord_election_transfer(gcoord_election* election,
                                                  uint64_t session_id,
                                                  gcoord_error* error);

// The name of the election; it lives as long as the handle. "" for NULL.
GCOORD_API const char* gcoord_election_name(const gcoord_election* election);

// Whether the candidate leads now, by the client's clock. Asks no node and costs little, so ask
// often. Work that outlasts the leadership carries the epoch to the resources it writes to.
GCOORD_API bool gcoord_election_is_leader(const gcoord_election* election);

// The same for a given moment of the client's clock (gcoord_client_now_ns).
GCOORD_API bool gcoord_election_is_leader_at(const gcoord_election* election, int64_t now_ns);

// The moment until which gcoord_election_is_leader stays true if no node is heard any more; a past
// moment, or 0, when it is false.
GCOORD_API int64_t gcoord_election_leader_until_ns(const gcoord_election* election);

// The epoch of the last term that the candidate won, which is its fencing token; 0 before the
// first.
GCOORD_API uint64_t gcoord_election_epoch(const gcoord_election* election);

#ifdef __cplusplus
}
#endif
