// Engines whose peers come, move and go while they run (docs/adr/0107): three founders, nodes that
// join them, and the view of the cluster as the test makes it.
#pragma once

#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

constexpr std::uint32_t kShards = 8;
constexpr std::uint32_t kFounders = 3;

class ChangingCluster : public testing::Test {
 protected:
  ChangingCluster() {
    view_.epoch = 1;
    for (std::uint32_t id = 1; id <= kFounders; ++id) {
      view_.nodes.push_back(member(id, protocol::MemberState::Active));
    }
    cluster_.tune = [this](ReplicaOptions& options) {
      options.turn_threads = turn_threads_;
      options.device.kind = device_;
      const bool founder = options.node.value <= kFounders;
      options.joins = !founder && !has_directory_.contains(options.node.value);
      options.members_epoch = founder ? 0 : view_.epoch;
      const std::vector<NodeId> nodes = nodes_of(view_);
      std::erase_if(options.peers, [&](const netcore::PeerAddress& peer) {
        return founder ? peer.id.value > kFounders
                       : !std::binary_search(nodes.begin(), nodes.end(), peer.id);
      });
      has_directory_.insert(options.node.value);
    };
  }

  static protocol::Member member(std::uint32_t id, protocol::MemberState state) {
    protocol::Member member;
    member.id = NodeId{id};
    member.state = state;
    member.described = true;
    member.name = "node-" + std::to_string(id);
    member.peer_address = "loop:" + std::to_string(7000 + id);
    return member;
  }

  void start_founders() {
    for (std::uint32_t id = 1; id <= kFounders; ++id) {
      cluster_.start(id);
    }
    cluster_.run_until([this] { return cluster_.all_led() && cluster_.all_agreed(); });
  }

  // The next view, with the node in that state; every engine that runs hears of it.
  void change(const protocol::Member& changed) {
    ++view_.epoch;
    const auto found =
        std::find_if(view_.nodes.begin(), view_.nodes.end(), [&](const protocol::Member& known) {
          return known.id == changed.id;
        });
    if (found == view_.nodes.end()) {
      view_.nodes.push_back(changed);
    } else {
      *found = changed;
    }
    tell_all();
  }

  void tell_all() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      if (cluster_.node(id).engine) {
        cluster_.engine(id).set_members({.view = view_, .earlier_voters = {}});
      }
    }
  }

  void add(std::uint32_t id) {
    change(member(id, protocol::MemberState::Joining));
    cluster_.start(id);
  }

  const NodePeerView* peer(std::uint32_t id, std::uint32_t other) {
    view_of_node_ = cluster_.engine(id).view();
    const auto found = std::find_if(
        view_of_node_.peers.begin(), view_of_node_.peers.end(), [other](const NodePeerView& each) {
          return each.link.id.value == other;
        });
    return found == view_of_node_.peers.end() ? nullptr : &*found;
  }

  bool lives(std::uint32_t id, std::uint32_t other) {
    const NodePeerView* found = peer(id, other);
    return found != nullptr && found->live;
  }

  bool all_live(const std::vector<std::uint32_t>& ids) {
    for (const std::uint32_t one : ids) {
      for (const std::uint32_t other : ids) {
        if (one != other && !lives(one, other)) {
          return false;
        }
      }
    }
    return true;
  }

  // One command in every shard, answered by whoever leads it.
  void decide(const std::string& text) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint32_t leader = cluster_.leader_of(shard);
      ASSERT_NE(leader, 0u);
      asked.emplace_back(leader, cluster_.propose(leader, shard, text));
    }
    cluster_.run_until([&] {
      return std::all_of(asked.begin(), asked.end(), [&](const auto& each) {
        return cluster_.decided(each.first, each.second);
      });
    });
  }

  std::uint32_t failure(std::uint32_t id) { return cluster_.engine(id).failure().detail(); }

  static constexpr std::uint32_t kNodes = 7;

  std::uint32_t turn_threads_ = 1;
  DeviceChoice::Kind device_ = DeviceChoice::Kind::Cpu;

  EngineCluster cluster_{kNodes, kShards};
  protocol::ClusterView view_;
  std::set<std::uint32_t> has_directory_;
  NodeView view_of_node_;
};

}  // namespace gcoord::server
