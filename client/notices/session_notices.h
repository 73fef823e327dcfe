// Queue of session events for programs that poll instead of taking callbacks, with a descriptor
// that is readable while the queue has events.
//
// The client's thread tells, any thread takes. What nobody takes stays bounded: of jeopardies that
// were over the last is kept, and of each broken hold a session is told once.
#pragma once

#include "client/notices/event_descriptor.h"
#include "gcoord/session.h"

#include <deque>
#include <mutex>
#include <optional>

namespace gcoord::client {

class SessionNotices {
 public:
  void tell(SessionEvent event);
  void tell(const LostLock& lost);

  std::optional<SessionNotice> take();
  Result<int> event_fd();

  // The descriptor is closed, though what tells may be there for longer.
  void retire_event_fd();

 private:
  void add(SessionNotice notice);

  std::mutex mutex_;  // Guards what follows.
  std::deque<SessionNotice> notices_;
  EventDescriptor event_fd_;
};

}  // namespace gcoord::client
