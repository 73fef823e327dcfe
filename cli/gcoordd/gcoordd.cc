// gcoordd: one node of a gcoord cluster. Parses, opens, runs; all else is in server/.
//
// stdout gets one line when the node serves and has heard a majority of its cluster: "gcoordd
// ready: client HOST:PORT peer HOST:PORT metrics HOST:PORT"; everything else is on stderr or in the
// file of --log-file. Exit codes are those of protocol/error_codes.h, and 7 for a node that has
// left its cluster.
#include "cli/gcoordd/auth_recover.h"
#include "cli/gcoordd/context_restarts.h"
#include "cli/gcoordd/dev_certificates.h"
#include "cli/gcoordd/force_new_cluster.h"
#include "cli/gcoordd/hidden_options.h"
#include "cli/gcoordd/join.h"
#include "cli/gcoordd/reload.h"
#include "cli/gcoordd/shown_configuration.h"
#include "cli/gcoordd/start_signals.h"
#include "cli/gcoordd/temporary_directory.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "server/debug/pages.h"
#include "server/log/output.h"
#include "server/node/node.h"
#include "server/node/rejoin.h"
#include "server/options/effective_options.h"
#include "server/options/options.h"
#include "server/platform/boot_time.h"
#include "server/platform/operator_log.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord {
namespace {

// Of a node that has left its cluster for ever: a supervisor should not start it again.
constexpr int kRemovedExit = 7;

int fail(const Status& status) {
  std::cerr << "gcoordd: " + shown(status.to_string()) + "\n";
  const bool removed =
      status.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::NodeRemoved);
  return removed ? kRemovedExit : static_cast<int>(protocol::exit_code(status));
}

// What the process has while it starts and runs, made before its options are read.
struct Process {
  std::vector<std::string> arguments;
  std::mutex mutex;  // Of the directory, which another thread removes when a signal ends the start.
  std::optional<TemporaryDirectory> temporary;
  std::optional<StartSignals> start_signals;

  // Its path; empty if none can be made.
  std::string make_temporary() {
    const std::lock_guard lock(mutex);
    temporary.emplace();
    return temporary->path();
  }

  void remove_temporary() {
    const std::lock_guard lock(mutex);
    temporary.reset();
  }

  void begin_start() {
    start_signals.emplace([this] { remove_temporary(); });
  }
};

std::string at(const server::Endpoint& endpoint, std::uint16_t port) {
  return port == 0 ? "off" : server::to_string({endpoint.host, port});
}

void say_ready(const server::Invocation& invocation,
               const server::NodePorts& ports,
               bool certificates) {
  const server::NodeOptions& options = invocation.options;
  const std::string client = at(options.listen_client, ports.client);
  std::cout << "gcoordd ready: client " << client << " peer " << at(options.listen_peer, ports.peer)
            << " metrics " << at(options.listen_metrics, ports.metrics);
  if (!options.listen_ledger.empty()) {
    std::cout << " ledger " << at(options.listen_ledger, ports.ledger);
  }
  if (!options.listen_unix.empty()) {
    std::cout << " unix " << options.listen_unix;
  }
  std::cout << std::endl;
  if (invocation.verb == server::Verb::Dev) {
    std::cerr << dev_advice(invocation, client, certificates);
  }
}

// A device that does not answer would hold up the end of the process: the driver waits for its
// kernels when a program leaves by the door. Nothing is left to be written.
[[noreturn]] void leave_at_once(int code, Process& process) {
  process.remove_temporary();
  std::cout.flush();
  spdlog::shutdown();
  std::_Exit(code);
}

// The ports that the system chose stay the node's when it is opened again.
void keep_ports(server::NodeOptions& options, const server::NodePorts& ports) {
  options.listen_client.port = ports.client;
  options.listen_peer.port = ports.peer;
  if (!options.listen_metrics.empty()) {
    options.listen_metrics.port = ports.metrics;
  }
  if (!options.listen_ledger.empty()) {
    options.listen_ledger.port = ports.ledger;
  }
}

// The node of these options, which are completed by what it needs.
class Opening {
 public:
  explicit Opening(const server::ProcessTexts& texts) : texts_(texts) {}

  Result<std::unique_ptr<server::Node>> open(server::Invocation& opened) {
    constexpr auto kUnreadable = static_cast<std::uint32_t>(protocol::ErrorCode::TlsFileUnreadable);
    GCOORD_TRY_STATUS(make_certificates(opened));
    auto node = server::open_node(opened, texts_);
    if (node.ok() || !dev_.made() || node.status().detail() != kUnreadable) {
      return node;
    }
    // With --rejoin a damaged directory has made way, and its certificates with it.
    GCOORD_TRY_STATUS(make_certificates(opened));
    return server::open_node(opened, texts_);
  }

  const DevCertificates& dev() const { return dev_; }

 private:
  Status make_certificates(server::Invocation& opened) {
    return dev_.make(
        opened.options, opened.verb, static_cast<std::int64_t>(server::wall_ms() / 1000));
  }

  const server::ProcessTexts texts_;
  DevCertificates dev_;
};

// A node that was opened, and with what.
struct Reopening {
  Opening& opening;
  server::Invocation& opened;
  Process& process;
  Result<std::unique_ptr<server::Node>>& node;
};

// Closes the node, and its context on its GPU where that was at fault, and opens the node anew. A
// driver that hangs meanwhile would keep a process that serves nothing: it leaves instead.
void open_anew(const Reopening& what, bool closes_context) {
  auto& [opening, opened, process, node] = what;
  if (!closes_context) {
    node.value().reset();  // It holds the directory.
    node = opening.open(opened);
    return;
  }
  const auto leave = [&left = process] {
    server::log_error(server::LogComponent::Gpu,
                      "the node cannot be opened anew in time: the process ends");
    leave_at_once(static_cast<int>(protocol::ExitCode::Negative), left);
  };
  opened.options.gpu_reopened = true;
  const auto gpu = node.value()->gpu();
  {
    const TimeLimit limit(kCloseLimit, leave);
    node.value().reset();
    NodeRestarts::close_context(gpu);
  }
  const TimeLimit limit(kReopenLimit, leave);
  node = opening.open(opened);
}

// What a start needs before the node: a directory, a log, and leave to be of its cluster.
Status prepare(server::Invocation& opened, Process& process) {
  if (opened.data_dir_temporary) {
    opened.options.data_dir = process.make_temporary();
    if (opened.options.data_dir.empty()) {
      return protocol::make_error(protocol::ErrorCode::DirectoryUnusable,
                                  "no temporary directory can be made; give --data-dir");
    }
  }
  GCOORD_TRY_STATUS(server::start_log(opened.options));
  for (const std::string& line : unknown_option_lines()) {
    server::log_warning(server::LogComponent::Node, "{}", line);
  }
  return join_if_new(opened);
}

int run(const server::Invocation& invocation, Process& process) {
  server::Invocation opened = invocation;
  server::NodeOptions& options = opened.options;
  if (const Status prepared = prepare(opened, process); !prepared.ok()) {
    return fail(prepared);
  }
  ShownConfiguration configuration;
  Opening opening(
      {.configuration = [&] { return configuration.text(); }, .recent_log = &server::recent_log});
  auto node = opening.open(opened);
  bool said = false;
  const auto on_ready = [&] {
    if (!std::exchange(said, true)) {
      say_ready(opened, node.value()->ports(), opening.dev().made());
    }
  };
  const auto show = [&](const server::Invocation& running) {
    configuration.show(running, options);
  };
  Reload reload(process.arguments, environment_value, invocation);
  reload.tell([&](const server::Invocation& running) {
    options.tls = node.value()->change_tls(opening.dev().complete(running.options.tls));
    show(running);
  });
  reload.apply_by([&](server::NodeOptions changed) {
    changed.tls = opening.dev().complete(std::move(changed.tls));
    return node.value()->reload(changed);
  });
  const auto on_hangup = [&reload] { reload.on_hangup(); };
  Status status;
  NodeRestarts context_restarts;
  while (node.ok()) {
    keep_ports(options, node.value()->ports());
    if (configuration.text().empty()) {
      show(invocation);
    }
    process.start_signals->hand_over();
    status = node.value()->run({on_ready, on_hangup});
    const bool restarts = context_restarts.takes(status);
    if (!server::is_taken_over(status) && !restarts) {
      break;
    }
    server::log_warning(
        restarts ? server::LogComponent::Gpu : server::LogComponent::Disk, "{}", status.message());
    process.begin_start();
    open_anew({opening, opened, process, node}, restarts);
  }
  if (!node.ok()) {
    const int code = fail(node.status());
    if (options.gpu_reopened) {
      leave_at_once(code, process);
    }
    return code;
  }
  if (is_of_device(status)) {
    leave_at_once(fail(status), process);
  }
  return status.ok() ? 0 : fail(status);
}

// All that is wrong, for --check-config.
int report(const std::vector<Status>& problems) {
  for (const std::string& line : unknown_option_lines()) {
    std::cerr << "gcoordd: warning: " + line + "\n";
  }
  for (const Status& problem : problems) {
    std::cerr << "gcoordd: " + shown(problem.to_string()) + "\n";
  }
  if (problems.empty()) {
    std::cout << "gcoordd: the options are valid\n";
  }
  return static_cast<int>(problems.empty() ? protocol::ExitCode::Ok : protocol::ExitCode::Usage);
}

int main_of(const std::vector<std::string>& arguments) {
  // A client that goes away is an error code of its socket, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // What a node writes is its user's alone, also what libraries create with mode 0644.
  ::umask(077);
  Process process;
  process.arguments = arguments;
  process.begin_start();
  std::vector<Status> problems;
  const auto invocation = server::examine_invocation(arguments, environment_value, problems);
  if (invocation.purpose == server::Purpose::CheckConfig) {
    if (const Status files = check_tls_files(invocation); problems.empty() && !files.ok()) {
      problems.push_back(files);
    }
    return report(problems);
  }
  if (!problems.empty()) {
    return fail(problems.front());
  }
  if (invocation.verb == server::Verb::Help || invocation.verb == server::Verb::Version) {
    std::cout << invocation.text;
    return 0;
  }
  if (invocation.purpose == server::Purpose::PrintConfig) {
    std::cout << server::effective_toml(invocation);
    return 0;
  }
  if (invocation.purpose == server::Purpose::ForceNewCluster) {
    process.start_signals->hand_over();
    const Status forced = force_new_cluster(invocation, standard_terminal());
    return forced.ok() ? 0 : fail(forced);
  }
  if (invocation.purpose == server::Purpose::AuthRecover) {
    process.start_signals->hand_over();
    const Status marked = auth_recover(invocation, standard_terminal());
    return marked.ok() ? 0 : fail(marked);
  }
  return run(invocation, process);
}

}  // namespace

}  // namespace gcoord

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  gcoord::hide_secret_options({argv + 1, argv + argc});
  return gcoord::main_of(arguments);
}
