// Sessions, for C.
#include "client/c_border.h"
#include "client/failure.h"
#include "gcoord/gcoord_async.h"

#include <memory>
#include <utility>

using namespace gcoord::client;

namespace gcoord::client {

std::function<void(Result<Session>)> session_giving_to(void (*callback)(void*,
                                                                        gcoord_session*,
                                                                        const gcoord_error*),
                                                       void* user,
                                                       const std::shared_ptr<EventGate>& gate) {
  return [callback, user, gate](Result<Session> opened) {
    gcoord_error why{};
    gcoord_session* handle = nullptr;
    const gcoord_status status = guarded(&why, [&]() -> Status {
      if (opened.ok()) {
        handle = new gcoord_session{std::move(opened).value(), gate};
      }
      return opened.status();
    });
    if (handle == nullptr) {
      shut(gate);
    }
    callback(user, handle, status == GCOORD_OK ? nullptr : &why);
  };
}

}  // namespace gcoord::client

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
      session_giving_to(callback, user, gate));
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
