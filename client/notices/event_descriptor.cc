#include "client/notices/event_descriptor.h"

#include <string>
#include <system_error>

namespace gcoord::client {

Result<int> EventDescriptor::get(bool ready) {
  const int fd = level_.get(ready);
  if (fd < 0) {
    return Status{StatusCode::ResourceExhausted,
                  "no descriptor for events: " + std::generic_category().message(-fd) +
                      ". Raise the limit of open files (ulimit -n)"};
  }
  return fd;
}

}  // namespace gcoord::client
