// Clients that go on while somebody changes the cluster around them: each locks and unlocks a name
// of its own, one watch sees all of it, and one program begins anew again and again.
//
// Nothing is tried again beyond what the library does: every error that it returns is a failure
// here, and so are an end of the watch and a grant that it did not tell. One thread makes, asks and
// ends it; the clients have threads of their own.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::bench {

struct SteadyLoadOptions {
  client::ClientOptions client;
  std::string name;  // Of the load; its locks begin with it.
  std::uint32_t clients = 3;
  bool begins_anew = true;  // Besides, a program that connects, is served and ends, in a loop.
};

struct SteadyLoadResult {
  std::string name;
  std::uint64_t pairs = 0;        // Of lock and unlock, acknowledged.
  std::uint64_t connections = 0;  // Programs that began, were served, and ended.
  std::uint64_t told = 0;         // Grants that the watch told.
  double longest_ms = 0;          // The slowest pair.
  std::uint64_t failed = 0;
  std::vector<std::string> failures;  // The first of them.

  Json json() const;
};

class SteadyLoad {
 public:
  static Result<std::unique_ptr<SteadyLoad>> start(SteadyLoadOptions options);

  ~SteadyLoad();
  SteadyLoad(const SteadyLoad&) = delete;
  SteadyLoad& operator=(const SteadyLoad&) = delete;

  // Waits until there are so many more pairs, and two more programs have begun and ended since now
  // where they do.
  Status await_more(std::uint64_t pairs) const;

  // Ends the clients, waits for what the watch has not told yet, and says what there was.
  SteadyLoadResult stop();

 private:
  explicit SteadyLoad(SteadyLoadOptions options) : options_(std::move(options)) {}

  Status open();
  void run_client(std::uint32_t number, client::Session& session);
  void run_programs();
  bool begin_and_end(std::uint64_t number);
  bool note(const std::string& what, const client::Status& status);

  SteadyLoadOptions options_;
  std::unique_ptr<client::Client> client_;
  std::vector<client::Session> sessions_;
  std::unique_ptr<client::Watch> watch_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stops_{false};
  std::atomic<std::uint64_t> pairs_{0};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> told_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> longest_us_{0};
  std::mutex mutex_;  // Guards the next one.
  std::vector<std::string> failures_;
};

}  // namespace gcoord::bench
