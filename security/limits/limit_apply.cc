#include "security/limits/limit_apply.h"

#include <utility>

namespace gcoord::security {

namespace {

// A denial is short and begins at the time of its command.
bool is_duration(const LimitCommand& command) {
  const std::uint64_t until_ms = command.denial.until_ms;
  return until_ms >= command.now_ms + kDenialMsMin && until_ms - command.now_ms <= kDenialMsMax &&
         command.now_ms < (std::uint64_t{1} << 48);
}

LimitCode confirm(PruneOrder& order, const LimitCommand& command) {
  if (order.who == command.who) {
    return LimitCode::PruneSamePerson;
  }
  if (order.is_confirmed()) {
    return LimitCode::PruneExists;
  }
  order.confirmed_by = command.who;
  order.confirmed_ms = command.now_ms;
  return is_prune(command.prune, order) ? LimitCode::Applied : LimitCode::PruneUnproven;
}

LimitCode change_prune(LimitTable& table, const LimitCommand& command) {
  const auto found = table.prunes.find(command.prune);
  const bool known = found != table.prunes.end();
  if (!command.proven) {
    return LimitCode::PruneUnproven;
  }
  if (command.kind == LimitKind::OrderPrune) {
    const PruneOrder order{.who = command.who, .ordered_ms = command.now_ms};
    if (!is_prune(command.prune, order)) {
      return LimitCode::PruneUnproven;
    }
    return table.prunes.emplace(command.prune, order).second ? LimitCode::Applied
                                                             : LimitCode::PruneExists;
  }
  if (!known) {
    return LimitCode::PruneUnknown;
  }
  if (command.kind == LimitKind::ConfirmPrune) {
    return confirm(found->second, command);
  }
  table.prunes.erase(found);
  return LimitCode::Applied;
}

LimitCode change(LimitTable& table, const LimitCommand& command) {
  switch (command.kind) {
    case LimitKind::Set:
      if (!is_limit(command.limit_scope, command.name, command.limit)) {
        return LimitCode::LimitInvalid;
      }
      table.limits[{command.limit_scope, command.name}] = command.limit;
      return LimitCode::Applied;
    case LimitKind::Remove:
      return table.limits.erase({command.limit_scope, command.name}) != 0 ? LimitCode::Applied
                                                                          : LimitCode::LimitUnknown;
    case LimitKind::Deny:
      if (!is_denial(command.denial_scope, command.name) || !is_duration(command)) {
        return LimitCode::DenialInvalid;
      }
      table.denials[{command.denial_scope, command.name}] = command.denial;
      return LimitCode::Applied;
    case LimitKind::Allow:
      return table.denials.erase({command.denial_scope, command.name}) != 0
                 ? LimitCode::Applied
                 : LimitCode::DenialUnknown;
    case LimitKind::OrderPrune:
    case LimitKind::ConfirmPrune:
    case LimitKind::CancelPrune:
      return change_prune(table, command);
  }
  return LimitCode::Malformed;
}

bool is_full(const LimitTable& table) {
  return table.limits.size() > kLimitsMax || table.denials.size() > kDenialsMax ||
         table.prunes.size() > kPruneOrdersMax || row_bytes(table) > kLimitTableBytesMax;
}

}  // namespace

LimitCode apply(LimitTable& table, const LimitCommand& command) {
  if (command.expected != table.epoch) {
    return LimitCode::Stale;
  }
  // One that has ended is gone as soon as anything changes, and who cancels it gets it gone.
  const bool cancels_ended =
      command.kind == LimitKind::CancelPrune && table.prunes.contains(command.prune);
  LimitTable changed = table;
  std::erase_if(changed.denials,
                [&](const auto& row) { return row.second.until_ms <= command.now_ms; });
  std::erase_if(changed.prunes,
                [&](const auto& row) { return row.second.until_ms() <= command.now_ms; });
  LimitCode code = change(changed, command);
  code = code == LimitCode::PruneUnknown && cancels_ended ? LimitCode::Applied : code;
  if (code != LimitCode::Applied) {
    return code;
  }
  if (is_full(changed)) {
    return LimitCode::TableFull;
  }
  ++changed.epoch;
  changed.numbers.push_back(command.number);
  if (changed.numbers.size() > kLimitChangesKept) {
    changed.numbers.pop_front();
  }
  table = std::move(changed);
  return LimitCode::Applied;
}

}  // namespace gcoord::security
