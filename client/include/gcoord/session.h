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
//
//  auto session = client.open_session({.ttl = 10s, .on_event = [](SessionEvent event) { ... }});
//  auto lock = session.value().acquire("jobs/train", {.wait = 5s});
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

// Event of a session for programs that poll (Session::next_event).
struct SessionNotice {
  std::optional<SessionEvent> event;  // None: an operator broke the hold `lost`; the session lives.
  LostLock lost{};
};

// A hold by its name and its fencing token, for Session::release_many.
struct HeldToken {
  std::string name;
  std::uint64_t token = 0;
};

// A held lock. It is released when the object is destroyed; of several objects of one hold, by the
// last. Movable and not copyable.
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

  // The Raft term of the leader that granted the lock.
  std::uint64_t epoch() const { return grant_.epoch; }

  // Whether the session held the lock before this acquire; then the token is the old one.
  bool already_held() const { return grant_.already_held; }

  // Whether this acquire added a hold (AcquireOptions::holds_max), which needs a release of its
  // own.
  bool held_again() const { return grant_.held_again; }

  // The name that was acquired.
  const std::string& name() const { return name_; }

  // False once the lock is released through any object of this hold, once an operator has broken
  // it, or once the session has run out by the local clock. Asks no node.
  bool valid() const;

  // The same for a moment of the client's clock (Client::now).
  bool valid(TimePoint now) const { return now < certain_until(); }

  // The moment until which valid() stays true if no node is heard any more; a past moment when it
  // is false.
  TimePoint certain_until() const;

  // Releases the lock and waits for the answer. Ok when it was released now or by an earlier try of
  // this call. GC6030 when an operator has broken the hold.
  Status release();

  // The same without waiting; this object does not hold the lock any more.
  Future<Status> release_async();

  // Leaves the lock held when this object is destroyed; it lives as long as its session.
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

// A session with the cluster, made by Client::open_session and its neighbours. Movable and not
// copyable.
class GCOORD_API Session {
 public:
  // Outcomes of the callback forms; all run on the client's thread.
  using GrantCallback = std::function<void(Result<Grant>)>;
  using StatusCallback = std::function<void(Status)>;
  using GrantsCallback = std::function<void(Result<std::vector<Result<Grant>>>)>;
  using StatusesCallback = std::function<void(Result<std::vector<Status>>)>;

  // Closes the session without waiting for the answers; call close() to know.
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Acquires a lock for this session and waits for it as AcquireOptions::wait says; try_acquire
  // does not wait. A lock that the session holds already is granted at once under the same token.
  // Errors: GC6001 held by another session (with the holder's token in the message), GC6005 the
  // wait is over, GC6007 the session is lost, GC6040 the wait was part of a deadlock, GC5001 no
  // quorum answered before the session or the request timeout ran out, GC6307 the cluster has lost
  // what it had acknowledged to this client. After GC4009 and GC6307 nothing is left behind: the
  // client releases whatever it may have acquired.
  Result<Lock> acquire(std::string_view name, AcquireOptions options = {});
  Result<Lock> try_acquire(std::string_view name);
  Future<Result<Lock>> try_acquire_async(std::string_view name);

  // Acquires several locks, all or none within the wait (gcoord/multi_lock.h). GC6035 for an empty
  // list, a name that occurs twice, or more than 64 names; otherwise as acquire().
  Result<MultiLock> acquire_all(std::vector<std::string> names, AcquireOptions options = {});
  Future<Result<MultiLock>> acquire_all_async(std::vector<std::string> names,
                                              AcquireOptions options = {});

  // Acquires each of the names on its own, in few frames (gcoord/lock_batch.h): a result for each,
  // in the order of the names, errors as of acquire(). By default it waits for none of them. The
  // call fails, with nothing sent, for no names (GC6705), more than 4,096 (GC6706), a name that
  // occurs twice (GC6707), and a name or options that acquire() would refuse.
  Result<std::vector<Result<Lock>>> acquire_many(std::vector<std::string> names,
                                                 AcquireOptions options = without_wait());
  Future<Result<std::vector<Result<Lock>>>> acquire_many_async(
      std::vector<std::string> names, AcquireOptions options = without_wait());
  void acquire_many_async(std::vector<std::string> names,
                          AcquireOptions options,
                          GrantsCallback callback);

  // Releases locks of one session in few frames; a result for each, in their order, as of release()
  // below. The objects whose release was decided hold nothing afterwards. The call fails, with
  // nothing sent, as acquire_many(), and with GC6708 for locks of several sessions, or one that
  // holds nothing. The form with a future takes the objects over.
  static Result<std::vector<Status>> release_many(std::vector<Lock>& locks);
  static Future<Result<std::vector<Status>>> release_many_async(std::vector<Lock> locks);

  // The same of this session by tokens, for locks without Lock objects here.
  Result<std::vector<Status>> release_many(std::vector<HeldToken> holds);
  Future<Result<std::vector<Status>>> release_many_async(std::vector<HeldToken> holds);
  void release_many_async(std::vector<HeldToken> holds, StatusesCallback callback);

  // The forms with a future, which can be waited for, polled, or used with co_await
  // (gcoord/future.h). A future that is dropped releases the lock that comes afterwards.
  Future<Result<Lock>> acquire_async(std::string_view name, AcquireOptions options = {});
  Future<Status> release_async(std::string_view name, std::uint64_t token);

  // The forms with a callback, which cost least. The callback runs exactly once, on the client's
  // thread. The grant has no Lock object: release it by its token.
  void acquire_async(std::string_view name, AcquireOptions options, GrantCallback callback);
  void release_async(std::string_view name, std::uint64_t token, StatusCallback callback);

  // Releases a lock by its token, for a lock without a Lock object here. GC6003 when the token is
  // not that of the current hold. An attached session releases all holds of the token, because it
  // cannot know their count.
  Status release(std::string_view name, std::uint64_t token);

  // Election::proclaim and Election::transfer by the token of the leader's term, for an election
  // without an Election object here. An Election object of the same term elsewhere does not learn
  // of it: use Client::ask_transfer if there is one.
  Status proclaim(std::string_view name, std::uint64_t token, std::string_view value);
  Status transfer(std::string_view name, std::uint64_t token, std::uint64_t session_id);
  Future<Status> proclaim_async(std::string_view name, std::uint64_t token, std::string_view value);
  Future<Status> transfer_async(std::string_view name,
                                std::uint64_t token,
                                std::uint64_t session_id);

  // This session's candidacy in the election of this name. Asks no node. The name of an election is
  // the name of a lock: its holder leads.
  Election election(std::string_view name);

  // The id of the session, by which other programs and gcoordctl name it, and its TTL.
  std::uint64_t id() const;

  // Its owner speaks for the session, where nodes want keys (--session-keys): a secret, for
  // AttachOptions::session_key. Empty where nodes give none. The text is the caller's, who wipes it
  // where that matters.
  std::string key() const;
  std::chrono::milliseconds ttl() const;

  // How long the session is certain to live by the local clock; 0 when it is lost. 0 also for an
  // attached session without keep-alives from here (AttachOptions), of which nothing is certain.
  std::chrono::milliseconds remaining() const;

  // The same as a moment of the client's clock; a past moment when it is lost.
  TimePoint certain_until() const;

  // Renews the session now, and returns when a majority of the nodes has acknowledged: the session
  // lives for a whole TTL from the call on, even if this program ends.
  Status renew();
  Future<Status> renew_async();

  // The same, and the moment of the client's clock until which the session and its locks are
  // certain to live now (certain_until()).
  Result<TimePoint> renew_until();
  Future<Result<TimePoint>> renew_until_async();

  // False once the session has run out by the local clock, even before the event was delivered.
  // Asks no node.
  bool alive() const;

  // Ends the session at every node that can be reached; its locks go to their next waiters. Nodes
  // that cannot be reached end it when its TTL runs out.
  Status close();
  Future<Status> close_async();

  // Takes the next event, for an event loop, instead of SessionOptions::on_event and on_lost or
  // beside them; nothing when there is none. Events are queued from the first call of this function
  // or event_fd() on; a jeopardy or an end that was there already comes first. Nothing comes after
  // Expired, and nothing for close(). Several jeopardies that were over before they were taken may
  // come as one. One thread at a time.
  std::optional<SessionNotice> next_event();

  // A descriptor that is readable exactly while next_event() would bring an event, with the rules
  // of Watch::event_fd: it belongs to this object, and is closed with it and not by close().
  // ResourceExhausted when the process may open no more files.
  Result<int> event_fd();

  // False while one of its health checks fails (gcoord/health.h); true for a session without
  // checks.
  bool healthy() const;

  // Stops renewing the session, and leaves it and its locks to live for the rest of their TTL.
  void detach();

 private:
  friend class Client;
  friend class Group;
  friend class Rendezvous;
  friend class Lease;
  explicit Session(std::shared_ptr<SessionImpl> impl);

  static AcquireOptions without_wait() { return {.wait = std::chrono::milliseconds{0}}; }

  std::shared_ptr<SessionImpl> impl_;
};

}  // namespace gcoord::client
