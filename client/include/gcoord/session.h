// Sessions hold locks; locks are fenced.
//
// A session lives as long as its client keeps it alive: in the background, every third of its TTL,
// one message to every node. It counts as renewed from the *send* time of a keep-alive once a
// majority of the nodes acknowledged it, and ends on this side, by this side's clock, before a node
// may give its locks to others. Losing one lock to expiry means losing the session as a whole.
//
// A lock is held by its session, not by a thread: acquiring it again in the same session succeeds
// at once with the same token (already_held), and one release frees it. With
// AcquireOptions::holds_max the holds are counted, and each Lock is one of them.
//
// Functions may be called from any thread; the objects themselves are moved and destroyed by one.
#pragma once

#include "gcoord/api.h"
#include "gcoord/clock.h"
#include "gcoord/election.h"
#include "gcoord/future.h"
#include "gcoord/options.h"
#include "gcoord/status.h"
#include "gcoord/types.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gcoord::client {

class Lease;
class MultiLock;
class SessionImpl;

// What happened to a session, as Session::next_event tells it.
struct SessionNotice {
  std::optional<SessionEvent> event;  // None: an operator broke the hold `lost`; the session lives.
  LostLock lost{};
};

// A held lock; released when it is destroyed, or the last of several objects of one hold is.
class GCOORD_API Lock {
 public:
  Lock() = default;

  // Sends the release without waiting for its answer; call release() to know.
  ~Lock();
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;

  // The fencing token. Hand it to the guarded resource with every write; the resource refuses
  // tokens below the highest it has seen.
  std::uint64_t fence() const { return grant_.token; }

  std::uint64_t epoch() const { return grant_.epoch; }

  bool already_held() const { return grant_.already_held; }

  bool held_again() const { return grant_.held_again; }

  const std::string& name() const { return name_; }

  // False once released, through whichever object of this hold, or when the session's lease has run
  // out by the local clock.
  bool valid() const;

  bool valid(TimePoint now) const { return now < certain_until(); }

  // Until when valid() stays true if nothing more is heard; the past when it is false.
  TimePoint certain_until() const;

  // Ok when the lock was released now or had been by an earlier try of this call.
  Status release();

  // The same without waiting; this object does not hold the lock any more.
  Future<Status> release_async();

  // Leaves the lock held; it lives with its session.
  void detach();

 private:
  friend class Session;
  friend class Client;
  friend class MultiLock;
  Lock(std::shared_ptr<SessionImpl> session, std::string name, Grant grant);

  // Where its futures must not be waited for; no thread at all once it is given back.
  std::thread::id client_thread() const;

  std::shared_ptr<SessionImpl> session_;
  std::string name_;
  Grant grant_;
};

class GCOORD_API Session {
 public:
  using GrantCallback = std::function<void(Result<Grant>)>;
  using StatusCallback = std::function<void(Status)>;

  // Closes the session without waiting for the answers; call close() to know.
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Errors: GC6001 busy (with the holder's token in the message), GC6005 the wait ran out, GC6007
  // the session is lost. After GC4009 nothing is left behind: the client takes back what it may
  // have got.
  Result<Lock> acquire(std::string_view name, AcquireOptions options = {});
  Result<Lock> try_acquire(std::string_view name);
  Future<Result<Lock>> try_acquire_async(std::string_view name);

  // Several locks, all or none within the wait (gcoord/multi_lock.h). GC6035 for an empty list, a
  // name that is in it twice, or more than 64; else as acquire().
  Result<MultiLock> acquire_all(std::vector<std::string> names, AcquireOptions options = {});
  Future<Result<MultiLock>> acquire_all_async(std::vector<std::string> names,
                                              AcquireOptions options = {});

  // With a future: to wait for, to ask, or to co_await (gcoord/future.h).
  Future<Result<Lock>> acquire_async(std::string_view name, AcquireOptions options = {});
  Future<Status> release_async(std::string_view name, std::uint64_t token);

  // The cheap forms. The callback runs once, on the client's thread.
  void acquire_async(std::string_view name, AcquireOptions options, GrantCallback callback);
  void release_async(std::string_view name, std::uint64_t token, StatusCallback callback);

  // By token, for a lock that has no Lock object here. GC6003 when the token is of the past. An
  // attached session gives all holds of the token back, since it cannot know of their count.
  Status release(std::string_view name, std::uint64_t token);

  // What the holder of a name may do by its token, for an election that has no Election object
  // here: Election::proclaim and Election::transfer. Its own object, if it has one elsewhere, does
  // not hear of it: ask the leader instead (Client::ask_transfer).
  Status proclaim(std::string_view name, std::uint64_t token, std::string_view value);
  Status transfer(std::string_view name, std::uint64_t token, std::uint64_t session_id);
  Future<Status> proclaim_async(std::string_view name, std::uint64_t token, std::string_view value);
  Future<Status> transfer_async(std::string_view name,
                                std::uint64_t token,
                                std::uint64_t session_id);

  // This session's candidacy in the election of this name. Asks nobody. The name of an election is
  // a name of a lock: who holds one leads in the other.
  Election election(std::string_view name);

  std::uint64_t id() const;
  std::chrono::milliseconds ttl() const;

  // How long the session is certain to live by the local clock; 0 when it is lost. Without
  // keep-alives from here (see AttachOptions) nothing is certain: 0.
  std::chrono::milliseconds remaining() const;

  // The same as a moment of the client's clock; the past when it is lost.
  TimePoint certain_until() const;

  // Keeps it alive now, and returns when a majority of the nodes has acknowledged that: the session
  // lives for a whole TTL from the call on, whatever becomes of this program.
  Status renew();
  Future<Status> renew_async();

  // False once the lease has run out by the local clock, even before the event was delivered.
  bool alive() const;

  // Ends the session at every node that can be reached; its locks go to their next waiters. Nodes
  // that cannot be reached end it when its TTL runs out.
  Status close();
  Future<Status> close_async();

  // For an event loop, instead of SessionOptions::on_event and on_lost, or beside them: what they
  // are told, from the first call of these two on; a jeopardy or an end that was there already is
  // told first. Nothing when nothing has happened, and nothing comes after Expired, nor for
  // close(). Of jeopardies that were over before they were taken, the last one may stand for all.
  std::optional<SessionNotice> next_event();

  // A descriptor that is readable exactly while next_event() would bring something, with the rules
  // of Watch::event_fd: it is this object's, closed with it and not by close(). ResourceExhausted
  // when the process may open no more files.
  Result<int> event_fd();

  // False while one of its health checks fails (gcoord/health.h); true of one that has none.
  bool healthy() const;

  // Stops keeping it alive but leaves it and its locks to live for the rest of their TTL.
  void detach();

 private:
  friend class Client;
  friend class Lease;
  explicit Session(std::shared_ptr<SessionImpl> impl);

  std::shared_ptr<SessionImpl> impl_;
};

}  // namespace gcoord::client
