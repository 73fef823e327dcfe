#include "chaos/rings/attackers.h"

#include "chaos/process/metrics_page.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::chaos {

Status RingAttackers::start(const RingAttackOptions& options) {
  ChildOptions child;
  child.arguments = command_;
  for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{
           {"--path", options.path},
           {"--attack", std::string{ring_attack_name(options.attack)}},
           {"--seed", std::to_string(options.seed)},
           {"--length-ms", std::to_string(options.length.count())}}) {
    child.arguments.insert(child.arguments.end(), {flag, value});
  }
  child.capture_output = true;
  child.group = true;
  GCOORD_TRY(auto started, ChildProcess::start(child));
  each_.push_back(std::move(started));
  return Status{};
}

Result<RingAttackCounts> RingAttackers::await_ends(std::chrono::milliseconds timeout) {
  RingAttackCounts sum;
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (ChildProcess& each : each_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    std::istringstream words{each.read_line(left).value_or("")};
    RingAttackCounts counts;
    words >> counts.rings >> counts.ended >> counts.held_back;
    if (words.fail() || each.wait_for(left) != 0) {
      return Status{StatusCode::Aborted, "a client that attacks shared memory did not end well"};
    }
    sum += counts;
  }
  return sum;
}

int run_ring_attacker(const RingAttackOptions& options) {
  const RingAttackCounts counts = attack_rings(options);
  std::printf("%llu %llu %llu\n",
              static_cast<unsigned long long>(counts.rings),
              static_cast<unsigned long long>(counts.ended),
              static_cast<unsigned long long>(counts.held_back));
  return 0;
}

Result<RingMetrics> read_ring_metrics(std::uint16_t metrics_port) {
  GCOORD_TRY(const std::string page, read_metrics_page(metrics_port));
  const auto sum = [&page](std::string_view beginning) { return sum_of_samples(page, beginning); };
  return RingMetrics{.clients = sum("gcoord_server_shm_clients "),
                     .broken = sum("gcoord_server_shm_refused_total{reason=\"ring\"}"),
                     .loud = sum("gcoord_server_shm_refused_total{reason=\"bells\"}"),
                     .bad_frames = sum("gcoord_server_client_frames_bad_total{")};
}

}  // namespace gcoord::chaos
