// Requests for the alarms of this node: which there are, and to disarm some of them.
//
// Answered at once, by any node, for itself alone. Who disarmed which is a line of the log. One
// thread, the node's loop.
#pragma once

#include "protocol/members/alarm_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/detector/alarms.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gcoord::server {

// The alarms as they are answered and shown.
std::vector<protocol::AlarmRow> alarm_rows(const Alarms& alarms,
                                           const protocol::ClusterView& view,
                                           std::uint64_t wall_ms);

class AlarmRequests {
 public:
  // All outlive it.
  struct Environment {
    protocol::ReplySink& replies;
    Alarms& alarms;
    std::function<const protocol::ClusterView&()> view;
    std::function<std::uint64_t()> wall_ms;
  };

  explicit AlarmRequests(Environment environment) : environment_(std::move(environment)) {}

  // MemberAlarms. Refused if who asks is not printable; AlarmUnknown for what matches no alarm.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

 private:
  Status disarm(const protocol::AlarmOrder& order, protocol::ConnectionId connection);

  Environment environment_;
};

}  // namespace gcoord::server
