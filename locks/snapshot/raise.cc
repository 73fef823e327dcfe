#include "common/bytes.h"
#include "locks/snapshot/snapshot.h"

#include <cstring>
#include <limits>

namespace gcoord::locks {
namespace {

constexpr std::size_t kTokenLastOffset = 4 + 2;  // Behind magic and version.

// The header alone: no session, so no request, no lock, no waiter.
std::vector<std::byte> without_sessions(const LockSnapshot& snapshot) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(kLockSnapshotMagic);
  writer.integer(kLockSnapshotVersion);
  writer.integer(snapshot.token_last);
  writer.integer(snapshot.state_hash);
  writer.integer(snapshot.serial_last);
  writer.integer(std::uint32_t{0});
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> raise_snapshot(std::span<const std::byte> bytes,
                                              std::uint64_t token_count,
                                              SnapshotSessions sessions) {
  LockSnapshot snapshot;
  if (!bytes.empty()) {
    GCOORD_TRY(snapshot, parse_snapshot(bytes));
  }
  constexpr std::uint64_t kTokenMax = std::numeric_limits<std::uint64_t>::max() / 2;
  if (snapshot.token_last > kTokenMax || token_count > kTokenMax - snapshot.token_last) {
    return Status{StatusCode::OutOfRange, "lock snapshot: too few tokens are left"};
  }
  const bool header_only = bytes.empty() || sessions == SnapshotSessions::Drop;
  std::vector<std::byte> raised =
      header_only ? without_sessions(snapshot) : std::vector<std::byte>(bytes.begin(), bytes.end());
  const std::uint64_t token_last = snapshot.token_last + token_count;
  std::memcpy(&raised[kTokenLastOffset], &token_last, sizeof token_last);
  return raised;
}

}  // namespace gcoord::locks
