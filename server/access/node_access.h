// Users and roles on a node, put together: what clients ask and change, and what a majority of
// nodes with markers decides.
//
// It listens to the access machine from construction on, and ends after the engine that calls that.
// Whoever decides about requests looks at table(). One thread, the node's loop.
#pragma once

#include "server/access/first_rights.h"
#include "server/access/machine.h"
#include "server/access/recovery.h"
#include "server/access/requests.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace gcoord::server {

class NodeAccess final : public AccessListener {
 public:
  // All outlive it. `data_dir`: where the node's marker lies, if it has one.
  NodeAccess(AccessMachine& machine,
             const AccessRequests::Environment& environment,
             const std::string& data_dir);
  NodeAccess(const NodeAccess&) = delete;
  NodeAccess& operator=(const NodeAccess&) = delete;

  const security::AccessTable& table() const { return machine_.table(); }

  // Requests 141 and 142.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload) {
    requests_.on_request(connection, request, payload);
  }

  // After each turn. `now_ms`: of the node's clock, which only grows.
  void advance(std::uint64_t now_ms) {
    first_.advance(now_ms);
    recovery_.advance(now_ms);
    if (choosers_due_ && all_guard_()) {  // Before that nobody has lost anything.
      choosers_due_ = false;
      warn_of_choosers();
    }
  }

  // For how many milliseconds the loop may sleep for the sake of advance(); ~0: for ever.
  std::uint64_t until_next_deadline_ms() const {
    return std::min(first_.until_next_deadline_ms(), recovery_.until_next_deadline_ms());
  }

  // Messages of other nodes that did not decode.
  std::uint64_t dropped() const { return dropped_; }

  // AccessListener
  void on_access() override;
  void on_access_decided(std::uint64_t cookie, security::AccessCode code) override;
  void on_access_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_recovery_message(NodeId from, std::span<const std::byte> message) override;

 private:
  // Says once which roles lost the choice of sessions' ids to a right of its own.
  void warn_of_choosers();

  AccessMachine& machine_;
  std::function<bool()> all_guard_;
  AccessRequests requests_;
  FirstRights first_;
  AccessRecovery recovery_;
  std::uint64_t dropped_ = 0;
  // As the node's log has said it.
  bool enabled_ = false;
  std::uint64_t recoveries_ = 0;
  std::string choosers_;
  bool choosers_due_ = true;
};

}  // namespace gcoord::server
