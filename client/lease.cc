#include "gcoord/lease.h"

#include "client/failure.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {

Lease::Lease(Session session, Lock lock) : session_(std::move(session)), lock_(std::move(lock)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  // The old one is given back by the temporary's destructor, the lock before its session.
  Lease taken{std::move(other)};
  std::swap(session_, taken.session_);
  std::swap(lock_, taken.lock_);
  return *this;
}

std::chrono::milliseconds Lease::remaining() const {
  return valid() ? session_->remaining() : std::chrono::milliseconds{0};
}

Status Lease::release() {
  Status released = lock_.release();
  const auto detail = static_cast<rpc::ErrorCode>(released.detail());
  // One node that has closed the session says nothing of the name, whose leader may be another. Nor
  // does a session that an earlier try of this call has closed.
  static_cast<void>(session_->close());
  const bool over = decides_release(released) && detail != rpc::ErrorCode::SessionClosed;
  return over ? Status{} : std::move(released);
}

void Lease::detach() {
  lock_.detach();
  session_->detach();
}

}  // namespace gcoord::client
