// Calls that do not wait, for C: each as its namesake without _async, whose errors it has; with the
// rules of gcoord/gcoord.h. (Acquires, leases, campaigns and checks have theirs beside them.)
//
// When such a function returns GCOORD_OK its callback runs once, else never: on the client's own
// thread, or within the call if nothing need be asked; also when the handle was freed meanwhile.
// What is given to a function is copied by it. A callback that is given a handle owns it, however
// late it comes: who wants it no more frees it there.
#pragma once

#include "gcoord/gcoord.h"
#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_reads.h"
#include "gcoord/gcoord_sessions.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- looks ----

// Either `description`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_description_callback)(void* user,
                                            gcoord_description* description,
                                            const gcoord_error* error);

GCOORD_API gcoord_status gcoord_describe_async(gcoord_client* client,
                                               const char* name,
                                               bool waiters,
                                               gcoord_description_callback callback,
                                               void* user,
                                               gcoord_error* error);

// Either of them; both live during the callback.
typedef void (*gcoord_holder_callback)(void* user,
                                       const gcoord_holder* holder,
                                       const gcoord_error* error);

GCOORD_API gcoord_status gcoord_leader_async(gcoord_client* client,
                                             const char* name,
                                             gcoord_holder_callback callback,
                                             void* user,
                                             gcoord_error* error);

// As gcoord_candidates: line[0] leads under the epoch, the others wait in this order. All live
// during the callback. On failure `error` says why, and there is no line.
typedef void (*gcoord_line_callback)(void* user,
                                     uint64_t epoch,
                                     const gcoord_candidate* line,
                                     size_t count,
                                     const gcoord_error* error);

GCOORD_API gcoord_status gcoord_candidates_async(gcoord_client* client,
                                                 const char* name,
                                                 gcoord_line_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// ---- reads that say how fresh they must be ----

// What gcoord_read finds: `lock`, which is the callee's to free, is NULL where it is neither held
// nor waited for. `at` and `error` live during the callback; both pointers are NULL on failure.
typedef void (*gcoord_reading_callback)(void* user,
                                        gcoord_description* lock,
                                        const gcoord_freshness* at,
                                        const gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_async(gcoord_client* client,
                                           const char* name,
                                           const gcoord_read_options* options,
                                           gcoord_reading_callback callback,
                                           void* user,
                                           gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_at_async(gcoord_client* client,
                                              const char* name,
                                              uint64_t index,
                                              uint32_t node_id,
                                              gcoord_reading_callback callback,
                                              void* user,
                                              gcoord_error* error);

// Names in the order asked: each of `locks` is as above, and the callee's to free; the array is
// not. The shards of the names, each once. Arrays live during the callback, and are empty on
// failure.
typedef void (*gcoord_readings_callback)(void* user,
                                         gcoord_description* const* locks,
                                         size_t count,
                                         const gcoord_freshness* shards,
                                         size_t shard_count,
                                         const gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_batch_async(gcoord_client* client,
                                                 const char* const* names,
                                                 size_t count,
                                                 const gcoord_read_options* options,
                                                 gcoord_readings_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// `verdict` (GCOORD_VALID and its neighbours) and `at` mean something only when error is NULL.
typedef void (*gcoord_verdict_callback)(void* user,
                                        int32_t verdict,
                                        const gcoord_freshness* at,
                                        const gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_check_async(gcoord_client* client,
                                                 const char* name,
                                                 uint64_t token,
                                                 const gcoord_read_options* options,
                                                 gcoord_verdict_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// Verdicts in the order asked, and the shards as above; none of gcoord_check_batch_async.
typedef void (*gcoord_verdicts_callback)(void* user,
                                         const int32_t* verdicts,
                                         size_t count,
                                         const gcoord_freshness* shards,
                                         size_t shard_count,
                                         const gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_check_batch_async(gcoord_client* client,
                                                       const char* const* names,
                                                       const uint64_t* tokens,
                                                       size_t count,
                                                       const gcoord_read_options* options,
                                                       gcoord_verdicts_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

GCOORD_API gcoord_status gcoord_check_batch_async(gcoord_client* client,
                                                  const char* const* names,
                                                  const uint64_t* tokens,
                                                  size_t count,
                                                  gcoord_verdicts_callback callback,
                                                  void* user,
                                                  gcoord_error* error);

// ---- sessions ----

// Either `session`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_session_callback)(void* user,
                                        gcoord_session* session,
                                        const gcoord_error* error);

// on_event and event_user are as in gcoord_session_open, and may be called before `callback` is.
GCOORD_API gcoord_status gcoord_session_open_async(gcoord_client* client,
                                                   int64_t ttl_ms,
                                                   gcoord_event_callback on_event,
                                                   void* event_user,
                                                   gcoord_session_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// `user` of the options is that of the session's callbacks, and the one behind the callback is the
// callback's. Health checks run first, while nothing waits for them.
GCOORD_API gcoord_status gcoord_session_open_as_async(gcoord_client* client,
                                                      const gcoord_session_options* options,
                                                      gcoord_session_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

GCOORD_API gcoord_status gcoord_session_grant_async(gcoord_client* client,
                                                    const gcoord_session_options* options,
                                                    gcoord_session_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Either `description`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_session_description_callback)(void* user,
                                                    gcoord_session_description* description,
                                                    const gcoord_error* error);

GCOORD_API gcoord_status gcoord_session_describe_async(gcoord_client* client,
                                                       uint64_t session_id,
                                                       gcoord_session_description_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Either of them; both live during the callback.
typedef void (*gcoord_session_facts_callback)(void* user,
                                              const gcoord_session_facts* facts,
                                              const gcoord_error* error);

GCOORD_API gcoord_status
gcoord_session_keep_alive_once_async(gcoord_client* client,
                                     uint64_t session_id,
                                     gcoord_session_facts_callback callback,
                                     void* user,
                                     gcoord_error* error);

// ---- changes ----

// `error` is NULL on success, and lives during the callback.
typedef void (*gcoord_done_callback)(void* user, const gcoord_error* error);

// The handle holds the lock no more from the call on, and is still to be freed.
GCOORD_API gcoord_status gcoord_lock_release_async(gcoord_lock* lock,
                                                   gcoord_done_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

GCOORD_API gcoord_status gcoord_multi_lock_release_async(gcoord_multi_lock* locks,
                                                         gcoord_done_callback callback,
                                                         void* user,
                                                         gcoord_error* error);

// For operators. The holder is whose hold it was, without times and waiters.
GCOORD_API gcoord_status gcoord_lock_break_async(gcoord_client* client,
                                                 const char* name,
                                                 uint64_t token,
                                                 const char* who,
                                                 const char* reason,
                                                 gcoord_holder_callback callback,
                                                 void* user,
                                                 gcoord_error* error);

// For operators; comes when the lock has arrived.
GCOORD_API gcoord_status gcoord_lock_move_async(gcoord_client* client,
                                                const char* name,
                                                uint32_t to_shard,
                                                gcoord_done_callback callback,
                                                void* user,
                                                gcoord_error* error);

GCOORD_API gcoord_status gcoord_ask_transfer_async(gcoord_client* client,
                                                   const char* name,
                                                   uint64_t session_id,
                                                   uint64_t epoch,
                                                   gcoord_done_callback callback,
                                                   void* user,
                                                   gcoord_error* error);

// By token, for a lock that has no handle here.
GCOORD_API gcoord_status gcoord_session_release_async(gcoord_session* session,
                                                      const char* name,
                                                      uint64_t token,
                                                      gcoord_done_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

GCOORD_API gcoord_status gcoord_session_renew_async(gcoord_session* session,
                                                    gcoord_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

GCOORD_API gcoord_status gcoord_session_close_async(gcoord_session* session,
                                                    gcoord_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// By its epoch, where there is no gcoord_election for it. The value is copied, here and below.
GCOORD_API gcoord_status gcoord_session_proclaim_async(gcoord_session* session,
                                                       const char* name,
                                                       uint64_t epoch,
                                                       const char* value,
                                                       size_t value_bytes,
                                                       gcoord_done_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

GCOORD_API gcoord_status gcoord_session_transfer_async(gcoord_session* session,
                                                       const char* name,
                                                       uint64_t epoch,
                                                       uint64_t session_id,
                                                       gcoord_done_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

GCOORD_API gcoord_status gcoord_lease_renew_async(gcoord_lease* lease,
                                                  gcoord_done_callback callback,
                                                  void* user,
                                                  gcoord_error* error);

// The handle holds the lease no more from the call on, and is still to be freed.
GCOORD_API gcoord_status gcoord_lease_release_async(gcoord_lease* lease,
                                                    gcoord_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

GCOORD_API gcoord_status gcoord_election_proclaim_async(gcoord_election* election,
                                                        const char* value,
                                                        size_t value_bytes,
                                                        gcoord_done_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

GCOORD_API gcoord_status gcoord_election_resign_async(gcoord_election* election,
                                                      gcoord_done_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

GCOORD_API gcoord_status gcoord_election_transfer_async(gcoord_election* election,
                                                        uint64_t session_id,
                                                        gcoord_done_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

#ifdef __cplusplus
}
#endif
