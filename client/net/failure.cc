#include "client/net/failure.h"

#include "protocol/limits.h"
#include "protocol/lock_messages.h"

#include <algorithm>

namespace gcoord::client {

Status failure(protocol::ErrorCode code, std::string_view evidence) {
  return public_status(protocol::make_error(code, evidence));
}

std::string reason_in(std::span<const std::byte> payload) {
  const std::string_view text = protocol::text_of(payload);
  std::size_t end = std::min(text.size(), protocol::kReasonBytesMax);
  const auto within_letter = [&] {
    return end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u;
  };
  for (int step = 0; step < 3 && end > 0 && within_letter(); ++step) {
    --end;
  }
  return std::string{text.substr(0, end)};
}

gcoord::Status refusal_of(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  const protocol::ErrorEntry* const row = protocol::find_error(slot.detail);
  const bool lasts = row != nullptr && (row->exit == protocol::ExitCode::Auth ||
                                        row->code == protocol::ErrorCode::ClusterForeign);
  const std::string meaning{row != nullptr ? row->cause : "refused"};
  return numbered(lasts ? row->code : protocol::ErrorCode::None,
                  payload.empty() ? meaning : reason_in(payload));
}

bool decides_release(const Status& status) {
  switch (static_cast<protocol::ErrorCode>(status.detail())) {
    case protocol::ErrorCode::LockNotHeld:
    case protocol::ErrorCode::TokenStale:
    case protocol::ErrorCode::HolderOther:
    case protocol::ErrorCode::HoldBroken:
    case protocol::ErrorCode::SessionExpired:
    case protocol::ErrorCode::SessionUnknown:
    case protocol::ErrorCode::SessionClosed:
      return true;
    default:
      return false;
  }
}

Status public_status(const gcoord::Status& status) {
  if (status.ok()) {
    return {};
  }
  return {static_cast<StatusCode>(status.code()), status.message(), status.detail()};
}

}  // namespace gcoord::client
