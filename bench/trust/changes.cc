#include "bench/trust/changes.h"

#include "bench/trust/steady_load.h"
#include "gcoord/client.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {
namespace {

using Loads = std::vector<std::unique_ptr<SteadyLoad>>;

// Steps, and what the loads met in them.
class Diary {
 public:
  explicit Diary(const ChangeOptions& options) : options_(options) {}

  // A step that went well; then all loads go on for a while.
  Status step(const char* what, const Status& changed) {
    GCOORD_TRY_STATUS(changed);
    for (const auto& load : loads_) {
      GCOORD_TRY_STATUS(load->await_more(options_.pairs_of_step));
    }
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> took = now - std::exchange(began_, now);
    std::fprintf(stderr, "  %s: %.0f ms\n", what, took.count());
    steps_.push_back({{"step", what}, {"ms", took.count()}});
    return Status{};
  }

  // A password costs its node a tenth of a second: such programs do not begin anew all the time.
  Status begin(const char* name, client::ClientOptions client) {
    const bool has_password = !client.credentials.password.empty();
    GCOORD_TRY(auto load,
               SteadyLoad::start(
                   {.client = std::move(client), .name = name, .begins_anew = !has_password}));
    loads_.push_back(std::move(load));
    return Status{};
  }

  // The load that began first.
  void end_first() {
    take(loads_.front()->stop());
    loads_.erase(loads_.begin());
  }

  Json end() {
    while (!loads_.empty()) {
      end_first();
    }
    return {{"steps", steps_},
            {"loads", results_},
            {"failed", failed_},
            {"longest_pair_ms", longest_ms_}};
  }

 private:
  void take(const SteadyLoadResult& result) {
    results_.push_back(result.json());
    failed_ += result.failed;
    longest_ms_ = std::max(longest_ms_, result.longest_ms);
  }

  const ChangeOptions options_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Loads loads_;
  Json steps_ = Json::array();
  Json results_ = Json::array();
  std::uint64_t failed_ = 0;
  double longest_ms_ = 0;
};

// Whoever has no credentials must be refused at the end: the numbers of the refusals.
Json refusals(const LivingCluster& cluster) {
  client::ClientOptions plain = cluster.plain();
  plain.wait_for_cluster = false;
  const auto by_plain = client::Client::connect(plain);
  client::ClientOptions nobody = cluster.by_certificate();
  nobody.tls.cert.clear();
  nobody.tls.key.clear();
  auto by_nobody = client::Client::connect(nobody);
  std::uint32_t number = 0;
  if (by_nobody.ok()) {
    auto session = by_nobody.value().open_session({});
    number = session.status().detail();
  }
  return {{"plaintext", by_plain.status().detail()}, {"without_a_user", number}};
}

}  // namespace

Result<Json> close_living_cluster(LivingCluster& cluster, const ChangeOptions& options) {
  Diary diary{options};
  TrustSettings now;
  GCOORD_TRY_STATUS(diary.begin("plain", cluster.plain()));
  GCOORD_TRY_STATUS(diary.step("open", Status{}));
  now.has_secret = true;
  now.peer_proof = "permissive";
  GCOORD_TRY_STATUS(diary.step("secret at all nodes", cluster.reload(now)));
  now.peer_proof = "required";
  GCOORD_TRY_STATUS(diary.step("nodes prove themselves", cluster.reload(now)));
  now.has_certificates = true;
  now.client_tls = now.http_tls = now.peer_tls = "permissive";
  GCOORD_TRY_STATUS(diary.step("TLS permissive on all ports", cluster.reload(now)));
  GCOORD_TRY_STATUS(diary.step("users and roles", cluster.make_users()));
  GCOORD_TRY_STATUS(diary.begin("certificate", cluster.by_certificate()));
  GCOORD_TRY_STATUS(diary.begin("password", cluster.by_password()));
  GCOORD_TRY_STATUS(diary.step("clients with credentials beside plain ones", Status{}));
  diary.end_first();
  now.peer_tls = "required";
  GCOORD_TRY_STATUS(diary.step("TLS required between nodes", cluster.reload(now)));
  now.client_tls = now.http_tls = "required";
  GCOORD_TRY_STATUS(diary.step("TLS required for clients and HTTP", cluster.reload(now)));
  GCOORD_TRY_STATUS(diary.step("rights are checked", cluster.order({"auth", "enable"})));
  now.session_keys = "required";
  GCOORD_TRY_STATUS(diary.step("session keys required", cluster.reload(now)));
  GCOORD_TRY(const std::uint32_t links, cluster.encrypted_links());
  Json result = diary.end();
  result["encrypted_links"] = links;
  result["refused"] = refusals(cluster);
  return result;
}

Result<Json> rotate_everything(LivingCluster& cluster, const ChangeOptions& options) {
  Diary diary{options};
  GCOORD_TRY_STATUS(cluster.make_users());
  GCOORD_TRY_STATUS(cluster.order({"auth", "enable"}));
  GCOORD_TRY_STATUS(diary.begin("certificate", cluster.by_certificate()));
  GCOORD_TRY_STATUS(diary.begin("password", cluster.by_password()));
  GCOORD_TRY_STATUS(diary.step("closed", Status{}));
  GCOORD_TRY_STATUS(cluster.renew_certificates());
  GCOORD_TRY_STATUS(diary.step("certificates with new keys", cluster.reload()));
  GCOORD_TRY_STATUS(cluster.found_second_authority());
  GCOORD_TRY_STATUS(diary.step("a second CA is known", cluster.reload()));
  GCOORD_TRY_STATUS(cluster.renew_certificates());
  GCOORD_TRY_STATUS(diary.step("certificates of the second CA", cluster.reload()));
  GCOORD_TRY_STATUS(cluster.forget_first_authority());
  GCOORD_TRY_STATUS(diary.step("the first CA is forgotten", cluster.reload()));
  const std::string secret = cluster.path("cluster.secret").string();
  GCOORD_TRY_STATUS(cluster.make({"cluster", "secret", "rotate", secret}));
  GCOORD_TRY_STATUS(diary.step("another secret", cluster.reload()));
  // Sessions live on over a second one: what attaches them has come to be of the first.
  GCOORD_TRY_STATUS(diary.step("node 1 anew", cluster.restart(1)));
  GCOORD_TRY_STATUS(cluster.make({"cluster", "secret", "rotate", secret}));
  GCOORD_TRY_STATUS(diary.step("another secret again", cluster.reload()));
  GCOORD_TRY_STATUS(diary.step("node 1 anew again", cluster.restart(1)));
  return diary.end();
}

}  // namespace gcoord::bench
