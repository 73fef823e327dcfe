// Asynchronous calls for C: each function starts the call of its namesake without _async and
// returns at once. Acquires, leases, campaigns and checks have their asynchronous forms in the
// headers of their blocking forms.
//
// Contract of every function here, beside the rules of gcoord/gcoord.h:
//
//  - The function returns GCOORD_OK when the call has started. Then the callback runs exactly once.
//    Any other value means that nothing has started and that the callback never runs; `error`
//    says why: a missing argument (GC1002), options that were not initialised or have an unusable
//    value (GC1001), or no memory.
//  - The outcome comes to the callback, with the errors of the blocking namesake. Every
//    call ends by its deadline (GC4009) or when the client is closed (GC4010), so every callback
//    comes.
//  - The callback runs on the client's own thread, or within the function itself when no node has
//    to be asked. It must return soon, must not throw, and must not call blocking functions
//    (GC4011).
//  - All arguments are copied; nothing that is passed needs to outlive the call. `user` is passed
//    to the callback unchanged. Freeing a session, lock or election handle does not stop a call
//    that has started through it.
//  - A handle that the callback receives belongs to the callee, which frees it, however late it
//    arrives. A callee that does not want it any more frees it in the callback.
//  - Any thread may call these functions.
//
//  static void released(void* user, const gcoord_error* error) { ... }
//
//  if (gcoord_lock_release_async(lock, released, job, &error) != GCOORD_OK) {
//    ...  // Nothing was started, and released() does not run.
//  }
#pragma once

#include "gcoord/gcoord.h"
#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_reads.h"
#include "gcoord/gcoord_sessions.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- looks ----

// Receives the outcome of gcoord_describe_async: on success `description`, which the callee frees
// with gcoord_description_free, and a NULL `error`; on failure a NULL `description`, and `error`,
// which lives during the callback.
typedef void (*gcoord_description_callback)(void* user,
                                            gcoord_description* description,
                                            const gcoord_error* error);

// Reads the state of a lock from the leader of its shard, linearizably; gcoord_describe without
// waiting. `waiters`: include the queue, in its order. GC6016 (NOT_FOUND) when the lock is neither
// held nor waited for.
GCOORD_API gcoord_status gcoord_describe_async(gcoord_client* client,
                                               const char* name,
                                               bool waiters,
                                               gcoord_description_callback callback,
                                               void* user,
                                               gcoord_error* error);

// Receives the holder of a lock, or the leader of an election. Exactly one of `holder` and `error`
// is set; both live during the callback.
typedef void (*gcoord_holder_callback)(void* user,
                                       const gcoord_holder* holder,
                                       const gcoord_error* error);

// Reads the leader of an election, linearizably; gcoord_leader without waiting. `token` of the
// holder is the epoch of the leader's term. GC6101 (NOT_FOUND) when the election has no leader,
// which is an answer; GC5001 and GC4009 mean that the leader could not be determined.
GCOORD_API gcoord_status gcoord_leader_async(gcoord_client* client,
                                             const char* name,
                                             gcoord_holder_callback callback,
                                             void* user,
                                             gcoord_error* error);

// Receives an election as gcoord_candidates describes it: line[0] is the leader, whose term has
// `epoch`; line[1] and the following wait in this order, `count` entries in all. The array and its
// values live during the callback. On failure `error` is set and the line is empty.
typedef void (*gcoord_line_callback)(void* user,
                                     uint64_t epoch,
                                     const gcoord_candidate* line,
                                     size_t count,
                                     const gcoord_error* error);

// Reads the leader and the queue of candidates; gcoord_candidates without waiting. GC6101 when the
// election has no leader.
GCOORD_API gcoord_status gcoord_candidates_async(gcoord_client* client,
                                                 const char* name,
                                                 gcoord_line_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// ---- reads that say how fresh they must be ----

// Receives the outcome of gcoord_read_async and gcoord_read_at_async. On success `at` is the log
// position that the answer shows, and `lock` the lock, which the callee frees with
// gcoord_description_free; `lock` is NULL when the lock is neither held nor waited for. On failure
// both are NULL and `error` is set. `at` and `error` live during the callback.
typedef void (*gcoord_reading_callback)(void* user,
                                        gcoord_description* lock,
                                        const gcoord_freshness* at,
                                        const gcoord_error* error);

// Reads a lock with the consistency that `options` name; gcoord_read without waiting. GC6304 when
// the replica cannot prove the freshness of GCOORD_BOUNDED, GC6305 when it has not reached the
// positions of GCOORD_MONOTONIC.
GCOORD_API gcoord_status gcoord_read_async(gcoord_client* client,
                                           const char* name,
                                           const gcoord_read_options* options,
                                           gcoord_reading_callback callback,
                                           void* user,
                                           gcoord_error* error);

// Reads a lock as it was when its shard's log had reached `index`; gcoord_read_at without waiting.
// node_id 0 asks the leader of the shard, then each other node. GC6320 to GC6323 when none can show
// that state.
GCOORD_API gcoord_status gcoord_read_at_async(gcoord_client* client,
                                              const char* name,
                                              uint64_t index,
                                              uint32_t node_id,
                                              gcoord_reading_callback callback,
                                              void* user,
                                              gcoord_error* error);

// Receives the outcome of gcoord_read_batch_async. `locks` has `count` entries in the order of the
// names: each is NULL or a lock that the callee frees, as in gcoord_reading_callback. `shards` has
// one entry for each shard of the names. The arrays live during the callback; on failure they are
// empty and `error` is set.
typedef void (*gcoord_readings_callback)(void* user,
                                         gcoord_description* const* locks,
                                         size_t count,
                                         const gcoord_freshness* shards,
                                         size_t shard_count,
                                         const gcoord_error* error);

// Reads `count` locks of any shards in few messages; gcoord_read_batch without waiting. It fails as
// a whole when one of them cannot be read.
GCOORD_API gcoord_status gcoord_read_batch_async(gcoord_client* client,
                                                 const char* const* names,
                                                 size_t count,
                                                 const gcoord_read_options* options,
                                                 gcoord_readings_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// Receives the outcome of gcoord_read_check_async: `verdict` (GCOORD_VALID, GCOORD_STALE or
// GCOORD_FREE) and the log position `at` that it shows. Both have a meaning only when `error` is
// NULL; `at` and `error` live during the callback.
typedef void (*gcoord_verdict_callback)(void* user,
                                        int32_t verdict,
                                        const gcoord_freshness* at,
                                        const gcoord_error* error);

// Checks a fencing token with the consistency that `options` name; gcoord_read_check without
// waiting.
GCOORD_API gcoord_status gcoord_read_check_async(gcoord_client* client,
                                                 const char* name,
                                                 uint64_t token,
                                                 const gcoord_read_options* options,
                                                 gcoord_verdict_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// Receives the verdicts of a batch in the order of the names, and one freshness for each shard of
// the names. gcoord_check_batch_async gives no freshness: shard_count is 0. The arrays live during
// the callback; on failure they are empty and `error` is set.
typedef void (*gcoord_verdicts_callback)(void* user,
                                         const int32_t* verdicts,
                                         size_t count,
                                         const gcoord_freshness* shards,
                                         size_t shard_count,
                                         const gcoord_error* error);

// Checks `count` fencing tokens with the consistency that `options` name; gcoord_read_check_batch
// without waiting. `names` and `tokens` have `count` entries each.
GCOORD_API gcoord_status gcoord_read_check_batch_async(gcoord_client* client,
                                                       const char* const* names,
                                                       const uint64_t* tokens,
                                                       size_t count,
                                                       const gcoord_read_options* options,
                                                       gcoord_verdicts_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Checks `count` fencing tokens, each linearizably by itself; gcoord_check_batch without waiting.
GCOORD_API gcoord_status gcoord_check_batch_async(gcoord_client* client,
                                                  const char* const* names,
                                                  const uint64_t* tokens,
                                                  size_t count,
                                                  gcoord_verdicts_callback callback,
                                                  void* user,
                                                  gcoord_error* error);

// ---- sessions ----

// Receives an opened session: on success `session`, which the callee frees with
// gcoord_session_free; on failure `error`, which lives during the callback.
typedef void (*gcoord_session_callback)(void* user,
                                        gcoord_session* session,
                                        const gcoord_error* error);

// Opens a session that lives for ttl_ms without its client; gcoord_session_open without waiting.
// on_event may be NULL; it gets event_user, and it may run before `callback` does. GC1104 and
// GC1105 for a TTL outside of the cluster's bounds.
GCOORD_API gcoord_status gcoord_session_open_async(gcoord_client* client,
                                                   int64_t ttl_ms,
                                                   gcoord_event_callback on_event,
                                                   void* event_user,
                                                   gcoord_session_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// Opens a session with options; gcoord_session_open_as without waiting. The health checks of the
// options run first, and the function does not wait for them. options->user goes to the session's
// callbacks, the argument `user` to `callback`.
GCOORD_API gcoord_status gcoord_session_open_as_async(gcoord_client* client,
                                                      const gcoord_session_options* options,
                                                      gcoord_session_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

// Opens a session that is registered at once, under options->session_id if that is not 0;
// gcoord_session_grant without waiting. GC6301 when a session with this id exists already.
GCOORD_API gcoord_status gcoord_session_grant_async(gcoord_client* client,
                                                    const gcoord_session_options* options,
                                                    gcoord_session_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Receives the state of a session: on success `description`, which the callee frees with
// gcoord_session_description_free; on failure `error`, which lives during the callback.
typedef void (*gcoord_session_description_callback)(void* user,
                                                    gcoord_session_description* description,
                                                    const gcoord_error* error);

// Reads the cluster's state of any session; gcoord_session_describe without waiting. A session that
// has ended is an answer and not an error: remaining_ms is -1.
GCOORD_API gcoord_status gcoord_session_describe_async(gcoord_client* client,
                                                       uint64_t session_id,
                                                       gcoord_session_description_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Receives the state of a session after a renewal. Exactly one of `facts` and `error` is set; both
// live during the callback.
typedef void (*gcoord_session_facts_callback)(void* user,
                                              const gcoord_session_facts* facts,
                                              const gcoord_error* error);

// Renews any session once, whoever opened it; gcoord_session_keep_alive_once without waiting.
// `alive` is false for a session that has ended.
GCOORD_API gcoord_status
gcoord_session_keep_alive_once_async(gcoord_client* client,
                                     uint64_t session_id,
                                     gcoord_session_facts_callback callback,
                                     void* user,
                                     gcoord_error* error);

// ---- changes ----

// Receives the outcome of a change. `error` is NULL on success; otherwise it lives during the
// callback.
typedef void (*gcoord_done_callback)(void* user, const gcoord_error* error);

// Releases a lock; gcoord_lock_release without waiting. From the call on the handle does not hold
// the lock any more, whatever the outcome; it must still be freed. After a failure the
// lock lives at most as long as its session.
GCOORD_API gcoord_status gcoord_lock_release_async(gcoord_lock* lock,
                                                   gcoord_done_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// Releases all locks of the handle, the last one first; gcoord_multi_lock_release without waiting.
// The outcome is the first failure, if there is one; the other locks are released nevertheless.
GCOORD_API gcoord_status gcoord_multi_lock_release_async(gcoord_multi_lock* locks,
                                                         gcoord_done_callback callback,
                                                         void* user,
                                                         gcoord_error* error);

// Takes a lock from its holders by force, for operators; gcoord_lock_break without waiting. Token 0
// breaks all holds, another token the hold under it. `who` and `reason` are required (GC6034). The
// callback gets the session and the token of the broken hold, without times and waiters.
GCOORD_API gcoord_status gcoord_lock_break_async(gcoord_client* client,
                                                 const char* name,
                                                 uint64_t token,
                                                 const char* who,
                                                 const char* reason,
                                                 gcoord_holder_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// Moves a lock to another shard with its holder and its queue, for operators; gcoord_lock_move
// without waiting. The callback runs when the lock has arrived.
GCOORD_API gcoord_status gcoord_lock_move_async(gcoord_client* client,
                                                const char* name,
                                                uint32_t to_shard,
                                                gcoord_done_callback callback,
                                                void* user,
                                                gcoord_error* error);

// Asks the leader of `epoch`, or the present leader if that is 0, to hand over to the candidate
// with this session; gcoord_ask_transfer without waiting. Success means that the request is
// recorded, not that the leader has handed over. GC6101, GC6110, GC6111.
GCOORD_API gcoord_status gcoord_ask_transfer_async(gcoord_client* client,
                                                   const char* name,
                                                   uint64_t session_id,
                                                   uint64_t epoch,
                                                   gcoord_done_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// Releases a lock of the session by its token, for a lock without a handle in this program;
// gcoord_session_release without waiting. GC6003 when the token is not that of the current hold.
GCOORD_API gcoord_status gcoord_session_release_async(gcoord_session* session,
                                                      const char* name,
                                                      uint64_t token,
                                                      gcoord_done_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

// Renews the session now; gcoord_session_renew without waiting. Success means that a majority of
// the nodes has acknowledged: the session lives for a whole TTL from the call on.
GCOORD_API gcoord_status gcoord_session_renew_async(gcoord_session* session,
                                                    gcoord_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Ends the session at all nodes and releases its locks; gcoord_session_close without waiting. Nodes
// that cannot be reached end it when its TTL is over. The handle must still be freed.
GCOORD_API gcoord_status gcoord_session_close_async(gcoord_session* session,
                                                    gcoord_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Changes the value of the leader of `epoch`, for an election without a gcoord_election handle in
// this program; gcoord_session_proclaim without waiting. `value` has value_bytes of printable
// UTF-8, at most 512; it is copied, here and below. GC6110 when the session does not lead under
// this epoch.
GCOORD_API gcoord_status gcoord_session_proclaim_async(gcoord_session* session,
                                                       const char* name,
                                                       uint64_t epoch,
                                                       const char* value,
                                                       size_t value_bytes,
                                                       gcoord_done_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Hands the leadership of `epoch` over to the candidate with session_id; gcoord_session_transfer
// without waiting. GC6111 when no such candidate waits, and GC6110 when the session does not lead.
GCOORD_API gcoord_status gcoord_session_transfer_async(gcoord_session* session,
                                                       const char* name,
                                                       uint64_t epoch,
                                                       uint64_t session_id,
                                                       gcoord_done_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Renews the lease now; gcoord_lease_renew without waiting. Leases are renewed in the background as
// well.
GCOORD_API gcoord_status gcoord_lease_renew_async(gcoord_lease* lease,
                                                  gcoord_done_callback callback,
                                                  void* user,
                                                  gcoord_error* error);

// Releases the lease and ends its session; gcoord_lease_release without waiting. From the call on
// the handle does not hold the lease any more; it must still be freed.
GCOORD_API gcoord_status gcoord_lease_release_async(gcoord_lease* lease,
                                                    gcoord_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Changes the value that others read of this leader, within its term; gcoord_election_proclaim
// without waiting. GC6110 when it does not lead; then nothing has changed.
GCOORD_API gcoord_status gcoord_election_proclaim_async(gcoord_election* election,
                                                        const char* value,
                                                        size_t value_bytes,
                                                        gcoord_done_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

// Ends this candidate's term or campaign and hands over to the next in the queue;
// gcoord_election_resign without waiting. gcoord_election_is_leader is false from the call on.
GCOORD_API gcoord_status gcoord_election_resign_async(gcoord_election* election,
                                                      gcoord_done_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

// Hands over to the candidate with session_id, who leads at once under a new epoch;
// gcoord_election_transfer without waiting. gcoord_election_is_leader is false from the call on,
// and true again when no such candidate waits (GC6111).
GCOORD_API gcoord_status gcoord_election_transfer_async(gcoord_election* election,
                                                        uint64_t session_id,
                                                        gcoord_done_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

// ---- nodes ----

// Waits until every node of the cluster is connected; GC3001 at the timeout. timeout_ms is 0 to a
// day (GC1001). gcoord_client_wait_for_all_nodes without waiting.
GCOORD_API gcoord_status gcoord_client_wait_for_all_nodes_async(gcoord_client* client,
                                                                int64_t timeout_ms,
                                                                gcoord_done_callback callback,
                                                                void* user,
                                                                gcoord_error* error);

#ifdef __cplusplus
}
#endif
