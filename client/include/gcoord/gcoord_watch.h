// Watches for C, as gcoord/watch.h has them, with the rules of gcoord/gcoord.h.
//
//   gcoord_watch_options options;
//   gcoord_watch_options_init(&options);
//   options.name = "jobs/train";
//   gcoord_watch_open(client, &options, &watch, &error);
//   while (gcoord_watch_next(watch, GCOORD_FOREVER, &batch, &error) == GCOORD_OK) {
//     for (size_t i = 0; i < gcoord_batch_size(batch); ++i) { ... gcoord_batch_event(batch, i); ...
//     } gcoord_batch_free(batch);
//   }
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// Kinds of events. Never renumber.
enum {
  GCOORD_EVENT_GRANTED = 1,
  GCOORD_EVENT_RELEASED = 2,
  GCOORD_EVENT_EXPIRED = 3,
  GCOORD_EVENT_BROKEN = 4,
  GCOORD_EVENT_VALUE_CHANGED = 5,
  GCOORD_EVENT_WAITING = 6,
  GCOORD_EVENT_LEFT = 7
};

// Knowledge of the hold before an event (gcoord/watch.h). Never renumber.
enum { GCOORD_PREVIOUS_UNKNOWN = 0, GCOORD_PREVIOUS_NOTHING = 1, GCOORD_PREVIOUS_HOLD = 2 };

// A position in a shard's log: a batch has the revision of the log entry that caused it.
typedef struct gcoord_revision {
  uint32_t shard;
  uint64_t revision;
} gcoord_revision;

// A watch of names or of a session, and one batch of its events: everything that one log entry did
// to the watched names.
typedef struct gcoord_watch gcoord_watch;
typedef struct gcoord_batch gcoord_batch;

// Receives each batch, or the error that ended the watch; both live during the callback. Runs on
// the client's thread for watches and must return soon. It does not run any more when
// gcoord_watch_close or gcoord_watch_free has returned.
typedef void (*gcoord_watch_callback)(void* user,
                                      const gcoord_batch* batch,
                                      const gcoord_error* error);

// Options of a watch. To be filled by gcoord_watch_options_init, then changed. Give exactly one of
// name, prefix and session_id (GC6204).
typedef struct gcoord_watch_options {
  size_t struct_bytes;  // Set by init: what the caller was compiled with.
  // One of these three; the others NULL or 0. An empty prefix stands for all names.
  const char* name;
  const char* prefix;
  uint64_t session_id;
  bool waiters;                 // Also who begins and ends to wait.
  uint64_t from_revision;       // Of `name`: the first revision wanted; 0: from now on.
  const gcoord_revision* from;  // The same by shard, from_count of them; NULL: none.
  size_t from_count;
  int64_t progress_interval_ms;    // How often revisions rise where nothing happens; 0: on demand.
  size_t queue_bytes_max;          // Of batches that nobody has taken; then the node waits.
  gcoord_watch_callback on_batch;  // Instead of next; NULL: none.
  void* user;
  uint32_t
      kinds;  // Only these, whatever `waiters` says: 1u << GCOORD_EVENT_GRANTED, or'ed; 0: all.
  // Not 0: also what was held before each event. As wide as that, since programs compiled without
  // it have four bytes of any value there.
  uint64_t previous;
} gcoord_watch_options;

// One event of a batch. `token` is that of the hold that the event is about, and 0 for a waiter.
// `value` is that of Granted and ValueChanged.
typedef struct gcoord_watch_event {
  int32_t kind;
  uint64_t token;
  // GCOORD_HIDDEN_SESSION: not shown, and neither are the token, the value and what was before.
  uint64_t session_id;
  const char* name;   // Lives as long as the batch, as the next does.
  const char* value;  // value_bytes of any bytes.
  size_t value_bytes;
} gcoord_watch_event;

// State before an event. All members but `kind` are zero unless that is GCOORD_PREVIOUS_HOLD.
typedef struct gcoord_watch_previous {
  int32_t kind;
  uint64_t token;
  uint64_t session_id;
  const char* value;  // value_bytes of any bytes; lives as long as the batch.
  size_t value_bytes;
} gcoord_watch_previous;

// Fills the options: from now on, without waiters, without callback. The macro passes the size that
// the program was compiled with, as for gcoord_client_options_init.
GCOORD_API void gcoord_watch_options_init(gcoord_watch_options* options);
GCOORD_API void gcoord_watch_options_init_as(gcoord_watch_options* options, size_t struct_bytes);
#define gcoord_watch_options_init(options) \
  gcoord_watch_options_init_as((options), sizeof(gcoord_watch_options))

// Starts a watch and makes *watch, which the caller frees. Returns when a node has started it:
// nothing that is decided after the call is missed. GC6204 for options that name nothing or too
// much, GC3001 when no node has started it within the request timeout.
GCOORD_API gcoord_status gcoord_watch_open(gcoord_client* client,
                                           const gcoord_watch_options* options,
                                           gcoord_watch** watch,
                                           gcoord_error* error);

// Takes the next batch, which the caller frees; *batch is NULL, with success, when none comes
// within timeout_ms. GCOORD_FOREVER waits until a batch comes or the watch ends: GC6201 when the
// wanted past is not available, GC6207 after gcoord_watch_close, GC4010 when the client was freed.
// GC6204 for a watch with on_batch. One thread at a time.
GCOORD_API gcoord_status gcoord_watch_next(gcoord_watch* watch,
                                           int64_t timeout_ms,
                                           gcoord_batch** batch,
                                           gcoord_error* error);

// A descriptor for poll(), epoll or another event loop: readable exactly while gcoord_watch_next
// with a time of 0 would give a batch or an error; for ever from gcoord_watch_close on. The same
// for each call. It is the watch's, and closed by gcoord_watch_free: take it out of the event loop
// before that. It need not be read. Watch::event_fd of gcoord/watch.h says more. From any thread.
// GC6204 of a watch with on_batch; RESOURCE_EXHAUSTED when the process may open no more files.
GCOORD_API gcoord_status gcoord_watch_event_fd(gcoord_watch* watch, int* fd, gcoord_error* error);

// The revisions, by shard, up to which every batch was taken or passed to on_batch; another watch
// continues from there, plus one. Fills up to `room` entries, and returns how many there are.
GCOORD_API size_t gcoord_watch_revisions(const gcoord_watch* watch,
                                         gcoord_revision* revisions,
                                         size_t room);

// Asks the watch's node for its progress, by shard: every event up to there was passed on, or can
// be taken without waiting. Fills up to `room` entries; *count, which may be NULL, gets how many
// there are. GC4009 when no answer comes in time, GC4011 in on_batch, or the error that ended the
// watch.
GCOORD_API gcoord_status gcoord_watch_progress(gcoord_watch* watch,
                                               int64_t timeout_ms,
                                               gcoord_revision* revisions,
                                               size_t room,
                                               size_t* count,
                                               gcoord_error* error);

// After GC6201: the shard and the first of its revisions that are available; zeros otherwise.
GCOORD_API gcoord_revision gcoord_watch_first_revision(const gcoord_watch* watch);

// Ends the watch: gcoord_watch_next returns GC6207. From any thread, also from on_batch.
GCOORD_API void gcoord_watch_close(gcoord_watch* watch);

// Ends the watch and frees it. No thread may be in gcoord_watch_next. NULL is allowed.
GCOORD_API void gcoord_watch_free(gcoord_watch* watch);

// The shard and the revision of the log entry that caused the events, and their number.
GCOORD_API uint32_t gcoord_batch_shard(const gcoord_batch* batch);
GCOORD_API uint64_t gcoord_batch_revision(const gcoord_batch* batch);
GCOORD_API size_t gcoord_batch_size(const gcoord_batch* batch);

// One event, index < gcoord_batch_size(); all zero beyond the end. Text lives as long as the batch.
GCOORD_API gcoord_watch_event gcoord_batch_event(const gcoord_batch* batch, size_t index);

// The state before that event, for a watch with `previous`; GCOORD_PREVIOUS_UNKNOWN for others.
GCOORD_API gcoord_watch_previous gcoord_batch_previous(const gcoord_batch* batch, size_t index);

// Frees a batch of gcoord_watch_next, and never that of a callback. NULL is allowed.
GCOORD_API void gcoord_batch_free(gcoord_batch* batch);

// ---- who leads, one after the other (LeaderStream) ----

// A stream of the leaders of one election, in the order of their epochs.
typedef struct gcoord_leader_stream gcoord_leader_stream;

// One term of a leader: its session, its epoch, and its value.
typedef struct gcoord_office {
  uint64_t session_id;  // GCOORD_HIDDEN_SESSION: not shown, and the epoch is 0.
  uint64_t epoch;
  const char* value;  // value_bytes of any bytes; lives until the next call of next, or free.
  size_t value_bytes;
} gcoord_office;

// Starts a stream of an election's leaders and makes *stream, which the caller frees. The present
// leader comes first, if there is one; then each new leader. An epoch never comes twice, and never
// after a later one.
GCOORD_API gcoord_status gcoord_observe(gcoord_client* client,
                                        const char* name,
                                        gcoord_leader_stream** stream,
                                        gcoord_error* error);

// Takes the next leader. *office has session_id 0, with success, when none comes within timeout_ms.
// One thread at a time. Errors are those of gcoord_watch_next.
GCOORD_API gcoord_status gcoord_leader_stream_next(gcoord_leader_stream* stream,
                                                   int64_t timeout_ms,
                                                   gcoord_office* office,
                                                   gcoord_error* error);

// Ends the stream: gcoord_leader_stream_next returns GC6207. From any thread.
GCOORD_API void gcoord_leader_stream_close(gcoord_leader_stream* stream);

// Ends the stream and frees it. No thread may be in gcoord_leader_stream_next. NULL is allowed.
GCOORD_API void gcoord_leader_stream_free(gcoord_leader_stream* stream);

#ifdef __cplusplus
}
#endif
