// Peer messages about signed votes.
//
// Little-endian, never to be renumbered: kVoteEvidenceKind u8, kind u8, then a statement. Sent
// between nodes that both have Feature::VoteSignatures; loss and repetition are allowed. Messages
// come from outside: what does not decode is none. Pure; thread-safe.
#pragma once

#include "server/evidence/statement.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Others are 1 to 10, 32, 80, 96 to 99, 112, 113, 144 and 145.
inline constexpr std::byte kVoteEvidenceKind{160};

// Never renumber.
enum class VoteMessageKind : std::uint8_t {
  Granted = 1,  // To the candidate: the sender is the voter.
  Shown = 2,    // To a rival of the candidate, which is the sender.
};

struct VoteMessage {
  VoteMessageKind kind = VoteMessageKind::Granted;
  VoteStatement statement;
  std::span<const std::byte> bytes;  // Of the statement, signature included; of the message.
};

std::vector<std::byte> encode_vote_message(VoteMessageKind kind,
                                           std::span<const std::byte> statement);

bool is_vote_message(std::span<const std::byte> message);

std::optional<VoteMessage> decode_vote_message(std::span<const std::byte> message);

}  // namespace gcoord::server
