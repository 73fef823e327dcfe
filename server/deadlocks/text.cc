#include "server/deadlocks/text.h"

#include "common/json/value.h"
#include "common/text/printable.h"

namespace gcoord::server {

namespace {

// Room for the words that say that there are more.
constexpr std::size_t kRestBytes = 64;

std::string step_text(const DeadlockWait& wait) {
  const DeadlockHolder& holder = wait.holders.front();
  std::string text = "session " + std::to_string(wait.session.value) + " waits for " +
                     in_quotes(wait.name) + " (shard " + std::to_string(wait.shard.value) +
                     "), which session " + std::to_string(holder.session.value) +
                     " holds under token " + std::to_string(holder.token.value);
  const std::size_t others = wait.holders.size() - 1;
  return others == 0 ? text : text + " beside " + std::to_string(others) + " who wait as well";
}

Json step_json(const DeadlockWait& wait) {
  Json holders = Json::array();
  for (const DeadlockHolder& holder : wait.holders) {
    holders.push_back({{"session", std::to_string(holder.session.value)},
                       {"token", std::to_string(holder.token.value)}});
  }
  return {{"session", std::to_string(wait.session.value)},
          {"sequence", std::to_string(wait.sequence.value)},
          {"name", wait.name},
          {"shard", wait.shard.value},
          {"index", std::to_string(wait.enqueued_at.value)},
          {"waited_ms", wait.waited_ms},
          {"holders", holders}};
}

}  // namespace

std::string deadlock_text(std::span<const DeadlockWait> ring, std::size_t victim) {
  std::string text;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::string step = step_text(ring[(victim + i) % ring.size()]);
    if (text.size() + step.size() + kRestBytes > kDeadlockTextMax) {
      return text + "; and " + std::to_string(ring.size() - i) + " more";
    }
    text += (text.empty() ? "" : "; ") + step;
  }
  return text;
}

std::string deadlock_json(std::uint32_t interval_ms,
                          NodeId coordinator,
                          std::span<const DeadlockShown> shown) {
  Json deadlocks = Json::array();
  for (const DeadlockShown& each : shown) {
    Json ring = Json::array();
    for (const DeadlockWait& wait : each.ring) {
      ring.push_back(step_json(wait));
    }
    deadlocks.push_back({{"time_ms", std::to_string(each.wall_ms)},
                         {"victim", std::to_string(each.ring[each.victim].session.value)},
                         {"cycle", ring}});
  }
  return Json{
      {"interval_ms", interval_ms}, {"coordinator", coordinator.value}, {"deadlocks", deadlocks}}
      .dump();
}

}  // namespace gcoord::server
