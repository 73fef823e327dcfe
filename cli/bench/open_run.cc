#include "cli/bench/open_run.h"

#include "cli/bench/etcd/operations.h"
#include "cli/bench/load/open_loop.h"
#include "cli/bench/node_cost.h"
#include "cli/bench/operations/operations.h"
#include "cli/bench/report/answer.h"
#include "cli/bench/report/csv.h"
#include "cli/bench/report/histogram_text.h"
#include "cli/bench/report/page.h"
#include "cli/bench/text_file.h"
#include "cli/terminal/signal_closes.h"
#include "protocol/error_codes.h"
#include "server/platform/version.h"

#include <array>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ",") + word;
  }
  return text;
}

// Before anything is measured.
Status check_files(const BenchFlags& flags) {
  for (const auto& [option, path] : {std::pair{"--csv", &flags.csv},
                                     std::pair{"--report", &flags.report},
                                     std::pair{"--histogram", &flags.histogram}}) {
    if (!path->empty()) {
      GCOORD_TRY_STATUS(check_writable(option, *path));
    }
  }
  return {};
}

Status write_files(const BenchFlags& flags, const BenchReport& report) {
  if (!flags.csv.empty()) {
    GCOORD_TRY_STATUS(write_text(flags.csv, report_csv(report)));
  }
  if (!flags.report.empty()) {
    GCOORD_TRY_STATUS(write_text(flags.report, report_page(report)));
  }
  if (!flags.histogram.empty()) {
    GCOORD_TRY_STATUS(write_text(flags.histogram,
                                 histogram_text(report.targets.front().result.record.latency())));
  }
  return {};
}

std::optional<std::vector<client::Client>> connect(Context& context, std::uint32_t count) {
  std::vector<client::Client> connections;
  for (std::uint32_t index = 0; index < count; ++index) {
    auto client = context.connect_to_all();
    if (!client.has_value()) {
      return std::nullopt;
    }
    connections.push_back(std::move(*client));
  }
  return connections;
}

struct Run {
  Result<OpenLoopResult> result;
  int signal = 0;  // The one that stopped it.
  Json node_cost{};
};

// The work is closed when it returns.
Run measure(const BenchPlan& plan, Work& work, const SignalFd& signals) {
  OpenLoop loop(plan, work);
  const SignalCloses interrupted{signals, [&loop] { loop.stop(); }};
  const Status warm = loop.warm_up();
  Result<OpenLoopResult> result =
      warm.ok() ? Result<OpenLoopResult>{loop.run()} : Result<OpenLoopResult>{warm};
  work.close();
  return {std::move(result), interrupted.signal()};
}

protocol::ExitCode exit_code_of(const BenchPlan& plan, const OpenLoopResult& result) {
  if (result.record.answered() == 0) {
    return protocol::ExitCode::Unavailable;
  }
  const bool good = plan.load.empty()
                        ? result.record.errors() + result.record.unfinished() == 0
                        : verdict_of(result, checks_of(plan, result)) == BenchVerdict::Pass;
  return good ? protocol::ExitCode::Ok : protocol::ExitCode::Negative;
}

void print(const Context& context, const BenchReport& report, const Json& node_cost) {
  Json answer = answer_json(report);
  answer["node_cost"] = node_cost;
  Table table = answer_table(report);
  if (!node_cost.is_null()) {
    table.notes.push_back(cost_sentence(node_cost));
  }
  context.output().print(answer, table);
}

// The exit code, unless a signal says it.
int keep(Context& context, const BenchFlags& flags, const BenchReport& report) {
  const Status written = write_files(flags, report);
  return written.ok() ? static_cast<int>(exit_code_of(report.plan, report.targets.front().result))
                      : context.fail(written);
}

// gcoord under the load. On failure it has been printed, and the context says the exit code.
std::optional<Run> measure_gcoord(Context& context,
                                  const BenchPlan& plan,
                                  const SignalFd& signals) {
  auto connections = connect(context, plan.connections);
  auto reader = connections.has_value() ? context.connect_to_all() : std::nullopt;
  if (!reader.has_value()) {
    return std::nullopt;
  }
  auto work = open_operation(plan, std::move(*connections));
  if (!work.ok()) {
    context.refuse(to_status(work.status()));
    return std::nullopt;
  }
  NodeCostMeter meter(*reader);
  Run run = measure(plan, *work.value(), signals);
  if (!run.result.ok()) {
    context.refuse(run.result.status());
    return std::nullopt;
  }
  run.node_cost = meter.cost(run.result.value().record.answered());
  return run;
}

// What there is to compare with; none when nobody asked.
struct Compared {
  std::unique_ptr<EtcdClients> clients;
  std::string name;
};

// Before gcoord is measured, so that a wrong address costs no time.
Result<Compared> connect_etcd(const BenchPlan& plan, const BenchFlags& flags) {
  if (flags.compare.empty()) {
    return Compared{};
  }
  GCOORD_TRY(const auto endpoints, parse_etcd_endpoints(flags.compare));
  GCOORD_TRY(auto clients, EtcdClients::open(plan, endpoints));
  std::string name = flags.compare + " " + clients->version();
  return Compared{std::move(clients), std::move(name)};
}

// etcd under the same load.
Result<Run> measure_etcd(const BenchPlan& plan,
                         std::unique_ptr<EtcdClients> clients,
                         const SignalFd& signals) {
  GCOORD_TRY(const auto work, open_etcd_operation(plan, std::move(clients)));
  return measure(plan, *work, signals);
}

}  // namespace

int bench_open(Context& context, const BenchFlags& flags) {
  const auto plan = plan_of(context, flags);
  if (!plan.has_value()) {
    return context.exit_code();
  }
  if (const Status usable = check_files(flags); !usable.ok()) {
    return context.fail(usable);
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};  // Before any thread starts.
  auto compared = connect_etcd(*plan, flags);
  if (!compared.ok()) {
    return context.fail(compared.status());
  }
  auto run = measure_gcoord(context, *plan, signals);
  if (!run.has_value()) {
    return context.exit_code();
  }
  BenchReport report{.plan = *plan,
                     .endpoints = joined(context.endpoints().value()),
                     .compared = compared.value().name,
                     .when = utc_now(),
                     .version = std::string{server::kVersion}};
  report.targets.push_back({"gcoord", std::move(run->result).value()});
  int signal = run->signal;
  if (signal == 0 && compared.value().clients != nullptr) {
    auto other = measure_etcd(*plan, std::move(compared.value().clients), signals);
    if (!other.ok() || !other.value().result.ok()) {
      return context.fail(other.ok() ? other.value().result.status() : other.status());
    }
    report.targets.push_back({"etcd", std::move(other.value().result).value()});
    signal = other.value().signal;
  }
  print(context, report, run->node_cost);
  const int code = keep(context, flags, report);
  return signal != 0 ? 128 + signal : code;
}

}  // namespace gcoord::cli
