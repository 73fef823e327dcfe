// What a power loss takes, by the shim and what undoes it, with programs that know nothing of it.
#include "chaos/live/power_loss.h"

#include "chaos/live/shim_page.h"
#include "chaos/process/own_path.h"
#include "common/host/child_process.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace gcoord::chaos {
namespace {

constexpr std::size_t kSectors = 8;
constexpr std::size_t kSectorBytes = 512;

class PowerLossTest : public testing::Test {
 protected:
  void SetUp() override {
    auto page = ShimPage::make(scratch_.path(), "disk");
    ASSERT_TRUE(page.ok()) << page.status().to_string();
    page_ = std::move(page).value();
    std::filesystem::create_directory(page_->disk());
  }

  // Runs a shell script in the disk's directory under the shim; its exit status.
  int run(const std::string& script) {
    ChildOptions child;
    child.arguments = {"/bin/sh", "-c", "cd " + page_->disk().string() + " && " + script};
    child.environment = page_->environment(program_beside("../lib/libgcoord_chaos_shim.so"));
    child.error_file = (scratch_.path() / "errors.log").string();
    auto process = ChildProcess::start(child);
    return process.ok() ? process.value().wait_for(std::chrono::seconds{60}).value_or(-1) : -1;
  }

  // Sectors of this letter, written with dd; `how` is its conv=.
  int write(char letter, const std::string& how) {
    const auto source = scratch_.path() / "source";
    std::ofstream{source} << std::string(kSectors * kSectorBytes, letter);
    return run("dd if=" + source.string() + " of=file bs=512 conv=" + how);
  }

  std::string content() const {
    std::ifstream in{page_->disk() / "file", std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  PowerLoss lose_power(std::uint64_t seed) {
    const auto loss = page_->lose_power(seed);
    EXPECT_TRUE(loss.ok()) << loss.status().to_string();
    return loss.ok() ? loss.value() : PowerLoss{};
  }

  const ScratchFolder scratch_;
  std::unique_ptr<ShimPage> page_;
};

TEST_F(PowerLossTest, WhatWasSyncedWithItsNameStays) {
  ASSERT_EQ(write('a', "notrunc,fsync"), 0);
  ASSERT_EQ(run("sync ."), 0);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(lose_power(seed).bytes_lost, 0u);
    EXPECT_EQ(content(), std::string(kSectors * kSectorBytes, 'a'));
  }
}

TEST_F(PowerLossTest, EachSectorOfAnUnsyncedWriteIsOldOrNew) {
  bool some_lost = false;
  bool some_kept = false;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    ASSERT_EQ(write('a', "notrunc,fsync"), 0);
    ASSERT_EQ(run("sync ."), 0);
    ASSERT_EQ(write('b', "notrunc"), 0);
    lose_power(seed);
    const std::string left = content();
    ASSERT_EQ(left.size(), kSectors * kSectorBytes);
    for (std::size_t sector = 0; sector < kSectors; ++sector) {
      const std::string part = left.substr(sector * kSectorBytes, kSectorBytes);
      EXPECT_TRUE(part == std::string(kSectorBytes, 'a') || part == std::string(kSectorBytes, 'b'));
      some_lost |= part.front() == 'a';
      some_kept |= part.front() == 'b';
    }
  }
  EXPECT_TRUE(some_lost);
  EXPECT_TRUE(some_kept);
}

TEST_F(PowerLossTest, ASyncedFileWithoutASyncedNameMayBeGone) {
  bool gone = false;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    ASSERT_EQ(write('a', "notrunc,fsync"), 0);
    lose_power(seed);
    gone |= content().empty();
    std::filesystem::remove(page_->disk() / "file");
  }
  EXPECT_TRUE(gone);
}

TEST_F(PowerLossTest, AFileThatWasReplacedOrRemovedMayComeBack) {
  bool old_again = false;
  bool removed_again = false;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    ASSERT_EQ(write('a', "notrunc,fsync"), 0);
    ASSERT_EQ(run("echo new > other && sync other && sync ."), 0);
    ASSERT_EQ(run(seed % 2 == 0 ? "mv other file" : "rm file"), 0);
    lose_power(seed);
    const bool old = content() == std::string(kSectors * kSectorBytes, 'a');
    (seed % 2 == 0 ? old_again : removed_again) |= old;
    std::filesystem::remove(page_->disk() / "file");
    std::filesystem::remove(page_->disk() / "other");
  }
  EXPECT_TRUE(old_again);
  EXPECT_TRUE(removed_again);
}

TEST_F(PowerLossTest, AFullDiskRefusesWhatGrowsAndOnlyThat) {
  ASSERT_EQ(write('a', "notrunc,fsync"), 0);
  page_->control().space_is_gone.store(1);
  EXPECT_EQ(write('b', "notrunc"), 0) << "nothing grows";
  EXPECT_NE(run("echo new > other"), 0);
  EXPECT_GT(page_->control().space_refusals.load(), 0u);
  page_->heal();
  EXPECT_EQ(run("echo new > other"), 0);
}

TEST_F(PowerLossTest, ASyncThatFailsIsToldAndTakesNothingOffTheRecord) {
  ASSERT_EQ(write('a', "notrunc,fsync"), 0);
  ASSERT_EQ(run("sync ."), 0);
  page_->control().sync_fails_in.store(1);
  EXPECT_NE(write('b', "notrunc,fsync"), 0);
  EXPECT_EQ(page_->control().syncs_failed.load(), 1u);
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 4 && !lost; ++seed) {
    lost = lose_power(seed).bytes_lost > 0;
  }
  EXPECT_TRUE(lost || content().front() == 'b');
}

}  // namespace
}  // namespace gcoord::chaos
