#include "server/lock_service/lock_moves.h"

#include "common/bytes.h"
#include "common/name_hash.h"
#include "locks/commands/move_command.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

using locks::LockCode;
using locks::Residence;
using protocol::ErrorCode;

static_assert(locks::kMoveCommandBytesMax + kRecordHeaderBytes <= kCommandBytesMax);

namespace {

// Nothing for what no shard lets go of: state that was installed may say anything.
std::vector<std::byte> move_in_message(ShardId from, const locks::DepartedLock& lock) {
  const locks::LockCommand command = locks::make_move_in({.from = from,
                                                          .number = lock.number,
                                                          .token = lock.token,
                                                          .token_last = lock.token_last,
                                                          .name_bytes = lock.name_bytes,
                                                          .text = lock.text});
  if (!locks::move_sound(command)) {
    return {};
  }
  std::vector<std::byte> message{kMoveInKind};
  ByteWriter{message}.integer(lock.to.value);
  locks::encode(command, message);
  return message;
}

}  // namespace

LockMoves::LockMoves(const LockMovesOptions& options,
                     const locks::LockCpu& locks,
                     MetricsRegistry& metrics,
                     Environment doors)
    : options_(options),
      locks_(locks),
      environment_(std::move(doors)),
      places_(options.tick_ms,
              locks,
              {.leads = environment_.leads,
               .propose = [this](ShardId shard, const locks::LockCommand& command) {
                 propose(
                     {.kind = StepKind::Lapse, .shard = shard}, command, protocol::ConnectionId{});
               }}) {
  moved_ = &metrics.counter(
      {"gcoord_server_lock_moves_total", "Locks that arrived in a shard led here.", "", ""});
  dropped_ = &metrics.counter({"gcoord_server_lock_move_messages_dropped_total",
                               "Messages about moved locks that were malformed or too many.",
                               "",
                               ""});
}

void LockMoves::answer(const Asked& asked, const protocol::ReplySlot& reply) {
  environment_.answer(asked.connection, reply);
}

bool LockMoves::keeps_many(ShardId shard) const {
  const locks::LockView view = locks_.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::SessionRow keeper = locks::find_session(tables, shard, locks::kKeeperSession);
  return keeper.value != 0 && tables.sessions[keeper].hold_count >= kKeptNamesMax;
}

// What follows a MoveOut is taken by all nodes, so the first step alone asks whether they do. A
// first move leaves records that stay for ever: not more of them than there is room for. That
// somebody holds the lock, or held it where it is, the log decides.
ErrorCode LockMoves::may_leave(ShardId shard, ShardId to, NameHash name) const {
  if (!environment_.may_begin()) {
    return ErrorCode::MoveNotKnown;
  }
  if (locks_.residence(shard, name).has_value()) {
    return ErrorCode::None;
  }
  const bool full = locks_.counts().locks >= options_.locks_max;
  return full || keeps_many(shard) || keeps_many(to) ? ErrorCode::LocksExhausted : ErrorCode::None;
}

void LockMoves::on_request(protocol::ConnectionId connection,
                           const protocol::RequestSlot& request,
                           ShardId shard,
                           ShardId to,
                           std::string_view name) {
  const NameHash hash = hash_name(name);
  const ShardId home = shard_of(hash, options_.shard_count);
  const Asked asked{
      connection, request, shard, to, hash, now_ + kMoveAnswerMs / options_.tick_ms + 1};
  const auto residence = locks_.residence(shard, hash);
  if (residence.has_value() && residence->residence == Residence::Away) {
    return settle(asked);
  }
  if (!residence.has_value() && shard != home) {
    return answer(asked, error_reply(request, ErrorCode::LockMoving));
  }
  if (shard == to) {
    protocol::ReplySlot reply = protocol::reply_to(request);
    reply.extra = to.value;
    return answer(asked, reply);
  }
  if (shard != home && to != home) {
    return answer(asked, error_reply(request, ErrorCode::MoveNotHome));
  }
  if (waiting_.size() + steps_.size() >= kMovesAtOnceMax) {
    return answer(asked, error_reply(request, ErrorCode::Overloaded));
  }
  if (const ErrorCode error = may_leave(shard, to, hash); error != ErrorCode::None) {
    return answer(asked, error_reply(request, error));
  }
  const Step step{.kind = StepKind::Out, .asked = asked, .shard = shard, .name = hash};
  propose(step, locks::make_move_out(name, to), connection);
}

void LockMoves::propose(const Step& step,
                        const locks::LockCommand& command,
                        protocol::ConnectionId connection) {
  ++step_last_;
  steps_.emplace(step_last_, step);
  environment_.propose(step.shard, command, step_last_, connection);
}

// The lock is away: answers a client that wants to know, or keeps it until the lock has arrived.
void LockMoves::settle(const Asked& asked) {
  const auto residence = locks_.residence(asked.shard, asked.name);
  GCOORD_ASSERT(residence.has_value());
  if (residence->residence != Residence::Away || residence->away_to != asked.to) {
    // Somebody else moved it meanwhile: asked again, it goes on from there.
    const bool away = residence->residence == Residence::Away;
    return answer(asked,
                  away ? moved_reply(asked.request, residence->away_to)
                       : error_reply(asked.request, ErrorCode::LockMoving));
  }
  if (residence->departing) {
    if (now_ >= asked.deadline || waiting_.size() >= kMovesAtOnceMax) {
      return answer(asked, error_reply(asked.request, ErrorCode::LockMoving));
    }
    if (departing_.insert(asked.shard.value).second) {
      send_at_ = min_id(send_at_, now_ + 1);
    }
    waiting_.push_back(asked);
    return;
  }
  protocol::ReplySlot reply = protocol::reply_to(asked.request);
  reply.extra = asked.to.value;
  answer(asked, reply);
}

void LockMoves::settle_out(const Asked& asked, const locks::LockReply& reply) {
  if (reply.code == LockCode::MovedOut || reply.code == LockCode::Moved) {
    settle(asked);
  } else {
    answer(asked, error_reply(asked.request, error_of(reply.code)));
  }
}

void LockMoves::on_decided(std::uint64_t id, const locks::LockReply& reply) {
  const auto found = steps_.find(id);
  GCOORD_ASSERT(found != steps_.end());
  const Step step = found->second;
  steps_.erase(found);
  switch (step.kind) {
    case StepKind::Out:
      return settle_out(step.asked, reply);
    case StepKind::In:
      if (reply.code == LockCode::MovedIn) {
        moved_->add(reply.replayed ? 0 : 1);
        places_.on_arrived(step.shard, step.name, now_);
        tell_arrived(step.from, step.source, step.name, step.number);
      } else {
        dropped_->add();
      }
      return;
    case StepKind::Done:
      wake_at_ = min_id(wake_at_, now_ + 1);  // Whoever waits for it is answered.
      return;
    case StepKind::Lapse:
      return;
  }
}

// What nobody waits for is tried again: the other side still sends it, or this one does.
void LockMoves::on_refused(std::uint64_t id, const Status& status, NodeId leader_hint) {
  const auto found = steps_.find(id);
  GCOORD_ASSERT(found != steps_.end());
  const Step step = found->second;
  steps_.erase(found);
  if (step.kind == StepKind::Out) {
    answer(step.asked, engine_refusal(step.asked.request, status, leader_hint));
  }
}

bool LockMoves::is_ours(std::span<const std::byte> message) {
  return !message.empty() && (message.front() == kMoveInKind || message.front() == kMovedInKind);
}

void LockMoves::on_peer_message(NodeId from, std::span<const std::byte> message) {
  if (received_.size() >= kMovesAtOnceMax) {
    dropped_->add();
    return;
  }
  received_.push_back({from, {message.begin(), message.end()}});
  wake_at_ = min_id(wake_at_, now_ + 1);
}

void LockMoves::take_received() {
  for (const Received& each : std::exchange(received_, {})) {
    const std::span<const std::byte> message{each.message};
    if (message.front() == kMoveInKind) {
      on_move_in(each.from, message.subspan(1));
    } else {
      on_moved_in(message.subspan(1));
    }
  }
}

void LockMoves::on_move_in(NodeId from, std::span<const std::byte> body) {
  ByteReader reader{body};
  const ShardId to{reader.integer<std::uint32_t>()};
  const auto decoded =
      reader.ok() ? locks::decode(body.subspan(sizeof(std::uint32_t)))
                  : Result<locks::LockCommand>{Status{StatusCode::InvalidArgument, "truncated"}};
  const bool known = decoded.ok() && decoded.value().kind == locks::LockCommandKind::MoveIn &&
                     to.value < options_.shard_count;
  const ShardId source = known ? locks::move_shard(decoded.value()) : ShardId{};
  const NameHash name = known ? decoded.value().name_hash : NameHash{};
  const ShardId home = shard_of(name, options_.shard_count);
  if (!known || source.value >= options_.shard_count || source == to ||
      (home != source && home != to) || !environment_.takes_moves()) {
    dropped_->add();
    return;
  }
  if (!environment_.leads(to)) {
    return;  // Its sender finds out who does.
  }
  const Step step{.kind = StepKind::In,
                  .from = from,
                  .shard = to,
                  .source = source,
                  .name = name,
                  .number = locks::move_number(decoded.value())};
  if (under_way(step)) {
    return;
  }
  // What is applied is decided for ever, so what has come needs no entry more; nor does what the
  // shard would refuse as often as it is sent.
  const auto here = locks_.residence(to, name);
  if (here.has_value() && here->move_number >= step.number) {
    return tell_arrived(from, source, name, step.number);
  }
  if (would_be_refused(to, name)) {
    dropped_->add();
    return;
  }
  locks::LockCommand command = decoded.value();
  command.flags = environment_.places_lapse() ? locks::kMoveInLapses : 0;
  propose(step, command, protocol::ConnectionId{});
}

bool LockMoves::would_be_refused(ShardId shard, NameHash name) const {
  const auto here = locks_.residence(shard, name);
  return here.has_value() ? here->residence != Residence::Away
                          : locks::find_lock(locks_.view(shard).tables(), shard, name).value != 0;
}

bool LockMoves::under_way(const Step& step) const {
  return steps_.size() >= kMovesAtOnceMax || std::ranges::any_of(steps_, [&step](const auto& each) {
           const Step& other = each.second;
           return other.kind == step.kind && other.shard == step.shard && other.name == step.name &&
                  other.number == step.number;
         });
}

void LockMoves::tell_arrived(NodeId from, ShardId source, NameHash name, std::uint32_t number) {
  std::vector<std::byte> message{kMovedInKind};
  ByteWriter writer{message};
  writer.integer(source.value);
  writer.integer(number);
  writer.integer(name.low);
  writer.integer(name.high);
  send_or_keep(from, std::move(message));
}

void LockMoves::send_or_keep(NodeId to, std::vector<std::byte> message) {
  if (to == options_.node) {
    return on_peer_message(to, message);
  }
  environment_.send(to, message);
}

bool LockMoves::departing(ShardId shard, NameHash name, std::uint32_t number) const {
  const auto residence = locks_.residence(shard, name);
  return residence.has_value() && residence->departing && residence->move_number == number;
}

void LockMoves::on_moved_in(std::span<const std::byte> body) {
  ByteReader reader{body};
  const ShardId source{reader.integer<std::uint32_t>()};
  const auto number = reader.integer<std::uint32_t>();
  NameHash name;
  name.low = reader.integer<std::uint64_t>();
  name.high = reader.integer<std::uint64_t>();
  if (!reader.ok() || reader.rest_bytes() != 0 || source.value >= options_.shard_count) {
    dropped_->add();
    return;
  }
  const Step step{.kind = StepKind::Done, .shard = source, .name = name, .number = number};
  if (environment_.leads(source) && departing(source, name, number) && !under_way(step)) {
    propose(step, locks::make_move_done(name, number), protocol::ConnectionId{});
  }
}

void LockMoves::on_role(ShardId shard, bool leading) {
  if (leading) {
    places_.on_led(shard, now_);
    if (!locks_.departed(shard).empty()) {
      on_departed(shard);
    }
    return;
  }
  departing_.erase(shard.value);
  for (const Asked& asked : std::exchange(waiting_, {})) {
    if (asked.shard == shard) {
      answer(asked, not_leader_reply(asked.request, environment_.leader(shard)));
    } else {
      waiting_.push_back(asked);
    }
  }
}

void LockMoves::on_departed(ShardId shard) {
  departing_.insert(shard.value);
  send_at_ = min_id(send_at_, now_ + 1);
}

void LockMoves::send_departed(Tick now) {
  for (const std::uint32_t number : std::exchange(departing_, {})) {
    const ShardId shard{number};
    const auto departed = locks_.departed(shard);
    if (!environment_.leads(shard) || departed.empty()) {
      continue;
    }
    departing_.insert(number);
    for (const locks::DepartedLock& lock : departed) {
      const NodeId leader = environment_.leader(lock.to);
      std::vector<std::byte> message = move_in_message(shard, lock);
      if (message.empty()) {
        dropped_->add();
      } else if (leader != NodeId{}) {
        send_or_keep(leader, std::move(message));
      }
    }
  }
  const Tick next = now + (kMoveResendMs / options_.tick_ms + 1);
  send_at_ = departing_.empty() && waiting_.empty() ? kTickNever : next;
}

void LockMoves::on_tick(Tick now) {
  now_ = now;
  if (now < next_deadline()) {
    return;
  }
  wake_at_ = kTickNever;
  take_received();
  if (now >= send_at_) {
    send_departed(now);
  }
  places_.on_tick(now);
  for (const Asked& asked : std::exchange(waiting_, {})) {
    settle(asked);
  }
}

Tick LockMoves::next_deadline() const {
  return min_id(min_id(send_at_, wake_at_), places_.next_deadline());
}

}  // namespace gcoord::server
