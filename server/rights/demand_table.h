// Table of the rights that requests demand: for each kind its rows, each with the case in which it
// applies, the right, and the names over which that right must be granted.
//
// A kind without a row does not compile (demand_table.cc). All rows of a request that apply must be
// met. docs/reference/rights.md shows this table; a test compares. A request whose payload cannot
// be read demands every row of its kind over all names, so a mistake in a payload goes round
// nothing. Constant; any thread.
#pragma once

#include "protocol/request.h"
#include "security/roles/rights.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gcoord::server {

enum class DemandScope : std::uint8_t {
  Anyone,      // No right, and nobody need say who it is.
  Identified,  // No right, but a principal.
  Cluster,     // The right, which is not over names.
  AnyName,     // The right over some name: the reply leaves out what is not granted.
  Name,        // The right over the name, or over each name of a list.
  Below,       // The right over all names that begin with the prefix, by one grant.
};

// In which case of its kind a row applies. Cases are bits of RequestDemands::cases.
enum class DemandCase : std::uint8_t {
  Always,
  // Of a session that this connection has neither opened nor attached to itself.
  OfOthers,
  // RequestFlag::ByToken, of such a session.
  ByToken,
  ChosenSession,  // The client chose the session's id.
  Counts,         // Only a count is asked for.
  Status,         // AccessGet: only whether rights are checked.
  Rows,           // LockRead, AccessGet: rows are asked for,
  Verdicts,       // LockRead: or whether tokens are valid.
  Reads,          // The request changes nothing,
  Changes,        // or it does.
  // WatchOpen: its target; and the same with queues, with the previous value, or both.
  NameTarget,
  PrefixTarget,
  SessionTarget,
  NameDetails,
  PrefixDetails,
  SessionDetails,
  SessionOfOthers,
  Self,  // AccessGet: who the client is itself.
};

inline constexpr std::size_t kDemandCaseCount = 18;

struct DemandRow {
  protocol::RequestKind kind{};
  DemandCase when = DemandCase::Always;
  DemandScope scope = DemandScope::Anyone;
  security::Right right{};  // Of no meaning with Anyone and Identified.
};

// "each name", "all names below the prefix", and so on, for pages and messages.
std::string_view demand_scope_text(DemandScope scope);
std::string_view demand_case_text(DemandCase when);

// All rows; those of a kind are together.
std::span<const DemandRow> demand_table();

// The rows of a kind; none for a number outside the enum.
std::span<const DemandRow> demand_rows(protocol::RequestKind kind);

}  // namespace gcoord::server
