// Waits that a C program can stop; under the rules of gcoord/gcoord.h and gcoord/gcoord_async.h.
//
// A stop belongs to one wait, or to several that are to end together. It is made before the call
// that it is passed to, and may be freed at any time after that, requested or not: the call keeps
// what it needs. Any thread may use a stop; do not free it while another thread uses it.
//
//  gcoord_stop* stop = gcoord_stop_new();
//  gcoord_lock_acquire_stoppable_async(session, "jobs/train", NULL, stop, granted, job, &error);
//  ...
//  gcoord_stop_request(stop);  // granted() runs with GC6006, unless it has run before.
//  gcoord_stop_free(stop);
#pragma once

#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_sessions.h"

#ifdef __cplusplus
extern "C" {
#endif

// A request to end waits.
typedef struct gcoord_stop gcoord_stop;

// Makes a stop. NULL when there is no memory.
GCOORD_API gcoord_stop* gcoord_stop_new(void);

// Ends the waits that the stop was passed to: they leave their queues, a grant that is on its way
// is released, and their callbacks run with GC6006. A wait that has ended is not changed; one that
// begins later ends at once. Does not wait. NULL is ignored.
GCOORD_API void gcoord_stop_request(gcoord_stop* stop);

// Frees the stop without requesting it. NULL is allowed.
GCOORD_API void gcoord_stop_free(gcoord_stop* stop);

// gcoord_lock_acquire_as_async with a stop; NULL: nobody stops it.
GCOORD_API gcoord_status gcoord_lock_acquire_stoppable_async(gcoord_session* session,
                                                             const char* name,
                                                             const gcoord_acquire_options* options,
                                                             const gcoord_stop* stop,
                                                             gcoord_lock_callback callback,
                                                             void* user,
                                                             gcoord_error* error);

// gcoord_lock_acquire_all_async with a stop; NULL: nobody stops it. Locks of the list that were
// granted before the stop are released.
GCOORD_API gcoord_status
gcoord_lock_acquire_all_stoppable_async(gcoord_session* session,
                                        const char* const* names,
                                        size_t count,
                                        const gcoord_acquire_options* options,
                                        const gcoord_stop* stop,
                                        gcoord_multi_lock_callback callback,
                                        void* user,
                                        gcoord_error* error);

// gcoord_lease_take_as_async with a stop; NULL: nobody stops it. The session of the lease ends.
GCOORD_API gcoord_status gcoord_lease_take_stoppable_async(gcoord_client* client,
                                                           const char* name,
                                                           const gcoord_session_options* options,
                                                           int64_t wait_ms,
                                                           const gcoord_stop* stop,
                                                           gcoord_lease_callback callback,
                                                           void* user,
                                                           gcoord_error* error);

#ifdef __cplusplus
}
#endif
