// What no sequence of nodes that come and go breaks in the view.
#include "common/random.h"
#include "tests/membership/view/member_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace gcoord::membership {
namespace {

using Kind = ViewCommandKind;

MemberStep drawn_step(std::uint64_t word, const ClusterView& view) {
  MemberStep step = word % 7 == 0 ? Views::added(word / 8 % 3) : Views::admitted(1, word / 8 % 3);
  const auto highest = view.nodes.back().id.value;
  step.node = NodeId{1 + static_cast<std::uint32_t>(word / 64 % (highest + 1))};
  step.replaces =
      word / 32 % 3 == 0 ? NodeId{1 + static_cast<std::uint32_t>(word / 512 % highest)} : NodeId{};
  step.role = word / 1024 % 4 == 0 ? MemberRole::Observer : MemberRole::Voter;
  step.weight = step.role == MemberRole::Observer ? 0 : 1 + static_cast<std::uint32_t>(word % 3);
  step.auto_promote = word / 2048 % 2 == 0;
  step.suspect = word / 4096 % 2 == 0;
  for (std::uint32_t id = 1; id <= std::min(highest, 30u); ++id) {
    if ((word >> (id + 3)) % 4 == 0 || id == highest) {
      step.marks.push_back({NodeId{id}, (word >> id) % 2 == 0});
    }
  }
  step.peer_address = "h" + std::to_string(word / 8192 % 12) + ":1";
  step.client_address = "h" + std::to_string(word / 8192 % 12) + ":2";
  step.directory = 1 + word / 65536 % 30;
  step.time_ms = 990 + word / 131072 % 12;
  step.name = word % 5 == 0 ? "n" + std::to_string(word / 3 % 9) : "";
  step.invitation.token_hash = protocol::join_token_hash(token_of(word / 8 % 3));
  step.invitation.deadline_ms = 1000;
  step.proof = protocol::join_token_proof(token_of(word / 8 % 3));
  return step;
}

void expect_sound(const ClusterView& view, std::uint32_t& highest) {
  ASSERT_EQ(protocol::decode_view(protocol::encode_view(view)), view);
  std::set<std::string> addresses;
  std::size_t voters = 0;
  std::size_t stays = 0;
  for (const Member& node : view.nodes) {
    const bool there = node.state == MemberState::Active || node.state == MemberState::Draining;
    voters += there && node.role == MemberRole::Voter ? 1 : 0;
    stays += there ? 1 : 0;
    if (node.state != MemberState::Removed && !node.peer_address.empty()) {
      ASSERT_TRUE(addresses.insert(node.peer_address).second) << node.peer_address;
    }
  }
  ASSERT_GE(voters, 1u);
  ASSERT_LE(voters, kVotersMax);
  ASSERT_LE(stays, kPresentMax);
  ASSERT_GE(view.nodes.back().id.value, highest);
  highest = view.nodes.back().id.value;
}

TEST(MemberStepProperty, NoSequenceBreaksTheView) {
  std::set<int> taken;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Views views{static_cast<std::uint32_t>(1 + seed % 7)};
    std::uint32_t highest = 0;
    std::set<std::uint32_t> removed;
    for (std::uint64_t k = 0; k < 300; ++k) {
      const std::uint64_t word = mix64(seed * 4096 + k);
      const auto kind = static_cast<Kind>(5 + mix64(word) % 10);
      const ViewCode code = views.take(kind, drawn_step(word, views.state.view()));
      if (code == ViewCode::Applied) {
        taken.insert(static_cast<int>(kind));
      }
      ASSERT_NO_FATAL_FAILURE(expect_sound(views.state.view(), highest)) << seed << " " << k;
      for (const Member& node : views.state.view().nodes) {
        const bool gone = node.state == MemberState::Removed;
        ASSERT_TRUE(gone || !removed.contains(node.id.value)) << "back from the dead";
        if (gone) {
          removed.insert(node.id.value);
        }
      }
    }
    std::vector<std::byte> bytes;
    views.state.serialize(bytes);
    ASSERT_EQ(ViewCpu::parse(bytes), views.state);
  }
  EXPECT_EQ(taken.size(), 10u);  // Each kind was taken somewhere.
}

}  // namespace
}  // namespace gcoord::membership
