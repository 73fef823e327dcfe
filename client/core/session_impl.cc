#include "client/core/session_impl.h"

#include "client/core/acquire_request.h"
#include "client/core/session_checks.h"
#include "client/core/stoppable.h"
#include "client/health/health_target.h"
#include "client/net/failure.h"
#include "client/notices/session_notices.h"
#include "protocol/validate.h"
#include "security/credentials/password.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

protocol::ErrorCode check_ttl(std::uint32_t ttl_ms) {
  return protocol::check_ttl(ttl_ms, protocol::RequestLimits{});
}

std::unique_ptr<SessionLease> make_lease(Core& core,
                                         const SessionRecord& record,
                                         TimePoint opened_at) {
  const TimePoint ttl = milliseconds{record.ttl_ms};
  return std::make_unique<SessionLease>(SessionLeaseOptions{
      .ttl = ttl, .margin = lease_margin(ttl, core.options()), .opened_at = opened_at});
}

Grant grant_of(const protocol::ReplySlot& slot) {
  return {.token = slot.token,
          .epoch = slot.epoch,
          .ttl_left = milliseconds{slot.ttl_ms},
          .already_held = slot.has(protocol::ReplyFlag::AlreadyHeld),
          .held_again = slot.has(protocol::ReplyFlag::HeldAgain)};
}

// Whether the answer gives the session what it did not have, at a time when it takes on nothing:
// the wait began when it was healthy.
bool comes_unwanted(const SessionRecord& session, const Answer& answer) {
  const bool news = answer.status.ok() && !answer.slot.has(protocol::ReplyFlag::AlreadyHeld);
  return news && session.withheld.load(std::memory_order_relaxed) &&
         !session.ended.load(std::memory_order_relaxed);
}

// Behind the caller's back, and for as long as the session may live: then the lock ends with it.
void give_back(Core& core,
               const std::shared_ptr<SessionRecord>& session,
               std::string_view name,
               std::uint64_t token) {
  OperationPtr release = name_operation(core, protocol::RequestKind::LockRelease, name);
  release->slot.session = session->id.value;
  release->slot.token = token;
  if (session->attached) {
    release->slot.set(protocol::RequestFlag::ByToken);
  }
  release->counted = session->counts_holds.load(std::memory_order_relaxed);
  release->session = session;
  release->deadline = core.clock().now() + milliseconds{session->ttl_ms};
  core.dispatcher().submit(std::move(release));
}

// So that the client's monotonic reads find its own writes. Fails for a write that was decided
// where the shard had been when this request was made: after disks were put back. A lock that has
// moved meanwhile is of a shard with positions of its own.
Status learn_index(Core& core, const Position& floor, const Answer& answer) {
  if (!answer.slot.has(protocol::ReplyFlag::Indexed)) {
    return {};
  }
  if (answer.slot.shard == floor.shard && answer.slot.extra <= floor.index) {
    return failure(protocol::ErrorCode::AnswerBehind, behind(floor, answer.slot.extra));
  }
  core.positions().learn(answer.slot.shard, answer.slot.extra);
  return {};
}

}  // namespace

void SessionImpl::open(const std::shared_ptr<Core>& core,
                       SessionOptions options,
                       Callback<Result<std::shared_ptr<SessionImpl>>> callback) {
  if (const auto code = check_ttl(protocol_ms(options.ttl)); code != protocol::ErrorCode::None) {
    return refuse(*core, std::move(callback), failure(code));
  }
  if (options.health.checks.empty()) {
    return open_checked(core, std::move(options), nullptr, std::move(callback));
  }
  SessionHealth health = std::move(options.health);
  check_first(core,
              std::move(health),
              [core, options = std::move(options), callback = std::move(callback)](
                  const Result<std::shared_ptr<SessionChecks>>& checks) {
                if (!checks.ok()) {
                  return refuse(*core, callback, checks.status());
                }
                open_checked(core, options, checks.value(), callback);
              });
}

void SessionImpl::open_checked(const std::shared_ptr<Core>& core,
                               SessionOptions options,
                               const std::shared_ptr<SessionChecks>& checks,
                               Callback<Result<std::shared_ptr<SessionImpl>>> callback) {
  const std::uint32_t ttl_ms = protocol_ms(options.ttl);
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::OpenSession;
  operation->slot.ttl_ms = ttl_ms;
  operation->target = Target::AnyNode;
  operation->deadline = core->request_deadline();
  const TimePoint opened_at = core->clock().now();
  operation->callback = [core, options = std::move(options), checks, callback, opened_at, ttl_ms](
                            const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    // A node may grant less than was asked for, never more.
    const std::uint32_t granted_ms = answer.slot.ttl_ms;
    callback(take_up(core,
                     {.id = SessionId{answer.slot.extra},
                      .ttl_ms = granted_ms != 0 ? std::min(ttl_ms, granted_ms) : ttl_ms,
                      .opened_at = opened_at,
                      .on_event = options.on_event,
                      .on_lost = options.on_lost,
                      .checks = checks}));
  };
  core->submit(std::move(operation));
}

std::shared_ptr<SessionImpl> SessionImpl::take_up(const std::shared_ptr<Core>& core,
                                                  const TakenUp& granted) {
  auto record = std::make_shared<SessionRecord>();
  record->id = granted.id;
  record->ttl_ms = granted.ttl_ms;
  record->windows.first_sequence = granted.first_sequence;
  record->on_event = granted.on_event;
  record->on_lost = granted.on_lost;
  record->lease = make_lease(*core, *record, granted.opened_at);
  core->keeper().add(record);
  if (granted.checks != nullptr) {
    granted.checks->bind(record);
  }
  return std::make_shared<SessionImpl>(core, std::move(record));
}

std::uint64_t SessionImpl::sequence_of_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

Result<std::shared_ptr<SessionImpl>> SessionImpl::attach(const std::shared_ptr<Core>& core,
                                                         AttachOptions options) {
  if (options.session_id == 0) {
    return failure(protocol::ErrorCode::SessionZero);
  }
  if (options.first_sequence == 0) {
    return failure(protocol::ErrorCode::SequenceZero);
  }
  if (!options.session_key.empty()) {
    const auto key = security::SessionKey::parse(options.session_key);
    security::wipe(options.session_key);
    if (!key.ok()) {
      return failure(protocol::ErrorCode::SessionKeyInvalid);
    }
    core->nodes().access().keyring.keep(SessionId{options.session_id}, key.value());
  }
  auto record = std::make_shared<SessionRecord>();
  record->id = SessionId{options.session_id};
  record->ttl_ms = protocol_ms(options.ttl);
  record->keep_alive = options.keep_alive;
  record->attached = true;
  record->windows.first_sequence = options.first_sequence;
  record->on_event = std::move(options.on_event);
  if (const auto code = check_ttl(record->ttl_ms); code != protocol::ErrorCode::None) {
    return failure(code);
  }
  if (Status sound = check_health(options.health); !sound.ok()) {
    return sound;
  }
  if (!options.health.checks.empty() && !options.keep_alive) {
    return failure(protocol::ErrorCode::CheckInvalid,
                   "this client does not keep the session alive");
  }
  if (options.keep_alive) {
    const bool posted = core->post(
        [core, record, health = std::move(options.health), attached_at = core->clock().now()] {
          const TimePoint ttl = milliseconds{record->ttl_ms};
          record->lease = std::make_unique<SessionLease>(
              SessionLeaseOptions{.ttl = ttl,
                                  .margin = lease_margin(ttl, core->options()),
                                  .opened_at = attached_at,
                                  .attached = true});
          core->keeper().add(record);
          if (!health.checks.empty()) {
            std::make_shared<SessionChecks>(*core, health)->bind(record);
          }
        });
    if (!posted) {
      return failure(protocol::ErrorCode::ClientClosed);
    }
  }
  return std::make_shared<SessionImpl>(core, std::move(record));
}

void SessionImpl::acquire(std::string_view name,
                          AcquireOptions options,
                          Session::GrantCallback callback) {
  const protocol::ErrorCode code = check_acquire(name, options);
  if (code != protocol::ErrorCode::None) {
    return refuse<Result<Grant>>(*core_, std::move(callback), failure(code));
  }
  submit_stoppable(*core_, make_acquire(name, options, std::move(callback)), options.stop);
}

protocol::ErrorCode SessionImpl::check_acquire(std::string_view name,
                                               const AcquireOptions& options) const {
  const protocol::ErrorCode code = check_acquire_request(*core_, name, options);
  const bool withheld = record_->withheld.load(std::memory_order_relaxed) && alive();
  return code == protocol::ErrorCode::None && withheld ? protocol::ErrorCode::SessionUnhealthy
                                                       : code;
}

OperationPtr SessionImpl::make_acquire(std::string_view name,
                                       const AcquireOptions& options,
                                       Session::GrantCallback callback) {
  OperationPtr operation = acquire_operation(*core_, name, options);
  if (operation->counted) {
    record_->counts_holds.store(true, std::memory_order_relaxed);
  }
  operation->slot.session = record_->id.value;
  operation->slot.ttl_ms = record_->ttl_ms;
  operation->session = record_;
  if (options.wait == kForever) {
    // The session's end is the deadline; one that nobody here keeps alive ends with its TTL.
    operation->slot.set(protocol::RequestFlag::Wait);
    operation->deadline =
        record_->keep_alive ? kTimeNever : core_->clock().now() + milliseconds{record_->ttl_ms};
  } else if (options.wait > milliseconds{0}) {
    operation->slot.set(protocol::RequestFlag::Wait);
    operation->wait_until = core_->clock().now() + TimePoint{options.wait};
    operation->deadline += TimePoint{options.wait};
  }
  if (options.detect_deadlock && operation->waits() && core_->has(protocol::Feature::Deadlocks)) {
    operation->slot.set(protocol::RequestFlag::Blocks);
  }
  operation->callback = [core = core_.get(),
                         record = record_,
                         name = std::string{name},
                         floor = core_->positions().floor(operation->slot.shard),
                         callback = std::move(callback)](const Answer& answer) {
    if (const Status sound = learn_index(*core, floor, answer); !sound.ok()) {
      give_back(*core, record, name, answer.slot.token);
      return callback(sound);
    }
    if (comes_unwanted(*record, answer)) {
      give_back(*core, record, name, answer.slot.token);
      return callback(failure(protocol::ErrorCode::SessionUnhealthy));
    }
    callback(answer.status.ok() ? Result<Grant>{grant_of(answer.slot)}
                                : Result<Grant>{answer.status});
  };
  return operation;
}

void SessionImpl::release(std::string_view name,
                          std::uint64_t token,
                          Session::StatusCallback callback) {
  const protocol::ErrorCode code = check_release(name, token);
  if (code != protocol::ErrorCode::None) {
    return refuse<Status>(*core_, std::move(callback), failure(code));
  }
  core_->submit(make_release(name, token, std::move(callback)));
}

protocol::ErrorCode SessionImpl::check_release(std::string_view name, std::uint64_t token) {
  const protocol::ErrorCode code = protocol::check_name(name);
  return code == protocol::ErrorCode::None && token == 0 ? protocol::ErrorCode::TokenZero : code;
}

OperationPtr SessionImpl::make_release(std::string_view name,
                                       std::uint64_t token,
                                       Session::StatusCallback callback) {
  OperationPtr operation = name_operation(*core_, protocol::RequestKind::LockRelease, name);
  operation->slot.session = record_->id.value;
  operation->slot.token = token;
  if (record_->attached) {
    operation->slot.set(protocol::RequestFlag::ByToken);
  }
  operation->counted = counts_holds();
  operation->session = record_;
  if (!operation->counted) {
    record_->held.end(name, token);
  }
  operation->callback = [core = core_.get(),
                         record = record_,
                         held = std::string{name},
                         token,
                         floor = core_->positions().floor(operation->slot.shard),
                         callback = std::move(callback)](const Answer& answer) {
    const Status sound = learn_index(*core, floor, answer);
    if (answer.status.ok() || decides_release(answer.status)) {
      record->held.answer(held, token);
    }
    callback(sound.ok() ? answer.status : sound);
  };
  return operation;
}

// Where holds are counted each handle is one of them.
bool SessionImpl::leave(std::string_view name, std::uint64_t token) {
  return record_->held.leave(name, token) || counts_holds();
}

void SessionImpl::renew(Session::StatusCallback callback) {
  const auto command = [core = core_, record = record_, callback] {
    if (record->ended.load(std::memory_order_relaxed)) {
      return callback(failure(record->end_reason));
    }
    // A client that has just connected may not have reached a majority yet.
    core->wait_for(
        WaitFor::Majority, core->request_deadline(), [core, record, callback](const Status&) {
          core->keeper().renew(record, callback);
        });
  };
  if (!core_->post(command)) {
    callback(failure(protocol::ErrorCode::ClientClosed));
  }
}

void SessionImpl::end_unhealthy(Core& core, const std::shared_ptr<SessionRecord>& session) {
  core.keeper().lose(session);
  send_close(core, {.session = *session}, {});
}

void SessionImpl::end_all(Core& core) {
  std::vector<std::shared_ptr<SessionRecord>> closing;
  for (const std::shared_ptr<SessionRecord>& session : core.keeper().sessions()) {
    if (!session->attached) {
      closing.push_back(session);
    }
  }
  // Before the acquires fail by which it is known.
  auto acquiring = core.dispatcher().acquiring_shards();
  core.dispatcher().fail_all(protocol::ErrorCode::ClientClosed, Dispatcher::Spare::Releases);
  for (const std::shared_ptr<SessionRecord>& session : closing) {
    if (session->ended.load(std::memory_order_relaxed)) {
      continue;  // By a callback of what failed.
    }
    core.keeper().end(session, protocol::ErrorCode::ClientClosed);
    send_close(core, {.session = *session, .acquiring = acquiring[session.get()]}, {});
  }
}

void SessionImpl::close(Session::StatusCallback callback) {
  if (finished_.exchange(true)) {
    return callback ? refuse<Status>(*core_, std::move(callback), Status{}) : void();
  }
  const auto command = [core = core_, record = record_, callback] {
    if (record->ended.load(std::memory_order_relaxed)) {
      return callback ? callback(failure(record->end_reason)) : void();
    }
    const Closing closing{.session = *record,
                          .acquiring = core->dispatcher().acquiring_shards(*record)};
    core->keeper().end(record, protocol::ErrorCode::SessionClosed);
    send_close(*core, closing, callback);
  };
  if (!core_->post(command) && callback) {
    callback(failure(protocol::ErrorCode::ClientClosed));
  }
}

void SessionImpl::send_close(Core& core, const Closing& closing, Session::StatusCallback callback) {
  struct Count {
    std::size_t outstanding = 1;  // One for the loop itself.
    bool closed = false;
    Status failure;
  };

  const auto count = std::make_shared<Count>();
  const auto answered = [count, callback = std::move(callback)](const Status& status) {
    count->closed = count->closed || status.ok();
    count->failure = status.ok() ? std::move(count->failure) : status;
    if (--count->outstanding == 0 && callback) {
      callback(count->closed ? Status{} : count->failure);
    }
  };
  const auto submit = [&](OperationPtr operation) {
    operation->callback = [answered](const Answer& answer) { answered(answer.status); };
    ++count->outstanding;
    core.dispatcher().submit(std::move(operation));
  };
  // Every node ends what it leads; a node that cannot be reached leads nothing for long.
  for (const NodeView& view : core.nodes().views()) {
    if (view.connected) {
      OperationPtr operation =
          close_operation(closing.session.id, protocol::kAllShards, core.request_deadline());
      operation->target = Target::OneNode;
      operation->node = NodeId{view.node_id};
      operation->try_once = true;
      submit(std::move(operation));
    }
  }
  // A node closes what it knows of; an acquire that is still on its way would register the session
  // after that and hold its lock for a TTL. Its shard is closed behind it, in the log's order.
  for (const std::uint32_t shard : closing.acquiring) {
    submit(close_operation(closing.session.id, shard, core.request_deadline()));
  }
  answered(failure(protocol::ErrorCode::Unreachable, core.nodes().evidence()));
}

SessionNotices& SessionImpl::notices() {
  const std::lock_guard lock{notices_mutex_};
  if (notices_ == nullptr) {
    notices_ = std::make_shared<SessionNotices>();
    // On the thread that tells, so that nothing is told twice or falls in between.
    static_cast<void>(core_->post([record = record_, notices = notices_] {
      record->notices = notices;
      const bool ended = record->ended.load(std::memory_order_relaxed);
      if (ended && record->end_reason == protocol::ErrorCode::SessionExpired) {
        notices->tell(SessionEvent::Expired);
      } else if (!ended && record->lease != nullptr && record->lease->in_jeopardy()) {
        notices->tell(SessionEvent::Jeopardy);
      }
    }));
  }
  return *notices_;
}

void SessionImpl::retire_notices() {
  const std::lock_guard lock{notices_mutex_};
  if (notices_ != nullptr) {
    notices_->retire_event_fd();
  }
}

void SessionImpl::detach() {
  if (finished_.exchange(true)) {
    return;
  }
  static_cast<void>(core_->post([core = core_, record = record_] {
    core->keeper().forget(record);
    record->certain_until_ns.store(0, std::memory_order_relaxed);
  }));
}

TimePoint SessionImpl::certain_until() const {
  const TimePoint until{record_->certain_until_ns.load(std::memory_order_relaxed)};
  return record_->ended.load(std::memory_order_relaxed) ? TimePoint{} : until;
}

bool SessionImpl::alive() const {
  return !record_->ended.load(std::memory_order_relaxed) && remaining() > TimePoint{};
}

TimePoint SessionImpl::remaining() const {
  const TimePoint until{record_->certain_until_ns.load(std::memory_order_relaxed)};
  return std::max(until - core_->clock().now(), TimePoint{});
}

}  // namespace gcoord::client
