#include "cli/top/verb.h"

#include "cli/terminal/screen.h"
#include "cli/terminal/wake_sources.h"
#include "cli/top/columns.h"
#include "cli/top/loop.h"
#include "protocol/error_codes.h"

#include <csignal>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

constexpr std::chrono::milliseconds kIntervalMin{100};

struct TopFlags {
  std::string interval = "2s";
  std::string sort = "node";
  bool reverse = false;
  bool once = false;
  std::uint32_t count = 0;
};

int show_top(Context& context, const TopFlags& flags) {
  const auto interval = context.duration("--interval", flags.interval);
  if (!interval.has_value()) {
    return context.exit_code();
  }
  if (*interval < kIntervalMin) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionInvalid, "--interval is 100ms or more"));
  }
  const top::LoopOptions options{
      .interval = *interval,
      .sorting = {.column = top::column_of(top::node_columns(), flags.sort).value_or(0),
                  .reverse = flags.reverse},
      .count = flags.once ? 1 : flags.count,
      .screen = !flags.once && context.output().format() == Format::Tables && Screen::possible()};
  if (!options.screen) {
    const SignalFd signals{SIGINT, SIGTERM, SIGHUP};
    return top::run_loop(context, options, signals);
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
  return top::run_loop(context, options, signals);
}

std::vector<std::string> sort_words() {
  std::vector<std::string> words;
  for (const top::Column& each : top::node_columns()) {
    words.emplace_back(each.id);
  }
  return words;
}

}  // namespace

void add_top_command(Command& app, Context& context) {
  const auto flags = std::make_shared<TopFlags>();
  Command* verb =
      add_verb(app,
               context,
               flags,
               "top",
               "show a live view of nodes, leaders, rates and the names that change most",
               show_top);
  verb->add_option("--interval", flags->interval, "time between two samples (default 2s)")
      ->type_name("TIME");
  verb->add_option("--sort", flags->sort, "order nodes by this column (default node)")
      ->one_of(sort_words())
      ->type_name("COLUMN");
  verb->add_flag("--reverse", flags->reverse, "the other way round");
  Option* once = verb->add_flag("--once", flags->once, "show one sample as text, then exit");
  verb->add_option("--count", flags->count, "show this many samples, then exit")
      ->in_range(1, std::numeric_limits<std::uint32_t>::max())
      ->type_name("N")
      ->excludes(once);
  verb->footer(
      "On a terminal the view is drawn over itself and has keys; press ? for them. Elsewhere, and\n"
      "with -o json, one sample follows the other. A number is - while it is not known: a rate\n"
      "needs two samples of one life of a node.");
}

}  // namespace gcoord::cli
