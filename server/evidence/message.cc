#include "server/evidence/message.h"

#include "common/limits.h"

#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kHeadBytes = 2;

static_assert(kHeadBytes + kStatementBytesMax <= kPeerMessageBytesMax);

}  // namespace

std::vector<std::byte> encode_vote_message(VoteMessageKind kind,
                                           std::span<const std::byte> statement) {
  std::vector<std::byte> message{kVoteEvidenceKind, static_cast<std::byte>(kind)};
  message.insert(message.end(), statement.begin(), statement.end());
  return message;
}

bool is_vote_message(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kVoteEvidenceKind;
}

std::optional<VoteMessage> decode_vote_message(std::span<const std::byte> message) {
  if (!is_vote_message(message) || message.size() <= kHeadBytes) {
    return std::nullopt;
  }
  const auto kind = static_cast<VoteMessageKind>(message[1]);
  if (kind != VoteMessageKind::Granted && kind != VoteMessageKind::Shown) {
    return std::nullopt;
  }
  const auto bytes = message.subspan(kHeadBytes);
  auto statement = decode_statement(bytes);
  if (!statement) {
    return std::nullopt;
  }
  return VoteMessage{kind, *std::move(statement), bytes};
}

}  // namespace gcoord::server
