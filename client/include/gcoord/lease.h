// A lease: one name, held by a session of its own, for as long as it can be kept.
//
// A lock in a shared session is lost together with everything else that the session holds. A lease
// stands alone: it has its own TTL, its own events, and giving it back ends its session. It costs
// one session; programs that hold many names take locks in one session instead.
//
// The contract is that of sessions (gcoord/session.h): the lease is certain until certain_until()
// by this program's clock, which comes before a node may grant the name to anybody else as long as
// clocks differ in rate by less than ClientOptions::drift_divisor allows. Jeopardy is reported
// after two thirds of the TTL without an answer, Expired at that moment, always in this order and
// never twice. Work that cannot stop in time passes fence() to what it writes to.
//
// Functions may be called from any thread; objects are moved and destroyed by one.
//
//  auto lease = client.take_lease("jobs/train", {.ttl = 30s, .wait = 5s});
//  while (lease.ok() && lease.value().valid()) { work(lease.value().fence()); }
#pragma once

#include "gcoord/api.h"
#include "gcoord/options.h"
#include "gcoord/session.h"
#include "gcoord/status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace gcoord::client {

// Options of Client::take_lease.
struct LeaseOptions {
  // How long it outlives this program.
  std::chrono::milliseconds ttl{10'000};

  // How long to wait for it while somebody else has it; as AcquireOptions::wait.
  std::chrono::milliseconds wait = kForever;

  // Jeopardy, Safe, Expired, on the client's own thread; see SessionOptions::on_event.
  std::function<void(SessionEvent)> on_event{};

  // As SessionOptions::health.
  SessionHealth health{};

  // As AcquireOptions::stop; the session of the lease ends with its wait.
  std::stop_token stop{};
};

// Made by Client::take_lease. Given back when it is destroyed.
class GCOORD_API Lease {
 public:
  // Sends the release without waiting for its answer; call release() to know.
  ~Lease() = default;
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;

  const std::string& name() const { return lock_.name(); }

  // The fencing token: rises with every holder of the name, for ever.
  std::uint64_t fence() const { return lock_.fence(); }

  // The id of the lease's own session, by which other programs and gcoordctl name it.
  std::uint64_t session_id() const { return session_->id(); }

  // The TTL with which the lease was taken.
  std::chrono::milliseconds ttl() const { return session_->ttl(); }

  // Whether nobody else can hold it now, or at that moment of the client's clock.
  bool valid() const { return lock_.valid(); }

  // The same for a moment of the client's clock (Client::now).
  bool valid(TimePoint now) const { return now < certain_until(); }

  // Until when it is certain if nothing more is heard; the past once it is lost or given back.
  TimePoint certain_until() const { return lock_.certain_until(); }

  // certain_until() from now on; 0 when it is lost.
  std::chrono::milliseconds remaining() const;

  // For an event loop, what happens to its session (Session::next_event, Session::event_fd).
  std::optional<SessionNotice> next_event() { return session_->next_event(); }

  // A descriptor that is readable exactly while next_event() would bring something.
  Result<int> event_fd() { return session_->event_fd(); }

  // Asks the nodes now; Ok once a majority has answered. The library does so by itself as well.
  Status renew() { return session_->renew(); }

  // The same without waiting.
  Future<Status> renew_async() { return session_->renew_async(); }

  // As Session::renew_until.
  Result<TimePoint> renew_until() { return session_->renew_until(); }

  Future<Result<TimePoint>> renew_until_async() { return session_->renew_until_async(); }

  // Gives it back and ends its session. Ok when the name was free for others after that, also when
  // this lease had been lost before.
  Status release();

  // The same without waiting; this object does not hold the lease any more.
  Future<Status> release_async();

  // Leaves it to live for the rest of its TTL.
  void detach();

 private:
  friend class Client;
  Lease(Session session, Lock lock);

  std::optional<Session> session_;  // Destroyed after the lock, whose release it carries.
  Lock lock_;
};

}  // namespace gcoord::client
