// Reads that say how fresh their answer must be, for C; with the rules of gcoord/gcoord.h. What
// each consistency promises, gcoord/reads.h says.
//
//   gcoord_read_options how;
//   gcoord_read_options_init(&how);
//   how.consistency = GCOORD_BOUNDED;
//   how.max_staleness_ms = 50;
//   gcoord_read(client, "jobs/train", &how, &lock, &at, &error);
#pragma once

#include "gcoord/gcoord.h"
#include "gcoord/gcoord_locks.h"

#ifdef __cplusplus
extern "C" {
#endif

// Never renumber.
enum {
  GCOORD_LINEARIZABLE = 1,
  GCOORD_LEASE = 2,
  GCOORD_SERIALIZABLE = 3,
  GCOORD_BOUNDED = 4,
  GCOORD_MONOTONIC = 5
};

// A place in one shard's log.
typedef struct gcoord_position {
  uint32_t shard;
  uint64_t index;
} gcoord_position;

// To be filled by gcoord_read_options_init, then changed.
typedef struct gcoord_read_options {
  size_t struct_bytes;           // Set by init: what the caller was compiled with.
  int32_t consistency;           // GCOORD_LEASE unless changed.
  int64_t max_staleness_ms;      // Of GCOORD_BOUNDED.
  const gcoord_position* after;  // Of GCOORD_MONOTONIC, beside the client's own; may be NULL.
  size_t after_count;
  uint32_t node_id;  // Which node to ask; 0: any, or the leader where only that one may answer.
} gcoord_read_options;

// What an answer shows of a shard.
typedef struct gcoord_freshness {
  uint32_t shard;
  uint64_t index;  // Everything up to here.
  int64_t age_ms;  // Everything that was acknowledged longer ago; -1: the node does not know.
} gcoord_freshness;

GCOORD_API void gcoord_read_options_init(gcoord_read_options* options);

// *lock is to be freed; NULL, with success, when it is neither held nor waited for. `at` may be
// NULL, here and below.
GCOORD_API gcoord_status gcoord_read(gcoord_client* client,
                                     const char* name,
                                     const gcoord_read_options* options,
                                     gcoord_description** lock,
                                     gcoord_freshness* at,
                                     gcoord_error* error);

// A lock as it was when its shard's log had come to an index, which earlier reads and locks name
// (gcoord_freshness, gcoord_lock_facts.acquired_index). What was left of its holder's time is not
// known, and waiters are counted only; at->age_ms is -1. node_id 0: the shard's leader is asked.
// GC6320 when the node has not kept the shard's log from its beginning on, GC6321 when the log has
// not come to the index, GC6322 when it lies behind too many entries, GC6323 from nodes that
// cannot.
GCOORD_API gcoord_status gcoord_read_at(gcoord_client* client,
                                        const char* name,
                                        uint64_t index,
                                        uint32_t node_id,
                                        gcoord_description** lock,
                                        gcoord_freshness* at,
                                        gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_check(gcoord_client* client,
                                           const char* name,
                                           uint64_t token,
                                           const gcoord_read_options* options,
                                           int32_t* verdict,
                                           gcoord_freshness* at,
                                           gcoord_error* error);

// Names of any shards, in few messages; fails as a whole. `locks` has `count` places, each as
// *lock of gcoord_read. `shards`, which may be NULL, has `count` places too: *shard_count of them
// are filled, one for each shard of the names.
GCOORD_API gcoord_status gcoord_read_batch(gcoord_client* client,
                                           const char* const* names,
                                           size_t count,
                                           const gcoord_read_options* options,
                                           gcoord_description** locks,
                                           gcoord_freshness* shards,
                                           size_t* shard_count,
                                           gcoord_error* error);

GCOORD_API gcoord_status gcoord_read_check_batch(gcoord_client* client,
                                                 const char* const* names,
                                                 const uint64_t* tokens,
                                                 size_t count,
                                                 const gcoord_read_options* options,
                                                 int32_t* verdicts,
                                                 gcoord_freshness* shards,
                                                 size_t* shard_count,
                                                 gcoord_error* error);

// A page of what one node holds; SERIALIZABLE, BOUNDED or MONOTONIC. The cursor is that node's:
// name it in node_id for the next page.
GCOORD_API gcoord_status gcoord_read_list(gcoord_client* client,
                                          const gcoord_list_options* list,
                                          const gcoord_read_options* options,
                                          gcoord_page** page,
                                          gcoord_error* error);

// Of a page of gcoord_read_list: who answered, and how fresh its shards are. Else 0.
GCOORD_API uint32_t gcoord_page_node_id(const gcoord_page* page);
GCOORD_API size_t gcoord_page_shards(const gcoord_page* page);
GCOORD_API gcoord_freshness gcoord_page_shard(const gcoord_page* page, size_t index);

// How far this client has seen: fills up to `room` places, and returns how many there are.
GCOORD_API size_t gcoord_positions(const gcoord_client* client,
                                   gcoord_position* positions,
                                   size_t room);

#ifdef __cplusplus
}
#endif
