#include "server/watch/hub.h"

#include "common/name_hash.h"
#include "protocol/validate.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// What is recorded before it is matched, however long a turn is.
constexpr std::size_t kUnmatchedBytes = std::size_t{1} << 20;

// Of the pass's budget: an end with its reply. A unit is worth some looks at a connection.
constexpr std::size_t kEndUnits = 2;
constexpr std::size_t kLooksPerUnit = 4;

// Shards whose revisions a message of progress has room for, for as much as a message costs.
constexpr std::uint32_t kShardsPerUnit = 64;

// Sweeps without a majority before watches are ended: an election should not do it.
constexpr std::uint32_t kCutOffSweeps = 3;

}  // namespace

WatchHub::WatchHub(const WatchHubOptions& options, Environment parts)
    : options_(options),
      environment_(std::move(parts)),
      metrics_(environment_.metrics),
      outlet_(options_, environment_.replies, metrics_),
      filters_(options.shard_count, environment_.residence),
      ring_(options.ring_bytes_max),
      past_(ring_, environment_.history, environment_.wake),
      fanout_(outlet_, lineup_, register_) {}

WatchHub::~WatchHub() = default;

void WatchHub::before(const locks::LockCpu& locks,
                      ShardId shard,
                      const locks::LockCommand& command) {
  entry_.before(locks, shard, command);
}

void WatchHub::after(const locks::LockCpu& locks,
                     ShardId shard,
                     const locks::LockCommand& command,
                     const locks::LockReply& reply,
                     std::span<const locks::LockEvent> events) {
  entry_.after(locks, shard, command, reply, events);
}

void WatchHub::on_entry(ShardId shard, LogIndex index) {
  auto taken = entry_.take(shard, index);
  if (!taken) {
    return;
  }
  WatchRecord& record = *taken;
  metrics_.events->add(record.changes.size());
  const std::size_t bytes = memory_bytes(record);
  if (unmatched_bytes_ + bytes > std::min(kUnmatchedBytes, options_.ring_bytes_max / 2)) {
    match();  // Before the ring lets go of it.
  }
  unmatched_bytes_ += bytes;
  if (record.move && !record.move->left) {
    arrivals_.note(*record.move, {shard, ring_.end()});
  }
  ring_.push(std::move(record));
  arrivals_.forget_before(ring_.first());
}

// The watches of the shard have missed what was in between.
void WatchHub::on_installed(ShardId shard) {
  match();
  const LogIndex applied = environment_.applied(shard);
  ring_.forget(shard, applied);
  arrivals_.forget(shard);
  if (register_.size() != 0) {
    misses_.add(shard, applied + 1);
    end_missed_slice();
  }
}

bool WatchHub::on_peer_message(NodeId, std::span<const std::byte> message) {
  if (message.size() != 1 || message.front() != kWatchNewsKind) {
    return false;
  }
  record();
  return true;
}

void WatchHub::record() {
  record_until_ms_ = now_ms_ + kWatchMemoryMs;
  if (on()) {
    return;
  }
  set_on(true);  // What the tables have from here on is seen.
  std::vector<std::uint64_t> applied(options_.shard_count);
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    applied[shard] = environment_.applied(ShardId{shard}).value;
  }
  ring_.start(std::move(applied));
  matched_ = ring_.end();
}

void WatchHub::on_request(protocol::ConnectionId connection,
                          const protocol::RequestSlot& request,
                          std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == RequestKind::WatchOpen || request.kind == RequestKind::WatchClose ||
                request.kind == RequestKind::WatchProgress);
  const protocol::RequestLimits limits{.shard_count = options_.shard_count};
  if (const ErrorCode code = protocol::check_request(request, payload, limits);
      code != ErrorCode::None) {
    outlet_.refuse(connection, request, code);
  } else if (request.kind == RequestKind::WatchOpen) {
    on_open(connection, request, payload);
  } else if (request.kind == RequestKind::WatchClose) {
    on_close(connection, request);
  } else {
    on_progress(connection, request);
  }
}

ErrorCode WatchHub::admit(protocol::ConnectionId connection,
                          const protocol::RequestSlot& request) const {
  if (!losses_.connected || losses_.ending_all) {
    return ErrorCode::WatchCutOff;
  }
  if (register_.size() >= kWatchesMax) {
    return ErrorCode::WatchesExhausted;
  }
  const bool known = register_.find(connection, request.request_id) != nullptr;
  return known ? ErrorCode::WatchInvalid : ErrorCode::None;
}

void WatchHub::on_open(protocol::ConnectionId connection,
                       const protocol::RequestSlot& request,
                       std::span<const std::byte> payload) {
  const auto query = protocol::decode_watch_query(payload);
  WatchFilter filter;
  ErrorCode code = query.ok() ? admit(connection, request) : protocol::refusal_of(query.status());
  if (code == ErrorCode::None) {
    code = filters_.make(request, query.value(), filter);
  }
  if (code != ErrorCode::None) {
    return outlet_.refuse(connection, request, code);
  }
  record();
  auto watch = std::make_unique<Watch>();
  watch->number = register_.next_number();
  watch->connection = connection;
  watch->request = request;
  watch->progress_ms = query.value().progress_ms;
  watch->progress_at_ms = now_ms_ + watch->progress_ms;
  watch->misses = misses_.newest();
  for (const protocol::ShardRevision& each : query.value().from) {
    watch->from[each.shard.value] = each.revision.value;
  }
  if (filter.follows && watch->from.empty()) {
    watch->move_number = filters_.place_of(hash_name(filter.text)).move_number;
  }
  watch->target = &targets_.add(filter);
  const WatchVerdict verdict =
      options_.judge == nullptr ? WatchVerdict{} : judged(*watch, *options_.judge);
  protocol::ReplySlot refusal =
      error_reply(request, verdict.allowed ? ErrorCode::WatchCompacted : ErrorCode::NotAllowed);
  if (!verdict.allowed || !past_.plan(*watch, verdict.past, refusal)) {
    drop_target(*watch->target);
    return environment_.replies.reply(connection, refusal, std::as_bytes(std::span{verdict.why}));
  }
  Watch& opened = register_.add(std::move(watch));
  metrics_.watches->set(static_cast<std::int64_t>(register_.size()));
  begin(opened);
}

// Says of every shard that begins now where "now" is. Of a lock that is under way it is where its
// home is: who came again from where the lock is yet to come would seem to have seen it there.
void WatchHub::begin(Watch& watch) {
  match();  // What was before is for others.
  environment_.replies.park(watch.connection);
  protocol::WatchProgressPart part;
  const WatchFilter& filter = watch.target->filter;
  const ShardId first = filter.arrival == 0
                            ? filter.shard_first
                            : shard_of(hash_name(filter.text), options_.shard_count);
  for (std::uint32_t k = 0; k < filter.shard_count; ++k) {
    const ShardId shard{first.value + k};
    if (watch.from.contains(shard.value)) {
      continue;
    }
    part.revisions.push_back({shard, environment_.applied(shard)});
    if (part.revisions.size() == protocol::kWatchShardsMax) {
      outlet_.send(watch, protocol::encode_watch_progress(part));
      part.revisions.clear();
    }
  }
  part.last = true;
  outlet_.send(watch, protocol::encode_watch_progress(part));
  watch.opened_at = ring_.end();
  watch.cursor = watch.from.empty() ? ring_.end() : ring_.first();
  watch.stage = watch.replays.empty() ? WatchStage::Behind : WatchStage::Replaying;
  lineup_.add(watch);
  if (!watch.replays.empty()) {
    past_.want(watch);
  }
  if (watch.from.empty()) {
    make_live(watch);
  }
}

void WatchHub::on_close(protocol::ConnectionId connection, const protocol::RequestSlot& request) {
  Watch* const watch = register_.find(connection, request.sequence);
  if (watch == nullptr || end_if_missed(*watch)) {
    return outlet_.refuse(connection, request, ErrorCode::WatchUnknown);
  }
  end(*watch, ErrorCode::WatchClosed);
  environment_.replies.reply(connection, protocol::reply_to(request), {});
}

void WatchHub::on_progress(protocol::ConnectionId connection,
                           const protocol::RequestSlot& request) {
  Watch* const watch = register_.find(connection, request.sequence);
  if (watch == nullptr || end_if_missed(*watch)) {
    return outlet_.refuse(connection, request, ErrorCode::WatchUnknown);
  }
  environment_.replies.reply(connection, protocol::reply_to(request), {});
  match();
  if (settled_live(*watch)) {  // Not whose connection is full.
    send_progress(*watch);
  } else {
    watch->progress_wanted = true;
  }
}

void WatchHub::on_sweep(std::uint64_t now_ms, bool connected) {
  now_ms_ = now_ms;
  losses_.cut_off_sweeps = connected ? 0 : losses_.cut_off_sweeps + 1;
  losses_.connected = losses_.cut_off_sweeps < kCutOffSweeps;
  losses_.ending_all = losses_.ending_all || !losses_.connected;
  losses_.looking = true;
  erase_slice();
  tell_slice();
  metrics_.ring_bytes->set(static_cast<std::int64_t>(ring_.bytes()));
  if (register_.size() != 0) {
    record();
    environment_.tell_peers(std::array{kWatchNewsKind});
  } else if (on() && now_ms >= record_until_ms_) {
    set_on(false);
    ring_.stop();
    arrivals_.forget_before(ring_.first());
    past_.stop();
  }
}

// Of those whose connection is gone, who missed something or whose right is gone, or of all when
// this node was cut off, as many as the pass has room for.
void WatchHub::erase_slice() {
  PassBudget& budget = environment_.budget;
  while (losses_.ending_all && register_.size() != 0 &&
         budget.left(WorkClass::LostConnections) > 0) {
    end(register_.any(), ErrorCode::WatchCutOff);
    budget.spend(WorkClass::LostConnections, kEndUnits);
  }
  losses_.ending_all = losses_.ending_all && register_.size() != 0;
  end_missed_slice();
  std::size_t looks = kLooksPerUnit * budget.left(WorkClass::LostConnections);
  const std::size_t looks_first = looks;
  while (losses_.looking && looks > 0) {
    const protocol::ConnectionId next = register_.connection_behind(losses_.looked_at);
    --looks;
    if (next.value == 0 || environment_.replies.backlog_bytes(next)) {
      losses_.looked_at = next;
      losses_.looking = next.value != 0;
      continue;
    }
    erase(*register_.first_of(next));
    looks -= std::min(looks, kLooksPerUnit);
  }
  while (options_.judge != nullptr && looks > 0) {
    Watch* const refused = judging_.next_refused(register_, *options_.judge, looks);
    if (refused == nullptr) {
      break;
    }
    options_.judge->on_ended();
    end(*refused, ErrorCode::NotAllowed);
    looks -= std::min(looks, kLooksPerUnit * kEndUnits);
  }
  budget.spend(WorkClass::LostConnections,
               (looks_first - looks + kLooksPerUnit - 1) / kLooksPerUnit);
}

void WatchHub::end_missed_slice() {
  std::size_t looks = kLooksPerUnit * environment_.budget.left(WorkClass::LostConnections);
  const std::size_t looks_first = looks;
  while (misses_.any() && looks > 0) {
    --looks;
    Watch* const watch = misses_.next(register_);
    if (watch != nullptr && end_if_missed(*watch)) {
      looks -= std::min(looks, kLooksPerUnit * kEndUnits);
    }
  }
  environment_.budget.spend(WorkClass::LostConnections,
                            (looks_first - looks + kLooksPerUnit - 1) / kLooksPerUnit);
}

// Whether the watch is no more: it missed what a snapshot brought.
bool WatchHub::end_if_missed(Watch& watch) {
  const auto miss = misses_.of(watch);
  if (miss) {
    end(watch, ErrorCode::WatchCompacted, miss->first, miss->shard);
  }
  return miss.has_value();
}

// Progress to those whose time has come and who have everything; the others say it when they have.
void WatchHub::tell_slice() {
  match();
  PassBudget& budget = environment_.budget;
  while (register_.is_due(now_ms_) && budget.left(WorkClass::WatchMessages) > 0) {
    Watch& watch = *register_.take_due(now_ms_);
    budget.spend(WorkClass::WatchMessages, 1 + watch.target->filter.shard_count / kShardsPerUnit);
    if (end_if_missed(watch)) {
      continue;
    }
    if (!jammed(watch) && settled_live(watch)) {
      send_progress(watch);
    } else {
      watch.progress_wanted = true;
    }
  }
}

// Whether the watch has everything now.
bool WatchHub::settled_live(Watch& watch) {
  return watch.stage == WatchStage::Live && fanout_.settle(watch);
}

void WatchHub::drop_target(WatchTargetState& target) {
  if (target.watch_count == 1) {
    fanout_.forget(target);
  }
  targets_.drop(target);
}

bool WatchHub::jammed(const Watch& watch) const {
  return outlet_.jammed(watch, register_.connection_count());
}

void WatchHub::make_live(Watch& watch) {
  GCOORD_ASSERT(watch.cursor == ring_.end() && matched_ == ring_.end());
  lineup_.set_stage(watch, WatchStage::Live);
  WatchFanout::join(watch);
}

void WatchHub::end(Watch& watch, ErrorCode error, LogIndex first, ShardId shard) {
  settled_live(watch);  // What happened before its end is sent before it.
  protocol::ReplySlot reply = error_reply(watch.request, error);
  reply.extra = first.value;
  reply.shard = shard.value;
  metrics_.lagging->add(error == ErrorCode::WatchLagging ? 1 : 0);
  environment_.replies.unpark(watch.connection);
  const std::string_view why =
      error == ErrorCode::NotAllowed ? std::string_view{watch.verdict.why} : std::string_view{};
  environment_.replies.reply(watch.connection, reply, std::as_bytes(std::span{why}));
  erase(watch);
}

void WatchHub::erase(Watch& watch) {
  lineup_.remove(watch);
  past_.give_up(watch);
  drop_target(*watch.target);
  register_.erase(watch);
  metrics_.watches->set(static_cast<std::int64_t>(register_.size()));
}

}  // namespace gcoord::server
