#include "server/endpoints/input_queue.h"

#include "server/endpoints/connection.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gcoord::server {

namespace {

Counter& turns_of(MetricsRegistry& metrics, const char* kind) {
  return metrics.counter({"gcoord_server_client_turns_total",
                          "Turns of connections that took their requests: of few at a time "
                          "(light), or of more than one turn takes (bulk).",
                          "kind",
                          kind});
}

}  // namespace

InputQueue::InputQueue(std::function<std::uint64_t()> now_us, MetricsRegistry& metrics)
    : now_us_(std::move(now_us)),
      light_turns_(turns_of(metrics, "light")),
      bulk_turns_(turns_of(metrics, "bulk")),
      waiting_(metrics.gauge({"gcoord_server_connections_waiting",
                              "Client connections whose requests wait for the next pass.",
                              "",
                              ""})) {}

void InputQueue::add(std::shared_ptr<Connection> connection, bool bulk) {
  (bulk ? bulk_ : light_).push_back(std::move(connection));
}

void InputQueue::serve_first(Queue& queue, std::size_t request_count_max) {
  const std::shared_ptr<Connection> connection = std::move(queue.front());
  queue.pop_front();
  (&queue == &light_ ? light_turns_ : bulk_turns_).add();
  const bool light = &queue == &light_;
  if (connection->take_turn(request_count_max)) {
    bulk_.push_back(connection);
  } else if (light) {
    note_light(connection->id(), now_us_());
  }
}

void InputQueue::note_light(protocol::ConnectionId connection, std::uint64_t now_us) {
  if (lights_[0].connection != connection) {
    lights_[1] = lights_[0];
  }
  lights_[0] = {connection, now_us};
}

// Two are enough: at least one of them is another connection.
bool InputQueue::serves_others(protocol::ConnectionId than, std::uint64_t now_us) const {
  return std::ranges::any_of(lights_, [&](const Light& light) {
    return light.connection.value != 0 && light.connection != than &&
           now_us - light.at_us < kLatelyUs;
  });
}

void InputQueue::serve_light(std::uint64_t began_us) {
  while (!light_.empty()) {
    serve_first(light_, kRequestsOfTurn);
    if (now_us_() - began_us >= kPassUs) {
      return;
    }
  }
}

void InputQueue::serve_bulk(std::uint64_t began_us) {
  const std::uint64_t now_us = now_us_();
  const bool beside = serves_others(bulk_.front()->id(), now_us);
  if (beside && !bulk_share_.open(now_us)) {
    return;
  }
  bulk_share_.use();
  const std::uint64_t until_us = beside ? now_us + kBulkUs : began_us + kPassUs;
  do {
    serve_first(bulk_, beside ? kBulkRequests : kRequestsOfTurn);
  } while (!bulk_.empty() && now_us_() < until_us);
}

bool InputQueue::serve() {
  const std::uint64_t began_us = now_us_();
  bulk_share_.begin_pass(began_us);
  const bool light = !light_.empty();
  serve_light(began_us);
  if (!bulk_.empty()) {
    serve_bulk(began_us);
  }
  waiting_.set(static_cast<std::int64_t>(size()));
  return light || bulk_share_.used();
}

std::uint64_t InputQueue::until_next_us() const {
  if (size() == 0) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  const std::uint64_t now_us = now_us_();
  const bool held =
      light_.empty() && !bulk_share_.open(now_us) && serves_others(bulk_.front()->id(), now_us);
  return held ? std::min(bulk_share_.from_us(), lights_[0].at_us + kLatelyUs) - now_us : 0;
}

}  // namespace gcoord::server
