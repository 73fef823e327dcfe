// A history store that closes and opens again over the same medium: in RocksDB, and in memory.
#pragma once

#include "ledger/history/memory_store.h"
#include "ledger/history/store.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::ledger {

class Histories {
 public:
  virtual ~Histories() = default;
  virtual std::unique_ptr<HistoryStore> open(std::uint32_t shard_count) = 0;
};

class HistoriesInRocksDb final : public Histories {
 public:
  std::unique_ptr<HistoryStore> open(std::uint32_t shard_count) override {
    return HistoryStore::open(directory_.path("history"), shard_count).value();
  }

 private:
  ScratchFolder directory_;
};

class HistoriesInMemory final : public Histories {
 public:
  std::unique_ptr<HistoryStore> open(std::uint32_t /*shard_count*/) override {
    return open_memory_history_store(medium_);
  }

 private:
  HistoryMedium medium_;
};

enum class HistoryPlace { RocksDb, Memory };

inline std::unique_ptr<Histories> make_histories(HistoryPlace place) {
  if (place == HistoryPlace::RocksDb) {
    return std::make_unique<HistoriesInRocksDb>();
  }
  return std::make_unique<HistoriesInMemory>();
}

inline std::string history_place_name(const testing::TestParamInfo<HistoryPlace>& place) {
  return place.param == HistoryPlace::RocksDb ? "RocksDb" : "Memory";
}

inline const auto kHistoryPlaces = testing::Values(HistoryPlace::RocksDb, HistoryPlace::Memory);

}  // namespace gcoord::ledger
