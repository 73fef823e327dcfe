#include "cli/ledger/audit_scan.h"

#include "common/name_hash.h"
#include "ledger/base/error_details.h"
#include "ledger/tiles/hidden_entry.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <utility>

namespace gcoord::cli {
namespace {

constexpr std::uint64_t kBundle = 256;
// Shards in a row that a ledger lacks before it is taken to have no more: exports may have gaps.
constexpr std::uint32_t kGapMax = 16;
constexpr std::uint32_t kShardsMax = 65'536;

using Facts = server::RecordFacts;

bool is_note(std::span<const std::byte> entry) {
  const auto header = server::decode_record_header(entry);
  return header && header->kind == server::RecordKind::SessionNote;
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

std::string hash_text(std::string_view name) {
  const NameHash hash = hash_name(name);
  char text[33];
  std::snprintf(text,
                sizeof text,
                "%016llx%016llx",
                static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

bool is_about_principal(const Facts& facts) {
  const std::string_view kind = fact_of(facts, "kind");
  return kind.starts_with("limit_") || kind.starts_with("deny_");
}

// As its author, or as whom a limit or a denial is about.
bool names_principal(const Facts& facts, std::string_view wanted) {
  if (is_about_principal(facts) && author_of(facts) == wanted) {
    return true;
  }
  const std::string_view name = fact_of(facts, "principal");
  if (name.empty()) {
    return false;
  }
  const std::string_view kind = fact_of(facts, "principal_kind");
  return name == wanted || (!kind.empty() && std::string{kind} + " " + std::string{name} == wanted);
}

bool concerns_name(const Facts& facts, std::string_view name) {
  if (fact_of(facts, "name") == name || fact_of(facts, "name_hash") == hash_text(name)) {
    return true;
  }
  const std::string_view object = fact_of(facts, "object");
  const std::string_view order =
      fact_of(facts, "kind") == "order_note" ? fact_of(facts, "order") : std::string_view{};
  return (order == "lock_break" && object == name) ||
         (order == "lock_move" && object.starts_with(std::string{name} + " to shard "));
}

// Of a log: where to begin, and how many entries were not kept any more.
struct Walk {
  std::uint64_t from = 0;
  std::uint64_t pruned = 0;
};

// Reads the entries of a log, bundle by bundle. Ends early where `visit` says so.
Status walk_log(const OpenLog& log,
                Walk& walk,
                const std::function<bool(std::uint64_t, std::vector<std::byte>&)>& visit) {
  const std::uint64_t size = log.checkpoint.size;
  for (std::uint64_t index = walk.from; index < size;) {
    const std::uint64_t end = std::min(size, (index / kBundle + 1) * kBundle);
    auto entries = log.reader->entries(index, static_cast<std::size_t>(end - index));
    if (!entries.ok() && entries.status().detail() == ledger::kLedgerPruned) {
      walk.pruned += end - index;
    } else {
      GCOORD_TRY_STATUS(entries.status());
      for (std::uint64_t k = index; k < end; ++k) {
        if (!visit(k, entries.value()[static_cast<std::size_t>(k - index)])) {
          return {};
        }
      }
    }
    index = end;
  }
  return {};
}

}  // namespace

std::string_view author_of(const Facts& facts) {
  return fact_of(facts, is_about_principal(facts) ? "by_principal" : "principal");
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
  AuditScan scan(address, trust);
  std::uint32_t absent = 0;
  for (std::uint32_t shard = 0; shard < kShardsMax && absent < kGapMax; ++shard) {
    auto log = open_log(scan.address_, shard, scan.trust_);
    if (log.ok()) {
      absent = 0;
      scan.shards_.emplace(shard, std::move(log).value());
    } else if (log.status().detail() == ledger::kLedgerAbsent) {
      ++absent;
    } else {
      return log.status();
    }
  }
  if (scan.shards_.empty()) {
    return Status{StatusCode::NotFound, "the ledger has no shard", ledger::kLedgerAbsent};
  }
  return scan;
}

Status AuditScan::read_notes(std::uint64_t entries_max, AuditPage& page) {
  notes_.clear();
  notes_to_ = 0;
  std::uint64_t seen = 0;
  for (const auto& [shard, log] : shards_) {
    Walk walk;
    GCOORD_TRY_STATUS(walk_log(log, walk, [&, shard = shard](std::uint64_t index, auto& entry) {
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
    }));
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
  std::string_view ends = fact_of(facts, "ends");
  const AuditNoteAt* first = nullptr;
  while (!ends.empty()) {
    const std::string_view end = ends.substr(0, ends.find(' '));
    const AuditNoteAt* const note = best(end.substr(0, end.find(':')));
    if (note != nullptr &&
        (filter.principal.empty() || names_principal(note->facts, filter.principal))) {
      return note;
    }
    first = first == nullptr ? note : first;
    ends.remove_prefix(std::min(ends.size(), end.size() + 1));
  }
  return first;
}

bool AuditScan::matches(const Facts& facts,
                        const AuditFilter& filter,
                        const AuditNoteAt* note) const {
  if (!filter.since.empty() && fact_of(facts, "time") < filter.since) {
    return false;
  }
  if (!filter.name.empty() && !concerns_name(facts, filter.name)) {
    return false;
  }
  return filter.principal.empty() || names_principal(facts, filter.principal) ||
         (note != nullptr && names_principal(note->facts, filter.principal));
}

Result<AuditPage> AuditScan::find(const AuditQuery& query) {
  AuditPage page;
  GCOORD_TRY_STATUS(read_notes(query.bounds.entries, page));
  std::uint64_t seen = 0;
  for (const auto& [shard, log] : shards_) {
    if (page.next || shard < query.from.shard || (query.shard && *query.shard != shard)) {
      continue;
    }
    Walk walk{.from = shard == query.from.shard ? query.from.index : 0};
    GCOORD_TRY_STATUS(walk_log(log, walk, [&, shard = shard](std::uint64_t index, auto& entry) {
      if (page.rows.size() == query.bounds.rows || seen == query.bounds.entries) {
        page.next = EntryIndex{shard, index};
        return false;
      }
      ++seen;
      Facts facts = server::record_facts(entry);
      const AuditNoteAt* const note = is_note(entry) ? nullptr : note_of(facts, query.filter);
      page.hidden += index >= notes_to_ && is_stand_in({shard, index}, entry) ? 1 : 0;
      if (matches(facts_to_find(facts), query.filter, note)) {
        page.rows.push_back({{shard, index},
                             std::move(entry),
                             std::move(facts),
                             note == nullptr ? std::nullopt : std::optional(*note)});
      }
      return true;
    }));
    page.pruned += walk.pruned;
  }
  return page;
}

Result<std::vector<ProofFile>> AuditScan::prove(const std::vector<AuditRow>& rows) const {
  // After the shards: the cluster log that is read now has their heads.
  GCOORD_TRY(const OpenLog cluster, open_log(address_, std::nullopt, trust_));
  std::vector<ProofFile> proofs;
  for (const AuditRow& row : rows) {
    GCOORD_TRY(EntryProof entry, prove_entry_of(shards_.at(row.at.shard), cluster, row.at));
    if (!row.note) {
      proofs.emplace_back(std::move(entry));
      continue;
    }
    const EntryIndex& at = row.note->at;
    GCOORD_TRY(EntryProof note, prove_entry_of(shards_.at(at.shard), cluster, at));
    proofs.emplace_back(NotedProof{std::move(entry), std::move(note)});
  }
  return proofs;
}

}  // namespace gcoord::cli
