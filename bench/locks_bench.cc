// What the lock service costs on the CPU, without a log, a network or a disk.
//
//   LockUnlockPair/N          acquire and release of one name out of N held ones, from log bytes
//   LockUnlockPairDecoded/N   the same from decoded commands: the step alone
//   ReleaseToWaiter/N         pass a lock with N waiters on, and queue again
//   WorstCommandWhileFilling  the slowest of 2^21 acquires, growth of every pool included
//   CheckBatch/N              token checks against N held locks, per check
//   RenewSession/N            one keep-alive that renews N registrations
//   ScanDeadlines/N           a pass over N deadlines in which nothing is due
//   EndSessions/N/L           ends of N sessions that hold a lock each, in 4,096 shards, per end:
//   one
//                             after another in the order of their rows (L 1), or in lists of up to
//                             L
//   Snapshot/N, Restore/N     a shard of N held locks to bytes and back, per lock
#include "locks/commands/ends.h"
#include "locks/cpu/lock_cpu.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <vector>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kShards = 1u << 16;
constexpr std::uint32_t kLocksPerSession = 64;

struct Name {
  std::string text;
  NameHash hash;
  ShardId shard;
};

Name name_of(std::uint64_t number) {
  const std::string text = "jobs/train/" + std::to_string(number);
  const NameHash hash = hash_name(text);
  return {text, hash, shard_of(hash, kShards)};
}

// A node that serves 65,536 shards and holds `held` locks.
class Node {
 public:
  explicit Node(std::uint64_t held)
      : locks_({.shard_count = kShards, .rows_initial = 1024, .index_seed = 42}) {
    for (std::uint64_t number = 0; number < held; ++number) {
      names_.push_back(name_of(number));
      apply(names_.back().shard, acquire(names_.back(), 1 + number / kLocksPerSession, number + 1));
    }
  }

  static LockCommand acquire(const Name& name, std::uint64_t session, std::uint64_t sequence) {
    return make_acquire({.session = SessionId{session},
                         .sequence = RequestSequence{sequence},
                         .acked_below = RequestSequence{sequence},
                         .name = name.text,
                         .wait = true,
                         .ttl_ms = 10'000});
  }

  static LockCommand release(const Name& name,
                             std::uint64_t session,
                             std::uint64_t sequence,
                             FencingToken token) {
    return make_release({.session = SessionId{session},
                         .sequence = RequestSequence{sequence},
                         .acked_below = RequestSequence{sequence},
                         .name_hash = name.hash,
                         .token = token});
  }

  LockReply apply(ShardId shard, const LockCommand& command) {
    LockEvents events{buffer_.data(), kLockEventsPerCommandMax, 0};
    ++index_;
    return locks_.apply(shard, index_, command, now_, events);
  }

  LockReply apply_bytes(ShardId shard, std::span<const std::byte> bytes) {
    LockEvents events{buffer_.data(), kLockEventsPerCommandMax, 0};
    ++index_;
    return locks_.apply_bytes(shard, index_, bytes, now_, events);
  }

  LockCpu& locks() { return locks_; }

  const std::vector<Name>& names() const { return names_; }

  const LockEvent& event() const { return buffer_[0]; }

 private:
  LockCpu locks_;
  std::vector<Name> names_;
  std::array<LockEvent, kLockEventsPerCommandMax> buffer_{};
  LogIndex index_;
  Tick now_{1};
};

// One client session per shard that is visited, so that every pair works on other rows.
constexpr std::uint64_t kBenchSession = std::uint64_t{1} << 40;

std::vector<Name> fresh_names(std::size_t count) {
  std::vector<Name> names;
  for (std::uint64_t number = 0; number < count; ++number) {
    names.push_back(name_of((std::uint64_t{1} << 32) + number));
  }
  return names;
}

void LockUnlockPairDecoded(benchmark::State& state) {
  Node node{static_cast<std::uint64_t>(state.range(0))};
  const std::vector<Name> names = fresh_names(1u << 14);
  std::uint64_t sequence = 0;
  std::vector<LockCommand> acquires;
  for (const Name& name : names) {
    acquires.push_back(Node::acquire(name, kBenchSession, 1));
  }
  for (auto _ : state) {
    const std::size_t place = sequence++ % names.size();
    LockCommand& acquire = acquires[place];
    acquire.sequence = acquire.acked_below = RequestSequence{2 * sequence};
    const LockReply granted = node.apply(names[place].shard, acquire);
    node.apply(names[place].shard,
               Node::release(names[place], kBenchSession, 2 * sequence + 1, granted.token));
  }
  state.SetItemsProcessed(state.iterations());
}

void LockUnlockPair(benchmark::State& state) {
  Node node{static_cast<std::uint64_t>(state.range(0))};
  const std::vector<Name> names = fresh_names(1u << 14);
  std::uint64_t sequence = 0;
  std::vector<std::byte> bytes;
  for (auto _ : state) {
    const Name& name = names[sequence++ % names.size()];
    LockCommand acquire;
    acquire.kind = LockCommandKind::Acquire;
    acquire.flags = kAcquireWait | kAcquireRegister;
    acquire.ttl_ms = 10'000;
    acquire.session = SessionId{kBenchSession};
    acquire.sequence = acquire.acked_below = RequestSequence{2 * sequence};
    acquire.name = name.text.data();
    acquire.name_bytes = static_cast<std::uint16_t>(name.text.size());
    bytes.clear();
    encode(acquire, bytes);
    const LockReply granted = node.apply_bytes(name.shard, bytes);
    bytes.clear();
    encode(Node::release(name, kBenchSession, 2 * sequence + 1, granted.token), bytes);
    node.apply_bytes(name.shard, bytes);
  }
  state.SetItemsProcessed(state.iterations());
}

void ReleaseToWaiter(benchmark::State& state) {
  Node node{0};
  const Name name = name_of(1);
  const auto waiters = static_cast<std::uint64_t>(state.range(0));
  FencingToken token = node.apply(name.shard, Node::acquire(name, 1, 1)).token;
  for (std::uint64_t session = 2; session <= waiters + 1; ++session) {
    node.apply(name.shard, Node::acquire(name, session, 1));
  }
  std::uint64_t holder = 1;
  std::uint64_t sequence = 1;
  for (auto _ : state) {
    ++sequence;
    node.apply(name.shard, Node::release(name, holder, 2 * sequence, token));
    token = node.event().token;
    node.apply(name.shard, Node::acquire(name, holder, 2 * sequence + 1));
    holder = node.event().session.value;
  }
}

void CheckBatch(benchmark::State& state) {
  Node node{static_cast<std::uint64_t>(state.range(0))};
  std::vector<TokenCheck> checks;
  for (std::size_t i = 0; i < (1u << 16); ++i) {
    const Name& name = node.names()[mix64(i) % node.names().size()];
    checks.push_back({name.shard, name.hash, FencingToken{1}});
  }
  std::vector<TokenVerdict> verdicts(checks.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < checks.size(); ++i) {
      verdicts[i] = node.locks().check(checks[i]);
    }
    benchmark::DoNotOptimize(verdicts.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(checks.size()));
}

// Rows 2 to rows + 1 belong to session 1 or to one session each.
void fill_clock(sessions::SessionClock& clock, std::uint32_t rows, bool one_session) {
  clock.reserve(rows + 1);
  for (std::uint32_t row = 2; row <= rows + 1; ++row) {
    clock.on_registered({.row = SessionRow{row},
                         .shard = ShardId{row % kShards},
                         .session = SessionId{one_session ? 1 : row},
                         .serial = 1,
                         .ttl_ms = 10'000},
                        Tick{1'000'000},
                        true);
  }
}

void RenewSession(benchmark::State& state) {
  sessions::SessionClock clock{{}};
  fill_clock(clock, static_cast<std::uint32_t>(state.range(0)), true);
  for (auto _ : state) {
    benchmark::DoNotOptimize(clock.renew(SessionId{1}, Tick{1'000'001}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// A session whose deadline was early and then renewed leaves the bound behind, so a pass is due.
void ScanDeadlines(benchmark::State& state) {
  sessions::SessionClock clock{{}};
  fill_clock(clock, static_cast<std::uint32_t>(state.range(0)), false);
  const sessions::Registration early{SessionRow{1}, ShardId{0}, SessionId{1}, 1, 10};
  for (auto _ : state) {
    clock.on_registered(early, Tick{0}, true);
    clock.renew(SessionId{1}, Tick{1'000'000});
    benchmark::DoNotOptimize(clock.expired(Tick{100}, {}));
    clock.on_removed(SessionRow{1}, false);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

struct EndsCommand {
  ShardId shard;
  std::vector<std::byte> bytes;
};

// Commands that end sessions 1 to N, which took a lock of the shard each, in lists of up to
// `length`.
std::vector<EndsCommand> ends_of_all(const std::vector<Name>& names,
                                     const std::vector<std::uint32_t>& serials,
                                     std::uint32_t length) {
  std::vector<std::size_t> order(names.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    order[k] = k;
  }
  if (length > 1) {
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return names[k].shard; });
  }
  std::vector<EndsCommand> commands;
  for (std::size_t at = 0; at < order.size();) {
    std::vector<SessionEnd> ends;
    const ShardId shard = names[order[at]].shard;
    for (; at < order.size() && ends.size() < length && names[order[at]].shard == shard; ++at) {
      ends.push_back({SessionId{order[at] + 1}, serials[order[at]]});
    }
    const std::vector<char> list = encode_ends(ends);
    EndsCommand& command = commands.emplace_back(EndsCommand{shard, {}});
    encode(ends.size() == 1 ? make_expire_session(ends[0].session, ends[0].serial)
                            : make_expire_sessions(list),
           command.bytes);
  }
  return commands;
}

void EndSessions(benchmark::State& state) {
  constexpr std::uint32_t kFewShards = 4096;
  const auto count = static_cast<std::uint64_t>(state.range(0));
  std::vector<Name> names;
  std::vector<std::uint32_t> serials;
  std::vector<std::uint32_t> serial_last(kFewShards);
  for (std::uint64_t number = 0; number < count; ++number) {
    names.push_back(name_of(number));
    names.back().shard = ShardId{names.back().shard.value % kFewShards};
    serials.push_back(++serial_last[names.back().shard.value]);
  }
  const auto commands = ends_of_all(names, serials, static_cast<std::uint32_t>(state.range(1)));
  for (auto _ : state) {
    state.PauseTiming();
    Node node{0};
    for (std::uint64_t number = 0; number < count; ++number) {
      node.apply(names[number].shard, Node::acquire(names[number], number + 1, 1));
    }
    state.ResumeTiming();
    for (const EndsCommand& command : commands) {
      node.apply_bytes(command.shard, command.bytes);
    }
    state.PauseTiming();
    GCOORD_ASSERT(node.locks().usage().sessions == 0);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// All locks in one shard.
void fill_one_shard(LockCpu& locks, std::uint64_t count) {
  std::array<LockEvent, kLockEventsPerCommandMax> buffer{};
  for (std::uint64_t number = 1; number <= count; ++number) {
    LockEvents events{buffer.data(), kLockEventsPerCommandMax, 0};
    const std::string text = "jobs/train/" + std::to_string(number);
    const Name name{text, {}, ShardId{0}};
    locks.apply(ShardId{0},
                LogIndex{number},
                Node::acquire(name, 1 + number / kLocksPerSession, number),
                Tick{1},
                events);
  }
}

void Snapshot(benchmark::State& state) {
  LockCpu locks{{}};
  fill_one_shard(locks, static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(locks.serialize(ShardId{0}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Restore(benchmark::State& state) {
  LockCpu locks{{}};
  fill_one_shard(locks, static_cast<std::uint64_t>(state.range(0)));
  const std::vector<std::byte> bytes = locks.serialize(ShardId{0});
  for (auto _ : state) {
    GCOORD_ASSERT(locks.deserialize(ShardId{0}, bytes, Tick{1}).ok());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// What matters is the counter: one command must not stall a node, whatever grows meanwhile.
void WorstCommandWhileFilling(benchmark::State& state) {
  constexpr std::uint64_t kLocks = std::uint64_t{1} << 21;
  for (auto _ : state) {
    Node node{0};
    std::clock_t worst = 0;
    for (std::uint64_t number = 0; number < kLocks; ++number) {
      const Name name = name_of(number);
      const LockCommand command = Node::acquire(name, 1 + number / kLocksPerSession, number + 1);
      const std::clock_t before = std::clock();
      node.apply(name.shard, command);
      worst = std::max(worst, std::clock() - before);
    }
    state.counters["worst_us"] = static_cast<double>(worst) * 1e6 / CLOCKS_PER_SEC;
  }
}

BENCHMARK(WorstCommandWhileFilling)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(LockUnlockPair)->Arg(0)->Arg(1 << 20);
BENCHMARK(LockUnlockPairDecoded)->Arg(0)->Arg(1 << 20);
BENCHMARK(ReleaseToWaiter)->Arg(10)->Arg(10'000);
BENCHMARK(CheckBatch)->Arg(1 << 20);
BENCHMARK(RenewSession)->Arg(64)->Arg(100'000);
BENCHMARK(ScanDeadlines)->Arg(1 << 20);
BENCHMARK(EndSessions)
    ->ArgsProduct({{100'000, 1'000'000}, {1, 16, 128}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(Snapshot)->Arg(10'000);
BENCHMARK(Restore)->Arg(10'000);

}  // namespace
}  // namespace gcoord::locks

BENCHMARK_MAIN();
