// Locks beyond the plain ones, several at once, and looks at them, for C; with the rules of
// gcoord/gcoord.h. What each option means, gcoord/options.h says; MultiLock is in multi_lock.h.
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- acquiring ----

// To be filled by gcoord_acquire_options_init, then changed. The fields mean what those of
// gcoord::client::AcquireOptions mean, and have the same defaults.
typedef struct gcoord_acquire_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  int64_t wait_ms;      // As of gcoord_lock_acquire.
  const char* note;     // Any bytes, note_bytes of them; may be NULL.
  size_t note_bytes;
  uint32_t holds_max;
  bool shared;
  uint32_t permits;
  uint32_t permits_max;
  bool detect_deadlock;
  bool downgrade;
  uint32_t priority;
  int64_t delay_ms;  // The lock-delay.
} gcoord_acquire_options;

GCOORD_API void gcoord_acquire_options_init(gcoord_acquire_options* options);

GCOORD_API gcoord_status gcoord_lock_acquire_as(gcoord_session* session,
                                                const char* name,
                                                const gcoord_acquire_options* options,
                                                gcoord_lock** lock,
                                                gcoord_error* error);

// As gcoord_lock_acquire_async; the options need not outlive the call.
GCOORD_API gcoord_status gcoord_lock_acquire_as_async(gcoord_session* session,
                                                      const char* name,
                                                      const gcoord_acquire_options* options,
                                                      gcoord_lock_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

// Whether the session held it before, and owes one release more now (holds_max).
GCOORD_API bool gcoord_lock_held_again(const gcoord_lock* lock);

// Until when gcoord_lock_valid stays true if nothing more is heard, by gcoord_client_now_ns; the
// past, or 0, when it is false.
GCOORD_API int64_t gcoord_lock_certain_until_ns(const gcoord_lock* lock);

// By token, for a lock that has no handle here. GC6003 when the token is of the past.
GCOORD_API gcoord_status gcoord_session_release(gcoord_session* session,
                                                const char* name,
                                                uint64_t token,
                                                gcoord_error* error);

// ---- several locks, all or none ----

typedef struct gcoord_multi_lock gcoord_multi_lock;

// options may be NULL: wait for ever. GC6035 for no names, a name twice, or more than 64.
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

// When this returns GCOORD_OK the callback runs once, else never.
GCOORD_API gcoord_status gcoord_lock_acquire_all_async(gcoord_session* session,
                                                       const char* const* names,
                                                       size_t count,
                                                       const gcoord_acquire_options* options,
                                                       gcoord_multi_lock_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// Releases what is held without waiting for the answers; gcoord_multi_lock_release waits.
GCOORD_API void gcoord_multi_lock_free(gcoord_multi_lock* locks);
GCOORD_API gcoord_status gcoord_multi_lock_release(gcoord_multi_lock* locks, gcoord_error* error);
GCOORD_API void gcoord_multi_lock_detach(gcoord_multi_lock* locks);

// Whether all of them are held.
GCOORD_API bool gcoord_multi_lock_valid(const gcoord_multi_lock* locks);

// In the order in which they were taken; index < size, else "" and 0.
GCOORD_API size_t gcoord_multi_lock_size(const gcoord_multi_lock* locks);
GCOORD_API const char* gcoord_multi_lock_name(const gcoord_multi_lock* locks, size_t index);
GCOORD_API uint64_t gcoord_multi_lock_fence(const gcoord_multi_lock* locks, size_t index);

// ---- looks ----

// A lock as it was found. Of a page, it is the page's.
typedef struct gcoord_description gcoord_description;

typedef struct gcoord_lock_facts {
  const char* name;
  uint32_t shard;
  uint64_t holder_session;  // 0: nobody.
  uint64_t token;
  uint64_t acquired_index;  // The log entry that granted it.
  int64_t ttl_left_ms;
  uint32_t waiter_count;
  uint32_t hold_count;  // Releases that are owed; 0: nobody has it until a lock-delay is over.
  uint32_t permits_max;
  const char* note;  // note_bytes of any bytes.
  size_t note_bytes;
} gcoord_lock_facts;

typedef struct gcoord_waiter {
  uint64_t session_id;
  uint64_t sequence;
  int64_t waited_ms;
} gcoord_waiter;

// One of those who share a lock.
typedef struct gcoord_sharer {
  uint64_t session_id;
  uint64_t token;
  uint64_t acquired_index;
  uint32_t permits;
} gcoord_sharer;

// GC6016 (NOT_FOUND) when it is neither held nor waited for.
GCOORD_API gcoord_status gcoord_describe(gcoord_client* client,
                                         const char* name,
                                         bool waiters,
                                         gcoord_description** description,
                                         gcoord_error* error);
GCOORD_API void gcoord_description_free(gcoord_description* description);

// Text lives as long as the description. An index beyond the end gives zeros.
GCOORD_API gcoord_lock_facts gcoord_description_lock(const gcoord_description* description);
GCOORD_API size_t gcoord_description_waiters(const gcoord_description* description);
GCOORD_API gcoord_waiter gcoord_description_waiter(const gcoord_description* description,
                                                   size_t index);
GCOORD_API size_t gcoord_description_sharers(const gcoord_description* description);
GCOORD_API gcoord_sharer gcoord_description_sharer(const gcoord_description* description,
                                                   size_t index);

// ---- lists, page by page ----

// To be filled by gcoord_list_options_init, then changed.
typedef struct gcoord_list_options {
  size_t struct_bytes;
  const char* prefix;  // NULL: all names.
  const char* cursor;  // Of the last page; NULL: from the beginning.
  uint32_t limit;
  bool waiters;
  bool quorum;  // Confirmed by a quorum, whatever leaders' leases say.
} gcoord_list_options;

typedef struct gcoord_page gcoord_page;

GCOORD_API void gcoord_list_options_init(gcoord_list_options* options);

// A page may be empty and yet not the last one.
GCOORD_API gcoord_status gcoord_list(gcoord_client* client,
                                     const gcoord_list_options* options,
                                     gcoord_page** page,
                                     gcoord_error* error);
GCOORD_API void gcoord_page_free(gcoord_page* page);
GCOORD_API size_t gcoord_page_size(const gcoord_page* page);

// NULL beyond the end.
GCOORD_API const gcoord_description* gcoord_page_lock(const gcoord_page* page, size_t index);

// "" after the last page.
GCOORD_API const char* gcoord_page_cursor(const gcoord_page* page);

// False when locks were left out, because a node or a shard's leader could not be asked.
GCOORD_API bool gcoord_page_complete(const gcoord_page* page);

#ifdef __cplusplus
}
#endif
