#include "server/replicas/ledger_state.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/heads/entry.h"
#include "membership/view/part.h"
#include "security/limits/part.h"
#include "security/roles/part.h"

#include <array>
#include <bit>

namespace gcoord::server {
namespace {

constexpr std::byte kVersion{1};
constexpr std::byte kCheckpoint{0};
constexpr std::byte kSnapshot{1};
constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kLengthBytes = 4;

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  std::array<std::byte, sizeof value> stored{};
  store(stored.data(), value);
  bytes.insert(bytes.end(), stored.begin(), stored.end());
}

// What is left behind a frontier and so many entries.
std::optional<std::span<const std::byte>> behind_frontier(std::span<const std::byte> bytes,
                                                          std::uint32_t entry_count) {
  if (bytes.size() < 8) {
    return std::nullopt;
  }
  const auto peaks = static_cast<std::size_t>(std::popcount(load<std::uint64_t>(&bytes[0])));
  std::size_t at = 8 + peaks * ledger::kMerkleHashBytes;
  for (std::uint32_t k = 0; k < entry_count && at + 4 <= bytes.size(); ++k) {
    at += 4 + std::size_t{load<std::uint32_t>(&bytes[at])};
  }
  return at <= bytes.size() ? std::optional(bytes.subspan(at)) : std::nullopt;
}

// What stands before limits, and before users and roles.
std::optional<security::AccessPart> before_limits(std::span<const std::byte> stored) {
  const auto outer = security::split_limits_part(stored);
  return outer ? security::split_access_part(outer->before) : std::nullopt;
}

// What stands before the states of the cluster log and of the view.
std::optional<std::span<const std::byte>> before_publication(std::span<const std::byte> stored) {
  const auto outer = before_limits(stored);
  const auto parts = outer ? membership::split_view_part(outer->before) : std::nullopt;
  if (!parts) {
    return std::nullopt;
  }
  const auto bytes = parts->before;
  if (bytes.size() < kLengthBytes) {
    return std::nullopt;
  }
  const auto body = bytes.first(bytes.size() - kLengthBytes);
  const std::size_t length = load<std::uint32_t>(bytes.data() + body.size());
  return length <= body.size() ? std::optional(body.first(body.size() - length)) : std::nullopt;
}

}  // namespace

std::optional<std::span<const std::byte>> service_part(ShardId shard,
                                                       std::span<const std::byte> stored) {
  if (stored.empty() || stored[0] != kVersion) {
    return stored;
  }
  if (stored.size() < kHeadBytes || stored[1] > kSnapshot) {
    return std::nullopt;
  }
  auto rest = stored.subspan(kHeadBytes);
  if (shard == kPublicationShard) {
    const auto inner = before_publication(rest);
    if (!inner) {
      return std::nullopt;
    }
    rest = *inner;
  }
  return stored[1] == kCheckpoint ? std::optional(rest)
                                  : behind_frontier(rest, load<std::uint32_t>(&stored[4]));
}

std::optional<std::span<const std::byte>> view_part(ShardId shard,
                                                    std::span<const std::byte> stored) {
  if (shard != kPublicationShard || stored.empty() || stored[0] != kVersion) {
    return std::span<const std::byte>{};
  }
  const auto outer = before_limits(stored);
  const auto parts = outer ? membership::split_view_part(outer->before) : std::nullopt;
  return parts ? std::optional(parts->view) : std::nullopt;
}

std::optional<std::span<const std::byte>> access_part(ShardId shard,
                                                      std::span<const std::byte> stored) {
  if (shard != kPublicationShard || stored.empty() || stored[0] != kVersion) {
    return std::span<const std::byte>{};
  }
  const auto parts = before_limits(stored);
  return parts ? std::optional(parts->access) : std::nullopt;
}

std::optional<std::span<const std::byte>> limits_part(ShardId shard,
                                                      std::span<const std::byte> stored) {
  if (shard != kPublicationShard || stored.empty() || stored[0] != kVersion) {
    return std::span<const std::byte>{};
  }
  const auto parts = security::split_limits_part(stored);
  return parts ? std::optional(parts->limits) : std::nullopt;
}

void begin_ledger_state(std::vector<std::byte>& bytes,
                        const ledger::SnapshotFrontier& frontier,
                        std::span<const std::byte> entry) {
  GCOORD_ASSERT(frontier.peaks.size() == static_cast<std::size_t>(std::popcount(frontier.size)));
  bytes.push_back(kVersion);
  bytes.push_back(kSnapshot);
  append(bytes, std::uint16_t{0});
  append(bytes, std::uint32_t{1});
  append(bytes, frontier.size + 1);
  append(bytes, frontier.size);
  for (const ledger::MerkleHash& peak : frontier.peaks) {
    bytes.insert(bytes.end(), peak.begin(), peak.end());
  }
  append(bytes, static_cast<std::uint32_t>(entry.size()));
  bytes.insert(bytes.end(), entry.begin(), entry.end());
}

void end_ledger_state(std::vector<std::byte>& bytes, ShardId shard, const ClusterStates& states) {
  if (shard == kPublicationShard) {
    const std::size_t begin = bytes.size();
    PublicationState{}.serialize(bytes);
    append(bytes, static_cast<std::uint32_t>(bytes.size() - begin));
    membership::append_view_part(states.view, bytes);
    security::append_access_part(states.access, bytes);
    security::append_limits_part(states.limits, bytes);
  }
}

}  // namespace gcoord::server
