#include "chaos/demo/final_sweep.h"

#include "chaos/demo/lane.h"
#include "chaos/process/cluster_watch.h"

#include <future>
#include <memory>
#include <set>

namespace gcoord::chaos {

namespace {

// What all answers go into: of the client's thread until the last one is in.
struct Answers {
  SweepResult result;
  std::size_t missing = 0;
  std::promise<void> complete;
};

}  // namespace

Result<SweepResult> sweep_names(client::Client& client,
                                const std::vector<Operation>& history,
                                std::chrono::milliseconds wait) {
  std::set<std::string> names;
  for (const Operation& operation : history) {
    if (operation.op == Op::Acquire) {
      names.insert(operation.key);
    }
  }
  auto opened = client.open_session({.ttl = std::chrono::seconds{30}});
  if (!opened.ok()) {
    return from_client(opened.status());
  }
  client::Session session = std::move(opened).value();
  if (names.empty()) {
    return SweepResult{};
  }
  // Shared, so that an answer after a failure of this function finds it alive.
  auto answers = std::make_shared<Answers>();
  answers->missing = names.size();
  auto complete = answers->complete.get_future();
  for (const std::string& name : names) {
    Operation asked{.op = Op::Acquire,
                    .kind = AcquireKind::Wait,
                    .key = name,
                    .session = session.id(),
                    .call_ns = history_now_ns()};
    session.acquire_async(name, {.wait = wait}, [answers, asked](auto grant) {
      Operation told = asked;
      told.return_ns = history_now_ns();
      told.outcome = outcome_of(grant.status());
      told.reason = reason_of(grant.status());
      told.token = grant.ok() ? grant.value().token : 0;
      if (!grant.ok()) {
        answers->result.stuck.push_back(told.key);
      }
      answers->result.operations.push_back(std::move(told));
      if (--answers->missing == 0) {
        answers->complete.set_value();
      }
    });
  }
  // The library answers each request by its wait and its deadline.
  if (complete.wait_for(wait + std::chrono::seconds{10}) != std::future_status::ready) {
    return Status{StatusCode::DeadlineExceeded, "the final sweep got no answer"};
  }
  return std::move(answers->result);
}

}  // namespace gcoord::chaos
