// Many locks of one session in one call, for C; under the rules of gcoord/gcoord.h.
//
// gcoord/lock_batch.h has the contract: each name is a command of its own, with a result of its
// own, and all of them leave in few frames. A batch is the result of an acquire: its locks, and why
// names were not granted. Functions that only read a batch ask no node; they accept NULL and an
// index beyond the end, and return zeros or the value that their comment names.
//
//  const char* names[] = {"disks/1", "disks/2", "disks/3"};
//  if (gcoord_lock_acquire_many(session, names, 3, NULL, &batch, &error) == GCOORD_OK) {
//    for (size_t k = 0; k < gcoord_lock_batch_size(batch); ++k) {
//      if (gcoord_lock_batch_outcome(batch, k, &error) == GCOORD_OK) {
//        write_with(gcoord_lock_batch_fence(batch, k));
//      }
//    }
//    gcoord_lock_batch_release(batch, &error);
//    gcoord_lock_batch_free(batch);
//  }
#pragma once

#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_locks.h"
#include "gcoord/gcoord_stop.h"

#ifdef __cplusplus
extern "C" {
#endif

// The outcomes of gcoord_lock_acquire_many, by the index of the name.
typedef struct gcoord_lock_batch gcoord_lock_batch;

// Acquires each of `count` names on its own, and blocks until the last has ended. `options` NULL
// means: wait for none of them. Success says that there are outcomes, some of which may be
// failures; the caller frees *batch. Nothing was sent after GC6705 (no names), GC6706 (more than
// 4,096), GC6707 (a name twice), and what gcoord_lock_acquire_as refuses of a name or the options.
GCOORD_API gcoord_status gcoord_lock_acquire_many(gcoord_session* session,
                                                  const char* const* names,
                                                  size_t count,
                                                  const gcoord_acquire_options* options,
                                                  gcoord_lock_batch** batch,
                                                  gcoord_error* error);

// Either `batch`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_lock_batch_callback)(void* user,
                                           gcoord_lock_batch* batch,
                                           const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK the callback runs exactly once, on the
// client's thread; otherwise it never runs. `stop` ends every wait of the batch; it may be NULL.
GCOORD_API gcoord_status gcoord_lock_acquire_many_async(gcoord_session* session,
                                                        const char* const* names,
                                                        size_t count,
                                                        const gcoord_acquire_options* options,
                                                        const gcoord_stop* stop,
                                                        gcoord_lock_batch_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

// Frees the batch. Locks that it still holds are released, without waiting for the answers. NULL is
// allowed.
GCOORD_API void gcoord_lock_batch_free(gcoord_lock_batch* batch);

// The number of names, and how many of them were granted.
GCOORD_API size_t gcoord_lock_batch_size(const gcoord_lock_batch* batch);
GCOORD_API size_t gcoord_lock_batch_granted(const gcoord_lock_batch* batch);

// The name ("" beyond the end), and its fencing token: 0 where it was not granted.
GCOORD_API const char* gcoord_lock_batch_name(const gcoord_lock_batch* batch, size_t index);
GCOORD_API uint64_t gcoord_lock_batch_fence(const gcoord_lock_batch* batch, size_t index);

// Whether the session held the lock before.
GCOORD_API bool gcoord_lock_batch_already_held(const gcoord_lock_batch* batch, size_t index);

// Whether this lock is held, by the client's clock.
GCOORD_API bool gcoord_lock_batch_valid(const gcoord_lock_batch* batch, size_t index);

// GCOORD_OK for a name that was granted, else why not; GC1001 beyond the end.
GCOORD_API gcoord_status gcoord_lock_batch_outcome(const gcoord_lock_batch* batch,
                                                   size_t index,
                                                   gcoord_error* error);

// Releases the locks of the batch in few frames and waits. Returns the first failure; the other
// locks are released nevertheless. The batch must still be freed.
GCOORD_API gcoord_status gcoord_lock_batch_release(gcoord_lock_batch* batch, gcoord_error* error);

// The same without waiting; the batch holds nothing any more from the call on.
GCOORD_API gcoord_status gcoord_lock_batch_release_async(gcoord_lock_batch* batch,
                                                         gcoord_done_callback callback,
                                                         void* user,
                                                         gcoord_error* error);

// Leaves the locks held when the batch is freed; they live as long as their session.
GCOORD_API void gcoord_lock_batch_detach(gcoord_lock_batch* batch);

// The outcome of one release of a batch: GCOORD_OK, or the status and number of its failure.
typedef struct gcoord_outcome {
  gcoord_status status;
  uint32_t number;
} gcoord_outcome;

// Releases `count` locks of the session by their names and tokens, in few frames, and waits.
// `outcomes` has room for `count` of them; it may be NULL: then the first failure is returned.
// With outcomes, success says that they are filled. Nothing was sent after GC6705 to GC6707.
GCOORD_API gcoord_status gcoord_session_release_many(gcoord_session* session,
                                                     const char* const* names,
                                                     const uint64_t* tokens,
                                                     size_t count,
                                                     gcoord_outcome* outcomes,
                                                     gcoord_error* error);

// Either `count` outcomes, which live during the callback, or `error`.
typedef void (*gcoord_outcomes_callback)(void* user,
                                         const gcoord_outcome* outcomes,
                                         size_t count,
                                         const gcoord_error* error);

// The same without waiting; the rules of gcoord_lock_acquire_many_async.
GCOORD_API gcoord_status gcoord_session_release_many_async(gcoord_session* session,
                                                           const char* const* names,
                                                           const uint64_t* tokens,
                                                           size_t count,
                                                           gcoord_outcomes_callback callback,
                                                           void* user,
                                                           gcoord_error* error);

// gcoord_session_renew, and the moment of the client's clock (gcoord_client_now_ns) until which the
// session and its locks are certain to live now.
GCOORD_API gcoord_status gcoord_session_renew_until(gcoord_session* session,
                                                    int64_t* certain_until_ns,
                                                    gcoord_error* error);

// Either the moment, which lives during the callback, or `error`.
typedef void (*gcoord_until_callback)(void* user,
                                      const int64_t* certain_until_ns,
                                      const gcoord_error* error);

// The same without waiting; the rules of gcoord_lock_acquire_many_async.
GCOORD_API gcoord_status gcoord_session_renew_until_async(gcoord_session* session,
                                                          gcoord_until_callback callback,
                                                          void* user,
                                                          gcoord_error* error);

#ifdef __cplusplus
}
#endif
