// Nodes that apply the same logs and have watches, without a network: each has lock tables, a desk,
// and a history that is the log itself. Clients' connections are names of what they were sent.
#pragma once

#include "common/name_hash.h"
#include "locks/commands/command.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/watch_messages.h"
#include "server/interfaces/log_record.h"
#include "server/watch/hub.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// What was sent to whom. A connection may be full, or gone.
class WatchSink final : public protocol::ReplySink {
 public:
  struct Sent {
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  void park(protocol::ConnectionId connection) override { ++parked[connection.value]; }

  void unpark(protocol::ConnectionId connection) override { --parked[connection.value]; }

  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    if (!gone.contains(connection.value)) {
      sent[connection.value].push_back({slot, {payload.begin(), payload.end()}});
    }
  }

  std::optional<std::size_t> backlog_bytes(protocol::ConnectionId connection) const override {
    ++looks;
    if (gone.contains(connection.value)) {
      return std::nullopt;
    }
    return full.contains(connection.value) ? std::size_t{1} << 30 : 0;
  }

  std::map<std::uint64_t, std::deque<Sent>> sent;
  std::map<std::uint64_t, int> parked;
  std::set<std::uint64_t> full;
  std::set<std::uint64_t> gone;
  mutable std::size_t looks = 0;  // At connections.
};

using ShardLog = std::vector<std::vector<std::byte>>;

// A log as history shows it.
class LogReader final : public ledger::TreeReader {
 public:
  LogReader(const ShardLog& log, std::uint64_t size, std::uint64_t first)
      : log_(log), size_(size), first_(first) {}

  std::uint64_t size() const override { return size_; }

  std::uint64_t first() const override { return first_; }

  Result<std::vector<ledger::MerkleHash>> hashes(std::uint32_t,
                                                 std::uint64_t,
                                                 std::size_t) const override {
    return Status{StatusCode::Unimplemented, "no tree"};
  }

  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override {
    const auto begin = log_.begin() + static_cast<std::ptrdiff_t>(index);
    return std::vector<std::vector<std::byte>>(begin, begin + static_cast<std::ptrdiff_t>(count));
  }

 private:
  const ShardLog& log_;
  std::uint64_t size_;
  std::uint64_t first_;
};

class WatchNode {
 public:
  // `logs` may grow only while no replay is under way: settle() first.
  WatchNode(std::vector<ShardLog>& logs, WatchHubOptions options)
      : logs_(logs),
        applied_(logs.size()),
        locks_({.shard_count = static_cast<std::uint32_t>(logs.size())}),
        ended_(locks::kLockEventsPerCommandMax),
        desk_(with_shards(options, logs.size()),
              {.replies = sink,
               .metrics = metrics_,
               .applied = [this](ShardId shard) { return LogIndex{applied_[shard.value]}; },
               .residence = [this](ShardId shard,
                                   NameHash name) { return locks_.residence(shard, name); },
               .tell_peers = [this](auto message) { told.assign(message.begin(), message.end()); },
               .history =
                   [this](ShardId shard) {
                     ++history_looks;
                     return std::make_shared<LogReader>(
                         logs_[shard.value], applied_[shard.value], history_first);
                   },
               .wake =
                   [this] {
                     const std::lock_guard lock(mutex_);
                     ++woken_;
                     wake_.notify_all();
                   },
               .budget = budget_}) {}

  // Applies what the shard's log has next, if there is more; as LockService does.
  bool apply(std::uint32_t shard) {
    const std::uint64_t at = applied_[shard];
    if (at == logs_[shard].size()) {
      return false;
    }
    const auto command = locks::decode(record_body(logs_[shard][at])).value();
    ++applied_[shard];
    locks::LockEvents events{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
    const LogIndex index{at + 1};
    if (desk_.on()) {
      apply_tapped(desk_, locks_, {ShardId{shard}, index, Tick{1}}, command, events);
    } else {
      locks_.apply(ShardId{shard}, index, command, Tick{1}, events);
    }
    return true;
  }

  void apply_all() {
    for (std::uint32_t shard = 0; shard < logs_.size(); ++shard) {
      while (apply(shard)) {
      }
    }
  }

  // The shard's state comes as a whole, with all that its log has.
  void install(std::uint32_t shard) {
    while (applied_[shard] < logs_[shard].size()) {
      const auto command = locks::decode(record_body(logs_[shard][applied_[shard]])).value();
      ++applied_[shard];
      locks::LockEvents events{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
      locks_.apply(ShardId{shard}, LogIndex{applied_[shard]}, command, Tick{1}, events);
    }
    desk_.on_installed(ShardId{shard});
  }

  // A turn's end.
  void turn() {
    budget_.begin_pass();
    desk_.advance(now_ms);
  }

  // Until so many batches of replays have been made.
  void await_batches(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(wake_.wait_for(lock, std::chrono::seconds(60), [&] { return woken_ >= count; }));
  }

  // Turns until nothing is left to be done, but for full connections.
  void settle() {
    while (true) {
      std::uint64_t seen = 0;
      {
        const std::lock_guard lock(mutex_);
        seen = woken_;
      }
      budget_.begin_pass();
      if (desk_.advance(now_ms)) {
        continue;
      }
      if (desk_.replaying_count() == 0 || !sink.full.empty()) {
        return;
      }
      std::unique_lock lock(mutex_);
      ASSERT_TRUE(wake_.wait_for(lock, std::chrono::seconds(60), [&] { return woken_ != seen; }));
    }
  }

  void request(std::uint64_t connection,
               const protocol::RequestSlot& slot,
               std::span<const std::byte> payload = {}) {
    desk_.on_request(protocol::ConnectionId{connection}, slot, payload);
  }

  void open(std::uint64_t connection,
            std::uint64_t id,
            const protocol::WatchQuery& query,
            bool queue = false,
            bool follows = false) {
    std::vector<protocol::RequestFlag> flags;
    if (queue) {
      flags.push_back(protocol::RequestFlag::WatchQueue);
    }
    if (follows) {
      flags.push_back(protocol::RequestFlag::WatchFollow);
    }
    open_with(flags, connection, id, query);
  }

  void open_with(const std::vector<protocol::RequestFlag>& flags,
                 std::uint64_t connection,
                 std::uint64_t id,
                 const protocol::WatchQuery& query) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::WatchOpen;
    slot.request_id = id;
    for (const protocol::RequestFlag flag : flags) {
      slot.set(flag);
    }
    request(connection, slot, protocol::encode_watch_query(query));
  }

  PassBudget& budget() { return budget_; }

  WatchHub& desk() { return desk_; }

  locks::LockCpu& locks() { return locks_; }

  std::uint64_t applied(std::uint32_t shard) const { return applied_[shard]; }

  WatchSink sink;
  std::uint64_t now_ms = 1;
  std::uint64_t history_first = 0;
  std::atomic<std::uint64_t> history_looks{0};
  std::vector<std::byte> told;

 private:
  static WatchHubOptions with_shards(WatchHubOptions options, std::size_t shard_count) {
    options.shard_count = static_cast<std::uint32_t>(shard_count);
    return options;
  }

  std::vector<ShardLog>& logs_;
  std::deque<std::atomic<std::uint64_t>> applied_;  // By shard; replays read it.
  MetricsRegistry metrics_;
  PassBudget budget_{metrics_};
  locks::LockCpu locks_;
  std::vector<locks::LockEvent> ended_;
  std::mutex mutex_;  // Guards woken_.
  std::condition_variable wake_;
  std::uint64_t woken_ = 0;
  WatchHub desk_;  // Ends first: its thread calls wake.
};

// Appends a command to the log of a shard.
inline void append(ShardLog& log, const locks::LockCommand& command) {
  std::vector<std::byte> entry(kRecordHeaderBytes);
  std::ranges::copy(encode_record_header({RecordKind::LockCommand}), entry.begin());
  locks::encode(command, entry);
  log.push_back(std::move(entry));
}

}  // namespace gcoord::server
