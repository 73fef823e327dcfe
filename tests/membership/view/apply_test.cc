// What commands do to the cluster view, against a model that is written the slow way.
#include "membership/view/apply.h"

#include "common/random.h"
#include "membership/view/announcement.h"
#include "membership/view/cpu.h"
#include "membership/view/part.h"
#include "membership/view/restored_view.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gcoord::membership {
namespace {

Member member(std::uint32_t id, std::string name) {
  Member made;
  made.id = NodeId{id};
  made.incarnation = Incarnation{1};
  made.name = std::move(name);
  made.peer_address = "10.0.0." + std::to_string(id) + ":7500";
  made.client_address = "10.0.0." + std::to_string(id) + ":7400";
  return made;
}

ViewCommand founding(std::uint32_t nodes) {
  std::vector<Member> members;
  for (std::uint32_t id = 1; id <= nodes; ++id) {
    members.push_back(member(id, "node-" + std::to_string(id)));
  }
  return founding_command({.shards = 8, .tick_ms = 10}, std::move(members));
}

ViewCommand update(std::uint64_t expected, std::uint32_t node) {
  ViewCommand command{.kind = ViewCommandKind::Update, .expected = expected};
  command.change.node = NodeId{node};
  command.change.expected = expected;
  return command;
}

ViewCode apply_to(ViewCpu& state, const ViewCommand& command) {
  return state.apply(encode_view_command(command));
}

std::vector<std::byte> bytes_of(const ViewCpu& state) {
  std::vector<std::byte> bytes;
  state.serialize(bytes);
  return bytes;
}

ViewCpu founded(std::uint32_t nodes) {
  ViewCpu state;
  EXPECT_EQ(apply_to(state, founding(nodes)), ViewCode::Applied);
  return state;
}

TEST(ViewApply, TheFirstViewIsMadeOnceForAnyNumberOfNodes) {
  for (std::uint32_t nodes = 1; nodes <= 7; ++nodes) {
    ViewCpu state = founded(nodes);
    EXPECT_EQ(state.view().epoch, 1u);
    EXPECT_EQ(state.view().nodes.size(), nodes);
    EXPECT_EQ(state.view().settings.shards, 8u);
    EXPECT_EQ(apply_to(state, founding(nodes)), ViewCode::Stale);
    EXPECT_EQ(state.view().epoch, 1u);
  }
}

TEST(ViewApply, SettingsChangeTogetherButNotTheNumberOfShards) {
  ViewCpu state = founded(3);
  ViewCommand command{.kind = ViewCommandKind::Retune, .expected = 1};
  command.settings = {.shards = 16, .tick_ms = 5};
  EXPECT_EQ(apply_to(state, command), ViewCode::Malformed);
  EXPECT_EQ(state.view().epoch, 1u);
  command.settings.shards = 8;
  EXPECT_EQ(apply_to(state, command), ViewCode::Applied);
  EXPECT_EQ(state.view().epoch, 2u);
  EXPECT_EQ(state.view().settings, command.settings);
  EXPECT_EQ(state.view().nodes.size(), 3u);
  EXPECT_EQ(apply_to(state, command), ViewCode::Stale);
}

TEST(ViewApply, OfTwoChangesForOneViewTheSecondIsRefused) {
  ViewCpu state = founded(3);
  ViewCommand first = update(1, 1);
  first.change.name = "a";
  ViewCommand second = update(1, 2);
  second.change.name = "b";
  EXPECT_EQ(apply_to(state, first), ViewCode::Applied);
  const auto before = bytes_of(state);
  EXPECT_EQ(apply_to(state, second), ViewCode::Stale);
  EXPECT_EQ(bytes_of(state), before);
  EXPECT_EQ(state.view().epoch, 2u);
}

TEST(ViewApply, EachMistakeHasItsOwnCodeAndChangesNothing) {
  ViewCpu state = founded(3);
  const auto before = bytes_of(state);
  const auto refused = [&](const ViewCommand& command) {
    const ViewCode code = apply_to(state, command);
    EXPECT_EQ(bytes_of(state), before);
    return code;
  };
  EXPECT_EQ(refused(update(1, 9)), ViewCode::NodeUnknown);
  EXPECT_EQ(refused(update(2, 1)), ViewCode::Stale);
  ViewCommand command = update(1, 1);
  command.change.name = "node-2";
  EXPECT_EQ(refused(command), ViewCode::NameInvalid);
  command.change.name = "with space";
  EXPECT_EQ(refused(command), ViewCode::NameInvalid);
  command.change.name.reset();
  command.change.labels = {{"Zone", "a"}};
  EXPECT_EQ(refused(command), ViewCode::LabelInvalid);
  command.change.labels = {{"zone", std::string(60, 'a')}};
  EXPECT_EQ(refused(command), ViewCode::LabelInvalid);
  command.change.labels.clear();
  for (int k = 0; k < 9; ++k) {
    command.change.labels.push_back({"key" + std::to_string(k), "v"});
  }
  EXPECT_EQ(refused(command), ViewCode::LabelInvalid);
  EXPECT_EQ(state.apply({}), ViewCode::Malformed);
}

TEST(ViewApply, ANameOfAnotherNodeIsTaken) {
  ViewCpu state = founded(2);
  ViewCommand command = update(1, 1);
  command.change.name = "db";
  ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
  command = update(2, 2);
  command.change.name = "db";
  EXPECT_EQ(apply_to(state, command), ViewCode::NameTaken);
}

TEST(ViewApply, LabelsAreSetReplacedAndTakenAway) {
  ViewCpu state = founded(1);
  ViewCommand command = update(1, 1);
  command.change.labels = {{"rack", "7"}, {"zone", "a"}};
  ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
  command = update(2, 1);
  command.change.labels = {{"host", "h"}, {"rack", ""}, {"zone", "b"}};
  ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
  EXPECT_EQ(protocol::member_labels_text(state.view().nodes[0].labels), "host=h,zone=b");
}

TEST(ViewApply, ANodeSaysItsNameAndLabelsOnceAndItsAddressesAgain) {
  ViewCpu state = founded(2);
  Member said = member(2, "other");
  said.peer_address = "10.0.1.2:7500";
  said.labels = {{"zone", "z"}};
  const ViewCommand command{.kind = ViewCommandKind::Describe, .expected = 1, .nodes = {said}};
  ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
  const Member& known = state.view().nodes[1];
  EXPECT_EQ(known.peer_address, "10.0.1.2:7500");
  EXPECT_EQ(known.name, "node-2");
  EXPECT_TRUE(known.labels.empty());
}

TEST(ViewApply, TheFirstViewSettlesNamesAndFitsAnEntry) {
  std::vector<Member> members;
  for (std::uint32_t id = 1; id <= 7; ++id) {
    Member made = member(id, id < 3 ? "same" : "node-" + std::to_string(id));
    made.client_address = std::string(255, 'c');
    for (char key = 'a'; key < 'i'; ++key) {
      made.labels.push_back({std::string(1, key), std::string(62, 'v')});
    }
    members.push_back(made);
  }
  const ViewCommand command = founding_command({.shards = 8}, members);
  EXPECT_LE(encode_view_command(command).size(), kViewCommandBytesMax);
  EXPECT_EQ(command.nodes[0].name, "same");
  EXPECT_EQ(command.nodes[1].name, "node-2");
  EXPECT_FALSE(command.nodes[0].described);  // Later, each one of itself.
  ViewCpu state;
  EXPECT_EQ(apply_to(state, command), ViewCode::Applied);
  const ViewCommand later{.kind = ViewCommandKind::Describe, .expected = 1, .nodes = {members[6]}};
  EXPECT_LE(encode_view_command(later).size(), kViewCommandBytesMax);
  ASSERT_EQ(apply_to(state, later), ViewCode::Applied);
  EXPECT_EQ(state.view().nodes[6].labels.size(), 8u);
}

TEST(ViewCpu, AChangeThatComesTwiceIsKnownByItsNumber) {
  ViewCpu state = founded(2);
  ViewCommand command = update(1, 1);
  command.change.name = "a";
  command.change.number = 77;
  EXPECT_FALSE(state.has_made(command.change));
  ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
  EXPECT_TRUE(state.has_made(command.change));
  command.change.number = 78;
  EXPECT_FALSE(state.has_made(command.change));
}

TEST(ViewCpu, OlderViewsAreKeptUpToABoundAndSurviveItsBytes) {
  ViewCpu state = founded(1);
  std::map<std::uint64_t, ClusterView> seen;
  seen[1] = state.view();
  for (std::uint64_t epoch = 1; epoch < 3 * kViewChangesMax; ++epoch) {
    ViewCommand command = update(epoch, 1);
    command.change.name = "n" + std::to_string(epoch);
    ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
    seen[epoch + 1] = state.view();
  }
  const auto again = ViewCpu::parse(bytes_of(state));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, state);
  const std::uint64_t newest = state.view().epoch;
  EXPECT_EQ(again->oldest(), newest - kViewChangesMax);
  for (std::uint64_t epoch = again->oldest(); epoch <= newest; ++epoch) {
    EXPECT_EQ(again->at(epoch), seen[epoch]);
  }
  EXPECT_FALSE(again->at(again->oldest() - 1).has_value());
  EXPECT_FALSE(again->at(newest + 1).has_value());
}

TEST(ViewCpu, CutOrChangedBytesAreRefusedOrMeanSomethingElse) {
  ViewCpu state = founded(3);
  const auto bytes = bytes_of(state);
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    EXPECT_FALSE(ViewCpu::parse(std::span{bytes}.first(length)).has_value()) << length;
  }
  EXPECT_TRUE(ViewCpu::parse({})->is_empty());
}

TEST(ViewPart, StandsBehindWhatWasThereAndIsAbsentWithoutAView) {
  const std::vector<std::byte> inner(37, std::byte{5});
  std::vector<std::byte> bytes = inner;
  append_view_part(ViewCpu{}, bytes);
  EXPECT_EQ(bytes, inner);
  append_view_part(founded(2), bytes);
  const auto parts = split_view_part(bytes);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->before.size(), inner.size());
  EXPECT_EQ(ViewCpu::parse(parts->view), founded(2));
  bytes[bytes.size() - 8] = std::byte{0xff};
  bytes[bytes.size() - 7] = std::byte{0xff};
  EXPECT_FALSE(split_view_part(bytes).has_value());
}

TEST(RestoredView, HasTheNewNodesAndTombstonesOfTheOthers) {
  ViewCpu state = founded(3);
  ViewCommand command = update(1, 2);
  command.change.name = "db";
  ASSERT_EQ(apply_to(state, command), ViewCode::Applied);
  const std::vector<NodeId> nodes = {NodeId{2}, NodeId{4}};
  const ClusterView view = restored_view(state.view(), nodes);
  EXPECT_EQ(view.epoch, 3u);
  ASSERT_EQ(view.nodes.size(), 4u);
  EXPECT_EQ(view.nodes[0].state, MemberState::Removed);
  EXPECT_EQ(view.nodes[1].state, MemberState::Active);
  EXPECT_EQ(view.nodes[1].name, "db");
  EXPECT_EQ(view.nodes[1].peer_address, "");
  EXPECT_EQ(view.nodes[3].name, "node-4");
  EXPECT_FALSE(view.nodes[3].described);
  EXPECT_EQ(protocol::decode_view(protocol::encode_view(view)), view);
  EXPECT_EQ(restored_view({}, nodes), ClusterView{});
}

TEST(ViewAnnouncement, ComesBackFromItsBytesAlsoWithMoreBehindThem) {
  const ViewAnnouncement said{.epoch = 7, .settings = {.shards = 3}, .self = member(2, "a")};
  auto bytes = encode_announcement(said);
  EXPECT_EQ(decode_announcement(bytes), said);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_announcement(std::span{bytes}.first(length)).has_value());
  }
  bytes.push_back(std::byte{1});
  EXPECT_EQ(decode_announcement(bytes), said);
}

TEST(ViewAnnouncement, NamesOthersBehindOrWithoutTheProgressOfShards) {
  ViewAnnouncement said{.epoch = 7, .settings = {.shards = 3}, .self = member(2, "a")};
  said.others = {{NodeId{9}, "host:9"}, {NodeId{4}, {}}};
  EXPECT_EQ(decode_announcement(encode_announcement(said)), said);
  said.progress = ShardProgress{.epoch = 7, .led = 3, .settled = 2, .ready = 1};
  auto bytes = encode_announcement(said);
  EXPECT_EQ(decode_announcement(bytes), said);
  bytes.push_back(std::byte{77});
  bytes.push_back(std::byte{1});
  EXPECT_EQ(decode_announcement(bytes), said);
  said.others.clear();
  bytes.resize(bytes.size() - 3);  // Its last address is cut.
  EXPECT_EQ(decode_announcement(bytes), said);
}

TEST(ViewAnnouncement, LeavesOutWhatDoesNotFit) {
  ViewAnnouncement said{.epoch = 7, .settings = {.shards = 3}, .self = member(2, "a")};
  for (std::uint32_t id = 60; id > 30; --id) {
    said.others.push_back({NodeId{id}, std::string(200, 'x')});
  }
  const auto bytes = encode_announcement(said);
  EXPECT_LE(bytes.size(), kAnnouncementBytesMax);
  const auto heard = decode_announcement(bytes);
  ASSERT_TRUE(heard.has_value());
  ASSERT_GT(heard->others.size(), 5u);
  EXPECT_EQ(heard->others.front().node, NodeId{60});
  said.others.assign(30, {NodeId{5}, "y"});
  EXPECT_EQ(decode_announcement(encode_announcement(said))->others.size(), kAcquaintancesMax);
}

// The model: maps and sets, and each rule once more in its own words.
struct Model {
  std::uint64_t epoch = 0;
  std::map<std::uint32_t, std::string> names;
  std::map<std::uint32_t, std::map<std::string, std::string>> labels;
  std::map<std::uint32_t, std::string> addresses;

  bool change(const ViewCommand& command) {
    if (command.expected != epoch || epoch == 0) {
      return false;
    }
    const bool describes = command.kind == ViewCommandKind::Describe;
    const std::uint32_t node =
        describes ? command.nodes.front().id.value : command.change.node.value;
    if (!names.contains(node)) {
      return false;
    }
    if (describes) {
      addresses[node] = command.nodes.front().peer_address;
      ++epoch;
      return true;
    }
    std::set<std::string> others;
    for (const auto& [id, name] : names) {
      if (id != node) {
        others.insert(name);
      }
    }
    auto changed = labels[node];
    for (const MemberLabel& label : command.change.labels) {
      changed.erase(label.key);
      if (!label.value.empty()) {
        changed[label.key] = label.value;
      }
    }
    if ((command.change.name && others.contains(*command.change.name)) || changed.size() > 8) {
      return false;
    }
    names[node] = command.change.name.value_or(names[node]);
    labels[node] = changed;
    ++epoch;
    return true;
  }
};

ViewCommand drawn(std::uint64_t word, std::uint64_t epoch) {
  const std::uint64_t expected = word % 5 == 0 ? epoch + 1 - word / 5 % 3 : epoch;
  const auto node = static_cast<std::uint32_t>(1 + word / 16 % 6);
  if (word % 3 == 0) {
    Member said = member(node, "node-" + std::to_string(node));
    said.peer_address = "h:" + std::to_string(word / 256 % 100);
    return {.kind = ViewCommandKind::Describe, .expected = expected, .nodes = {said}};
  }
  ViewCommand command = update(expected, node);
  if (word / 128 % 2 == 0) {
    command.change.name = "n" + std::to_string(word / 256 % 7);
  }
  for (std::uint64_t key = 0; key < 12; ++key) {
    const std::uint64_t draw = mix64(word + key) % 6;
    if (draw < 2) {
      command.change.labels.push_back(
          {std::string(1, static_cast<char>('a' + key)), draw == 0 ? "" : std::to_string(draw)});
    }
  }
  return command;
}

TEST(ViewProperty, AnyCommandsGiveWhatTheModelGives) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ViewCpu state = founded(5);
    Model model;
    model.epoch = 1;
    for (const Member& node : state.view().nodes) {
      model.names[node.id.value] = node.name;
      model.addresses[node.id.value] = node.peer_address;
    }
    for (std::uint64_t step = 0; step < 200; ++step) {
      const ViewCommand command = drawn(mix64(seed * 1000 + step), model.epoch);
      ASSERT_EQ(decode_view_command(encode_view_command(command)), command);
      const bool taken = model.change(command);
      ASSERT_EQ(apply_to(state, command) == ViewCode::Applied, taken) << seed << " " << step;
      ASSERT_EQ(state.view().epoch, model.epoch);
      for (const Member& node : state.view().nodes) {
        ASSERT_EQ(node.name, model.names[node.id.value]);
        ASSERT_EQ(node.peer_address, model.addresses[node.id.value]);
        std::map<std::string, std::string> labels;
        for (const MemberLabel& label : node.labels) {
          labels[label.key] = label.value;
        }
        ASSERT_EQ(labels, model.labels[node.id.value]);
      }
    }
    EXPECT_EQ(ViewCpu::parse(bytes_of(state)), state);
  }
}

}  // namespace
}  // namespace gcoord::membership
