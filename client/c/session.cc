// Sessions, for C.
#include "client/c/border.h"
#include "gcoord/gcoord_async.h"

using namespace gcoord::client;

gcoord_status gcoord_session_open(gcoord_client* client,
                                  int64_t ttl_ms,
                                  gcoord_event_callback on_event,
                                  void* user,
                                  gcoord_session** session,
                                  gcoord_error* error) {
  return border(error, {{client, "client"}, {session, "session"}}, [&]() -> Status {
    auto gate = gate_of(on_event, user);
    return give(client->client.open_session({.ttl = std::chrono::milliseconds{ttl_ms},
                                             .on_event = events_through(gate),
                                             .on_lost = losses_through(gate)}),
                session,
                gate);
  });
}

gcoord_status gcoord_session_open_async(gcoord_client* client,
                                        int64_t ttl_ms,
                                        gcoord_event_callback on_event,
                                        void* event_user,
                                        gcoord_session_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  const auto gate = gate_of(on_event, event_user);
  return begin_async(
      {{client, "client"}},
      callback,
      error,
      [&] {
        return Result{client->client.open_session_async({.ttl = std::chrono::milliseconds{ttl_ms},
                                                         .on_event = events_through(gate),
                                                         .on_lost = losses_through(gate)})};
      },
      giving_to<gcoord_session, Session>(callback, user, gate));
}

void gcoord_session_free(gcoord_session* session) {
  if (session != nullptr) {
    shut(session->gate);
    delete session;
  }
}

gcoord_status gcoord_session_close(gcoord_session* session, gcoord_error* error) {
  return border(error, {{session, "session"}}, [&] { return session->session.close(); });
}

void gcoord_session_detach(gcoord_session* session) {
  if (session != nullptr) {
    session->session.detach();
  }
}

gcoord_status gcoord_session_renew(gcoord_session* session, gcoord_error* error) {
  return border(error, {{session, "session"}}, [&] { return session->session.renew(); });
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

gcoord_status gcoord_session_renew_async(gcoord_session* session,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_change({{session, "session"}}, callback, user, error, [&] {
    return session->session.renew_async();
  });
}

gcoord_status gcoord_session_close_async(gcoord_session* session,
                                         gcoord_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_change({{session, "session"}}, callback, user, error, [&] {
    return session->session.close_async();
  });
}
