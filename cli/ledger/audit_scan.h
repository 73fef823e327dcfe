// Entries of a ledger by who is behind them: the join of entries with the notes of their sessions.
//
// An entry of a lock names its session; the session's note (security/audit/note.h), in the log of
// its home shard, says who that is. The scan opens the logs of all shards at their newest
// checkpoints, reads the notes of all of them, and then the entries of the shards that are wanted,
// in the order of shards and indexes. Everything is checked up to the checkpoints, as by any reader
// (ledger/tiles/tile_reader.h). Bounded by rows and by entries looked at; a cursor goes on. What
// was pruned is passed over. A stand-in (ledger/tiles/hidden_entry.h) is found by what it claims,
// and counted whether it claims anything or not. One thread.
#pragma once

#include "cli/ledger/proof_file.h"
#include "cli/ledger/proof_making.h"
#include "cli/ledger/source.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

// All that are not empty must hold.
struct AuditFilter {
  // The name of a principal, or its kind and name: "bob", "user bob".
  std::string principal;
  std::string name;   // Of a lock, an election or a group; releases say its hash alone.
  std::string since;  // "2026-11-29T10:00:00": the time of an entry is not before it.
};

// "3:120"; nothing for text that is none.
std::optional<EntryIndex> parse_audit_cursor(std::string_view text);
std::string audit_cursor_text(const EntryIndex& index);

// The principal that ordered an entry, as the connection had proven it; empty: it does not say. The
// "principal" of a limit or a denial is whom it is about.
std::string_view author_of(const server::RecordFacts& facts);

struct AuditNoteAt {
  EntryIndex at;
  server::RecordFacts facts;
};

struct AuditRow {
  EntryIndex at;
  std::vector<std::byte> entry;
  server::RecordFacts facts;
  std::optional<AuditNoteAt> note;  // Of its session.
};

struct AuditBounds {
  std::size_t rows = 1000;
  std::uint64_t entries = 2'000'000;  // That are looked at, for notes and again for rows.
};

struct AuditQuery {
  AuditFilter filter;
  std::optional<std::uint32_t> shard;  // Nothing: all of them.
  EntryIndex from;                     // Entries before it are left out.
  AuditBounds bounds;
};

struct AuditPage {
  std::vector<AuditRow> rows;
  std::optional<EntryIndex> next;  // Where to go on; nothing: this is the end.
  // False: more entries than the bound were there, and notes behind it are not known.
  bool notes_complete = true;
  std::uint64_t pruned = 0;  // Entries that are not kept any more.
  // Entries of shard 0 that were looked at, and of which the ledger gives stand-ins: rows and notes
  // may be missing by as many, whatever the filter.
  std::uint64_t hidden = 0;
};

class AuditScan {
 public:
  // Opens the logs of the shards that the ledger has. LedgerAbsent if it has none.
  static Result<AuditScan> open(const LedgerAddress& address, const ProofTrust& trust);

  Result<AuditPage> find(const AuditQuery& query);

  // Proofs of what find() gave, one per row: with its note, if there is one.
  Result<std::vector<ProofFile>> prove(const std::vector<AuditRow>& rows) const;

 private:
  AuditScan(LedgerAddress address, ProofTrust trust)
      : address_(std::move(address)), trust_(std::move(trust)) {}

  Status read_notes(std::uint64_t entries_max, AuditPage& page);
  const AuditNoteAt* note_of(const server::RecordFacts& facts, const AuditFilter& filter) const;
  bool matches(const server::RecordFacts& facts,
               const AuditFilter& filter,
               const AuditNoteAt* note) const;

  LedgerAddress address_;
  ProofTrust trust_;
  std::map<std::uint32_t, OpenLog> shards_;
  std::map<std::string, std::vector<AuditNoteAt>, std::less<>> notes_;  // By session.
  std::uint64_t notes_to_ = 0;  // Of shard 0: where the search for notes ended.
};

}  // namespace gcoord::cli
