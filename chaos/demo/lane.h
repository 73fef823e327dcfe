// A lane of a worker: one session, one operation at a time, the next one when it is answered.
//
// All runs in callbacks on the client's thread, except resume() and reopen(), which the worker's
// own threads call for a lane that asked to be called later; the mutex of the worker's queue orders
// them.
#pragma once

#include "chaos/check/history_file.h"
#include "chaos/demo/guarded_store.h"
#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::chaos {

class Lane;

// How lanes go about their work. The default is the demo's.
struct LanePlan {
  std::string prefix = "demo";  // Of all names.
  // Longer than a failover takes, so that no lane loses its session to one.
  std::chrono::milliseconds session_ttl{10'000};
  // Time from the beginning of one round to that of the next, each of them two operations and more.
  // 0: as fast as the answers come.
  std::chrono::microseconds round_length{0};
  // Names that everybody wants are others after this long, so that no key's history grows for ever.
  std::chrono::milliseconds names_last{0};  // 0: they stay.
  // One in so many shared locks is held for long_hold, so that somebody who is stopped holds one.
  std::uint32_t long_hold_one_in = 0;  // 0: none.
  std::chrono::milliseconds long_hold{300};
  bool reopens = false;           // A lane that loses its session goes on with another.
  GuardedStore* store = nullptr;  // Written under every shared lock, or absent.
};

// What lanes of one worker share.
struct LaneSurroundings {
  client::Client& client;
  HistoryWriter& history;
  std::uint32_t process = 0;
  std::uint64_t seed = 1;
  std::atomic<bool>& stopping;
  const LanePlan& plan;

  // Calls lane.resume() after the delay, on another thread.
  std::function<void(Lane&, std::chrono::milliseconds)> call_later;

  // Calls lane.reopen() soon, on a thread that may block.
  std::function<void(Lane&)> reopen_later;

  // The lane has nothing under way any more and will start nothing.
  std::function<void()> ended;
};

class Lane {
 public:
  Lane(LaneSurroundings& surroundings, std::uint32_t number)
      : around_(surroundings), number_(number) {}

  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Opens the lane's session; blocking.
  client::Status open();

  // Begins the first operation, or goes on after call_later.
  void resume();

  // Opens another session in place of one that was lost, and goes on; blocking.
  void reopen();

  // Ends the session; blocking, after the lane has ended.
  void close();

 private:
  enum class Next : std::uint8_t { Begin, Release };

  void begin();
  bool is_early();
  void note_certain();
  void ask();
  void choose();
  void write_guarded();
  std::chrono::milliseconds hold_length();
  void on_grant(const client::Result<client::Grant>& grant);
  void check_held();
  void release();
  void on_released(const client::Status& status);
  void check_released();
  void on_checked(const client::Result<client::Verdict>& verdict);
  void pause_and_begin();
  std::uint64_t random();
  void record(const client::Status& status);

  LaneSurroundings& around_;
  std::uint32_t number_;
  std::uint64_t drawn_ = 0;
  std::uint32_t own_name_number_ = 0;     // Rises when the state of the present name is unknown.
  std::vector<client::Session> session_;  // At most one: a Session has no empty state.
  std::uint64_t session_id_ = 0;
  // Shared with the session's own events, which may come when the lane has another one.
  std::shared_ptr<std::atomic<bool>> session_lost_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<std::uint64_t>> certain_until_ns_;
  std::uint64_t round_due_ns_ = 0;
  std::uint32_t place_ = GuardedStore::kPlaces;  // Of the name under way, if the store is written.
  std::uint64_t values_written_ = 0;
  Next next_ = Next::Begin;
  Operation operation_;  // The one under way.
  std::chrono::milliseconds wait_{0};
  std::uint64_t token_ = 0;
};

// Everybody wants the shared ones.
std::string shared_name(const LanePlan& plan, std::uint64_t number);
std::string forgotten_name(const LanePlan& plan, std::uint64_t number);

// Fail or unknown, by what the client was told; and why, where that says something about the name.
Outcome outcome_of(const client::Status& status);
Reason reason_of(const client::Status& status);

}  // namespace gcoord::chaos
