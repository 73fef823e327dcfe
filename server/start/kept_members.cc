#include "server/start/kept_members.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/base/error_details.h"
#include "ledger/directory/members_file.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// Content: version u32, view (u32 length, bytes), lists of earlier voters (u32 count, of u32 counts
// and nodes u32), flags u32, hash of a token 32, hints (u32 count, of node u32, address and address
// in the view as texts). Never renumber.
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kJoined = 1;  // Bits of the flags.
constexpr std::uint32_t kRemoved = 2;
constexpr std::size_t kHintBytesMin = 4 + 2 + 2;
constexpr std::uint32_t kHintsMax = protocol::kViewNodesMax;
// Views that some node may still go by; more than a state keeps changes of.
constexpr std::uint32_t kEarlierMax = 64;

Status unknown_content() {
  return Status{StatusCode::DataLoss,
                std::string("the members file holds what no node writes") + ledger::kRotAdvice,
                ledger::kDirectoryIdentity};
}

// The newest ones; there are never so many that one is left out while it counts.
void write_voters(ByteWriter& writer, const std::vector<std::vector<NodeId>>& earlier) {
  const auto count = std::min<std::size_t>(earlier.size(), kEarlierMax);
  writer.integer(static_cast<std::uint32_t>(count));
  for (std::size_t k = 0; k < count; ++k) {
    writer.integer(static_cast<std::uint32_t>(earlier[k].size()));
    for (const NodeId node : earlier[k]) {
      writer.integer(node.value);
    }
  }
}

std::vector<std::vector<NodeId>> read_voters(ByteReader& reader) {
  std::vector<std::vector<NodeId>> earlier(reader.count(sizeof(std::uint32_t), kEarlierMax));
  for (std::vector<NodeId>& voters : earlier) {
    const std::uint32_t count = reader.count(sizeof(std::uint32_t), protocol::kViewNodesMax);
    for (std::uint32_t k = 0; k < count; ++k) {
      voters.emplace_back(reader.integer<std::uint32_t>());
    }
  }
  return earlier;
}

std::vector<KeptHint> read_hints(ByteReader& reader) {
  std::vector<KeptHint> hints;
  const std::uint32_t count = reader.count(kHintBytesMin, kHintsMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    KeptHint hint;
    hint.node = NodeId{reader.integer<std::uint32_t>()};
    hint.address = reader.text(protocol::kMemberAddressBytesMax);
    hint.view_address = reader.text(protocol::kMemberAddressBytesMax);
    hints.push_back(std::move(hint));
  }
  return hints;
}

}  // namespace

std::vector<std::byte> encode_kept_members(const KeptMembers& kept) {
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  writer.integer(kVersion);
  const std::vector<std::byte> view = protocol::encode_view(kept.view());
  writer.integer(static_cast<std::uint32_t>(view.size()));
  writer.bytes(view.data(), view.size());
  write_voters(writer, kept.members.earlier_voters);
  writer.integer((kept.joined_by ? kJoined : 0u) | (kept.removed ? kRemoved : 0u));
  writer.array(kept.joined_by.value_or(TokenHash{}));
  GCOORD_ASSERT(kept.hints.size() <= kHintsMax);
  writer.integer(static_cast<std::uint32_t>(kept.hints.size()));
  for (const KeptHint& hint : kept.hints) {
    writer.integer(hint.node.value);
    writer.text(hint.address);
    writer.text(hint.view_address);
  }
  return bytes;
}

std::optional<KeptMembers> decode_kept_members(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  if (reader.integer<std::uint32_t>() != kVersion) {
    return std::nullopt;
  }
  KeptMembers kept;
  const std::string_view encoded = reader.blob(bytes.size());
  auto view = protocol::decode_view(std::as_bytes(std::span{encoded}));
  kept.members.earlier_voters = read_voters(reader);
  const auto flags = reader.integer<std::uint32_t>();
  TokenHash token{};
  reader.array(token);
  kept.joined_by = (flags & kJoined) != 0 ? std::optional(token) : std::nullopt;
  kept.removed = (flags & kRemoved) != 0;
  kept.hints = read_hints(reader);
  const bool rises =
      std::ranges::adjacent_find(kept.hints, std::ranges::greater_equal{}, &KeptHint::node) ==
      kept.hints.end();
  if (!reader.complete() || !view || view->epoch == 0 || flags > (kJoined | kRemoved) || !rises) {
    return std::nullopt;
  }
  kept.members.view = *std::move(view);
  return kept;
}

Result<KeptMembers> read_kept_members(ledger::Disk& disk) {
  GCOORD_TRY(const auto content, ledger::read_members(disk));
  if (!content) {
    return KeptMembers{};
  }
  auto kept = decode_kept_members(*content);
  if (!kept) {
    return unknown_content();
  }
  return *std::move(kept);
}

Status write_kept_members(ledger::Disk& disk, const KeptMembers& kept) {
  GCOORD_ASSERT(kept.view().epoch != 0);
  return ledger::write_members(disk, encode_kept_members(kept));
}

}  // namespace gcoord::server
