#include "cli/terminal/change_flags.h"

#include "cli/terminal/author.h"

#include <utility>

namespace gcoord::cli {

std::string ChangeFlags::author() const {
  return who.empty() ? cli::author() : who;
}

void add_change_flags(Command& verb, ChangeFlags& flags, const EpochWords& words) {
  Option* epoch = verb.add_option(words.flag,
                                  flags.epoch,
                                  std::string{words.of} + " that the change is for" +
                                      (words.required ? "" : " (default: the newest)"))
                      ->type_name(words.value);
  if (words.required) {
    epoch->required();
  }
  verb.add_flag("--dry-run", flags.dry_run, "have it judged and show the outcome; change nothing");
  verb.add_option("--as",
                  flags.who,
                  "author for the ledger where the connection proves nobody (default: user@host); "
                  "up to 128 bytes")
      ->type_name("WHO");
}

int end_change(const Context& context, const ChangeFlags& flags, ChangeResult result) {
  const bool tables = context.output().format() == Format::Tables;
  Json shown = tables && result.facts ? *std::move(result.facts) : std::move(result.json);
  shown["dry_run"] = flags.dry_run;
  context.output().print_facts(shown);
  if (flags.dry_run) {
    talk("--dry-run: the change would be made; nothing was changed");
  }
  return 0;
}

}  // namespace gcoord::cli
