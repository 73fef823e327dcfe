#include "server/peers/coordinator_driver.h"

#include <optional>
#include <string>

namespace gcoord::server {

using coordinator::ElectorCounts;
using coordinator::ElectorMessage;

static_assert(static_cast<int>(CoordinatorMethod::Raft) ==
              static_cast<int>(coordinator::kNoMethod));
static_assert(static_cast<int>(CoordinatorMethod::Bully) ==
              static_cast<int>(coordinator::Method::Bully));
static_assert(static_cast<int>(CoordinatorMethod::Ring) ==
              static_cast<int>(coordinator::Method::Ring));

CoordinatorDriver::CoordinatorDriver(const CoordinatorDriverOptions& options,
                                     MetricsRegistry& metrics,
                                     Environment environment)
    : method_(options.method),
      environment_(std::move(environment)),
      elector_({.node = options.node,
                .nodes = options.nodes,
                .method = static_cast<coordinator::Method>(options.method),
                .tick_ms = options.tick_ms,
                .election_ticks = options.election_ticks},
               *this) {
  register_metrics(metrics);
}

void CoordinatorDriver::register_metrics(MetricsRegistry& metrics) {
  const auto counter = [&metrics](const char* name, const char* help) {
    return &metrics.counter({std::string("gcoord_coordinator_") + name, help, "", ""});
  };
  constexpr std::array<const char*, kSentKinds> kSentNames = {
      "election", "answer", "coordinator", "again", "method"};
  for (std::size_t k = 0; k < kSentKinds; ++k) {
    sent_[k] = &metrics.counter({"gcoord_coordinator_messages_total",
                                 "Messages of elections by bully or ring, by purpose.",
                                 "word",
                                 kSentNames[k]});
  }
  elections_ = counter("elections_total", "Elections in which this node was a candidate.");
  won_ = counter("elections_won_total", "Elections that this node won.");
  changes_ = counter("changes_total", "Changes of the coordinator, the first one included.");
  dropped_ = counter("messages_bad_total", "Dropped messages of peers about the coordinator.");
  other_method_ = counter("messages_other_method_total",
                          "Dropped messages of peers with another election method.");
  node_ = &metrics.gauge(
      {"gcoord_coordinator_node",
       "Node id of the coordinator elected by bully or ring; 0: none is known, or raft.",
       "",
       ""});
}

// What the elector counted since the last time.
void CoordinatorDriver::count_up() {
  const ElectorCounts& now = elector_.counts();
  for (std::size_t k = 0; k < kSentKinds; ++k) {
    sent_[k]->add(now.sent[k] - counted_.sent[k]);
  }
  elections_->add(now.elections - counted_.elections);
  won_->add(now.won - counted_.won);
  changes_->add(now.changes - counted_.changes);
  dropped_->add(now.dropped - counted_.dropped);
  other_method_->add(now.other_method - counted_.other_method);
  counted_ = now;
  node_->set(elector_.last_known().value);
}

void CoordinatorDriver::set_nodes(std::span<const NodeId> nodes) {
  elector_.set_nodes(nodes);
  count_up();
}

void CoordinatorDriver::on_tick(Tick now) {
  if (elector_.on_tick(now)) {
    elector_.on_peers(environment_.peers(), now);
    count_up();
  }
}

bool CoordinatorDriver::is_ours(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kCoordinatorKind;
}

void CoordinatorDriver::on_message(NodeId from, std::span<const std::byte> bytes, Tick now) {
  const std::optional<CoordinatorMessage> message = decode_coordinator(bytes);
  if (message.has_value()) {
    elector_.on_message(from,
                        {.method = static_cast<coordinator::Method>(message->method),
                         .word = message->word,
                         .hops = message->hops,
                         .subject = message->subject},
                        now);
  } else {
    elector_.on_bad_message();
  }
  count_up();
}

void CoordinatorDriver::send(NodeId to, const ElectorMessage& message) {
  environment_.send(to,
                    encode_coordinator({.method = static_cast<CoordinatorMethod>(message.method),
                                        .word = message.word,
                                        .hops = message.hops,
                                        .subject = message.subject}));
}

void CoordinatorDriver::on_new_coordinator(NodeId node) {
  if (change_sink_) {
    change_sink_(node);
  }
}

CoordinatorView CoordinatorDriver::view() const {
  const ElectorCounts& counts = elector_.counts();
  CoordinatorView view{
      .method = method_,
      .coordinator = elector_.last_known(),
      .elections = counts.elections,
      .won = counts.won,
      .changes = counts.changes,
      .sent_election = counts.sent[ElectorCounts::kElection],
      .sent_answer = counts.sent[ElectorCounts::kAnswer],
      .sent_coordinator = counts.sent[ElectorCounts::kCoordinator],
      .sent_again = counts.sent[ElectorCounts::kAgain],
      .dropped = counts.dropped,
      .other_method = counts.other_method,
  };
  for (const auto& [node, method] : elector_.others()) {
    view.others.emplace_back(node, static_cast<CoordinatorMethod>(method));
  }
  return view;
}

}  // namespace gcoord::server
