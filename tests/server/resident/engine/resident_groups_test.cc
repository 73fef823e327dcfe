// What concerns groups, on a turn that stays on its device: their requests take their places in the
// windows of sessions, and what groups answered is the hosts' alone. By the twin of three nodes
// whose state hashes are compared after every entry.
#include "locks/commands/ends.h"
#include "locks/commands/entry.h"
#include "locks/commands/group_command.h"
#include "tests/server/resident/engine/resident_world.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCode;
using locks::LockCommand;

class ResidentGroups : public testing::Test {
 protected:
  void SetUp() override { world_.turns(4000); }

  void TearDown() override {
    world_.turns(300);
    for (const auto& node : world_.nodes) {
      EXPECT_EQ(node.copy->state_hash(shard()), world_.nodes[0].copy->state_hash(shard()));
      EXPECT_EQ(node.compared, world_.nodes[0].compared);
      EXPECT_EQ(node.memory->view().control->abort, 0u);
    }
  }

  locks::LockReply ask(const LockCommand& command) {
    const Answer answer = world_.ask(shard(), command);
    EXPECT_TRUE(answer.whole);
    return answer.decision;
  }

  LockCommand request(std::uint64_t session, std::uint64_t sequence, const std::string& body) {
    text_ = name_ + body;
    return locks::make_group_request({.session = SessionId{session},
                                      .sequence = RequestSequence{sequence},
                                      .ttl_ms = 10'000,
                                      .name_bytes = static_cast<std::uint16_t>(name_.size()),
                                      .text = text_});
  }

  // What every host keeps once it has applied the request.
  void answer_as_group(std::uint64_t session, std::uint64_t sequence) {
    world_.turns(300);
    for (const auto& node : world_.nodes) {
      node.copy->keep_group_reply({shard(),
                                   SessionId{session},
                                   RequestSequence{sequence},
                                   FencingToken{40 + session},
                                   SessionId{9}});
    }
  }

  ShardId shard() const { return shard_of_name(name_); }

  ResidentWorld world_{47};
  const std::string name_ = "crew of a name that takes more than one entry of a log";
  std::string text_;
};

TEST_F(ResidentGroups, ARequestHasItsPlaceInTheWindowAndARetryGetsWhatTheHostKept) {
  EXPECT_EQ(ask(request(5, 1, "a")).code, LockCode::GroupTaken);
  answer_as_group(5, 1);
  const locks::LockReply again = ask(request(5, 1, "a"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.token, FencingToken{45});
  EXPECT_EQ(ask(request(5, 1, "b")).code, LockCode::SequenceReused);
  EXPECT_EQ(ask(request(5, 2, std::string(578, 'p'))).code, LockCode::GroupTaken);
  answer_as_group(5, 2);
  const LockCommand withdraw =
      locks::make_group_withdraw({SessionId{5}, RequestSequence{2}, 3, name_});
  EXPECT_EQ(ask(withdraw).token, FencingToken{45});
  EXPECT_EQ(ask(locks::make_group_withdraw({SessionId{5}, RequestSequence{3}, 3, name_})).code,
            LockCode::NotWaiting);
}

TEST_F(ResidentGroups, OneEntryEndsAsManySessionsAsItsListSays) {
  std::vector<locks::SessionEnd> ends;
  for (std::uint64_t session = 1; session <= locks::kEntryEndsMax; ++session) {
    EXPECT_EQ(ask(request(session, 1, "a")).code, LockCode::GroupTaken);
    ends.push_back({SessionId{session}, static_cast<std::uint32_t>(session)});
  }
  ends[2].serial += 100;  // Another registration of that session.
  const std::vector<char> list = locks::encode_ends(ends);
  EXPECT_EQ(ask(locks::make_expire_sessions(list)).code, LockCode::SessionsEnded);
  world_.turns(300);
  for (const auto& node : world_.nodes) {
    EXPECT_FALSE(node.copy->lives(shard(), SessionId{1}));
    EXPECT_TRUE(node.copy->lives(shard(), SessionId{3}));
    EXPECT_FALSE(node.copy->lives(shard(), SessionId{locks::kEntryEndsMax}));
  }
}

}  // namespace
}  // namespace gcoord::server
