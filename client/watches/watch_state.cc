#include "client/watches/watch_state.h"

#include "client/net/failure.h"
#include "gcoord/future.h"
#include "protocol/lease_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

// Its events of these kinds; without any if there are none.
WatchBatch batch_of(const protocol::WatchBlock& block, std::uint8_t kinds) {
  WatchBatch batch{.shard = block.shard.value, .revision = block.revision.value, .events = {}};
  for (const protocol::WatchEvent& event : block.events) {
    if (kinds != 0 && (kinds & protocol::watch_kind_bit(event.kind)) == 0) {
      continue;
    }
    batch.events.push_back({.kind = static_cast<EventKind>(event.kind),
                            .name = event.name,
                            .token = event.token.value,
                            .session_id = event.session.value,
                            .value = event.value,
                            .previous = {.kind = static_cast<PreviousKind>(event.previous.before),
                                         .token = event.previous.token.value,
                                         .session_id = event.previous.session.value,
                                         .value = event.previous.value},
                            .hidden = event.session == protocol::kHiddenSession});
  }
  return batch;
}

std::size_t bytes_of(const WatchBatch& batch) {
  std::size_t bytes = sizeof batch;
  for (const WatchEvent& event : batch.events) {
    bytes += sizeof event + event.name.size() + event.value.size() + event.previous.value.size();
  }
  return bytes;
}

// A clock cannot tell what is further away.
std::chrono::milliseconds in_reach(std::chrono::milliseconds timeout) {
  constexpr std::chrono::hours kYear{24 * 365};
  return std::clamp<std::chrono::milliseconds>(timeout, std::chrono::milliseconds{0}, kYear);
}

std::vector<Revision> listed(const std::map<std::uint32_t, std::uint64_t>& places) {
  std::vector<Revision> result;
  result.reserve(places.size());
  for (const auto& [shard, revision] : places) {
    result.push_back({shard, revision});
  }
  return result;
}

}  // namespace

const char* event_name(EventKind kind) {
  // Literals, which end with a zero.
  return protocol::watch_event_name(static_cast<protocol::WatchEventKind>(kind)).data();
}

const char* previous_name(PreviousKind kind) {
  switch (kind) {
    case PreviousKind::Nothing:
      return "nothing";
    case PreviousKind::Hold:
      return "hold";
    case PreviousKind::Unknown:
      break;
  }
  return "unknown";
}

WatchState::WatchState(WatchOptions options, Watch::Callback callback)
    : options_(std::move(options)),
      callback_(std::move(callback)),
      kinds_(kinds_mask(options_.kinds).value_or(0)) {}

std::optional<std::uint8_t> kinds_mask(const std::vector<EventKind>& kinds) {
  std::uint8_t mask = 0;
  for (const EventKind kind : kinds) {
    if (kind < EventKind::Granted || kind > EventKind::Left) {
      return std::nullopt;
    }
    mask |= protocol::watch_kind_bit(static_cast<protocol::WatchEventKind>(kind));
  }
  return mask;
}

bool WatchState::accept(const protocol::WatchBlock& block) {
  const auto known = queued_to_.find(block.shard.value);
  if (known != queued_to_.end() && block.revision.value <= known->second) {
    return true;
  }
  WatchBatch batch = batch_of(block, kinds_);
  if (batch.events.empty()) {
    set_place(queued_to_, batch.shard, batch.revision);
    hand_over_progress(batch.shard, batch.revision);
    return true;
  }
  const std::size_t bytes = bytes_of(batch);
  if (!callback_) {
    const std::lock_guard lock(mutex_);
    if (queue_bytes_ != 0 && queue_bytes_ + bytes > options_.queue_bytes_max) {
      full_ = true;
      return false;
    }
  }
  set_place(queued_to_, batch.shard, batch.revision);
  hand_over({std::move(batch), bytes});
  return true;
}

void WatchState::note(const protocol::WatchProgressPart& progress) {
  for (const protocol::ShardRevision& each : progress.revisions) {
    const auto known = queued_to_.find(each.shard.value);
    if (known == queued_to_.end() || known->second < each.revision.value) {
      set_place(queued_to_, each.shard.value, each.revision.value);
      hand_over_progress(each.shard.value, each.revision.value);
    }
  }
}

void WatchState::set_place(Places& places, std::uint32_t shard, std::uint64_t revision) const {
  if (of_name()) {
    places.clear();
  }
  places[shard] = revision;
}

void WatchState::note_taken(const Item& item) {
  if (!item.batch.events.empty()) {
    set_place(taken_to_, item.batch.shard, item.batch.revision);
  }
  for (const auto& [shard, revision] : item.progress) {
    set_place(taken_to_, shard, revision);
  }
}

void WatchState::hand_over(Item item) {
  if (callback_) {
    call_back(item.batch);
    const std::lock_guard lock(mutex_);
    note_taken(item);
    return;
  }
  const std::lock_guard lock(mutex_);
  queue_bytes_ += item.bytes;
  queue_.push_back(std::move(item));
  event_fd_.set(true);
  changed_.notify_all();
}

// Behind what was not taken yet.
void WatchState::hand_over_progress(std::uint32_t shard, std::uint64_t revision) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) {
    set_place(taken_to_, shard, revision);
    return;
  }
  if (!queue_.back().batch.events.empty()) {
    queue_.emplace_back();
  }
  set_place(queue_.back().progress, shard, revision);
}

void WatchState::set_started() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  changed_.notify_all();
}

void WatchState::fail(const Status& status, Revision first) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) {
      return;
    }
    failure_ = status;
    first_ = first;
    event_fd_.set(true);
    changed_.notify_all();
  }
  call_back(status);
}

void WatchState::call_back(const Result<WatchBatch>& batch) {
  const std::lock_guard lock(calling_);
  if (callback_ && !silent_) {
    callback_(batch);
  }
}

Status WatchState::wait_started(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool decided =
      changed_.wait_for(lock, timeout, [this] { return started_ || failure_.has_value(); });
  if (failure_) {
    return *failure_;
  }
  return decided ? Status{}
                 : failure(protocol::ErrorCode::Unreachable, "no node has started the watch");
}

Result<std::optional<WatchBatch>> WatchState::take(
    std::optional<std::chrono::milliseconds> timeout) {
  if (callback_) {
    return failure(protocol::ErrorCode::WatchInvalid, "next() called on a watch with a callback");
  }
  std::unique_lock lock(mutex_);
  const auto until = std::chrono::steady_clock::now() +
                     in_reach(timeout.value_or(std::chrono::milliseconds::max()));
  while (true) {
    if (!queue_.empty()) {
      Item item = take_front();
      event_fd_.set(ready());
      if (full_ && queue_bytes_ <= options_.queue_bytes_max / 2) {
        full_ = false;
        hooks_.on_room();
      }
      return std::optional{std::move(item.batch)};
    }
    event_fd_.set(ready());  // Whoever waits for it may have read it.
    if (failure_) {
      return *failure_;
    }
    if (!timeout) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, until) == std::cv_status::timeout && queue_.empty() &&
               !failure_) {
      return std::optional<WatchBatch>{};
    }
  }
}

// The batch in front and the progress behind it, so that a batch is in front again, or nothing is
// left: who only takes what is ready would otherwise never hear of that progress.
WatchState::Item WatchState::take_front() {
  Item item = std::move(queue_.front());
  queue_.pop_front();
  queue_bytes_ -= item.bytes;
  note_taken(item);
  if (!queue_.empty() && queue_.front().batch.events.empty()) {
    note_taken(queue_.front());
    queue_.pop_front();
  }
  return item;
}

bool WatchState::ready() const {
  return !queue_.empty() || failure_.has_value();
}

Result<int> WatchState::event_fd() {
  if (callback_) {
    return failure(protocol::ErrorCode::WatchInvalid,
                   "event_fd() called on a watch with a callback");
  }
  const std::lock_guard lock(mutex_);
  return event_fd_.get(ready());
}

void WatchState::retire_event_fd() {
  const std::lock_guard lock(mutex_);
  event_fd_.close();
}

Result<std::vector<Revision>> WatchState::progress(std::chrono::milliseconds timeout) {
  if (hooks_.on_own_thread()) {
    return blocked_in_callback();
  }
  const auto until = std::chrono::steady_clock::now() + in_reach(timeout);
  std::unique_lock lock(mutex_);
  const std::uint64_t ask = ++asked_;
  hooks_.on_ask();
  changed_.wait_until(lock, until, [&] { return answered_ >= ask || failure_.has_value(); });
  if (answered_ >= ask) {
    return answer_;
  }
  return failure_ ? *failure_
                  : failure(protocol::ErrorCode::DeadlineExceeded, "progress of the watch");
}

std::uint64_t WatchState::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void WatchState::set_answered(std::uint64_t ask) {
  const std::lock_guard lock(mutex_);
  answered_ = ask;
  answer_ = listed(queued_to_);
  changed_.notify_all();
}

void WatchState::close() {
  {
    const std::lock_guard lock(calling_);
    silent_ = true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = failure(protocol::ErrorCode::WatchClosed);
    }
    event_fd_.set(true);
    changed_.notify_all();
  }
  hooks_.on_close();
}

std::vector<Revision> WatchState::revisions() const {
  const std::lock_guard lock(mutex_);
  return listed(taken_to_);
}

std::size_t WatchState::queue_items() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

Revision WatchState::first_revision() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

}  // namespace gcoord::client
