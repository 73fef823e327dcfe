#include "security/tls/ticket_keys.h"

#include <gtest/gtest.h>

namespace gcoord::security {
namespace {

using std::chrono::seconds;

TEST(TicketKeys, AKeyCountsForTwoPeriodsAndAsksForRenewalInTheSecond) {
  std::chrono::steady_clock::time_point now{};
  TicketKeys keys([&now] { return now; });
  TicketKeys::Key first;
  ASSERT_TRUE(keys.newest(first));
  TicketKeys::Key found;
  EXPECT_TRUE(keys.find(first.name.data(), found).known);
  EXPECT_FALSE(keys.find(first.name.data(), found).renew);
  EXPECT_EQ(found.cipher, first.cipher);
  now += TicketKeys::kPeriod;
  TicketKeys::Key second;
  ASSERT_TRUE(keys.newest(second));
  EXPECT_NE(second.name, first.name);
  EXPECT_NE(second.cipher, first.cipher);
  EXPECT_TRUE(keys.find(first.name.data(), found).renew);
  now += TicketKeys::kPeriod - seconds(1);
  EXPECT_TRUE(keys.find(first.name.data(), found).known);
  now += seconds(1);
  EXPECT_FALSE(keys.find(first.name.data(), found).known);
  EXPECT_TRUE(keys.find(second.name.data(), found).renew);
}

TEST(TicketKeys, NothingIsLeftOfKeysThatNobodyUsedForLong) {
  std::chrono::steady_clock::time_point now{};
  TicketKeys keys([&now] { return now; });
  TicketKeys::Key first;
  ASSERT_TRUE(keys.newest(first));
  now += 2 * TicketKeys::kPeriod;
  TicketKeys::Key found;
  EXPECT_FALSE(keys.find(first.name.data(), found).known);
}

}  // namespace
}  // namespace gcoord::security
