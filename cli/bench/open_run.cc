#include "cli/bench/open_run.h"

#include "cli/bench/load/open_loop.h"
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

// The exit code, unless a signal says it.
int print(Context& context, const BenchFlags& flags, const BenchReport& report) {
  context.output().print(answer_json(report), answer_table(report));
  const Status written = write_files(flags, report);
  return written.ok() ? static_cast<int>(exit_code_of(report.plan, report.targets.front().result))
                      : context.fail(written);
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
  auto connections = connect(context, plan->connections);
  if (!connections.has_value()) {
    return context.exit_code();
  }
  auto work = open_operation(*plan, std::move(*connections));
  if (!work.ok()) {
    return context.fail(to_status(work.status()));
  }
  Run run = measure(*plan, *work.value(), signals);
  if (!run.result.ok()) {
    return context.fail(run.result.status());
  }
  BenchReport report{.plan = *plan,
                     .endpoints = joined(context.endpoints().value()),
                     .when = utc_now(),
                     .version = std::string{server::kVersion}};
  report.targets.push_back({"gcoord", std::move(run.result).value()});
  const int code = print(context, flags, report);
  return run.signal != 0 ? 128 + run.signal : code;
}

}  // namespace gcoord::cli
