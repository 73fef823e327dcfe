#include "server/waits/pending_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace gcoord::server {
namespace {

Pending request(std::uint64_t id) {
  Pending pending;
  pending.kind = PendingKind::Request;
  pending.request.request_id = id;
  return pending;
}

TEST(PendingTableTest, GivesBackWhatWasAdded) {
  PendingTable table;
  const std::uint64_t first = table.add(request(1));
  const std::uint64_t second = table.add(request(2));
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.take(second).request.request_id, 2u);
  EXPECT_EQ(table.take(first).request.request_id, 1u);
  EXPECT_EQ(table.size(), 0u);
}

TEST(PendingTableTest, NeverRepeatsACookieSoon) {
  PendingTable table;
  const std::uint64_t first = table.add(request(1));
  table.take(first);
  EXPECT_NE(table.add(request(2)), first);
}

TEST(PendingTableDeathTest, ASecondTakeIsABug) {
  PendingTable table;
  const std::uint64_t cookie = table.add(request(1));
  table.take(cookie);
  EXPECT_DEATH(table.take(cookie), "assertion failed");
}

RC_GTEST_PROP(PendingTableProperty, BehavesLikeAMap, (const std::vector<bool>& adds)) {
  PendingTable table;
  std::map<std::uint64_t, std::uint64_t> model;
  std::uint64_t id = 0;
  for (const bool add : adds) {
    if (add || model.empty()) {
      ++id;
      RC_ASSERT(model.emplace(table.add(request(id)), id).second);
    } else {
      const auto some = model.begin();
      RC_ASSERT(table.take(some->first).request.request_id == some->second);
      model.erase(some);
    }
    RC_ASSERT(table.size() == model.size());
  }
}

}  // namespace
}  // namespace gcoord::server
