// A log opened with its replay; what is appended through it are numbered batches.
#pragma once

#include "ledger/wal/wal.h"
#include "tests/ledger/replay_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace gcoord::ledger {

struct Opened {
  ReplayLog log;
  WalRecovery report;
  Result<std::unique_ptr<Wal>> wal;

  explicit Opened(Disk& disk, const WalOptions& options = small_log())
      : wal(Wal::open(disk, options, log, &report)) {}

  Wal& operator*() { return *wal.value(); }

  Wal* operator->() { return wal.value().get(); }
};

// Appends batch_of(first) to batch_of(last), each with its own sync.
inline void append_synced(Wal& wal,
                          std::uint64_t first,
                          std::uint64_t last,
                          std::size_t payload_bytes = 40) {
  for (std::uint64_t number = first; number <= last; ++number) {
    ASSERT_TRUE(wal.append(batch_of(number, payload_bytes)).ok());
    ASSERT_TRUE(wal.sync().ok());
  }
}

// Exactly these records were replayed, in this order.
inline void expect_records(const ReplayLog& log, std::uint64_t first, std::uint64_t last) {
  ASSERT_EQ(log.order().size(), last + 1 - first);
  for (std::uint64_t lsn = first; lsn <= last; ++lsn) {
    EXPECT_EQ(log.order()[lsn - first], lsn);
  }
}

}  // namespace gcoord::ledger
