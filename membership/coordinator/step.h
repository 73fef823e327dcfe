// Electing a coordinator among nodes that know each other, by the two classic algorithms.
//
//   Bully  Garcia-Molina, Elections in a Distributed Computing System, IEEE Trans. Computers
//   C-31(1),
//          1982, section III: whoever misses the coordinator asks all higher ones; one that hears
//          from none of them in time is the coordinator and tells all lower ones.
//   Ring   Chang and Roberts, An Improved Algorithm for Decentralized Extrema-Finding in Circular
//          Configurations of Processes, CACM 22(5), 1979: ranks travel in one direction, lower ones
//          are swallowed by higher ones; the rank that comes home has won and is told around.
//
// Both assume what a cluster cannot: that who does not answer in time has failed. Cut off from each
// other, two halves have a coordinator each. Nothing of gcoord's safety rests on them; what does is
// decided by majorities (consensus/step/step.h), and what clients elect by locks over that
// (docs/internals/coordinators.md compares them).
//
// A pure step over one node's row: (row, event) -> row and messages. Time is a tick in the event.
// Messages name nodes by place, 0 to node_count - 1; what comes from outside and cannot be is
// dropped and counted. No allocation; every loop bounded by kNodesMax. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::coordinator {

inline constexpr std::uint32_t kNodesMax = 64;
inline constexpr std::uint32_t kNoCoordinator = 0xff;

// Never renumber: it travels. 0 is no method of these (elector.h).
enum class Method : std::uint8_t { Bully = 1, Ring = 2 };

enum class MessageKind : std::uint8_t {
  Election = 1,     // Bully: is anybody higher alive? Ring: this rank stands.
  Answer = 2,       // Bully only: I am, and see to it.
  Coordinator = 3,  // `rank` of the one at place `subject` has won.
};

struct Message {
  MessageKind kind{};
  std::uint8_t from = 0;
  std::uint8_t to = 0;
  std::uint8_t subject = 0;  // Whose rank it is.
  std::uint8_t rank = 0;
};

struct Outbox {
  Message messages[kNodesMax];
  std::uint32_t count = 0;

  GCOORD_HD void push(const Message& message) {
    GCOORD_ASSERT(count < kNodesMax);
    messages[count] = message;
    ++count;
  }
};

enum class Phase : std::uint8_t {
  Idle,
  Asked,     // Bully: waits for an answer of anybody higher. Ring: a rank is on its way.
  Answered,  // Bully: somebody higher is alive; waits for its word.
};

struct NodeRow {
  Method method = Method::Bully;
  Phase phase = Phase::Idle;
  std::uint8_t self = 0;
  std::uint8_t rank = 0;  // Of a bully its place. In a ring any, of its own.
  std::uint8_t node_count = 1;
  std::uint8_t coordinator = kNoCoordinator;  // By place.
  std::uint16_t patience_ticks = 1;           // After which who does not answer counts as failed.
  std::uint64_t suspects = 0;                 // A bit by place: passed over by the ring.
  std::uint64_t deadline_tick = 0;            // While it is not idle.
  std::uint32_t dropped_count = 0;            // Messages that cannot be.
};

static_assert(sizeof(NodeRow) == 32);

// The next place of the ring that is not suspected; the node's own when it is alone.
GCOORD_HD inline std::uint8_t ring_next(const NodeRow& row) {
  std::uint32_t place = row.self;
  for (std::uint32_t i = 0; i < row.node_count; ++i) {
    place = place + 1 == row.node_count ? 0 : place + 1;
    if ((row.suspects >> place & 1) == 0) {
      break;
    }
  }
  return static_cast<std::uint8_t>(place);
}

GCOORD_HD inline void await_until(NodeRow& row, Phase phase, std::uint64_t tick) {
  row.phase = phase;
  row.deadline_tick = tick + row.patience_ticks;
}

// It is the coordinator now, and says so: to all lower ones, or around the ring.
GCOORD_HD inline void announce(NodeRow& row, Outbox& out) {
  row.coordinator = row.self;
  row.phase = Phase::Idle;
  Message message{MessageKind::Coordinator, row.self, ring_next(row), row.self, row.rank};
  if (row.method == Method::Ring) {
    if (message.to != row.self) {
      out.push(message);
    }
    return;
  }
  for (std::uint8_t place = 0; place < row.self; ++place) {
    message.to = place;
    out.push(message);
  }
}

// Begins an election.
GCOORD_HD inline void stand(NodeRow& row, std::uint64_t tick, Outbox& out) {
  row.coordinator = kNoCoordinator;
  const std::uint8_t next = ring_next(row);
  const bool ring = row.method == Method::Ring;
  if (ring ? next == row.self : row.self + 1 == row.node_count) {
    return announce(row, out);
  }
  await_until(row, Phase::Asked, tick);
  Message message{MessageKind::Election, row.self, next, row.self, row.rank};
  if (ring) {
    return out.push(message);
  }
  for (std::uint32_t place = row.self + 1u; place < row.node_count; ++place) {
    message.to = static_cast<std::uint8_t>(place);
    out.push(message);
  }
}

// The node finds that another has failed; it stands if that was the coordinator.
GCOORD_HD inline void on_suspicion(NodeRow& row,
                                   std::uint8_t place,
                                   std::uint64_t tick,
                                   Outbox& out) {
  if (place >= row.node_count || place == row.self) {
    return;
  }
  row.suspects |= std::uint64_t{1} << place;
  if (row.coordinator == place) {
    stand(row, tick, out);
  }
}

// It is heard again. Whether that changes who should hold the office is for the coordinator to find
// out, by saying so to the one that is back.
GCOORD_HD inline void on_return(NodeRow& row, std::uint8_t place) {
  if (place < row.node_count) {
    row.suspects &= ~(std::uint64_t{1} << place);
  }
}

GCOORD_HD inline void on_bully_message(NodeRow& row,
                                       const Message& message,
                                       std::uint64_t tick,
                                       Outbox& out) {
  const bool higher = message.from > row.self;
  switch (message.kind) {
    case MessageKind::Election:
      if (higher) {
        ++row.dropped_count;  // Nobody asks those below.
        return;
      }
      out.push({MessageKind::Answer, row.self, message.from, row.self, row.rank});
      if (row.phase == Phase::Idle) {
        stand(row, tick, out);
      }
      return;
    case MessageKind::Answer:
      if (higher && row.phase == Phase::Asked) {
        // Whoever answered needs its own patience before it can announce.
        await_until(row, Phase::Answered, tick + row.patience_ticks);
      }
      return;
    case MessageKind::Coordinator:
      if (!higher) {
        // It bullies; unless it stands already, or one that says so often would hold it up for
        // ever.
        return row.phase == Phase::Idle ? stand(row, tick, out) : void();
      }
      row.coordinator = message.from;
      row.phase = Phase::Idle;
      return;
  }
}

GCOORD_HD inline void on_ring_election(NodeRow& row,
                                       Message message,
                                       std::uint64_t tick,
                                       Outbox& out) {
  if (message.rank == row.rank) {
    return announce(row, out);
  }
  const bool stands = row.phase != Phase::Idle;
  if (message.rank < row.rank) {
    return stands ? void() : stand(row, tick, out);  // Swallowed.
  }
  await_until(row, Phase::Asked, tick);
  message.from = row.self;
  message.to = ring_next(row);
  out.push(message);
}

GCOORD_HD inline void on_ring_message(NodeRow& row,
                                      Message message,
                                      std::uint64_t tick,
                                      Outbox& out) {
  if (message.kind == MessageKind::Election) {
    return on_ring_election(row, message, tick, out);
  }
  if (message.kind == MessageKind::Answer) {
    ++row.dropped_count;
    return;
  }
  if (message.subject == row.self) {
    return;  // Everybody knows.
  }
  // Elected while this node was passed over, as in the other half of what was cut in two: the paper
  // knows no such thing. Who has the higher rank stands, so that one of the two is left.
  if (message.rank < row.rank) {
    return row.phase == Phase::Idle ? stand(row, tick, out) : void();
  }
  row.coordinator = message.subject;
  row.phase = Phase::Idle;
  message.from = row.self;
  message.to = ring_next(row);
  out.push(message);
}

GCOORD_HD inline void on_message(NodeRow& row,
                                 const Message& message,
                                 std::uint64_t tick,
                                 Outbox& out) {
  const auto kind = static_cast<std::uint8_t>(message.kind);
  const bool known = kind >= 1 && kind <= 3 && message.to == row.self &&
                     message.from < row.node_count && message.from != row.self &&
                     message.subject < row.node_count;
  if (!known) {
    ++row.dropped_count;
  } else if (row.method == Method::Bully) {
    on_bully_message(row, message, tick, out);
  } else {
    on_ring_message(row, message, tick, out);
  }
}

// Time passes: a bully that nobody higher answered has won; an election that came to nothing begins
// anew.
GCOORD_HD inline void on_tick(NodeRow& row, std::uint64_t tick, Outbox& out) {
  if (row.phase == Phase::Idle || tick < row.deadline_tick) {
    return;
  }
  const bool bully = row.method == Method::Bully;
  if (bully && row.phase == Phase::Asked) {
    return announce(row, out);
  }
  stand(row, tick, out);
}

}  // namespace gcoord::coordinator
