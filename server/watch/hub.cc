#include "server/watch/hub.h"

#include "common/name_hash.h"
#include "protocol/validate.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

// What is recorded between two deliveries, however long a turn is.
constexpr std::size_t kUndeliveredBytes = std::size_t{1} << 20;

// Sweeps without a majority before watches are ended: an election should not do it.
constexpr std::uint32_t kCutOffSweeps = 3;

MetricName plain(const char* name, const char* help) {
  return MetricName{name, help, "", ""};
}

}  // namespace

WatchHub::WatchHub(const WatchHubOptions& options, Environment parts)
    : options_(options), environment_(std::move(parts)), ring_(options.ring_bytes_max) {
  MetricsRegistry& metrics = environment_.metrics;
  metrics_.watches = &metrics.gauge(plain("gcoord_server_watches", "Watches of clients."));
  metrics_.ring_bytes = &metrics.gauge(
      plain("gcoord_server_watch_ring_bytes", "Memory of the newest events, for watches."));
  metrics_.events = &metrics.counter(
      plain("gcoord_server_watch_events_total", "Events that were recorded for watches."));
  metrics_.messages = &metrics.counter(
      plain("gcoord_server_watch_messages_total", "Messages that were sent to watches."));
  metrics_.bytes = &metrics.counter(
      plain("gcoord_server_watch_bytes_total", "Bytes of messages that were sent to watches."));
  metrics_.lagging = &metrics.counter(
      plain("gcoord_server_watches_lagging_total", "Watches that were ended because they lagged."));
  metrics_.unsendable = &metrics.counter(
      plain("gcoord_server_watches_unsendable_total",
            "Watches that were ended because the changes of one entry do not fit into a message."));
  metrics_.replays = &metrics.counter(
      plain("gcoord_server_watch_replays_total", "Shards replayed from history for a watch."));
}

WatchHub::~WatchHub() = default;

void WatchHub::before(const locks::LockCpu& locks,
                      ShardId shard,
                      const locks::LockCommand& command) {
  changes_.before(locks, shard, command);
}

void WatchHub::after(const locks::LockCpu& locks,
                     ShardId shard,
                     const locks::LockCommand& command,
                     const locks::LockReply& reply,
                     std::span<const locks::LockEvent> events) {
  const auto seen = changes_.after(locks, shard, command, reply, events);
  seen_.insert(seen_.end(), seen.begin(), seen.end());
  if (auto move = watch_move(command, reply)) {
    move_ = std::move(move);
  }
}

void WatchHub::on_entry(ShardId shard, LogIndex index) {
  if (seen_.empty() && !move_) {
    return;
  }
  WatchRecord record{shard, index, std::exchange(seen_, {}), std::exchange(move_, nullptr)};
  metrics_.events->add(record.changes.size());
  const std::size_t bytes = memory_bytes(record);
  if (undelivered_bytes_ + bytes > std::min(kUndeliveredBytes, options_.ring_bytes_max / 2)) {
    deliver();  // Before the ring lets go of it.
  }
  undelivered_bytes_ += bytes;
  if (record.move && !record.move->left) {
    note_arrival(*record.move, shard);
  }
  ring_.push(std::move(record));
  forget_arrivals();
}

// The watches of the shard have missed what was in between.
void WatchHub::on_installed(ShardId shard) {
  deliver();
  const LogIndex applied = environment_.applied(shard);
  ring_.forget(shard, applied);
  forget_arrivals(shard);
  std::vector<Watch*> missed;
  for (const auto& [number, watch] : watches_) {
    if (watch->target->filter.covers(shard)) {
      missed.push_back(watch.get());
    }
  }
  for (Watch* const watch : missed) {
    end(*watch, ErrorCode::WatchCompacted, applied + 1, shard);
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
  std::vector<std::uint64_t> applied(options_.shard_count);
  for (std::uint32_t shard = 0; shard < options_.shard_count; ++shard) {
    applied[shard] = environment_.applied(ShardId{shard}).value;
  }
  ring_.start(std::move(applied));
  delivered_ = ring_.end();
  set_on(true);
}

void WatchHub::refuse(protocol::ConnectionId connection,
                      const protocol::RequestSlot& request,
                      ErrorCode error) {
  environment_.replies.reply(connection, error_reply(request, error), {});
}

void WatchHub::on_request(protocol::ConnectionId connection,
                          const protocol::RequestSlot& request,
                          std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == RequestKind::WatchOpen || request.kind == RequestKind::WatchClose ||
                request.kind == RequestKind::WatchProgress);
  const protocol::RequestLimits limits{.shard_count = options_.shard_count};
  if (const ErrorCode code = protocol::check_request(request, payload, limits);
      code != ErrorCode::None) {
    refuse(connection, request, code);
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
  if (!connected_) {
    return ErrorCode::WatchCutOff;
  }
  if (watches_.size() >= kWatchesMax) {
    return ErrorCode::WatchesExhausted;
  }
  const bool known = numbers_.contains({connection.value, request.request_id});
  return known ? ErrorCode::WatchInvalid : ErrorCode::None;
}

ErrorCode WatchHub::make_filter(const protocol::RequestSlot& request,
                                const protocol::WatchQuery& query,
                                WatchFilter& filter) const {
  filter = {.target = query.target,
            .text = query.text,
            .session = query.session,
            .queue = request.has(protocol::RequestFlag::WatchQueue),
            .kinds = query.kinds,
            .previous = request.has(protocol::RequestFlag::WatchPrevious),
            .shard_first = query.shard_first,
            .shard_count = query.shard_count};
  if (query.target == protocol::WatchTarget::Name) {
    filter.shard_first = shard_of(hash_name(query.text), options_.shard_count);
    filter.shard_count = 1;
    filter.follows = request.has(protocol::RequestFlag::WatchFollow);
  } else if (query.shard_count == 0) {
    filter.shard_first = ShardId{0};
    filter.shard_count = options_.shard_count;
  }
  if (filter.follows && query.from.size() > 1) {
    return ErrorCode::WatchInvalid;
  }
  if (filter.follows && !query.from.empty()) {
    filter.shard_first = query.from.front().shard;
  } else if (filter.follows) {
    const FollowPosition place = place_of(hash_name(query.text));
    filter.shard_first = place.shard;
    filter.arrival = place.arrival;
  }
  if (filter.shard_first.value >= options_.shard_count ||
      filter.shard_count > options_.shard_count - filter.shard_first.value) {
    return ErrorCode::ShardOutOfRange;
  }
  const bool covered = std::ranges::all_of(
      query.from, [&](const protocol::ShardRevision& each) { return filter.covers(each.shard); });
  return covered ? ErrorCode::None : ErrorCode::WatchInvalid;
}

void WatchHub::on_open(protocol::ConnectionId connection,
                       const protocol::RequestSlot& request,
                       std::span<const std::byte> payload) {
  const auto query = protocol::decode_watch_query(payload);
  WatchFilter filter;
  ErrorCode code = query.ok() ? admit(connection, request) : protocol::refusal_of(query.status());
  if (code == ErrorCode::None) {
    code = make_filter(request, query.value(), filter);
  }
  if (code != ErrorCode::None) {
    return refuse(connection, request, code);
  }
  record();
  auto watch = std::make_unique<Watch>();
  watch->number = ++newest_;
  watch->connection = connection;
  watch->request = request;
  watch->progress_ms = query.value().progress_ms;
  watch->progress_at_ms = now_ms_ + watch->progress_ms;
  for (const protocol::ShardRevision& each : query.value().from) {
    watch->from[each.shard.value] = each.revision.value;
  }
  if (filter.follows && watch->from.empty()) {
    watch->move_number = place_of(hash_name(filter.text)).move_number;
  }
  watch->target = &targets_.add(filter);
  protocol::ReplySlot refusal = error_reply(request, ErrorCode::WatchCompacted);
  if (!plan_replays(*watch, refusal)) {
    targets_.drop(*watch->target);
    return environment_.replies.reply(connection, refusal, {});
  }
  Watch& opened = *watch;
  numbers_[{connection.value, request.request_id}] = opened.number;
  if (opened.progress_ms != 0) {
    timed_.emplace(opened.progress_at_ms, opened.number);
  }
  watches_.emplace(opened.number, std::move(watch));
  ++connections_[connection.value];
  metrics_.watches->set(static_cast<std::int64_t>(watches_.size()));
  begin(opened);
}

// What of the past is not in the ring must come from history, or the watch is refused.
bool WatchHub::plan_replays(Watch& watch, protocol::ReplySlot& refusal) {
  for (const auto& [shard, from] : watch.from) {
    const LogIndex floor = ring_.floor(ShardId{shard});
    if (from > floor.value) {
      continue;
    }
    auto job = make_replay(watch, ShardId{shard}, LogIndex{from});
    if (job == nullptr) {
      refusal.extra = floor.value + 1;
      refusal.shard = shard;
      return false;
    }
    watch.replays.push_back(std::move(job));
  }
  return true;
}

// Of what the ring no longer has; nothing if that cannot be had.
std::shared_ptr<WatchReplayJob> WatchHub::make_replay(const Watch& watch,
                                                      ShardId shard,
                                                      LogIndex from) {
  const LogIndex floor = ring_.floor(shard);
  if (environment_.history && replay_ == nullptr) {
    replay_ = std::make_unique<WatchReplay>(environment_.history, environment_.wake);
  }
  if (replay_ == nullptr || !replay_->can(shard, floor)) {
    return nullptr;
  }
  auto job = std::make_shared<WatchReplayJob>();
  job->watch = watch.number;
  job->shard = shard;
  job->from = from;
  job->to = floor;
  job->filter = watch.target->filter;
  return job;
}

// Says of every shard that begins now where "now" is. Of a lock that is under way it is where its
// home is: who came again from where the lock is yet to come would seem to have seen it there.
void WatchHub::begin(Watch& watch) {
  deliver();  // What was before is for others.
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
      send(watch, protocol::encode_watch_progress(part));
      part.revisions.clear();
    }
  }
  part.last = true;
  send(watch, protocol::encode_watch_progress(part));
  watch.opened_at = ring_.end();
  watch.cursor = watch.from.empty() ? ring_.end() : ring_.first();
  watch.stage = watch.replays.empty() ? WatchStage::Behind : WatchStage::Replaying;
  watch.place = behind_.size();
  behind_.push_back(&watch);
  if (watch.from.empty()) {
    make_live(watch);
  }
}

Watch* WatchHub::find(protocol::ConnectionId connection, std::uint64_t request_id) {
  const auto found = numbers_.find({connection.value, request_id});
  return found == numbers_.end() ? nullptr : watches_.at(found->second).get();
}

void WatchHub::on_close(protocol::ConnectionId connection, const protocol::RequestSlot& request) {
  Watch* const watch = find(connection, request.sequence);
  if (watch == nullptr) {
    return refuse(connection, request, ErrorCode::WatchUnknown);
  }
  end(*watch, ErrorCode::WatchClosed);
  environment_.replies.reply(connection, protocol::reply_to(request), {});
}

void WatchHub::on_progress(protocol::ConnectionId connection,
                           const protocol::RequestSlot& request) {
  Watch* const watch = find(connection, request.sequence);
  if (watch == nullptr) {
    return refuse(connection, request, ErrorCode::WatchUnknown);
  }
  environment_.replies.reply(connection, protocol::reply_to(request), {});
  deliver();  // Which leaves behind whose connection is full.
  if (watch->stage == WatchStage::Live) {
    send_progress(*watch);
  } else {
    watch->progress_wanted = true;
  }
}

void WatchHub::on_sweep(std::uint64_t now_ms, bool connected) {
  now_ms_ = now_ms;
  cut_off_sweeps_ = connected ? 0 : cut_off_sweeps_ + 1;
  connected_ = cut_off_sweeps_ < kCutOffSweeps;
  if (!connected_) {
    end_all(ErrorCode::WatchCutOff);
  }
  erase_gone();
  tell_progress();
  metrics_.ring_bytes->set(static_cast<std::int64_t>(ring_.bytes()));
  if (!watches_.empty()) {
    record();
    environment_.tell_peers(std::array{kWatchNewsKind});
  } else if (on() && now_ms >= record_until_ms_) {
    set_on(false);
    ring_.stop();
    forget_arrivals();
    replay_.reset();
  }
}

void WatchHub::erase_gone() {
  std::vector<std::uint64_t> left;
  for (const auto& [connection, count] : connections_) {
    if (!environment_.replies.backlog_bytes(protocol::ConnectionId{connection})) {
      left.push_back(connection);
    }
  }
  for (const std::uint64_t connection : left) {
    for (auto at = numbers_.lower_bound({connection, 0});
         at != numbers_.end() && at->first.first == connection;
         at = numbers_.lower_bound({connection, 0})) {
      erase(*watches_.at(at->second));
    }
  }
}

// To those whose time has come and who have everything; the others say it when they have.
void WatchHub::tell_progress() {
  deliver();
  while (!timed_.empty() && timed_.begin()->first <= now_ms_) {
    const std::uint64_t number = timed_.begin()->second;
    timed_.erase(timed_.begin());
    Watch& watch = *watches_.at(number);
    watch.progress_at_ms = now_ms_ + watch.progress_ms;
    timed_.emplace(watch.progress_at_ms, number);
    if (watch.stage == WatchStage::Live && !jammed(watch)) {
      send_progress(watch);
    } else {
      watch.progress_wanted = true;
    }
  }
}

bool WatchHub::gone(const Watch& watch) const {
  return !environment_.replies.backlog_bytes(watch.connection).has_value();
}

// Each connection has its part of what all may leave unread.
bool WatchHub::jammed(const Watch& watch) const {
  const std::size_t part =
      options_.backlog_bytes_max / std::max<std::size_t>(connections_.size(), 1);
  const std::size_t limit = std::clamp(part, options_.backlog_each_min, options_.backlog_each_max);
  return environment_.replies.backlog_bytes(watch.connection).value_or(0) >= limit;
}

void WatchHub::unlist(Watch& watch) {
  auto& list = watch.stage == WatchStage::Live ? watch.target->live : behind_;
  GCOORD_ASSERT(list[watch.place] == &watch);
  list[watch.place] = list.back();
  list[watch.place]->place = watch.place;
  list.pop_back();
}

void WatchHub::make_live(Watch& watch) {
  GCOORD_ASSERT(watch.cursor == ring_.end() && delivered_ == ring_.end());
  unlist(watch);
  watch.stage = WatchStage::Live;
  watch.place = watch.target->live.size();
  watch.target->live.push_back(&watch);
}

void WatchHub::make_behind(Watch& watch, std::uint64_t cursor) {
  unlist(watch);
  watch.stage = WatchStage::Behind;
  watch.cursor = cursor;
  watch.place = behind_.size();
  behind_.push_back(&watch);
}

void WatchHub::end(Watch& watch, ErrorCode error, LogIndex first, ShardId shard) {
  protocol::ReplySlot reply = error_reply(watch.request, error);
  reply.extra = first.value;
  reply.shard = shard.value;
  metrics_.lagging->add(error == ErrorCode::WatchLagging ? 1 : 0);
  environment_.replies.unpark(watch.connection);
  environment_.replies.reply(watch.connection, reply, {});
  erase(watch);
}

void WatchHub::erase(Watch& watch) {
  unlist(watch);
  if (!watch.replays.empty()) {
    replaying_ -= watch.replays.front()->begun ? 1 : 0;
    watch.replays.front()->given_up.store(true);
  }
  targets_.drop(*watch.target);
  timed_.erase({watch.progress_at_ms, watch.number});
  numbers_.erase({watch.connection.value, watch.request.request_id});
  const auto connection = connections_.find(watch.connection.value);
  --connection->second;
  if (connection->second == 0) {
    connections_.erase(connection);
  }
  watches_.erase(watch.number);
  metrics_.watches->set(static_cast<std::int64_t>(watches_.size()));
}

void WatchHub::end_all(ErrorCode error) {
  std::vector<Watch*> all;
  for (const auto& [number, watch] : watches_) {
    all.push_back(watch.get());
  }
  for (Watch* const watch : all) {
    end(*watch, error);
  }
}

}  // namespace gcoord::server
