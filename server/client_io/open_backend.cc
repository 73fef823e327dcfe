#include "server/client_io/open_backend.h"

#include "server/client_io/epoll_backend.h"
#include "server/client_io/uring_backend.h"

#include <utility>

namespace gcoord::server {

Result<OpenedBackend> open_backend(IoBackendWish wish) {
  OpenedBackend opened;
  if (wish != IoBackendWish::Epoll) {
    auto uring = UringBackend::open();
    if (uring.ok()) {
      opened.backend = std::move(uring).value();
      return opened;
    }
    if (wish == IoBackendWish::IoUring) {
      return uring.status();
    }
    opened.fallback_reason = uring.status().message();
  }
  GCOORD_TRY(opened.backend, EpollBackend::open());
  return opened;
}

}  // namespace gcoord::server
