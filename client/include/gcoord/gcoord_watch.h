// Watches for C: what gcoord/watch.h says, with the rules of gcoord/gcoord.h.
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

// What is known of what was held before an event (gcoord/watch.h). Never renumber.
enum { GCOORD_PREVIOUS_UNKNOWN = 0, GCOORD_PREVIOUS_NOTHING = 1, GCOORD_PREVIOUS_HOLD = 2 };

// A place in a shard's log.
typedef struct gcoord_revision {
  uint32_t shard;
  uint64_t revision;
} gcoord_revision;

typedef struct gcoord_watch gcoord_watch;
typedef struct gcoord_batch gcoord_batch;

// A batch as it comes, or at last why none comes any more; both live during the callback. On the
// client's thread for watches. Not called any more when gcoord_watch_close or _free has returned.
typedef void (*gcoord_watch_callback)(void* user,
                                      const gcoord_batch* batch,
                                      const gcoord_error* error);

// To be filled by gcoord_watch_options_init, then changed.
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

typedef struct gcoord_watch_event {
  int32_t kind;
  uint64_t token;
  uint64_t session_id;
  const char* name;   // Lives as long as the batch, as the next does.
  const char* value;  // value_bytes of any bytes.
  size_t value_bytes;
} gcoord_watch_event;

// What was held before an event; of what is no GCOORD_PREVIOUS_HOLD the rest is zero.
typedef struct gcoord_watch_previous {
  int32_t kind;
  uint64_t token;
  uint64_t session_id;
  const char* value;  // value_bytes of any bytes; lives as long as the batch.
  size_t value_bytes;
} gcoord_watch_previous;

// As gcoord_client_options_init and _as.
GCOORD_API void gcoord_watch_options_init(gcoord_watch_options* options);
GCOORD_API void gcoord_watch_options_init_as(gcoord_watch_options* options, size_t struct_bytes);
#define gcoord_watch_options_init(options) \
  gcoord_watch_options_init_as((options), sizeof(gcoord_watch_options))

// Returns when the watch has begun.
GCOORD_API gcoord_status gcoord_watch_open(gcoord_client* client,
                                           const gcoord_watch_options* options,
                                           gcoord_watch** watch,
                                           gcoord_error* error);

// The next batch, to be freed; NULL, with success, when there is none within the time.
// GCOORD_FOREVER waits until there is one, or the watch ends: GC6201, GC6207, GC4010. One thread at
// a time. GC6204 of a watch with on_batch.
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

// By shard, up to where everything was taken or told to on_batch: another watch goes on from there,
// plus one. Fills up to `room` places, and returns how many there are.
GCOORD_API size_t gcoord_watch_revisions(const gcoord_watch* watch,
                                         gcoord_revision* revisions,
                                         size_t room);

// Asks a node how far it is. Fills up to `room` places with that, by shard, and says in *count,
// which may be NULL, how many there are: everything up to there was told, or can be taken without
// waiting. GC4009 when there is no answer in time, GC4011 in on_batch; what ended the watch.
GCOORD_API gcoord_status gcoord_watch_progress(gcoord_watch* watch,
                                               int64_t timeout_ms,
                                               gcoord_revision* revisions,
                                               size_t room,
                                               size_t* count,
                                               gcoord_error* error);

// After GC6201: the shard and the first of its revisions that can be had; zeros otherwise.
GCOORD_API gcoord_revision gcoord_watch_first_revision(const gcoord_watch* watch);

// Ends it: next returns GC6207. From any thread, also from on_batch.
GCOORD_API void gcoord_watch_close(gcoord_watch* watch);
// When no thread is in next.
GCOORD_API void gcoord_watch_free(gcoord_watch* watch);

GCOORD_API uint32_t gcoord_batch_shard(const gcoord_batch* batch);
GCOORD_API uint64_t gcoord_batch_revision(const gcoord_batch* batch);
GCOORD_API size_t gcoord_batch_size(const gcoord_batch* batch);
// index < gcoord_batch_size(); all zero otherwise.
GCOORD_API gcoord_watch_event gcoord_batch_event(const gcoord_batch* batch, size_t index);
// The same, of a watch with `previous`; otherwise it is not known.
GCOORD_API gcoord_watch_previous gcoord_batch_previous(const gcoord_batch* batch, size_t index);
GCOORD_API void gcoord_batch_free(gcoord_batch* batch);

// ---- who leads, one after the other (LeaderStream) ----

typedef struct gcoord_leader_stream gcoord_leader_stream;

typedef struct gcoord_office {
  uint64_t session_id;
  uint64_t epoch;
  const char* value;  // value_bytes of any bytes; lives until the next call of next, or free.
  size_t value_bytes;
} gcoord_office;

// The present leader first, if there is one. Never the same epoch twice, never an earlier one.
GCOORD_API gcoord_status gcoord_observe(gcoord_client* client,
                                        const char* name,
                                        gcoord_leader_stream** stream,
                                        gcoord_error* error);

// The next leader. With an epoch of 0, and success, when there is none within the time. One thread
// at a time; errors as of gcoord_watch_next.
GCOORD_API gcoord_status gcoord_leader_stream_next(gcoord_leader_stream* stream,
                                                   int64_t timeout_ms,
                                                   gcoord_office* office,
                                                   gcoord_error* error);

// next returns GC6207. From any thread.
GCOORD_API void gcoord_leader_stream_close(gcoord_leader_stream* stream);
// When no thread is in next.
GCOORD_API void gcoord_leader_stream_free(gcoord_leader_stream* stream);

#ifdef __cplusplus
}
#endif
