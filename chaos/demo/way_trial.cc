#include "chaos/demo/way_trial.h"

#include "chaos/demo/cluster.h"
#include "chaos/demo/demo_summary.h"
#include "chaos/process/run_times.h"
#include "chaos/process/scratch_directory.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace gcoord::chaos {
namespace {

// Beyond the load: whatever is under way then is answered by then.
constexpr std::chrono::seconds kWorkerEnd{60};

Result<double> serve(const DemoOptions& options, DemoCluster& cluster, ClientProcesses& workers) {
  const auto began = std::chrono::steady_clock::now();
  GCOORD_TRY_STATUS(cluster.start());
  GCOORD_TRY(const auto client, cluster.connect());
  GCOORD_TRY(const auto led, wait_all_led(*client, began, cluster.all_led(kRunTimes.start)));
  static_cast<void>(led);
  GCOORD_TRY_STATUS(cluster.load(workers, options.length));
  GCOORD_TRY_STATUS(workers.await_ends(kWorkerEnd));
  GCOORD_TRY(const History history, cluster.history());
  DemoResult result;
  result.load.seconds = std::chrono::duration<double>(options.length).count();
  summarize_history(history.operations, result);
  return result.load.commits_per_s;
}

}  // namespace

Result<double> try_way(const DemoOptions& options,
                       const DemoWay& way,
                       const std::filesystem::path& directory) {
  GCOORD_TRY(const auto scratch, ScratchDirectory::make(directory, "trial"));
  DemoOptions brief = options;
  brief.length = kWayTrial;
  GCOORD_TRY(DemoCluster cluster, DemoCluster::plan(brief, way, scratch.path()));
  ClientProcesses workers{scratch.path() / "workers.log"};
  auto served = serve(brief, cluster, workers);
  workers.each().clear();
  cluster.nodes().stop_all(kRunTimes.stop);
  return served;
}

Result<DemoWay> fastest_way(std::vector<DemoWay> ways, const TryWay& try_one) {
  if (ways.size() == 1) {
    return std::move(ways.front());
  }
  std::optional<std::size_t> best;
  double most = 0;
  Status first_failure;
  std::string figures;
  for (std::size_t k = 0; k < ways.size(); ++k) {
    const auto tried = try_one(ways[k]);
    figures += figures.empty() ? "" : ", ";
    if (!tried.ok()) {
      first_failure = first_failure.ok() ? tried.status() : first_failure;
      figures += fmt::format("{} cannot be tried ({})", ways[k].name, tried.status().message());
      continue;
    }
    figures += fmt::format("{} {:.0f} commits/s", ways[k].name, tried.value());
    if (!best || tried.value() > most) {
      best = k;
      most = tried.value();
    }
  }
  if (!best) {
    return first_failure;
  }
  DemoWay& taken = ways[*best];
  taken.devices.why = fmt::format("{}: the fastest here of {}", taken.name, figures);
  return std::move(taken);
}

}  // namespace gcoord::chaos
