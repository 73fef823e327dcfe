// Peer messages of the publication.
//
// Little-endian, never to be renumbered: kPublicationKind u8, kind u8, 0 u16, CRC32C u32 of what
// follows, then the fields in the order below; lists have their count (u16) in front. Messages come
// from outside: what does not decode, or whose checksum is wrong, is no message. Each fits one peer
// message (kPeerMessageBytesMax). Loss and repetition are allowed. Host only.
#pragma once

#include "common/ids.h"
#include "ledger/heads/entry.h"
#include "ledger/merkle/divergence_search.h"
#include "ledger/merkle/hash.h"
#include "ledger/notes/cluster_horizon.h"
#include "ledger/notes/shard_head.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace gcoord::server {

// First byte of the peer message; device_links.h owns 4. Never renumber.
inline constexpr std::byte kPublicationKind{5};

// Heads that a publisher has compared at once: 2.9 MB.
inline constexpr std::size_t kHeadsPerRoundMax = std::size_t{1} << 16;

inline constexpr std::size_t kHeadsPerPage = 700;     // 30,800 bytes of the 32 KiB.
inline constexpr std::size_t kLeavesPerAnswer = 640;  // With a proof, 30,240 bytes.
inline constexpr std::size_t kHashesPerAnswer = 256;
inline constexpr std::size_t kPagesMax = (kHeadsPerRoundMax + kHeadsPerPage - 1) / kHeadsPerPage;

inline constexpr std::size_t kSignatureBytes = 64;  // Ed25519.
using LedgerSignature = std::array<std::byte, kSignatureBytes>;

// Heads that the sender would publish.
struct PageMessage {
  std::uint64_t batch = 0;     // The sender's number of what it would publish; one batch at a time.
  std::uint64_t old_size = 0;  // Of the cluster log.
  std::uint16_t page = 0;
  std::uint16_t page_count = 0;
  std::vector<ledger::ShardHead> heads;

  friend bool operator==(const PageMessage& a, const PageMessage& b) = default;
};

// What a node thinks of a head. Never renumber.
enum class HeadVerdict : std::uint8_t {
  Equal = 0,
  Behind = 1,   // Its tree is not that large yet.
  Differs = 2,  // It has another root for that size.
  Unknown = 3,  // It cannot tell: it has not that part of the history, or no longer.
};

struct HeadException {
  std::uint16_t index = 0;  // In the page.
  HeadVerdict verdict = HeadVerdict::Unknown;
  ledger::MerkleHash root{};  // Of the sender's own tree, if it differs.

  friend bool operator==(const HeadException& a, const HeadException& b) = default;
};

// The sender's own trees say the same as the page, but for the exceptions, which ascend.
struct VerdictMessage {
  std::uint64_t batch = 0;
  std::uint16_t page = 0;
  std::vector<HeadException> exceptions;

  friend bool operator==(const VerdictMessage& a, const VerdictMessage& b) = default;
};

// The sender vouches for the cluster log of that size.
struct SignatureMessage {
  std::uint64_t size = 0;
  ledger::MerkleHash root{};
  LedgerSignature signature{};

  friend bool operator==(const SignatureMessage& a, const SignatureMessage& b) = default;
};

// Asks for leaves of the cluster log, and for the proof that they lead to the log of `target`.
struct LeavesQuery {
  std::uint64_t from = 0;
  std::uint64_t target = 0;

  friend bool operator==(const LeavesQuery& a, const LeavesQuery& b) = default;
};

struct LeavesMessage {
  std::uint64_t from = 0;
  std::uint64_t target = 0;
  std::vector<ledger::MerkleHash> proof;  // Consistency of from + leaves with target.
  std::vector<ledger::ShardHead> leaves;

  friend bool operator==(const LeavesMessage& a, const LeavesMessage& b) = default;
};

// Asks for hashes of a shard's tree (ledger/merkle/divergence_search.h).
struct HashQuery {
  ShardId shard;
  ledger::SubtreeRange range;

  friend bool operator==(const HashQuery& a, const HashQuery& b) = default;
};

struct HashMessage {
  ShardId shard;
  ledger::SubtreeRange range;
  std::vector<ledger::MerkleHash> hashes;

  friend bool operator==(const HashMessage& a, const HashMessage& b) = default;
};

// The sender signs with this key.
struct KeyMessage {
  LedgerKey key{};

  friend bool operator==(const KeyMessage& a, const KeyMessage& b) = default;
};

// The sender's history of a shard differs from the majority's and is repaired.
struct AlarmMessage {
  ShardId shard;
  std::uint64_t index = 0;  // Of the first entry that differs; kIndexUnknown.

  friend bool operator==(const AlarmMessage& a, const AlarmMessage& b) = default;
};

// The sender's cluster log begins behind the leaves that were asked for: there, provably.
struct BeginMessage {
  std::uint64_t target = 0;
  ledger::ClusterHorizon horizon;
  std::vector<ledger::MerkleHash> proof;  // Consistency of the horizon with target.

  friend bool operator==(const BeginMessage& a, const BeginMessage& b) = default;
};

// Whether a horizon fits a message; one of less than 2^40 leaves does.
bool begin_fits(const ledger::ClusterHorizon& horizon);

inline constexpr std::uint64_t kIndexUnknown = ~std::uint64_t{0};

// The order is that of the kinds on the wire, from 1.
using PublicationMessage = std::variant<PageMessage,
                                        VerdictMessage,
                                        SignatureMessage,
                                        LeavesQuery,
                                        LeavesMessage,
                                        HashQuery,
                                        HashMessage,
                                        KeyMessage,
                                        AlarmMessage,
                                        BeginMessage>;

std::vector<std::byte> encode(const PublicationMessage& message);
std::optional<PublicationMessage> decode_publication_message(std::span<const std::byte> bytes);

}  // namespace gcoord::server
