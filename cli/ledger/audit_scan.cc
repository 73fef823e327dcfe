#include "cli/ledger/audit_scan.h"

#include "cli/ledger/name_trail.h"
#include "common/name_hash.h"
#include "ledger/base/error_details.h"
#include "ledger/tiles/hidden_entry.h"
#include "protocol/lease_messages.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gcoord::cli {
namespace {

using Facts = server::RecordFacts;

bool is_note(std::span<const std::byte> entry) {
  const auto header = server::decode_record_header(entry);
  return header && header->kind == server::RecordKind::SessionNote;
}

// The one that an entry is of, or those whose ends it lists.
std::vector<std::uint64_t> sessions_of(const Facts& facts) {
  std::vector<std::uint64_t> sessions;
  const auto add = [&](std::string_view text) {
    std::uint64_t session = 0;
    std::from_chars(text.data(), text.data() + text.size(), session);
    if (session != 0) {
      sessions.push_back(session);
    }
  };
  add(fact_of(facts, "session"));
  std::ranges::for_each(listed_ends(facts), add);
  return sessions;
}

bool is_stand_in(const EntryIndex& at, std::span<const std::byte> entry) {
  return at.shard == ledger::kHidingShard && ledger::parse_hidden_entry(entry).has_value();
}

// What the entry is looked for by: what a stand-in claims, else what the entry says.
Facts facts_to_find(const Facts& facts) {
  Facts found;
  for (const auto& [name, value] : facts) {
    if (name.starts_with(server::kClaim)) {
      found.emplace_back(name.substr(server::kClaim.size()), value);
    }
  }
  return found.empty() ? facts : found;
}

Status no_shards() {
  return {StatusCode::NotFound, "the ledger has no shard", ledger::kLedgerAbsent};
}

// Limits and denials, of which "principal" is whom they are about, and orders to prune.
bool names_author(const Facts& facts) {
  const std::string_view kind = fact_of(facts, "kind");
  return kind.starts_with("limit_") || kind.starts_with("deny_") || kind.starts_with("prune_");
}

// As its author, or as whom a limit or a denial is about.
bool names_principal(const Facts& facts, std::string_view wanted) {
  if (names_author(facts) && author_of(facts) == wanted) {
    return true;
  }
  const std::string_view name = fact_of(facts, "principal");
  if (name.empty()) {
    return false;
  }
  const std::string_view kind = fact_of(facts, "principal_kind");
  return name == wanted || (!kind.empty() && std::string{kind} + " " + std::string{name} == wanted);
}

}  // namespace

std::string_view author_of(const Facts& facts) {
  return fact_of(facts, names_author(facts) ? "by_principal" : "principal");
}

std::optional<EntryIndex> parse_audit_cursor(std::string_view text) {
  EntryIndex at;
  const std::size_t colon = text.find(':');
  if (colon == text.npos) {
    return std::nullopt;
  }
  const char* const end = text.data() + text.size();
  const auto shard = std::from_chars(text.data(), text.data() + colon, at.shard);
  const auto index = std::from_chars(text.data() + colon + 1, end, at.index);
  const bool whole = shard.ec == std::errc{} && shard.ptr == text.data() + colon &&
                     index.ec == std::errc{} && index.ptr == end;
  return whole ? std::optional(at) : std::nullopt;
}

std::string audit_cursor_text(const EntryIndex& index) {
  return std::to_string(index.shard) + ":" + std::to_string(index.index);
}

Result<AuditScan> AuditScan::open(const LedgerAddress& address, const ProofTrust& trust) {
  AuditScan scan(with_connections(address), trust);
  GCOORD_TRY(ShardLogs logs, ShardLogs::open(scan.address_, trust));
  scan.logs_.emplace(std::move(logs));
  if (!scan.logs_->count()) {
    GCOORD_TRY(const auto shards, scan.logs_->all());
    if (shards.empty()) {
      return no_shards();
    }
  }
  return scan;
}

// Where entries about the name are: its own shard, and those that the lock was moved to.
Status AuditScan::follow_name(const std::string& name, Shards& shards) {
  const std::uint32_t count = *logs_->count();
  NameLinks links;
  std::set<std::uint32_t> left{shard_of(hash_name(name), count).value};
  while (!left.empty()) {
    const std::uint32_t shard = left.extract(left.begin()).value();
    GCOORD_TRY(const OpenLog* const log, logs_->log(shard));
    if (log == nullptr || !shards.insert(shard).second) {
      continue;
    }
    NameTrail trail(name, moved_);
    GCOORD_TRY_STATUS(logs_
                          ->walk(shard,
                                 0,
                                 [&](std::uint64_t, const auto& entry) {
                                   trail.take(server::record_facts(entry));
                                   return true;
                                 })
                          .status());
    moved_.insert(trail.links().sessions.begin(), trail.links().sessions.end());
    for (const std::uint32_t to : trail.links().shards) {
      if (to < count && !shards.contains(to)) {
        left.insert(to);
      }
    }
  }
  return {};
}

Result<AuditScan::Shards> AuditScan::shards_of(const AuditQuery& query) {
  Shards shards;
  if (query.shard) {
    shards.insert(*query.shard);
  } else if (!query.filter.name.empty() && logs_->count()) {
    GCOORD_TRY_STATUS(follow_name(query.filter.name, shards));
  } else if (logs_->count()) {
    for (std::uint32_t shard = query.from.shard; shard < *logs_->count(); ++shard) {
      shards.insert(shards.end(), shard);
    }
  } else {
    GCOORD_TRY(const auto all, logs_->all());
    shards.insert(all.begin(), all.end());
  }
  return shards;
}

Status AuditScan::read_all_notes(std::uint64_t entries_max, AuditPage& page) {
  GCOORD_TRY(const auto all, logs_->all());
  return all.empty() ? no_shards() : read_notes({all.begin(), all.end()}, entries_max, page);
}

// Where nobody is looked for, the notes of the sessions that were found are enough.
Status AuditScan::add_notes(const AuditQuery& query, AuditPage& page) {
  Shards homes;
  for (const AuditRow& row : page.rows) {
    for (const std::uint64_t session : sessions_of(row.facts)) {
      const std::uint32_t home = protocol::home_shard(SessionId{session}, *logs_->count()).value;
      GCOORD_TRY(const OpenLog* const log, logs_->log(home));
      if (log != nullptr) {
        homes.insert(home);
      }
    }
  }
  AuditPage notes;  // Stand-ins were counted with the rows.
  GCOORD_TRY_STATUS(read_notes(homes, query.bounds.entries, notes));
  page.notes_complete = notes.notes_complete;
  for (AuditRow& row : page.rows) {
    const AuditNoteAt* const note = is_note(row.entry) ? nullptr : note_of(row.facts, query.filter);
    if (note != nullptr) {
      row.note = *note;
    }
  }
  return {};
}

Status AuditScan::read_notes(const Shards& shards, std::uint64_t entries_max, AuditPage& page) {
  notes_.clear();
  notes_to_ = 0;
  std::uint64_t seen = 0;
  for (const std::uint32_t shard : shards) {
    const auto take = [&](std::uint64_t index, const std::vector<std::byte>& entry) {
      page.notes_complete = ++seen <= entries_max;
      if (page.notes_complete && shard == ledger::kHidingShard) {
        notes_to_ = index + 1;
        page.hidden += is_stand_in({shard, index}, entry) ? 1 : 0;
      }
      if (page.notes_complete && is_note(entry)) {
        Facts facts = server::record_facts(entry);
        const std::string session{fact_of(facts, "session")};
        if (!session.empty()) {
          notes_[session].push_back({{shard, index}, std::move(facts)});
        }
      }
      return page.notes_complete;
    };
    GCOORD_TRY_STATUS(logs_->walk(shard, 0, take).status());
  }
  return {};
}

// Of several notes of its session the one that the filter is about, else the first.
const AuditNoteAt* AuditScan::note_of(const Facts& facts, const AuditFilter& filter) const {
  const auto best = [&](std::string_view session) -> const AuditNoteAt* {
    const auto found = notes_.find(session);
    if (found == notes_.end()) {
      return nullptr;
    }
    const auto wanted =
        std::find_if(found->second.begin(), found->second.end(), [&](const AuditNoteAt& each) {
          return names_principal(each.facts, filter.principal);
        });
    return wanted == found->second.end() ? &found->second.front() : &*wanted;
  };
  if (const AuditNoteAt* const note = best(fact_of(facts, "session")); note != nullptr) {
    return note;
  }
  const AuditNoteAt* first = nullptr;
  for (const std::string_view session : listed_ends(facts)) {
    const AuditNoteAt* const note = best(session);
    if (note != nullptr &&
        (filter.principal.empty() || names_principal(note->facts, filter.principal))) {
      return note;
    }
    first = first == nullptr ? note : first;
  }
  return first;
}

// All but the name.
bool AuditScan::matches(const Facts& facts,
                        const AuditFilter& filter,
                        const AuditNoteAt* note) const {
  if (!filter.since.empty() && fact_of(facts, "time") < filter.since) {
    return false;
  }
  return filter.principal.empty() || names_principal(facts, filter.principal) ||
         (note != nullptr && names_principal(note->facts, filter.principal));
}

// The rows of one shard, until the page is full.
Status AuditScan::find_in(std::uint32_t shard, const AuditQuery& query, AuditPage& page) {
  const std::uint64_t from = shard == query.from.shard ? query.from.index : 0;
  const bool names = !query.filter.name.empty();
  NameTrail trail(query.filter.name, moved_);
  const auto take = [&](std::uint64_t index, const std::vector<std::byte>& entry) {
    Facts facts = server::record_facts(entry);
    const Facts found = facts_to_find(facts);
    const bool about = !names || trail.take(found);
    if (index < from) {
      return true;
    }
    if (page.rows.size() == query.bounds.rows || seen_ == query.bounds.entries) {
      page.next = EntryIndex{shard, index};
      return false;
    }
    ++seen_;
    const AuditNoteAt* const note = is_note(entry) ? nullptr : note_of(facts, query.filter);
    page.hidden += index >= notes_to_ && is_stand_in({shard, index}, entry) ? 1 : 0;
    if (about && matches(found, query.filter, note)) {
      page.rows.push_back({{shard, index},
                           entry,
                           std::move(facts),
                           note == nullptr ? std::nullopt : std::optional(*note)});
    }
    return true;
  };
  GCOORD_TRY(const std::uint64_t pruned, logs_->walk(shard, names ? 0 : from, take));
  page.pruned += pruned;
  return {};
}

Result<AuditPage> AuditScan::find(const AuditQuery& query) {
  AuditPage page;
  moved_.clear();
  GCOORD_TRY(const Shards shards, shards_of(query));
  const bool notes_first = !query.filter.principal.empty() || !logs_->count();
  notes_.clear();
  notes_to_ = 0;
  if (notes_first) {
    GCOORD_TRY_STATUS(read_all_notes(query.bounds.entries, page));
  }
  seen_ = 0;
  for (const std::uint32_t shard : shards) {
    if (page.next || shard < query.from.shard) {
      continue;
    }
    GCOORD_TRY(const OpenLog* const log, logs_->log(shard));
    if (log != nullptr) {
      GCOORD_TRY_STATUS(find_in(shard, query, page));
    }
  }
  if (!notes_first) {
    GCOORD_TRY_STATUS(add_notes(query, page));
  }
  return page;
}

Result<std::vector<ProofFile>> AuditScan::prove(const std::vector<AuditRow>& rows) const {
  // After the shards: the cluster log that is read now has their heads.
  GCOORD_TRY(const OpenLog cluster, open_log(address_, std::nullopt, trust_));
  std::vector<ProofFile> proofs;
  for (const AuditRow& row : rows) {
    GCOORD_TRY(EntryProof entry, prove_entry_of(logs_->opened(row.at.shard), cluster, row.at));
    if (!row.note) {
      proofs.emplace_back(std::move(entry));
      continue;
    }
    const EntryIndex& at = row.note->at;
    GCOORD_TRY(EntryProof note, prove_entry_of(logs_->opened(at.shard), cluster, at));
    proofs.emplace_back(NotedProof{std::move(entry), std::move(note)});
  }
  return proofs;
}

}  // namespace gcoord::cli
