#include "server/replicas/entry_log.h"
#include "tests/common/tables/page_flags.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

namespace gcoord::server {
namespace {

using consensus::EntryKind;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(const EntryBlock* block) {
  return block == nullptr ? ""
                          : std::string(reinterpret_cast<const char*>(block->payload().data()),
                                        block->payload().size());
}

TEST(EntryLog, ARowOfNoOpsHoldsNothing) {
  EntryPool pool;
  EntryLog log(pool, 2);
  log.put(0, LogIndex{1}, nullptr);
  log.put(0, LogIndex{2}, nullptr);
  EXPECT_EQ(log.held(0), 0u);
  EXPECT_EQ(log.find(0, LogIndex{2}), nullptr);
  EXPECT_EQ(pool.slab_bytes(), 0u);
}

TEST(EntryLog, WritingAtAnIndexRemovesEverythingAbove) {
  EntryPool pool;
  EntryLog log(pool, 1);
  for (std::uint64_t index = 1; index <= 5; ++index) {
    log.put(0, LogIndex{index}, pool.make(EntryKind::Command, bytes_of("old")));
  }
  log.put(0, LogIndex{3}, pool.make(EntryKind::Command, bytes_of("fresh")));
  EXPECT_EQ(log.held(0), 3u);
  EXPECT_EQ(text_of(log.find(0, LogIndex{2})), "old");
  EXPECT_EQ(text_of(log.find(0, LogIndex{3})), "fresh");
}

TEST(EntryLog, BlocksAreRecycled) {
  EntryPool pool;
  EntryLog log(pool, 1);
  const std::string payload(2048, 'p');
  for (std::uint64_t index = 1; index <= 100000; ++index) {
    log.put(0, LogIndex{index}, pool.make(EntryKind::Command, bytes_of(payload)));
    log.compact(0, LogIndex{index > 64 ? index - 64 : 0});
  }
  EXPECT_LE(pool.slab_bytes(), std::size_t{1} << 20);
  log.clear(0);
  EXPECT_EQ(pool.used_bytes(), 0u);
}

// A node with few entries does without a huge page; one with many finds its blocks in few pages.
TEST(EntryPool, ItsFirstSlabsAreSmallAndTheOthersAreHugePages) {
  EntryPool pool;
  const std::string payload(2000, 'p');
  const auto fill = [&](std::size_t slab_bytes) {
    EntryBlock* block = nullptr;
    while (pool.slab_bytes() < slab_bytes) {
      block = pool.make(EntryKind::Command, bytes_of(payload));
    }
    return block;
  };
  constexpr std::size_t kSmallBytes = std::size_t{1} << 20;
  fill(kSmallBytes);
  EXPECT_EQ(pool.slab_bytes(), kSmallBytes);
  const EntryBlock* first = fill(kSmallBytes + 1);
  EXPECT_EQ(pool.slab_bytes(), kSmallBytes + kHugePageBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % kHugePageBytes, 0u);
  if (!has_huge_pages()) {
    GTEST_SKIP() << "this kernel has no huge pages";
  }
  EXPECT_TRUE(wants_huge_pages(reinterpret_cast<const std::byte*>(first)));
}

// What a log of one shard must hold, told the simple way.
struct Model {
  std::map<std::uint64_t, std::string> entries;
  std::uint64_t last = 0;
  std::uint64_t floor = 0;
};

void change(EntryPool& pool, EntryLog& log, Model& model) {
  constexpr std::uint32_t kRow = 0;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
    case 1: {
      const auto index = *rc::gen::inRange<std::uint64_t>(model.floor + 1, model.last + 2);
      const auto text = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
      const bool noop = text.empty();
      log.put(
          kRow, LogIndex{index}, noop ? nullptr : pool.make(EntryKind::Command, bytes_of(text)));
      model.entries.erase(model.entries.lower_bound(index), model.entries.end());
      model.entries[index] = text;
      model.last = index;
      return;
    }
    case 2: {
      const auto from = *rc::gen::inRange<std::uint64_t>(model.floor + 1, model.last + 2);
      log.truncate(kRow, LogIndex{from});
      model.entries.erase(model.entries.lower_bound(from), model.entries.end());
      model.last = from - 1;
      return;
    }
    default: {
      const auto through = *rc::gen::inRange<std::uint64_t>(model.floor, model.last + 1);
      log.compact(kRow, LogIndex{through});
      model.entries.erase(model.entries.begin(), model.entries.upper_bound(through));
      model.floor = through;
    }
  }
}

RC_GTEST_PROP(EntryLog, HoldsWhatASimpleMapHolds, ()) {
  EntryPool pool;
  EntryLog log(pool, 1);
  Model model;
  const int change_count = *rc::gen::inRange(1, 60);
  for (int k = 0; k < change_count; ++k) {
    change(pool, log, model);
    for (const auto& [index, text] : model.entries) {
      RC_ASSERT(text_of(log.find(0, LogIndex{index})) == text);
    }
  }
}

}  // namespace
}  // namespace gcoord::server
