// A lane of a worker: one session, one operation at a time, the next one when it is answered.
//
// All runs in callbacks on the client's thread, except resume(), which the worker's own thread
// calls for a lane that asked to be called later; the mutex of the worker's queue orders the two.
#pragma once

#include "chaos/check/history_file.h"
#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::chaos {

class Lane;

// What lanes of one worker share.
struct LaneSurroundings {
  client::Client& client;
  HistoryWriter& history;
  std::uint32_t process = 0;
  std::uint64_t seed = 1;
  std::atomic<bool>& stopping;

  // Calls lane.resume() after the delay, on another thread.
  std::function<void(Lane&, std::chrono::milliseconds)> call_later;

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

  // Ends the session; blocking, after the lane has ended.
  void close();

 private:
  enum class Next : std::uint8_t { Begin, Release };

  void begin();
  void choose();
  void on_grant(const client::Result<client::Grant>& grant);
  void check_held();
  void release();
  void on_released(const client::Status& status);
  void check_released();
  void on_checked(const client::Result<client::Verdict>& verdict);
  void pause_and_begin();
  std::uint64_t random();
  void record(const client::Status& status);
  void on_session_event(client::SessionEvent event);

  LaneSurroundings& around_;
  std::uint32_t number_;
  std::uint64_t drawn_ = 0;
  std::uint32_t own_name_number_ = 0;     // Rises when the state of the present name is unknown.
  std::vector<client::Session> session_;  // At most one: a Session has no empty state.
  std::uint64_t session_id_ = 0;
  std::atomic<bool> session_lost_{false};
  Next next_ = Next::Begin;
  Operation operation_;  // The one under way.
  std::chrono::milliseconds wait_{0};
  std::uint64_t token_ = 0;
};

// Names of the demo. Everybody wants the shared ones.
std::string shared_name(std::uint64_t number);
std::string forgotten_name(std::uint64_t number);

// Fail or unknown, by what the client was told; and why, where that says something about the name.
Outcome outcome_of(const client::Status& status);
Reason reason_of(const client::Status& status);

}  // namespace gcoord::chaos
