// The sessions that may ask for more locks: those that were not closed here and are within their
// quota, where the node has space for more; and the acquires that they have given up.
//
// Guards the door of the log only; the tables decide (closed.h, quota.h, withdrawn.h). One thread,
// the node's loop.
#pragma once

#include "common/ids.h"
#include "protocol/request.h"
#include "server/requests/space_admission.h"
#include "server/sessions/closed.h"
#include "server/sessions/quota.h"
#include "server/sessions/views.h"
#include "server/waits/withdrawn.h"

#include <cstdint>
#include <utility>

namespace gcoord::server {

class SessionAdmission {
 public:
  // locks_max 0: no limit.
  SessionAdmission(std::uint32_t locks_max, const SessionViews& views, SpaceAdmission space)
      : quota_(locks_max), space_(std::move(space)), views_(views) {}

  // For whatever grows, of no session too.
  const SpaceAdmission& space() const { return space_; }

  void note_closed(SessionId session) { closed_.note(session); }

  bool is_closed(SessionId session) const { return closed_.contains(session); }

  // The client has given this acquire up, whether or not it has come.
  void note_withdrawn(const WaitKey& acquire) { withdrawn_.note(acquire); }

  bool is_withdrawn(const WaitKey& acquire) const { return withdrawn_.contains(acquire); }

  // Whether the session may have one more; counts it as on its way until on_decided().
  bool admit(SessionId session) { return quota_.admit(session, views_); }

  // A request that was proposed has come to an end.
  void on_decided(const protocol::RequestSlot& request) { quota_.on_decided(request); }

 private:
  ClosedSessions closed_;
  WithdrawnAcquires withdrawn_;
  SessionQuota quota_;
  SpaceAdmission space_;
  const SessionViews& views_;
};

}  // namespace gcoord::server
