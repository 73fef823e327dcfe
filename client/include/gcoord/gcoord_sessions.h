// Sessions with options, sessions as leases, their events, and health checks, for C; under the
// rules of gcoord/gcoord.h.
//
// gcoord/session.h and gcoord/leases.h have the contract of sessions, gcoord/health.h that of
// health checks. All callbacks of a session run on the client's own thread: they return soon and
// call no blocking functions (GC4011). Functions that only read a handle ask no node, and return
// zeros for NULL and for an index beyond the end.
//
// A session that is bound to a health check:
//
//  gcoord_health_check check = {.what = "tcp:127.0.0.1:8080"};
//  gcoord_session_options how;
//  gcoord_session_options_init(&how);
//  how.checks = &check;
//  how.check_count = 1;
//  gcoord_session_open_as(client, &how, &session, &error);
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- opening ----

// Receives the notice that an operator broke a hold of the session; the session lives on. `name`
// and `token` are those of the lost lock; `name` lives during the callback.
typedef void (*gcoord_lost_callback)(void* user, const char* name, uint64_t token);

// Treatment of an unhealthy session: its client stops renewing it, or ends it at once. Never
// renumber.
enum { GCOORD_STARVE = 1, GCOORD_CLOSE = 2 };

// A health check that the client of the session runs in its own process. A number that is 0 means
// its default.
typedef struct gcoord_health_check {
  const char* what;     // "tcp:HOST:PORT", "http://HOST:PORT/PATH" or "command:LINE".
  int64_t interval_ms;  // 10 s unless given.
  int64_t timeout_ms;   // 5 s unless given.
  uint32_t failures;    // In a row before the session is unhealthy; 3 unless given.
} gcoord_health_check;

// Result of one run of a check; reported when it changes something, and for every failure.
// `evidence` lives during the callback: "exit code 2", "HTTP status 503".
typedef struct gcoord_check_report {
  size_t check;  // Which of the checks.
  bool passing;
  uint32_t failures_in_row;
  // Whether the session is healthy by all of its checks, from now on.
  bool session_healthy;
  const char* evidence;
} gcoord_check_report;

// Receives the reports of a session's checks, on the client's own thread.
typedef void (*gcoord_report_callback)(void* user, const gcoord_check_report* report);

// Options of a session. To be filled by gcoord_session_options_init, then changed. Callbacks may be
// NULL; all of them get `user`.
typedef struct gcoord_session_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  // How long the session lives after its last renewal.
  int64_t ttl_ms;
  uint64_t session_id;  // Of grant: the id wanted, 0: any. Of attach: the session. Not of open.
  gcoord_event_callback on_event;  // Tells of lost locks only if there is no on_lost.
  gcoord_lost_callback on_lost;
  gcoord_report_callback on_report;
  void* user;
  const gcoord_health_check* checks;  // check_count of them; none unless given.
  size_t check_count;
  int32_t on_unhealthy;  // GCOORD_STARVE unless changed.
  // Of attach: what gcoord_session_key said of the session, where nodes ask for keys
  // (--session-keys); GC6540 when it is no key. NULL: none is shown. A secret, copied by the call.
  const char* session_key;
} gcoord_session_options;

// Fills the options: the default TTL, any id, no callbacks, no checks, no key. A program calls
// gcoord_session_options_init; the macro of that name passes the size that the program was compiled
// with, so that a newer library fills only the fields that the program has. The function of that
// name is for programs that were compiled with the first version of the library. NULL is ignored.
GCOORD_API void gcoord_session_options_init(gcoord_session_options* options);
GCOORD_API void gcoord_session_options_init_as(gcoord_session_options* options,
                                               size_t struct_bytes);
#define gcoord_session_options_init(options) \
  gcoord_session_options_init_as((options), sizeof(gcoord_session_options))

// Opens a session with options; otherwise as gcoord_session_open. Its health checks run first, and
// all must pass: GC6350 when one fails, GC6352 when a check is not valid.
GCOORD_API gcoord_status gcoord_session_open_as(gcoord_client* client,
                                                const gcoord_session_options* options,
                                                gcoord_session** session,
                                                gcoord_error* error);

// Opens a session that is registered at the nodes at once, under options->session_id if that is not
// 0 (gcoord/leases.h). GC6301 when a session with this id exists already, GC6302 for an id of 2^48
// or above.
GCOORD_API gcoord_status gcoord_session_grant(gcoord_client* client,
                                              const gcoord_session_options* options,
                                              gcoord_session** session,
                                              gcoord_error* error);

// Makes a handle for a session that another program opened, options->session_id, with
// options->session_key, for example to release its locks. Asks no node: nodes refuse requests of a
// session whose key was not shown with GC6541. keep_alive: renew it from here, too. Its acquires
// are numbered from first_sequence on, which must be above all numbers used before in the session.
// Of such a session on_lost does not run.
GCOORD_API gcoord_status gcoord_session_attach(gcoord_client* client,
                                               const gcoord_session_options* options,
                                               bool keep_alive,
                                               uint64_t first_sequence,
                                               gcoord_session** session,
                                               gcoord_error* error);

// Takes a lease (gcoord/lease.h) with the TTL, events and checks of `options`; otherwise as
// gcoord_lease_take. session_id and on_lost of the options are ignored.
GCOORD_API gcoord_status gcoord_lease_take_as(gcoord_client* client,
                                              const char* name,
                                              const gcoord_session_options* options,
                                              int64_t wait_ms,
                                              gcoord_lease** lease,
                                              gcoord_error* error);

// The same without waiting, as gcoord_lease_take_async. options->user goes to the lease's events,
// the argument `user` to the callback.
GCOORD_API gcoord_status gcoord_lease_take_as_async(gcoord_client* client,
                                                    const char* name,
                                                    const gcoord_session_options* options,
                                                    int64_t wait_ms,
                                                    gcoord_lease_callback callback,
                                                    void* user,
                                                    gcoord_error* error);

// ---- what happens to them, for an event loop ----

// The event of a notice when nothing has happened.
#define GCOORD_NO_EVENT INT32_C(-1)

// One event of a session, for programs that poll instead of taking callbacks.
typedef struct gcoord_session_notice {
  int32_t event;     // GCOORD_JEOPARDY and its neighbours; GCOORD_NO_EVENT: nothing has happened.
  const char* name;  // Of GCOORD_LOCK_LOST, until the next call of that handle, or its free; or "".
  uint64_t token;
} gcoord_session_notice;

// Takes the next event of the session, without waiting: `event` is GCOORD_NO_EVENT when nothing has
// happened. Events are queued from the first call of these functions on, instead of the callbacks
// or beside them; a jeopardy or an end that was there already comes first. Nothing comes after
// GCOORD_EXPIRED, and nothing for a close. One thread at a time.
GCOORD_API gcoord_status gcoord_session_next_event(gcoord_session* session,
                                                   gcoord_session_notice* notice,
                                                   gcoord_error* error);

// The same for the session of a lease.
GCOORD_API gcoord_status gcoord_lease_next_event(gcoord_lease* lease,
                                                 gcoord_session_notice* notice,
                                                 gcoord_error* error);

// A descriptor for poll(), epoll or another event loop, readable exactly while
// gcoord_session_next_event would bring an event. It belongs to the handle and is closed by its
// free function: take it out of the event loop before that, and never close it.
// gcoord_watch_event_fd (gcoord/gcoord_watch.h) has the other rules. RESOURCE_EXHAUSTED when the
// process may open no more files.
GCOORD_API gcoord_status gcoord_session_event_fd(gcoord_session* session,
                                                 int* fd,
                                                 gcoord_error* error);

// The same for the session of a lease.
GCOORD_API gcoord_status gcoord_lease_event_fd(gcoord_lease* lease, int* fd, gcoord_error* error);

// ---- more of a session ----

// The moment of the client's clock until which the session is certain to live if no node is heard
// any more; a past moment, or 0, when it is lost.
GCOORD_API int64_t gcoord_session_certain_until_ns(const gcoord_session* session);

// Room for the text of a session's key and the NUL behind it.
enum { GCOORD_SESSION_KEY_ROOM = 129 };

// Writes the key of the session, by which another program attaches to it (gcoord_session_attach),
// and a NUL into `key`, which has `room` bytes. A program that has it speaks for the session: it is
// a secret.
// Wipe the buffer when it has been passed on, and pass it on by a file of mode 0600 or a file
// descriptor, not by arguments or the environment. "" where nodes give no keys. Asks no node.
// GC1001 when it does not fit; GCOORD_SESSION_KEY_ROOM always does.
GCOORD_API gcoord_status gcoord_session_key(const gcoord_session* session,
                                            char* key,
                                            size_t room,
                                            gcoord_error* error);

// False while one of its health checks fails; true for a session without checks.
GCOORD_API bool gcoord_session_healthy(const gcoord_session* session);

// Changes the value of the leader of this election by its epoch, where the program has no
// gcoord_election for it. GC6110 when the session does not lead under the epoch.
GCOORD_API gcoord_status gcoord_session_proclaim(gcoord_session* session,
                                                 const char* name,
                                                 uint64_t epoch,
                                                 const char* value,
                                                 size_t value_bytes,
                                                 gcoord_error* error);

// Hands the leadership over to the candidate with session_id, by the epoch of the present term.
// GC6110 when the session does not lead, GC6111 when no such candidate waits.
GCOORD_API gcoord_status gcoord_session_transfer(gcoord_session* session,
                                                 const char* name,
                                                 uint64_t epoch,
                                                 uint64_t session_id,
                                                 gcoord_error* error);

// ---- what the cluster knows of sessions ----

// State of a session at the nodes.
typedef struct gcoord_session_facts {
  uint64_t session_id;
  bool alive;
  bool granted;
  int64_t ttl_ms;        // As granted.
  int64_t remaining_ms;  // -1: it is gone, which is an answer.
  // The number of shards where it is registered, and of locks that it holds there.
  uint32_t shard_count;
  uint32_t lock_count;
} gcoord_session_facts;

// State of one session with the names of its locks.
typedef struct gcoord_session_description gcoord_session_description;

// Reads the state of any session from the nodes and makes *description, which the caller frees. A
// session that has ended is an answer and no failure: remaining_ms is -1.
GCOORD_API gcoord_status gcoord_session_describe(gcoord_client* client,
                                                 uint64_t session_id,
                                                 gcoord_session_description** description,
                                                 gcoord_error* error);

// Frees the description. NULL is allowed.
GCOORD_API void gcoord_session_description_free(gcoord_session_description* description);

// The state of the session, without its locks' names.
GCOORD_API gcoord_session_facts
gcoord_session_description_facts(const gcoord_session_description* description);

// The names of its locks, at most the first 800: their number, and each of them, which lives as
// long as the description. NULL beyond the end.
GCOORD_API size_t gcoord_session_description_keys(const gcoord_session_description* description);
GCOORD_API const char* gcoord_session_description_key(const gcoord_session_description* description,
                                                      size_t index);

// The client behind a session, as the ledger's notes name it (gcoord::client::SessionOrigin). Text
// lives as long as the handle that it comes from.
typedef struct gcoord_session_origin {
  uint64_t session_id;
  uint64_t since_ms;           // Unix milliseconds: when it was opened.
  const char* principal_kind;  // "anonymous", "certificate", "user" or "node".
  const char* principal;       // Its name; "" for "anonymous".
  const char* address_class;   // "loopback", "private", "public", "local" or "unknown".
  const char* address;         // "192.0.2.7"; "-" where there is none.
  const char* client;          // The name that the client gave itself, which proves nothing.
} gcoord_session_origin;

// The origins of several sessions.
typedef struct gcoord_origins gcoord_origins;

// Receives the outcome of the calls below: on success `origins`, which the callee frees with
// gcoord_origins_free; on failure NULL, and `error`, which lives during the callback.
typedef void (*gcoord_origins_callback)(void* user,
                                        gcoord_origins* origins,
                                        const gcoord_error* error);

// Reads who is behind `count` sessions, at most 1000 of them, and makes *origins, which the caller
// frees. Sessions without a note, and those that the client may not see (session.read.all), are
// left out. GC4005 by nodes of earlier releases.
GCOORD_API gcoord_status gcoord_session_origins(gcoord_client* client,
                                                const uint64_t* sessions,
                                                size_t count,
                                                gcoord_origins** origins,
                                                gcoord_error* error);

// The same of the holders of a name and of those who wait for it (lock.read.details).
GCOORD_API gcoord_status gcoord_holder_origins(gcoord_client* client,
                                               const char* name,
                                               gcoord_origins** origins,
                                               gcoord_error* error);

// Both without waiting, as gcoord/gcoord_async.h says.
GCOORD_API gcoord_status gcoord_session_origins_async(gcoord_client* client,
                                                      const uint64_t* sessions,
                                                      size_t count,
                                                      gcoord_origins_callback callback,
                                                      void* user,
                                                      gcoord_error* error);
GCOORD_API gcoord_status gcoord_holder_origins_async(gcoord_client* client,
                                                     const char* name,
                                                     gcoord_origins_callback callback,
                                                     void* user,
                                                     gcoord_error* error);

// Frees the origins. NULL is allowed.
GCOORD_API void gcoord_origins_free(gcoord_origins* origins);

// Their number, and each of them; zeros beyond the end.
GCOORD_API size_t gcoord_origins_size(const gcoord_origins* origins);
GCOORD_API gcoord_session_origin gcoord_origins_get(const gcoord_origins* origins, size_t index);

// Renews any session once, whoever opened it, and fills *facts with its state. facts->alive is
// false for a session that has ended.
GCOORD_API gcoord_status gcoord_session_keep_alive_once(gcoord_client* client,
                                                        uint64_t session_id,
                                                        gcoord_session_facts* facts,
                                                        gcoord_error* error);

// Selection of sessions: all, those that hold a lock, or those that hold none. Never renumber.
enum { GCOORD_SESSIONS_ALL = 0, GCOORD_SESSIONS_HOLDING = 1, GCOORD_SESSIONS_IDLE = 2 };

// Selection of a list of sessions. To be filled by gcoord_session_list_options_init, then changed.
typedef struct gcoord_session_list_options {
  size_t struct_bytes;
  // GCOORD_SESSIONS_ALL unless changed.
  int32_t filter;
  int64_t remaining_below_ms;  // GCOORD_FOREVER: all.
  uint32_t limit;              // Of one page; 1 to 10,000.
  // Whether pages carry only the number of sessions.
  bool count_only;
  const char* cursor;  // Of the last page; NULL: from the beginning.
} gcoord_session_list_options;

// One page of a list of sessions.
typedef struct gcoord_session_page gcoord_session_page;

// Fills the options: all sessions from the beginning, 1,000 a page. NULL is ignored.
GCOORD_API void gcoord_session_list_options_init(gcoord_session_list_options* options);

// Reads the next page of the sessions of all nodes, node by node, and makes *page, which the caller
// frees. A session that opens or ends meanwhile may be missed.
GCOORD_API gcoord_status gcoord_session_list(gcoord_client* client,
                                             const gcoord_session_list_options* options,
                                             gcoord_session_page** page,
                                             gcoord_error* error);

// Frees the page. NULL is allowed.
GCOORD_API void gcoord_session_page_free(gcoord_session_page* page);

// The number of sessions on the page; 0 with count_only.
GCOORD_API size_t gcoord_session_page_size(const gcoord_session_page* page);

// One session of the page; zeros beyond the end.
GCOORD_API gcoord_session_facts gcoord_session_page_facts(const gcoord_session_page* page,
                                                          size_t index);

// The number of sessions that this page stands for. The total is the sum over all pages.
GCOORD_API uint64_t gcoord_session_page_count(const gcoord_session_page* page);

// The cursor for the options of the next page; "" after the last page.
GCOORD_API const char* gcoord_session_page_cursor(const gcoord_session_page* page);

// False when a node did not answer, so that sessions are missing.
GCOORD_API bool gcoord_session_page_complete(const gcoord_session_page* page);

#ifdef __cplusplus
}
#endif
