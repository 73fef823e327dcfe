// Two candidates, one leader; the second is elected as soon as the first resigns.
#include "example.h"

int main() {
  auto client = example::connect();
  auto first_session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));
  auto second_session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));
  auto first = first_session.election("examples/chief");
  auto second = second_session.election("examples/chief");

  auto status = first.campaign();
  example::expect(status.ok(), status.to_string());
  auto waiting = second.campaign_async();
  example::expect(first.is_leader() && !second.is_leader(), "one leads");
  const auto leader = example::value_of(client.leader("examples/chief"));
  example::expect(leader.session_id == first_session.id() && leader.epoch == first.epoch(),
                  "anybody can ask who");

  // In a real program: while (work.left() && first.is_leader()) { work.step(first.epoch()); }
  status = first.resign();
  example::expect(status.ok(), status.to_string());
  status = waiting.get();
  example::expect(status.ok(), status.to_string());
  example::expect(!first.is_leader() && second.is_leader(), "the next in line leads");
  example::expect(second.epoch() > first.epoch(), "under a higher epoch");
  std::printf("epochs %llu and %llu\n",
              static_cast<unsigned long long>(first.epoch()),
              static_cast<unsigned long long>(second.epoch()));
  return 0;
}
