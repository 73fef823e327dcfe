// The health checks of one session: when each runs, and what their outcomes mean for the session.
//
// They run once before there is a session; then bind() says which one they are of. A session whose
// checks fail is withheld from the keeper, which sends no keep-alive for it, or it is ended, as the
// program asked (gcoord/health.h). Nothing else ends a session for its health: no node knows of the
// checks. On the client's thread only; time is the client's clock.
#pragma once

#include "client/core/core.h"
#include "client/health/health_probe.h"
#include "client/records/session_record.h"
#include "gcoord/health.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::client {

class SessionChecks : public std::enable_shared_from_this<SessionChecks> {
 public:
  using Passed = std::function<void(Status)>;

  // The health is one that check_health() allows, and has checks.
  SessionChecks(Core& core, SessionHealth health);

  // Runs each once: Ok when all pass, else GC6350 with the evidence of the first that does not.
  void run_first(Passed passed);

  // From now on they are of this session, which keeps them.
  void bind(const std::shared_ptr<SessionRecord>& session);

  // Breaks off what runs; nothing runs after that.
  void stop();

 private:
  struct Entry {
    HealthCheck check;
    std::shared_ptr<HealthProbe> probe;  // None between runs.
    std::uint64_t run = 0;
    TimePoint started{};
    TimePoint next{};
    std::uint32_t failures_in_row = 0;
    bool failing = false;
    bool passed_once = false;
  };

  void end_with_client();
  void give_up();
  void look();
  void start(std::size_t index);
  void on_found(std::size_t index, std::uint64_t run, bool passed, const std::string& evidence);
  void on_first(std::size_t index, bool passed, const std::string& evidence);
  void count(std::size_t index, bool passed, const std::string& evidence);
  void decide(bool healthy);
  void arm();
  bool healthy() const;

  Core& core_;
  SessionHealth health_;
  std::vector<Entry> entries_;
  Passed passed_;                         // While they run for the first time.
  std::weak_ptr<SessionRecord> session_;  // When they are of one.
  std::set<TimePoint> alarms_;            // That will ring.
  bool ends_with_client_ = false;
  bool stopped_ = false;
};

// Runs a session's checks for the first time, if it has any, and goes on with them, or with none.
// GC6352 and GC6350 instead. The callback runs on the client's thread, or at once.
void check_first(const std::shared_ptr<Core>& core,
                 SessionHealth health,
                 const std::function<void(Result<std::shared_ptr<SessionChecks>>)>& then);

}  // namespace gcoord::client
