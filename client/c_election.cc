// Elections, for C.
#include "client/c_border.h"
#include "client/failure.h"

using namespace gcoord::client;

gcoord_status gcoord_election_make(gcoord_session* session,
                                   const char* name,
                                   gcoord_election** election,
                                   gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}, {name, "name"}, {election, "election"}});
    if (given.ok()) {
      *election = new gcoord_election{session->session.election(name)};
    }
    return given;
  });
}

void gcoord_election_free(gcoord_election* election) {
  delete election;
}

gcoord_status gcoord_election_resign(gcoord_election* election, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{election, "election"}});
    return given.ok() ? election->election.resign() : given;
  });
}

gcoord_status gcoord_election_campaign(gcoord_election* election,
                                       int64_t wait_ms,
                                       gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = wait_of(wait_ms);
    const Status given = first_failure({required({{election, "election"}}), how.status()});
    return given.ok() ? election->election.campaign({.wait = how.value().wait}) : given;
  });
}

gcoord_status gcoord_election_campaign_async(gcoord_election* election,
                                             int64_t wait_ms,
                                             gcoord_campaign_callback callback,
                                             void* user,
                                             gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    const auto how = wait_of(wait_ms);
    const Status given = first_failure(
        {required({{election, "election"}, {reinterpret_cast<const void*>(callback), "callback"}}),
         how.status()});
    if (!given.ok()) {
      return given;
    }
    election->election.campaign_async({.wait = how.value().wait})
        .then([callback, user](const Status& status) {
          gcoord_error why{};
          report(status, &why);
          callback(user, status.ok() ? nullptr : &why);
        });
    return {};
  });
}

const char* gcoord_election_name(const gcoord_election* election) {
  return election != nullptr ? election->election.name().c_str() : "";
}

bool gcoord_election_is_leader(const gcoord_election* election) {
  return election != nullptr && election->election.is_leader();
}

bool gcoord_election_is_leader_at(const gcoord_election* election, int64_t now_ns) {
  return election != nullptr && election->election.is_leader(TimePoint{now_ns});
}

int64_t gcoord_election_leader_until_ns(const gcoord_election* election) {
  return election != nullptr ? election->election.leader_until().count() : 0;
}

uint64_t gcoord_election_epoch(const gcoord_election* election) {
  return election != nullptr ? election->election.epoch() : 0;
}
