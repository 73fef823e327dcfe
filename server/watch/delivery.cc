// How events get from the ring and from history to the watches of the desk.
#include "server/interfaces/replies.h"
#include "server/sessions/expiry_log.h"
#include "server/watch/hub.h"
#include "server/watch/message.h"

#include <algorithm>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

// What the end of a hold in a list of ends may tell: of an event its kind, flags, token and
// session; the name, the note that was there, and the note of who holds it next. It is said once
// whose place many took.
constexpr std::size_t kEventBytes = 18;
constexpr std::size_t kEndBytesMax =
    2 * kEventBytes + (2 + protocol::kNameBytesMax) + 2 * (2 + protocol::kNoteBytesMax);

// So one entry's events fit a message, unless those whose ends it lists came to hold more between
// its proposal and here.
static_assert(kListedWeightMax * kEndBytesMax + locks::kLockEventsPerCommandMax * kEventBytes +
                  64 <=
              protocol::kPayloadBytesMax);

// Records that those who lag are shown for a unit of the pass's budget.
constexpr std::size_t kRecordsPerUnit = 4;

// Watches that wait for a replay to begin, and are looked at in a pass.
constexpr std::size_t kQueueLooks = 512;

}  // namespace

// Everything that was recorded is in the stream before it.
void WatchHub::send_progress(Watch& watch) {
  GCOORD_ASSERT(watch.stage == WatchStage::Live && matched_ == ring_.end());
  watch.progress_wanted = false;
  const WatchFilter& filter = watch.target->filter;
  protocol::WatchProgressPart part;
  if (filter.arrival != 0) {
    part.last = true;
    return outlet_.send(
        watch,
        protocol::encode_watch_progress(part));  // As in begin(), and nothing is new.
  }
  for (std::uint32_t k = 0; k < filter.shard_count; ++k) {
    const ShardId shard{filter.shard_first.value + k};
    part.revisions.push_back({shard, environment_.applied(shard)});
    part.last = k + 1 == filter.shard_count;
    if (part.last || part.revisions.size() == protocol::kWatchShardsMax) {
      outlet_.send(watch, protocol::encode_watch_progress(part));
      part.revisions.clear();
    }
  }
}

// Those who are live are to be told what was recorded. What no message holds, a move of what they
// follow, and the first of a shard after a snapshot, are found again by those who wanted them, each
// at its own cursor (pump()).
void WatchHub::match() {
  for (; matched_ < ring_.end(); ++matched_) {
    const WatchRecord& record = ring_.at(matched_);
    for (WatchTargetState* const target : targets_.concerned(record, matched_)) {
      if (target->live.empty()) {
        continue;
      }
      const WatchNotice own = target->filter.filtered(record);
      if (own.empty()) {
        continue;
      }
      const bool stop = own.move || misses_.must_stop(*target, record.shard);
      if (stop || !fanout_.add(*target, own, matched_)) {
        fanout_.add_end(*target, matched_);
      }
    }
    while (!fanout_.room()) {
      fanout_.send(WatchFanout::kTurnMessages);  // The loop makes way for those who listen.
    }
  }
  unmatched_bytes_ = 0;
}

bool WatchHub::advance(std::uint64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  PassBudget& budget = environment_.budget;
  if (!on()) {
    budget.put_off(WorkClass::WatchMessages, false);
    budget.put_off(WorkClass::LostConnections, false);
    return false;
  }
  match();
  send_slice();
  const bool replays = advance_replays();
  const bool more = pump_slice() || replays;
  tell_slice();
  erase_slice();
  const bool put_off = fanout_.behind() || register_.is_due(now_ms_);
  const bool judging = options_.judge != nullptr && judging_.under_way(*options_.judge);
  const bool losing = losses_.looking || losses_.ending_all || misses_.any() || judging;
  budget.put_off(WorkClass::WatchMessages, put_off);
  budget.put_off(WorkClass::LostConnections, losing);
  return more || put_off || losing;
}

// Half of what there is, if others lag: they have the rest.
void WatchHub::send_slice() {
  const std::size_t left = environment_.budget.left(WorkClass::WatchMessages);
  const std::size_t most = !lineup_.any_behind() ? left : (left + 1) / 2;
  environment_.budget.spend(WorkClass::WatchMessages, fanout_.send(most));
}

// Whether somebody could go on at once.
bool WatchHub::pump_slice() {
  const std::size_t left = kRecordsPerUnit * environment_.budget.left(WorkClass::WatchMessages);
  std::size_t budget = left;
  const bool more =
      lineup_.for_each_in_turn(budget, [&](Watch& watch) { return pump(watch, budget); });
  environment_.budget.spend(WorkClass::WatchMessages,
                            (left - budget + kRecordsPerUnit - 1) / kRecordsPerUnit);
  return more;
}

// Whether it could go on at once.
bool WatchHub::pump(Watch& watch, std::size_t& budget) {
  if (outlet_.gone(watch)) {
    erase(watch);
    return false;
  }
  if (end_if_missed(watch)) {
    return false;
  }
  if (watch.cursor < ring_.first()) {
    end(watch, ErrorCode::WatchLagging);
    return false;
  }
  if (jammed(watch)) {
    return false;
  }
  std::vector<std::byte> payload;
  protocol::begin_watch_events(payload);
  const auto stop = gather(watch, budget, payload);
  if (holds_events(payload)) {
    outlet_.send(watch, payload);
  }
  if (!stop) {
    return catch_up(watch);
  }
  if (!stop->move) {
    end_unsendable(watch, stop->shard, stop->revision);
    return false;
  }
  if (const auto turn = watch.turn_at(*stop->move)) {
    return follow(watch, *turn);
  }
  arrive(watch, *stop);
  return true;
}

// Its client is told where events go on, as after what is pruned: to close its connection would
// have it come back for the same.
void WatchHub::end_unsendable(Watch& watch, ShardId shard, LogIndex revision) {
  metrics_.unsendable->add();
  end(watch, ErrorCode::WatchCompacted, revision + 1, shard);
}

// What a message has room for, up to a record with a move of what the watch follows, or to one that
// no message holds, which is returned. The move's events are in the message, unless it is told
// later, by way of other shards.
std::optional<WatchNotice> WatchHub::gather(Watch& watch,
                                            std::size_t& budget,
                                            std::vector<std::byte>& payload) {
  for (; watch.cursor < ring_.end() && budget > 0 && payload.size() < kWatchMessageBytes;
       --budget) {
    const WatchRecord& record = ring_.at(watch.cursor);
    WatchNotice own = watch.wants(record) ? watch.target->filter.filtered(record) : WatchNotice{};
    const bool later = own.move && watch.was_away(*own.move);
    if (!own.events.empty() && !later && !append_if_fits(payload, own)) {
      return holds_events(payload) ? std::nullopt : std::optional{std::move(own)};
    }
    ++watch.cursor;
    if (own.move) {
      return own;
    }
  }
  return std::nullopt;
}

// Whether there is more to be had at once of what was recorded.
bool WatchHub::catch_up(Watch& watch) {
  if (watch.cursor >= watch.opened_at && watch.cursor >= ring_.end()) {
    // Past where the watch was opened only such shards need their revision where this node is
    // behind what the client has seen of another.
    std::erase_if(watch.from, [this](const auto& each) {
      return each.second <= environment_.applied(ShardId{each.first}).value + 1;
    });
  }
  if (watch.cursor < ring_.end()) {
    return true;
  }
  bool more = false;
  if (watch.from.empty() && settled(watch, more)) {
    make_live(watch);
    if (watch.progress_wanted) {
      send_progress(watch);
    }
  }
  return more;
}

// Hands out what replays have made, as much as the pass has room for, and begins others. Whether
// somebody could go on at once.
bool WatchHub::advance_replays() {
  PassBudget& budget = environment_.budget;
  bool more = false;
  for (const std::uint64_t number : past_.collect()) {
    Watch* const watch = register_.numbered(number);
    if (watch == nullptr || watch->replays.empty() || !watch->replays.front()->resting) {
      continue;  // It is not what was made for any more.
    }
    const bool room = budget.left(WorkClass::WatchMessages) > 0;
    if (!room || jammed(*watch)) {
      past_.give_back(number);
      more = more || !room;
      continue;
    }
    budget.spend(WorkClass::WatchMessages,
                 1 + watch->replays.front()->batch.size() / kRecordsPerUnit);
    more = advance_replay(*watch) || more;
  }
  for (std::size_t looks = std::min(kQueueLooks, past_.queued_count()); looks > 0; --looks) {
    const auto number = past_.next(options_.replays_max);
    Watch* const watch = number ? register_.numbered(*number) : nullptr;
    if (watch == nullptr || watch->stage != WatchStage::Replaying) {
      continue;
    }
    if (jammed(*watch)) {
      past_.want(*watch);
      continue;
    }
    past_.begin(*watch);
    metrics_.replays->add();
  }
  return more;
}

bool WatchHub::advance_replay(Watch& watch) {
  WatchReplayJob& job = *watch.replays.front();
  if (watch.cursor < ring_.first()) {
    end(watch, ErrorCode::WatchLagging);
    return false;
  }
  if (!job.failure.ok()) {
    // Pruned meanwhile, or damaged, which its own worker finds.
    end(watch, ErrorCode::WatchCompacted, job.to + 1, job.shard);
    return false;
  }
  const auto stop = send_batch(watch, job);
  if (stop && stop->unsendable.value != 0) {
    end_unsendable(watch, job.shard, stop->unsendable);
    return false;
  }
  job.resting = false;
  if (stop) {
    past_.end_one();
    watch.replays.clear();
    lineup_.set_stage(watch, WatchStage::Behind);
    return follow(watch, stop->turn);
  }
  if (!job.done) {
    past_.go_on(watch);
    return false;
  }
  past_.end_one();
  watch.replays.pop_front();
  if (watch.replays.empty()) {
    lineup_.set_stage(watch, WatchStage::Behind);
  } else {
    past_.want(watch);
  }
  return true;
}

// Up to where the lock that the watch follows is somewhere else, if it is, or to what no message
// holds.
std::optional<WatchHub::ReplayStop> WatchHub::send_batch(Watch& watch, WatchReplayJob& job) {
  std::vector<std::byte> payload;
  protocol::begin_watch_events(payload);
  const auto flush = [&] {
    if (holds_events(payload)) {
      outlet_.send(watch, payload);
      payload.clear();
      protocol::begin_watch_events(payload);
    }
  };
  for (const WatchNotice& told : job.batch) {
    if (told.move) {
      flush();
      if (const auto turn = watch.turn_at(*told.move)) {
        return ReplayStop{.turn = *turn, .unsendable = {}};
      }
      arrive(watch, told);
    }
    if (told.events.empty()) {
      continue;
    }
    if (!append_if_fits(payload, told)) {
      flush();
      if (!append_if_fits(payload, told)) {
        return ReplayStop{.turn = {}, .unsendable = told.revision};
      }
    }
    if (payload.size() >= kWatchMessageBytes) {
      flush();
    }
  }
  flush();
  job.batch.clear();
  return std::nullopt;
}

}  // namespace gcoord::server
