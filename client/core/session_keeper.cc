#include "client/core/session_keeper.h"

#include "client/core/session_checks.h"
#include "client/net/failure.h"
#include "client/notices/session_notices.h"
#include "protocol/force_messages.h"
#include "protocol/limits.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

namespace gcoord::client {

namespace {

// Acknowledgements that wait for a view: of all nodes, and several parts of each.
constexpr std::size_t kHeldMax = 1024;

}  // namespace

SessionKeeper::SessionKeeper(const ClientOptions& options, NodeSet& nodes, Dispatcher& dispatcher)
    : options_(options), nodes_(nodes), dispatcher_(dispatcher) {}

void SessionKeeper::add(std::shared_ptr<SessionRecord> session) {
  const TimePoint now = options_.clock->now();
  session->certain_until_ns.store(session->lease->certain_until().count(),
                                  std::memory_order_relaxed);
  next_lease_event_ = std::min(next_lease_event_, session->lease->next_event());
  // An attached session is certain only after a first answer, so it asks at once.
  const bool certain = session->lease->certain_until() > now;
  const TimePoint ttl = std::chrono::milliseconds{session->ttl_ms};
  next_send_ = std::min(next_send_, certain ? now + ttl / 3 : now);
  session->keeper_place = sessions_.size();
  sessions_.push_back(std::move(session));
}

void SessionKeeper::end(const std::shared_ptr<SessionRecord>& session, protocol::ErrorCode reason) {
  if (session->ended.load(std::memory_order_relaxed)) {
    return;
  }
  session->end_reason = reason;
  session->certain_until_ns.store(0, std::memory_order_relaxed);
  session->ended.store(true, std::memory_order_relaxed);
  nodes_.access().keyring.on_ended(session->id);
  forget(session);
  // What is on its way would register a lost session anew and hold its lock for a TTL. A session
  // that its holder closes is closed by SessionImpl, which waits for the answers.
  std::set<std::uint32_t> acquiring;
  if (reason == protocol::ErrorCode::SessionExpired) {
    acquiring = dispatcher_.acquiring_shards(*session);
  }
  dispatcher_.fail_session(*session, reason);
  const TimePoint deadline = options_.clock->now() + TimePoint{options_.request_timeout};
  for (const std::uint32_t shard : acquiring) {
    dispatcher_.submit(close_operation(session->id, shard, deadline));
  }
}

void SessionKeeper::forget(const std::shared_ptr<SessionRecord>& session) {
  if (session->checks != nullptr) {
    session->checks->stop();
  }
  const std::size_t place = session->keeper_place;
  if (place < sessions_.size() && sessions_[place] == session) {
    sessions_.back()->keeper_place = place;
    std::swap(sessions_[place], sessions_.back());
    sessions_.pop_back();
  }
}

void SessionKeeper::lose(const std::shared_ptr<SessionRecord>& session) {
  if (session->lease != nullptr) {
    session->lease->on_lost();
    tell(session, options_.clock->now());
  }
  end(session, protocol::ErrorCode::SessionExpired);
}

void SessionKeeper::on_ready(NodeId node) {
  if (!sessions_.empty()) {
    send(node, options_.clock->now());
  }
}

TimePoint SessionKeeper::interval() const {
  TimePoint shortest = kTimeNever;
  for (const auto& session : sessions_) {
    shortest = std::min(shortest, TimePoint{std::chrono::milliseconds{session->ttl_ms}} / 3);
  }
  return shortest;
}

TimePoint SessionKeeper::next_event() const {
  const TimePoint held = held_.empty() ? kTimeNever : held_.front().until;
  return std::min(held, sessions_.empty() ? kTimeNever : std::min(next_send_, next_lease_event_));
}

void SessionKeeper::advance(TimePoint now) {
  give_up_held(now);
  if (sessions_.empty()) {
    next_send_ = next_lease_event_ = kTimeNever;
    return;
  }
  // Leases first: after a long stop the events must not wait for anything.
  if (now >= next_lease_event_) {
    const Sessions present = sessions_;
    for (const auto& session : present) {
      tell(session, now);
    }
    next_lease_event_ = kTimeNever;
    for (const auto& session : sessions_) {
      next_lease_event_ = std::min(next_lease_event_, session->lease->next_event());
    }
  }
  if (now >= next_send_ && !sessions_.empty()) {
    send_all(now);
    next_send_ = now + interval();
  }
}

void SessionKeeper::send_all(TimePoint now) {
  for (const NodeView& view : nodes_.views()) {
    if (view.connected) {
      send(NodeId{view.node_id}, now);
    }
  }
}

void SessionKeeper::send(NodeId node, TimePoint now) {
  Sessions part;
  for (const auto& session : sessions_) {
    if (!session->withheld.load(std::memory_order_relaxed)) {
      part.push_back(session);
    }
    if (part.size() == protocol::kKeepAliveSessionsMax) {
      send_part(node, now, std::exchange(part, {}));
    }
  }
  if (!part.empty()) {
    send_part(node, now, std::move(part));
  }
}

void SessionKeeper::renew(const std::shared_ptr<SessionRecord>& session,
                          std::function<void(Status)> callback) {
  if (session->ended.load(std::memory_order_relaxed)) {
    return callback(failure(session->end_reason));
  }
  if (session->withheld.load(std::memory_order_relaxed)) {
    return callback(failure(protocol::ErrorCode::SessionUnhealthy));
  }

  struct Count {
    std::size_t outstanding = 1;  // One for the loop itself.
    std::vector<NodeId> acknowledged;
    bool client_closed = false;
    std::function<void(Status)> callback;  // Until it has run.
  };

  const auto count = std::make_shared<Count>();
  count->callback = std::move(callback);
  const auto answered = [this, count, session](NodeId node, const Status& status) {
    if (status.ok()) {
      count->acknowledged.push_back(node);
    }
    count->client_closed =
        count->client_closed ||
        status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::ClientClosed);
    --count->outstanding;
    const bool ended = session->ended.load(std::memory_order_relaxed);
    const bool enough = nodes_.known().voters().is_majority(count->acknowledged);
    const bool decided = ended || enough || count->outstanding == 0;
    if (!decided || !count->callback) {
      return;
    }
    const auto why = count->client_closed ? protocol::ErrorCode::ClientClosed
                     : ended              ? session->end_reason
                                          : protocol::ErrorCode::QuorumUnavailable;
    std::exchange(count->callback, {})(!ended && enough ? Status{} : failure(why));
  };
  const TimePoint now = options_.clock->now();
  for (const NodeView& view : nodes_.views()) {
    if (view.connected) {
      const NodeId node{view.node_id};
      ++count->outstanding;
      send_part(node, now, Sessions{session}, [answered, node](const Status& status) {
        answered(node, status);
      });
    }
  }
  answered(NodeId{}, failure(protocol::ErrorCode::Unreachable, nodes_.evidence()));
}

void SessionKeeper::send_part(NodeId node, TimePoint now, Sessions part, Answered answered) {
  std::vector<SessionId> ids;
  ids.reserve(part.size());
  for (const auto& session : part) {
    ids.push_back(session->id);
  }
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::KeepAlive;
  operation->target = Target::OneNode;
  operation->node = node;
  operation->try_once = true;
  operation->payload = protocol::text_of(protocol::encode_keep_alive(ids));
  operation->deadline = now + TimePoint{options_.request_timeout};
  operation->callback = [this, node, now, part = std::move(part), answered = std::move(answered)](
                            const Answer& answer) {
    if (const Status status = on_answer(answer, node, part); status.ok()) {
      const bool says = nodes_.has(node, protocol::Feature::Members);
      const TimePoint until = options_.clock->now() + TimePoint{options_.request_timeout};
      on_acknowledged({node, says ? answer.slot.extra : 0, now, until, part, answered});
    } else if (answered) {
      answered(status);
    }
  };
  dispatcher_.submit(std::move(operation));
}

// What the node says of the sessions; ok: it acknowledges them.
Status SessionKeeper::on_answer(const Answer& answer, NodeId node, const Sessions& part) {
  if (!answer.status.ok()) {
    return answer.status;
  }
  const auto entries = protocol::decode_keep_alive_reply(answer.payload);
  if (!entries.ok()) {
    return failure(protocol::ErrorCode::ReplyMalformed, "keep_alive");
  }
  std::unordered_set<std::uint64_t> lost;
  std::unordered_set<std::uint64_t> broken;
  for (const protocol::KeepAliveEntry& entry : entries.value()) {
    if (entry.state == protocol::KeepAliveState::Expired) {
      lost.insert(entry.session.value);
    } else if (entry.state == protocol::KeepAliveState::Broken) {
      broken.insert(entry.session.value);
    }
  }
  for (const auto& session : part) {
    if (session->ended.load(std::memory_order_relaxed) || session->lease == nullptr) {
      continue;
    }
    if (lost.contains(session->id.value)) {
      lose(session);
    } else if (broken.contains(session->id.value)) {
      ask_losses(node, session);
    }
  }
  return {};
}

// A node with a newer view may be the one that says that this client's majority is none any more.
void SessionKeeper::on_acknowledged(Held acknowledged) {
  nodes_.known().hear(acknowledged.epoch);
  const bool says = nodes_.has(acknowledged.node, protocol::Feature::Members);
  if (nodes_.known().counts(acknowledged.epoch, says)) {
    return count(acknowledged);
  }
  const bool waits = acknowledged.epoch > nodes_.known().epoch() && held_.size() < kHeldMax;
  if (waits) {
    held_.push_back(std::move(acknowledged));
  } else if (acknowledged.answered) {
    acknowledged.answered(failure(protocol::ErrorCode::QuorumUnavailable));
  }
}

void SessionKeeper::count(const Held& acknowledged) {
  const TimePoint now = options_.clock->now();
  for (const auto& session : acknowledged.part) {
    if (session->ended.load(std::memory_order_relaxed) || session->lease == nullptr) {
      continue;
    }
    // A lease that ran out meanwhile stays so: its holder may have acted on it.
    tell(session, now);
    session->lease->on_acknowledged(
        acknowledged.node, acknowledged.sent_at, nodes_.known().voters());
    tell(session, now);
  }
  if (acknowledged.answered) {
    acknowledged.answered({});
  }
}

void SessionKeeper::on_view() {
  const TimePoint now = options_.clock->now();
  const Sessions present = sessions_;
  for (const auto& session : present) {
    tell(session, now);
    session->lease->recount(nodes_.known().voters());
    tell(session, now);
  }
  for (Held& each : std::exchange(held_, {})) {
    if (each.epoch <= nodes_.known().epoch()) {
      count(each);
    } else {
      held_.push_back(std::move(each));
    }
  }
}

void SessionKeeper::give_up_held(TimePoint now) {
  while (!held_.empty() && now >= held_.front().until) {
    const Held given_up = std::move(held_.front());
    held_.erase(held_.begin());
    if (given_up.answered) {
      given_up.answered(failure(protocol::ErrorCode::QuorumUnavailable));
    }
  }
}

// Which holds were broken; told once each. An answer that is lost comes with the next keep-alive.
void SessionKeeper::ask_losses(NodeId node, const std::shared_ptr<SessionRecord>& session) {
  auto operation = std::make_unique<Operation>();
  operation->slot.kind = protocol::RequestKind::SessionLosses;
  operation->slot.session = session->id.value;
  operation->target = Target::OneNode;
  operation->node = node;
  operation->try_once = true;
  operation->deadline = options_.clock->now() + TimePoint{options_.request_timeout};
  operation->callback = [session](const Answer& answer) {
    const auto losses = protocol::decode_losses(answer.payload);
    if (!answer.status.ok() || !losses.ok()) {
      return;
    }
    for (const protocol::LossEntry& loss : losses.value()) {
      const bool news = session->lost.add(loss.name, loss.token.value);
      if (!news || session->ended.load(std::memory_order_relaxed)) {
        continue;
      }
      const LostLock lost{loss.name, loss.token.value, loss.shard.value, loss.broken_at.value};
      if (session->notices != nullptr) {
        session->notices->tell(lost);
      }
      if (session->on_lost) {
        session->on_lost(lost);
      }
    }
  };
  dispatcher_.submit(std::move(operation));
}

void SessionKeeper::tell(const std::shared_ptr<SessionRecord>& session, TimePoint now) {
  while (!session->ended.load(std::memory_order_relaxed)) {
    const auto event = session->lease->advance(now);
    session->certain_until_ns.store(session->lease->certain_until().count(),
                                    std::memory_order_relaxed);
    if (!event.has_value()) {
      return;
    }
    if (session->notices != nullptr) {
      session->notices->tell(*event);
    }
    if (session->on_event) {
      session->on_event(*event);
    }
    if (*event == SessionEvent::Expired) {
      return end(session, protocol::ErrorCode::SessionExpired);
    }
  }
}

}  // namespace gcoord::client
