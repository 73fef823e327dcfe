// Orders to prune the ledger: their changes by clients (LedgerOrders), and whether a pruning may go
// on by them.
//
// While rights are checked, what prunes a ledger takes an order that a second principal has
// confirmed or whose delay has passed (docs/adr/0150). The orders are part of the table of limits,
// so all nodes have them; the leader of shard 0 takes changes. Each node goes by its own clock and
// its own delay, and waits from when it first saw an order, since the clock of the leader that took
// it may be wrong; it keeps that time over restarts (order_sights.h). One thread, the node's loop.
#pragma once

#include "protocol/ledger/order_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/replicated_log.h"
#include "server/limits/cookies.h"
#include "server/limits/machine.h"
#include "server/limits/order_sights.h"
#include "server/members/asker.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace gcoord::server {

// Bounds of a request as the table has them.
security::PruneBounds prune_bounds(const protocol::LedgerPrune& order);

class PruneOrders {
 public:
  static constexpr std::size_t kChangesMax = 16;  // Under way.
  // So often a change is proposed anew, when other changes of the table were faster.
  static constexpr int kAttemptsMax = 8;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const LimitsMachine& machine;
    protocol::ReplySink& replies;
    std::function<bool()> all_guard;  // Whether all nodes have Feature::Safeguards.
    // Whether rights are checked: else no person can be told apart, and no order is taken.
    std::function<bool()> rights_on;
    std::function<std::uint64_t()> wall_ms;
    // The principal that the connection has proven; empty: none.
    std::function<std::string(protocol::ConnectionId)> proven;
    // How long an order waits that nobody confirms.
    std::uint64_t delay_ms = 0;
  };

  // `data_dir`: where it is kept when orders were first seen; empty: nowhere, and each start begins
  // the waits anew.
  PruneOrders(Environment environment, const std::string& data_dir);

  PruneOrders(const PruneOrders&) = delete;
  PruneOrders& operator=(const PruneOrders&) = delete;

  // LedgerOrders.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // OK for a pruning that an order permits now; PruneNotOrdered, or PruneWaits.
  Status permits(const protocol::LedgerPrune& order) const;

  // Calls of LimitsListener that concern these. Orders that come, are confirmed or go are logged.
  void on_limits();
  void on_decided(std::uint64_t cookie, security::LimitCode code);
  void on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint);

 private:
  using Asker = ViewAsker;

  // A change under way.
  struct Change {
    Asker asker;
    security::LimitCommand command;
    int attempts = 0;
  };

  // An order as the last call of on_limits() left it.
  struct Seen {
    security::PruneOrder order;
    std::uint64_t since_ms = 0;  // By this node's clock.
  };

  using SeenOrders = std::map<security::PruneBounds, Seen>;

  Seen see(const security::PruneBounds& bounds, const security::PruneOrder& order) const;
  void keep_sights();
  void change(const Asker& asker, const protocol::PruneOrdersQuery& query);
  Status check(const security::LimitCommand& command) const;
  void complete(security::LimitCommand& command, protocol::ConnectionId connection) const;
  void propose(Change change);
  void answer(const Asker& asker) const;
  void end(const Change& change, security::LimitCode code) const;

  Environment environment_;
  OrderSights sights_;
  SeenOrders seen_;
  std::map<std::uint64_t, Change> changes_;  // By cookie.
  LimitsCookies cookies_{LimitsProposer::Prunes};
};

}  // namespace gcoord::server
