// The cluster view on a node, put together: what the node says and hears, what it proposes as the
// leader of shard 0, and what clients ask.
//
// It listens to the view machine from start() on, and ends after the engine that calls that. One
// thread, the node's loop.
#pragma once

#include "common/status.h"
#include "server/members/followers.h"
#include "server/members/view_keeper.h"
#include "server/members/view_requests.h"

#include <cstddef>
#include <cstdint>
#include <functional>
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
  };

  NodeMembers(const ViewKeeperOptions& options, const Environment& environment);

  // Once: from now on the node describes itself, with this address for clients.
  void start(const std::string& client_address);

  // ViewGet and MemberUpdate.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload) {
    requests_.on_request(connection, request, payload);
  }

  // After each turn. `now_ms`: of the node's clock, which only grows.
  void advance(std::uint64_t now_ms);

  // For how many milliseconds the loop may sleep for the sake of advance(); ~0: for ever.
  std::uint64_t until_next_deadline_ms() const { return requests_.until_next_deadline_ms(); }

  // As ViewKeeper::failure.
  const Status& failure() const { return keeper_.failure(); }

  // As ViewKeeper::announcement; nothing before start().
  std::vector<std::byte> announcement() const;

  void hear(NodeId from, Incarnation incarnation, std::span<const std::byte> said) {
    keeper_.hear(from, incarnation, said);
  }

  // ViewListener
  void on_view() override {
    keeper_.on_view();
    next_look_ms_ = 0;
  }

  void on_view_decided(std::uint64_t cookie, membership::ViewCode code) override;
  void on_view_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;

 private:
  void look_at_followers();

  ViewMachine& machine_;
  ViewKeeper keeper_;
  ViewFollowers followers_;
  std::uint64_t next_look_ms_ = 0;
  ViewRequests requests_;
  bool started_ = false;
};

}  // namespace gcoord::server
