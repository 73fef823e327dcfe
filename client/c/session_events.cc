// Events of sessions and leases, for the event loops of C programs.
#include "client/c/border.h"
#include "gcoord/gcoord_sessions.h"

#include <utility>

using namespace gcoord::client;

namespace {

// T is a Session or a Lease.
template <typename T>
Status give_event_fd(T& of, int* fd) {
  const auto made = of.event_fd();
  if (made.ok()) {
    *fd = made.value();
  }
  return made.status();
}

// `lost` keeps the name that the notice shows.
template <typename T>
void give_notice(T& of, LostLock& lost, gcoord_session_notice* notice) {
  auto next = of.next_event();
  if (!next.has_value()) {
    *notice = {GCOORD_NO_EVENT, "", 0};
  } else if (next->event.has_value()) {
    *notice = {static_cast<std::int32_t>(*next->event), "", 0};
  } else {
    lost = std::move(next->lost);
    *notice = {GCOORD_LOCK_LOST, lost.name.c_str(), lost.token};
  }
}

}  // namespace

gcoord_status gcoord_session_event_fd(gcoord_session* session, int* fd, gcoord_error* error) {
  return border(error, {{session, "session"}, {fd, "fd"}}, [&] {
    return give_event_fd(session->session, fd);
  });
}

gcoord_status gcoord_session_next_event(gcoord_session* session,
                                        gcoord_session_notice* notice,
                                        gcoord_error* error) {
  return border(error, {{session, "session"}, {notice, "notice"}}, [&]() -> Status {
    give_notice(session->session, session->lost, notice);
    return {};
  });
}

gcoord_status gcoord_lease_event_fd(gcoord_lease* lease, int* fd, gcoord_error* error) {
  return border(
      error, {{lease, "lease"}, {fd, "fd"}}, [&] { return give_event_fd(lease->lease, fd); });
}

gcoord_status gcoord_lease_next_event(gcoord_lease* lease,
                                      gcoord_session_notice* notice,
                                      gcoord_error* error) {
  return border(error, {{lease, "lease"}, {notice, "notice"}}, [&]() -> Status {
    give_notice(lease->lease, lease->lost, notice);
    return {};
  });
}
