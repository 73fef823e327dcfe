// Reads that say how fresh their answer must be, for C; with the rules of gcoord/gcoord.h.
// gcoord/reads.h has the promise of each consistency.
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
  // Everything that was acknowledged before the read; a quorum confirms it.
  GCOORD_LINEARIZABLE = 1,
  // The same, as long as the nodes' clocks keep their margin; costs no message between nodes.
  GCOORD_LEASE = 2,
  // Some past state of any node; the age of the answer says how old.
  GCOORD_SERIALIZABLE = 3,
  // Everything that was acknowledged longer ago than max_staleness_ms; else GC6304.
  GCOORD_BOUNDED = 4,
  // Everything that this client has written and read, and everything up to `after`; else GC6305.
  GCOORD_MONOTONIC = 5
};

// A position in one shard's log.
typedef struct gcoord_position {
  uint32_t shard;
  uint64_t index;
} gcoord_position;

// Options of a read. To be filled by gcoord_read_options_init, then changed; without the init a
// call fails with GC1001.
typedef struct gcoord_read_options {
  size_t struct_bytes;           // Set by init: what the caller was compiled with.
  int32_t consistency;           // GCOORD_LEASE unless changed.
  int64_t max_staleness_ms;      // Of GCOORD_BOUNDED.
  const gcoord_position* after;  // Of GCOORD_MONOTONIC, beside the client's own; may be NULL.
  size_t after_count;
  uint32_t node_id;  // Which node to ask; 0: any, or the leader where only that one may answer.
} gcoord_read_options;

// Freshness of an answer: the part of a shard's log that it shows.
typedef struct gcoord_freshness {
  uint32_t shard;
  uint64_t index;  // Everything up to here.
  int64_t age_ms;  // Everything that was acknowledged longer ago; -1: the node does not know.
} gcoord_freshness;

// Fills the options: GCOORD_LEASE, any node. NULL is ignored.
GCOORD_API void gcoord_read_options_init(gcoord_read_options* options);

// Reads a lock with the consistency of `options`, and makes *lock, which the caller frees; *lock is
// NULL, with success, when the lock is neither held nor waited for. `at` may be NULL, here and
// below. GC6304 and GC6305 when the replica is not fresh enough, GC4005 from nodes that do not know
// such reads.
GCOORD_API gcoord_status gcoord_read(gcoord_client* client,
                                     const char* name,
                                     const gcoord_read_options* options,
                                     gcoord_description** lock,
                                     gcoord_freshness* at,
                                     gcoord_error* error);

// Reads a lock as it was when its shard's log had reached `index`. Earlier reads and locks name
// such indexes (gcoord_freshness, gcoord_lock_facts.acquired_index). The remaining time of its
// holder is not known, waiters are only counted, and at->age_ms is -1. Every node that has reached
// the index gives the same answer; node_id 0 asks the leader of the shard, and where that lacks the
// past each other node. GC6320 when none, or not the named one, has the beginning of the shard's
// log, GC6321 when the log has not reached the index, GC6322 when the reconstruction takes too
// much, GC6323 from nodes that cannot reconstruct past states.
GCOORD_API gcoord_status gcoord_read_at(gcoord_client* client,
                                        const char* name,
                                        uint64_t index,
                                        uint32_t node_id,
                                        gcoord_description** lock,
                                        gcoord_freshness* at,
                                        gcoord_error* error);

// Checks a fencing token with the consistency of `options`: *verdict is GCOORD_VALID, GCOORD_STALE
// or GCOORD_FREE as of the position in *at.
GCOORD_API gcoord_status gcoord_read_check(gcoord_client* client,
                                           const char* name,
                                           uint64_t token,
                                           const gcoord_read_options* options,
                                           int32_t* verdict,
                                           gcoord_freshness* at,
                                           gcoord_error* error);

// Reads `count` locks of any shards in few messages; fails as a whole when one of them cannot be
// read. `locks` has `count` entries, each as *lock of gcoord_read. `shards`, which may be NULL, has
// `count` entries too; *shard_count of them are filled, one for each shard of the names.
// shard_count may be NULL.
GCOORD_API gcoord_status gcoord_read_batch(gcoord_client* client,
                                           const char* const* names,
                                           size_t count,
                                           const gcoord_read_options* options,
                                           gcoord_description** locks,
                                           gcoord_freshness* shards,
                                           size_t* shard_count,
                                           gcoord_error* error);

// Checks `count` fencing tokens with the consistency of `options`; fails as a whole. `names`,
// `tokens` and `verdicts` have `count` entries each; `shards` is as in gcoord_read_batch.
GCOORD_API gcoord_status gcoord_read_check_batch(gcoord_client* client,
                                                 const char* const* names,
                                                 const uint64_t* tokens,
                                                 size_t count,
                                                 const gcoord_read_options* options,
                                                 int32_t* verdicts,
                                                 gcoord_freshness* shards,
                                                 size_t* shard_count,
                                                 gcoord_error* error);

// Reads a page of the locks of one node, led there or not, and makes *page, which the caller frees.
// The consistency is SERIALIZABLE, BOUNDED or MONOTONIC. The cursor belongs to the node that
// answered: name that node (gcoord_page_node_id) in node_id for the next page.
GCOORD_API gcoord_status gcoord_read_list(gcoord_client* client,
                                          const gcoord_list_options* list,
                                          const gcoord_read_options* options,
                                          gcoord_page** page,
                                          gcoord_error* error);

// The node that answered gcoord_read_list; 0 for other pages.
GCOORD_API uint32_t gcoord_page_node_id(const gcoord_page* page);

// The freshness of the page's shards: their number, and each of them. Other pages have none.
GCOORD_API size_t gcoord_page_shards(const gcoord_page* page);
GCOORD_API gcoord_freshness gcoord_page_shard(const gcoord_page* page, size_t index);

// The positions that this client has seen by its own writes and reads. Fills up to `room` entries
// of `positions`, which may be NULL, and returns how many positions there are. Asks no node.
GCOORD_API size_t gcoord_positions(const gcoord_client* client,
                                   gcoord_position* positions,
                                   size_t room);

#ifdef __cplusplus
}
#endif
