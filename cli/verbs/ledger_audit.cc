#include "cli/verbs/ledger_audit.h"

#include "cli/ledger/audit_scan.h"
#include "cli/ledger/export.h"
#include "common/base64.h"
#include "common/text/duration.h"
#include "common/text/utc_text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>

namespace gcoord::cli {
namespace {

using protocol::ErrorCode;

// "2026-11-29", then "T10:00:00" and a fraction, in UTC; as the entries' own times but for the end.
bool is_utc_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() != 10 && text.size() < kForm.size()) {
    return false;
  }
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char form = k < kForm.size() ? kForm[k] : (k == kForm.size() ? '.' : '0');
    const bool digit = std::isdigit(static_cast<unsigned char>(text[k])) != 0;
    if (form == '0' ? !digit : text[k] != form) {
      return false;
    }
  }
  return true;
}

// A time, or how long ago; none: it is neither.
std::optional<std::string> since_text(std::string_view given) {
  if (const auto ago_ms = parse_milliseconds(given)) {
    const std::uint64_t now_ms = unix_ms(std::chrono::system_clock::now());
    std::string text = utc_text(now_ms - std::min(now_ms, *ago_ms));
    text.pop_back();  // Z
    return text;
  }
  std::string text{given};
  if (text.ends_with('Z')) {
    text.pop_back();
  }
  return is_utc_time(text) ? std::optional(text) : std::nullopt;
}

Json json_of(const server::RecordFacts& facts) {
  Json json = Json::object();
  for (const auto& [name, value] : facts) {
    json[name] = value;
  }
  return json;
}

Json json_of(const AuditRow& row) {
  Json json = {{"shard", row.at.shard},
               {"index", std::to_string(row.at.index)},
               {"decoded", json_of(row.facts)},
               {"bytes", to_base64(row.entry)}};
  if (!fact_of(row.facts, "hidden").empty()) {
    json["hidden"] = true;
  }
  if (row.note) {
    json["note"] = {{"shard", row.note->at.shard},
                    {"index", std::to_string(row.note->at.index)},
                    {"decoded", json_of(row.note->facts)}};
  }
  return json;
}

std::string cell(std::string_view value) {
  return value.empty() ? "-" : std::string{value};
}

// Who an entry is by: a principal, or in brackets the word of who proved nothing.
std::string who_of(const AuditRow& row) {
  if (const auto proven = author_of(row.facts); !proven.empty()) {
    return std::string{proven};
  }
  if (row.note) {
    return cell(fact_of(row.note->facts, "principal"));
  }
  const auto word = fact_of(row.facts, "by");
  return word.empty() ? "-" : "(" + std::string{word} + ")";
}

// What a stand-in says, which nothing proves: never in the columns of what entries say.
std::string claims_text(const server::RecordFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    if (name.starts_with(server::kClaim)) {
      text += (text.empty() ? "" : " ") + name + "=" + value;
    }
  }
  return text;
}

// What an order to prune is about, as notes of orders say it; empty for another entry.
std::string prune_text(const server::RecordFacts& facts) {
  if (!fact_of(facts, "kind").starts_with("prune_")) {
    return {};
  }
  const std::string_view shard = fact_of(facts, "shard");
  std::string text = shard.empty()    ? "cluster log"
                     : shard == "all" ? "all shards"
                                      : "shard " + std::string{shard};
  for (const std::string_view bound : {"below", "entries", "bytes", "age_ms"}) {
    if (const auto value = fact_of(facts, bound); !value.empty()) {
      text += " " + std::string{bound} + " " + std::string{value};
    }
  }
  return text;
}

std::vector<std::string> cells_of(const AuditRow& row) {
  const server::RecordFacts& note = row.note ? row.note->facts : row.facts;
  std::string what{fact_of(row.facts, "name")};
  if (what.empty()) {
    what = fact_of(row.facts, "object");
  }
  if (what.empty()) {
    what = prune_text(row.facts);
  }
  if (what.empty() && author_of(row.facts) != fact_of(row.facts, "principal")) {
    what = fact_of(row.facts, "principal");  // Whom a limit or a denial is about.
  }
  if (!fact_of(row.facts, "hidden").empty()) {
    what = claims_text(row.facts);
  }
  return {std::to_string(row.at.shard),
          std::to_string(row.at.index),
          cell(fact_of(row.facts, "time")),
          who_of(row),
          cell(fact_of(note, "address")),
          cell(fact_of(note, "client")),
          cell(fact_of(row.facts, "session")),
          cell(fact_of(row.facts, "kind")),
          cell(what.empty() ? fact_of(row.facts, "name_hash") : what)};
}

Result<AuditFilter> filter_of(const AuditFlags& flags) {
  AuditFilter filter{.principal = flags.principal, .name = flags.name, .since = {}};
  if (!flags.since.empty()) {
    const auto since = since_text(flags.since);
    if (!since) {
      return protocol::make_error(ErrorCode::OptionInvalid,
                                  "--since '" + flags.since +
                                      "' is neither a time (2026-11-29T10:00:00Z) nor how long "
                                      "ago (10m)");
    }
    filter.since = *since;
  }
  return filter;
}

Status write_proofs(const AuditScan& scan, const AuditPage& page, const std::string& file) {
  GCOORD_TRY(const auto proofs, scan.prove(page.rows));
  std::string text;
  for (const ProofFile& proof : proofs) {
    text += print_proof(proof);
  }
  return write_file(file, text);
}

void print_page(Context& context, const AuditPage& page) {
  Json json = {{"entries", Json::array()},
               {"notes_complete", page.notes_complete},
               {"pruned", std::to_string(page.pruned)},
               {"hidden", std::to_string(page.hidden)}};
  Table table{{"SHARD", "INDEX", "TIME", "WHO", "ADDRESS", "CLIENT", "SESSION", "KIND", "NAME"},
              {},
              {},
              {}};
  for (const AuditRow& row : page.rows) {
    json["entries"].push_back(json_of(row));
    table.rows.push_back(cells_of(row));
  }
  if (page.next) {
    json["next_cursor"] = audit_cursor_text(*page.next);
    table.notes.push_back("there is more: --cursor " + audit_cursor_text(*page.next));
  }
  if (!page.notes_complete) {
    table.notes.push_back("not all notes were read: --scan-max bounds it");
  }
  if (page.pruned != 0) {
    table.notes.push_back(std::to_string(page.pruned) + " entries are not kept any more");
  }
  if (page.hidden != 0) {
    table.notes.push_back(hidden_note(page.hidden));
  }
  context.output().print(json, table);
}

Result<AuditQuery> query_of(const AuditFlags& flags, const LedgerFlags& ledger) {
  AuditQuery query{
      .filter = {},
      .shard = ledger.shard,
      .from = {},
      .bounds = {.rows = static_cast<std::size_t>(flags.limit), .entries = flags.scan_max}};
  GCOORD_TRY(query.filter, filter_of(flags));
  if (!flags.cursor.empty()) {
    const auto cursor = parse_audit_cursor(flags.cursor);
    if (!cursor) {
      return protocol::make_error(ErrorCode::OptionInvalid,
                                  "--cursor '" + flags.cursor + "' is not SHARD:INDEX");
    }
    query.from = *cursor;
  }
  return query;
}

}  // namespace

std::string hidden_note(std::uint64_t hidden) {
  return std::to_string(hidden) +
         " entries of shard 0 are hidden and could not be read: rows and notes may be missing "
         "(a user with auth.admin reads them)";
}

void add_audit_flags(Command& verb, AuditFlags& flags) {
  verb.add_option("--principal",
                  flags.principal,
                  "entries of sessions and orders of this principal, and denials and limits of it: "
                  "a name, or "
                  "a kind and a name")
      ->type_name("P")
      ->names(NamesOf::Principals);
  verb.add_option("--name", flags.name, "entries about this lock, election or group")
      ->type_name("NAME");
  verb.add_option("--since",
                  flags.since,
                  "entries since this time (2026-11-29T10:00:00Z), or of the last TIME (10m)")
      ->type_name("TIME");
  verb.add_option("--cursor", flags.cursor, "go on where an earlier answer ended")
      ->type_name("SHARD:INDEX");
  verb.add_option("--limit", flags.limit, "maximum number of rows with a filter (default 1000)")
      ->in_range(1, 100'000)
      ->type_name("N");
  verb.add_option(
          "--scan-max",
          flags.scan_max,
          "entries to look at with a filter, for notes and again for rows (default 2000000)")
      ->in_range(1, 1'000'000'000)
      ->type_name("N");
  verb.add_option("--out",
                  flags.out,
                  "with a filter: write a proof of each row to this file, one per line, with the "
                  "note of its session")
      ->type_name("FILE");
}

int get_audited(Context& context, const LedgerFlags& ledger, const AuditFlags& flags) {
  const auto query = query_of(flags, ledger);
  if (!query.ok()) {
    return context.fail(query.status());
  }
  const auto trust = trust_of(ledger);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  auto scan = AuditScan::open(place_of(context, ledger), trust.value());
  if (!scan.ok()) {
    return context.fail(ledger_failure(scan.status()));
  }
  const auto page = scan.value().find(query.value());
  if (!page.ok()) {
    return context.fail(ledger_failure(page.status()));
  }
  if (!flags.out.empty()) {
    if (const Status written = write_proofs(scan.value(), page.value(), flags.out); !written.ok()) {
      return context.fail(ledger_failure(written));
    }
  }
  print_page(context, page.value());
  return 0;
}

}  // namespace gcoord::cli
