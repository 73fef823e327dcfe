#include "security/roles/rights.h"

#include "common/enumerators.h"

#include <algorithm>
#include <array>

namespace gcoord::security {

namespace {

constexpr bool kOverNames = true;
constexpr bool kOfCluster = false;

constexpr std::array kRows = {
    RightRow{Right::SessionOpen, "session.open", kOfCluster, "open sessions"},
    RightRow{Right::SessionOwn, "session.own", kOfCluster, "keep alive and close own sessions"},
    RightRow{Right::SessionRead, "session.read", kOfCluster, "see own sessions"},
    RightRow{Right::SessionReadAll, "session.read.all", kOfCluster, "see everybody's sessions"},
    RightRow{Right::LockAcquire, "lock.acquire", kOverNames, "acquire and release locks"},
    RightRow{Right::LockCheck, "lock.check", kOverNames, "check a fencing token"},
    RightRow{Right::LockRead, "lock.read", kOverNames, "see that a lock exists and is held"},
    RightRow{Right::LockReadDetails,
             "lock.read.details",
             kOverNames,
             "see holders, tokens, notes and waiters"},
    RightRow{Right::LockHistory, "lock.history", kOverNames, "see locks as they were"},
    RightRow{Right::LockBreak, "lock.break", kOverNames, "end what others hold"},
    RightRow{Right::LockAdmin, "lock.admin", kOverNames, "move locks between shards"},
    RightRow{Right::ElectLead, "elect.lead", kOverNames, "be a candidate, lead, proclaim"},
    RightRow{Right::ElectAdmin, "elect.admin", kOverNames, "change who leads, by its token"},
    RightRow{Right::ElectAsk, "elect.ask", kOverNames, "ask a leader to hand over"},
    RightRow{Right::ElectRead, "elect.read", kOverNames, "see who leads and who waits"},
    RightRow{Right::Watch, "watch", kOverNames, "watch what happens"},
    RightRow{Right::WatchDetails,
             "watch.details",
             kOverNames,
             "watch queues, values and previous values"},
    RightRow{Right::ClusterRead, "cluster.read", kOfCluster, "see nodes, shards and deadlocks"},
    RightRow{Right::ClusterAdmin, "cluster.admin", kOfCluster, "see and change the nodes' insides"},
    RightRow{Right::ClusterBackup, "cluster.backup", kOfCluster, "save snapshots of everything"},
    RightRow{Right::LedgerPrune, "ledger.prune", kOfCluster, "prune the ledger"},
    RightRow{Right::LedgerRead, "ledger.read", kOfCluster, "read the ledger's entries"},
    RightRow{Right::MetricsRead, "metrics.read", kOfCluster, "read metrics"},
    RightRow{Right::MemberAdmin, "member.admin", kOfCluster, "change which nodes there are"},
    RightRow{Right::GroupJoin, "group.join", kOverNames, "join groups, barriers and rendezvous"},
    RightRow{Right::GroupRead, "group.read", kOverNames, "see who is in a group"},
    RightRow{Right::AuthAdmin, "auth.admin", kOfCluster, "change users and roles"},
    RightRow{Right::LogAdmin, "log.admin", kOfCluster, "change the levels of nodes' logs"},
    RightRow{Right::SessionChoose,
             "session.choose",
             kOfCluster,
             "open sessions under ids of one's own choice"},
};

consteval bool has_row(Right right) {
  const auto place = static_cast<std::size_t>(right);
  return place < kRows.size() && kRows[place].right == right;
}

static_assert(kRows.size() == kRightCount);
static_assert(holds_for_enumerators_only<Right, 64>(has_row), "each right has its row");

constexpr RightMask mask_of(std::initializer_list<Right> rights) {
  RightMask mask = 0;
  for (const Right right : rights) {
    mask |= bit_of(right);
  }
  return mask;
}

constexpr RightMask kNamed = [] {
  RightMask mask = 0;
  for (const RightRow& row : kRows) {
    mask |= row.over_names ? bit_of(row.right) : 0;
  }
  return mask;
}();

constexpr std::array kAliases = {
    RightAlias{"read",
               mask_of({Right::SessionRead,
                        Right::LockCheck,
                        Right::LockRead,
                        Right::ElectRead,
                        Right::Watch,
                        Right::GroupRead,
                        Right::ClusterRead}),
               "see locks, elections and groups, without who holds them"},
    RightAlias{"details",
               mask_of({Right::LockReadDetails, Right::WatchDetails}),
               "see who holds what, values and queues"},
    RightAlias{"write",
               mask_of({Right::SessionOpen,
                        Right::SessionOwn,
                        Right::LockAcquire,
                        Right::ElectLead,
                        Right::GroupJoin}),
               "have sessions, acquire, lead and join"},
    RightAlias{"admin", kAllRights, "all rights"},
};

}  // namespace

std::span<const RightRow> right_rows() {
  return kRows;
}

std::string_view right_name(Right right) {
  const auto place = static_cast<std::size_t>(right);
  return place < kRows.size() ? kRows[place].name : std::string_view{"unknown"};
}

std::optional<Right> parse_right(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &RightRow::name);
  return row == kRows.end() ? std::nullopt : std::optional(row->right);
}

RightMask named_rights(RightMask mask) {
  return mask & kNamed;
}

std::span<const RightAlias> right_aliases() {
  return kAliases;
}

std::string rights_text(RightMask mask) {
  std::string text;
  for (const RightRow& row : kRows) {
    if ((mask & bit_of(row.right)) != 0) {
      text += text.empty() ? "" : ",";
      text += row.name;
    }
  }
  return text;
}

}  // namespace gcoord::security
