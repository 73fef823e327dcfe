// Requests about the cluster view: which it is, the next one once it comes, and changes of what an
// operator says of a node.
//
// Any node answers for the views that it has applied; the leader of shard 0 takes changes. Requests
// that wait for the next view are parked, at most kWaitsMax, and answered with the newest one when
// their time is over. One thread, the node's loop.
#pragma once

#include "protocol/members/view_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/replicated_log.h"
#include "server/members/asker.h"
#include "server/members/followers.h"
#include "server/members/view_cookies.h"
#include "server/members/view_machine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace gcoord::server {

class ViewRequests {
 public:
  static constexpr std::size_t kWaitsMax = 1024;
  static constexpr std::size_t kChangesMax = 64;  // Under way.

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const ViewMachine& machine;
    protocol::ReplySink& replies;
    std::function<std::uint64_t()> wall_ms;
    std::function<std::uint64_t(NodeId)> epoch_of;  // As ViewKeeper::epoch_of.
    NodeId self;
    std::uint32_t tick_ms = 10;
  };

  explicit ViewRequests(Environment environment) : environment_(std::move(environment)) {}

  // Whose views answers tell; they outlive it. Without: they tell nothing of earlier views.
  void set_followers(const ViewFollowers* followers) { followers_ = followers; }

  // What answers tell of the node's failure detector. Without: they tell nothing of it.
  void set_verdicts(std::function<std::vector<protocol::MemberVerdict>()> verdicts) {
    verdicts_ = std::move(verdicts);
  }

  // ViewGet and MemberUpdate.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // Once per pass: answers waits whose time is over, or whose view has come. `now_ms`: of the
  // node's clock.
  void advance(std::uint64_t now_ms);

  // For how many milliseconds the loop may sleep for the sake of advance(); ~0: for ever.
  std::uint64_t until_next_deadline_ms() const;

  // Calls of ViewListener that concern requests.
  void on_decided(std::uint64_t cookie, membership::ViewCode code);
  void on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint);

  std::size_t wait_count() const { return waits_.size(); }

 private:
  using Asker = ViewAsker;

  struct Wait {
    Asker asker;
    protocol::ViewQuery query;
    std::uint64_t deadline_ms = 0;
  };

  struct Change {
    Asker asker;
    protocol::MemberChange change;
  };

  void get(const Asker& asker, std::span<const std::byte> payload);
  void update(const Asker& asker, std::span<const std::byte> payload);
  void propose(Change change);
  // `members`: whether the asker has Feature::Members.
  void answer(const Asker& asker, const membership::ClusterView& view, bool members = false);
  // False: it has to wait.
  bool answer_now(const Asker& asker, const protocol::ViewQuery& query);
  void answer_change(const Change& change, membership::ViewCode code);
  void refuse(const Asker& asker, const Status& status);
  // What the turn does not say of a node is taken from its verdict.
  std::vector<protocol::MemberSight> sights(
      const std::vector<protocol::MemberVerdict>& verdicts) const;

  Environment environment_;
  const ViewFollowers* followers_ = nullptr;
  std::function<std::vector<protocol::MemberVerdict>()> verdicts_;
  std::vector<Wait> waits_;
  std::map<std::uint64_t, Change> changes_;  // By cookie.
  ViewCookies cookies_{ViewProposer::Requests};
  std::uint64_t now_ms_ = 0;
};

}  // namespace gcoord::server
