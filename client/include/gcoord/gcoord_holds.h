// Plain sessions, the locks that they hold, and leases, for C; under the rules of gcoord/gcoord.h,
// which programs include.
//
// gcoord/session.h has the contract of sessions and locks, gcoord/lease.h that of leases. Options
// of acquires are in gcoord/gcoord_locks.h, those of sessions in gcoord/gcoord_sessions.h.
#pragma once

#include "gcoord/gcoord_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- checks, reads, and calls of operators ----

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
// For operators. GC6053 and GC6054 when the lock cannot move now, GC6052 on nodes of
// earlier releases with --turn resident, GC1112 when the cluster has no such shard.
GCOORD_API gcoord_status gcoord_lock_move(gcoord_client* client,
                                          const char* name,
                                          uint32_t to_shard,
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

#ifdef __cplusplus
}
#endif
