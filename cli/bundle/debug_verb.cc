// gcoordctl debug bundle: what a supporter needs to know of a cluster, in one file.
//
// It exits with 0 when all was collected, 3 when a node does not answer, and 1 when something else
// is missing; the file is there in each case, and its manifest says what is missing and why.
#include "cli/bundle/archive.h"
#include "cli/bundle/collection.h"
#include "cli/bundle/manifest.h"
#include "cli/bundle/targets.h"
#include "cli/credentials/login_options.h"
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

// Of all nodes together, where --timeout is not given.
constexpr milliseconds kTimeout{60'000};

// Of one request, so that a node that hangs leaves time for its pages.
constexpr milliseconds kRequestTimeout{5000};

struct BundleText {
  std::string file;
  std::uint32_t seconds = 5;
  std::vector<std::string> metrics;
};

// "gcoord-debug-20260131T120000Z.tar.gz".
std::string default_file() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "gcoord-debug-%Y%m%dT%H%M%SZ.tar.gz", &parts);
  return text.data();
}

client::Result<client::Client> connect(const CollectionRequest& request, const Globals& globals) {
  const Deadline& deadline = request.deadline;
  client::ClientOptions options;
  options.endpoints = request.endpoints;
  options.tls = globals.tls_options();
  const auto credentials = credentials_of(globals.login);
  if (!credentials.ok()) {
    return client::Status{static_cast<client::StatusCode>(credentials.status().code()),
                          credentials.status().message(),
                          credentials.status().detail()};
  }
  options.credentials = credentials.value();
  options.insecure_credentials = globals.insecure_credentials;
  // To connect, to wait for the other nodes and to hear their reports.
  options.connect_timeout = std::min(kRequestTimeout, deadline.left() / 3);
  options.request_timeout = options.connect_timeout;
  options.client_name = "gcoordctl";
  return client::Client::connect(std::move(options));
}

protocol::ExitCode exit_code_of(const Collection& collection) {
  if (!collection.all_reachable()) {
    return protocol::ExitCode::Unreachable;
  }
  return collection.complete() ? protocol::ExitCode::Ok : protocol::ExitCode::Negative;
}

// Made, and where it is.
struct SavedBundle {
  const std::string& file;
  const std::string& archive;
};

void print(const Context& context, const SavedBundle& saved, const Collection& collection) {
  Json facts = {{"file", saved.file},
                {"bytes", std::to_string(saved.archive.size())},
                {"sha256", sha256_hex(saved.archive)},
                {"complete", collection.complete()}};
  const Json manifest = manifest_of(collection);
  for (const char* name : {"nodes", "files", "gaps"}) {
    facts[name] = manifest[name];
  }
  Table table{{"MISSING", "WHY"}, {}, {}, {}};
  for (const BundleGap& gap : collection.content.gaps) {
    table.rows.push_back({gap.name, gap.why});
  }
  table.caption = saved.file + ": " + std::to_string(collection.content.files.size()) +
                  " files of " + std::to_string(collection.nodes.size()) + " nodes, " +
                  std::to_string(saved.archive.size()) + " bytes" +
                  (collection.complete() ? "" : ", NOT complete");
  table.notes.emplace_back(
      "It has names, addresses and paths of your hosts and the newest lines of their logs: look "
      "through it before you pass it on.");
  context.output().print(facts, table);
}

int save(Context& context, const std::string& file, const Collection& collection) {
  const auto archive = make_archive(archived_files(collection));
  const Status written = archive.ok() ? write_new_file(file, archive.value()) : archive.status();
  if (!written.ok()) {
    return context.fail(written);
  }
  print(context, {file, archive.value()}, collection);
  return static_cast<int>(exit_code_of(collection));
}

int bundle(Context& context, const BundleText& text) {
  const std::string file = text.file.empty() ? default_file() : text.file;
  if (const Status usable = check_new_file(file); !usable.ok()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionInvalid, "--out " + usable.message()));
  }
  CollectionRequest request{.deadline =
                                Deadline(context.timeout_given() ? context.timeout() : kTimeout)};
  request.sample = std::chrono::seconds{text.seconds};
  request.tls = context.globals().http_tls();
  for (const std::string& given : text.metrics) {
    auto address = parse_metrics_address(given);
    if (!address.ok()) {
      return context.fail(address.status());
    }
    address.value().tls = with_files(address.value().tls, request.tls);
    request.metrics.push_back(std::move(address).value());
  }
  auto endpoints = context.endpoints();
  if (!endpoints.ok()) {
    return context.fail(endpoints.status());
  }
  request.endpoints = std::move(endpoints).value();
  auto client = connect(request, context.globals());
  request.client = client.ok() ? &client.value() : nullptr;
  request.client_error = client.ok() ? "" : client.status().to_string();
  const Collection collection = collect(request);
  if (collection.content.files.empty()) {
    return context.fail(to_status(client.status()));  // Had it connected, there would be reports.
  }
  return save(context, file, collection);
}

}  // namespace

void add_debug_commands(Command& app, Context& context) {
  Command* debug = app.add_subcommand("debug", "collect what a supporter needs");
  debug->require_subcommand(1);
  const auto options = std::make_shared<BundleText>();
  Command* verb = add_verb(*debug,
                           context,
                           options,
                           "bundle",
                           "collect reports, health, metrics, configurations, logs and samples of "
                           "all nodes into one .tar.gz file; secrets are left out",
                           bundle);
  verb->add_option("--out",
                   options->file,
                   "file to make; it must not exist (default gcoord-debug-TIME.tar.gz here)")
      ->type_name("FILE");
  verb->add_option(
          "--seconds",
          options->seconds,
          "how long threads are sampled, and processors where a node allows it (default 5)")
      ->in_range(1, 30)
      ->type_name("N");
  verb->add_option("--metrics",
                   options->metrics,
                   "address of a node's metrics port, where it is not the one that the node tells, "
                   "or 200 above its client port; repeat for more nodes")
      ->type_name("HOST:PORT|URL");
  verb->footer(
      "--timeout limits all of it together (default here 1m). Exit codes: 0 all collected,\n"
      "1 something is missing, 3 a node does not answer; 1 and 3 leave the file, too.");
}

}  // namespace gcoord::cli
