// Random commands of clients that mostly behave: what windows of commands
// (locks/parallel/plan.h) are for.
//
// Few sessions and few names, so that most commands meet; releases are mostly the holder's,
// sequences and acknowledgements mostly rise. How often not, and everything else about the mixture,
// is said by a shape. Commands are made from what LockCpu answers to them.
#pragma once

#include "common/random.h"
#include "locks/commands/entry.h"
#include "locks/cpu/lock_cpu.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::locks {

struct OrderlyShape {
  std::uint32_t shards = 1;
  std::uint32_t sessions = 4;          // Per shard.
  std::uint32_t names = 2;             // Per shard; the first has half of the commands.
  std::uint32_t release_percent = 50;  // Of the commands on a name that is held.
  std::uint32_t wait_percent = 50;     // Of the acquires; the others only try.
  std::uint32_t unacked_max = 3;       // How far acknowledgements lag behind sequences.
  std::uint32_t by_token_percent = 5;  // Of the releases.
  std::uint32_t odd_percent = 2;       // Of all commands: whatever a client may do wrong.
};

class OrderlyWorld {
 public:
  OrderlyWorld(const OrderlyShape& shape, std::uint64_t seed)
      : shape_(shape),
        seed_(seed),
        cpu_({.shard_count = shape.shards, .rows_initial = 1, .index_seed = 5}),
        clients_(std::size_t{shape.shards} * shape.sessions) {}

  // A shard, and a command for it that a log on a device has room for. It lives until the next one;
  // the caller applies it to the world before.
  std::pair<ShardId, LockCommand> next() {
    const ShardId shard{below(shape_.shards)};
    for (;;) {
      const LockCommand command = below(100) < shape_.odd_percent ? odd(shard) : usual(shard);
      if (is_entry_command(command)) {
        return {shard, command};
      }
    }
  }

  LockReply apply(ShardId shard, LogIndex index, const LockCommand& command) {
    LockEvents events{events_.data(), kLockEventsPerCommandMax, 0};
    return cpu_.apply(shard, index, command, Tick{1}, events);
  }

  const LockCpu& cpu() const { return cpu_; }

 private:
  struct Client {
    std::uint64_t sequence_last = 0;
    std::uint64_t acked_below = 1;
  };

  std::uint32_t below(std::uint32_t bound) {
    return random_below(random64(seed_, 1, ++counter_), bound);
  }

  SessionId any_session() { return SessionId{1 + below(shape_.sessions)}; }

  Client& client(ShardId shard, SessionId session) {
    return clients_[shard.value * shape_.sessions + session.value - 1];
  }

  void number(ShardId shard, LockCommand& command) {
    Client& owner = client(shard, command.session);
    ++owner.sequence_last;
    const std::uint64_t lag =
        std::min<std::uint64_t>(below(shape_.unacked_max + 1), owner.sequence_last - 1);
    owner.acked_below = std::max(owner.acked_below, owner.sequence_last - lag);
    command.sequence = RequestSequence{owner.sequence_last};
    command.acked_below = RequestSequence{owner.acked_below};
  }

  // Some names are long; the bytes live until the next command.
  void set_name(ShardId shard) {
    const std::uint32_t number = below(2) == 0 ? 0 : below(shape_.names);
    name_ = "jobs/" + std::to_string(shard.value) + "/" + std::to_string(number);
    if (number % 3 == 2) {
      name_.append(40 * (number % 20), 'x');
    }
  }

  LockCommand usual(ShardId shard) {
    set_name(shard);
    const auto held = cpu_.get(shard, hash_name(name_));
    LockCommand command;
    if (held.has_value() && below(100) < shape_.release_percent) {
      command = make_release({.session = held->holder,
                              .sequence = RequestSequence{1},
                              .name_hash = held->name_hash,
                              .token = held->token,
                              .by_token = below(100) < shape_.by_token_percent});
      if ((command.flags & kReleaseByToken) != 0) {
        return command;
      }
    } else {
      command = make_acquire({.session = any_session(),
                              .sequence = RequestSequence{1},
                              .name = name_,
                              .wait = below(100) < shape_.wait_percent,
                              .ttl_ms = 1000});
    }
    number(shard, command);
    return command;
  }

  // Releases that are not the holder's or not of its token, retries, acknowledgements that go back,
  // and other kinds of commands.
  LockCommand odd(ShardId shard) {
    const SessionId session = any_session();
    const std::uint64_t last = client(shard, session).sequence_last;
    switch (below(7)) {
      case 0:
        return make_cancel_wait(session, RequestSequence{1 + below(3) + last / 2}, below(2) == 0);
      case 1:
        return make_register_session(session, 2000);
      case 2:
        return make_expire_session(session, 1 + below(cpu_.shard(shard).serial_last + 1));
      case 3:
        return make_close_session(session, RequestSequence{1});
      default:
        break;
    }
    LockCommand command = usual(shard);
    switch (below(4)) {
      case 0:
        command.session = session;
        break;
      case 1:
        if (command.kind == LockCommandKind::Release) {
          command.token = FencingToken{command.token.value + 1};
        }
        break;
      case 2:
        command.sequence = RequestSequence{std::max<std::uint64_t>(last, 1)};
        command.acked_below = RequestSequence{1};
        break;
      default:
        command.acked_below = RequestSequence{1};
        break;
    }
    return command;
  }

  OrderlyShape shape_;
  std::uint64_t seed_;
  LockCpu cpu_;
  std::vector<Client> clients_;
  std::array<LockEvent, kLockEventsPerCommandMax> events_{};
  std::string name_;
  std::uint64_t counter_ = 0;
};

}  // namespace gcoord::locks
