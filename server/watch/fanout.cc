#include "server/watch/fanout.h"

#include "common/assert.h"
#include "server/watch/message.h"

#include <algorithm>

namespace gcoord::server {

namespace {

// What a message takes besides its bytes: itself, its allocation and its target's place.
constexpr std::size_t kOwedOverheadBytes = 96;

std::size_t memory_bytes(const OwedMessage& message) {
  return message.bytes.size() + kOwedOverheadBytes;
}

}  // namespace

OwedMessage& WatchFanout::begin(WatchTargetState& target, std::uint64_t cursor) {
  if (target.owed.empty()) {
    target.owing_place = owing_.size();
    owing_.push_back(&target);
  }
  target.owed.push_back({.bytes = {}, .cursor = cursor});
  bytes_ += memory_bytes(target.owed.back());
  return target.owed.back();
}

bool WatchFanout::add(WatchTargetState& target,
                      const protocol::WatchBlock& block,
                      std::uint64_t cursor) {
  const bool open = !target.owed.empty() && !target.owed.back().closed &&
                    target.owed.back().bytes.size() < kWatchMessageBytes;
  if (open) {
    std::vector<std::byte>& bytes = target.owed.back().bytes;
    const std::size_t before = bytes.size();
    if (append_if_fits(bytes, block)) {
      bytes_ += bytes.size() - before;
      return true;
    }
  }
  std::vector<std::byte> bytes;
  protocol::begin_watch_events(bytes);
  if (!append_if_fits(bytes, block)) {
    return false;
  }
  bytes_ += bytes.size();
  begin(target, cursor).bytes = std::move(bytes);
  return true;
}

void WatchFanout::add_end(WatchTargetState& target, std::uint64_t cursor) {
  OwedMessage& end = begin(target, cursor);
  end.is_end = true;
  end.closed = true;
}

std::size_t WatchFanout::send(std::size_t most) {
  std::size_t sent = 0;
  while (sent < most && !owing_.empty()) {
    turn_ = turn_ < owing_.size() ? turn_ : 0;
    WatchTargetState& target = *owing_[turn_];
    sent += send_some(target, std::min(most - sent, kTurnMessages));
    if (target.owed.empty()) {
      leave(target);  // Another has its place.
    } else {
      ++turn_;
    }
  }
  return sent;
}

std::size_t WatchFanout::send_some(WatchTargetState& target, std::size_t most) {
  std::size_t sent = 0;
  target.sweep_left = std::min(target.sweep_left, target.live.size());  // Some may have left.
  do {
    if (target.sweep_left == 0) {
      begin_sweep(target);
    }
    while (sent < most && target.sweep_left > 0) {
      Watch& watch = *target.live[--target.sweep_left];
      sent += tell(watch, target.sweep_last);
      target.sweep_left = std::min(target.sweep_left, target.live.size());
    }
    if (target.sweep_left == 0) {
      end_sweep(target);
    }
  } while (sent < most && !target.owed.empty());
  return std::max<std::size_t>(sent, 1);
}

// Watches that leave are replaced by the last one, which a sweep has seen if it has seen any.
void WatchFanout::begin_sweep(WatchTargetState& target) {
  target.sweep_left = target.live.size();
  target.sweep_last = target.newest();
  for (OwedMessage& message : target.owed) {
    message.closed = true;
  }
}

void WatchFanout::end_sweep(WatchTargetState& target) {
  const auto count = static_cast<std::ptrdiff_t>(target.sweep_last - target.told_all);
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    bytes_ -= memory_bytes(target.owed[static_cast<std::size_t>(k)]);
  }
  target.owed.erase(target.owed.begin(), target.owed.begin() + count);
  target.told_all = target.sweep_last;
}

// How many messages it was sent, and one for the look.
std::size_t WatchFanout::tell(Watch& watch, std::uint64_t last) {
  const WatchTargetState& target = *watch.target;
  GCOORD_ASSERT(watch.told >= target.told_all);
  std::size_t sent = 0;
  while (watch.told < last) {
    const OwedMessage& message = target.owed[watch.told - target.told_all];
    if (message.is_end || outlet_.jammed(watch, register_.connection_count())) {
      lineup_.make_behind(watch, message.cursor);
      break;
    }
    outlet_.send(watch, message.bytes);
    ++watch.told;
    ++sent;
  }
  return std::max<std::size_t>(sent, 1);
}

bool WatchFanout::settle(Watch& watch) {
  GCOORD_ASSERT(watch.stage == WatchStage::Live);
  if (watch.told < watch.target->newest()) {
    for (OwedMessage& message : watch.target->owed) {
      message.closed = true;
    }
    tell(watch, watch.target->newest());
  }
  return watch.stage == WatchStage::Live;
}

void WatchFanout::forget(WatchTargetState& target) {
  if (target.owed.empty()) {
    return;
  }
  for (const OwedMessage& message : target.owed) {
    bytes_ -= memory_bytes(message);
  }
  target.told_all = target.newest();
  target.owed.clear();
  leave(target);
}

void WatchFanout::leave(WatchTargetState& target) {
  owing_[target.owing_place] = owing_.back();
  owing_[target.owing_place]->owing_place = target.owing_place;
  owing_.pop_back();
}

}  // namespace gcoord::server
