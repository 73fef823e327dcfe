// Entries of a ledger by who is behind them: the join of entries with the notes of their sessions.
//
// An entry of a lock names its session; the session's note (security/audit/note.h), in the log of
// its home shard, says who that is. The scan opens the logs of all shards at their newest
// checkpoints, reads the notes of all of them, and then the entries of the shards that are wanted,
// in the order of shards and indexes. Everything is checked up to the checkpoints, as by any reader
// (ledger/tiles/tile_reader.h). Bounded by rows and by entries looked at; a cursor goes on. What was
// pruned is passed over. One thread.
#pragma once

#include "cli/ledger/proof_file.h"
#include "cli/ledger/source.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

// All that are not empty must hold.
struct AuditFilter {
  // The name of a principal, or its kind and name: "bob", "user bob".
  std::string principal;
  std::string name;   // Of a lock, an election or a group; releases say its hash alone.
  std::string since;  // "2026-11-29T10:00:00": the time of an entry is not before it.
};

struct AuditPlace {
  std::uint32_t shard = 0;
  std::uint64_t index = 0;

  friend auto operator<=>(const AuditPlace&, const AuditPlace&) = default;
};

// "3:120"; nothing for text that is none.
std::optional<AuditPlace> parse_audit_cursor(std::string_view text);
std::string audit_cursor_text(const AuditPlace& place);

struct AuditNoteAt {
  AuditPlace place;
  server::RecordFacts facts;
};

struct AuditRow {
  AuditPlace place;
  std::vector<std::byte> entry;
  server::RecordFacts facts;
  std::optional<AuditNoteAt> note;  // Of its session.
};

struct AuditBounds {
  std::size_t rows = 1000;
  std::uint64_t entries = 2'000'000;  // That are looked at, for notes and again for rows.
};

struct AuditPage {
  std::vector<AuditRow> rows;
  std::optional<AuditPlace> next;  // Where to go on; nothing: this is the end.
  // False: more entries than the bound were there, and notes behind it are not known.
  bool notes_complete = true;
  std::uint64_t pruned = 0;  // Entries that are not kept any more.
};

class AuditScan {
 public:
  // Opens the logs of the shards that the ledger has. LedgerAbsent if it has none.
  static Result<AuditScan> open(const LedgerAddress& place, const ProofTrust& trust);

  // Entries from `from` on, of one shard or of all.
  Result<AuditPage> find(const AuditFilter& filter,
                         std::optional<std::uint32_t> shard,
                         const AuditPlace& from,
                         const AuditBounds& bounds);

  // Proofs of what find() gave, one per row: with its note, if there is one.
  Result<std::vector<ProofFile>> prove(const std::vector<AuditRow>& rows) const;

 private:
  AuditScan(LedgerAddress place, ProofTrust trust)
      : place_(std::move(place)), trust_(std::move(trust)) {}

  Status read_notes(std::uint64_t entries_max, AuditPage& page);
  const AuditNoteAt* note_of(const server::RecordFacts& facts, const AuditFilter& filter) const;
  bool matches(const server::RecordFacts& facts,
               const AuditFilter& filter,
               const AuditNoteAt* note) const;

  LedgerAddress place_;
  ProofTrust trust_;
  std::map<std::uint32_t, OpenLog> shards_;
  std::map<std::string, std::vector<AuditNoteAt>, std::less<>> notes_;  // By session.
};

}  // namespace gcoord::cli
