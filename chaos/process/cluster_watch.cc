#include "chaos/process/cluster_watch.h"

#include "common/json/members.h"
#include "common/json/text.h"

#include <algorithm>
#include <string>
#include <thread>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds elapsed(Clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since);
}

Result<Json> parsed(client::Result<std::string> text) {
  if (!text.ok()) {
    return from_client(text.status());
  }
  Json value = parse_json(text.value());
  if (value.is_null()) {
    return Status{StatusCode::Internal, "a node answered with what is not JSON"};
  }
  return value;
}

struct ReplicaState {
  std::uint64_t applied = 0;
  std::string hash;
};

// Replicas of consecutive shards from `first` as one node sees them; a page, not all of them.
Result<std::vector<ReplicaState>> replica_page(client::Client& client,
                                               std::uint32_t node_id,
                                               std::uint32_t first,
                                               std::uint32_t count) {
  GCOORD_TRY(const Json page, parsed(client.shard_list(node_id, first, count)));
  std::vector<ReplicaState> rows;
  for (const Json& row : page["rows"]) {
    rows.push_back({std::stoull(row.value("applied", std::string{"0"})),
                    row.value("state_hash", std::string{})});
  }
  if (rows.empty()) {
    return Status{StatusCode::Internal, "a node listed no shards"};
  }
  return rows;
}

// One pass over the shards [first, first + count) of all nodes; returns how many it compared.
Result<std::uint32_t> compare_page(client::Client& client,
                                   const AllLedOptions& options,
                                   std::uint32_t first,
                                   ReplicaAgreement& agreement) {
  std::vector<std::vector<ReplicaState>> nodes;
  std::size_t count = options.shards - first;
  for (const std::uint32_t node_id : options.node_ids) {
    GCOORD_TRY(auto rows, replica_page(client, node_id, first, static_cast<std::uint32_t>(count)));
    count = std::min(count, rows.size());
    nodes.push_back(std::move(rows));
  }
  for (std::size_t row = 0; row < count; ++row) {
    bool behind = false;
    bool different = false;
    for (const auto& node : nodes) {
      behind |= node[row].applied != nodes[0][row].applied;
      different |= node[row].hash != nodes[0][row].hash;
    }
    const bool broken = different && !behind;
    if (broken && agreement.shards_different == 0) {
      agreement.first_different = first + static_cast<std::uint32_t>(row);
    }
    agreement.shards_behind += behind ? 1u : 0u;
    agreement.shards_different += broken ? 1u : 0u;
  }
  agreement.shards_compared += static_cast<std::uint32_t>(count);
  return static_cast<std::uint32_t>(count);
}

Result<ReplicaAgreement> compare_once(client::Client& client, const AllLedOptions& options) {
  ReplicaAgreement agreement;
  for (std::uint32_t first = 0; first < options.shards;) {
    GCOORD_TRY(const std::uint32_t count, compare_page(client, options, first, agreement));
    first += count;
  }
  return agreement;
}

std::uint32_t leaders_of(const Json& status) {
  return JsonMembers(status).number<std::uint32_t>("leaders");
}

// How many shards the nodes lead together.
Result<std::uint64_t> led_shards(client::Client& client, const AllLedOptions& options) {
  std::uint64_t led = 0;
  for (const std::uint32_t node_id : options.node_ids) {
    const auto status = node_status(client, node_id);
    const auto& silent = options.may_be_silent;
    if (!status.ok() && std::find(silent.begin(), silent.end(), node_id) == silent.end()) {
      return status.status();
    }
    led += status.ok() ? leaders_of(status.value()) : 0u;
  }
  return led;
}

// Whether the node votes in all shards. One that was replaced says so itself; one of a cluster in
// which none ever was has nothing to say.
bool votes_everywhere(const Json& status, bool replaced, std::uint32_t shards) {
  const Json& memory = status["memory"];
  return memory.is_object() ? JsonMembers(memory).number<std::uint32_t>("voting") == shards &&
                                  !memory.value("rejoining", true)
                            : !replaced;
}

// What the first node that is not at full strength says; empty: all are.
std::string find_weak(client::Client& client,
                      const std::vector<std::uint32_t>& rejoined,
                      const AllLedOptions& options) {
  for (const std::uint32_t node_id : options.node_ids) {
    const auto status = node_status(client, node_id);
    if (!status.ok()) {
      return status.status().to_string();
    }
    const bool replaced = std::find(rejoined.begin(), rejoined.end(), node_id) != rejoined.end();
    if (!votes_everywhere(status.value(), replaced, options.shards)) {
      return "node " + std::to_string(node_id) + " " + status.value()["memory"].dump();
    }
  }
  return {};
}

}  // namespace

Status from_client(const client::Status& status) {
  if (status.ok()) {
    return Status{};
  }
  return Status{static_cast<StatusCode>(status.code()), status.message(), status.detail()};
}

Result<Json> node_status(client::Client& client, std::uint32_t node_id) {
  return parsed(client.node_status(node_id));
}

Result<std::vector<std::uint32_t>> leader_counts(client::Client& client,
                                                 const std::vector<std::uint32_t>& node_ids) {
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t node_id : node_ids) {
    GCOORD_TRY(const Json status, node_status(client, node_id));
    counts.push_back(leaders_of(status));
  }
  return counts;
}

Result<std::chrono::milliseconds> wait_all_led(client::Client& client,
                                               Clock::time_point since,
                                               const AllLedOptions& options) {
  const auto deadline = Clock::now() + options.timeout;
  std::string seen = "no answer";
  while (Clock::now() < deadline) {
    const auto led = led_shards(client, options);
    const auto now = elapsed(since);
    if (led.ok()) {
      if (led.value() == options.shards) {
        return now;
      }
      seen = std::to_string(led.value()) + " of " + std::to_string(options.shards) + " shards led";
    } else {
      seen = led.status().to_string();
    }
    std::this_thread::sleep_for(options.poll_interval);
  }
  return Status{StatusCode::DeadlineExceeded,
                "not every shard has a leader after " + std::to_string(options.timeout.count()) +
                    " ms: " + seen};
}

Result<std::chrono::milliseconds> wait_full_strength(client::Client& client,
                                                     Clock::time_point since,
                                                     const std::vector<std::uint32_t>& rejoined,
                                                     const AllLedOptions& options) {
  const auto deadline = Clock::now() + options.timeout;
  std::string seen = "no answer";
  while (Clock::now() < deadline) {
    const auto weak = find_weak(client, rejoined, options);
    if (weak.empty()) {
      return elapsed(since);
    }
    seen = weak;
    std::this_thread::sleep_for(options.poll_interval);
  }
  return Status{StatusCode::DeadlineExceeded,
                "not every node votes in all shards after " +
                    std::to_string(options.timeout.count()) + " ms: " + seen};
}

Result<ReplicaAgreement> compare_replicas(client::Client& client, const AllLedOptions& options) {
  const auto deadline = Clock::now() + options.timeout;
  for (;;) {
    auto agreement = compare_once(client, options);
    // A busy node tells its applied index a turn after its state, and one that has just begun to
    // serve is not connected yet: what really differs, or cannot be reached, stays so.
    if ((agreement.ok() && agreement.value().agree()) || Clock::now() >= deadline) {
      return agreement;
    }
    std::this_thread::sleep_for(options.poll_interval);
  }
}

}  // namespace gcoord::chaos
