// Elections, for C: candidacies, and what others see of leaders and candidates; under the rules of
// gcoord/gcoord.h, which programs include.
//
// gcoord/election.h has the contract.
#pragma once

#include "gcoord/gcoord_client.h"
#include "gcoord/gcoord_holds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- leaders and candidates, as others see them ----

// Reads the leader of an election, linearizably: `token` is the epoch of its term, `waiter_count`
// the number of candidates in the queue. GC6101 (NOT_FOUND) when the election has no leader.
GCOORD_API gcoord_status gcoord_leader(gcoord_client* client,
                                       const char* name,
                                       gcoord_holder* leader,
                                       gcoord_error* error);

// One candidate of an election. `value` has value_bytes bytes and lives during the callback;
// waited_ms is measured by the node that answered.
typedef struct gcoord_candidate {
  uint64_t session_id;  // GCOORD_HIDDEN_SESSION: not shown, as is its value.
  int64_t waited_ms;
  uint32_t priority;
  const char* value;
  size_t value_bytes;
} gcoord_candidate;

// Called once for the leader, with place 0 and its epoch as `token`, and once for each of the line
// from place 1 on; on the calling thread.
typedef void (*gcoord_candidate_callback)(void* user,
                                          size_t place,
                                          uint64_t token,
                                          const gcoord_candidate* candidate);

// Reads the leader and the queue of candidates, and passes them to the callback one by one before
// it returns, on the calling thread. At most the first 1,000 candidates are shown. GC6101 when the
// election has no leader; then the callback does not run.
GCOORD_API gcoord_status gcoord_candidates(gcoord_client* client,
                                           const char* name,
                                           gcoord_candidate_callback callback,
                                           void* user,
                                           gcoord_error* error);

// Asks the present leader (epoch 0), or the leader of this epoch, to hand over to the candidate
// with session_id. Returns when the request is recorded; a leader that checks its queue (review_ms)
// acts on it with its next check. Repeat the call until the transfer has happened: a request stands
// for a few seconds. GC6101 when there is no leader, GC6110 when another term has begun, GC6111
// when no such candidate waits.
GCOORD_API gcoord_status gcoord_ask_transfer(gcoord_client* client,
                                             const char* name,
                                             uint64_t session_id,
                                             uint64_t epoch,
                                             gcoord_error* error);

// ---- candidacies ----

// The candidacy of one session in one election. The name of an election is the name of a lock: its
// holder leads.
typedef struct gcoord_election gcoord_election;

// Makes the session's candidacy in the election of this name. Asks no node and campaigns for
// nothing yet.
GCOORD_API gcoord_status gcoord_election_make(gcoord_session* session,
                                              const char* name,
                                              gcoord_election** election,
                                              gcoord_error* error);

// Frees the candidacy. It resigns, without waiting for the answer; gcoord_election_resign waits.
// NULL is allowed.
GCOORD_API void gcoord_election_free(gcoord_election* election);

// Hands over to the next candidate and waits for the answer. gcoord_election_is_leader is false
// from the call on. GCOORD_OK also when the candidate does not lead. A campaign that is under way
// leaves the queue at once and ends with GC6006.
GCOORD_API gcoord_status gcoord_election_resign(gcoord_election* election, gcoord_error* error);

// Waits in the queue until the candidate leads, at once if it leads already. GC6001 or GC6005 when
// another candidate leads and the wait is over, GC6006 when it resigned meanwhile, GC6007 when the
// session is lost.
GCOORD_API gcoord_status gcoord_election_campaign(gcoord_election* election,
                                                  int64_t wait_ms,
                                                  gcoord_error* error);

// `error` is NULL when it leads, and lives during the callback.
typedef void (*gcoord_campaign_callback)(void* user, const gcoord_error* error);

// The same without waiting. When this returns GCOORD_OK the callback runs exactly once, also when
// the handle was freed meanwhile; otherwise it never runs.
GCOORD_API gcoord_status gcoord_election_campaign_async(gcoord_election* election,
                                                        int64_t wait_ms,
                                                        gcoord_campaign_callback callback,
                                                        void* user,
                                                        gcoord_error* error);

// Options of a campaign. To be filled by gcoord_campaign_options_init, then changed;
// gcoord/options.h has the meaning of each (CampaignOptions).
typedef struct gcoord_campaign_options {
  int64_t wait_ms;        // 0: do not wait; GCOORD_FOREVER.
  const char* value;      // For others to read; may be NULL.
  size_t value_bytes;     // At most 512.
  uint32_t priority;      // 0 to 255; higher is preferred.
  int64_t hysteresis_ms;  // GCOORD_FOREVER: hand over to nobody for its priority.
  int64_t review_ms;      // 0: never look at the line while it leads.
} gcoord_campaign_options;

// Fills the options: waits for ever, without value and priority, and never checks the queue while
// it leads.
GCOORD_API void gcoord_campaign_options_init(gcoord_campaign_options* options);

// Campaigns with options; otherwise as gcoord_election_campaign_async. The options are copied.
GCOORD_API gcoord_status gcoord_election_stand_async(gcoord_election* election,
                                                     const gcoord_campaign_options* options,
                                                     gcoord_campaign_callback callback,
                                                     void* user,
                                                     gcoord_error* error);

// Campaigns with options and waits; otherwise as gcoord_election_campaign.
GCOORD_API gcoord_status gcoord_election_stand(gcoord_election* election,
                                               const gcoord_campaign_options* options,
                                               gcoord_error* error);

// Leaves the leadership to live with its session. The handle does not lead any more, and freeing it
// resigns nothing.
GCOORD_API void gcoord_election_detach(gcoord_election* election);

// Changes the value that others read of this leader, within its term: value_bytes of UTF-8 without
// control characters (GC6028), at most 512 (GC6024). GC6110 when it does not lead; then nothing has
// changed.
GCOORD_API gcoord_status gcoord_election_proclaim(gcoord_election* election,
                                                  const char* value,
                                                  size_t value_bytes,
                                                  gcoord_error* error);

// Hands over to the candidate with session_id, who leads at once under a new epoch; the others keep
// their places in the queue. GC6111 when no such candidate waits: this candidate leads on. GC6110
// when it does not lead.
GCOORD_API gcoord_status gcoord_election_transfer(gcoord_election* election,
                                                  uint64_t session_id,
                                                  gcoord_error* error);

// The name of the election; it lives as long as the handle. "" for NULL.
GCOORD_API const char* gcoord_election_name(const gcoord_election* election);

// Whether the candidate leads now, by the client's clock. Asks no node and costs little, so ask
// often. Work that outlasts the leadership carries the epoch to the resources it writes to.
GCOORD_API bool gcoord_election_is_leader(const gcoord_election* election);

// The same for a given moment of the client's clock (gcoord_client_now_ns).
GCOORD_API bool gcoord_election_is_leader_at(const gcoord_election* election, int64_t now_ns);

// The moment until which gcoord_election_is_leader stays true if no node is heard any more; a past
// moment, or 0, when it is false.
GCOORD_API int64_t gcoord_election_leader_until_ns(const gcoord_election* election);

// The epoch of the last term that the candidate won, which is its fencing token; 0 before the
// first.
GCOORD_API uint64_t gcoord_election_epoch(const gcoord_election* election);

#ifdef __cplusplus
}
#endif
