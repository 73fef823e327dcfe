// Whatever is appended, synced, dropped, and lost with the power: what was synced comes back, in
// order, and nothing else does.
#include "common/random.h"
#include "ledger/disk/memory_disk.h"
#include "tests/ledger/wal/opened_wal.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

// A log beside a model of it: the text of every record, and how many of them are synced.
class ModelledLog {
 public:
  explicit ModelledLog(std::uint64_t seed) : seed_(seed) { reopen(); }

  void apply(std::uint32_t word) {
    switch (word % 8) {
      case 0:
      case 1:
      case 2:
        append(word / 8);
        break;
      case 3:
      case 4:
        RC_ASSERT(wal().sync().ok());
        synced_ = texts_.size();
        break;
      case 5:
        RC_ASSERT(wal().seal().ok());
        synced_ = texts_.size();
        break;
      case 6:
        checkpoint(word / 8);
        break;
      default:
        stop(word / 8);
        reopen();
        break;
    }
  }

 private:
  Wal& wal() { return **opened_; }

  void append(std::uint32_t word) {
    const bool large = word % 16 == 0;
    const WalBatch batch = batch_of(++batch_count_, large ? 40'000 + word % 60'000 : word % 3000);
    const auto lsn = wal().append(batch);
    RC_ASSERT(lsn.ok());
    texts_.push_back(text_of(batch));
    RC_ASSERT(lsn.value() == Lsn{texts_.size()});
    // A record that begins a segment makes the ones before it durable.
    RC_ASSERT(wal().durable_lsn().value >= synced_);
    synced_ = wal().durable_lsn().value;
  }

  void checkpoint(std::uint32_t word) {
    if (synced_ > covered_) {
      covered_ += word % (synced_ - covered_) + 1;
      RC_ASSERT(wal().drop_through(Lsn{covered_}).ok());
    }
  }

  void stop(std::uint32_t word) {
    opened_.reset();
    if (word % 4 == 0) {
      disk_.crash();
      synced_ = texts_.size();  // The page cache outlives the process.
    } else {
      disk_.lose_power(mix64(seed_ + word + ++loss_count_));
    }
  }

  void reopen() {
    WalOptions options = small_log();
    options.replay_after = Lsn{covered_};
    opened_ = std::make_unique<Opened>(disk_, options);
    if (!opened_->wal.ok()) {
      RC_FAIL(opened_->wal.status().to_string());
    }
    const std::uint64_t last = wal().last_lsn().value;
    RC_ASSERT(last >= synced_);
    RC_ASSERT(last <= texts_.size());
    RC_ASSERT(opened_->log.order().size() == last - covered_);
    for (std::uint64_t lsn = covered_ + 1; lsn <= last; ++lsn) {
      RC_ASSERT(opened_->log.order()[lsn - covered_ - 1] == lsn);
      RC_ASSERT(opened_->log.records().at(lsn) == texts_[lsn - 1]);
    }
    texts_.resize(last);
    synced_ = last;
  }

  std::uint64_t seed_;
  MemoryDisk disk_;
  std::unique_ptr<Opened> opened_;
  std::vector<std::string> texts_;  // Of record lsn at lsn - 1.
  std::uint64_t synced_ = 0;
  std::uint64_t covered_ = 0;
  std::uint64_t batch_count_ = 0;
  std::uint64_t loss_count_ = 0;
};

TEST(WalPowerLoss, WhatWasSyncedComesBackInOrderAndNothingIsInvented) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    ModelledLog log{seed};
    for (std::uint64_t step = 0; step < 60; ++step) {
      log.apply(static_cast<std::uint32_t>(random64(seed, 1, step) >> 32));
    }
  }
}

TEST(WalPowerLoss, NoSequenceOfOperationsBreaksIt) {
  EXPECT_TRUE(rc::check("any operations", [](const std::vector<std::uint32_t>& words) {
    ModelledLog log{words.size()};
    for (const std::uint32_t word : words) {
      log.apply(word);
    }
  }));
}

}  // namespace
}  // namespace gcoord::ledger
