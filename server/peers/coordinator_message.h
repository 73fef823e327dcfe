// Messages of the coordinator elections by bully or ring (docs/internals/coordinators.md).
//
//   kind 9, method 1, word 1, hops 1, subject 4 (little-endian, a node's number); more may follow
//
// The rank of a node follows from its number, so it does not travel and cannot be forged. Encoding
// and decoding are thread-safe; decoding hostile bytes gives nothing.
#pragma once

#include "common/ids.h"
#include "membership/coordinator/elector.h"
#include "server/platform/choices.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Never renumber.
inline constexpr std::byte kCoordinatorKind{9};

using CoordinatorWord = coordinator::Word;

inline constexpr std::uint8_t kCoordinatorWordLast = 4;

struct CoordinatorMessage {
  CoordinatorMethod method = CoordinatorMethod::Raft;
  CoordinatorWord word = CoordinatorWord::Method;
  std::uint8_t hops = 1;  // Nodes that sent it on its way, the first one too.
  NodeId subject;         // Who stands, answers or has won; of Method who says so.
};

std::vector<std::byte> encode_coordinator(const CoordinatorMessage& message);
std::optional<CoordinatorMessage> decode_coordinator(std::span<const std::byte> bytes);

}  // namespace gcoord::server
