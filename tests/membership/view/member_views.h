// A state of the cluster view that nodes come to and go from, for tests of its commands.
#pragma once

#include "membership/view/apply.h"
#include "membership/view/cpu.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::membership {

inline protocol::JoinToken token_of(std::uint64_t seed) {
  protocol::JoinToken token{};
  token[0] = static_cast<std::byte>(seed);
  token[1] = static_cast<std::byte>(seed >> 8);
  return token;
}

// A state, and commands for its newest view.
class Views {
 public:
  explicit Views(std::uint32_t nodes, std::uint32_t first = 1) {
    std::vector<Member> members;
    for (std::uint32_t id = first; id < first + nodes; ++id) {
      Member node;
      node.id = NodeId{id};
      node.incarnation = Incarnation{1};
      node.name = protocol::default_member_name(node.id);
      node.peer_address = "founder" + std::to_string(id) + ":1";
      members.push_back(node);
    }
    EXPECT_EQ(state.apply(encode_view_command(founding_command({.shards = 8}, members))),
              ViewCode::Applied);
  }

  ViewCode take(ViewCommandKind kind, MemberStep step) {
    ViewCommand command{.kind = kind, .expected = state.view().epoch};
    command.step = std::move(step);
    const std::vector<std::byte> bytes = encode_view_command(command);
    const auto read = decode_view_command(bytes);
    EXPECT_TRUE(read && encode_view_command(*read) == bytes);
    std::vector<std::byte> before;
    state.serialize(before);
    const std::uint64_t epoch = state.view().epoch;
    const ViewCode code = state.apply(bytes);
    if (code == ViewCode::Applied) {
      EXPECT_EQ(state.view().epoch, epoch + 1);
    } else {
      std::vector<std::byte> after;
      state.serialize(after);
      EXPECT_EQ(after, before);
    }
    return code;
  }

  ViewCode take(ViewCommandKind kind, std::uint32_t node) {
    return take(kind, MemberStep{.node = NodeId{node}});
  }

  static MemberStep added(std::uint64_t seed = 1) {
    MemberStep step{.weight = 1, .role = MemberRole::Voter};
    step.invitation = {.token_hash = protocol::join_token_hash(token_of(seed)),
                       .deadline_ms = 1000};
    return step;
  }

  static MemberStep admitted(std::uint32_t node, std::uint64_t seed = 1) {
    MemberStep step{.node = NodeId{node}, .time_ms = 1000};
    step.proof = protocol::join_token_proof(token_of(seed));
    step.directory = 100 + seed;
    step.peer_address = "joiner" + std::to_string(node) + ":1";
    step.client_address = "joiner" + std::to_string(node) + ":2";
    return step;
  }

  // Adds, admits and promotes one.
  std::uint32_t grown(MemberStep step = added(), std::uint64_t seed = 1) {
    EXPECT_EQ(take(ViewCommandKind::Add, step), ViewCode::Applied);
    const std::uint32_t node = state.view().nodes.back().id.value;
    EXPECT_EQ(take(ViewCommandKind::Admit, admitted(node, seed)), ViewCode::Applied);
    EXPECT_EQ(take(ViewCommandKind::Promote, node), ViewCode::Applied);
    return node;
  }

  const Member& node(std::uint32_t id) const {
    return *protocol::find_member(state.view(), NodeId{id});
  }

  ViewCpu state;
};

}  // namespace gcoord::membership
