// Rendezvous, for C.
#include "gcoord/rendezvous.h"

#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_rendezvous.h"

#include <chrono>
#include <utility>

using namespace gcoord::client;

struct gcoord_rendezvous {
  Rendezvous rendezvous;
};

struct gcoord_rendezvous_states {
  RendezvousStates states;
};

struct gcoord_rendezvous_round {
  RendezvousRound round;
};

namespace {

Result<RendezvousOptions> options_of(const gcoord_rendezvous_options& given) {
  if (given.last_call_ms < 0 || given.timeout_ms < 0) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "a time is negative");
  }
  if (given.payload == nullptr && given.payload_bytes != 0) {
    return failure(gcoord::protocol::ErrorCode::OptionMissing, "payload");
  }
  return RendezvousOptions{
      .members_min = given.members_min,
      .members_max = given.members_max,
      .last_call = std::chrono::milliseconds{given.last_call_ms},
      .timeout = std::chrono::milliseconds{given.timeout_ms},
      .payload = {given.payload != nullptr ? given.payload : "", given.payload_bytes}};
}

Result<std::chrono::milliseconds> wait_of_ms(std::int64_t wait_ms) {
  if (wait_ms < 0) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, "wait_ms is negative");
  }
  return std::chrono::milliseconds{wait_ms};
}

gcoord_rendezvous_state plain_of(const RendezvousState& seen) {
  gcoord_rendezvous_state plain{};
  plain.version = seen.version;
  plain.round = seen.round;
  plain.alive = seen.alive;
  plain.size = seen.size;
  plain.present = seen.present;
  plain.waiting = seen.waiting;
  plain.members_min = seen.members_min;
  plain.members_max = seen.members_max;
  plain.last_call = seen.last_call;
  return plain;
}

}  // namespace

gcoord_rendezvous* gcoord_rendezvous_make(gcoord_session* session,
                                          const char* name,
                                          gcoord_error* error) {
  return make_handle<gcoord_rendezvous>(error, {{session, "session"}, {name, "name"}}, [&] {
    return Result{Rendezvous{session->session, name}};
  });
}

void gcoord_rendezvous_free(gcoord_rendezvous* rendezvous) {
  delete rendezvous;
}

gcoord_rendezvous_round* gcoord_rendezvous_join(gcoord_rendezvous* rendezvous,
                                                const gcoord_rendezvous_options* options,
                                                gcoord_error* error) {
  return make_handle<gcoord_rendezvous_round>(
      error, {{rendezvous, "rendezvous"}, {options, "options"}}, [&]() -> Result<RendezvousRound> {
        GCOORD_TRY(const auto how, options_of(*options));
        return rendezvous->rendezvous.join(how);
      });
}

gcoord_status gcoord_rendezvous_join_async(gcoord_rendezvous* rendezvous,
                                           const gcoord_rendezvous_options* options,
                                           gcoord_rendezvous_round_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_async(
      {{rendezvous, "rendezvous"}, {options, "options"}},
      callback,
      error,
      [&]() -> Result<Future<Result<RendezvousRound>>> {
        GCOORD_TRY(const auto how, options_of(*options));
        return rendezvous->rendezvous.join_async(how);
      },
      giving_to<gcoord_rendezvous_round, RendezvousRound>(callback, user));
}

gcoord_status gcoord_rendezvous_leave(gcoord_rendezvous* rendezvous, gcoord_error* error) {
  return border(
      error, {{rendezvous, "rendezvous"}}, [&] { return rendezvous->rendezvous.leave(); });
}

gcoord_status gcoord_rendezvous_leave_async(gcoord_rendezvous* rendezvous,
                                            gcoord_rendezvous_done_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_change({{rendezvous, "rendezvous"}}, callback, user, error, [&] {
    return rendezvous->rendezvous.leave_async();
  });
}

void gcoord_rendezvous_round_free(gcoord_rendezvous_round* round) {
  delete round;
}

uint64_t gcoord_rendezvous_round_number(const gcoord_rendezvous_round* round) {
  return round != nullptr ? round->round.round : 0;
}

uint32_t gcoord_rendezvous_round_rank(const gcoord_rendezvous_round* round) {
  return round != nullptr ? round->round.rank : 0;
}

size_t gcoord_rendezvous_round_size(const gcoord_rendezvous_round* round) {
  return round != nullptr ? round->round.members.size() : 0;
}

gcoord_rendezvous_member gcoord_rendezvous_round_member(const gcoord_rendezvous_round* round,
                                                        size_t rank) {
  if (rank >= gcoord_rendezvous_round_size(round)) {
    return {};
  }
  const RendezvousMember& member = round->round.members[rank];
  return {member.session_id, member.payload.c_str(), member.payload.size()};
}

gcoord_rendezvous_states* gcoord_rendezvous_states_open(gcoord_client* client,
                                                        const char* name,
                                                        gcoord_error* error) {
  return make_handle<gcoord_rendezvous_states>(error, {{client, "client"}, {name, "name"}}, [&] {
    return Result{RendezvousStates{client->client, name}};
  });
}

void gcoord_rendezvous_states_free(gcoord_rendezvous_states* states) {
  delete states;
}

gcoord_status gcoord_rendezvous_states_after(gcoord_rendezvous_states* states,
                                             uint64_t version,
                                             int64_t wait_ms,
                                             gcoord_rendezvous_state* state,
                                             gcoord_error* error) {
  return border(error, {{states, "states"}, {state, "state"}}, [&]() -> Status {
    GCOORD_TRY(const auto wait, wait_of_ms(wait_ms));
    GCOORD_TRY(const RendezvousState seen, states->states.after(version, wait));
    *state = plain_of(seen);
    return {};
  });
}

gcoord_status gcoord_rendezvous_states_after_async(gcoord_rendezvous_states* states,
                                                   uint64_t version,
                                                   int64_t wait_ms,
                                                   gcoord_rendezvous_state_callback callback,
                                                   void* user,
                                                   gcoord_error* error) {
  return begin_async(
      {{states, "states"}},
      callback,
      error,
      [&]() -> Result<Future<Result<RendezvousState>>> {
        GCOORD_TRY(const auto wait, wait_of_ms(wait_ms));
        return states->states.after_async(version, wait);
      },
      telling<RendezvousState>(callback, user, plain_of));
}
