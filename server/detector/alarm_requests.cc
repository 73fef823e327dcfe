#include "server/detector/alarm_requests.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "server/platform/operator_log.h"

#include <string>
#include <utility>

namespace gcoord::server {

using protocol::AlarmOrder;
using protocol::AlarmRow;
using protocol::ErrorCode;

namespace {

// "suspect-for-long:3", with "any" for what was left open.
std::string choice_text(const AlarmOrder& order) {
  const std::string kind = order.kind ? std::string{alarm_kind_name(*order.kind)} : "any";
  return kind + ":" + (order.node.value == 0 ? "any" : std::to_string(order.node.value));
}

}  // namespace

std::vector<AlarmRow> alarm_rows(const Alarms& alarms,
                                 const protocol::ClusterView& view,
                                 std::uint64_t wall_ms) {
  std::vector<AlarmRow> rows;
  for (const MemberAlarm& alarm : alarms.list()) {
    rows.push_back({.kind = alarm.kind,
                    .node = alarm.node,
                    .since_ms = alarm.since_ms,
                    .armed = alarm.armed,
                    .text = alarm_text(alarm, view, wall_ms)});
  }
  return rows;
}

Status AlarmRequests::disarm(const AlarmOrder& order, protocol::ConnectionId connection) {
  const std::size_t before = environment_.alarms.armed_count();
  if (!environment_.alarms.disarm({.kind = order.kind, .node = order.node})) {
    return protocol::make_error(ErrorCode::AlarmUnknown, choice_text(order));
  }
  if (environment_.alarms.armed_count() < before) {
    log_info(LogComponent::Node,
             "alarms {} are disarmed; asked on {}, by {}",
             choice_text(order),
             environment_.replies.describe(connection),
             in_quotes(order.who));
  }
  return {};
}

void AlarmRequests::on_request(protocol::ConnectionId connection,
                               const protocol::RequestSlot& request,
                               std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == protocol::RequestKind::MemberAlarms);
  const auto order = protocol::decode_alarm_order(payload);
  Status status = order.status();
  if (request.flags != 0 || (status.ok() && !is_printable(order.value().who))) {
    status = protocol::make_error(ErrorCode::SlotInvalid);
  } else if (status.ok() && order.value().action == protocol::AlarmAction::Disarm) {
    status = disarm(order.value(), connection);
  }
  protocol::ReplySlot reply = protocol::reply_to(request);
  reply.code = status.code();
  reply.detail = status.detail();
  if (!status.ok()) {
    return environment_.replies.reply(connection, reply, protocol::bytes_of(status.message()));
  }
  environment_.replies.reply(
      connection,
      reply,
      protocol::encode_alarm_rows(
          alarm_rows(environment_.alarms, environment_.view(), environment_.wall_ms())));
}

}  // namespace gcoord::server
