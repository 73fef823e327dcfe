#include "cli/verbs/grant_wait.h"

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <utility>

namespace gcoord::cli {

GrantWait wait_for_grant(client::Session& session,
                         const std::vector<std::string>& names,
                         client::AcquireOptions how,
                         const SignalFd& signals) {
  std::stop_source stop;
  const std::stop_token stopped = stop.get_token();
  how.stop = &stopped;
  const auto waker = std::make_shared<Waker>();
  const auto promise = std::make_shared<std::promise<client::Result<client::MultiLock>>>();
  auto future = promise->get_future();
  session.acquire_all_async(names, how)
      .then([promise, waker](client::Result<client::MultiLock> locks) {
        promise->set_value(std::move(locks));
        waker->wake();
      });
  GrantWait wait;
  while (true) {
    wait_readable({waker->fd(), signals.fd()}, std::chrono::hours(1));
    const int arrived = signals.take();
    if (arrived == SIGTSTP) {
      ::raise(SIGSTOP);
    } else if (arrived != 0) {
      stop.request_stop();
      wait.signal = arrived;
      wait.granted = future.get();  // Soon: stopped, or the grant that was faster.
      return wait;
    }
    if (future.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready) {
      wait.granted = future.get();
      return wait;
    }
  }
}

}  // namespace gcoord::cli
