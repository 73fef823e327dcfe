// Limits of a node: commands as bytes in, the table out, and the state as bytes.
//
// There is one table in a cluster, so this is the thin loop over nothing but the log. One thread.
#pragma once

#include "security/limits/limit_apply.h"
#include "security/limits/limit_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::security {

class LimitCpu {
 public:
  LimitCpu() = default;

  // One command of the log. Refused: nothing is changed.
  LimitCode apply(std::span<const std::byte> command);

  // What apply() of the command would say. Copies the table: for who is about to propose it.
  LimitCode preview(const LimitCommand& command) const;

  const LimitTable& table() const { return table_; }

  // The epoch that the change of this number made, if it is among the last kLimitChangesKept.
  std::optional<std::uint64_t> made_by(std::uint64_t number) const;

  // Whether there is nothing, and never was.
  bool is_empty() const { return table_.epoch == 0; }

  // Equal states give equal bytes; an empty state none.
  void serialize(std::vector<std::byte>& bytes) const;

  // Nothing for bytes that serialize() does not give.
  static std::optional<LimitCpu> parse(std::span<const std::byte> bytes);

  friend bool operator==(const LimitCpu& a, const LimitCpu& b) = default;

 private:
  LimitTable table_;
};

}  // namespace gcoord::security
