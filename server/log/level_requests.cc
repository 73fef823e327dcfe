#include "server/log/level_requests.h"

#include "common/assert.h"
#include "common/json/value.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/logs/level_messages.h"
#include "server/log_levels/levels.h"
#include "server/platform/operator_log.h"

#include <string>
#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;

static_assert(protocol::kLogLevelsBytesMax == kLogLevelsBytesMax);

namespace {

std::string json_of(const LogLevels& levels) {
  Json of = Json::object();
  for (const LogComponent component : log_components()) {
    of[std::string(log_component_name(component))] = Json(log_level_name(levels.of(component)));
  }
  return Json{{"levels", of}}.dump();
}

}  // namespace

void LogLevelRequests::refuse(protocol::ConnectionId connection,
                              const protocol::RequestSlot& request,
                              const Status& status) {
  protocol::ReplySlot reply = protocol::reply_to(request);
  reply.code = status.code();
  reply.detail = status.detail();
  replies_.reply(connection, reply, protocol::bytes_of(status.message()));
}

bool LogLevelRequests::may_write() {
  const auto now = std::chrono::steady_clock::now();
  if (lines_ == 0 || now - window_begin_ >= kWindow) {
    window_begin_ = now;
    lines_ = 0;
  }
  if (lines_ == kLinesMax) {
    ++suppressed_;
    return false;
  }
  ++lines_;
  return true;
}

void LogLevelRequests::on_request(protocol::ConnectionId connection,
                                  const protocol::RequestSlot& request,
                                  std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == protocol::RequestKind::LogLevels);
  if (request.flags != 0) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SlotInvalid));
  }
  const auto order = protocol::decode_log_levels(payload);
  if (!order.ok()) {
    return refuse(connection, request, order.status());
  }
  if (!is_printable(order.value().who)) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SlotInvalid));
  }
  if (!order.value().levels.empty()) {
    const LogLevels before = log_levels();
    const auto wanted = parse_log_levels(order.value().levels, before);
    if (!wanted.ok()) {
      return refuse(connection,
                    request,
                    protocol::make_error(ErrorCode::OptionInvalid, wanted.status().message()));
    }
    set_log_levels(wanted.value());
    if (wanted.value() != before && may_write()) {
      const std::string now_text = log_levels_text(wanted.value());
      const std::string before_text = log_levels_text(before);
      const std::string client = replies_.describe(connection);
      const std::uint64_t suppressed = std::exchange(suppressed_, std::uint64_t{0});
      const std::string rest =
          suppressed == 0 ? "" : "; " + std::to_string(suppressed) + " more changes had no line";
      const std::string who = in_quotes(order.value().who);
      log_at({LogComponent::Node, LogLevel::Plain},
             "log levels are {} until this node ends, and were {}; asked on {}, by {}{}",
             fmt::make_format_args(now_text, before_text, client, who, rest));
    }
  }
  replies_.reply(
      connection, protocol::reply_to(request), protocol::bytes_of(json_of(log_levels())));
}

}  // namespace gcoord::server
