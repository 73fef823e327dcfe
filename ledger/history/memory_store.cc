#include "ledger/history/memory_store.h"

#include "ledger/base/error_details.h"

#include <algorithm>
#include <unordered_map>

namespace gcoord::ledger {
namespace {

// Unlike the contract, it sees what changes meanwhile: its callers go on beyond what they change.
class MemoryHistoryCursor final : public HistoryCursor {
 public:
  explicit MemoryHistoryCursor(const HistoryMedium& medium) : medium_(medium) {}

  void go_to(const std::string& key) override { place_ = std::max(place_, key); }

  void next() override { place_ = at()->first + '\0'; }

  bool valid() const override { return at() != medium_.values.end(); }

  std::string_view key() const override { return at()->first; }

  Status status() const override { return {}; }

 private:
  std::map<std::string, std::vector<std::byte>>::const_iterator at() const {
    return medium_.values.lower_bound(place_);
  }

  const HistoryMedium& medium_;
  std::string place_;  // It is at the first key that is not below.
};

class MemoryHistoryStore final : public HistoryStore {
 public:
  explicit MemoryHistoryStore(HistoryMedium& medium) : medium_(medium) {}

  Status write(const HistoryBatch& batch) override {
    if (medium_.power != nullptr && !medium_.power->spend(DiskOperation::History)) {
      return Status{StatusCode::Aborted, "the disk lost its power", kHistoryFailed};
    }
    if (medium_.full) {
      return Status{StatusCode::ResourceExhausted, "no space for the history", kDiskFull};
    }
    if (medium_.writes_fail) {
      return Status{StatusCode::Unavailable, "the history store failed", kHistoryFailed};
    }
    for (std::size_t k = 0; k < batch.change_count(); ++k) {
      const HistoryBatch::Change change = batch.change(k);
      const std::string key(change.key);
      if (change.value.empty()) {
        medium_.values.erase(key);
      } else {
        medium_.values[key].assign(change.value.begin(), change.value.end());
      }
    }
    return Status{};
  }

  Status scan(const std::string& first,
              const std::string& end,
              const Visitor& visitor) const override {
    const auto last = medium_.values.lower_bound(end);
    for (auto each = medium_.values.lower_bound(first); each != last; ++each) {
      if (!visitor(each->first, each->second)) {
        break;
      }
    }
    return Status{};
  }

  std::unique_ptr<HistoryCursor> cursor() const override {
    return std::make_unique<MemoryHistoryCursor>(medium_);
  }

  Result<std::optional<std::vector<std::byte>>> get(const std::string& key) const override {
    const auto found = medium_.values.find(key);
    return found == medium_.values.end() ? std::optional<std::vector<std::byte>>{}
                                         : std::optional{found->second};
  }

  void set_horizon(ShardId shard, std::uint64_t first) override { horizons_[shard.value] = first; }

  void reclaim() override {
    std::erase_if(medium_.values, [this](const auto& each) {
      const auto place = tile_place(each.first);
      const auto horizon = place ? horizons_.find(place->shard.value) : horizons_.end();
      return horizon != horizons_.end() && is_below(*place, horizon->second);
    });
  }

  std::uint64_t disk_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& [key, value] : medium_.values) {
      bytes += key.size() + value.size();
    }
    return bytes;
  }

 private:
  HistoryMedium& medium_;
  std::unordered_map<std::uint32_t, std::uint64_t> horizons_;  // By shard.
};

}  // namespace

bool HistoryMedium::flip_bit(const std::string& prefix, std::uint64_t choice) {
  std::vector<std::vector<std::byte>*> candidates;
  for (auto& [key, value] : values) {
    if (key.starts_with(prefix)) {
      candidates.push_back(&value);
    }
  }
  if (candidates.empty()) {
    return false;
  }
  std::vector<std::byte>& value = *candidates[choice % candidates.size()];
  const std::uint64_t bit = choice / 64 % (value.size() * 8);
  value[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  return true;
}

std::unique_ptr<HistoryStore> open_memory_history_store(HistoryMedium& medium) {
  return std::make_unique<MemoryHistoryStore>(medium);
}

}  // namespace gcoord::ledger
