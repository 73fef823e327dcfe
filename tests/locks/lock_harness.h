// One lock service and short words to drive it: every call is the next entry of a shard's log.
//
// Commands travel encoded, as they would in a log, so every test also tests the codec.
#pragma once

#include "locks/cpu/lock_cpu.h"
#include "locks/state/apply.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::locks {

class LockHarness {
 public:
  static constexpr std::uint32_t kTtlMs = 1000;

  explicit LockHarness(const LockOptions& options = {.shard_count = 4, .rows_initial = 1})
      : locks(options), last_index_(options.shard_count) {}

  LockReply apply(const LockCommand& command) {
    std::vector<std::byte> bytes;
    encode(command, bytes);
    return apply_bytes(bytes);
  }

  LockReply apply_bytes(const std::vector<std::byte>& bytes) {
    LockEvents sink{buffer_.data(), kLockEventsPerCommandMax, 0};
    ++last_index_[shard.value];
    const LockReply reply = locks.apply_bytes(shard, last_index_[shard.value], bytes, now, sink);
    events.assign(buffer_.begin(), buffer_.begin() + sink.count);
    return reply;
  }

  // Every acquire registers its session when it has to; acked_below stays 1 unless said otherwise.
  LockReply acquire(std::uint64_t session,
                    std::uint64_t sequence,
                    std::string_view name,
                    std::uint64_t acked_below = 1) {
    return apply(make_acquire({.session = SessionId{session},
                               .sequence = RequestSequence{sequence},
                               .acked_below = RequestSequence{acked_below},
                               .name = name,
                               .wait = false,
                               .ttl_ms = kTtlMs}));
  }

  LockReply wait(std::uint64_t session,
                 std::uint64_t sequence,
                 std::string_view name,
                 std::uint64_t acked_below = 1) {
    return apply(make_acquire({.session = SessionId{session},
                               .sequence = RequestSequence{sequence},
                               .acked_below = RequestSequence{acked_below},
                               .name = name,
                               .wait = true,
                               .ttl_ms = kTtlMs}));
  }

  // An acquire that asks for more; waits.
  LockReply hold(std::uint64_t session,
                 std::uint64_t sequence,
                 const std::string& name,
                 const HoldOptions& ask,
                 const std::string& note = "") {
    const std::string text = name + note;
    return apply(
        make_acquire_hold({.acquire = {.session = SessionId{session},
                                       .sequence = RequestSequence{sequence},
                                       .name = std::string_view{text}.substr(0, name.size()),
                                       .wait = true,
                                       .ttl_ms = kTtlMs},
                           .ask = ask,
                           .text = text}));
  }

  LockReply release(std::uint64_t session,
                    std::uint64_t sequence,
                    std::string_view name,
                    FencingToken token,
                    std::uint64_t acked_below = 1) {
    return apply(make_release({.session = SessionId{session},
                               .sequence = RequestSequence{sequence},
                               .acked_below = RequestSequence{acked_below},
                               .name_hash = hash_name(name),
                               .token = token}));
  }

  LockReply cancel(std::uint64_t session, std::uint64_t sequence, bool timed_out = true) {
    return apply(make_cancel_wait(SessionId{session}, RequestSequence{sequence}, timed_out));
  }

  LockReply close(std::uint64_t session) {
    return apply(make_close_session(SessionId{session}, RequestSequence{1}));
  }

  LockReply expire(std::uint64_t session) {
    return apply(make_expire_session(SessionId{session}, serial(session)));
  }

  // Serial of the session's registration in the shard; 1 when it has none.
  std::uint32_t serial(std::uint64_t session) const {
    const SessionRow row = find_session(locks.tables(), shard, SessionId{session});
    return row.value == 0 ? 1 : locks.tables().sessions[row].serial;
  }

  TokenVerdict check(std::string_view name, FencingToken token) const {
    return locks.check({shard, hash_name(name), token});
  }

  // Continues another's log.
  void skip_to(LogIndex index) { last_index_[shard.value] = index; }

  LogIndex last_index() const { return last_index_[shard.value]; }

  LockCpu locks;
  ShardId shard{0};
  Tick now{100};
  std::vector<LockEvent> events;  // Of the last command.

 private:
  std::vector<LogIndex> last_index_;
  std::array<LockEvent, kLockEventsPerCommandMax> buffer_{};
};

}  // namespace gcoord::locks
