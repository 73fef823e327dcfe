#include "bench/etcd/vs_etcd.h"

#include "bench/cluster/core_set.h"
#include "bench/cluster/running_cluster.h"
#include "bench/etcd/etcd_target.h"
#include "bench/etcd/ways.h"
#include "bench/load/gcoord_target.h"
#include "bench/load/load_report.h"
#include "bench/report/results_file.h"
#include "chaos/process/etcd_cluster.h"
#include "chaos/process/scratch_directory.h"

#include <cstdio>

namespace gcoord::bench {

namespace {

constexpr std::uint32_t kNodes = 3;

// One client that keeps so many names under way.
constexpr std::uint32_t kPipelined = 1024;

Json way_json(const EtcdWay& way) {
  return {{"recipe", way.recipe == EtcdRecipe::Transaction ? "transaction" : "v3lock"},
          {"endpoints", way.spread == EtcdSpread::Leader ? "leader" : "all"},
          {"connections", way.connections}};
}

// Few shards share the cost of a round of Raft between many commands, many shards have no queue in
// front of them. etcd has one group; gcoordd has as many as its operator likes.
constexpr std::uint32_t kShardCounts[] = {8, 64, 1024, 65'536};

constexpr LoadOptions kBrief{.warm_up = std::chrono::seconds{1},
                             .measured = std::chrono::seconds{2}};

// Both systems in turn, each in a fresh cluster of its own that is gone when the other runs.
class Comparison {
 public:
  explicit Comparison(const BenchOptions& options) : options_(options) {}

  BenchResult run() {
    GCOORD_TRY(const Json ways, choose_ways());
    GCOORD_TRY(const Json counts, choose_shards());
    Json runs = Json::array();
    for (std::uint32_t number = 0; number < options_.runs; ++number) {
      std::fprintf(stderr, "run %u of %u\n", number + 1, options_.runs);
      GCOORD_TRY(Json gcoord, run_gcoord_once());
      GCOORD_TRY(Json etcd, run_etcd_once());
      runs.push_back({{"gcoord", std::move(gcoord)}, {"etcd", std::move(etcd)}});
    }
    return summary(runs, {{"etcd_tried", ways}, {"gcoord_tried", counts}});
  }

 private:
  Result<chaos::EtcdCluster> start_etcd(const chaos::ScratchDirectory& scratch) const {
    GCOORD_TRY(const OnCores there, OnCores::of(options_.node_cores));
    return chaos::EtcdCluster::start(scratch.path(), kNodes);
  }

  LoadOptions load() const { return {.measured = options_.measured}; }

  Result<Json> measure_etcd(const chaos::EtcdCluster& cluster,
                            const EtcdWay& way,
                            std::uint32_t clients,
                            const LoadOptions& length,
                            bool pipelined = false) {
    EtcdOptions target;
    target.one_lease = pipelined;
    target.endpoints = cluster.endpoints();
    target.clients = clients;
    target.connections = std::min(way.connections, clients);
    target.recipe = way.recipe;
    target.spread = way.spread;
    target.name_prefix = "bench-" + std::to_string(++prefix_count_);
    GCOORD_TRY(const LoadResult result, run_etcd(target, length));
    return report_load(result, pipelined ? "etcd, one lease" : "etcd", clients);
  }

  // Tries every way briefly; many clients and one client may each have another best one.
  Result<Json> choose_ways() {
    std::fprintf(stderr, "etcd: which way serves it best?\n");
    GCOORD_TRY(const auto scratch, chaos::ScratchDirectory::make(options_.directory, "etcd"));
    GCOORD_TRY(const auto cluster, start_etcd(scratch));
    Json tried = Json::array();
    double best_pairs = 0;
    double best_p50 = 0;
    for (const EtcdWay& way : kEtcdWays) {
      GCOORD_TRY(Json many, measure_etcd(cluster, way, options_.clients, kBrief));
      GCOORD_TRY(Json one, measure_etcd(cluster, way, 1, kBrief));
      const double pairs = number_of(many["pairs_per_s"]).value();
      if (pairs > best_pairs) {
        best_pairs = pairs;
        many_way_ = way;
      }
      const double p50 = number_of(one["pair_p50_ms"]).value();
      if (best_p50 == 0 || p50 < best_p50) {
        best_p50 = p50;
        one_way_ = way;
      }
      tried.push_back({{"way", way_json(way)}, {"many", many}, {"one", one}});
    }
    return tried;
  }

  Result<Json> run_etcd_once() {
    GCOORD_TRY(const auto scratch, chaos::ScratchDirectory::make(options_.directory, "etcd"));
    GCOORD_TRY(const auto cluster, start_etcd(scratch));
    GCOORD_TRY(Json one, measure_etcd(cluster, one_way_, 1, load()));
    GCOORD_TRY(Json many, measure_etcd(cluster, many_way_, options_.clients, load()));
    GCOORD_TRY(Json piped, measure_etcd(cluster, many_way_, kPipelined, load(), true));
    return Json{
        {"many", std::move(many)}, {"one", std::move(one)}, {"pipelined", std::move(piped)}};
  }

  Result<Json> measure_gcoord(const RunningCluster& cluster,
                              std::uint32_t clients,
                              const LoadOptions& length,
                              bool pipelined = false) {
    GcoordOptions target;
    target.one_session = pipelined;
    target.endpoints = cluster.nodes().endpoints();
    target.clients = clients;
    target.name_prefix = "bench-" + std::to_string(++prefix_count_);
    GCOORD_TRY(const LoadResult result, run_gcoord(target, length));
    return report_load(result, pipelined ? "gcoord, one session" : "gcoord", clients);
  }

  // As choose_ways(), for gcoord; nothing is tried when a number of shards was asked for.
  Result<Json> choose_shards() {
    Json tried = Json::array();
    if (options_.shards != 0) {
      many_shards_ = pipelined_shards_ = options_.shards;
      return tried;
    }
    std::fprintf(stderr, "gcoord: which number of shards serves it best?\n");
    double best_many = 0;
    double best_pipelined = 0;
    for (const std::uint32_t shards : kShardCounts) {
      GCOORD_TRY(const auto cluster, RunningCluster::start(options_, shards));
      GCOORD_TRY(Json many, measure_gcoord(*cluster, options_.clients, kBrief));
      GCOORD_TRY(Json piped, measure_gcoord(*cluster, kPipelined, kBrief, true));
      const double pairs = number_of(many["pairs_per_s"]).value();
      if (pairs > best_many) {
        best_many = pairs;
        many_shards_ = shards;
      }
      const double pipelined = number_of(piped["pairs_per_s"]).value();
      if (pipelined > best_pipelined) {
        best_pipelined = pipelined;
        pipelined_shards_ = shards;
      }
      tried.push_back({{"shards", shards}, {"many", many}, {"pipelined", piped}});
    }
    return tried;
  }

  Result<Json> run_gcoord_once() {
    GCOORD_TRY(auto cluster, RunningCluster::start(options_, many_shards_));
    GCOORD_TRY(Json one, measure_gcoord(*cluster, 1, load()));
    GCOORD_TRY(Json many, measure_gcoord(*cluster, options_.clients, load()));
    if (pipelined_shards_ != many_shards_) {
      cluster.reset();
      GCOORD_TRY(cluster, RunningCluster::start(options_, pipelined_shards_));
    }
    GCOORD_TRY(Json piped, measure_gcoord(*cluster, kPipelined, load(), true));
    return Json{
        {"many", std::move(many)}, {"one", std::move(one)}, {"pipelined", std::move(piped)}};
  }

  static double median_of(const Json& runs,
                          const char* system,
                          const char* load,
                          const char* field) {
    std::vector<double> values;
    for (const Json& run : runs) {
      values.push_back(number_of(run[system][load][field]).value());
    }
    return median(std::move(values));
  }

  static double ratio_of(const Json& runs, const char* load, const char* field) {
    return median_of(runs, "gcoord", load, field) / median_of(runs, "etcd", load, field);
  }

  Json summary(const Json& runs, const Json& tried) const {
    Json result = {
        {"acknowledged", "on stable storage (fdatasync) of a quorum of three nodes, both systems"},
        {"etcd_client", "gRPC C++, asynchronous, one thread; the best of etcd_tried"},
        {"etcd_way_many", way_json(many_way_)},
        {"etcd_way_one", way_json(one_way_)},
        {"clients", options_.clients},
        {"seconds", std::chrono::duration<double>(options_.measured).count()},
        {"gcoord_shards_many_and_one", many_shards_},
        {"gcoord_shards_pipelined", pipelined_shards_},
        {"node_cores", options_.node_cores},
        {"pipelined_names", kPipelined},
        {"runs", runs}};
    merge_members(result, tried);
    for (const char* system : {"gcoord", "etcd"}) {
      const std::string name{system};
      result[name + "_pairs_per_s"] = rounded(median_of(runs, system, "many", "pairs_per_s"));
      result[name + "_pipelined_pairs_per_s"] =
          rounded(median_of(runs, system, "pipelined", "pairs_per_s"));
      result[name + "_p50_ms"] = rounded(median_of(runs, system, "one", "pair_p50_ms"));
      result[name + "_lock_p50_ms"] = rounded(median_of(runs, system, "one", "lock_p50_ms"));
    }
    result["lock_p50_ratio"] = rounded(ratio_of(runs, "one", "lock_p50_ms"));
    result["pairs_ratio"] = rounded(ratio_of(runs, "many", "pairs_per_s"));
    result["pipelined_ratio"] = rounded(ratio_of(runs, "pipelined", "pairs_per_s"));
    result["p50_ratio"] = rounded(ratio_of(runs, "one", "pair_p50_ms"));
    return result;
  }

  const BenchOptions& options_;
  EtcdWay many_way_ = kEtcdWays[0];
  EtcdWay one_way_ = kEtcdWays[0];
  std::uint32_t many_shards_ = 0;  // Also of one client.
  std::uint32_t pipelined_shards_ = 0;
  std::uint32_t prefix_count_ = 0;  // Every measurement takes names that none took before.
};

}  // namespace

BenchResult bench_vs_etcd(const BenchOptions& options) {
  return Comparison{options}.run();
}

}  // namespace gcoord::bench
