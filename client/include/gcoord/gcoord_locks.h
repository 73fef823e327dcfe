// Locks with options, several locks at once, and descriptions of locks, for C; under the rules of
// gcoord/gcoord.h.
//
// gcoord/options.h has the meaning of each option of an acquire (AcquireOptions), and
// gcoord/multi_lock.h the contract of several locks. Functions that only read a handle
// (gcoord_description_..., gcoord_page_..., gcoord_multi_lock_...) ask no node; they accept NULL
// and an index beyond the end, and return zeros or the value that their comment names.
//
// A lock with a note, and several locks at once:
//
//  gcoord_acquire_options how;
//  gcoord_acquire_options_init(&how);
//  how.wait_ms = 5000;
//  how.note = "host-7";
//  how.note_bytes = 6;
//  gcoord_lock_acquire_as(session, "jobs/train", &how, &lock, &error);
//
//  const char* names[] = {"disks/1", "disks/2"};
//  gcoord_lock_acquire_all(session, names, 2, NULL, &locks, &error);
//
// All pages of a list:
//
//  gcoord_list_options list;
//  gcoord_list_options_init(&list);
//  list.prefix = "jobs/";
//  do {
//    gcoord_list(client, &list, &page, &error);
//    ...  // gcoord_page_lock(page, index); free the page when its cursor is not needed any more.
//    list.cursor = gcoord_page_cursor(page);
//  } while (*list.cursor != '\0');
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- acquiring ----

// Options of an acquire. To be filled by gcoord_acquire_options_init, then changed; without the
// init a call fails with GC1001.
typedef struct gcoord_acquire_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  int64_t wait_ms;      // As of gcoord_lock_acquire.
  const char* note;     // UTF-8 without control characters, note_bytes of it; may be NULL.
  size_t note_bytes;
  // 0: one hold. Above: the session may hold the lock this many times, at most 65,535 (GC6022).
  uint32_t holds_max;
  // With other sessions together: as readers (permits_max 0), or with `permits` of permits_max.
  bool shared;
  uint32_t permits;
  uint32_t permits_max;
  // Nodes may end this wait with GC6040 when it is part of a deadlock. Do not set it when another
  // thread or program releases this session's locks.
  bool detect_deadlock;
  // With `shared`: the session holds the lock alone and becomes a reader under the same token.
  bool downgrade;
  // Of a candidate in an election, 0 to 255; higher is preferred.
  uint32_t priority;
  int64_t delay_ms;  // The lock-delay.
} gcoord_acquire_options;

// Fills the options: wait for ever, one exclusive hold, no note, no lock-delay. NULL is ignored.
GCOORD_API void gcoord_acquire_options_init(gcoord_acquire_options* options);

// Acquires a lock with options; `options` NULL means their defaults. Otherwise as
// gcoord_lock_acquire. GC6024 for a note above 512 bytes, GC6028 for one that is not printable
// UTF-8, GC6025 for options that contradict each other, GC6026 when the session holds the lock with
// other options, GC6027 when its sharers use another permits_max, GC6031 during a lock-delay,
// GC6032 for a delay above a minute.
GCOORD_API gcoord_status gcoord_lock_acquire_as(gcoord_session* session,
                                                const char* name,
                                                const gcoord_acquire_options* options,
                                                gcoord_lock** lock,
                                                gcoord_error* error);

// The same without waiting, as gcoord_lock_acquire_async; the options are copied.
GCOORD_API gcoord_status gcoord_lock_acquire_as_async(gcoord_session* session,
                                                      const char* name,
                                                      const gcoord_acquire_options* options,
                                                      gcoord_lock_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

// Whether the session held the lock before this acquire and now owes one release more (holds_max).
GCOORD_API bool gcoord_lock_held_again(const gcoord_lock* lock);

// The moment of the client's clock (gcoord_client_now_ns) until which gcoord_lock_valid stays true
// if no node is heard any more; a past moment, or 0, when it is false.
GCOORD_API int64_t gcoord_lock_certain_until_ns(const gcoord_lock* lock);

// Releases a lock of the session by its token, for a lock without a handle in this program, and
// waits for the answer. GC6003 when the token is not that of the current hold.
GCOORD_API gcoord_status gcoord_session_release(gcoord_session* session,
                                                const char* name,
                                                uint64_t token,
                                                gcoord_error* error);

// ---- several locks, all or none ----

// Several locks of one session, acquired together or not at all.
typedef struct gcoord_multi_lock gcoord_multi_lock;

// Acquires `count` locks in an order that is the same for all programs, so that two programs never
// wait for each other. Blocks until all are granted or the wait is over; then none is held.
// `options` may be NULL: wait for ever. GC6035 for no names, a name that occurs twice, or more than
// 64; otherwise as gcoord_lock_acquire_as.
GCOORD_API gcoord_status gcoord_lock_acquire_all(gcoord_session* session,
                                                 const char* const* names,
                                                 size_t count,
                                                 const gcoord_acquire_options* options,
                                                 gcoord_multi_lock** locks,
                                                 gcoord_error* error);

// Either `locks`, which is the callee's to free, or `error`, which lives during the callback.
typedef void (*gcoord_multi_lock_callback)(void* user,
                                           gcoord_multi_lock* locks,
                                           const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK the callback runs exactly once, on the
// client's thread; otherwise it never runs.
GCOORD_API gcoord_status gcoord_lock_acquire_all_async(gcoord_session* session,
                                                       const char* const* names,
                                                       size_t count,
                                                       const gcoord_acquire_options* options,
                                                       gcoord_multi_lock_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Frees the handle. Held locks are released, without waiting for the answers;
// gcoord_multi_lock_release waits.
GCOORD_API void gcoord_multi_lock_free(gcoord_multi_lock* locks);

// Releases all locks, the last one first, and waits. Returns the first failure; the other locks are
// released nevertheless. The handle must still be freed.
GCOORD_API gcoord_status gcoord_multi_lock_release(gcoord_multi_lock* locks, gcoord_error* error);

// Leaves the locks held when the handle is freed; they live as long as their session.
GCOORD_API void gcoord_multi_lock_detach(gcoord_multi_lock* locks);

// Whether all of the locks are held, by the client's clock.
GCOORD_API bool gcoord_multi_lock_valid(const gcoord_multi_lock* locks);

// The locks in the order in which they were acquired: their number, and the name ("" beyond the
// end) and fencing token (0 beyond the end) of each. Pass the token of a name to what that name
// guards.
GCOORD_API size_t gcoord_multi_lock_size(const gcoord_multi_lock* locks);
GCOORD_API const char* gcoord_multi_lock_name(const gcoord_multi_lock* locks, size_t index);
GCOORD_API uint64_t gcoord_multi_lock_fence(const gcoord_multi_lock* locks, size_t index);

// ---- looks ----

// Description of a lock at the moment of the read. The caller of gcoord_describe frees it; a
// description of a page belongs to the page.
typedef struct gcoord_description gcoord_description;

// The lock itself: its holder and its settings. Text lives as long as the description.
typedef struct gcoord_lock_facts {
  const char* name;
  uint32_t shard;
  // 0: nobody. GCOORD_HIDDEN_SESSION: somebody whom the client may not see; then token and note are
  // left out, and waiters and sharers too.
  uint64_t holder_session;
  uint64_t token;
  uint64_t acquired_index;  // The log entry that granted it.
  int64_t ttl_left_ms;
  uint32_t waiter_count;
  uint32_t hold_count;  // Releases that are owed; 0: nobody has it until a lock-delay is over.
  uint32_t permits_max;
  const char* note;  // note_bytes of any bytes.
  size_t note_bytes;
} gcoord_lock_facts;

// One waiting request of a session; waited_ms is measured by the node that answered.
typedef struct gcoord_waiter {
  uint64_t session_id;
  uint64_t sequence;
  int64_t waited_ms;
} gcoord_waiter;

// One of the sessions that share a lock, with its own token and its permits.
typedef struct gcoord_sharer {
  uint64_t session_id;
  uint64_t token;
  uint64_t acquired_index;
  uint32_t permits;
} gcoord_sharer;

// Reads a lock from the leader of its shard, linearizably, and makes *description, which the caller
// frees. `waiters`: include the queue. GC6016 (NOT_FOUND) when the lock is neither held nor waited
// for.
GCOORD_API gcoord_status gcoord_describe(gcoord_client* client,
                                         const char* name,
                                         bool waiters,
                                         gcoord_description** description,
                                         gcoord_error* error);

// Frees a description that was made for the caller, and never one of a page. NULL is allowed.
GCOORD_API void gcoord_description_free(gcoord_description* description);

// The lock, its waiters in queue order, and its sharers, the oldest first. Text lives as long as
// the description. An index beyond the end gives zeros.
GCOORD_API gcoord_lock_facts gcoord_description_lock(const gcoord_description* description);
GCOORD_API size_t gcoord_description_waiters(const gcoord_description* description);
GCOORD_API gcoord_waiter gcoord_description_waiter(const gcoord_description* description,
                                                   size_t index);
GCOORD_API size_t gcoord_description_sharers(const gcoord_description* description);
GCOORD_API gcoord_sharer gcoord_description_sharer(const gcoord_description* description,
                                                   size_t index);

// ---- lists, page by page ----

// Selection of a list. To be filled by gcoord_list_options_init, then changed; the prefix must be
// the same for all pages.
typedef struct gcoord_list_options {
  size_t struct_bytes;
  const char* prefix;  // NULL: all names.
  const char* cursor;  // Of the last page; NULL: from the beginning.
  // The maximum number of locks on a page, 1 to 1,000 (GC1111); 100 unless changed.
  uint32_t limit;
  // Whether descriptions include the waiters.
  bool waiters;
  bool quorum;  // Confirmed by a quorum, whatever leaders' leases say.
} gcoord_list_options;

// One page of a list: descriptions of locks of one node.
typedef struct gcoord_page gcoord_page;

// Fills the options: all names from the beginning, 100 a page, without waiters.
GCOORD_API void gcoord_list_options_init(gcoord_list_options* options);

// Reads the next page of the locks of all nodes, node by node, and makes *page, which the caller
// frees. A page may be empty and yet not the last one: only the cursor "" ends the list. Locks that
// move between nodes meanwhile may be missed or seen twice. GC1110 for a cursor that does not come
// from a page.
GCOORD_API gcoord_status gcoord_list(gcoord_client* client,
                                     const gcoord_list_options* options,
                                     gcoord_page** page,
                                     gcoord_error* error);

// Frees the page with all of its descriptions. NULL is allowed.
GCOORD_API void gcoord_page_free(gcoord_page* page);

// The number of locks on the page.
GCOORD_API size_t gcoord_page_size(const gcoord_page* page);

// One lock of the page, which lives as long as the page; NULL beyond the end.
GCOORD_API const gcoord_description* gcoord_page_lock(const gcoord_page* page, size_t index);

// The cursor for the options of the next page; "" after the last page. It lives as long as the
// page.
GCOORD_API const char* gcoord_page_cursor(const gcoord_page* page);

// False when locks are missing, because a node or a shard's leader did not answer.
GCOORD_API bool gcoord_page_complete(const gcoord_page* page);

#ifdef __cplusplus
}
#endif
