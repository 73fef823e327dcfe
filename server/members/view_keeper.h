// A node's own part in the cluster view: it says what it is, hears what the others say, and as the
// leader of shard 0 proposes the first view and where nodes are now.
//
// The first view is made of the fixed list of nodes (--peer), once all of them have the feature and
// have said what they are, with settings that agree. A cluster that is new gets it at once; one
// that came from an earlier release only after a pause, because its data directories cannot go back
// to that release any more. From view 1 on a node whose own settings differ from the view's must
// not go on beside one that has those of the view (failure()). If all nodes were started anew with
// the same others, these make the next view. An address that another node has is not written into
// the view: that is logged, and counted in gcoord_view_address_clashes. One thread, the node's
// loop.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "membership/view/announcement.h"
#include "server/interfaces/replicated_log.h"
#include "server/members/address_claims.h"
#include "server/members/view_cookies.h"
#include "server/members/view_machine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

struct ViewKeeperOptions {
  membership::Member self;              // What this node says of itself.
  membership::ViewSettings settings;    // What it was started with.
  std::map<NodeId, std::string> peers;  // The other nodes, with the address in the fixed list.
  bool fixed = false;                   // The nodes stay those of the list: the log is on a device.
  // How long the way back to an earlier release stays open once all nodes could have a view.
  std::uint64_t pause_ms = 0;
  std::function<std::uint64_t()> draw;  // Random words for tokens; none: the system's.
};

class ViewKeeper {
 public:
  // All outlive it; `all_have`: whether all nodes of the cluster have the feature.
  struct Environment {
    ReplicatedLog& log;
    const ViewMachine& machine;
    MetricsRegistry& metrics;
    std::function<bool()> all_have;
    std::function<std::uint64_t()> wall_ms;
    std::function<bool()> may_propose;  // None: always. ViewFollowers::is_full has the reason.
  };

  ViewKeeper(ViewKeeperOptions options, Environment environment);
  ViewKeeper(const ViewKeeper&) = delete;
  ViewKeeper& operator=(const ViewKeeper&) = delete;

  // Where clients reach this node.
  void set_client_address(const std::string& address);

  // Once per pass of the loop; does nothing for most of the time. `now_ms`: of the node's clock.
  void advance(std::uint64_t now_ms);

  // What the node says to its peers with its features. `epoch`: of the view that it goes by.
  std::vector<std::byte> announcement(std::uint64_t epoch) const;

  // Whether the cluster may have one more view.
  bool may_propose() const { return !environment_.may_propose || environment_.may_propose(); }

  // What another node said, in which life. Bytes that are none are dropped and counted.
  void hear(NodeId from, Incarnation incarnation, std::span<const std::byte> said);

  // What another node said of the shards that it leads; nothing: it has said nothing of them.
  std::optional<membership::ShardProgress> progress_of(NodeId node) const;

  // The epoch that another node said to have; 0: it has said none.
  std::uint64_t epoch_of(NodeId node) const;

  // Calls of ViewListener that concern the keeper.
  void on_view();
  void on_ended(std::uint64_t cookie);

  // Why the node must end: its settings are not those of the view, which another node runs with.
  const Status& failure() const { return failure_; }

 private:
  // What was heard of a node, in its newest life.
  struct Heard {
    Incarnation incarnation;
    membership::ViewAnnouncement said;
  };

  void found(std::uint64_t now_ms);
  // The other nodes of the fixed list or, once there is a view, of that.
  std::vector<NodeId> others() const;
  // All nodes as they describe themselves, by rising id; empty: not all have, or they disagree.
  std::vector<membership::Member> founders(std::uint64_t now_ms);
  bool pause_is_over(const std::vector<membership::Member>& founders, std::uint64_t now_ms);
  void describe();
  std::optional<membership::Member> said_of(const membership::Member& known) const;
  void look_at_claims();
  bool retune(std::uint64_t now_ms);
  void compare(const Heard& heard);
  membership::Member described(NodeId node, const membership::Member& said) const;
  void propose(const membership::ViewCommand& command);
  bool agree(const Heard& heard, NodeId node, std::uint64_t now_ms);

  ViewKeeperOptions options_;
  Environment environment_;
  std::map<NodeId, Heard> heard_;
  bool has_claims_ = true;                   // Something was said since the last look at them.
  std::vector<membership::Member> granted_;  // Nodes as the view may have them from now on.
  std::vector<AddressClash> clashes_;
  Status failure_;
  std::uint64_t next_ms_ = 0;
  std::uint64_t next_warning_ms_ = 0;
  std::uint64_t pause_end_ms_ = 0;  // 0: it has not begun.
  std::uint64_t cookie_ = 0;        // Of the proposal under way; 0: there is none.
  ViewCookies cookies_{ViewProposer::Keeper};
  Gauge& epoch_gauge_;
  Counter& malformed_;
  Gauge& clashes_gauge_;
};

}  // namespace gcoord::server
