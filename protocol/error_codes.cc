#include "protocol/error_codes.h"

#include <algorithm>
#include <string>

namespace gcoord::protocol {
namespace {

// For a failure without a number, by its canonical code.
ExitCode exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::Ok:
      return ExitCode::Ok;
    case StatusCode::InvalidArgument:
    case StatusCode::OutOfRange:
    case StatusCode::Unimplemented:
      return ExitCode::Usage;
    case StatusCode::PermissionDenied:
    case StatusCode::Unauthenticated:
      return ExitCode::Auth;
    case StatusCode::DeadlineExceeded:
    case StatusCode::ResourceExhausted:
    case StatusCode::Unavailable:
      return ExitCode::Unavailable;
    default:
      return ExitCode::Negative;
  }
}

}  // namespace

const ErrorEntry* find_error(std::uint32_t number) {
  const auto table = error_table();
  const auto entry = std::ranges::lower_bound(table, number, {}, [](const ErrorEntry& row) {
    return static_cast<std::uint32_t>(row.code);
  });
  const bool found = entry != table.end() && static_cast<std::uint32_t>(entry->code) == number;
  return found ? &*entry : nullptr;
}

bool is_passing(ErrorCode code) {
  switch (code) {
    case ErrorCode::DiskLow:
    case ErrorCode::NoLeader:
    case ErrorCode::Overloaded:
    case ErrorCode::ProposalDropped:
    case ErrorCode::ShuttingDown:
    case ErrorCode::NotReady:
    case ErrorCode::QuorumUnavailable:
    case ErrorCode::TermStale:
    case ErrorCode::LockMoving:
    case ErrorCode::MoveNotKnown:
    case ErrorCode::GroupsNotReady:
    case ErrorCode::RendezvousNotReady:
    case ErrorCode::AuthenticationBusy:
    case ErrorCode::UsersBehind:
    case ErrorCode::RightsUnconfirmed:
    case ErrorCode::RateExceeded:
      return true;
    default:
      return false;
  }
}

ErrorCode refusal_of(const Status& status) {
  return find_error(status.detail()) != nullptr ? static_cast<ErrorCode>(status.detail())
                                                : ErrorCode::PayloadMalformed;
}

ExitCode exit_code(const Status& status) {
  if (const ErrorEntry* entry = find_error(status.detail())) {
    return entry->exit;
  }
  return exit_code(status.code());
}

Status make_error(ErrorCode code, std::string_view evidence) {
  const auto number = static_cast<std::uint32_t>(code);
  const ErrorEntry* entry = find_error(number);
  GCOORD_ASSERT(entry != nullptr);
  std::string message{entry->cause};
  if (!evidence.empty()) {
    message.append(" (").append(evidence).append(")");
  }
  message.append(". ").append(entry->fix).append(".");
  return {entry->status, std::move(message), number};
}

}  // namespace gcoord::protocol
