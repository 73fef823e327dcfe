// Flags that all changes of a cluster's users, roles, limits and members take, and the end of such
// a change: what is printed, and the exit code. One thread.
//
// A change names the epoch that it is for, or none for whichever is the newest; with --dry-run the
// cluster judges it and makes nothing; its author is for the ledger, where the connection proves
// nobody. The end is the same everywhere: on success exit code 0, the state that the change made
// (with --dry-run: that there would be no objection to) with "dry_run" as the last fact, and with
// --dry-run a line on stderr; on failure the error with its exit code, and nothing on stdout.
#pragma once

#include "cli/terminal/command.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/output.h"
#include "gcoord/client.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

struct ChangeFlags {
  std::uint64_t epoch = 0;  // Change that one only; 0: whichever is the newest.
  bool dry_run = false;
  std::string who;  // As the user gave it.

  // For the ledger: as the user gave it, else user@host.
  std::string author() const;

  // The three fields of a change of users, roles or limits.
  template <typename Change>
  void fill(Change& change) const {
    change.epoch = epoch;
    change.dry_run = dry_run;
    change.who = author();
  }
};

// How the help of a verb names the epoch.
struct EpochWords {
  const char* flag = "--epoch";
  const char* value = "EPOCH";
  const char* of = "";  // "epoch of limits".
  bool required = false;
};

// Adds --epoch (or what the words name it), --dry-run and --as.
void add_change_flags(Command& verb, ChangeFlags& flags, const EpochWords& words);

// A change that the cluster made or judged.
struct ChangeResult {
  Json json;
  std::optional<Json> facts;  // What people read instead, where they read something else.
};

// Prints it. The exit code, 0.
int end_change(const Context& context, const ChangeFlags& flags, ChangeResult result);

// The end of a change whose report is all that it has to print.
struct ChangeEnd {
  const Context& context;
  const client::Client& client;
  const ChangeFlags& flags;

  // `json_of` makes the JSON of the report. The exit code.
  template <typename Report, typename JsonOf>
  int print(const client::Result<Report>& report, const JsonOf& json_of) const {
    if (!report.ok()) {
      return context.fail(client, report.status());
    }
    return end_change(context, flags, {.json = json_of(report.value()), .facts = std::nullopt});
  }
};

}  // namespace gcoord::cli
