#include "server/rights/demand_table.h"

#include "common/enumerators.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace gcoord::server {

namespace {

using protocol::RequestKind;

using enum DemandCase;
using enum DemandScope;
using enum security::Right;

// clang-format off
constexpr DemandRow kRows[] = {
    {RequestKind::Hello, Always, Anyone},
    {RequestKind::OpenSession, Always, Cluster, SessionOpen},
    {RequestKind::KeepAlive, Always, Cluster, SessionOwn},
    {RequestKind::CloseSession, Always, Cluster, SessionOwn},
    {RequestKind::LockAcquire, Always, Name, LockAcquire},
    {RequestKind::LockRelease, Always, Name, LockAcquire},
    {RequestKind::LockRelease, ByToken, Name, LockBreak},
    {RequestKind::LockCancel, Always, Name, LockAcquire},
    {RequestKind::LockCheck, Always, Name, LockCheck},
    {RequestKind::LockCheckBatch, Always, Name, LockCheck},
    {RequestKind::LockGet, Always, Name, LockRead},
    {RequestKind::LockList, Always, AnyName, LockRead},
    {RequestKind::LockAcquireHold, Always, Name, LockAcquire},
    {RequestKind::LockBreak, Always, Name, LockBreak},
    {RequestKind::SessionLosses, Always, Cluster, SessionOwn},
    {RequestKind::SessionLosses, OfOthers, Cluster, SessionReadAll},
    {RequestKind::NodeStatus, Always, Cluster, ClusterRead},
    {RequestKind::ShardList, Always, Cluster, ClusterRead},
    {RequestKind::ShardShow, Always, Cluster, ClusterRead},
    // Clients find their way by them.
    {RequestKind::LeaderMap, Always, Identified},
    {RequestKind::ViewGet, Always, Identified},
    {RequestKind::LogLevels, Reads, Cluster, ClusterRead},
    {RequestKind::LogLevels, Changes, Cluster, LogAdmin},
    {RequestKind::SnapshotOpen, Always, Cluster, ClusterBackup},
    {RequestKind::SnapshotRead, Always, Cluster, ClusterBackup},
    {RequestKind::WatchOpen, NameTarget, Name, Watch},
    {RequestKind::WatchOpen, PrefixTarget, Below, Watch},
    {RequestKind::WatchOpen, SessionTarget, AnyName, Watch},
    {RequestKind::WatchOpen, SessionTarget, Cluster, SessionOwn},
    {RequestKind::WatchOpen, SessionOfOthers, Cluster, SessionReadAll},
    {RequestKind::WatchOpen, NameDetails, Name, WatchDetails},
    {RequestKind::WatchOpen, PrefixDetails, Below, WatchDetails},
    {RequestKind::WatchOpen, SessionDetails, AnyName, WatchDetails},
    {RequestKind::WatchClose, Always, AnyName, Watch},
    {RequestKind::WatchProgress, Always, AnyName, Watch},
    {RequestKind::ElectProclaim, Always, Name, ElectLead},
    {RequestKind::ElectProclaim, ByToken, Name, ElectAdmin},
    {RequestKind::ElectTransfer, Always, Name, ElectLead},
    {RequestKind::ElectTransfer, ByToken, Name, ElectAdmin},
    {RequestKind::ElectCandidates, Always, Name, ElectRead},
    {RequestKind::ElectAsk, Always, Name, ElectAsk},
    {RequestKind::LockDeadlocks, Always, Cluster, ClusterRead},
    {RequestKind::LockMove, Always, Name, LockAdmin},
    {RequestKind::LedgerPrune, Always, Cluster, LedgerPrune},
    {RequestKind::LockRead, Rows, Name, LockRead},
    {RequestKind::LockRead, Verdicts, Name, LockCheck},
    {RequestKind::LockReadList, Always, AnyName, LockRead},
    {RequestKind::SessionGrant, Always, Cluster, SessionOpen},
    // The answer says whether there is a session of that id, and others may count on an id.
    {RequestKind::SessionGrant, ChosenSession, Cluster, SessionChoose},
    {RequestKind::SessionShow, Always, Cluster, SessionRead},
    {RequestKind::SessionShow, OfOthers, Cluster, SessionReadAll},
    {RequestKind::SessionList, Always, Cluster, SessionRead},
    {RequestKind::SessionList, Counts, Cluster, SessionReadAll},
    {RequestKind::GroupJoin, Always, Name, GroupJoin},
    {RequestKind::GroupLeave, Always, Name, GroupJoin},
    {RequestKind::GroupGet, Always, Name, GroupRead},
    {RequestKind::GroupBarrier, Always, Name, GroupJoin},
    {RequestKind::GroupUpdate, Always, Name, GroupJoin},
    {RequestKind::RendezvousJoin, Always, Name, GroupJoin},
    {RequestKind::RendezvousLeave, Always, Name, GroupJoin},
    {RequestKind::RendezvousGet, Always, Name, GroupRead},
    {RequestKind::LockGetAt, Always, Name, LockHistory},
    {RequestKind::MemberUpdate, Always, Cluster, MemberAdmin},
    {RequestKind::MemberChange, Always, Cluster, MemberAdmin},
    // Its token is its proof.
    {RequestKind::MemberJoin, Always, Anyone},
    {RequestKind::MemberProgress, Always, Cluster, ClusterRead},
    {RequestKind::MemberAlarms, Reads, Cluster, ClusterRead},
    {RequestKind::MemberAlarms, Changes, Cluster, ClusterAdmin},
    // Whoever proves something is nobody before.
    {RequestKind::Authenticate, Always, Anyone},
    {RequestKind::SessionAttach, Always, Cluster, SessionOwn},
    {RequestKind::AccessGet, Self, Anyone},
    {RequestKind::AccessGet, Status, Identified},
    {RequestKind::AccessGet, Rows, Cluster, AuthAdmin},
    {RequestKind::AccessChange, Always, Cluster, AuthAdmin},
    // The reply leaves out sessions of others, without session.read.all.
    {RequestKind::SessionDescribe, Always, Cluster, SessionRead},
    {RequestKind::HolderDescribe, Always, Name, LockReadDetails},
    {RequestKind::LimitsGet, Always, Cluster, AuthAdmin},
    {RequestKind::LimitsChange, Always, Cluster, AuthAdmin},
    {RequestKind::LedgerOrders, Always, Cluster, LedgerPrune},
};

// clang-format on

constexpr std::size_t kKindsEnd = 256;

struct Place {
  std::uint8_t first = 0;
  std::uint8_t count = 0;
};

constexpr auto kPlaces = [] {
  std::array<Place, kKindsEnd> places{};
  for (std::size_t k = 0; k < std::size(kRows); ++k) {
    Place& place = places[static_cast<std::size_t>(kRows[k].kind)];
    place.first = place.count == 0 ? static_cast<std::uint8_t>(k) : place.first;
    ++place.count;
  }
  return places;
}();

consteval bool together() {
  for (std::size_t k = 0; k < std::size(kRows); ++k) {
    const Place place = kPlaces[static_cast<std::size_t>(kRows[k].kind)];
    if (k < place.first || k >= std::size_t{place.first} + place.count) {
      return false;
    }
  }
  return std::size(kRows) < 256;
}

consteval bool has_row(RequestKind kind) {
  return std::ranges::count(kRows, kind, &DemandRow::kind) > 0;
}

static_assert(holds_for_enumerators_only<RequestKind, kKindsEnd>(has_row),
              "each request kind demands something, or says that it demands nothing");
static_assert(together(), "the rows of a kind are together");

}  // namespace

std::string_view demand_scope_text(DemandScope scope) {
  switch (scope) {
    case Anyone:
      return "nothing";
    case Identified:
      return "any principal";
    case Cluster:
      return "the cluster";
    case AnyName:
      return "any name";
    case Name:
      return "each name";
    case Below:
      return "all names below the prefix";
  }
  return "";
}

std::string_view demand_case_text(DemandCase when) {
  switch (when) {
    case Always:
      return "always";
    case OfOthers:
      return "session of others";
    case ByToken:
      return "`ByToken` for a session of others";
    case ChosenSession:
      return "the client chose the id";
    case Counts:
      return "count only";
    case Status:
      return "status";
    case Rows:
      return "rows";
    case Verdicts:
      return "verdicts";
    case Reads:
      return "reads";
    case Changes:
      return "changes";
    case NameTarget:
      return "target name";
    case PrefixTarget:
      return "target prefix";
    case SessionTarget:
      return "target session";
    case NameDetails:
      return "target name, with queue or previous";
    case PrefixDetails:
      return "target prefix, with queue or previous";
    case SessionDetails:
      return "target session, with queue or previous";
    case SessionOfOthers:
      return "target session of others";
    case Self:
      return "the client itself";
  }
  return "";
}

std::span<const DemandRow> demand_table() {
  return kRows;
}

std::span<const DemandRow> demand_rows(RequestKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  const Place place = number < kKindsEnd ? kPlaces[number] : Place{};
  return std::span{kRows}.subspan(place.first, place.count);
}

}  // namespace gcoord::server
