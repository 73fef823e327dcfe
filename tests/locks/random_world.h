// Random commands of many shards that are likely to meet, made from what LockCpu answered to those
// before: retries, wrong tokens, waits, holds of all kinds, moves, ends of sessions.
#pragma once

#include "common/random.h"
#include "locks/commands/ends.h"
#include "locks/commands/entry.h"
#include "locks/commands/move_command.h"
#include "locks/cpu/lock_cpu.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::locks {

struct WorldOptions {
  std::uint32_t shard_count = 8;
  std::uint32_t hot_percent = 30;  // Of the commands go to shard 0.
  std::uint32_t names = 6;         // Per shard.
  std::uint64_t seed = 1;
  Tick now{1};  // When the first commands are applied.
};

// Random commands that are likely to meet, made from what LockCpu answers to them.
class RandomWorld {
 public:
  explicit RandomWorld(const WorldOptions& options)
      : options_(options),
        cpu_({.shard_count = options.shard_count, .rows_initial = 1, .index_seed = 5}) {}

  // A shard, and a command for it that a log on a device has room for. It lives until the next one;
  // the caller applies it to cpu() before.
  std::pair<ShardId, LockCommand> next() {
    const ShardId shard = random_shard();
    for (;;) {
      const LockCommand command = random_command(shard);
      if (is_entry_command(command)) {
        return {shard, command};
      }
    }
  }

  // The same of commands of all kinds.
  std::pair<ShardId, LockCommand> any() {
    const ShardId shard = random_shard();
    return {shard, random_command(shard)};
  }

  LockReply apply(ShardId shard, LogIndex index, const LockCommand& command) {
    LockEvents events{events_.data(), kLockEventsPerCommandMax, 0};
    return cpu_.apply(shard, index, command, options_.now, events);
  }

  void set_time(Tick now) { options_.now = now; }

  const LockCpu& cpu() const { return cpu_; }

 private:
  std::uint32_t below(std::uint32_t bound) {
    return random_below(random64(options_.seed, 1, ++counter_), bound);
  }

  ShardId random_shard() {
    const std::uint32_t hot = below(100);
    return ShardId{hot < options_.hot_percent ? 0 : below(options_.shard_count)};
  }

  // Sequences mostly rise; some come again.
  RequestSequence next_sequence(ShardId shard, SessionId session) {
    std::uint64_t& last = sequences_[{shard.value, session.value}];
    if (last > 3 && below(10) == 0) {
      return RequestSequence{last - below(3)};
    }
    return RequestSequence{++last};
  }

  LockCommand random_command(ShardId shard) {
    const SessionId session{1 + below(7)};
    const RequestSequence sequence = next_sequence(shard, session);
    const std::uint64_t window = session.value == 1 ? 1'000'000 : below(40);
    const RequestSequence acked{sequence.value > window ? sequence.value - window : 1};
    const std::uint32_t kind = below(100);
    set_name(shard);
    const NameHash hash = hash_name(name_);
    if (kind < 8) {
      return hold_of(session, sequence, acked);
    }
    if (kind < 16) {
      return share_of(session, sequence, acked);
    }
    if (kind < 48) {
      return make_acquire({.session = session,
                           .sequence = sequence,
                           .acked_below = acked,
                           .name = name_,
                           .wait = below(3) != 0,
                           .ttl_ms = below(4) != 0 ? 1000u : 0u});
    }
    if (kind < 85) {
      return release_of(shard, hash, session, sequence, acked);
    }
    if (kind < 88) {
      return office_of(release_of(shard, hash, session, sequence, acked), hash);
    }
    if (kind < 92) {
      return make_cancel_wait(session, sequence, below(2) == 0);
    }
    if (kind < 93) {
      return make_register_session(session, 2000);
    }
    if (kind < 94) {
      return move_of(shard, hash);
    }
    if (kind < 95) {
      return list_of(shard);
    }
    if (kind < 97) {
      return make_expire_session(session, 1 + below(cpu_.shard(shard).serial_last + 1));
    }
    if (kind < 99) {
      return make_close_session(session, sequence);
    }
    if (below(3) != 0) {
      return force_of(shard, hash);
    }
    LockCommand unknown;
    unknown.kind = below(2) == 0 ? LockCommandKind::Unknown : LockCommandKind::Noop;
    return unknown;
  }

  // Ends of some of the sessions, a few of them as they are registered.
  LockCommand list_of(ShardId shard) {
    std::vector<SessionEnd> ends;
    for (std::uint64_t session = 1 + below(3); session <= 7; session += 1 + below(3)) {
      ends.push_back({SessionId{session}, 1 + below(cpu_.shard(shard).serial_last + 1)});
    }
    list_ = encode_ends(ends);
    return make_expire_sessions(list_);
  }

  // The lock leaves for the next shard, one comes from there, or one has arrived.
  LockCommand move_of(ShardId shard, NameHash hash) {
    const ShardId other{(shard.value + 1) % options_.shard_count};
    const std::uint32_t moves = cpu_.residence(shard, hash).value_or(NameResidence{}).move_number;
    const std::uint32_t kind = below(4);
    if (kind < 3) {
      return kind < 2 ? make_move_out(name_, other) : make_move_done(hash, 1 + below(moves + 1));
    }
    MoveInFields fields{.from = other, .number = moves + (moves == 0 ? 1 : below(2))};
    fields.name_bytes = static_cast<std::uint16_t>(name_.size());
    fields.token_last = cpu_.shard(shard).token_last + 2;
    for (std::uint32_t left = below(5); left > 0; --left) {
      name_ += static_cast<char>(1 + below(7)) + std::string("\0\0\0\0\0\0\0d\0\0\0", 11);
      fields.token = FencingToken{fields.token_last - 1};
    }
    fields.text = name_;
    return make_move_in(fields);
  }

  // A break, or the end of a delay.
  LockCommand force_of(ShardId shard, NameHash hash) {
    const auto held = cpu_.get(shard, hash);
    const FencingToken token{held.has_value() ? held->token.value : 1 + below(1000)};
    if (below(2) == 0) {
      return make_end_delay(hash, token);
    }
    const auto name_bytes = static_cast<std::uint16_t>(name_.size());
    name_ += "annit hangs";
    return make_break_lock({.token = token,
                            .all = below(2) == 0,
                            .name_bytes = name_bytes,
                            .who_bytes = 3,
                            .text = name_});
  }

  // Several holds, a note, or both.
  LockCommand hold_of(SessionId session, RequestSequence sequence, RequestSequence acked) {
    const std::size_t name_bytes = name_.size();
    const auto limit = static_cast<std::uint16_t>(below(4));
    const std::uint32_t note_bytes = limit == 0 ? 1 + below(kNoteBytesMax) : below(3) * 29;
    name_.append(note_bytes, static_cast<char>('a' + below(26)));
    return make_acquire_hold({.acquire = {.session = session,
                                          .sequence = sequence,
                                          .acked_below = acked,
                                          .name = std::string_view{name_}.substr(0, name_bytes),
                                          .wait = below(3) != 0,
                                          .ttl_ms = 1000u},
                              .ask = {.flags = limit == 0 ? std::uint8_t{0} : kHoldReentrant,
                                      .limit = limit,
                                      .delay_ms = static_cast<std::uint16_t>(below(3) * 100)},
                              .text = name_});
  }

  // Readers, who go down to it at times, and two kinds of semaphores.
  LockCommand share_of(SessionId session, RequestSequence sequence, RequestSequence acked) {
    HoldOptions ask{.flags = kHoldShared, .permits = 1};
    if (below(8) == 0) {
      ask.flags = kHoldShared | kHoldDowngrade;
    } else if (below(3) == 0) {
      ask.limit = static_cast<std::uint16_t>(2 + below(2));
      ask.permits = static_cast<std::uint8_t>(1 + below(2));
    }
    return make_acquire_hold({.acquire = {.session = session,
                                          .sequence = sequence,
                                          .acked_below = acked,
                                          .name = name_,
                                          .wait = below(3) != 0,
                                          .ttl_ms = 1000u},
                              .ask = ask,
                              .text = name_});
  }

  // The holder's note, or its lock for another; mostly by who holds it.
  LockCommand office_of(const LockCommand& release, NameHash hash) {
    const ReleaseFields fields{.session = release.session,
                               .sequence = release.sequence,
                               .acked_below = release.acked_below,
                               .name_hash = hash,
                               .token = release.token,
                               .by_token = (release.flags & kReleaseByToken) != 0};
    if (below(2) == 0) {
      return make_transfer(fields, SessionId{1 + below(7)});
    }
    name_.assign(below(kNoteBytesMax + 1), static_cast<char>('a' + below(26)));
    return make_proclaim(fields, name_);
  }

  LockCommand release_of(ShardId shard,
                         NameHash hash,
                         SessionId session,
                         RequestSequence sequence,
                         RequestSequence acked) {
    const auto held = cpu_.get(shard, hash);
    const bool right = held.has_value() && below(6) != 0;
    return make_release({.session = right ? held->holder : session,
                         .sequence = right ? next_sequence(shard, held->holder) : sequence,
                         .acked_below = right ? RequestSequence{1} : acked,
                         .name_hash = hash,
                         .token = right ? held->token : FencingToken{1 + below(1000)},
                         .by_token = below(8) == 0});
  }

  // Short names and long ones; the bytes live until the next command.
  void set_name(ShardId shard) {
    const std::uint32_t number = below(options_.names);
    name_ = "jobs/" + std::to_string(shard.value) + "/" + std::to_string(number);
    if (number % 3 == 2) {
      name_.append(30 * (number % 30), 'x');
    }
  }

  WorldOptions options_;
  LockCpu cpu_;
  std::vector<char> list_;  // Of the newest list of ends.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> sequences_;
  std::array<LockEvent, kLockEventsPerCommandMax> events_{};
  std::string name_;
  std::uint64_t counter_ = 0;
};

}  // namespace gcoord::locks
