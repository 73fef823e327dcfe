// Rendezvous for C: what gcoord/rendezvous.h says, with the rules of gcoord/gcoord.h; of functions
// that end in _async those of gcoord/gcoord_async.h. A function that makes a handle returns it, or
// NULL and the error.
//
//   gcoord_rendezvous* train = gcoord_rendezvous_make(session, "train", &error);
//   gcoord_rendezvous_options how = {2, 8, 30000, 600000, "10.0.0.7:29400", 14};
//   gcoord_rendezvous_round* round = gcoord_rendezvous_join(train, &how, &error);
//   for (size_t rank = 0; rank < gcoord_rendezvous_round_size(round); ++rank) { ... }
//   gcoord_rendezvous_round_free(round);
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// A session's part in a rendezvous; the rendezvous as others see it; a complete round.
typedef struct gcoord_rendezvous gcoord_rendezvous;
typedef struct gcoord_rendezvous_states gcoord_rendezvous_states;
typedef struct gcoord_rendezvous_round gcoord_rendezvous_round;

// All who wait give the same first three (GC6414). The caller sets all of it; there are no
// defaults.
typedef struct gcoord_rendezvous_options {
  // 1 to 256 members: with the first number of them a round may begin, with the second it does.
  uint32_t members_min;
  uint32_t members_max;
  // How long others may still come when the minimum is there; 0: the round is complete at once.
  int64_t last_call_ms;
  // How long this session waits, at most a day (GC1106); after it GC6415 says how many had come.
  int64_t timeout_ms;
  // For the other members to read: up to 512 bytes of any kind (GC6412); NULL if there are
  // none. Copied by the call.
  const char* payload;
  size_t payload_bytes;
} gcoord_rendezvous_options;

// A member of a round, which is one of the sessions that joined for it; the index is its rank. The
// payload is what it joined with, payload_bytes of any bytes without an end mark, and lives as long
// as the round.
typedef struct gcoord_rendezvous_member {
  uint64_t session_id;
  const char* payload;
  size_t payload_bytes;
} gcoord_rendezvous_member;

// A rendezvous as it is now: the fields of RendezvousState in gcoord/rendezvous.h. `version` is
// another one after each change, and is what gcoord_rendezvous_states_after waits for; bit r of
// `alive` is the member of rank r.
typedef struct gcoord_rendezvous_state {
  uint64_t version;
  uint64_t round;
  uint64_t alive;
  uint32_t size;
  uint32_t present;
  uint32_t waiting;
  uint32_t members_min;
  uint32_t members_max;
  bool last_call;
} gcoord_rendezvous_state;

// Outcomes of calls without waiting, on the client's thread. Exactly one of the value and `error`
// is set, and of a done callback `error` is NULL on success; a state and an error live during the
// callback.
typedef void (*gcoord_rendezvous_round_callback)(void* user,
                                                 gcoord_rendezvous_round* round,
                                                 const gcoord_error* error);
typedef void (*gcoord_rendezvous_done_callback)(void* user, const gcoord_error* error);
typedef void (*gcoord_rendezvous_state_callback)(void* user,
                                                 const gcoord_rendezvous_state* state,
                                                 const gcoord_error* error);

// Asks no node. The session may be freed before it; freeing it leaves nothing, so the session stays
// in its round until it joins again, leaves or ends. Any thread may call the functions of a
// rendezvous; one of them frees it, when no call of it is under way.
GCOORD_API gcoord_rendezvous* gcoord_rendezvous_make(gcoord_session* session,
                                                     const char* name,
                                                     gcoord_error* error);
GCOORD_API void gcoord_rendezvous_free(gcoord_rendezvous* rendezvous);

// Waits for a round that this session is part of, at most for timeout_ms, and with that is out of
// the round before. The caller frees the round. GC6414 to GC6419 as in gcoord/rendezvous.h.
GCOORD_API gcoord_rendezvous_round* gcoord_rendezvous_join(gcoord_rendezvous* rendezvous,
                                                           const gcoord_rendezvous_options* options,
                                                           gcoord_error* error);

// The same without waiting. The callee frees the round.
GCOORD_API gcoord_status gcoord_rendezvous_join_async(gcoord_rendezvous* rendezvous,
                                                      const gcoord_rendezvous_options* options,
                                                      gcoord_rendezvous_round_callback callback,
                                                      void* user,
                                                      gcoord_error* error);

// Waits no more, and is out of the last round. GC6417 when it was in neither.
GCOORD_API gcoord_status gcoord_rendezvous_leave(gcoord_rendezvous* rendezvous,
                                                 gcoord_error* error);
GCOORD_API gcoord_status gcoord_rendezvous_leave_async(gcoord_rendezvous* rendezvous,
                                                       gcoord_rendezvous_done_callback callback,
                                                       void* user,
                                                       gcoord_error* error);

// A round does not change: any thread may read it, and payloads of its members live until it is
// freed. Numbers of rounds rise and none comes twice, but not always by one.
GCOORD_API void gcoord_rendezvous_round_free(gcoord_rendezvous_round* round);
GCOORD_API uint64_t gcoord_rendezvous_round_number(const gcoord_rendezvous_round* round);

// The rank of the session that joined, how many members, and the member of a rank below that; zeros
// for another rank.
GCOORD_API uint32_t gcoord_rendezvous_round_rank(const gcoord_rendezvous_round* round);
GCOORD_API size_t gcoord_rendezvous_round_size(const gcoord_rendezvous_round* round);
GCOORD_API gcoord_rendezvous_member
gcoord_rendezvous_round_member(const gcoord_rendezvous_round* round, size_t rank);

// The state for members and for others, who take no part by it. Asks no node. The client outlives
// it.
GCOORD_API gcoord_rendezvous_states* gcoord_rendezvous_states_open(gcoord_client* client,
                                                                   const char* name,
                                                                   gcoord_error* error);
GCOORD_API void gcoord_rendezvous_states_free(gcoord_rendezvous_states* states);

// The state of now with version 0, else the state when its version is another one, or after
// wait_ms.
GCOORD_API gcoord_status gcoord_rendezvous_states_after(gcoord_rendezvous_states* states,
                                                        uint64_t version,
                                                        int64_t wait_ms,
                                                        gcoord_rendezvous_state* state,
                                                        gcoord_error* error);
GCOORD_API gcoord_status
gcoord_rendezvous_states_after_async(gcoord_rendezvous_states* states,
                                     uint64_t version,
                                     int64_t wait_ms,
                                     gcoord_rendezvous_state_callback callback,
                                     void* user,
                                     gcoord_error* error);

#ifdef __cplusplus
}
#endif
