#include "gcoord/lease.h"

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
  const Status closed = session_->close();
  // A session that is closed holds nothing, whatever became of the release before.
  const bool lost = released.detail() == kDetailSessionExpired;
  return closed.ok() || lost ? Status{} : std::move(released);
}

void Lease::detach() {
  lock_.detach();
  session_->detach();
}

}  // namespace gcoord::client
