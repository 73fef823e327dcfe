// One read of the locks of very many shards, whose leaders change meanwhile.
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/read_messages.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::client {
namespace {

constexpr std::uint32_t kShards = 512;

// Answers a LockRead, but for shards that lost their leader while they were asked.
class Answers {
 public:
  explicit Answers(std::uint32_t refusals) : refusals_(refusals) {}

  FakeReply to(const FakeRequest& request) {
    const auto read = protocol::decode_lock_read(protocol::bytes_of(request.payload)).value();
    protocol::LockReadReply told;
    told.question = read.question;
    std::map<std::uint32_t, bool> refused;
    for (const protocol::TokenCheck& check : read.names) {
      const ShardId shard = shard_of(hash_name(check.name), kShards);
      if (!refused.contains(shard.value)) {
        refused[shard.value] = refusals_of_[shard.value]++ < refusals_;
        told.shards.push_back({.shard = shard,
                               .error = refused[shard.value] ? protocol::ErrorCode::NotLeader
                                                             : protocol::ErrorCode::None,
                               .index = LogIndex{7}});
      }
      told.names.push_back(
          {.answered = !refused[shard.value], .verdict = protocol::CheckVerdict::Valid});
    }
    std::ranges::sort(told.shards, {}, &protocol::ShardAnswer::shard);
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode_lock_read_reply(told));
    return reply;
  }

 private:
  std::uint32_t refusals_;
  std::map<std::uint32_t, std::uint32_t> refusals_of_;
};

class BatchRead : public ::testing::Test {
 protected:
  Result<BatchReading<Verdict>> read(const std::shared_ptr<Answers>& answers) {
    cluster_.answer_with([answers](const FakeRequest& request) -> std::optional<FakeReply> {
      return request.slot.kind == protocol::RequestKind::LockRead ? answers->to(request)
                                                                  : friendly_reply(request);
    });
    ClientOptions options;
    options.endpoints = cluster_.endpoints();
    options.request_timeout = std::chrono::minutes{1};
    auto client = Client::connect(std::move(options));
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    std::vector<TokenCheck> checks;
    for (std::uint32_t key = 0; key < 4 * kShards; ++key) {
      names_.push_back("key/" + std::to_string(key));
    }
    for (const std::string& name : names_) {
      checks.push_back({name, 7});
      homes_.insert(shard_of(hash_name(name), kShards).value);
    }
    return client.value().read_check_batch(checks, {.consistency = Consistency::Lease});
  }

  FakeCluster cluster_{3, kShards};
  std::vector<std::string> names_;
  std::set<std::uint32_t> homes_;
};

// It gave up when sixty-four shards had changed their leaders, however much time was left.
TEST_F(BatchRead, R7OutlivesAChangeOfLeadersInEachOfHundredsOfShards) {
  const auto answered = read(std::make_shared<Answers>(2));
  ASSERT_TRUE(answered.ok()) << answered.status().to_string();
  EXPECT_EQ(answered.value().answers, std::vector<Verdict>(names_.size(), Verdict::Valid));
  EXPECT_EQ(answered.value().shards.size(), homes_.size());
}

TEST_F(BatchRead, EndsWithNoLeaderWhereNobodyEverLeads) {
  const auto answered = read(std::make_shared<Answers>(1'000'000));
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.status().detail(), kDetailNoLeader);
}

}  // namespace
}  // namespace gcoord::client
