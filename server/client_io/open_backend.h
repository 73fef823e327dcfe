// Choice of an I/O backend: io_uring where the kernel allows it, else epoll. Any thread.
#pragma once

#include "common/status.h"
#include "server/client_io/io_backend.h"
#include "server/platform/choices.h"

#include <memory>
#include <string>

namespace gcoord::server {

struct OpenedBackend {
  std::unique_ptr<IoBackend> backend;
  std::string fallback_reason;  // Why it is epoll although `auto` was wished; else empty.
};

// Tries. FailedPrecondition: the kernel refuses the one that is wished.
Result<OpenedBackend> open_backend(IoBackendWish wish);

}  // namespace gcoord::server
