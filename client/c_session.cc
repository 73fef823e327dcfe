// Sessions, for C.
#include "client/c_border.h"
#include "client/failure.h"

#include <memory>
#include <utility>

using namespace gcoord::client;

gcoord_status gcoord_session_open(gcoord_client* client,
                                  int64_t ttl_ms,
                                  gcoord_event_callback on_event,
                                  void* user,
                                  gcoord_session** session,
                                  gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{client, "client"}, {session, "session"}});
    if (!given.ok()) {
      return given;
    }
    auto gate = gate_of(on_event, user);
    auto opened = client->client.open_session({.ttl = std::chrono::milliseconds{ttl_ms},
                                               .on_event = events_through(gate),
                                               .on_lost = losses_through(gate)});
    if (!opened.ok()) {
      return opened.status();
    }
    *session = new gcoord_session{std::move(opened).value(), std::move(gate)};
    return {};
  });
}

void gcoord_session_free(gcoord_session* session) {
  if (session != nullptr) {
    shut(session->gate);
    delete session;
  }
}

gcoord_status gcoord_session_close(gcoord_session* session, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}});
    return given.ok() ? session->session.close() : given;
  });
}

void gcoord_session_detach(gcoord_session* session) {
  if (session != nullptr) {
    session->session.detach();
  }
}

gcoord_status gcoord_session_renew(gcoord_session* session, gcoord_error* error) {
  return guarded(error, [&]() -> Status {
    Status given = required({{session, "session"}});
    return given.ok() ? session->session.renew() : given;
  });
}

uint64_t gcoord_session_id(const gcoord_session* session) {
  return session != nullptr ? session->session.id() : 0;
}

int64_t gcoord_session_ttl_ms(const gcoord_session* session) {
  return session != nullptr ? session->session.ttl().count() : 0;
}

int64_t gcoord_session_remaining_ms(const gcoord_session* session) {
  return session != nullptr ? session->session.remaining().count() : 0;
}

bool gcoord_session_alive(const gcoord_session* session) {
  return session != nullptr && session->session.alive();
}
