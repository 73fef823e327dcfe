// Operator of a simulated world: orders changes of the nodes, starts the machines of those that
// join, and at the end brings all that was begun to an end.
//
// Orders go to nodes as those of gcoordctl do, over the clients' wire, some at a time, each with a
// number of its own however often it is sent. One thread.
#pragma once

#include "chaos/members/ask.h"
#include "chaos/members/operator_plan.h"
#include "chaos/random/sim_random.h"
#include "common/ids.h"
#include "protocol/error_codes.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/join_messages.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gcoord::chaos {

class MemberOperator {
 public:
  struct Environment {
    Asks::Environment asks;
    std::function<const protocol::ClusterView&()> view;  // The newest that there is.
    // Whether without those machines nobody can show that some earlier view is left.
    std::function<bool(const std::set<NodeId>& lost)> is_unprovable;
    // A machine for the node, with a disk that is new; its process begins with this view.
    std::function<void(NodeId, const protocol::ClusterView&)> start;
    std::function<void()> count;  // An order was carried out.
    std::function<void(const std::string&)> tell;
  };

  // Orders are so long apart, on average.
  MemberOperator(Environment environment, std::uint64_t seed, std::uint64_t pause_us);

  void pass(std::uint64_t now_us);

  void take_reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
    asks_.take_reply(slot, payload);
  }

  // The machine of the node is gone for ever.
  void lose(NodeId node) { lost_.insert(node); }

  bool has_lost(NodeId node) const { return lost_.contains(node); }

  // All others are there, or will be: a majority of three lives without one.
  bool may_lose(NodeId node) const;

  // No fault comes any more.
  void begin_end() {
    ending_ = true;
    ending_since_us_ = now_us_;
  }

  // Nothing is under way.
  bool ended() const { return ending_ && asks_.count() == 0 && !last_order(facts()); }

 private:
  // A node that was added, whose machine comes with the token.
  struct Invited {
    protocol::JoinToken token{};
    std::uint64_t due_us = 0;
  };

  OperatorFacts facts() const;
  bool may_order(const protocol::MemberActionOrder& order) const;
  void order(protocol::MemberActionOrder order);
  void on_refused(const protocol::MemberActionOrder& order, protocol::ErrorCode why);
  void on_added(const protocol::MemberActionAnswer& answer);
  void join(NodeId node, const protocol::JoinToken& token);

  Environment environment_;
  SimRandom random_;
  Asks asks_;
  std::uint64_t pause_us_;
  std::uint32_t size_;
  std::set<NodeId> running_;
  std::set<NodeId> lost_;
  std::set<NodeId> waiting_;  // In the view of that epoch.
  std::uint64_t waiting_epoch_ = 0;
  std::map<NodeId, Invited> invited_;
  std::uint64_t now_us_ = 0;
  std::uint64_t next_us_ = 0;
  bool ending_ = false;
  std::uint64_t ending_since_us_ = 0;
  bool removing_ = false;  // One at a time: what is left is counted by the view.
  int voting_ = 0;         // Orders under way that make other majorities.
};

}  // namespace gcoord::chaos
