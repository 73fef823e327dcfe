#include "cli/completion/limited_client.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace gcoord::cli {

namespace {

client::Result<client::Client> connect(client::ClientOptions options,
                                       std::chrono::milliseconds time) {
  // A look-up of a service in DNS may take as long, and comes before it.
  options.connect_timeout = time / 2;
  options.request_timeout = time;
  return client::Client::connect(std::move(options));
}

}  // namespace

LimitedClient::LimitedClient(client::ClientOptions access, std::chrono::milliseconds time)
    : end_(std::chrono::steady_clock::now() + time), client_(connect(std::move(access), time)) {
  if (!client_.ok()) {
    return;
  }
  closes_ = std::jthread{[this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    never.wait_until(lock, stop, end_, [] { return false; });
    if (!stop.stop_requested()) {
      static_cast<void>(client_.value().close());
    }
  }};
}

}  // namespace gcoord::cli
