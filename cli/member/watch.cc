#include "cli/member/watch.h"

#include "cli/member/description.h"
#include "cli/terminal/command.h"
#include "cli/terminal/wake_sources.h"
#include "protocol/error_codes.h"

#include <chrono>
#include <csignal>
#include <iostream>

namespace gcoord::cli {

namespace {

// How long one request waits: a signal is seen then at the latest.
constexpr std::chrono::milliseconds kWait{500};

void print_view(const Context& context, const client::MembershipView& view) {
  if (context.output().format() == Format::JsonLines) {
    context.output().print_facts(view_json(view));
  } else {
    std::cout << view_line(view) << "\n";
  }
  std::cout.flush();
}

// What passes by itself: nodes that restart, a cluster that has no view yet.
bool passes(const client::Status& status) {
  const protocol::ErrorEntry* const entry = protocol::find_error(status.detail());
  return entry != nullptr && (entry->exit == protocol::ExitCode::Unavailable ||
                              entry->exit == protocol::ExitCode::Unreachable);
}

}  // namespace

int watch_members(Context& context, const MemberWatchFlags& flags) {
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  std::optional<std::uint64_t> after = flags.after;
  std::uint64_t printed = 0;
  while (flags.count == 0 || printed < flags.count) {
    if (signals.take() != 0) {
      return 0;
    }
    const auto view = client->view({.node_id = 0, .after = after, .wait = kWait});
    if (!view.ok()) {
      if (!passes(view.status())) {
        return context.fail(*client, view.status());
      }
      wait_readable({signals.fd()}, kWait);
    } else if (!after || view.value().epoch > *after) {
      print_view(context, view.value());
      after = view.value().epoch;
      ++printed;
    }
  }
  return 0;
}

}  // namespace gcoord::cli
