// Admission of a new node to the cluster: tokens, and the payloads of MemberJoin.
//
// Whoever adds a node gets its token once; the log has only what it hashes to, and the view the
// hash of that. The new node gives it to any node over the client protocol and gets its id, the
// cluster and the view, which has all addresses and settings. Asked again from the same data
// directory, the answer is the same. Decoding is bounded. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/members/cluster_view.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

using JoinToken = std::array<std::byte, 16>;

// 32 lower-case hexadecimal digits.
std::string join_token_text(const JoinToken& token);

// Nothing for what is no token. Upper-case digits are taken, too.
std::optional<JoinToken> parse_join_token(std::string_view text);

// What logs and directories have of a token: its SHA-256. It shows that somebody had the token, and
// nobody joins with it.
using JoinProof = std::array<std::byte, 32>;

JoinProof join_token_proof(const JoinToken& token);

// As an invitation has it: SHA-256 of the proof.
std::array<std::byte, 32> join_proof_hash(const JoinProof& proof);

// The same of the token's proof.
std::array<std::byte, 32> join_token_hash(const JoinToken& token);

// Payload of MemberJoin, with Feature::Members.
struct JoinRequest {
  JoinToken token{};
  std::uint64_t directory = 0;      // Id of the data directory, drawn when it was made; not 0.
  std::string name;                 // Empty: that with which the node was added.
  std::string peer_address;         // "host:port" for the other nodes.
  std::string client_address;       // The same for clients.
  std::vector<MemberLabel> labels;  // Empty: those with which the node was added. By rising key.
  std::uint64_t features = 0;       // protocol::kFeatures of the new node.

  friend bool operator==(const JoinRequest& a, const JoinRequest& b) = default;
};

std::vector<std::byte> encode_join_request(const JoinRequest& request);

// Fails for labels or addresses that are none, lengths beyond the bounds, and a directory 0.
// Whether the name is one is judged when the node is known.
Result<JoinRequest> decode_join_request(std::span<const std::byte> payload);

inline constexpr std::size_t kSealedSecretBytesMax = 2048;

// Payload of the answer.
struct JoinAnswer {
  ClusterId cluster;
  NodeId node;       // The new node's id.
  ClusterView view;  // That it is in, or a later one.
  // The secret of the cluster, for whoever has the token (server/trust/join_secret.h); empty: the
  // cluster has none, or the node that answers is of a release before it. At most
  // kSealedSecretBytesMax.
  std::vector<std::byte> sealed_secret;

  friend bool operator==(const JoinAnswer& a, const JoinAnswer& b) = default;
};

std::vector<std::byte> encode_join_answer(const JoinAnswer& answer);

// A later release may say more behind it. Fails for a view that does not have the node.
Result<JoinAnswer> decode_join_answer(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
