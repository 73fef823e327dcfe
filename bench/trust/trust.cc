#include "bench/trust/trust.h"

#include "bench/load/gcoord_target.h"
#include "bench/load/load_report.h"
#include "bench/report/results_file.h"
#include "bench/trust/changes.h"
#include "bench/trust/crowd.h"
#include "bench/trust/living_cluster.h"
#include "bench/trust/scripts.h"
#include "chaos/process/etcd_cluster.h"
#include "chaos/process/resource_usage.h"
#include "chaos/process/scratch_directory.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kShards = 1024;
constexpr std::uint32_t kInFlight = 32;  // Connections that shake hands at a time.
constexpr std::uint32_t kReturning = 10'000;
constexpr std::uint32_t kLogins = 8;  // The same with a password.
constexpr std::chrono::milliseconds kPatience = 60s;
constexpr const char* kEtcdUser = R"({"name":"root","password":"a password of root's"})";

Result<std::unique_ptr<LivingCluster>> start(const BenchOptions& options,
                                             const TrustSettings& settings) {
  return LivingCluster::start({.directory = options.directory,
                               .programs = options.gcoordd.parent_path(),
                               .shards = options.shards == 0 ? kShards : options.shards,
                               .durability = options.durability},
                              settings);
}

// All ports speak TLS, and clients need no more than what `kClosed` says.
Result<std::shared_ptr<const security::TlsContext>> context_of(const LivingCluster& cluster,
                                                               bool shows_certificate) {
  security::TlsFiles files{
      .certificate = {}, .key = {}, .authority = cluster.path("ca.crt").string(), .revoked = {}};
  if (shows_certificate) {
    files.certificate = cluster.path("app.crt").string();
    files.key = cluster.path("app.key").string();
  }
  return security::TlsContext::load(security::TlsSide::Client, files, {});
}

Result<double> cpu_ms(const std::vector<pid_t>& servers) {
  double sum = 0;
  for (const pid_t server : servers) {
    GCOORD_TRY(const auto usage, chaos::resource_usage(server));
    sum += static_cast<double>(usage.cpu.count());
  }
  return sum;
}

// Of the last minute: others may use the machine.
double load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

struct Servers {
  const char* what;  // They are, and do.
  std::vector<pid_t> pids;
};

// A crowd for as long as is measured, and the processor time of its servers for each connection:
// the rate alone says little where others use the machine.
Result<Json> run(const CrowdOptions& crowd, const Servers& servers, const BenchOptions& options) {
  GCOORD_TRY(const double before, cpu_ms(servers.pids));
  GCOORD_TRY(const double own_before, cpu_ms({::getpid()}));
  const CrowdRate rate = run_crowd(crowd, options.measured);
  GCOORD_TRY(const double after, cpu_ms(servers.pids));
  GCOORD_TRY(const double own_after, cpu_ms({::getpid()}));
  if (rate.failed > 0 || rate.served == 0) {
    return Status{StatusCode::Aborted,
                  std::string(servers.what) + ": " + std::to_string(rate.failed) +
                      " connections failed: " + rate.first_failure};
  }
  const double each_ms = (after - before) / static_cast<double>(rate.served_in_all);
  const double own_each_ms = (own_after - own_before) / static_cast<double>(rate.served_in_all);
  std::fprintf(stderr,
               "  %s: %.0f/s, p50 %.1f ms, p99 %.1f ms; processor time of each: %.2f ms of the "
               "servers, %.2f ms of the client\n",
               servers.what,
               rate.per_second(),
               rate.p50_ms,
               rate.p99_ms,
               each_ms,
               own_each_ms);
  return Json{{"per_s", rounded(rate.per_second())},
              {"p50_ms", rounded(rate.p50_ms)},
              {"p99_ms", rounded(rate.p99_ms)},
              {"server_cpu_ms", rounded(each_ms)},
              {"client_cpu_ms", rounded(own_each_ms)},
              {"load_average", rounded(load_average())}};
}

// The ratio of the first system to the second in a field that each run has of both.
double median_ratio(const Json& runs,
                    std::pair<const char*, const char*> systems,
                    const char* field) {
  std::vector<double> ratios;
  for (const Json& run : runs) {
    ratios.push_back(number_of(run[systems.first][field]).value() /
                     number_of(run[systems.second][field]).value());
  }
  return rounded(median(std::move(ratios)));
}

// ---- lock pairs
// -----------------------------------------------------------------------------------

Result<Json> pairs_once(const BenchOptions& options, bool has_tls) {
  GCOORD_TRY(const auto cluster, start(options, has_tls ? kClosed : TrustSettings{}));
  GCOORD_TRY(const LoadResult result,
             run_gcoord({.endpoints = cluster->endpoints(),
                         .clients = options.clients,
                         .tls = has_tls ? cluster->by_certificate().tls : client::TlsOptions{}},
                        {.measured = options.measured}));
  return report_load(result, has_tls ? "TLS on all ports" : "no TLS", options.clients);
}

Result<Json> measure_pairs(const BenchOptions& options) {
  Json runs = Json::array();
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    GCOORD_TRY(Json plain, pairs_once(options, false));
    GCOORD_TRY(Json tls, pairs_once(options, true));
    runs.push_back({{"tls", std::move(tls)}, {"plain", std::move(plain)}});
  }
  const double ratio = median_ratio(runs, {"tls", "plain"}, "pairs_per_s");
  return Json{{"clients", options.clients},
              {"acknowledged", "on stable storage (fdatasync) of a quorum of three nodes"},
              {"runs", std::move(runs)},
              {"tls_ratio", ratio}};
}

// ---- handshakes
// -----------------------------------------------------------------------------------

Result<chaos::EtcdCluster> start_etcd(const std::filesystem::path& scratch,
                                      const LivingCluster& cluster,
                                      bool demands_certificate) {
  const chaos::EtcdTls tls{.certificate = cluster.path("node-1.crt").string(),
                           .key = cluster.path("node-1.key").string(),
                           .authority = cluster.path("ca.crt").string(),
                           .demands_certificate = demands_certificate};
  return chaos::EtcdCluster::start_secured(scratch, LivingCluster::kNodes, tls);
}

// Until it has a leader; HTTP says so.
Status await_etcd(CrowdOptions options) {
  options.script = http_script("/health", "");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  Status served = serve_one(options, 2s);
  while (!served.ok() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(50ms);
    served = serve_one(options, 2s);
  }
  return served;
}

// The nodes are idle while the others are measured: both are there with the same certificates.
Result<Json> measure_handshakes(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, start(options, kClosed));
  GCOORD_TRY(const auto context, context_of(*cluster, true));
  GCOORD_TRY(const auto scratch, chaos::ScratchDirectory::make(options.directory, "etcd"));
  Json runs = Json::array();
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    CrowdOptions crowd{.endpoints = cluster->endpoints(),
                       .tls = context,
                       .script = hello_script(),
                       .connections = kInFlight};
    GCOORD_TRY(Json gcoord, run(crowd, {"gcoord, handshakes", cluster->pids()}, options));
    const auto own = scratch.path() / std::to_string(number);
    std::filesystem::create_directories(own);
    GCOORD_TRY(const auto peers, start_etcd(own, *cluster, true));
    crowd.endpoints = peers.endpoints();
    GCOORD_TRY_STATUS(await_etcd(crowd));
    crowd.script = http_script("/version", "");
    GCOORD_TRY(Json etcd, run(crowd, {"etcd, handshakes", peers.pids()}, options));
    runs.push_back({{"gcoord", std::move(gcoord)}, {"etcd", std::move(etcd)}});
  }
  const double ratio = median_ratio(runs, {"gcoord", "etcd"}, "per_s");
  const double cpu_ratio = median_ratio(runs, {"etcd", "gcoord"}, "server_cpu_ms");
  return Json{
      {"client", "a thread for each core, OpenSSL, 32 connections at a time to three servers"},
      {"served",
       "TLS 1.3 with P-256 certificates at both ends, no tickets, and one answer: a Welcome, "
       "or GET /version"},
      {"runs", std::move(runs)},
      {"handshakes_ratio", ratio},
      {"server_cpu_ratio", cpu_ratio}};
}

// ---- logins
// ---------------------------------------------------------------------------------------

Result<Json> etcd_logins(const BenchOptions& options, const LivingCluster& cluster) {
  GCOORD_TRY(const auto scratch, chaos::ScratchDirectory::make(options.directory, "etcd"));
  GCOORD_TRY(const auto peers, start_etcd(scratch.path(), cluster, false));
  GCOORD_TRY(const auto context, context_of(cluster, false));
  CrowdOptions crowd{
      .endpoints = peers.endpoints(), .tls = context, .script = {}, .connections = 1};
  GCOORD_TRY_STATUS(await_etcd(crowd));
  const std::pair<const char*, const char*> orders[] = {
      {"/v3/auth/user/add", kEtcdUser},
      {"/v3/auth/user/grant", R"({"user":"root","role":"root"})"},
      {"/v3/auth/enable", "{}"}};
  for (const auto& [path, json] : orders) {
    crowd.script = http_script(path, json);
    GCOORD_TRY_STATUS(serve_one(crowd, kPatience));
  }
  crowd.script = http_script("/v3/auth/authenticate", kEtcdUser);
  crowd.connections = kLogins;
  return run(crowd, {"etcd, password", peers.pids()}, options);
}

Result<Json> measure_logins(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, start(options, kClosed));
  GCOORD_TRY_STATUS(cluster->make_users());
  GCOORD_TRY_STATUS(cluster->order({"auth", "enable"}));
  GCOORD_TRY(const auto context, context_of(*cluster, false));
  Json runs = Json::array();
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    const auto token = std::make_shared<std::string>();
    const client::Credentials bob = cluster->by_password().credentials;
    CrowdOptions crowd{.endpoints = cluster->endpoints(),
                       .tls = context,
                       .script = password_script(bob.user, bob.password, token),
                       .connections = kLogins};
    GCOORD_TRY(Json first, run(crowd, {"gcoord, password", cluster->pids()}, options));
    crowd.script = token_script(*token, false);
    crowd.connections = kInFlight;
    GCOORD_TRY(Json later, run(crowd, {"gcoord, after it", cluster->pids()}, options));
    GCOORD_TRY(Json etcd, etcd_logins(options, *cluster));
    runs.push_back({{"gcoord_first", std::move(first)},
                    {"gcoord_later", std::move(later)},
                    {"etcd", std::move(etcd)}});
  }
  const double later = median_ratio(runs, {"gcoord_later", "etcd"}, "per_s");
  const double first = median_ratio(runs, {"gcoord_first", "etcd"}, "per_s");
  return Json{{"served", "connection, full TLS handshake without a client certificate, login"},
              {"cost", "gcoord: scrypt, N 2^15, r 8, 32 MiB; etcd: bcrypt, its default cost of 10"},
              {"runs", std::move(runs)},
              {"first_ratio", first},
              {"login_ratio", later}};
}

// ---- a failover
// -----------------------------------------------------------------------------------

Result<Json> return_once(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, start(options, kClosed));
  GCOORD_TRY_STATUS(cluster->make_users());
  GCOORD_TRY_STATUS(cluster->order({"auth", "enable"}));
  GCOORD_TRY(const auto context, context_of(*cluster, false));
  const auto token = std::make_shared<std::string>();
  const client::Credentials bob = cluster->by_password().credentials;
  CrowdOptions crowd{.endpoints = cluster->endpoints(),
                     .tls = context,
                     .script = password_script(bob.user, bob.password, token),
                     .connections = 1};
  GCOORD_TRY_STATUS(serve_one(crowd, kPatience));
  crowd.script = token_script(*token, true);
  crowd.connections = std::min(options.waiters, kReturning);
  const std::vector<pid_t> all = cluster->pids();
  const std::vector<pid_t> others{all.begin() + 1, all.end()};
  Result<double> servers_before = 0.0;
  Result<double> own_before = 0.0;
  GCOORD_TRY(const CrowdReturn back,
             return_crowd(
                 crowd,
                 [&] {
                   servers_before = cpu_ms(others);
                   own_before = cpu_ms({::getpid()});
                   cluster->kill(1);
                 },
                 kPatience));
  GCOORD_TRY(const double servers_after, cpu_ms(others));
  GCOORD_TRY(const double own_after, cpu_ms({::getpid()}));
  GCOORD_TRY_STATUS(servers_before.status());
  GCOORD_TRY_STATUS(own_before.status());
  std::fprintf(stderr,
               "  %u clients: served first after %.0f ms, again after %.0f ms\n",
               crowd.connections,
               back.all_served_first_ms,
               back.all_served_again_ms);
  return Json{{"first_ms", rounded(back.all_served_first_ms)},
              {"again_ms", rounded(back.all_served_again_ms)},
              {"again_server_cpu_ms", rounded(servers_after - servers_before.value())},
              {"again_client_cpu_ms", rounded(own_after - own_before.value())},
              {"load_average", rounded(load_average())},
              {"failed_tries", back.failed_tries}};
}

Result<Json> measure_return(const BenchOptions& options) {
  Json runs = Json::array();
  std::vector<double> again_ms;
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    GCOORD_TRY(Json run, return_once(options));
    again_ms.push_back(number_of(run["again_ms"]).value());
    runs.push_back(std::move(run));
  }
  return Json{{"clients", std::min(options.waiters, kReturning)},
              {"served", "full TLS handshake, login by token, a serializable read of a lock"},
              {"client", "a thread for each core, on the same machine"},
              {"runs", std::move(runs)},
              {"again_ms", median(std::move(again_ms))}};
}

Result<Json> measure_change(const BenchOptions& options,
                            const TrustSettings& settings,
                            Result<Json> (*change)(LivingCluster&, const ChangeOptions&)) {
  GCOORD_TRY(const auto cluster, start(options, settings));
  return change(*cluster, {.pairs_of_step = 500});
}

bool has_part(const BenchOptions& options, const char* part) {
  return options.part == "all" || options.part == part;
}

}  // namespace

BenchResult bench_tls(const BenchOptions& options) {
  Json result = Json::object();
  if (has_part(options, "pairs")) {
    GCOORD_TRY(result["pairs"], measure_pairs(options));
  }
  if (has_part(options, "handshakes")) {
    GCOORD_TRY(result["handshakes"], measure_handshakes(options));
  }
  if (has_part(options, "closing")) {
    GCOORD_TRY(result["closing"], measure_change(options, {}, &close_living_cluster));
  }
  return result;
}

BenchResult bench_auth(const BenchOptions& options) {
  Json result = Json::object();
  if (has_part(options, "password")) {
    GCOORD_TRY(result["password"], measure_logins(options));
  }
  if (has_part(options, "reconnect")) {
    GCOORD_TRY(result["reconnect"], measure_return(options));
  }
  if (has_part(options, "rotation")) {
    GCOORD_TRY(result["rotation"], measure_change(options, kClosed, &rotate_everything));
  }
  return result;
}

}  // namespace gcoord::bench
