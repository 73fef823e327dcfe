#include "gcoord/session.h"

#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/core/session_impl.h"
#include "client/elections/candidate.h"
#include "client/net/failure.h"
#include "client/notices/session_notices.h"

#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

milliseconds whole_milliseconds(TimePoint duration) {
  return std::chrono::floor<milliseconds>(duration);
}

}  // namespace

Lock::Lock(std::shared_ptr<SessionImpl> session, std::string name, Grant grant)
    : session_(std::move(session)), name_(std::move(name)), grant_(grant) {
  if (session_ != nullptr) {
    session_->enter(name_, grant_.token);
  }
}

Lock::~Lock() {
  if (session_ != nullptr && session_->leave(name_, grant_.token)) {
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
  return session_ != nullptr && session_->alive() && !session_->over(name_, grant_.token);
}

TimePoint Lock::certain_until() const {
  const bool held = session_ != nullptr && !session_->over(name_, grant_.token);
  return held ? session_->certain_until() : TimePoint{};
}

Status Lock::release() {
  if (session_ == nullptr) {
    return {};
  }
  Status status = await<Status>(session_->core(), [&](auto callback) {
    session_->release(name_, grant_.token, std::move(callback));
  });
  // Without an answer it may still be held, so that the caller, or the destructor, tries again. Not
  // where holds are counted: another try has another number and would take another hold, so that an
  // undecided one ends with its session.
  if (status.ok() || decides_release(status) || session_->counts_holds()) {
    detach();
  }
  return status;
}

Future<Status> Lock::release_async() {
  const auto session = std::exchange(session_, nullptr);
  if (session == nullptr) {
    // Nobody to ask, and nobody's thread to answer on.
    auto state = std::make_shared<FutureState<Status>>(std::thread::id{});
    state->set(Status{});
    return Future<Status>{std::move(state)};
  }
  auto released = future_of<Status>(session->core(), [&](auto callback) {
    session->release(name_, grant_.token, std::move(callback));
  });
  session->leave(name_, grant_.token);
  return released;
}

std::thread::id Lock::client_thread() const {
  return session_ != nullptr ? session_->core().thread_id() : std::thread::id{};
}

void Lock::detach() {
  if (session_ != nullptr) {
    session_->leave(name_, grant_.token);
    session_.reset();
  }
}

Session::Session(std::shared_ptr<SessionImpl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  if (impl_ != nullptr) {
    impl_->retire_notices();
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

Future<Result<Lock>> Session::try_acquire_async(std::string_view name) {
  return acquire_async(name, {.wait = milliseconds{0}});
}

Future<Result<Lock>> Session::acquire_async(std::string_view name, AcquireOptions options) {
  return future_of<Result<Lock>>(impl_->core(), [&](auto callback) {
    const auto granted =
        [session = impl_, held = std::string{name}, callback](const Result<Grant>& grant) {
          callback(grant.ok() ? Result<Lock>{Lock{session, held, grant.value()}}
                              : Result<Lock>{grant.status()});
        };
    impl_->acquire(name, options, granted);
  });
}

Future<Status> Session::release_async(std::string_view name, std::uint64_t token) {
  return future_of<Status>(
      impl_->core(), [&](auto callback) { impl_->release(name, token, std::move(callback)); });
}

Election Session::election(std::string_view name) {
  return Election{std::make_shared<Candidate>(impl_, std::string{name})};
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

std::string Session::key() const {
  const auto key = impl_->core().nodes().access().keyring.find(impl_->record().id);
  return key ? key->text() : std::string{};
}

milliseconds Session::ttl() const {
  return milliseconds{impl_->record().ttl_ms};
}

milliseconds Session::remaining() const {
  return whole_milliseconds(impl_->remaining());
}

TimePoint Session::certain_until() const {
  return impl_->certain_until();
}

bool Session::alive() const {
  return impl_->alive();
}

Status Session::renew() {
  return await<Status>(impl_->core(), [&](auto callback) { impl_->renew(std::move(callback)); });
}

Future<Status> Session::renew_async() {
  return future_of<Status>(impl_->core(),
                           [&](auto callback) { impl_->renew(std::move(callback)); });
}

Result<TimePoint> Session::renew_until() {
  if (impl_->core().on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  return renew_until_async().get();
}

Future<Result<TimePoint>> Session::renew_until_async() {
  return future_of<Result<TimePoint>>(impl_->core(), [&](auto callback) {
    impl_->renew([session = impl_, callback](const Status& status) {
      callback(status.ok() ? Result<TimePoint>{session->certain_until()}
                           : Result<TimePoint>{status});
    });
  });
}

Future<Status> Session::close_async() {
  return future_of<Status>(impl_->core(),
                           [&](auto callback) { impl_->close(std::move(callback)); });
}

bool Session::healthy() const {
  return !impl_->record().withheld.load(std::memory_order_relaxed);
}

Status Session::close() {
  return await<Status>(impl_->core(), [&](auto callback) { impl_->close(std::move(callback)); });
}

void Session::detach() {
  impl_->detach();
}

std::optional<SessionNotice> Session::next_event() {
  return impl_->notices().take();
}

Result<int> Session::event_fd() {
  return impl_->notices().event_fd();
}

Status Session::proclaim(std::string_view name, std::uint64_t token, std::string_view value) {
  return await<Status>(impl_->core(), [&](auto callback) {
    impl_->proclaim(name, token, value, std::move(callback));
  });
}

Future<Status> Session::proclaim_async(std::string_view name,
                                       std::uint64_t token,
                                       std::string_view value) {
  return future_of<Status>(impl_->core(), [&](auto callback) {
    impl_->proclaim(name, token, value, std::move(callback));
  });
}

Future<Status> Session::transfer_async(std::string_view name,
                                       std::uint64_t token,
                                       std::uint64_t session_id) {
  return future_of<Status>(impl_->core(), [&](auto callback) {
    impl_->transfer(name, token, SessionId{session_id}, std::move(callback));
  });
}

Status Session::transfer(std::string_view name, std::uint64_t token, std::uint64_t session_id) {
  return await<Status>(impl_->core(), [&](auto callback) {
    impl_->transfer(name, token, SessionId{session_id}, std::move(callback));
  });
}

}  // namespace gcoord::client
