// Sessions with more than a TTL, sessions as leases, and health checks, for C; with the rules of
// gcoord/gcoord.h. What they promise, gcoord/leases.h and gcoord/health.h say.
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- opening ----

// An operator broke this hold of the session, which lives. `name` lives during the callback.
typedef void (*gcoord_lost_callback)(void* user, const char* name, uint64_t token);

// Never renumber. What an unhealthy session is: not kept alive any more, or ended at once.
enum { GCOORD_STARVE = 1, GCOORD_CLOSE = 2 };

// A check that this process runs; zeros of the numbers stand for their defaults.
typedef struct gcoord_health_check {
  const char* what;     // "tcp:HOST:PORT", "http://HOST:PORT/PATH" or "command:LINE".
  int64_t interval_ms;  // 10 s unless given.
  int64_t timeout_ms;   // 5 s unless given.
  uint32_t failures;    // In a row before the session is unhealthy; 3 unless given.
} gcoord_health_check;

// What a run of a check found. `evidence` lives during the callback.
typedef struct gcoord_check_report {
  size_t check;  // Which of the checks.
  bool passing;
  uint32_t failures_in_row;
  bool session_healthy;
  const char* evidence;
} gcoord_check_report;

typedef void (*gcoord_report_callback)(void* user, const gcoord_check_report* report);

// To be filled by gcoord_session_options_init, then changed. Callbacks may be NULL, and get `user`.
typedef struct gcoord_session_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  int64_t ttl_ms;
  uint64_t session_id;  // Of grant: the id wanted, 0: any. Of attach: the session. Not of open.
  gcoord_event_callback on_event;  // Tells of lost locks only if there is no on_lost.
  gcoord_lost_callback on_lost;
  gcoord_report_callback on_report;
  void* user;
  const gcoord_health_check* checks;  // check_count of them; none unless given.
  size_t check_count;
  int32_t on_unhealthy;  // GCOORD_STARVE unless changed.
} gcoord_session_options;

GCOORD_API void gcoord_session_options_init(gcoord_session_options* options);

// As gcoord_session_open. Its checks run first: GC6350 when one fails, GC6352 for what is none.
GCOORD_API gcoord_status gcoord_session_open_as(gcoord_client* client,
                                                const gcoord_session_options* options,
                                                gcoord_session** session,
                                                gcoord_error* error);

// Registered at once, under an id of the caller's choice if wanted: GC6301 when that one lives.
GCOORD_API gcoord_status gcoord_session_grant(gcoord_client* client,
                                              const gcoord_session_options* options,
                                              gcoord_session** session,
                                              gcoord_error* error);

// Speaks for a session that another program opened; asks no node. Its acquires are numbered from
// first_sequence on, which must be above all numbers used before. on_lost is not told.
GCOORD_API gcoord_status gcoord_session_attach(gcoord_client* client,
                                               const gcoord_session_options* options,
                                               bool keep_alive,
                                               uint64_t first_sequence,
                                               gcoord_session** session,
                                               gcoord_error* error);

// A lease (gcoord/lease.h) that is bound to checks: as gcoord_lease_take and
// gcoord_lease_take_async, with the session's TTL, events and checks. session_id and on_lost mean
// nothing here. `user` of the options is that of the lease's events, and the one behind the
// callback is the callback's.
GCOORD_API gcoord_status gcoord_lease_take_as(gcoord_client* client,
                                              const char* name,
                                              const gcoord_session_options* options,
                                              int64_t wait_ms,
                                              gcoord_lease** lease,
                                              gcoord_error* error);
GCOORD_API gcoord_status gcoord_lease_take_as_async(gcoord_client* client,
                                                    const char* name,
                                                    const gcoord_session_options* options,
                                                    int64_t wait_ms,
                                                    gcoord_lease_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// ---- what happens to them, for an event loop ----

#define GCOORD_NO_EVENT INT32_C(-1)

typedef struct gcoord_session_notice {
  int32_t event;     // GCOORD_JEOPARDY and its neighbours; GCOORD_NO_EVENT: nothing has happened.
  const char* name;  // Of GCOORD_LOCK_LOST, until the next call of that handle, or its free; or "".
  uint64_t token;
} gcoord_session_notice;

// Does not wait. Instead of the callbacks or beside them: what they are told, from the first call
// of these functions on; a jeopardy or an end that was there already is told first. Nothing comes
// after EXPIRED, nor for a close. Session::next_event of gcoord/session.h says more. One thread at
// a time.
GCOORD_API gcoord_status gcoord_session_next_event(gcoord_session* session,
                                                   gcoord_session_notice* notice,
                                                   gcoord_error* error);
GCOORD_API gcoord_status gcoord_lease_next_event(gcoord_lease* lease,
                                                 gcoord_session_notice* notice,
                                                 gcoord_error* error);

// Readable exactly while the function above would bring an event, with the rules of
// gcoord_watch_event_fd (gcoord/gcoord_watch.h): it is the handle's, and closed by its free.
GCOORD_API gcoord_status gcoord_session_event_fd(gcoord_session* session,
                                                 int* fd,
                                                 gcoord_error* error);
GCOORD_API gcoord_status gcoord_lease_event_fd(gcoord_lease* lease, int* fd, gcoord_error* error);

// ---- more of a session ----

// As gcoord_lock_certain_until_ns, of the session.
GCOORD_API int64_t gcoord_session_certain_until_ns(const gcoord_session* session);

// False while one of its health checks fails.
GCOORD_API bool gcoord_session_healthy(const gcoord_session* session);

// What a leader may do by its epoch, where there is no gcoord_election for it.
GCOORD_API gcoord_status gcoord_session_proclaim(gcoord_session* session,
                                                 const char* name,
                                                 uint64_t epoch,
                                                 const char* value,
                                                 size_t value_bytes,
                                                 gcoord_error* error);
GCOORD_API gcoord_status gcoord_session_transfer(gcoord_session* session,
                                                 const char* name,
                                                 uint64_t epoch,
                                                 uint64_t session_id,
                                                 gcoord_error* error);

// ---- what the cluster knows of sessions ----

typedef struct gcoord_session_facts {
  uint64_t session_id;
  bool alive;
  bool granted;
  int64_t ttl_ms;        // As granted.
  int64_t remaining_ms;  // -1: it is gone, which is an answer.
  uint32_t shard_count;
  uint32_t lock_count;
} gcoord_session_facts;

typedef struct gcoord_session_description gcoord_session_description;

GCOORD_API gcoord_status gcoord_session_describe(gcoord_client* client,
                                                 uint64_t session_id,
                                                 gcoord_session_description** description,
                                                 gcoord_error* error);
GCOORD_API void gcoord_session_description_free(gcoord_session_description* description);
GCOORD_API gcoord_session_facts
gcoord_session_description_facts(const gcoord_session_description* description);

// Names of its locks, the first 800; NULL beyond the end.
GCOORD_API size_t gcoord_session_description_keys(const gcoord_session_description* description);
GCOORD_API const char* gcoord_session_description_key(const gcoord_session_description* description,
                                                      size_t index);

// Renews any session once, whoever opened it.
GCOORD_API gcoord_status gcoord_session_keep_alive_once(gcoord_client* client,
                                                        uint64_t session_id,
                                                        gcoord_session_facts* facts,
                                                        gcoord_error* error);

// Never renumber. Those that hold a lock, or none.
enum { GCOORD_SESSIONS_ALL = 0, GCOORD_SESSIONS_HOLDING = 1, GCOORD_SESSIONS_IDLE = 2 };

// To be filled by gcoord_session_list_options_init, then changed.
typedef struct gcoord_session_list_options {
  size_t struct_bytes;
  int32_t filter;
  int64_t remaining_below_ms;  // GCOORD_FOREVER: all.
  uint32_t limit;              // Of one page; 1 to 10,000.
  bool count_only;
  const char* cursor;  // Of the last page; NULL: from the beginning.
} gcoord_session_list_options;

typedef struct gcoord_session_page gcoord_session_page;

GCOORD_API void gcoord_session_list_options_init(gcoord_session_list_options* options);
GCOORD_API gcoord_status gcoord_session_list(gcoord_client* client,
                                             const gcoord_session_list_options* options,
                                             gcoord_session_page** page,
                                             gcoord_error* error);
GCOORD_API void gcoord_session_page_free(gcoord_session_page* page);
GCOORD_API size_t gcoord_session_page_size(const gcoord_session_page* page);
GCOORD_API gcoord_session_facts gcoord_session_page_facts(const gcoord_session_page* page,
                                                          size_t index);
GCOORD_API uint64_t gcoord_session_page_count(const gcoord_session_page* page);
GCOORD_API const char* gcoord_session_page_cursor(const gcoord_session_page* page);
GCOORD_API bool gcoord_session_page_complete(const gcoord_session_page* page);

#ifdef __cplusplus
}
#endif
