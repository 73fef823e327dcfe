// Two real nodes with state and a witness: any one of the three is killed, and a client's locks and
// the ends of sessions go on (docs/adr/0117).
#include "tests/cli/member/joining_cluster.h"

#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kWitness = 4;  // Its place.

class WitnessProcessTest : public JoiningCluster {
 protected:
  // The number of the refusal.
  static std::string refusal(const Ctl& ctl, std::vector<std::string> words) {
    words.insert(words.begin(), {"-o", "json", "--timeout", "20s"});
    const Finished finished = ctl(words);
    EXPECT_NE(finished.code, 0) << finished.out;
    return finished.json()["error"].value("code", std::string{"none"});
  }

  // Of three founders two stay, and a witness joins them.
  void make_two_and_a_witness() {
    verb({"remove", "3"}, "view");
    EXPECT_EQ(cluster_->wait_exit(3, kPatience), kRemovedExit);
    await_state("node-3", "removed");
    token_ = verb({"add", "--witness", "--name", "w"}, "token");
    join(kWitness, token_);
    await_ready(kWitness);
    await_state("w", "active");
  }

  // The client's locks go on.
  static void await_work(BusyClient& load) {
    ASSERT_TRUE(load.await_more(50)) << "the client's locks stand still";
  }

  // A lock whose session nobody keeps alive comes free by the word of those that are left.
  void await_end_of_a_session(const std::string& name) const {
    const auto held = ctl().json({"--timeout", "30s", "lock", "acquire", name, "--ttl", "1s"});
    ASSERT_FALSE(held.value("token", "").empty()) << held.dump();
    const auto next =
        ctl().json({"--timeout", "30s", "lock", "acquire", name, "--ttl", "1h", "--wait", "25s"});
    EXPECT_FALSE(next.value("token", "").empty()) << next.dump();
  }

  std::string token_;
};

TEST_F(WitnessProcessTest, TheLossOfAnyOneOfTheThreeIsOutlived) {
  ASSERT_NO_FATAL_FAILURE(make_two_and_a_witness());
  EXPECT_EQ(member("w").value("role", ""), "witness");
  client::ClientOptions options;
  options.endpoints = cluster_->endpoints();
  options.request_timeout = kPatience;
  auto client = client::Client::connect(std::move(options));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  BusyClient load(std::move(client).value());
  ASSERT_NO_FATAL_FAILURE(await_work(load));

  // Meanwhile the nodes tell each other that they have the newest view, so that none goes by the
  // voters of an earlier one any more.
  for (const char* name : {"with-all", "with-all-again"}) {
    ASSERT_NO_FATAL_FAILURE(await_end_of_a_session(name));
  }
  cluster_->kill(1);
  ASSERT_NO_FATAL_FAILURE(await_work(load));
  ASSERT_NO_FATAL_FAILURE(await_end_of_a_session("without-1"));
  ASSERT_NO_FATAL_FAILURE(spawn(1));
  ASSERT_NO_FATAL_FAILURE(await_work(load));

  // Both with state decide without it, so each of them has what was decided then.
  place(kWitness).process->kill_now();
  ASSERT_NO_FATAL_FAILURE(await_work(load));
  ASSERT_NO_FATAL_FAILURE(await_end_of_a_session("without-w"));

  // Its directory says what it is. Nothing is under way while the next one is killed.
  load.stop();
  EXPECT_THAT(load.failures(), testing::IsEmpty());
  start(kWitness, {});
  await_ready(kWitness);
  EXPECT_THAT(file_text(log_of(kWitness)), HasSubstr("this node is a witness"));
  cluster_->kill(2);
  ASSERT_NO_FATAL_FAILURE(await_end_of_a_session("without-2"));
}

TEST_F(WitnessProcessTest, AWitnessSaysWhatItIsAndServesNoState) {
  EXPECT_EQ(refusal(ctl(), {"member", "add", "--witness", "--weight", "2"}), "GC6618");
  ASSERT_NO_FATAL_FAILURE(make_two_and_a_witness());
  // One voter with state is not enough beside one witness, nor two beside two.
  EXPECT_EQ(refusal(ctl(), {"member", "remove", "2"}), "GC6629");
  EXPECT_EQ(refusal(ctl(), {"member", "add", "--witness"}), "GC6629");
  EXPECT_EQ(refusal(ctl(), {"member", "add", "--witness", "--force"}), "GC6629");
  EXPECT_EQ(refusal(ctl(), {"member", "promote", "w"}), "GC6616");
  const auto listed = ctl().json({"--timeout", "30s", "member", "list"});
  const std::string view = listed.value("view", "");
  EXPECT_EQ(refusal(ctl(), {"member", "update", "w", "--weight", "2", "--view", view}), "GC6618");

  const Ctl of_witness{endpoint(kWitness)};
  const auto held = of_witness.json({"--timeout", "30s", "lock", "acquire", "a", "--ttl", "1h"});
  ASSERT_FALSE(held.value("token", "").empty()) << held.dump();
  const std::string id = std::to_string(member("w").value("node", 0));
  EXPECT_EQ(
      refusal(of_witness, {"lock", "get", "a", "--consistency", "serializable", "--node", id}),
      "GC6630");
  const std::string file = (directory_.path() / "saved").string();
  EXPECT_EQ(refusal(of_witness, {"snapshot", "save", file, "--node", id}), "GC6630");
  EXPECT_EQ(of_witness({"--timeout", "30s", "snapshot", "save", file}).code, 0);
  const auto read =
      of_witness.json({"--timeout", "30s", "lock", "get", "a", "--consistency", "serializable"});
  EXPECT_EQ(read.value("token", ""), held.value("token", "x")) << read.dump();

  const auto status = of_witness.json({"--timeout", "30s", "status"});
  for (const auto& node : status["nodes"]) {
    const bool witness = std::to_string(node.value("node", 0)) == id;
    EXPECT_EQ(node.value("witness", !witness), witness) << node.dump();
    EXPECT_TRUE(!witness || node.value("leaders", -1) == 0) << node.dump();
    EXPECT_TRUE(!witness || node.value("sessions", -1) == 0) << node.dump();
  }

  verb({"remove", "w"}, "view");
  EXPECT_EQ(ended(kWitness), kRemovedExit) << file_text(log_of(kWitness));
  await_state("w", "removed");
  const auto after = ctl().json({"--timeout", "30s", "lock", "acquire", "b", "--ttl", "1h"});
  EXPECT_FALSE(after.value("token", "").empty()) << after.dump();
}

}  // namespace
}  // namespace gcoord::cli
