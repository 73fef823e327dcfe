// What a log of record gave back, as text, one line per record: "3: entry shard=1 index=7 ...".
#pragma once

#include "ledger/wal/visitor.h"
#include "ledger/wal/wal.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

class ReplayLog final : public WalVisitor {
 public:
  void on_record(Lsn lsn) override { add(lsn, ""); }

  void on_hard_state(ShardId shard, Term term, NodeId vote) override {
    add_item("hard", shard.value, term.value, vote.value, {});
  }

  void on_entries(ShardId shard, LogIndex first, std::uint32_t entry_count) override {
    add_item("entries", shard.value, first.value, entry_count, {});
  }

  void on_entry(ShardId shard,
                LogIndex index,
                Term term,
                std::uint8_t,
                std::span<const std::byte> payload) override {
    add_item("entry", shard.value, index.value, term.value, payload);
  }

  void on_truncate(ShardId shard, LogIndex from) override {
    add_item("truncate", shard.value, from.value, 0, {});
  }

  void on_snapshot_installed(ShardId shard,
                             LogIndex index,
                             Term term,
                             std::span<const std::byte> state) override {
    add_item("snapshot", shard.value, index.value, term.value, state);
  }

  void on_commit(ShardId shard, LogIndex index) override {
    add_item("commit", shard.value, index.value, 0, {});
  }

  // By lsn; items end in ";".
  const std::map<std::uint64_t, std::string>& records() const { return records_; }

  const std::vector<std::uint64_t>& order() const { return order_; }

 private:
  void add(Lsn lsn, const std::string& text) {
    order_.push_back(lsn.value);
    records_[lsn.value] += text;
  }

  void add_item(const char* what,
                std::uint64_t shard,
                std::uint64_t first,
                std::uint64_t second,
                std::span<const std::byte> bytes) {
    std::string text{what};
    text += " " + std::to_string(shard) + " " + std::to_string(first) + " " +
            std::to_string(second) + " ";
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (order_.empty()) {
      add(Lsn{0}, "");  // Items of a bare batch, outside a log.
    }
    records_[order_.back()] += text + ";";
  }

  std::map<std::uint64_t, std::string> records_;
  std::vector<std::uint64_t> order_;
};

// The text that a batch replays as.
inline std::string text_of(const WalBatch& batch) {
  ReplayLog log;
  GCOORD_ASSERT(visit_items(batch.encoded(), log));
  return log.records().at(0);
}

inline WalOptions small_log() {
  WalOptions options;
  options.cluster = ClusterId{77};
  options.node = NodeId{3};
  options.salt_seed = 12345;
  options.segment_bytes = 16 * 4096;
  return options;
}

// A batch with one entry of payload_bytes bytes, different for each number.
inline WalBatch batch_of(std::uint64_t number, std::size_t payload_bytes = 40) {
  WalBatch batch;
  batch.hard_state(ShardId{static_cast<std::uint32_t>(number % 5)}, Term{number}, NodeId{2});
  batch.begin_entries(ShardId{7}, LogIndex{number + 1}, 1);
  std::string payload(payload_bytes, static_cast<char>('a' + number % 26));
  batch.entry(Term{number}, 1, bytes_of(payload));
  return batch;
}

}  // namespace gcoord::ledger
