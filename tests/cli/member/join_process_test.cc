// Nodes that come and go while real ones work: a cluster grows under load, a lost node is replaced,
// one that left says so, and every node goes by its directory at the next start.
#include "tests/cli/member/joining_cluster.h"
#include "tests/own_address.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class JoinProcessTest : public JoiningCluster {};

TEST_F(JoinProcessTest, AClusterGrowsUnderLoadAndComesBackWithItsOldCommandLines) {
  client::ClientOptions options;
  options.endpoints = cluster_->endpoints();
  auto client = client::Client::connect(std::move(options));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  BusyClient load(std::move(client).value());
  std::map<std::uint32_t, std::string> tokens;
  for (const std::uint32_t number : {4u, 5u}) {
    tokens[number] = invite(name_of(number));
    join(number, tokens[number]);
    await_ready(number);
    await_state(name_of(number), "active");
  }
  load.stop();
  EXPECT_GT(load.done(), 0);
  EXPECT_THAT(load.failures(), testing::IsEmpty());
  EXPECT_EQ(member("place-5").value("client_address", ""), endpoint(5));

  // The founders' command lines name three nodes; one of the others has its own, one nothing.
  restart_all({1, 2, 3}, {{4, {"--join", "127.0.0.1:1", "--join-token", tokens[4]}}, {5, {}}});
  EXPECT_THAT(file_text(log_of(4)), HasSubstr("--join is ignored"));
  // Five nodes vote: two may fail, also two founders.
  cluster_->kill(1);
  cluster_->kill(2);
  const Ctl others{cluster_->endpoints()[2] + "," + endpoint(4)};
  const auto grant =
      others.json({"--timeout", "60s", "lock", "acquire", "after", "--ttl", "1h", "--try"});
  EXPECT_FALSE(grant.value("token", "").empty()) << grant.dump();
}

TEST_F(JoinProcessTest, ALostNodeIsReplacedAndSaysAtItsReturnThatItHasLeft) {
  cluster_->kill(2);
  const std::string token = verb({"replace", "2", "new-place", "--force"}, "token");
  join(4, token);
  await_ready(4);
  await_state("new-place", "active");
  await_state("node-2", "removed");
  for (int start = 1; start <= 2; ++start) {
    ASSERT_TRUE(cluster_->spawn(2).ok());
    EXPECT_EQ(cluster_->wait_exit(2, kPatience), kRemovedExit) << file_text(cluster_->log_file(2));
    EXPECT_THAT(file_text(cluster_->log_file(2)), HasSubstr("GC3012"));
  }
}

TEST_F(JoinProcessTest, ANodeThatIsRemovedEndsAndATokenIsGoodForOneNode) {
  join(9, std::string(32, 'a'));
  EXPECT_NE(ended(9), 0);
  EXPECT_THAT(file_text(log_of(9)), HasSubstr("GC6632"));
  start(9, {});
  EXPECT_EQ(ended(9), 2);
  EXPECT_THAT(file_text(log_of(9)), HasSubstr("a join into the data directory"));

  const std::string token = invite("fourth");
  join(4, token);
  await_ready(4);
  await_state("fourth", "active");
  join(8, token);
  EXPECT_NE(ended(8), 0);
  EXPECT_THAT(file_text(log_of(8)), HasSubstr("GC6633"));

  verb({"remove", "fourth"}, "view");
  EXPECT_EQ(ended(4), kRemovedExit) << file_text(log_of(4));
  await_state("fourth", "removed");
  start(4, {});
  EXPECT_EQ(ended(4), kRemovedExit);
  EXPECT_THAT(file_text(log_of(4)), HasSubstr("GC3012"));
}

TEST_F(JoinProcessTest, AnotherClusterThanTheOptionsNameIsRefusedAtOnce) {
  const std::string token(32, 'a');
  const std::string others = comma_list(cluster_->endpoints());
  start(7, {"--join", others, "--join-token", token, "--cluster-id", "5"});
  EXPECT_EQ(ended(7), 2) << file_text(log_of(7));
  EXPECT_THAT(file_text(log_of(7)), HasSubstr("the nodes of --join belong to another cluster"));
  EXPECT_THAT(file_text(log_of(7)), HasSubstr("GC4012"));
  start(8, {"--join", others, "--join-token", token, "--cluster-name", "other"});
  EXPECT_EQ(ended(8), 2) << file_text(log_of(8));
  EXPECT_THAT(file_text(log_of(8)), HasSubstr("GC4012"));
}

// A view that a leaving node never says would not be left, and the node not be gone.
TEST_F(JoinProcessTest, ANodeThatLeavesHearsTheViewsThatComeMeanwhile) {
  join(4, invite("fourth"));
  await_ready(4);
  await_state("fourth", "active");
  verb({"remove", "fourth"}, "view");
  for (const char* const change : {"drain", "undrain"}) {
    verb({change, "1"}, "view");
  }
  EXPECT_EQ(ended(4), kRemovedExit) << file_text(log_of(4));
  await_state("fourth", "removed");
}

// Who reads the token and the answer has the cluster's secret.
TEST_F(JoinProcessTest, ATokenGoesOutInPlainTcpBeyondLoopbackByConsentAlone) {
  const auto beyond = own_address_beyond_loopback();
  if (!beyond) {
    GTEST_SKIP() << "this machine has no address beyond loopback";
  }
  const std::string far = *beyond + ":" + std::to_string(place(6).ports[0]);
  ChildOptions options = program("gcoordd",
                                 {"dev",
                                  "--listen-client",
                                  far,
                                  "--listen-peer",
                                  "127.0.0.1:" + std::to_string(place(6).ports[1]),
                                  "--listen-metrics",
                                  "127.0.0.1:" + std::to_string(place(6).ports[2]),
                                  "--insecure"});
  options.error_file = log_of(6);
  auto child = ChildProcess::start(options);
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  place(6).process.emplace(std::move(child).value());
  await_ready(6);
  const std::string token(32, 'a');
  start(7, {"--join", far, "--join-token", token});
  EXPECT_NE(ended(7), 0);
  EXPECT_THAT(file_text(log_of(7)), HasSubstr("GC6685"));
  EXPECT_THAT(file_text(log_of(7)), HasSubstr("--insecure"));
  start(8, {"--join", far, "--join-token", token, "--insecure"});
  EXPECT_NE(ended(8), 0);
  // Its answer: it is a node alone, without a view, or by now with one and no such invitation.
  EXPECT_THAT(file_text(log_of(8)), testing::AnyOf(HasSubstr("GC6601"), HasSubstr("GC6632")));
}

TEST_F(JoinProcessTest, AnOptionThatTheViewContradictsIsNamed) {
  const std::string token = invite("fourth");
  start(4,
        {"--join",
         comma_list(cluster_->endpoints()),
         "--join-token",
         token,
         "--election-ms",
         "2000"});
  EXPECT_EQ(ended(4), 2);
  EXPECT_THAT(file_text(log_of(4)), HasSubstr("--election-ms"));
  join(4, token);  // The same directory asks again.
  await_ready(4);
}

}  // namespace
}  // namespace gcoord::cli
