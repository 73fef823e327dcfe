// What nodes tell each other while they elect a coordinator by bully or ring
// (docs/coordinators.md).
//
//   kind 9, method 1, word 1, hops 1, subject 4 (little-endian, a node's number); more may follow
//
// The rank of a node follows from its number, so it does not travel and cannot be forged. Encoding
// and decoding are thread-safe; decoding hostile bytes gives nothing.
#pragma once

#include "common/ids.h"
#include "membership/coordinator/elector.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Never renumber.
inline constexpr std::byte kCoordinatorKind{9};

// How the nodes of a cluster find their coordinator (--coordinator). Never renumber: it travels. A
// later release may know more of them, so one that is not named here is no error of form.
enum class CoordinatorMethod : std::uint8_t {
  Raft = 0,   // Who leads shard 0; no message of its own.
  Bully = 1,  // membership/coordinator/step.h, as the next.
  Ring = 2,
};

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

// "raft", "bully" or "ring"; "unknown" for a method of a later release.
std::string_view coordinator_method_name(CoordinatorMethod method);

// The method of that name; none for any other text.
std::optional<CoordinatorMethod> parse_coordinator_method(std::string_view text);

}  // namespace gcoord::server
