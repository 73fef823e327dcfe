// The table itself: all rows by number, as docs/reference/errors.md has them.
#include "protocol/error_codes.h"
#include "protocol/ledger_errors.h"
#include "protocol/lock_errors.h"
#include "protocol/member_errors.h"
#include "protocol/node_errors.h"
#include "protocol/security_errors.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gcoord::protocol {
namespace {

template <std::size_t... kCounts>
constexpr auto by_number(const ErrorEntry (&... rows)[kCounts]) {
  std::array<ErrorEntry, (kCounts + ...)> table{};
  auto end = table.begin();
  ((end = std::copy(std::begin(rows), std::end(rows), end)), ...);
  std::ranges::sort(table, {}, &ErrorEntry::code);
  return table;
}

constexpr auto kTable = by_number(kNodeErrors,
                                  kLockErrors,
                                  kViewErrors,
                                  kGroupErrors,
                                  kMemberErrors,
                                  kSecurityErrors,
                                  kIdentityErrors,
                                  kAccessErrors,
                                  kLimitErrors,
                                  kLedgerErrors);

}  // namespace

std::span<const ErrorEntry> error_table() {
  return kTable;
}

}  // namespace gcoord::protocol
