// The pure step of groups against a naive model, under random commands.
#include "common/random.h"
#include "membership/groups/group_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gcoord::membership {
namespace {

constexpr std::uint32_t kShards = 3;
const std::vector<std::string> kNames = {"workers", "trainers", "ü"};

// What a reader of the documentation would write.
class GroupModel {
 public:
  struct ModelMember {
    std::uint64_t session = 0;
    std::string id;
    std::string payload;
  };

  struct Group {
    std::uint64_t epoch = 0;
    std::vector<ModelMember> members;
    std::set<std::uint64_t> arrived;
    std::uint32_t size = 0;
    std::uint64_t generation = 0;

    auto find(std::uint64_t session) {
      return std::ranges::find(members, session, &ModelMember::session);
    }
  };

  GroupReply join(const std::string& name, const ModelMember& seat) {
    Group& group = enter(name);
    const auto found = group.find(seat.session);
    if (found != group.members.end()) {
      const bool same = found->id == seat.id;
      return {same ? GroupCode::AlreadyMember : GroupCode::MemberIdDiffers,
              group.epoch,
              static_cast<std::uint32_t>(found - group.members.begin())};
    }
    if (std::ranges::find(group.members, seat.id, &ModelMember::id) != group.members.end()) {
      return {GroupCode::MemberIdTaken, group.epoch, 0};
    }
    group.members.push_back(seat);
    ++group.epoch;
    return {GroupCode::Joined, group.epoch, static_cast<std::uint32_t>(group.members.size() - 1)};
  }

  GroupReply leave(const std::string& name, std::uint64_t session) {
    const auto found = groups.find(name);
    if (found == groups.end() || found->second.find(session) == found->second.members.end()) {
      return {GroupCode::NotMember, found == groups.end() ? epoch_last : found->second.epoch, 0};
    }
    Group& group = found->second;
    group.members.erase(group.find(session));
    const GroupReply reply{GroupCode::Left, ++group.epoch, 0};
    sweep();
    return reply;
  }

  GroupReply update(const std::string& name, std::uint64_t session, const std::string& payload) {
    const auto found = groups.find(name);
    if (found == groups.end() || found->second.find(session) == found->second.members.end()) {
      return {GroupCode::NotMember, found == groups.end() ? epoch_last : found->second.epoch, 0};
    }
    Group& group = found->second;
    const auto seat = group.find(session);
    seat->payload = payload;
    return {GroupCode::Updated,
            ++group.epoch,
            static_cast<std::uint32_t>(seat - group.members.begin())};
  }

  GroupReply arrive(const std::string& name, std::uint64_t session, std::uint32_t size) {
    Group& group = enter(name);
    if (!group.arrived.empty() && group.size != size) {
      return {GroupCode::SizeDiffers, group.generation, group.size};
    }
    if (group.arrived.empty()) {
      group.generation = ++generation_last;
      group.size = size;
    }
    group.arrived.insert(session);
    GroupReply reply{
        GroupCode::Arrived, group.generation, static_cast<std::uint32_t>(group.arrived.size())};
    if (group.arrived.size() == size) {
      reply.code = GroupCode::Released;
      group.arrived.clear();
      group.size = 0;
      sweep();
    }
    return reply;
  }

  GroupReply withdraw(const std::string& name, std::uint64_t session, std::uint64_t generation) {
    const auto found = groups.find(name);
    if (found == groups.end() || found->second.generation != generation ||
        found->second.arrived.erase(session) == 0) {
      return {GroupCode::NotArrived, generation, 0};
    }
    const auto left = static_cast<std::uint32_t>(found->second.arrived.size());
    sweep();
    return {GroupCode::TimedOut, generation, left};
  }

  void end(const std::vector<SessionId>& sessions) {
    for (auto& [name, group] : groups) {
      const std::size_t before = group.members.size();
      for (const SessionId session : sessions) {
        std::erase_if(group.members,
                      [&](const ModelMember& at) { return at.session == session.value; });
        group.arrived.erase(session.value);
      }
      group.epoch += group.members.size() == before ? 0 : 1;
    }
    sweep();
  }

  std::map<std::string, Group> groups;
  std::uint64_t epoch_last = 1;
  std::uint64_t generation_last = 0;

 private:
  Group& enter(const std::string& name) {
    const auto [at, entered] = groups.try_emplace(name);
    at->second.epoch = entered ? epoch_last : at->second.epoch;
    return at->second;
  }

  void sweep() {
    for (auto at = groups.begin(); at != groups.end();) {
      Group& group = at->second;
      group.size = group.arrived.empty() ? 0 : group.size;
      if (!group.members.empty() || !group.arrived.empty()) {
        ++at;
        continue;
      }
      epoch_last = std::max(epoch_last, group.epoch);
      at = groups.erase(at);
    }
  }
};

// A group as somebody who starts with a view and follows its changes sees it.
struct Follower {
  std::uint64_t epoch = 0;
  std::vector<std::string> ids;

  void take(const GroupChange& change) {
    ASSERT_TRUE(change.epoch == epoch || change.epoch > epoch);
    epoch = change.epoch;
    if (change.kind == GroupChangeKind::Joined) {
      ids.push_back(change.member.id);
    } else if (change.kind == GroupChangeKind::Left) {
      ASSERT_EQ(std::erase(ids, change.member.id), 1u);
    }
  }
};

class GroupPair {
 public:
  explicit GroupPair(std::uint64_t seed) : random_(seed) {}

  void step() {
    const std::string& name = kNames[pick(kNames.size())];
    const SessionId session{1 + pick(8)};
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return join(name, session);
      case 4:
        return same(apply(name, session, encode_leave()), model_.leave(name, session.value));
      case 5:
        return update(name, session);
      case 6:
      case 7:
      case 8:
        return arrive(name, session);
      case 9:
        return withdraw(name, session);
      case 10:
        return end();
      default:
        return reinstall();
    }
  }

  void check() const {
    for (const std::string& name : kNames) {
      const GroupView view = cpu_.view(kShard, hash_name(name));
      const auto found = model_.groups.find(name);
      if (found == model_.groups.end()) {
        ASSERT_TRUE(view.members.empty());
        ASSERT_EQ(view.epoch, model_.epoch_last);
        continue;
      }
      ASSERT_EQ(view.epoch, found->second.epoch);
      ASSERT_EQ(view.barrier_size, found->second.size);
      ASSERT_EQ(view.arrived.size(), found->second.arrived.size());
      ASSERT_EQ(view.members.size(), found->second.members.size());
      for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
        ASSERT_EQ(view.members[rank].session.value, found->second.members[rank].session);
        ASSERT_EQ(view.members[rank].id, found->second.members[rank].id);
        ASSERT_EQ(view.members[rank].payload, found->second.members[rank].payload);
      }
      const auto follower = followers_.find(hash_name(name).low);
      const std::size_t followed = follower == followers_.end() ? 0 : follower->second.ids.size();
      ASSERT_EQ(followed, view.members.size());
      for (std::size_t rank = 0; rank < followed; ++rank) {
        ASSERT_EQ(follower->second.ids[rank], view.members[rank].id);
      }
    }
  }

 private:
  static constexpr ShardId kShard{1};

  std::uint64_t pick(std::uint64_t count) { return mix64(++random_) % count; }

  void follow() {
    for (const GroupChange& change : cpu_.changes()) {
      followers_[change.group.low].take(change);
    }
  }

  GroupReply apply(const std::string& name, SessionId session, const std::string& bytes) {
    GroupCommand command = decode_group_command(bytes);
    command.session = session;
    command.name_hash = hash_name(name);
    command.name = name.data();
    command.name_bytes = static_cast<std::uint16_t>(name.size());
    const GroupReply reply = cpu_.apply(kShard, command);
    follow();
    return reply;
  }

  static void same(const GroupReply& reply, const GroupReply& expected) {
    ASSERT_EQ(reply.code, expected.code);
    ASSERT_EQ(reply.epoch, expected.epoch);
    ASSERT_EQ(reply.number, expected.number);
  }

  void join(const std::string& name, SessionId session) {
    const std::string id = "m" + std::to_string(pick(9));
    const std::string payload(pick(20), 'p');
    same(apply(name, session, encode_join(id, payload)),
         model_.join(name, {session.value, id, payload}));
  }

  void update(const std::string& name, SessionId session) {
    const std::string payload(pick(kMemberPayloadBytesMax), 'u');
    same(apply(name, session, encode_update(payload)), model_.update(name, session.value, payload));
  }

  void arrive(const std::string& name, SessionId session) {
    const auto size = static_cast<std::uint32_t>(2 + pick(3));
    same(apply(name, session, encode_arrive(size)), model_.arrive(name, session.value, size));
  }

  void withdraw(const std::string& name, SessionId session) {
    const std::uint64_t generation =
        model_.generation_last - std::min(model_.generation_last, pick(3));
    same(cpu_.withdraw(kShard, {hash_name(name), session, generation}),
         model_.withdraw(name, session.value, generation));
  }

  void end() {
    std::vector<SessionId> sessions;
    for (std::uint64_t id = 1; id <= 8; ++id) {
      if (pick(3) == 0) {
        sessions.push_back(SessionId{id});
      }
    }
    cpu_.end_sessions(kShard, sessions);
    model_.end(sessions);
    follow();
  }

  // As another node gets the state.
  void reinstall() {
    std::vector<std::byte> bytes;
    cpu_.serialize(kShard, bytes);
    const std::uint64_t hash = cpu_.state_hash(kShard);
    ASSERT_TRUE(cpu_.deserialize(kShard, bytes).ok());
    std::vector<std::byte> again;
    cpu_.serialize(kShard, again);
    ASSERT_EQ(bytes, again);
    ASSERT_EQ(cpu_.state_hash(kShard), hash);
  }

  std::uint64_t random_;
  GroupCpu cpu_{kShards, 7};
  GroupModel model_;
  std::map<std::uint64_t, Follower> followers_;
};

TEST(GroupModel, RandomCommandsDoWhatTheModelDoes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    GroupPair pair{seed << 32};
    for (int step = 0; step < 400; ++step) {
      pair.step();
      pair.check();
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
    }
  }
}

class Groups : public testing::Test {
 protected:
  GroupReply apply(std::uint64_t session, const std::string& bytes) {
    GroupCommand command = decode_group_command(bytes);
    command.session = SessionId{session};
    command.name_hash = hash_name("workers");
    command.name = "workers";
    command.name_bytes = 7;
    return cpu_.apply(kShard, command);
  }

  GroupView view() const { return cpu_.view(kShard, hash_name("workers")); }

  static constexpr ShardId kShard{0};
  GroupCpu cpu_{1, 7};
};

TEST_F(Groups, TheAliveWordIsOfTheNewestView) {
  const auto alive = [&] { return cpu_.alive(kShard, hash_name("workers")); };
  EXPECT_EQ(alive(), AliveWord{});
  for (std::uint64_t session = 1; session <= 66; ++session) {
    apply(session, encode_join("m" + std::to_string(session), ""));
    const std::uint64_t count = session;
    const std::uint64_t mask = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
    ASSERT_EQ(alive(), (AliveWord{view().epoch, mask})) << session;
  }
  std::vector<SessionId> ended;
  for (std::uint64_t session = 2; session <= 66; ++session) {
    ended.push_back(SessionId{session});
  }
  cpu_.end_sessions(kShard, ended);
  EXPECT_EQ(alive(), (AliveWord{view().epoch, 1}));
  std::vector<std::byte> bytes;
  cpu_.serialize(kShard, bytes);
  GroupCpu other{1, 9};
  ASSERT_TRUE(other.deserialize(kShard, bytes).ok());
  EXPECT_EQ(other.alive(kShard, hash_name("workers")), alive());
  apply(1, encode_leave());
  EXPECT_EQ(alive(), AliveWord{});
}

TEST_F(Groups, RanksCloseUpWhenAMemberLeaves) {
  for (std::uint64_t session = 1; session <= 3; ++session) {
    EXPECT_EQ(apply(session, encode_join("m" + std::to_string(session), "")).number, session - 1);
  }
  EXPECT_EQ(apply(1, encode_leave()).epoch, 5u);
  ASSERT_EQ(view().members.size(), 2u);
  EXPECT_EQ(view().members[0].id, "m2");
  EXPECT_EQ(view().members[1].id, "m3");
}

TEST_F(Groups, SessionsThatEndInOneEntryMakeOneView) {
  for (std::uint64_t session = 1; session <= 5; ++session) {
    apply(session, encode_join("m" + std::to_string(session), ""));
  }
  const std::vector<SessionId> ended = {SessionId{2}, SessionId{3}, SessionId{5}};
  cpu_.end_sessions(kShard, ended);
  EXPECT_EQ(view().epoch, 7u);
  EXPECT_EQ(cpu_.changes().size(), 3u);
  for (const GroupChange& change : cpu_.changes()) {
    EXPECT_EQ(change.epoch, 7u);
  }
}

TEST_F(Groups, AnEpochIsNeverUsedTwiceThoughTheGroupWasEmpty) {
  apply(1, encode_join("a", ""));
  apply(1, encode_leave());
  EXPECT_EQ(cpu_.usage().groups, 0u);
  EXPECT_EQ(apply(2, encode_join("b", "")).epoch, 4u);
}

TEST_F(Groups, ABarrierIsReleasedByTheLastOfDistinctSessionsOnly) {
  EXPECT_EQ(apply(1, encode_arrive(3)).code, GroupCode::Arrived);
  EXPECT_EQ(apply(1, encode_arrive(3)).number, 1u);
  EXPECT_EQ(apply(2, encode_arrive(3)).number, 2u);
  EXPECT_EQ(apply(4, encode_arrive(2)).code, GroupCode::SizeDiffers);
  const std::vector<SessionId> ended = {SessionId{2}};
  cpu_.end_sessions(kShard, ended);
  EXPECT_EQ(apply(3, encode_arrive(3)).number, 2u);
  EXPECT_EQ(apply(4, encode_arrive(3)).code, GroupCode::Released);
  EXPECT_EQ(cpu_.usage().participants, 0u);
}

TEST_F(Groups, AGroupTakesSoManyMembersAndNoMore) {
  for (std::uint64_t session = 1; session <= kGroupMembersMax; ++session) {
    ASSERT_EQ(apply(session, encode_join("m" + std::to_string(session), "")).code,
              GroupCode::Joined);
  }
  EXPECT_EQ(apply(1000, encode_join("late", "")).code, GroupCode::GroupFull);
}

TEST_F(Groups, BytesThatAreNoCommandChangeNothing) {
  EXPECT_EQ(apply(1, "").code, GroupCode::Malformed);
  EXPECT_EQ(apply(1, "\x01").code, GroupCode::Malformed);
  EXPECT_EQ(apply(1, "\x09x").code, GroupCode::Malformed);
  EXPECT_EQ(apply(1, std::string("\x01\x40", 2) + "short").code, GroupCode::Malformed);
  EXPECT_EQ(cpu_.usage().participants, 0u);
}

}  // namespace
}  // namespace gcoord::membership
