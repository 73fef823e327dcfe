#include "cli/completion/lock_names.h"

#include "common/text/printable.h"
#include "gcoord/client.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace gcoord::cli {
namespace {

// Closes a client at a moment, whatever it does then, unless this has ended before.
class ClosesAt {
 public:
  ClosesAt(client::Client& client, std::chrono::steady_clock::time_point moment)
      : thread_([&client, moment](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock{mutex};
          never.wait_until(lock, stop, moment, [] { return false; });
          if (!stop.stop_requested()) {
            static_cast<void>(client.close());
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

std::vector<std::string> lock_names(std::vector<std::string> endpoints,
                                    const std::string& beginning,
                                    const LockNameLimits& limits) {
  const auto end = std::chrono::steady_clock::now() + limits.time;
  client::ClientOptions options;
  options.endpoints = std::move(endpoints);
  // A look-up of a service in DNS may take as long, and comes before it.
  options.connect_timeout = limits.time / 2;
  options.request_timeout = limits.time;
  auto client = client::Client::connect(std::move(options));
  std::vector<std::string> names;
  if (!client.ok()) {
    return names;
  }
  const ClosesAt closes{client.value(), end};
  client::ListOptions query{.prefix = beginning, .limit = static_cast<std::uint32_t>(limits.names)};
  for (int page = 0; page < limits.pages; ++page) {
    const auto listed = client.value().list(query);
    if (!listed.ok()) {
      break;
    }
    for (const client::LockDescription& lock : listed.value().locks) {
      // One that begins as an option would be read as one.
      if (is_printable(lock.name) && !lock.name.starts_with('-')) {
        names.push_back(lock.name);
      }
    }
    query.cursor = listed.value().next_cursor;
    if (query.cursor.empty() || names.size() >= limits.names) {
      break;
    }
  }
  return names;
}

}  // namespace gcoord::cli
