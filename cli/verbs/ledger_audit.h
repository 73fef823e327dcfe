// gcoordctl ledger get --principal P | --name N | --since T: entries with who is behind them. One
// thread.
#pragma once

#include "cli/terminal/ledger_flags.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

struct AuditFlags {
  std::string principal;
  std::string name;
  std::string since;
  std::string cursor;
  std::string out;
  std::uint64_t limit = 1000;
  std::uint64_t scan_max = 2'000'000;

  bool given() const { return !principal.empty() || !name.empty() || !since.empty(); }
};

void add_audit_flags(Command& verb, AuditFlags& flags);

// For whoever reads the answer; `hidden` is not 0.
std::string hidden_note(std::uint64_t hidden);

int get_audited(Context& context, const LedgerFlags& ledger, const AuditFlags& flags);

}  // namespace gcoord::cli
