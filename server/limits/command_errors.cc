#include "server/limits/command_errors.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"

#include <string>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using security::LimitCode;

ErrorCode error_of(LimitCode code) {
  switch (code) {
    case LimitCode::Applied:
      return ErrorCode::None;
    case LimitCode::Malformed:
      return ErrorCode::PayloadMalformed;
    case LimitCode::Stale:
      return ErrorCode::LimitsStale;
    case LimitCode::LimitInvalid:
      return ErrorCode::LimitInvalid;
    case LimitCode::LimitUnknown:
      return ErrorCode::LimitUnknown;
    case LimitCode::DenialInvalid:
      return ErrorCode::DenialInvalid;
    case LimitCode::DenialUnknown:
      return ErrorCode::DenialUnknown;
    case LimitCode::PruneUnknown:
      return ErrorCode::PruneNotOrdered;
    case LimitCode::PruneExists:
    case LimitCode::PruneSamePerson:
    case LimitCode::PruneUnproven:
      return ErrorCode::PruneOrderRefused;
    case LimitCode::TableFull:
      return ErrorCode::LimitsExhausted;
  }
  return ErrorCode::PayloadMalformed;
}

std::string about(LimitCode code, const security::LimitCommand& command, std::uint64_t epoch) {
  switch (code) {
    case LimitCode::Stale:
      return "the epoch is " + std::to_string(epoch) + ", the change is for " +
             std::to_string(command.expected);
    case LimitCode::TableFull:
      return "at most " + std::to_string(security::kLimitsMax) + " limits, " +
             std::to_string(security::kDenialsMax) + " denials, " +
             std::to_string(security::kPruneOrdersMax) + " orders to prune and " +
             std::to_string(security::kLimitTableBytesMax >> 20) + " MiB of them";
    case LimitCode::Malformed:
      return "limits_change";
    case LimitCode::PruneUnknown:
      return "there is no order with these bounds, or it has ended";
    case LimitCode::PruneExists:
      return command.kind == security::LimitKind::ConfirmPrune
                 ? "it is confirmed already, and nodes prune by it without --confirm"
                 : "it is there already";
    case LimitCode::PruneSamePerson:
      return shown(command.who) + " ordered it";
    case LimitCode::PruneUnproven:
      return "the connection has not proven to be one and the same principal, or the bounds bound "
             "nothing";
    default:
      return shown(command.name);
  }
}

}  // namespace

Status limits_error(LimitCode code, const security::LimitCommand& command, std::uint64_t epoch) {
  GCOORD_ASSERT(code != LimitCode::Applied);
  return protocol::make_error(error_of(code), about(code, command, epoch));
}

}  // namespace gcoord::server
