// The flags that the verbs of `gcoordctl ledger` share: where the ledger is, which log of it, and
// whom to believe. One thread.
#pragma once

#include "cli/ledger/proof_check.h"
#include "cli/ledger/source.h"
#include "cli/terminal/command.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

struct LedgerFlags {
  std::string ledger;
  std::optional<std::uint32_t> shard;
  std::vector<std::string> keys;
  std::size_t quorum = 0;  // 0: a majority of the keys.
};

void add_ledger_flag(Command& verb, LedgerFlags& flags);
void add_shard_flag(Command& verb, LedgerFlags& flags, const char* meaning);
void add_key_flags(Command& verb, LedgerFlags& flags);

LedgerAddress place_of(const Context& context, const LedgerFlags& flags);

// The keys as they were given, with the cluster that their names are of. NoteKey for what is none,
// OptionInvalid for a quorum that the keys cannot make.
Result<ProofTrust> trust_of(const LedgerFlags& flags);

// A failure as the user sees it: cause and fix by its number, and what was found.
Status ledger_failure(const Status& status);

// "yes: N of M keys", or "no key was given".
std::string trust_text(const ProofTrust& trust);

// The file, or standard input for "-"; ProofFileOversized above `bytes_max`.
Result<std::string> read_input(const std::string& file, std::size_t bytes_max);

// One per file of verbs.
void add_ledger_verify(Command& ledger, Context& context);
void add_ledger_read_verbs(Command& ledger, Context& context);
void add_ledger_copy_verbs(Command& ledger, Context& context);
void add_ledger_prune(Command& ledger, Context& context);

}  // namespace gcoord::cli
