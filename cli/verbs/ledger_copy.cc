// gcoordctl ledger fsck | export | watch: a ledger checked whole, copied, and kept an eye on.
#include "cli/ledger/export.h"
#include "cli/ledger/fsck.h"
#include "cli/ledger/watch.h"
#include "cli/terminal/ledger_flags.h"
#include "ledger/base/error_details.h"
#include "protocol/error_codes.h"

#include <iostream>
#include <memory>
#include <thread>

namespace gcoord::cli {
namespace {

struct CopyFlags {
  LedgerFlags ledger;
  std::string directory;
  std::string state_file;
  std::string interval = "1s";
  std::uint64_t count = 0;
};

int fsck(Context& context, const CopyFlags& flags) {
  const auto trust = trust_of(flags.ledger);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  FsckReport report;
  if (flags.ledger.shard) {
    check_log(place_of(context, flags.ledger), flags.ledger.shard, trust.value(), report);
  } else {
    check_ledger(place_of(context, flags.ledger), trust.value(), report);
  }
  Json faults = Json::array();
  Table table;
  if (!report.faults.empty()) {
    table.columns = {"LOG", "CODE", "WHAT"};
  }
  for (const LedgerFault& fault : report.faults) {
    const std::string log = fault.log.empty() ? "cluster" : fault.log;
    const std::string code = "GC" + std::to_string(fault.detail);
    faults.push_back({{"log", log}, {"code", code}, {"what", fault.what}});
    table.rows.push_back({log, code, fault.what});
  }
  table.caption = std::to_string(report.logs) + " logs, " + std::to_string(report.entries) +
                  " entries hashed and correct, " + std::to_string(report.pruned) + " pruned, " +
                  std::to_string(report.heads_pruned) + " heads below the first kept entry, " +
                  std::to_string(report.unkept) + " logs not kept from their beginning, " +
                  std::to_string(report.faults.size()) + " faults";
  const protocol::ErrorEntry* failed =
      protocol::find_error(report.faults.empty() ? 0 : ledger::kLedgerFaults);
  Json json = {{"valid", report.faults.empty()},
               {"logs", std::to_string(report.logs)},
               {"entries", std::to_string(report.entries)},
               {"unread", std::to_string(report.unread)},
               {"hidden", std::to_string(report.hidden)},
               {"pruned", std::to_string(report.pruned)},
               {"heads_pruned", std::to_string(report.heads_pruned)},
               {"unkept", std::to_string(report.unkept)},
               {"cluster_alone", report.cluster_alone},
               {"believed", trust_text(trust.value())},
               {"faults", faults}};
  if (report.cluster_alone) {
    table.notes.push_back(
        "the export has no shard, so the cluster log alone was checked; ledger export --shard N "
        "adds one");
  }
  if (report.unread != 0) {
    table.notes.push_back(
        std::to_string(report.unread) + " entries: " +
        ledger_failure(Status{StatusCode::DataLoss, "", ledger::kEntryMalformed}).to_string());
  }
  if (report.hidden != 0) {
    table.notes.push_back(std::to_string(report.hidden) +
                          " entries are hidden from who may not manage users (auth.admin): their "
                          "hashes are correct, what they say was not read");
  }
  if (failed != nullptr) {
    json["code"] = "GC" + std::to_string(static_cast<std::uint32_t>(failed->code));
    table.notes.push_back(std::string{failed->fix});
  }
  context.output().print(json, table);
  return failed == nullptr ? 0 : static_cast<int>(failed->exit);
}

int export_logs(Context& context, const CopyFlags& flags) {
  const auto trust = trust_of(flags.ledger);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  const auto report = export_log(
      place_of(context, flags.ledger), flags.ledger.shard, trust.value(), flags.directory);
  if (!report.ok()) {
    return context.fail(ledger_failure(report.status()));
  }
  context.output().print_facts(
      Json{{"log", flags.ledger.shard ? log_folder(flags.ledger.shard) : "cluster"},
           {"size", std::to_string(report.value().size)},
           {"written", std::to_string(report.value().written)},
           {"kept", std::to_string(report.value().kept)},
           {"hidden", std::to_string(report.value().hidden)},
           {"believed", trust_text(trust.value())}});
  return 0;
}

// One line for each new checkpoint, as long as nobody ends it.
int watch(Context& context, const CopyFlags& flags) {
  const auto trust = trust_of(flags.ledger);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  const auto interval = context.duration("--interval", flags.interval);
  if (!interval) {
    return context.exit_code();
  }
  const WatchedLog log{.place = place_of(context, flags.ledger),
                       .shard = flags.ledger.shard,
                       .trust = trust.value(),
                       .state_file = flags.state_file};
  for (std::uint64_t looks = 1;; ++looks) {
    const auto sighting = look_at(log);
    const bool absent = !sighting.ok() && sighting.status().code() == StatusCode::Unavailable;
    if (!sighting.ok() && (!absent || flags.count != 0)) {
      return context.fail(ledger_failure(sighting.status()));
    }
    if (absent) {
      talk(sighting.status().to_string());
    } else if (sighting.value().news || flags.count != 0) {
      const ledger::CheckpointNote& seen = sighting.value().checkpoint;
      const std::string before = std::to_string(sighting.value().size_before);
      const std::string size = std::to_string(seen.size);
      context.output().print(Json{{"origin", seen.origin},
                                  {"size", size},
                                  {"size_before", before},
                                  {"news", sighting.value().news}},
                             Table{{seen.origin, before, "->", size}, {}, {}, {}});
      std::cout.flush();
    }
    if (looks == flags.count) {
      return 0;
    }
    std::this_thread::sleep_for(*interval);
  }
}

using Body = int (*)(Context&, const CopyFlags&);

std::shared_ptr<CopyFlags> chosen_by(Command& verb, Context& context, Body body) {
  auto flags = std::make_shared<CopyFlags>();
  add_ledger_flag(verb, flags->ledger);
  add_key_flags(verb, flags->ledger);
  verb.callback([&context, flags, body] {
    context.choose([flags, body](Context& chosen) { return body(chosen, *flags); });
  });
  return flags;
}

}  // namespace

void add_ledger_copy_verbs(Command& ledger, Context& context) {
  Command* check = ledger.add_subcommand(
      "fsck",
      "hash every entry and tile again, up to the checkpoint, of the cluster log and of all shards "
      "with a head in it; exit 0 if all are correct, 1 if not");
  add_shard_flag(*check, chosen_by(*check, context, &fsck)->ledger, "only this shard");

  Command* copy = ledger.add_subcommand(
      "export",
      "copy a log into a directory of tlog-tiles and check it; continues an earlier copy");
  const auto copy_flags = chosen_by(*copy, context, &export_logs);
  add_shard_flag(
      *copy, copy_flags->ledger, "copy this shard, into DIR/shard/N (default: the cluster log)");
  copy->add_option("DIR", copy_flags->directory, "where to")->required();

  Command* eye =
      ledger.add_subcommand("watch",
                            "print each new checkpoint after checking it against the last one "
                            "seen; exit 1 and keep both as evidence when a log contradicts itself");
  const auto eye_flags = chosen_by(*eye, context, &watch);
  add_shard_flag(*eye, eye_flags->ledger, "use the log of this shard (default: the cluster log)");
  eye->add_option("--state", eye_flags->state_file, "file of the last checkpoint seen")
      ->required()
      ->type_name("FILE");
  eye->add_option("--interval", eye_flags->interval, "time between two reads (default 1s)")
      ->type_name("TIME");
  eye->add_option("--count", eye_flags->count, "number of reads, then exit (default: no limit)")
      ->type_name("N");
}

}  // namespace gcoord::cli
