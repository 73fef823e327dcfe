#include "gcoord/lease.h"

#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/net/failure.h"

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

namespace {

// One node that has closed the session says nothing of the name, whose leader may be another. Nor
// does a session that an earlier try has closed.
Status given_back(Status released) {
  const auto detail = static_cast<protocol::ErrorCode>(released.detail());
  const bool over = decides_release(released) && detail != protocol::ErrorCode::SessionClosed;
  return over ? Status{} : std::move(released);
}

}  // namespace

Status Lease::release() {
  Status released = lock_.release();
  static_cast<void>(session_->close());
  return given_back(std::move(released));
}

Future<Status> Lease::release_async() {
  const auto session = session_->impl_;
  return future_of<Status>(session->core(), [&](auto callback) {
    lock_.release_async().then([session, callback](const Status& released) {
      session->close([callback, released](const Status&) { callback(given_back(released)); });
    });
  });
}

void Lease::detach() {
  lock_.detach();
  session_->detach();
}

}  // namespace gcoord::client
