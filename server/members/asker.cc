#include "server/members/asker.h"

#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/members/view_messages.h"

#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;

bool admit_asker(protocol::ReplySink& replies, const ViewAsker& asker) {
  if (asker.request.flags != 0) {
    refuse_asker(replies, asker, protocol::make_error(ErrorCode::SlotInvalid));
    return false;
  }
  return true;
}

void note_author(const security::Principal& principal, std::string& who) {
  std::string proven = security::author_text(principal, protocol::kMemberWhoBytesMax);
  if (!proven.empty()) {
    who = std::move(proven);
  }
}

void refuse_asker(protocol::ReplySink& replies, const ViewAsker& asker, const Status& status) {
  protocol::ReplySlot reply = protocol::reply_to(asker.request);
  reply.code = status.code();
  reply.detail = status.detail();
  replies.reply(asker.connection, reply, protocol::bytes_of(status.message()));
}

}  // namespace gcoord::server
