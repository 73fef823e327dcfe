#include "server/start/kept_members.h"

#include "server/start/address_hints.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberState;

Member member(std::uint32_t id, const std::string& address) {
  Member made;
  made.id = NodeId{id};
  made.name = "node-" + std::to_string(id);
  made.described = true;
  made.peer_address = address;
  return made;
}

ClusterView view_of(std::vector<Member> nodes) {
  return {.epoch = 7,
          .settings = {.shards = 64, .tick_ms = 10, .election_ms = 1000, .heartbeat_ms = 100},
          .nodes = std::move(nodes)};
}

KeptMembers kept() {
  return {.members = {.view = view_of({member(1, "10.0.0.1:7500"), member(2, "10.0.0.2:7500")}),
                      .earlier_voters = {{NodeId{1}}, {NodeId{1}, NodeId{3}}}},
          .hints = {{NodeId{1}, "10.0.0.1:7501", "10.0.0.1:7500"}, {NodeId{2}, "b:1", ""}},
          .joined_by = TokenHash{std::byte{9}},
          .removed = true};
}

TEST(KeptMembers, AreReadAsTheyWereWritten) {
  EXPECT_EQ(decode_kept_members(encode_kept_members(kept())), kept());
  KeptMembers founder = kept();
  founder.joined_by.reset();
  founder.removed = false;
  founder.hints.clear();
  founder.members.earlier_voters.clear();
  EXPECT_EQ(decode_kept_members(encode_kept_members(founder)), founder);
}

TEST(KeptMembers, BytesThatNoNodeWritesAreRefused) {
  const std::vector<std::byte> whole = encode_kept_members(kept());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_kept_members(std::span{whole}.first(size))) << size;
  }
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  EXPECT_FALSE(decode_kept_members(longer));
  KeptMembers unsorted = kept();
  std::swap(unsorted.hints[0], unsorted.hints[1]);
  EXPECT_FALSE(decode_kept_members(encode_kept_members(unsorted)));
  KeptMembers none = kept();
  none.members.view = {};
  EXPECT_FALSE(decode_kept_members(encode_kept_members(none)));
}

class AddressHintsTest : public testing::Test {
 protected:
  // The next start with these addresses of node 2.
  void start(const std::string& given, const std::string& of_view) {
    view_ = view_of({member(1, "a:1"), member(2, of_view)});
    const std::vector<PeerHint> hints = {{NodeId{2}, given}};
    hints_ = AddressHints(hints, std::vector<KeptHint>(hints_.kept()), view_);
  }

  std::string address() const { return hints_.address_of(view_.nodes[1]); }

  ClusterView view_;
  AddressHints hints_;
};

TEST_F(AddressHintsTest, OneThatIsGivenAnewCountsUntilTheViewSaysSomethingElse) {
  start("b:1", "b:1");
  EXPECT_EQ(address(), "b:1");
  EXPECT_TRUE(hints_.differences(view_).empty());
  start("c:1", "b:1");  // All nodes have moved, and no view can say so yet.
  EXPECT_EQ(address(), "c:1");
  start("c:1", "b:1");  // Nor after another start.
  EXPECT_EQ(address(), "c:1");
  view_.nodes[1].peer_address = "d:1";
  EXPECT_EQ(address(), "d:1");
  hints_.apply(view_);
  EXPECT_EQ(view_.nodes[1].peer_address, "d:1");
}

TEST_F(AddressHintsTest, AnOldCommandLineIsOlderThanTheView) {
  start("b:1", "b:1");
  start("b:1", "d:1");
  EXPECT_EQ(address(), "d:1");
  ASSERT_EQ(hints_.differences(view_).size(), 1u);
  EXPECT_NE(hints_.differences(view_)[0].find("the view is newer"), std::string::npos);
}

TEST_F(AddressHintsTest, FillsInWhatTheViewDoesNotKnow) {
  start("b:1", "");
  EXPECT_EQ(address(), "b:1");
  view_.nodes[1].peer_address = "d:1";
  EXPECT_EQ(address(), "d:1");
}

TEST_F(AddressHintsTest, NodesThatHaveLeftOrNeverWereAreNamed) {
  view_ = view_of({member(1, "a:1"), member(2, "b:1")});
  view_.nodes[1].state = MemberState::Removed;
  const std::vector<PeerHint> hints = {{NodeId{2}, "b:1"}, {NodeId{9}, "c:1"}};
  hints_ = AddressHints(hints, {}, view_);
  const auto lines = hints_.differences(view_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("has left"), std::string::npos);
  EXPECT_NE(lines[1].find("has no such node"), std::string::npos);
}

}  // namespace
}  // namespace gcoord::server
