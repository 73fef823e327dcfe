// gcoordctl ledger head | get | prove | keys: what a ledger has, checked on the way here.
#include "cli/ledger/export.h"
#include "cli/ledger/proof_making.h"
#include "cli/terminal/ledger_flags.h"
#include "cli/verbs/ledger_audit.h"
#include "common/base64.h"
#include "protocol/error_codes.h"

#include <iostream>
#include <memory>
#include <sstream>

namespace gcoord::cli {
namespace {

constexpr std::size_t kKeysBytesMax = 64 << 10;
constexpr std::uint64_t kGetMax = 1'000'000;

struct ReadFlags {
  LedgerFlags ledger;
  AuditFlags audit;
  std::optional<std::uint64_t> first;  // Of get.
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  std::string older;
  std::string out;
};

int show_head(Context& context, const ReadFlags& flags) {
  const auto trust = trust_of(flags.ledger);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  const auto log = open_log(place_of(context, flags.ledger), flags.ledger.shard, trust.value());
  if (!log.ok()) {
    return context.fail(ledger_failure(log.status()));
  }
  const ledger::CheckpointNote& head = log.value().checkpoint;
  const ledger::SignedNote note = ledger::parse_note(log.value().note).value();
  std::string signers;
  for (const ledger::NoteSignature& signature : note.signatures) {
    signers += (signers.empty() ? "" : " ") + signature.name;
  }
  context.output().print_facts(Json{{"origin", head.origin},
                                    {"size", std::to_string(head.size)},
                                    {"root", to_base64(head.root)},
                                    {"signers", signers},
                                    {"believed", trust_text(trust.value())}});
  return 0;
}

std::string fact(const server::RecordFacts& facts, const std::string& name) {
  for (const auto& [each, value] : facts) {
    if (each == name) {
      return value;
    }
  }
  return "-";
}

// What has no column of its own.
std::string other_facts(const server::RecordFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    if (name != "kind" && name != "origin" && name != "time" && name != "session" &&
        name != "name_hash") {
      text += (text.empty() ? "" : " ") + name + "=" + value;
    }
  }
  return text;
}

struct EntryRows {
  Json json = Json::array();
  Table table{{"INDEX", "TIME", "ORIGIN", "SESSION", "KIND", "WHAT"}, {}, {}, {}};
  std::uint64_t hidden = 0;

  void add(std::uint64_t index, const std::vector<std::byte>& entry) {
    const server::RecordFacts facts = server::record_facts(entry);
    Json decoded = Json::object();
    for (const auto& [name, value] : facts) {
      decoded[name] = value;
    }
    json.push_back(
        {{"index", std::to_string(index)}, {"decoded", decoded}, {"bytes", to_base64(entry)}});
    if (decoded.contains("hidden")) {
      json.back()["hidden"] = true;
      ++hidden;
    }
    table.rows.push_back({std::to_string(index),
                          fact(facts, "time"),
                          fact(facts, "origin"),
                          fact(facts, "session"),
                          fact(facts, "kind"),
                          other_facts(facts)});
  }
};

Result<EntryRows> read_entries(const OpenLog& log, std::uint64_t index, std::uint64_t count) {
  EntryRows rows;
  for (std::uint64_t done = 0; done < count;) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(count - done, 256));
    GCOORD_TRY(const auto entries, log.reader->entries(index + done, some));
    for (std::size_t k = 0; k < some; ++k) {
      rows.add(index + done + k, entries[k]);
    }
    done += some;
  }
  if (rows.hidden != 0) {
    rows.table.notes.push_back(hidden_note(rows.hidden));
  }
  return rows;
}

int get_entries(Context& context, const ReadFlags& flags) {
  if (flags.audit.given() && flags.first) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                             "INDEX and a filter exclude each other"));
  }
  if (flags.audit.given()) {
    return get_audited(context, flags.ledger, flags.audit);
  }
  if (!flags.first || !flags.audit.cursor.empty() || !flags.audit.out.empty()) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionMissing,
                                             "INDEX, or --principal, --name or --since"));
  }
  if (!flags.ledger.shard) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionMissing, "--shard"));
  }
  if (flags.count == 0 || flags.count > kGetMax) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                             "--count is 1 to " + std::to_string(kGetMax)));
  }
  const auto trust = trust_of(flags.ledger);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  const auto log = open_log(place_of(context, flags.ledger), flags.ledger.shard, trust.value());
  const auto rows = log.ok() ? read_entries(log.value(), *flags.first, flags.count)
                             : Result<EntryRows>{log.status()};
  if (!rows.ok()) {
    return context.fail(ledger_failure(rows.status()));
  }
  context.output().print(Json{{"shard", *flags.ledger.shard},
                              {"entries", rows.value().json},
                              {"hidden", std::to_string(rows.value().hidden)}},
                         rows.value().table);
  return 0;
}

Result<ProofFile> make_proof(Context& context, const ReadFlags& flags) {
  GCOORD_TRY(const ProofTrust trust, trust_of(flags.ledger));
  const LedgerAddress place = place_of(context, flags.ledger);
  if (flags.older.empty()) {
    if (!flags.ledger.shard) {
      return protocol::make_error(protocol::ErrorCode::OptionMissing, "--shard, or --older");
    }
    GCOORD_TRY(const EntryProof proof, prove_entry(place, *flags.ledger.shard, flags.index, trust));
    return ProofFile{proof};
  }
  GCOORD_TRY(const std::string older, read_input(flags.older, ledger::kNoteBytesMax));
  GCOORD_TRY(const OpenLog log, open_log(place, flags.ledger.shard, trust));
  GCOORD_TRY(const GrowthProof proof, prove_growth(log, older));
  return ProofFile{proof};
}

// The proof itself is the command's value, so it is the same in both formats.
int prove(Context& context, const ReadFlags& flags) {
  const auto proof = make_proof(context, flags);
  if (!proof.ok()) {
    return context.fail(ledger_failure(proof.status()));
  }
  const std::string text = print_proof(proof.value());
  if (flags.out.empty()) {
    print_text(text);
    return 0;
  }
  const Status written = write_file(flags.out, text);
  return written.ok() ? 0 : context.fail(ledger_failure(written));
}

int show_keys(Context& context, const ReadFlags& flags) {
  const auto source = open_source(place_of(context, flags.ledger), "");
  const auto text = source.ok() ? read_text(*source.value(), "key", kKeysBytesMax)
                                : Result<std::string>{source.status()};
  if (!text.ok()) {
    return context.fail(ledger_failure(text.status()));
  }
  Json keys = Json::array();
  Table table{{"NODE", "KEY"}, {}, {}, {}};
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);) {
    const auto key = ledger::NoteKey::parse(line);
    if (!key.ok()) {
      return context.fail(ledger_failure(key.status()));
    }
    keys.push_back({{"name", key.value().name()}, {"key", line}});
    table.rows.push_back({key.value().name(), line});
  }
  context.output().print(Json{{"keys", keys}}, table);
  return 0;
}

using Body = int (*)(Context&, const ReadFlags&);

std::shared_ptr<ReadFlags> chosen_by(Command& verb, Context& context, Body body) {
  auto flags = std::make_shared<ReadFlags>();
  add_ledger_flag(verb, flags->ledger);
  verb.callback([&context, flags, body] {
    context.choose([flags, body](Context& chosen) { return body(chosen, *flags); });
  });
  return flags;
}

}  // namespace

void add_ledger_read_verbs(Command& ledger, Context& context) {
  Command* head = ledger.add_subcommand(
      "head", "show the newest checkpoint of the cluster log or of a shard's log, and its signers");
  const auto head_flags = chosen_by(*head, context, &show_head);
  add_shard_flag(*head, head_flags->ledger, "use the log of this shard (default: the cluster log)");
  add_key_flags(*head, head_flags->ledger);

  Command* get = ledger.add_subcommand(
      "get",
      "show entries: session, action and time; by index, or with a filter by who is behind them");
  const auto get_flags = chosen_by(*get, context, &get_entries);
  add_shard_flag(*get, get_flags->ledger, "the shard");
  add_key_flags(*get, get_flags->ledger);
  get->add_option("INDEX",
                  get_flags->first,
                  "index of the first entry, from 0: one below the acquired_index of lock get");
  add_audit_flags(*get, get_flags->audit);
  get->add_option("--count", get_flags->count, "number of entries (default 1)")->type_name("N");

  Command* proof = ledger.add_subcommand(
      "prove",
      "write a proof that can be verified offline with the nodes' keys: that an entry is in the "
      "cluster's checkpoint, or with --older that a log grew from an older checkpoint");
  const auto proof_flags = chosen_by(*proof, context, &prove);
  add_shard_flag(*proof, proof_flags->ledger, "shard of the entry, or of the log with --older");
  add_key_flags(*proof, proof_flags->ledger);
  proof->add_option("INDEX",
                    proof_flags->index,
                    "index of the entry, from 0: one below the acquired_index of lock get");
  proof->add_option("--older", proof_flags->older, "file with an older checkpoint of the log")
      ->type_name("FILE");
  proof->add_option("--out", proof_flags->out, "write to this file instead of standard output")
      ->type_name("FILE");

  chosen_by(*ledger.add_subcommand("keys", "show the verifier keys that a node publishes"),
            context,
            &show_keys);
}

}  // namespace gcoord::cli
