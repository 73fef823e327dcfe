// Which data directories have a bounded ledger, and who hears that one grows.
#include "server/node/ledger_bound.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(LedgerBound, ANewDirectoryTakesATenthOfItsFileSystemAndAtLeastAGiB) {
  NodeOptions options;
  EXPECT_EQ(ledger_bytes_max(options, true, 500 * kGiB), 50 * kGiB);
  EXPECT_EQ(ledger_bytes_max(options, true, 2 * kGiB), kGiB);
}

TEST(LedgerBound, ADirectoryOfAReleaseBeforeKeepsEverythingUnlessTheOperatorSaysOtherwise) {
  NodeOptions options;
  EXPECT_EQ(ledger_bytes_max(options, false, 500 * kGiB), 0u);
  options.ledger_bytes_max = 7 * kGiB;
  EXPECT_EQ(ledger_bytes_max(options, false, 500 * kGiB), 7 * kGiB);
  EXPECT_EQ(ledger_bytes_max(options, true, 500 * kGiB), 7 * kGiB);
  options.ledger_bytes_max = 0;
  EXPECT_EQ(ledger_bytes_max(options, true, 500 * kGiB), 0u);
}

}  // namespace
}  // namespace gcoord::server
