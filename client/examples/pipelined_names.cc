// One client, a thousand names at once: nothing waits for anything but its own answer.
#include "example.h"

#include <vector>

int main() {
  constexpr int kNames = 1'000;
  auto client = example::connect();
  auto session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));

  std::vector<gcoord::client::Future<gcoord::client::Result<gcoord::client::Lock>>> coming;
  for (int number = 0; number < kNames; ++number) {
    coming.push_back(session.acquire_async("examples/name-" + std::to_string(number)));
  }
  std::vector<gcoord::client::Lock> locks;
  for (auto& future : coming) {
    locks.push_back(example::value_of(future.get()));
  }

  std::vector<gcoord::client::Future<gcoord::client::Status>> going;
  for (auto& lock : locks) {
    going.push_back(lock.release_async());
  }
  for (auto& future : going) {
    const auto status = future.get();
    example::expect(status.ok(), status.to_string());
  }
  const auto statistics = client.statistics();
  std::printf("%d locks taken and given back: %llu requests in %llu frames\n",
              kNames,
              static_cast<unsigned long long>(statistics.requests),
              static_cast<unsigned long long>(statistics.frames));
  return 0;
}
