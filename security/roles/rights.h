// The rights that a role can grant, their names, and the words that stand for several of them.
//
// A right is one bit of a mask. Some rights are over names (of locks, elections, groups), and can
// be granted on a prefix of names; the others are of the whole cluster. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::security {

// Never renumber: they are bits in the log and in snapshots.
enum class Right : std::uint8_t {
  SessionOpen = 0,
  SessionOwn = 1,
  SessionRead = 2,
  SessionReadAll = 3,
  LockAcquire = 4,
  LockCheck = 5,
  LockRead = 6,
  LockReadDetails = 7,
  LockHistory = 8,
  LockBreak = 9,
  LockAdmin = 10,
  ElectLead = 11,
  ElectAdmin = 12,
  ElectAsk = 13,
  ElectRead = 14,
  Watch = 15,
  WatchDetails = 16,
  ClusterRead = 17,
  ClusterAdmin = 18,
  ClusterBackup = 19,
  LedgerPrune = 20,
  LedgerRead = 21,
  MetricsRead = 22,
  MemberAdmin = 23,
  GroupJoin = 24,
  GroupRead = 25,
  AuthAdmin = 26,
  LogAdmin = 27,
  SessionChoose = 28,
};

inline constexpr std::uint32_t kRightCount = 29;

using RightMask = std::uint64_t;

constexpr RightMask bit_of(Right right) {
  return RightMask{1} << static_cast<unsigned>(right);
}

inline constexpr RightMask kAllRights = (RightMask{1} << kRightCount) - 1;

// Rights that releases without protocol::Feature::Safeguards know. They refuse a command that
// grants another one, so none is proposed before all nodes know it.
inline constexpr RightMask kEarlierRights = (RightMask{1} << 28) - 1;

struct RightRow {
  Right right{};
  std::string_view name;    // "lock.acquire".
  bool over_names = false;  // It can be granted on a prefix.
  std::string_view meaning;
};

// All rights, by number.
std::span<const RightRow> right_rows();

std::string_view right_name(Right right);
std::optional<Right> parse_right(std::string_view name);

// Rights of the mask that are over names.
RightMask named_rights(RightMask mask);

// Words that stand for several rights: "read", "details", "write", "admin".
struct RightAlias {
  std::string_view name;
  RightMask rights = 0;
  std::string_view meaning;
};

std::span<const RightAlias> right_aliases();

// The names of the rights in the mask, by number, with commas between them.
std::string rights_text(RightMask mask);

}  // namespace gcoord::security
