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
GCOORD_API uint32_t gcoord_abi_version(void);

// ---- outcomes ----

// Never renumber.
enum {
  GCOORD_OK = 0,
  GCOORD_CANCELLED = 1,
  GCOORD_UNKNOWN = 2,
  GCOORD_INVALID_ARGUMENT = 3,
  GCOORD_DEADLINE_EXCEEDED = 4,
  GCOORD_NOT_FOUND = 5,
  GCOORD_ALREADY_EXISTS = 6,
  GCOORD_PERMISSION_DENIED = 7,
  GCOORD_RESOURCE_EXHAUSTED = 8,
  GCOORD_FAILED_PRECONDITION = 9,
  GCOORD_ABORTED = 10,
  GCOORD_OUT_OF_RANGE = 11,
  GCOORD_UNIMPLEMENTED = 12,
  GCOORD_INTERNAL = 13,
  GCOORD_UNAVAILABLE = 14,
  GCOORD_DATA_LOSS = 15,
  GCOORD_UNAUTHENTICATED = 16
};

typedef int32_t gcoord_status;

typedef struct gcoord_error {
  gcoord_status status;
  uint32_t number;     // 6001 for GC6001; 0 when there is none.
  char message[1016];  // Cause, evidence and fix; cut where it would be longer.
} gcoord_error;

// ---- clients ----

typedef struct gcoord_client gcoord_client;

// To be filled by gcoord_client_options_init, then changed. The fields mean what those of
// gcoord::client::ClientOptions mean (gcoord/options.h), and have the same defaults.
typedef struct gcoord_client_options {
  size_t struct_bytes;    // Set by init: what the caller was compiled with.
  const char* endpoints;  // "host:port,host:port": client ports of nodes. No default.
  int64_t connect_timeout_ms;
  int64_t request_timeout_ms;
  uint32_t drift_divisor;
  int64_t drift_margin_ms;
  uint64_t cluster_id;
  const char* client_name;
  bool wait_for_cluster;

  // A clock of the caller's, for tests: nanoseconds since some moment, never going back. Called
  // from any thread. Tell the client of moves by gcoord_client_clock_moved. NULL: the system's.
  int64_t (*now_ns)(void* user);
  void* now_user;

  // Retries, and the circuit breaker of each endpoint.
  int64_t backoff_min_ms;
  int64_t backoff_max_ms;
  uint32_t retry_budget;
  uint32_t breaker_failures;
  bool fail_fast;
} gcoord_client_options;

// As the first version of the library knew them, for programs that were compiled with that one;
// others fill all that they know of.
GCOORD_API void gcoord_client_options_init(gcoord_client_options* options);
GCOORD_API void gcoord_client_options_init_as(gcoord_client_options* options, size_t struct_bytes);
#define gcoord_client_options_init(options) \
  gcoord_client_options_init_as((options), sizeof(gcoord_client_options))

// Blocks until a node has answered or all have failed.
GCOORD_API gcoord_status gcoord_client_connect(const gcoord_client_options* options,
                                               gcoord_client** client,
                                               gcoord_error* error);

// Ends the client's thread: no callback runs after this. Sessions are closed without waiting for
// long; what is under way fails with GC4010, and so does whatever its handles are asked later. In a
// callback it fails with GC4011 and frees nothing.
GCOORD_API gcoord_status gcoord_client_free(gcoord_client* client);

GCOORD_API void gcoord_client_clock_moved(gcoord_client* client);

// The client's clock, with which leases and elections are asked.
GCOORD_API int64_t gcoord_client_now_ns(const gcoord_client* client);

// ---- checks and looks ----

// Never renumber. FREE: nobody holds the lock; STALE: it is held under another token.
enum { GCOORD_VALID = 1, GCOORD_STALE = 2, GCOORD_FREE = 3 };

// Whether the lock is held under this token, linearizably.
GCOORD_API gcoord_status gcoord_check(
    gcoord_client* client, const char* name, uint64_t token, int32_t* verdict, gcoord_error* error);

// `verdict` means something only when error is NULL; both live during the callback.
typedef void (*gcoord_check_callback)(void* user, int32_t verdict, const gcoord_error* error);

// When this returns GCOORD_OK the callback runs once, else never.
GCOORD_API gcoord_status gcoord_check_async(gcoord_client* client,
                                            const char* name,
                                            uint64_t token,
                                            gcoord_check_callback callback,
                                            void* user,
                                            gcoord_error* error);

// Many in few messages. names, tokens and verdicts have `count` places.
GCOORD_API gcoord_status gcoord_check_batch(gcoord_client* client,
                                            const char* const* names,
                                            const uint64_t* tokens,
                                            size_t count,
                                            int32_t* verdicts,
                                            gcoord_error* error);

typedef struct gcoord_holder {
  uint64_t session_id;  // 0: nobody.
  uint64_t token;       // Fencing token, which is the epoch of an election.
  int64_t ttl_left_ms;
  uint32_t waiter_count;  // Sessions in line behind it.
} gcoord_holder;

// Who holds a lock. GC6016 (NOT_FOUND) when it is neither held nor waited for.
GCOORD_API gcoord_status gcoord_get(gcoord_client* client,
                                    const char* name,
                                    gcoord_holder* holder,
                                    gcoord_error* error);

// Takes a lock from its holders by force: token 0 means all, else the hold under it. The log keeps
// who broke it and why; both are needed (GC6034). `broken`, which may be NULL, gets whose hold it
// was, without times and waiters.
GCOORD_API gcoord_status gcoord_lock_break(gcoord_client* client,
                                           const char* name,
                                           uint64_t token,
                                           const char* who,
                                           const char* reason,
                                           gcoord_holder* broken,
                                           gcoord_error* error);

// Moves the lock of a name to another shard while it is held and waited for, and comes back when it
// has arrived; asked again it goes on with a move that was begun. For operators; what it asks of
// the nodes and of the lock, Client::move_lock of gcoord/client.h says. GC6053, GC6054, GC6052,
// GC1112.
GCOORD_API gcoord_status gcoord_lock_move(gcoord_client* client,
                                          const char* name,
                                          uint32_t to_shard,
                                          gcoord_error* error);

// Who leads in an election. GC6101 (NOT_FOUND) when nobody does.
GCOORD_API gcoord_status gcoord_leader(gcoord_client* client,
                                       const char* name,
                                       gcoord_holder* leader,
                                       gcoord_error* error);

// One who waits to lead. `value` lives during the callback.
typedef struct gcoord_candidate {
  uint64_t session_id;
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

// Who leads, and the line behind. GC6101 when nobody leads.
GCOORD_API gcoord_status gcoord_candidates(gcoord_client* client,
                                           const char* name,
                                           gcoord_candidate_callback callback,
                                           void* user,
                                           gcoord_error* error);

// Asks whoever leads (epoch 0), or the leader of this epoch, to hand over to a candidate.
GCOORD_API gcoord_status gcoord_ask_transfer(gcoord_client* client,
                                             const char* name,
                                             uint64_t session_id,
                                             uint64_t epoch,
                                             gcoord_error* error);

// ---- sessions ----

typedef struct gcoord_session gcoord_session;

// They come in this order; nothing comes after EXPIRED. Never renumber.
// LOCK_LOST may come at any time before EXPIRED: the session lives, but an operator broke its hold
// of a lock; gcoord_lock_valid tells of which.
enum { GCOORD_JEOPARDY = 0, GCOORD_SAFE = 1, GCOORD_EXPIRED = 2, GCOORD_LOCK_LOST = 3 };

typedef void (*gcoord_event_callback)(void* user, int32_t event);

// The callback may be NULL.
GCOORD_API gcoord_status gcoord_session_open(gcoord_client* client,
                                             int64_t ttl_ms,
                                             gcoord_event_callback on_event,
                                             void* user,
                                             gcoord_session** session,
                                             gcoord_error* error);

// Closes it without waiting for the answers; gcoord_session_close waits.
GCOORD_API void gcoord_session_free(gcoord_session* session);
GCOORD_API gcoord_status gcoord_session_close(gcoord_session* session, gcoord_error* error);

// Stops keeping it alive; it and its locks live for the rest of the TTL.
GCOORD_API void gcoord_session_detach(gcoord_session* session);
GCOORD_API gcoord_status gcoord_session_renew(gcoord_session* session, gcoord_error* error);

GCOORD_API uint64_t gcoord_session_id(const gcoord_session* session);
GCOORD_API int64_t gcoord_session_ttl_ms(const gcoord_session* session);
GCOORD_API int64_t gcoord_session_remaining_ms(const gcoord_session* session);
GCOORD_API bool gcoord_session_alive(const gcoord_session* session);

// ---- locks ----

typedef struct gcoord_lock gcoord_lock;

// As wait_ms: until granted, or until the session ends. 0: not at all; else at most a day.
#define GCOORD_FOREVER INT64_C(-1)

GCOORD_API gcoord_status gcoord_lock_acquire(gcoord_session* session,
                                             const char* name,
                                             int64_t wait_ms,
                                             gcoord_lock** lock,
                                             gcoord_error* error);

// Either `lock`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_lock_callback)(void* user, gcoord_lock* lock, const gcoord_error* error);

// When this returns GCOORD_OK the callback runs once, else never.
GCOORD_API gcoord_status gcoord_lock_acquire_async(gcoord_session* session,
                                                   const char* name,
                                                   int64_t wait_ms,
                                                   gcoord_lock_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// Releases it, if it is held, without waiting for the answer; gcoord_lock_release waits.
GCOORD_API void gcoord_lock_free(gcoord_lock* lock);
GCOORD_API gcoord_status gcoord_lock_release(gcoord_lock* lock, gcoord_error* error);

// Leaves it held; it lives with its session.
GCOORD_API void gcoord_lock_detach(gcoord_lock* lock);

GCOORD_API const char* gcoord_lock_name(const gcoord_lock* lock);
GCOORD_API uint64_t gcoord_lock_fence(const gcoord_lock* lock);
GCOORD_API uint64_t gcoord_lock_epoch(const gcoord_lock* lock);
GCOORD_API bool gcoord_lock_already_held(const gcoord_lock* lock);
GCOORD_API bool gcoord_lock_valid(const gcoord_lock* lock);

// ---- leases (gcoord/lease.h) ----

typedef struct gcoord_lease gcoord_lease;

// The callback may be NULL.
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

// When this returns GCOORD_OK `callback` runs once, else never; on_event and event_user are as in
// gcoord_lease_take, and may be called before `callback` is.
GCOORD_API gcoord_status gcoord_lease_take_async(gcoord_client* client,
                                                 const char* name,
                                                 int64_t ttl_ms,
                                                 int64_t wait_ms,
                                                 gcoord_event_callback on_event,
                                                 void* event_user,
                                                 gcoord_lease_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// Gives it back, if it is held, without waiting for the answers; gcoord_lease_release waits.
GCOORD_API void gcoord_lease_free(gcoord_lease* lease);
GCOORD_API gcoord_status gcoord_lease_release(gcoord_lease* lease, gcoord_error* error);

// Leaves it to live for the rest of its TTL.
GCOORD_API void gcoord_lease_detach(gcoord_lease* lease);
GCOORD_API gcoord_status gcoord_lease_renew(gcoord_lease* lease, gcoord_error* error);

GCOORD_API const char* gcoord_lease_name(const gcoord_lease* lease);
GCOORD_API uint64_t gcoord_lease_fence(const gcoord_lease* lease);
GCOORD_API uint64_t gcoord_lease_session_id(const gcoord_lease* lease);
GCOORD_API int64_t gcoord_lease_remaining_ms(const gcoord_lease* lease);
GCOORD_API int64_t gcoord_lease_certain_until_ns(const gcoord_lease* lease);
GCOORD_API bool gcoord_lease_valid(const gcoord_lease* lease);

// ---- elections (gcoord/election.h says what they promise) ----

typedef struct gcoord_election gcoord_election;

// The session's candidacy; asks nobody.
GCOORD_API gcoord_status gcoord_election_make(gcoord_session* session,
                                              const char* name,
                                              gcoord_election** election,
                                              gcoord_error* error);

// Resigns without waiting for the answer; gcoord_election_resign waits.
GCOORD_API void gcoord_election_free(gcoord_election* election);
GCOORD_API gcoord_status gcoord_election_resign(gcoord_election* election, gcoord_error* error);

// Blocks until it leads, or the wait is over.
GCOORD_API gcoord_status gcoord_election_campaign(gcoord_election* election,
                                                  int64_t wait_ms,
                                                  gcoord_error* error);

// `error` is NULL when it leads, and lives during the callback.
typedef void (*gcoord_campaign_callback)(void* user, const gcoord_error* error);

// When this returns GCOORD_OK the callback runs once, else never; also when the handle was freed.
GCOORD_API gcoord_status gcoord_election_campaign_async(gcoord_election* election,
                                                        int64_t wait_ms,
                                                        gcoord_campaign_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

typedef struct gcoord_campaign_options {
  int64_t wait_ms;        // 0: do not wait; GCOORD_FOREVER.
  const char* value;      // What others read; may be NULL.
  size_t value_bytes;     // At most 512.
  uint32_t priority;      // 0 to 255; higher is preferred.
  int64_t hysteresis_ms;  // GCOORD_FOREVER: hand over to nobody for its priority.
  int64_t review_ms;      // 0: never look at the line while it leads.
} gcoord_campaign_options;

// Waits for ever, without value, priority and looks.
GCOORD_API void gcoord_campaign_options_init(gcoord_campaign_options* options);

// As gcoord_election_campaign_async.
GCOORD_API gcoord_status gcoord_election_stand_async(gcoord_election* election,
                                                     const gcoord_campaign_options* options,
                                                     gcoord_campaign_callback callback,
                                                     void* user,
                                                     gcoord_error* error);

// The same, waiting.
GCOORD_API gcoord_status gcoord_election_stand(gcoord_election* election,
                                               const gcoord_campaign_options* options,
                                               gcoord_error* error);

// Leaves the office to live with its session; resigns nothing.
GCOORD_API void gcoord_election_detach(gcoord_election* election);

// Changes what others read of the leader. GC6110 when it does not lead.
GCOORD_API gcoord_status gcoord_election_proclaim(gcoord_election* election,
                                                  const char* value,
                                                  size_t value_bytes,
                                                  gcoord_error* error);

// Hands over to one of the line. GC6111 when no such candidate waits: it leads on.
GCOORD_API gcoord_status gcoord_election_transfer(gcoord_election* election,
                                                  uint64_t session_id,
                                                  gcoord_error* error);

GCOORD_API const char* gcoord_election_name(const gcoord_election* election);
GCOORD_API bool gcoord_election_is_leader(const gcoord_election* election);
GCOORD_API bool gcoord_election_is_leader_at(const gcoord_election* election, int64_t now_ns);
GCOORD_API int64_t gcoord_election_leader_until_ns(const gcoord_election* election);
GCOORD_API uint64_t gcoord_election_epoch(const gcoord_election* election);

#ifdef __cplusplus
}
#endif
