#include "chaos/rings/attackers.h"

#include "common/http/client.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::chaos {

namespace {

// Of a metrics page: what a sample whose line begins so says.
std::uint64_t sum_of(const std::string& page, std::string_view beginning) {
  double sum = 0;
  std::istringstream lines{page};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    if (line.starts_with(beginning) && space != std::string::npos) {
      sum += std::strtod(line.c_str() + space, nullptr);
    }
  }
  return static_cast<std::uint64_t>(sum);
}

}  // namespace

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
    words >> counts.rings >> counts.ended >> counts.full;
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
              static_cast<unsigned long long>(counts.full));
  return 0;
}

Result<RingMetrics> read_ring_metrics(std::uint16_t metrics_port) {
  HttpClient http({"127.0.0.1", std::to_string(metrics_port)});
  GCOORD_TRY(
      const auto page,
      http.get("/metrics", {.timeout = std::chrono::seconds{10}, .body_bytes_max = 16u << 20}));
  if (page.status != 200) {
    return Status{StatusCode::Unavailable,
                  "the metrics page answers " + std::to_string(page.status)};
  }
  const std::string& text = page.body;
  return RingMetrics{.clients = sum_of(text, "gcoord_server_shm_clients "),
                     .broken = sum_of(text, "gcoord_server_shm_refused_total{reason=\"ring\"}"),
                     .loud = sum_of(text, "gcoord_server_shm_refused_total{reason=\"bells\"}"),
                     .bad_frames = sum_of(text, "gcoord_server_client_frames_bad_total{")};
}

}  // namespace gcoord::chaos
