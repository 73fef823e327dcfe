#include "gcoord/session.h"

#include "client/blocking.h"
#include "client/session_impl.h"

#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

milliseconds whole_milliseconds(TimePoint duration) {
  return std::chrono::floor<milliseconds>(duration);
}

// The lock service itself refused: the lock is not this session's (any more).
bool decided(const Status& status) {
  switch (static_cast<rpc::ErrorCode>(status.detail())) {
    case rpc::ErrorCode::LockNotHeld:
    case rpc::ErrorCode::TokenStale:
    case rpc::ErrorCode::HolderOther:
    case rpc::ErrorCode::SessionExpired:
    case rpc::ErrorCode::SessionUnknown:
    case rpc::ErrorCode::SessionClosed:
      return true;
    default:
      return false;
  }
}

}  // namespace

Lock::Lock(std::shared_ptr<SessionImpl> session, std::string name, Grant grant)
    : session_(std::move(session)), name_(std::move(name)), grant_(grant) {}

Lock::~Lock() {
  if (session_ != nullptr) {
    session_->release(name_, grant_.token, [](const Status&) {});
  }
}

Lock::Lock(Lock&&) noexcept = default;

Lock& Lock::operator=(Lock&& other) noexcept {
  // The old one is released by the temporary's destructor.
  Lock taken{std::move(other)};
  std::swap(session_, taken.session_);
  std::swap(name_, taken.name_);
  std::swap(grant_, taken.grant_);
  return *this;
}

bool Lock::valid() const {
  return session_ != nullptr && session_->alive();
}

Status Lock::release() {
  if (session_ == nullptr) {
    return {};
  }
  Status status = await<Status>(session_->core(), [&](auto callback) {
    session_->release(name_, grant_.token, std::move(callback));
  });
  // Without an answer it may still be held, so that the caller, or the destructor, tries again.
  if (status.ok() || decided(status)) {
    session_.reset();
  }
  return status;
}

void Lock::detach() {
  session_.reset();
}

Session::Session(std::shared_ptr<SessionImpl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  if (impl_ != nullptr) {
    impl_->close({});
  }
}

Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  Session taken{std::move(other)};
  std::swap(impl_, taken.impl_);
  return *this;
}

Result<Lock> Session::acquire(std::string_view name, AcquireOptions options) {
  auto grant = await<Result<Grant>>(
      impl_->core(), [&](auto callback) { impl_->acquire(name, options, std::move(callback)); });
  if (!grant.ok()) {
    return grant.status();
  }
  return Lock{impl_, std::string{name}, grant.value()};
}

Result<Lock> Session::try_acquire(std::string_view name) {
  return acquire(name, {.wait = milliseconds{0}});
}

void Session::acquire_async(std::string_view name, AcquireOptions options, GrantCallback callback) {
  impl_->acquire(name, options, std::move(callback));
}

void Session::release_async(std::string_view name, std::uint64_t token, StatusCallback callback) {
  impl_->release(name, token, std::move(callback));
}

Status Session::release(std::string_view name, std::uint64_t token) {
  return await<Status>(impl_->core(),
                       [&](auto callback) { impl_->release(name, token, std::move(callback)); });
}

std::uint64_t Session::id() const {
  return impl_->record().id.value;
}

milliseconds Session::ttl() const {
  return milliseconds{impl_->record().ttl_ms};
}

milliseconds Session::remaining() const {
  return whole_milliseconds(impl_->remaining());
}

bool Session::alive() const {
  return impl_->alive();
}

Status Session::renew() {
  return await<Status>(impl_->core(), [&](auto callback) { impl_->renew(std::move(callback)); });
}

Status Session::close() {
  return await<Status>(impl_->core(), [&](auto callback) { impl_->close(std::move(callback)); });
}

void Session::detach() {
  impl_->detach();
}

}  // namespace gcoord::client
