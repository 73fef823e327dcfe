#include "client/sessions/session_views.h"

#include "client/core/session_checks.h"
#include "client/net/failure.h"
#include "protocol/lease_messages.h"
#include "protocol/session_messages.h"
#include "protocol/validate.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;

OperationPtr home_operation(const Core& core, protocol::RequestKind kind, SessionId session) {
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = kind;
  operation->slot.session = session.value;
  operation->slot.shard = protocol::home_shard(session, core.shard_count()).value;
  operation->deadline = core.request_deadline();
  return operation;
}

SessionDescription description_of(const protocol::SessionRow& row) {
  SessionDescription described;
  described.session_id = row.session.value;
  described.alive = row.registration_count > 0;
  described.granted = row.granted;
  described.ttl = milliseconds{row.ttl_ms};
  described.remaining =
      milliseconds{described.alive ? static_cast<std::int64_t>(row.remaining_ms) : -1};
  described.shard_count = row.registration_count;
  described.lock_count = row.lock_count;
  return described;
}

SessionDescription gone(SessionId session) {
  SessionDescription described;
  described.session_id = session.value;
  return described;
}

// Of a session that was renewed by whoever may not look at it: its times and counts stay 0.
SessionDescription renewed_unseen(SessionId session) {
  SessionDescription described = gone(session);
  described.alive = true;
  described.remaining = milliseconds{0};
  return described;
}

// The answers of all nodes to one keep-alive of one session.
struct KeepAliveRound {
  Core& core;
  SessionId session;
  TimePoint deadline{};  // Of this round and of those that follow it.
  std::size_t outstanding = 0;
  std::vector<NodeId> acknowledged;  // By which node.
  bool renewed = false;              // A node knows it.
  bool expired = false;
  Status failure;
  Callback<Result<SessionDescription>> callback;
};

// Until the leader of the home has applied what another node knows already.
constexpr milliseconds kHomeBehind{20};

// Until the client has the view that a node was heard to have.
constexpr milliseconds kViewBehind{20};

// Until nodes that are starting are connected, or have the view by which they count.
constexpr milliseconds kMajorityBehind{100};

void send_round(Core& core,
                SessionId session,
                TimePoint deadline,
                const Callback<Result<SessionDescription>>& callback);

// Another one like it.
void send_round_at(const KeepAliveRound& round, TimePoint moment) {
  const auto pause = std::make_shared<Callback<Result<SessionDescription>>>(round.callback);
  round.core.call_at(
      moment, [&core = round.core, session = round.session, deadline = round.deadline, pause] {
        send_round(core, session, deadline, *pause);
      });
  round.core.call_at_stop(pause, [over = std::weak_ptr{pause}] {
    if (const auto waiting = over.lock()) {
      (*waiting)(failure(ErrorCode::ClientClosed));
    }
  });
}

// Whether a node that failed so may count in another round.
bool may_pass(const Status& failed) {
  const auto code = static_cast<ErrorCode>(failed.detail());
  return failed.ok() || code == ErrorCode::Unreachable || protocol::is_passing(code);
}

// Too few nodes have counted. Those that could not be reached may be starting, and one that has
// started counts only once it has the view: another round, while there is time.
void on_no_majority(const KeepAliveRound& round) {
  const bool passes = may_pass(round.failure);
  const TimePoint pause = round.core.nodes().known().behind() ? kViewBehind : kMajorityBehind;
  const TimePoint again = round.core.clock().now() + pause;
  if (passes && again < round.deadline) {
    return send_round_at(round, again);
  }
  round.callback(round.failure.ok() ? failure(ErrorCode::QuorumUnavailable) : round.failure);
}

void on_round_over(const KeepAliveRound& round) {
  Core& core = round.core;
  if (round.expired) {
    return round.callback(gone(round.session));
  }
  if (!core.nodes().known().voters().is_majority(round.acknowledged)) {
    return on_no_majority(round);
  }
  // A session without a home is registered where its locks are, and the leader of what would be its
  // home may be a message behind those: it does not know that the session is gone.
  show_session(core, round.session, [round](const auto& shown) {
    constexpr auto kNotAllowed = static_cast<std::uint32_t>(ErrorCode::NotAllowed);
    if (shown.status().detail() == kNotAllowed && round.renewed) {
      return round.callback(renewed_unseen(round.session));
    }
    const TimePoint again = round.core.clock().now() + kHomeBehind;
    const bool behind = shown.ok() && !shown.value().alive && round.renewed;
    if (!behind || again >= round.deadline) {
      return round.callback(shown);
    }
    send_round_at(round, again);
  });
}

void on_acknowledged(KeepAliveRound& round, NodeId node, const Answer& answer) {
  if (!answer.status.ok()) {
    // A refusal for good is not covered by what another node may do later.
    round.failure = may_pass(round.failure) ? answer.status : round.failure;
    return;
  }
  const auto missed = protocol::decode_keep_alive_reply(answer.payload);
  if (!missed.ok()) {
    round.failure = failure(ErrorCode::ReplyMalformed, "keep_alive");
    return;
  }
  NodeSet& nodes = round.core.nodes();
  const bool says = nodes.has(node, protocol::Feature::Members);
  const std::uint64_t epoch = says ? answer.slot.extra : 0;
  nodes.known().hear(epoch);
  if (nodes.known().counts(epoch, says)) {
    round.acknowledged.push_back(node);
  }
  // What was renewed need not be said.
  const auto entry =
      std::ranges::find(missed.value(), round.session, &protocol::KeepAliveEntry::session);
  const auto state =
      entry == missed.value().end() ? protocol::KeepAliveState::Renewed : entry->state;
  round.expired = round.expired || state == protocol::KeepAliveState::Expired;
  round.renewed = round.renewed || state == protocol::KeepAliveState::Renewed ||
                  state == protocol::KeepAliveState::Broken;
}

void send_round(Core& core,
                SessionId session,
                TimePoint deadline,
                const Callback<Result<SessionDescription>>& callback) {
  const auto round = std::make_shared<KeepAliveRound>(
      KeepAliveRound{.core = core, .session = session, .deadline = deadline, .callback = callback});
  const SessionId sessions[] = {session};
  const auto payload = protocol::encode_keep_alive(sessions);
  ++round->outstanding;  // Held until all are on their way.
  const auto answered = [round] {
    if (--round->outstanding == 0) {
      on_round_over(*round);
    }
  };
  for (const protocol::NodeAddress& node : core.nodes().cluster()->nodes) {
    if (core.nodes().ready(node.node) == nullptr) {
      continue;
    }
    OperationPtr operation = node_operation(core, protocol::RequestKind::KeepAlive, node.node);
    operation->payload = protocol::text_of(payload);
    operation->callback = [node = node.node, round, answered](const Answer& answer) {
      on_acknowledged(*round, node, answer);
      answered();
    };
    ++round->outstanding;
    core.dispatcher().submit(std::move(operation));
  }
  answered();
}

ErrorCode check_grant(const Core& core, const GrantOptions& options) {
  if (!core.has(protocol::Feature::Sessions)) {
    return ErrorCode::FeatureMissing;
  }
  if (options.session_id >= protocol::kSessionIdChosenEnd) {
    return ErrorCode::SessionIdReserved;
  }
  const std::int64_t ttl_ms =
      std::clamp<std::int64_t>(options.ttl.count(), 0, protocol::kForeverMs - 1);
  return protocol::check_ttl(static_cast<std::uint32_t>(ttl_ms), protocol::RequestLimits{});
}

void register_at_home(const std::shared_ptr<Core>& core,
                      SessionId session,
                      const GrantOptions& options,
                      const std::function<void(const Answer&)>& then) {
  OperationPtr operation = home_operation(*core, protocol::RequestKind::SessionGrant, session);
  operation->slot.ttl_ms = static_cast<std::uint32_t>(options.ttl.count());
  operation->callback = then;
  core->submit(std::move(operation));
}

using Granted = Callback<Result<std::shared_ptr<SessionImpl>>>;

void grant_chosen(const std::shared_ptr<Core>& core,
                  const GrantOptions& options,
                  const std::shared_ptr<SessionChecks>& checks,
                  const Granted& callback) {
  const SessionId session{options.session_id};
  const TimePoint asked_at = core->clock().now();
  register_at_home(core, session, options, [=](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    callback(SessionImpl::take_up(core,
                                  {.id = session,
                                   .ttl_ms = static_cast<std::uint32_t>(options.ttl.count()),
                                   .first_sequence = SessionImpl::sequence_of_now(),
                                   .opened_at = asked_at,
                                   .on_event = options.on_event,
                                   .on_lost = options.on_lost,
                                   .checks = checks}));
  });
}

}  // namespace

void grant_session(const std::shared_ptr<Core>& core, GrantOptions options, Granted callback) {
  if (const auto code = check_grant(*core, options); code != ErrorCode::None) {
    return refuse(*core, std::move(callback), failure(code));
  }
  if (options.session_id != 0) {
    SessionHealth health = std::move(options.health);
    return check_first(core,
                       std::move(health),
                       [core, options = std::move(options), callback](
                           const Result<std::shared_ptr<SessionChecks>>& checks) {
                         return checks.ok() ? grant_chosen(core, options, checks.value(), callback)
                                            : refuse(*core, callback, checks.status());
                       });
  }
  const auto opened =
      [core, options, callback](const Result<std::shared_ptr<SessionImpl>>& opening) {
        if (!opening.ok()) {
          return callback(opening.status());
        }
        const std::shared_ptr<SessionImpl> session = opening.value();
        register_at_home(
            core, session->record().id, options, [session, callback](const Answer& answer) {
              if (!answer.status.ok()) {
                session->detach();
                return callback(answer.status);
              }
              callback(session);
            });
      };
  SessionImpl::open(core,
                    {.ttl = options.ttl,
                     .on_event = options.on_event,
                     .on_lost = options.on_lost,
                     .health = std::move(options.health)},
                    opened);
}

void show_session(Core& core, SessionId session, Callback<Result<SessionDescription>> callback) {
  if (!core.has(protocol::Feature::Sessions)) {
    return refuse(core, std::move(callback), failure(ErrorCode::FeatureMissing));
  }
  if (session.value == 0) {
    return refuse(core, std::move(callback), failure(ErrorCode::SessionZero));
  }
  OperationPtr operation = home_operation(core, protocol::RequestKind::SessionShow, session);
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    auto details = protocol::decode_session(answer.payload);
    if (!details.ok()) {
      return callback(failure(ErrorCode::ReplyMalformed, "session"));
    }
    SessionDescription described = description_of(details.value().row);
    described.keys = std::move(details.value().keys);
    callback(std::move(described));
  };
  core.submit(std::move(operation));
}

void keep_alive_once(Core& core, SessionId session, Callback<Result<SessionDescription>> callback) {
  if (session.value == 0) {
    return refuse(core, std::move(callback), failure(ErrorCode::SessionZero));
  }
  const bool posted = core.post([&core, session, callback] {
    const TimePoint deadline = core.request_deadline();
    core.wait_for(
        WaitFor::Majority, deadline, [&core, session, deadline, callback](const Status& status) {
          status.ok() ? send_round(core, session, deadline, callback) : callback(status);
        });
  });
  if (!posted) {
    callback(failure(ErrorCode::ClientClosed));
  }
}

void list_sessions(Core& core,
                   NodeId node,
                   const SessionListOptions& options,
                   std::uint32_t cursor,
                   Callback<Result<SessionsPage>> callback) {
  if (!core.has(protocol::Feature::Sessions)) {
    return refuse(core, std::move(callback), failure(ErrorCode::FeatureMissing));
  }
  protocol::SessionQuery query;
  query.filter = static_cast<protocol::SessionFilter>(options.filter);
  query.count_only = options.count_only;
  query.limit = options.limit;
  query.cursor = cursor;
  query.remaining_below_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(options.remaining_below.count(), 0, 0xffff'ffff));
  OperationPtr operation = node_operation(core, protocol::RequestKind::SessionList, node);
  operation->payload = protocol::text_of(protocol::encode_session_query(query));
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    const auto decoded = protocol::decode_session_page(answer.payload);
    if (!decoded.ok()) {
      return callback(failure(ErrorCode::ReplyMalformed, "session page"));
    }
    SessionsPage page;
    page.count = decoded.value().count;
    for (const protocol::SessionRow& row : decoded.value().rows) {
      page.sessions.push_back(description_of(row));
    }
    page.next_cursor =
        decoded.value().next_cursor == 0 ? "" : std::to_string(decoded.value().next_cursor);
    callback(std::move(page));
  };
  core.submit(std::move(operation));
}

}  // namespace gcoord::client
