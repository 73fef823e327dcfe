// One watch between the thread that is told and the thread that asks: its queue, and how far it is.
//
// accept() and note() run on the feed's thread (watch_feed.h), the rest on any. Revisions are kept
// twice: up to where everything is in the queue, which is where the feed goes on; and up to where
// it was taken, which is where another watch would.
#pragma once

#include "client/notices/event_descriptor.h"
#include "gcoord/watch.h"
#include "protocol/watch_messages.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::client {

// As WatchQuery::kinds has them: 0 for none, which means all. Nothing for what is no kind.
std::optional<std::uint8_t> kinds_mask(const std::vector<EventKind>& kinds);

class WatchState {
 public:
  // The feed's ears.
  struct Hooks {
    std::function<void()> on_room;        // There is room again.
    std::function<void()> on_close;       // It is closed.
    std::function<void()> on_ask;         // asked() has risen.
    std::function<bool()> on_own_thread;  // Whether it is the feed's thread that asks.
  };

  WatchState(WatchOptions options, Watch::Callback callback);

  const WatchOptions& options() const { return options_; }

  std::uint8_t kinds() const { return kinds_; }

  bool of_name() const { return !options_.prefix && options_.session_id == 0; }

  // Before anything else.
  void set_hooks(Hooks hooks) { hooks_ = std::move(hooks); }

  // Where the shard's events are wanted from; before anything else.
  void begin_at(std::uint32_t shard, std::uint64_t first) { queued_to_[shard] = first - 1; }

  // --- The feed's.

  // False when there is no room: nothing was taken, and on_room() follows. What came before is
  // dropped.
  bool accept(const protocol::WatchBlock& block);
  void note(const protocol::WatchProgressPart& progress);
  void set_started();
  void fail(const Status& status, Revision first = {});

  // How often somebody asked how far the nodes are; and that everything is here that they had when
  // this ask was made.
  std::uint64_t asked() const;
  void set_answered(std::uint64_t ask);

  // By shard, what is in the queue. Of a name only the newest place: its lock may move.
  const std::map<std::uint32_t, std::uint64_t>& queued_to() const { return queued_to_; }

  // --- Any thread's.

  // Ok once it has begun; Unreachable or the failure otherwise.
  Status wait_started(std::chrono::milliseconds timeout);

  // Nothing by the deadline, if there is one.
  Result<std::optional<WatchBatch>> take(std::optional<std::chrono::milliseconds> timeout);
  Result<std::vector<Revision>> progress(std::chrono::milliseconds timeout);
  void close();

  // Readable while take() would not come back empty. retire_event_fd() closes it.
  Result<int> event_fd();
  void retire_event_fd();

  std::vector<Revision> revisions() const;
  Revision first_revision() const;

  // Batches, and progress between them; for tests.
  std::size_t queue_items() const;

 private:
  using Places = std::map<std::uint32_t, std::uint64_t>;  // Revisions by shard.

  // A batch; or without events progress, as much as came between two batches: so what is not taken
  // never has more items than it has batches, and one.
  struct Item {
    WatchBatch batch;
    std::size_t bytes = 0;
    Places progress{};
  };

  void hand_over(Item item);
  void hand_over_progress(std::uint32_t shard, std::uint64_t revision);
  void set_place(Places& places, std::uint32_t shard, std::uint64_t revision) const;
  void note_taken(const Item& item);
  Item take_front();
  bool ready() const;

  void call_back(const Result<WatchBatch>& batch);

  WatchOptions options_;
  Watch::Callback callback_;
  Hooks hooks_;
  Places queued_to_;  // The feed's thread alone.
  const std::uint8_t kinds_;

  // Held while the callback runs, which may close the watch itself. Before mutex_, if both.
  std::recursive_mutex calling_;
  bool silent_ = false;  // Of the callback: it was closed.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::size_t queue_bytes_ = 0;
  Places taken_to_;
  bool full_ = false;
  bool started_ = false;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  std::vector<Revision> answer_;
  std::optional<Status> failure_;
  Revision first_;
  EventDescriptor event_fd_;  // Set wherever ready() may have changed.
};

}  // namespace gcoord::client
