// gcoordctl doctor: asks every node how it is and says what an operator should look at.
#include "cli/doctor/examination.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/inquiry.h"
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>

namespace gcoord::cli {
namespace {

// How long the nodes beyond the first get to answer.
constexpr std::chrono::milliseconds kOthersTimeout{1000};

int examine_cluster(Context& context) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const ClusterFacts facts = ask_cluster(*client, std::min(context.timeout(), kOthersTimeout));
  const std::vector<Finding> findings = examine(facts, ExaminationLimits{});
  const bool healthy = is_healthy(findings);
  Table table;
  table.notes = lines_of(findings);
  table.caption = (healthy ? "healthy: " : "NOT healthy: ") + std::to_string(facts.nodes.size()) +
                  " nodes, " + std::to_string(check_names().size()) + " checks";
  context.output().print(examination_json(facts, findings), table);
  const bool all = std::ranges::all_of(facts.nodes, &NodeFacts::reachable);
  if (!facts.nodes.empty() && std::ranges::all_of(facts.nodes, &NodeFacts::refused)) {
    return static_cast<int>(protocol::ExitCode::Auth);
  }
  return static_cast<int>(healthy ? protocol::ExitCode::Ok
                          : all   ? protocol::ExitCode::Negative
                                  : protocol::ExitCode::Unreachable);
}

}  // namespace

void add_doctor_command(Command& app, Context& context) {
  app.add_subcommand(
         "doctor",
         "check the cluster: nodes, versions, clocks, disks, leaders and ledger; "
         "exit 1 if something needs attention, 3 if a node does not answer, 4 if none shows its "
         "report to you")
      ->callback([&context] { context.choose(examine_cluster); });
}

}  // namespace gcoord::cli
