// The cluster view on a node, put together: what the node says and hears, what it proposes as the
// leader of shard 0, and what clients ask.
//
// It listens to the view machine from start() on, and ends after the engine that calls that. Every
// part of the node that counts or addresses nodes learns from it who they are (on_members). One
// thread, the node's loop.
#pragma once

#include "common/status.h"
#include "protocol/hello.h"
#include "server/interfaces/cluster_members.h"
#include "server/members/followers.h"
#include "server/members/member_changes.h"
#include "server/members/upkeep.h"
#include "server/members/view_keeper.h"
#include "server/members/view_requests.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

class NodeMembers final : public ViewListener {
 public:
  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    ViewMachine& machine;
    protocol::ReplySink& replies;
    MetricsRegistry& metrics;
    std::function<bool()> all_have;  // Whether all nodes have Feature::ClusterView.
    std::function<std::uint64_t()> wall_ms;
    std::uint32_t tick_ms = 10;
    // Whether a node, which may be this one, has a feature. None: as all_have says.
    std::function<bool(NodeId, protocol::Feature)> has;
  };

  NodeMembers(const ViewKeeperOptions& options, const Environment& environment);

  // Before start(). Called by that, and by advance() after every change of what it says; before
  // view 1 it says the fixed list, with epoch 0.
  void set_on_members(std::function<void(const ClusterMembers&)> on_members) {
    on_members_ = std::move(on_members);
  }

  // The directory has the members up to this epoch: the node will go by them after any crash. Only
  // then they are said to others. Never called: what on_members was told counts at once.
  void set_kept_epoch(std::uint64_t epoch) {
    next_look_ms_ = kept_epoch_ == epoch ? next_look_ms_ : 0;
    kept_epoch_ = epoch;
  }

  // As ViewRequests::set_verdicts.
  void set_verdicts(std::function<std::vector<protocol::MemberVerdict>()> verdicts) {
    requests_.set_verdicts(std::move(verdicts));
  }

  // As MemberChanges::set_seal_secret.
  void set_seal_secret(MemberChanges::SealSecret seal_secret) {
    changes_.set_seal_secret(std::move(seal_secret));
  }

  // Once: from now on the node describes itself, with this address for clients.
  void start(const std::string& client_address);

  // Who the nodes are.
  ClusterMembers members() const;

  // The failure detector's word of a node, at any node; the leader of shard 0 has it decided.
  void propose_suspect(NodeId node, bool suspect) { upkeep_.propose_suspect(node, suspect); }

  // Requests 128 to 132.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload) {
    if (MemberChanges::takes(request.kind)) {
      changes_.on_request(connection, request, payload);
    } else {
      requests_.on_request(connection, request, payload);
    }
  }

  // After each turn. `now_ms`: of the node's clock, which only grows.
  void advance(std::uint64_t now_ms);

  // For how many milliseconds the loop may sleep for the sake of advance(); ~0: for ever.
  std::uint64_t until_next_deadline_ms() const {
    return more_ ? 0 : requests_.until_next_deadline_ms();
  }

  // As ViewKeeper::failure.
  const Status& failure() const { return keeper_.failure(); }

  // As ViewKeeper::announcement; nothing before start().
  std::vector<std::byte> announcement() const;

  void hear(NodeId from, Incarnation incarnation, std::span<const std::byte> said) {
    keeper_.hear(from, incarnation, said);
  }

  // ViewListener
  void on_view() override;

  void on_view_decided(std::uint64_t cookie, membership::ViewCode code) override;
  void on_view_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;

 private:
  void tell_members();
  void look_at_followers();

  std::uint64_t said_epoch() const { return kept_epoch_.value_or(told_epoch_); }

  NodeId self_;
  ViewMachine& machine_;
  ClusterMembers listed_;  // The fixed list.
  ViewKeeper keeper_;
  ViewFollowers followers_;
  std::uint64_t next_look_ms_ = 0;
  std::uint64_t told_epoch_ = 0;  // Of the view that the node's parts know of.
  std::optional<std::uint64_t> kept_epoch_;
  ViewRequests requests_;
  MemberChanges changes_;
  MembersUpkeep upkeep_;
  std::function<void(const ClusterMembers&)> on_members_;
  bool started_ = false;
  bool has_news_ = false;  // The members are others than on_members_ was told.
  bool more_ = false;      // advance() has more to do at once.
};

}  // namespace gcoord::server
