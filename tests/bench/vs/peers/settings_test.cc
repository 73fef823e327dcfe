#include "bench/vs/peers/program_version.h"
#include "bench/vs/peers/redis_server.h"
#include "bench/vs/peers/zookeeper_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gcoord::bench {
namespace {

using testing::Contains;
using testing::StartsWith;

TEST(PeerSettings, RedisSyncsAsItsNameSays) {
  EXPECT_THAT(redis_settings("always"), Contains("--appendonly yes"));
  EXPECT_THAT(redis_settings("always"), Contains("--appendfsync always"));
  EXPECT_THAT(redis_settings("everysec"), Contains("--appendfsync everysec"));
}

TEST(PeerSettings, ZookeeperSyncsBeforeItAcknowledges) {
  EXPECT_THAT(zookeeper_settings(), Contains("forceSync=yes"));
  EXPECT_THAT(zookeeper_settings(), Contains(StartsWith("-Xmx")));
}

TEST(PeerSettings, TheVersionIsTheWordBehindItsMark) {
  EXPECT_EQ(word_behind("etcd Version: 3.4.23", "etcd Version: "), "3.4.23");
  EXPECT_EQ(word_behind("Redis server v=7.0.15 sha=0", "v="), "7.0.15");
  EXPECT_EQ(word_behind("Apache ZooKeeper, version 3.8.0 2024-12-29", "version "), "3.8.0");
  EXPECT_EQ(word_behind("Mode: leader\r\nNode count: 5", "Mode: "), "leader");
  EXPECT_EQ(word_behind("no such thing", "v="), "");
}

TEST(PeerSettings, AProgramThatIsNotThereIsNotFound) {
  const auto version = program_version({"no-such-yardstick"}, "v=");
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.status().code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace gcoord::bench
