// A session's requests, between the public Session and Lock and the client's thread. Thread-safe.
#pragma once

#include "client/core/calls.h"
#include "client/core/core.h"
#include "client/records/session_record.h"
#include "client/records/term_fence.h"
#include "gcoord/options.h"
#include "gcoord/session.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace gcoord::client {

class SessionImpl {
 public:
  SessionImpl(std::shared_ptr<Core> core, std::shared_ptr<SessionRecord> record)
      : core_(std::move(core)), record_(std::move(record)) {}

  // Asks a node for a session and begins to keep it.
  static void open(const std::shared_ptr<Core>& core,
                   SessionOptions options,
                   Callback<Result<std::shared_ptr<SessionImpl>>> callback);

  // Begins to keep a session that a node has just granted; on the client's thread only.
  struct TakenUp {
    SessionId id;
    std::uint32_t ttl_ms = 0;
    std::uint64_t first_sequence = 1;
    TimePoint opened_at{};
    std::function<void(SessionEvent)> on_event;
    std::function<void(const LostLock&)> on_lost;
    std::shared_ptr<SessionChecks> checks;  // Those that it is bound to, if any.
  };

  static std::shared_ptr<SessionImpl> take_up(const std::shared_ptr<Core>& core,
                                              const TakenUp& granted);

  // Above all sequences that an earlier session of the same id used: microseconds of wall time.
  static std::uint64_t sequence_of_now();

  // Takes up a session that exists.
  static Result<std::shared_ptr<SessionImpl>> attach(const std::shared_ptr<Core>& core,
                                                     AttachOptions options);

  void acquire(std::string_view name, AcquireOptions options, Session::GrantCallback callback);
  void release(std::string_view name, std::uint64_t token, Session::StatusCallback callback);

  // The same in two steps, for those who submit many: what would be refused, and else the operation
  // of a sound acquire or release, which is not submitted.
  protocol::ErrorCode check_acquire(std::string_view name, const AcquireOptions& options) const;
  static protocol::ErrorCode check_release(std::string_view name, std::uint64_t token);
  OperationPtr make_acquire(std::string_view name,
                            const AcquireOptions& options,
                            Session::GrantCallback callback);
  OperationPtr make_release(std::string_view name,
                            std::uint64_t token,
                            Session::StatusCallback callback);

  // Changes of the holder by its token; exactly once, or under another error not known. In
  // session_operations.cc.
  void proclaim(std::string_view name,
                std::uint64_t token,
                std::string_view value,
                Session::StatusCallback callback);
  void transfer(std::string_view name,
                std::uint64_t token,
                SessionId target,
                Session::StatusCallback callback);

  // Ok once a majority of the nodes acknowledged a keep-alive that was sent after this call.
  void renew(Session::StatusCallback callback);

  // Ends a session whose health checks failed: its program is told before the nodes are. On the
  // client's thread only.
  static void end_unhealthy(Core& core, const std::shared_ptr<SessionRecord>& session);

  // Their client ends: what is under way fails with GC4010, and the sessions that were opened here
  // and not detached are closed, for nobody to hear of the answers. On the client's thread only.
  static void end_all(Core& core);

  // Once; later calls succeed without doing anything. The callback may be empty.
  void close(Session::StatusCallback callback);
  void detach();

  // The events of the session from the first call on, and its state then.
  SessionNotices& notices();
  void retire_notices();

  // The state that this session's candidates of that name share.
  std::shared_ptr<TermFence> office(const std::string& name) { return record_->offices.of(name); }

  Core& core() const { return *core_; }

  const SessionRecord& record() const { return *record_; }

  const std::shared_ptr<SessionRecord>& shared_record() const { return record_; }

  bool alive() const;

  // Whether the hold was broken by force, as far as it is known here.
  bool lost(std::string_view name, std::uint64_t token) const {
    return record_->lost.contains(name, token);
  }

  // Whether the hold is over: given back here, or broken by force as far as it is known.
  bool over(std::string_view name, std::uint64_t token) const {
    return record_->held.ended(name, token) || lost(name, token);
  }

  // A handle of the hold comes, or goes; the latter says whether the hold is to go with it.
  void enter(std::string_view name, std::uint64_t token) { record_->held.enter(name, token); }

  bool leave(std::string_view name, std::uint64_t token);

  // Of the client's clock; the past when nothing is certain.
  TimePoint certain_until() const;
  TimePoint remaining() const;

  // Whether a release may be one of many.
  bool counts_holds() const { return record_->counts_holds.load(std::memory_order_relaxed); }

 private:
  static void open_checked(const std::shared_ptr<Core>& core,
                           SessionOptions options,
                           const std::shared_ptr<SessionChecks>& checks,
                           Callback<Result<std::shared_ptr<SessionImpl>>> callback);
  void change_office(OperationPtr operation, std::uint64_t token, Session::StatusCallback callback);

  // A session that is closed, and the shards that may register it yet.
  struct Closing {
    const SessionRecord& session;
    std::set<std::uint32_t> acquiring{};
  };

  static void send_close(Core& core, const Closing& closing, Session::StatusCallback callback);

  std::shared_ptr<Core> core_;
  std::shared_ptr<SessionRecord> record_;
  std::atomic<bool> finished_{false};  // Closed or detached here.
  std::mutex notices_mutex_;           // Guards what follows.
  std::shared_ptr<SessionNotices> notices_;
};

}  // namespace gcoord::client
