#include "ledger/checkpoint/memory_checkpoint_store.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/base/error_details.h"

#include <set>

namespace gcoord::ledger {
namespace {

using Bytes = std::vector<std::byte>;

Result<std::span<const std::byte>> verify(const Bytes& key, const Bytes& stored) {
  if (stored.size() >= kValueCrcBytes) {
    const auto bytes = std::span<const std::byte>{stored}.subspan(kValueCrcBytes);
    if (load<std::uint32_t>(stored.data()) == value_crc(key, bytes)) {
      return bytes;
    }
  }
  return Status{StatusCode::DataLoss,
                "the checkpoint store is damaged: wrong checksum of a value; this node must not "
                "vote: move its data directory aside and let it join again from its peers",
                kCheckpointRot};
}

class MemoryStore final : public CheckpointStore {
 public:
  explicit MemoryStore(CheckpointMedium& medium) : medium_(medium) {
    set_covered_lsn(Lsn{medium.covered_lsn});
  }

  Status write(const CheckpointBatch& batch) override {
    GCOORD_ASSERT(!batch.empty());
    if (medium_.power != nullptr && !medium_.power->spend(DiskOperation::Checkpoint)) {
      return Status{StatusCode::Aborted, "the disk lost its power", kCheckpointFailed};
    }
    if (medium_.full) {
      return Status{StatusCode::ResourceExhausted, "no space for a checkpoint", kDiskFull};
    }
    if (medium_.writes_fail) {
      return Status{StatusCode::Unavailable, "the checkpoint store failed", kCheckpointFailed};
    }
    for (std::size_t k = 0; k < batch.change_count(); ++k) {
      const CheckpointBatch::Change change = batch.change(k);
      auto& column = medium_.columns[static_cast<std::size_t>(change.column)];
      const Bytes key(change.key.begin(), change.key.end());
      if (change.value.empty()) {
        column.erase(key);
      } else {
        column[key] = Bytes(change.value.begin(), change.value.end());
      }
    }
    if (batch.lsn() > Lsn{0}) {
      medium_.covered_lsn = batch.lsn().value;
      set_covered_lsn(batch.lsn());
    }
    return Status{};
  }

  Status load(CheckpointVisitor& visitor) const override {
    std::set<Bytes> keys;
    for (const auto which : {CheckpointColumn::Hard, CheckpointColumn::Service}) {
      for (const auto& [key, value] : medium_.columns[static_cast<std::size_t>(which)]) {
        keys.insert(key);
      }
    }
    for (const Bytes& key : keys) {
      if (!visitor.wants_more()) {
        break;
      }
      GCOORD_TRY(const auto hard, value(CheckpointColumn::Hard, key));
      GCOORD_TRY(const auto service, value(CheckpointColumn::Service, key));
      visitor.on_shard(decode_shard_key(key), hard, service);
    }
    return Status{};
  }

  Result<Bytes> get(CheckpointColumn column, ShardId shard) const override {
    Bytes key(kShardKeyBytes);
    encode_shard_key(shard, key);
    return find(column, key);
  }

  Result<Bytes> get_meta(std::string_view key) const override {
    const auto bytes = std::as_bytes(std::span{key.data(), key.size()});
    return find(CheckpointColumn::Meta, Bytes(bytes.begin(), bytes.end()));
  }

 private:
  // Empty when there is none.
  Result<std::span<const std::byte>> value(CheckpointColumn which, const Bytes& key) const {
    const auto& column = medium_.columns[static_cast<std::size_t>(which)];
    const auto found = column.find(key);
    if (found == column.end()) {
      return std::span<const std::byte>{};
    }
    return verify(key, found->second);
  }

  Result<Bytes> find(CheckpointColumn which, const Bytes& key) const {
    if (!medium_.columns[static_cast<std::size_t>(which)].contains(key)) {
      return Status{StatusCode::NotFound, "the checkpoint store has no such value"};
    }
    GCOORD_TRY(const auto bytes, value(which, key));
    return Bytes(bytes.begin(), bytes.end());
  }

  CheckpointMedium& medium_;
};

}  // namespace

bool CheckpointMedium::flip_bit(std::uint64_t choice) {
  auto& column = columns[choice % 2];
  if (column.empty()) {
    return false;
  }
  auto row = column.begin();
  std::advance(row, static_cast<std::ptrdiff_t>(choice / 2 % column.size()));
  const std::uint64_t bit = choice / 64 % (row->second.size() * 8);
  row->second[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  return true;
}

std::unique_ptr<CheckpointStore> open_memory_checkpoint_store(CheckpointMedium& medium) {
  return std::make_unique<MemoryStore>(medium);
}

}  // namespace gcoord::ledger
