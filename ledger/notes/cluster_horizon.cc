#include "ledger/notes/cluster_horizon.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"

#include <algorithm>
#include <bit>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kMagic = 0x315a4852'44524347;  // "GCRDHRZ1"
constexpr std::size_t kHeadBytes = 8 + 8 + 4;
constexpr std::size_t kCrcBytes = 4;

// The root of a perfect tree over these hashes, a power of two of them.
MerkleHash root_of_perfect(std::span<const MerkleHash> hashes) {
  std::vector<MerkleHash> row(hashes.begin(), hashes.end());
  while (row.size() > 1) {
    for (std::size_t k = 0; k < row.size() / 2; ++k) {
      row[k] = hash_node(row[2 * k], row[2 * k + 1]);
    }
    row.resize(row.size() / 2);
  }
  return row.front();
}

}  // namespace

bool sane(const ClusterHorizon& horizon) {
  if (horizon.first % (std::uint64_t{1} << kHorizonLevels) != 0 ||
      horizon.groups.size() != horizon_groups(horizon.first)) {
    return false;
  }
  for (std::size_t g = 0; g < horizon.groups.size(); ++g) {
    if (horizon.groups[g].size() != horizon_count(horizon.first, g)) {
      return false;
    }
  }
  return true;
}

MerkleFrontier frontier_of(const ClusterHorizon& horizon) {
  GCOORD_ASSERT(sane(horizon));
  MerkleFrontier frontier{.size = horizon.first, .peaks = {}};
  for (std::size_t g = horizon.groups.size(); g-- > 0;) {
    std::span<const MerkleHash> rest = horizon.groups[g];
    while (!rest.empty()) {
      const std::size_t count = std::bit_floor(rest.size());
      frontier.peaks.push_back(root_of_perfect(rest.first(count)));
      rest = rest.subspan(count);
    }
  }
  GCOORD_ASSERT(frontier.sane());
  return frontier;
}

std::vector<std::byte> encode(const ClusterHorizon& horizon) {
  GCOORD_ASSERT(sane(horizon));
  std::vector<std::byte> bytes(kHeadBytes);
  std::byte* at = store(bytes.data(), kMagic);
  at = store(at, horizon.first);
  store(at, static_cast<std::uint32_t>(horizon.groups.size()));
  for (const auto& group : horizon.groups) {
    bytes.resize(bytes.size() + 4);
    store(&bytes[bytes.size() - 4], static_cast<std::uint32_t>(group.size()));
    for (const MerkleHash& hash : group) {
      bytes.insert(bytes.end(), hash.begin(), hash.end());
    }
  }
  const std::uint32_t sum = crc32c(bytes);
  bytes.resize(bytes.size() + kCrcBytes);
  store(&bytes[bytes.size() - kCrcBytes], sum);
  return bytes;
}

std::optional<ClusterHorizon> decode_horizon(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes + kCrcBytes || load<std::uint64_t>(bytes.data()) != kMagic) {
    return std::nullopt;
  }
  const auto body = bytes.first(bytes.size() - kCrcBytes);
  if (load<std::uint32_t>(&bytes[body.size()]) != crc32c(body)) {
    return std::nullopt;
  }
  ClusterHorizon horizon{.first = load<std::uint64_t>(&bytes[8]), .groups = {}};
  const auto groups = load<std::uint32_t>(&bytes[16]);
  std::span<const std::byte> rest = body.subspan(kHeadBytes);
  if (groups > kHorizonGroupsMax) {
    return std::nullopt;
  }
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::size_t count = rest.size() < 4 ? 256 : load<std::uint32_t>(rest.data());
    if (count > 255 || rest.size() - 4 < count * kMerkleHashBytes) {
      return std::nullopt;
    }
    rest = rest.subspan(4);
    auto& group = horizon.groups.emplace_back(count);
    for (MerkleHash& hash : group) {
      std::copy_n(rest.begin(), hash.size(), hash.begin());
      rest = rest.subspan(hash.size());
    }
  }
  return rest.empty() && sane(horizon) ? std::optional(std::move(horizon)) : std::nullopt;
}

}  // namespace gcoord::ledger
