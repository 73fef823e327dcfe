// Requests that change which nodes the cluster has: MemberChange, MemberJoin and MemberProgress.
//
// The leader of shard 0 takes them; leaderships a node hands over itself. What the log cannot know
// is judged before anything is proposed (change_rules.h), again for every view that a change
// without an epoch meets. Tokens are drawn here and answered to who asked; the log has only their
// hashes, and this node keeps the last kTokensMax for who did not get the first answer. One thread,
// the node's loop.
#pragma once

#include "protocol/hello.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/join_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/replicated_log.h"
#include "server/members/asker.h"
#include "server/members/leader_moves.h"
#include "server/members/view_cookies.h"
#include "server/members/view_keeper.h"
#include "server/members/view_machine.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace gcoord::server {

class MemberChanges {
 public:
  static constexpr std::size_t kChangesMax = 64;  // Under way.
  static constexpr std::size_t kTokensMax = 64;
  // So often a change for whichever view is the newest is proposed anew, when others were faster.
  static constexpr int kAttemptsMax = 8;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const ViewMachine& machine;
    const ViewKeeper& keeper;
    protocol::ReplySink& replies;
    std::function<bool(NodeId, protocol::Feature)> has;  // Of any node.
    std::function<std::uint64_t()> wall_ms;
    bool fixed = false;                   // As ViewKeeperOptions::fixed.
    std::function<std::uint64_t()> draw;  // Random words for tokens; none: the system's.
  };

  explicit MemberChanges(Environment environment);

  // The secret of the cluster for a node that has joined with the token, sealed under it; empty:
  // there is none. Without it joining nodes get none.
  using SealSecret = std::function<std::vector<std::byte>(const protocol::JoinToken&, NodeId)>;

  void set_seal_secret(SealSecret seal_secret) { seal_secret_ = std::move(seal_secret); }

  static bool takes(protocol::RequestKind kind);

  // A kind that it takes.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // Once per pass. Whether there is more to do at once.
  bool advance() { return leader_moves_.advance(); }

  // Calls of ViewListener that concern it.
  void on_decided(std::uint64_t cookie, membership::ViewCode code);
  void on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint);

 private:
  using Asker = ViewAsker;

  // A change under way: what was asked, and what was made of it.
  struct Change {
    Asker asker;
    std::variant<protocol::MemberActionOrder, protocol::JoinRequest> asked;
    membership::ViewCommand command;
    protocol::MemberTolerance before;
    int attempts = 0;
  };

  struct DrawnToken {
    std::uint64_t number = 0;  // Of the order.
    protocol::JoinToken token{};
    std::uint64_t deadline_ms = 0;
  };

  void change(const Asker& asker, std::span<const std::byte> payload);
  void join(const Asker& asker, std::span<const std::byte> payload);
  void progress(const Asker& asker);
  void hand_over(const Asker& asker, const protocol::MemberActionOrder& order);
  // What the order is to do to the newest view. Remove with force of a node that leaves already
  // ends that (docs/adr/0111): somebody vouches that whoever may still go by an earlier view, and
  // cannot be asked, is down for good.
  membership::ViewCommand ordered(const protocol::MemberActionOrder& order,
                                  const protocol::Invitation& invitation) const;
  Status check_left(std::uint64_t epoch) const;
  // For the newest view: refuses, answers a dry run, or proposes.
  void take_order(Change change);
  void take_join(Change change);
  Status judge(const Change& change, const membership::ClusterView& preview) const;
  bool is_renewal(const protocol::MemberActionOrder& order) const;
  Status check_feature(const protocol::MemberActionOrder& order) const;
  Status check_features(const protocol::JoinRequest& request) const;
  void propose(Change change);
  // Whether the leader of shard 0 is here, and there is a view; else the request is answered.
  bool serves(const Asker& asker);
  const DrawnToken& token_of(const protocol::MemberActionOrder& order);
  void answer_order(const Change& change, const membership::ClusterView& view, bool made);
  void foretell(const protocol::MemberActionOrder& order,
                protocol::MemberActionAnswer& answer) const;
  void answer_join(const Change& change, NodeId node);
  void refuse(const Asker& asker, const Status& status);

  Environment environment_;
  SealSecret seal_secret_;
  LeaderMoves leader_moves_;
  ViewCookies cookies_{ViewProposer::Changes};
  std::map<std::uint64_t, Change> changes_;  // By cookie.
  std::deque<DrawnToken> tokens_;
};

}  // namespace gcoord::server
