// Groups and barriers for C, as gcoord/group.h has them, with the rules of gcoord/gcoord.h. A
// function that makes a handle returns it, or NULL and the error.
//
//   gcoord_group* group = gcoord_group_make(session, "workers", &error);
//   gcoord_group_membership member = {"worker-7", "10.0.0.7:80", 11};
//   gcoord_group_join(group, &member, &error);
//   gcoord_barrier_options all = {8, 30000};
//   gcoord_group_barrier(group, &all, &error);
//
// Views are shown one by one and in order:
//
//   gcoord_group_views* views = gcoord_group_views_open(client, "workers", &error);
//   while ((view = gcoord_group_views_next(views, 60000, &error)) != NULL) {
//     for (size_t i = 0; i < gcoord_group_view_size(view); ++i) { ... }
//     gcoord_group_view_free(view);
//   }
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// A session's part in a group; the views of a group; one view.
typedef struct gcoord_group gcoord_group;
typedef struct gcoord_group_views gcoord_group_views;
typedef struct gcoord_group_view gcoord_group_view;

// How a session is a member: its id and payload_bytes of any bytes, and after the join the first
// view that it is part of, with its rank there. `payload` may be NULL if payload_bytes is 0.
typedef struct gcoord_group_membership {
  const char* id;
  const char* payload;
  size_t payload_bytes;
  uint64_t epoch;  // Set by join.
  uint32_t rank;   // Set by join.
} gcoord_group_membership;

// An arrival at a barrier. The caller sets both fields. GC6413 for a size that is not 1 to 256,
// GC1001 for a negative timeout, GC1106 for one beyond a day.
typedef struct gcoord_barrier_options {
  uint32_t size;       // How many sessions, the same number for all of them.
  int64_t timeout_ms;  // After it the arrival is taken back: GC6407.
} gcoord_barrier_options;

// A member of a view. Texts live as long as the view; the payload is payload_bytes of any bytes.
typedef struct gcoord_group_member {
  uint64_t session_id;
  const char* id;
  const char* payload;
  size_t payload_bytes;
} gcoord_group_member;

// Asks no node. The session may be freed before the group; freeing the group leaves nothing, so the
// session stays a member until it leaves or ends. NULL may be freed. Any thread may call the
// functions of a group; one of them frees it, when no call of it is under way.
GCOORD_API gcoord_group* gcoord_group_make(gcoord_session* session,
                                           const char* name,
                                           gcoord_error* error);
GCOORD_API void gcoord_group_free(gcoord_group* group);

// Becomes a member, exactly once however often the request is sent; again under the same id it
// answers the rank of now. GC6401 to GC6403, GC6409 to GC6412 as in gcoord/group.h.
GCOORD_API gcoord_status gcoord_group_join(gcoord_group* group,
                                           gcoord_group_membership* member,
                                           gcoord_error* error);

// GC6404 when the session is no member. An update is of the payload alone.
GCOORD_API gcoord_status gcoord_group_leave(gcoord_group* group, gcoord_error* error);
GCOORD_API gcoord_status gcoord_group_update(gcoord_group* group,
                                             const gcoord_group_membership* member,
                                             gcoord_error* error);

// Waits at the barrier of the group's name until so many sessions have arrived. GC6406 when others
// wait for another size; GC6407 after the timeout, with who was missing.
GCOORD_API gcoord_status gcoord_group_barrier(gcoord_group* group,
                                              const gcoord_barrier_options* options,
                                              gcoord_error* error);

// The same without waiting; the rules of gcoord/gcoord_async.h hold. Nothing is taken back: an
// arrival at a barrier stands until its timeout. Of the membership that a callback receives id and
// payload are NULL; it lives during the callback.
typedef void (*gcoord_group_done_callback)(void* user, const gcoord_error* error);
typedef void (*gcoord_group_joined_callback)(void* user,
                                             const gcoord_group_membership* member,
                                             const gcoord_error* error);

GCOORD_API gcoord_status gcoord_group_join_async(gcoord_group* group,
                                                 const gcoord_group_membership* member,
                                                 gcoord_group_joined_callback callback,
                                                 void* user,
                                                 gcoord_error* error);
GCOORD_API gcoord_status gcoord_group_leave_async(gcoord_group* group,
                                                  gcoord_group_done_callback callback,
                                                  void* user,
                                                  gcoord_error* error);
GCOORD_API gcoord_status gcoord_group_update_async(gcoord_group* group,
                                                   const gcoord_group_membership* member,
                                                   gcoord_group_done_callback callback,
                                                   void* user,
                                                   gcoord_error* error);
GCOORD_API gcoord_status gcoord_group_barrier_async(gcoord_group* group,
                                                    const gcoord_barrier_options* options,
                                                    gcoord_group_done_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// Asks no node. The client outlives the views, and a view outlives the views that it is of. Takes
// no part in the group.
GCOORD_API gcoord_group_views* gcoord_group_views_open(gcoord_client* client,
                                                       const char* name,
                                                       gcoord_error* error);
GCOORD_API void gcoord_group_views_free(gcoord_group_views* views);

// The view of now, linearizable, whatever next has shown. The caller frees it; a group that nobody
// is in has a view of size 0.
GCOORD_API gcoord_group_view* gcoord_group_views_now(gcoord_group_views* views,
                                                     gcoord_error* error);

// The next view; the first call shows that of now. GC4009 when wait_ms have passed without one. One
// thread at a time.
GCOORD_API gcoord_group_view* gcoord_group_views_next(gcoord_group_views* views,
                                                      int64_t wait_ms,
                                                      gcoord_error* error);

// The same without waiting. The callee frees the view. Of next_async one call at a time.
typedef void (*gcoord_group_view_callback)(void* user,
                                           gcoord_group_view* view,
                                           const gcoord_error* error);

GCOORD_API gcoord_status gcoord_group_views_now_async(gcoord_group_views* views,
                                                      gcoord_group_view_callback callback,
                                                      void* user,
                                                      gcoord_error* error);
GCOORD_API gcoord_status gcoord_group_views_next_async(gcoord_group_views* views,
                                                       int64_t wait_ms,
                                                       gcoord_group_view_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// A view does not change: any thread may read it, and what its members point to lives until it is
// freed.
GCOORD_API void gcoord_group_view_free(gcoord_group_view* view);

// Rises by one with every change of the members; no epoch of a name is used twice.
GCOORD_API uint64_t gcoord_group_view_epoch(const gcoord_group_view* view);

// Whether views may be missing before this one.
GCOORD_API bool gcoord_group_view_gap(const gcoord_group_view* view);

// How many members, and the member of a rank below that; zeros for another rank.
GCOORD_API size_t gcoord_group_view_size(const gcoord_group_view* view);
GCOORD_API gcoord_group_member gcoord_group_view_member(const gcoord_group_view* view, size_t rank);

#ifdef __cplusplus
}
#endif
