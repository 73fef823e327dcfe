#include "chaos/fencing/fencing_worker.h"

#include "chaos/demo/guarded_store.h"
#include "chaos/fencing/fencing_board.h"
#include "chaos/fencing/lock_holder.h"
#include "chaos/process/cluster_watch.h"
#include "common/random.h"

#include <iostream>
#include <thread>

namespace gcoord::chaos {

namespace {

// Long enough that whoever is stopped most likely holds a lock.
constexpr std::uint32_t kHoldMsMin = 20;
constexpr std::uint32_t kHoldMsMax = 60;
constexpr std::chrono::milliseconds kErrorPause{20};

class FencingWorker {
 public:
  FencingWorker(const FencingWorkerOptions& options,
                GuardedStore& store,
                FencingBoard::Page& board,
                HistoryWriter& history)
      : options_(options), store_(store), board_(board), history_(history) {}

  // A name is contended for by the lanes of one number in all processes, and by no other: so a name
  // whose holder stands still holds up nobody else.
  void run_lane(std::uint32_t lane, LockHolder& holder) {
    const std::uint32_t place = options_.number * options_.lanes + lane;
    const std::string name = "fencing/" + std::to_string(lane);
    std::uint64_t drawn = 0;
    while (!board_.ended.load()) {
      const std::uint64_t word = random64(options_.number, lane, ++drawn);
      board_.waiting[lane].fetch_add(1);
      const auto token = holder.acquire(name);
      const std::uint32_t others = board_.waiting[lane].fetch_sub(1) - 1;
      if (!token.ok()) {
        board_.errors.fetch_add(1);
        std::this_thread::sleep_for(kErrorPause);
        continue;
      }
      board_.grants.fetch_add(1);
      board_.contended.fetch_add(others > 0 ? 1 : 0);
      write({name, lane, token.value()}, holder);
      board_.holds[place].store(true);
      const std::uint32_t hold = kHoldMsMin + random_below(mix64(word), kHoldMsMax - kHoldMsMin);
      std::this_thread::sleep_for(std::chrono::milliseconds{hold});
      write({name, lane, token.value()}, holder);
      board_.holds[place].store(false);
      if (!holder.release(name).ok()) {
        board_.errors.fetch_add(1);
      }
    }
  }

 private:
  struct Held {
    const std::string& name;
    std::uint32_t place;
    std::uint64_t token;
  };

  // The store knows the highest token in any case; only one that guards acts upon it.
  void write(const Held& held, const LockHolder& holder) {
    Operation written{.process = options_.number,
                      .op = Op::Write,
                      .key = held.name + "/store",
                      .value = std::to_string(++values_) + "." + std::to_string(options_.number),
                      .session = holder.session(),
                      .token = held.token,
                      .call_ns = history_now_ns()};
    const bool fresh = store_.write(held.place, held.token);
    const bool accepted = fresh || !options_.guarded;
    written.return_ns = history_now_ns();
    written.outcome = accepted ? Outcome::Ok : Outcome::Fail;
    written.reason = accepted ? Reason::None : Reason::Stale;
    history_.write(written);
    board_.writes.fetch_add(1);
    board_.stale_writes.fetch_add(fresh ? 0 : 1);
    board_.stale_accepted.fetch_add(!fresh && accepted ? 1 : 0);
  }

  const FencingWorkerOptions& options_;
  GuardedStore& store_;
  FencingBoard::Page& board_;
  HistoryWriter& history_;
  std::atomic<std::uint64_t> values_{0};
};

Result<std::unique_ptr<client::Client>> connect(const FencingWorkerOptions& options) {
  client::ClientOptions client_options;
  client_options.endpoints = options.endpoints;
  client_options.client_name = "gcoord-fencing-" + std::to_string(options.number);
  auto client = client::Client::connect(client_options);
  if (!client.ok()) {
    return from_client(client.status());
  }
  return std::make_unique<client::Client>(std::move(client).value());
}

}  // namespace

Status run_fencing_worker(const FencingWorkerOptions& options) {
  const auto file = options.directory / ("history-" + std::to_string(options.number) + ".jsonl");
  GCOORD_TRY(const auto history, HistoryWriter::open(file));
  GCOORD_TRY(const auto store, GuardedStore::open(options.directory / "store"));
  GCOORD_TRY(const auto board, FencingBoard::open(options.directory / "board"));
  std::unique_ptr<client::Client> client;
  if (!options.etcd) {
    GCOORD_TRY(client, connect(options));
  }
  std::vector<std::unique_ptr<LockHolder>> holders;
  for (std::uint32_t lane = 0; lane < options.lanes; ++lane) {
    holders.push_back(
        options.etcd
            ? make_etcd_holder(options.endpoints[lane % options.endpoints.size()], options.ttl)
            : make_gcoord_holder(*client, *history, options.number, options.ttl));
  }
  std::cout << "ready" << std::endl;
  FencingWorker worker{options, *store, board->page(), *history};
  std::vector<std::thread> lanes;
  for (std::uint32_t lane = 0; lane < options.lanes; ++lane) {
    lanes.emplace_back(
        [&worker, lane, &holder = *holders[lane]] { worker.run_lane(lane, holder); });
  }
  for (std::thread& lane : lanes) {
    lane.join();
  }
  holders.clear();
  client.reset();
  return history->close() ? Status{}
                          : Status{StatusCode::Unavailable, "the history could not be written"};
}

}  // namespace gcoord::chaos
