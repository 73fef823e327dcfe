// The descriptor of a watch, session or lease for a program's own event loop, in the library's
// terms: common/host/event_level.h says what it is. Not thread-safe: the lock that guards what
// waits guards it too, or poll() would see one without the other.
#pragma once

#include "common/host/event_level.h"
#include "gcoord/status.h"

namespace gcoord::client {

class EventDescriptor {
 public:
  // The same each time. ResourceExhausted when the process may have no more of them.
  Result<int> get(bool ready);

  // Whether it is readable from now on.
  void set(bool ready) { level_.set(ready); }

  void close() { level_.close(); }

 private:
  EventLevel level_;
};

}  // namespace gcoord::client
