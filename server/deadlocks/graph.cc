#include "server/deadlocks/graph.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gcoord::server {

namespace {

using sessions::kNoVertex;
using sessions::WaitCycles;
using sessions::WaitEdge;

class Graph {
 public:
  explicit Graph(std::span<const DeadlockWait> waits) : waits_(waits) {
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const std::uint32_t from = session_vertex(waits[i].session);
      waits_of_[from].push_back(i);
      std::uint32_t waiter = from;
      if (by_any(waits[i])) {
        waiter = add_vertex(1);
        wait_of_.emplace(waiter, i);
        edges_.push_back({from, waiter});
      }
      for (const DeadlockHolder& holder : waits[i].holders) {
        edges_.push_back({waiter, session_vertex(holder.session)});
      }
    }
  }

  // Keeps the pointers of all who are stuck, if there are any.
  Result<WaitCycles> search(const WaitSearch& search) {
    GCOORD_TRY(sessions::WaitFindings found, search(edges_, any_));
    choice_ = std::move(found.choices);
    return std::move(found.cycles);
  }

  // The circle that the pointers make from `first` on, and all that it stands on; none when that is
  // too much.
  std::optional<Deadlock> deadlock_from(std::uint32_t first) {
    Deadlock found;
    std::unordered_set<std::uint32_t> seen;
    std::vector<std::uint32_t> open;
    for (std::uint32_t vertex = first; seen.insert(vertex).second; vertex = choice_[vertex]) {
      visited_.insert(vertex);
      add_step(vertex, choice_[vertex], found.evidence, open);
    }
    found.ring = found.evidence.size();
    while (!open.empty() && found.evidence.size() <= kDeadlockEvidenceMax) {
      const std::uint32_t vertex = open.back();
      open.pop_back();
      if (seen.insert(vertex).second) {
        const std::uint32_t next = choice_[vertex];
        add_step(vertex, next, found.evidence, open);
        open.push_back(next);
      }
    }
    if (found.evidence.size() > kDeadlockEvidenceMax) {
      return std::nullopt;
    }
    found.victim = youngest(found);
    return found;
  }

  bool visited(std::uint32_t vertex) const { return visited_.contains(vertex); }

 private:
  static bool by_any(const DeadlockWait& wait) { return wait.any && wait.holders.size() > 1; }

  std::uint32_t add_vertex(std::uint8_t any) {
    any_.push_back(any);
    return static_cast<std::uint32_t>(any_.size() - 1);
  }

  std::uint32_t session_vertex(SessionId session) {
    const auto [found, added] = vertex_of_.try_emplace(session.value, 0);
    if (added) {
      found->second = add_vertex(0);
      session_of_.emplace(found->second, session);
    }
    return found->second;
  }

  // The wait for which the session's pointer leads to another session.
  DeadlockWait wait_between(std::uint32_t vertex, std::uint32_t next) const {
    const SessionId holder = session_of_.at(next);
    for (const std::size_t i : waits_of_.at(vertex)) {
      for (const DeadlockHolder& each : waits_[i].holders) {
        if (each.session == holder && !by_any(waits_[i])) {
          DeadlockWait wait = waits_[i];
          wait.holders = {each};
          return wait;
        }
      }
    }
    GCOORD_ASSERT(false);  // Every pointer is an edge, and every edge a wait.
    return {};
  }

  // What the pointer of a vertex stands on. A session that points to a wait of its own says
  // nothing more than that wait.
  void add_step(std::uint32_t vertex,
                std::uint32_t next,
                std::vector<DeadlockWait>& evidence,
                std::vector<std::uint32_t>& open) {
    GCOORD_ASSERT(next != kNoVertex);
    if (const auto wait = wait_of_.find(vertex); wait != wait_of_.end()) {
      evidence.push_back(waits_[wait->second]);
      for (const DeadlockHolder& holder : evidence.back().holders) {
        open.push_back(vertex_of_.at(holder.session.value));
      }
    } else if (!wait_of_.contains(next)) {
      evidence.push_back(wait_between(vertex, next));
    }
  }

  static std::size_t youngest(const Deadlock& deadlock) {
    const auto ring = std::span{deadlock.evidence}.first(deadlock.ring);
    const auto later = [](const DeadlockWait& a, const DeadlockWait& b) {
      if (a.waited_ms != b.waited_ms) {
        return a.waited_ms < b.waited_ms;
      }
      return a.shard != b.shard ? b.shard < a.shard : b.enqueued_at < a.enqueued_at;
    };
    return static_cast<std::size_t>(std::ranges::min_element(ring, later) - ring.begin());
  }

  std::span<const DeadlockWait> waits_;
  std::vector<WaitEdge> edges_;
  std::vector<std::uint8_t> any_;
  std::unordered_map<std::uint64_t, std::uint32_t> vertex_of_;  // By session.
  std::unordered_map<std::uint32_t, SessionId> session_of_;
  std::unordered_map<std::uint32_t, std::size_t> wait_of_;  // Vertices that are waits.
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> waits_of_;
  std::vector<std::uint32_t> choice_;          // By vertex.
  std::unordered_set<std::uint32_t> visited_;  // In circles that were made.
};

}  // namespace

Result<DeadlockSearch> find_deadlocks(const WaitSearch& search,
                                      std::span<const DeadlockWait> waits) {
  DeadlockSearch result;
  Graph graph(waits);
  GCOORD_TRY(const WaitCycles cycles, graph.search(search));
  result.settled = cycles.settled;
  for (const WaitEdge& each : cycles.on_cycle) {
    if (graph.visited(each.from)) {
      continue;
    }
    auto found = graph.deadlock_from(each.from);
    result.oversized += found.has_value() ? 0 : 1;
    if (found.has_value()) {
      result.deadlocks.push_back(std::move(*found));
    }
    if (result.deadlocks.size() == kDeadlocksPerLook) {
      break;
    }
  }
  return result;
}

}  // namespace gcoord::server
