// Nodes that elect a coordinator over a network of this process: every message takes one tick, none
// is lost but those to a failed node or over a cut. It counts what they send, which is what the two
// algorithms are compared by (docs/internals/coordinators.md).
//
// Deterministic. Host only; one thread.
#pragma once

#include "membership/coordinator/step.h"

#include <array>
#include <cstdint>
#include <vector>

namespace gcoord::coordinator {

struct NetworkOptions {
  Method method = Method::Bully;
  // By place, all different; how many there are is how many nodes. Bullies have their places.
  std::vector<std::uint8_t> ranks;
  std::uint16_t patience_ticks = 4;  // More than a question and its answer take.
};

struct Traffic {
  std::array<std::uint64_t, 4> of_kind{};  // By MessageKind; 0 is not used.
  std::uint64_t ticks = 0;                 // Until the last node was at rest.

  std::uint64_t sum() const { return of_kind[1] + of_kind[2] + of_kind[3]; }

  std::uint64_t of(MessageKind kind) const { return of_kind[static_cast<std::size_t>(kind)]; }
};

class Network {
 public:
  explicit Network(const NetworkOptions& options);

  // The node says and hears nothing any more.
  void fail(std::uint8_t place);

  // A failed one is back; it knows what it knew, and stands.
  void recover(std::uint8_t place);

  // `place` finds that `failed` does not answer.
  void suspect(std::uint8_t place, std::uint8_t failed);

  // It stands of its own accord.
  void stand(std::uint8_t place);

  // Messages pass between nodes of one side only; a bit by place. 0: between all.
  void cut(std::uint64_t side) { side_ = side; }

  // Until every node is at rest; false when they are not after so many ticks. What was sent since
  // the last run is in `traffic`.
  bool run(std::uint64_t ticks_max, Traffic& traffic);

  const NodeRow& row(std::uint8_t place) const { return rows_[place]; }

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(rows_.size()); }

 private:
  void take(const Outbox& out);
  bool passes(const Message& message) const;
  bool at_rest() const;

  std::vector<NodeRow> rows_;
  std::uint64_t failed_ = 0;
  std::uint64_t side_ = 0;
  std::uint64_t tick_ = 0;
  std::vector<Message> under_way_;
  Traffic traffic_;
};

// The ranks that cost a ring most, and least, when all stand at once; by place.
std::vector<std::uint8_t> ranks_falling(std::uint32_t node_count);
std::vector<std::uint8_t> ranks_rising(std::uint32_t node_count);

}  // namespace gcoord::coordinator
