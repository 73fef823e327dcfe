// Who looks on while the lock service applies commands: the seam of watches.
//
// While `on` is false nothing is called, which is one test per command. All calls come from the
// thread that applies. Spans live for the call.
#pragma once

#include "common/ids.h"
#include "locks/lock_cpu.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

class ApplyTap {
 public:
  virtual ~ApplyTap() = default;

  // Right before and right after a decided command is applied.
  virtual void before(const locks::LockCpu& locks,
                      ShardId shard,
                      const locks::LockCommand& command) = 0;
  virtual void after(const locks::LockCpu& locks,
                     ShardId shard,
                     LogIndex index,
                     const locks::LockCommand& command,
                     const locks::LockReply& reply,
                     std::span<const locks::LockEvent> events) = 0;

  // The shard's state was replaced: what happened in between is not known here.
  virtual void on_installed(ShardId shard) = 0;

  // Bytes of another node; false when they are not for it.
  virtual bool on_peer_message(NodeId from, std::span<const std::byte> message) = 0;

  bool on() const { return on_; }

 protected:
  void set_on(bool on) { on_ = on; }

 private:
  bool on_ = false;
};

}  // namespace gcoord::server
