// Observer of the commands that the lock service applies: the interface of watches.
//
// A list of ends (locks/commands/ends.h) is seen as the ends that it lists, one after another; what
// one entry did is known as a whole after them. While `on` is false nothing is called, which is one
// test per command. All calls come from the thread that applies. Spans live for the call.
#pragma once

#include "common/ids.h"
#include "locks/commands/ends.h"
#include "locks/cpu/lock_cpu.h"

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace gcoord::server {

class ApplyObserver {
 public:
  virtual ~ApplyObserver() = default;

  // Right before and right after a decided command is applied.
  virtual void before(const locks::LockCpu& locks,
                      ShardId shard,
                      const locks::LockCommand& command) = 0;
  virtual void after(const locks::LockCpu& locks,
                     ShardId shard,
                     const locks::LockCommand& command,
                     const locks::LockReply& reply,
                     std::span<const locks::LockEvent> events) = 0;

  // The entry at `index`, of which that was a part, is applied.
  virtual void on_entry(ShardId shard, LogIndex index) = 0;

  // The shard's state was replaced: what happened in between is not known here.
  virtual void on_installed(ShardId shard) = 0;

  // Bytes of another node; false when they are not for it.
  virtual bool on_peer_message(NodeId from, std::span<const std::byte> message) = 0;

  bool on() const { return on_; }

  // Who is told of every change of it, right behind it.
  void set_listener(std::function<void(bool on)> listener) { listener_ = std::move(listener); }

 protected:
  void set_on(bool on) {
    on_ = on;
    if (listener_) {
      listener_(on);
    }
  }

 private:
  bool on_ = false;
  std::function<void(bool)> listener_;
};

// Where a command is applied.
struct ObservedEntry {
  ShardId shard;
  LogIndex index;
  Tick now;
};

// Applies a decided command while the tap, which is on, looks on.
inline locks::LockReply apply_tapped(ApplyObserver& tap,
                                     locks::LockCpu& locks,
                                     const ObservedEntry& entry,
                                     const locks::LockCommand& command,
                                     locks::LockEvents& events) {
  const auto one = [&](const locks::LockCommand& part, std::uint32_t) {
    const std::uint32_t first = events.count;
    tap.before(locks, entry.shard, part);
    const locks::LockReply reply = locks.apply(entry.shard, entry.index, part, entry.now, events);
    tap.after(locks, entry.shard, part, reply, {events.events + first, events.count - first});
    return reply;
  };
  const locks::LockReply reply = locks::apply_parts(command, events, one);
  tap.on_entry(entry.shard, entry.index);
  return reply;
}

}  // namespace gcoord::server
