#include "client/core/session_keeper.h"

#include "client/core/session_checks.h"
#include "client/core/session_notices.h"
#include "client/net/failure.h"
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
  return sessions_.empty() ? kTimeNever : std::min(next_send_, next_lease_event_);
}

void SessionKeeper::advance(TimePoint now) {
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
    std::size_t acknowledged = 0;
    bool client_closed = false;
    std::function<void(Status)> callback;  // Until it has run.
  };

  const auto count = std::make_shared<Count>();
  count->callback = std::move(callback);
  const std::size_t needed = nodes_.cluster()->nodes.size() / 2 + 1;
  const auto answered = [count, needed, session](const Answer& answer) {
    count->acknowledged += answer.status.ok() ? 1 : 0;
    count->client_closed =
        count->client_closed ||
        answer.status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::ClientClosed);
    --count->outstanding;
    const bool ended = session->ended.load(std::memory_order_relaxed);
    const bool decided = ended || count->acknowledged >= needed || count->outstanding == 0;
    if (!decided || !count->callback) {
      return;
    }
    const auto why = count->client_closed ? protocol::ErrorCode::ClientClosed
                     : ended              ? session->end_reason
                                          : protocol::ErrorCode::QuorumUnavailable;
    const bool renewed = !ended && count->acknowledged >= needed;
    std::exchange(count->callback, {})(renewed ? Status{} : failure(why));
  };
  const TimePoint now = options_.clock->now();
  for (const NodeView& view : nodes_.views()) {
    if (view.connected) {
      ++count->outstanding;
      send_part(NodeId{view.node_id}, now, Sessions{session}, answered);
    }
  }
  answered(Answer{failure(protocol::ErrorCode::Unreachable, nodes_.evidence()), {}, {}});
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
  operation->callback = [this, node, now, part = std::move(part), answered](const Answer& answer) {
    on_acknowledged(node, now, part, answer);
    if (answered) {
      answered(answer);
    }
  };
  dispatcher_.submit(std::move(operation));
}

void SessionKeeper::on_acknowledged(NodeId node,
                                    TimePoint sent_at,
                                    const Sessions& part,
                                    const Answer& answer) {
  if (!answer.status.ok()) {
    return;
  }
  const auto entries = protocol::decode_keep_alive_reply(answer.payload);
  if (!entries.ok()) {
    return;
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
  const TimePoint now = options_.clock->now();
  for (const auto& session : part) {
    if (session->ended.load(std::memory_order_relaxed) || session->lease == nullptr) {
      continue;
    }
    if (lost.contains(session->id.value)) {
      lose(session);
      continue;
    }
    // A lease that ran out meanwhile stays so: its holder may have acted on it.
    tell(session, now);
    session->lease->on_acknowledged(node, sent_at);
    tell(session, now);
    if (broken.contains(session->id.value) && !session->ended.load(std::memory_order_relaxed)) {
      ask_losses(node, session);
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
