// Limits on a node, put together: their changes by clients, and the judge that enforces them.
//
// It listens to the limits machine from construction on, and ends after the engine that calls that.
// One thread, the node's loop.
#pragma once

#include "server/limits/judge.h"
#include "server/limits/machine.h"
#include "server/limits/prune_orders.h"
#include "server/limits/requests.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace gcoord::server {

class NodeLimits final : public LimitsListener {
 public:
  // `requests.subject` is filled in here.
  struct Environment {
    LimitRequests::Environment requests;
    LimitJudge::Environment judge;
    MetricsRegistry& metrics;
    std::uint64_t prune_delay_ms = 0;
    std::function<bool()> rights_on;  // This and the next: of PruneOrders.
    std::string data_dir;
  };

  // All outlive it.
  NodeLimits(LimitsMachine& machine, Environment environment);

  ~NodeLimits() override { machine_.set_listener(nullptr); }

  NodeLimits(const NodeLimits&) = delete;
  NodeLimits& operator=(const NodeLimits&) = delete;

  // Requests 147 to 149.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload) {
    if (request.kind == protocol::RequestKind::LedgerOrders) {
      prunes_.on_request(connection, request, payload);
    } else {
      requests_.on_request(connection, request, payload);
    }
  }

  LimitJudge& judge() { return judge_; }

  const PruneOrders& prunes() const { return prunes_; }

  // After each turn.
  void advance() { judge_.advance(); }

  // LimitsListener
  void on_limits() override {
    judge_.assign(machine_.table());
    prunes_.on_limits();
  }

  void on_limits_decided(std::uint64_t cookie, security::LimitCode code) override {
    requests_.on_decided(cookie, code);
    prunes_.on_decided(cookie, code);
  }

  void on_limits_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) override {
    requests_.on_lost(cookie, status, leader_hint);
    prunes_.on_lost(cookie, status, leader_hint);
  }

 private:
  LimitsMachine& machine_;
  LimitJudge judge_;
  PruneOrders prunes_;
  LimitRequests requests_;
};

}  // namespace gcoord::server
