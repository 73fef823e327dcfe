// Calls that do not wait, for C: each as its namesake without _async, whose errors it has; with the
// rules of gcoord/gcoord.h. (Acquires, leases, campaigns and checks have theirs beside them.)
//
// When such a function returns GCOORD_OK its callback runs once, else never: on the client's own
// thread, or within the call if nothing need be asked; also when the handle was freed meanwhile.
#pragma once

#include "gcoord/gcoord.h"
#include "gcoord/gcoord_locks.h"

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
