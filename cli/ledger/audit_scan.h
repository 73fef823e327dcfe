// Entries of a ledger by who is behind them: the join of entries with the notes of their sessions.
//
// An entry of a lock names its session; the session's note (security/audit/note.h), in the log of
// its home shard, says who that is. A search by name reads the shard of the name, those that the
// lock was moved to, and the home shards of the sessions that it meets; name_trail.h says what is
// about a name. A search for a principal reads the notes of all shards first. Any other one reads
// shards until its page is full, and then the notes of the sessions that it found. Where the ledger
// does not say how many shards it has, all are read first.
//
// Rows come in the order of shards and indexes. Everything is checked up to the checkpoints, as by
// any reader (ledger/tiles/tile_reader.h), but nothing proves that there is no more. Bounded by
// rows and by entries looked at; a cursor goes on. What was pruned is passed over. A stand-in
// (ledger/tiles/hidden_entry.h) is found by what it claims, and counted whether it claims anything
// or not. One thread.
#pragma once

#include "cli/ledger/proof_file.h"
#include "cli/ledger/proof_making.h"
#include "cli/ledger/shard_logs.h"
#include "cli/ledger/source.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
  // LedgerAbsent if the ledger has no shard, here or in find().
  static Result<AuditScan> open(const LedgerAddress& address, const ProofTrust& trust);

  Result<AuditPage> find(const AuditQuery& query);

  // Proofs of what find() gave, one per row: with its note, if there is one.
  Result<std::vector<ProofFile>> prove(const std::vector<AuditRow>& rows) const;

 private:
  using Shards = std::set<std::uint32_t>;

  AuditScan(LedgerAddress address, ProofTrust trust)
      : address_(std::move(address)), trust_(std::move(trust)) {}

  Status follow_name(const std::string& name, Shards& shards);
  Result<Shards> shards_of(const AuditQuery& query);
  Status read_all_notes(std::uint64_t entries_max, AuditPage& page);
  Status add_notes(const AuditQuery& query, AuditPage& page);
  Status read_notes(const Shards& shards, std::uint64_t entries_max, AuditPage& page);
  Status find_in(std::uint32_t shard, const AuditQuery& query, AuditPage& page);
  const AuditNoteAt* note_of(const server::RecordFacts& facts, const AuditFilter& filter) const;
  bool matches(const server::RecordFacts& facts,
               const AuditFilter& filter,
               const AuditNoteAt* note) const;

  LedgerAddress address_;
  ProofTrust trust_;
  std::optional<ShardLogs> logs_;                                       // From open() on.
  std::map<std::string, std::vector<AuditNoteAt>, std::less<>> notes_;  // By session.
  std::uint64_t notes_to_ = 0;  // Of shard 0: where the search for notes ended.
  std::uint64_t seen_ = 0;      // Entries that the present search looked at.
  // Of a search by name: sessions of its entries, which may have it in a shard it was moved to.
  std::set<std::uint64_t> moved_;
};

}  // namespace gcoord::cli
