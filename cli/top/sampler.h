// Questions to the cluster, and the samples that the answers make.
//
// A round asks each node for its status once and reads its page of metrics once; a node that has
// not answered the round before is not asked again. One watch of all names tells their changes.
// Answers come on other threads and wake the caller; what is late makes nobody wait. The caller is
// one thread.
#pragma once

#include "cli/terminal/wake_sources.h"
#include "cli/top/name_watch.h"
#include "cli/top/samples/model.h"
#include "cli/top/scraper.h"
#include "cli/top/worker.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gcoord::cli::top {

class Sampler {
 public:
  // `answered` is woken with each answer, and outlives this. `scraping` is how pages of
  // metrics are read.
  Sampler(client::Client client, const Waker& answered, ScrapeOptions scraping);

  // Does not wait for nodes, but for a page of metrics that is under way.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Starts the watch; blocks as Client::watch does. After a failure no changes are told.
  client::Status watch_names() { return names_.begin(); }

  // The client, for its errors.
  const client::Client& client() const { return client_; }

  // Begins a round.
  void ask_nodes();

  // Whether every node that this round asked has answered.
  bool all_answered() const;

  // What is there of this round; nodes without an answer say so. Changes count from one take to the
  // next.
  Sample take();

  // Asks for one lock with its waiters; not while the question before is open. Its changes are kept
  // from now on. An empty name: none.
  void ask_lock(const std::string& name);
  std::optional<LockReading> take_lock();

  std::vector<Change> changes() const { return names_.followed(); }

  // Asks one node who leads which shard; not while the question before is open.
  void ask_leaders();
  std::optional<std::vector<std::uint32_t>> take_leaders();

 private:
  // Everything that belongs to one node.
  struct Probe {
    explicit Probe(const ScrapeOptions& options) : scraper(options) {}

    Scraper scraper;  // Of the worker's thread.
    std::uint64_t asked_ms = 0;
    Worker worker;  // Ends first.
  };

  std::uint64_t now_ms() const;
  NodeReading ask(const client::NodeView& node, Scraper& scraper);
  void deliver(NodeReading reading);
  void deliver_lock(LockReading reading);

  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const ScrapeOptions scraping_;
  const Waker& answered_;
  client::Client client_;  // Is closed before what follows ends.
  NameWatch names_;
  std::vector<client::NodeView> nodes_;    // Of this round.
  std::map<std::uint32_t, Probe> probes_;  // By node.
  mutable std::mutex mutex_;               // Guards what follows.
  std::map<std::uint32_t, NodeReading> readings_;
  std::set<std::uint32_t> open_;     // Nodes that were asked and have not answered.
  std::set<std::uint32_t> waiting_;  // Those of them that this round asked.
  std::optional<LockReading> lock_;
  bool lock_open_ = false;
  std::optional<std::vector<std::uint32_t>> leaders_;
  bool leaders_open_ = false;
};

}  // namespace gcoord::cli::top
