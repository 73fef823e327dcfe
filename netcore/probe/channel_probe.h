// Traffic that checks itself: what benchmarks and tests run over a lane, on host and device alike.
//
// A stream sends slots (and payloads) whose every word is a function of (seed, lane, cursor), and
// its receiver recomputes every word, so "n received, 0 wrong" is a proof and not a count. An echo
// sends one slot at a time, waits for it to come back and keeps each round trip. Words look random:
// zeros would hide what was never written and can move faster than real content.
//
// Each function works one end of one lane with one group, waits at most until its deadline and says
// how it ended. Host and device.
//
// What a figure from here means: a slot counts when its receiver has its 16 words in registers and
// has compared each with the word it should be. Nothing is stored to memory by the receiver, so
// rates are those of the channel and of the comparison (about 60 instructions per packet), and not
// those of a consumer.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "netcore/gpu_channel/device.h"

#include <cstdint>

namespace gcoord::netcore {

enum class ProbeKind : std::uint8_t { Send, Receive, Ping, Pong };

struct ProbeOptions {
  Band band = Band::Consensus;
  std::uint32_t payload_bytes = 0;  // Per slot; a multiple of 16.
  std::uint32_t batch_slots = 32;   // Asked for at once; a group moves at most as many as members.
  std::uint32_t verify = 1;         // 0: payloads are read and not recomputed.
  std::uint64_t slot_count = 0;     // Per lane.
  std::uint64_t seed = 0;
  std::uint64_t timeout_ns = 0;  // For all of it.
};

struct ProbeResult {
  std::uint64_t slots = 0;        // Published, or received.
  std::uint64_t wrong_words = 0;  // Of messages and payloads; 0 or something is broken.
  std::uint64_t began_ns = 0;     // When this end's first slot went or came; device_now_ns().
  std::uint64_t ended_ns = 0;
  WaitStatus status = WaitStatus::Ready;  // Ready: all slots.
};

// Word `word` of the slot at position `position` of a stream.
GCOORD_HD constexpr std::uint32_t probe_word(std::uint64_t root, std::uint32_t word) {
  return static_cast<std::uint32_t>(root >> 16) * (2 * word + 1) ^ static_cast<std::uint32_t>(root);
}

// All words of a slot grow from one root: a multiplication each, because a mixing per word would be
// what the benchmark measures.
GCOORD_HD constexpr std::uint64_t probe_root(std::uint64_t seed,
                                             std::uint32_t lane,
                                             std::uint64_t position) {
  return mix64(mix64(seed ^ lane) ^ position);
}

// 16 bytes of the payload of that slot.
// Cheap on purpose: two operations per 8 bytes.
GCOORD_HD constexpr Words128 probe_payload(std::uint64_t root, std::uint32_t index) {
  const std::uint64_t spread = root * (2 * std::uint64_t{index} + 1);
  return {spread ^ root >> 7, spread + index};
}

// On this side's own clock.
GCOORD_HD inline std::uint64_t deadline_after(std::uint64_t timeout_ns) {
  return device_now_ns() + timeout_ns;
}

// std::min is not callable from device code.
GCOORD_HD inline std::uint32_t smaller(std::uint64_t a, std::uint32_t b) {
  return a < b ? static_cast<std::uint32_t>(a) : b;
}

// Sends options.slot_count slots on `lane`. Ready means that all were published, not that they were
// received.
GCOORD_HD inline ProbeResult probe_send(const GpuChannelDevice& channel,
                                        std::uint32_t lane,
                                        const ProbeOptions& options) {
  ProbeResult result;
  LaneSender sender = open_sender(channel, options.band, lane);
  const WaitGate gate = gate_of(channel, deadline_after(options.timeout_ns));
  const std::uint32_t batch = smaller(options.batch_slots, warp_lanes());
  result.began_ns = device_now_ns();
  while (result.slots < options.slot_count && result.status == WaitStatus::Ready) {
    const std::uint32_t wanted = smaller(options.slot_count - result.slots, batch);
    Reservation place;
    result.status = bounded_wait(gate, [&] {
      place = sender.reserve(wanted, options.payload_bytes);
      return place.slot_count != 0;
    });
    for (std::uint32_t i = 0; options.payload_bytes != 0 && i < place.slot_count; ++i) {
      const std::uint64_t root = probe_root(options.seed, lane, place.first + i);
      sender.write_from(place, i, [root](std::uint32_t at) { return probe_payload(root, at); });
    }
    sender.publish(place, [&](std::uint32_t index, std::uint32_t word) {
      return probe_word(probe_root(options.seed, lane, place.first + index), word);
    });
    result.slots += place.slot_count;
  }
  result.ended_ns = device_now_ns();
  close_sender(channel, options.band, lane, sender);
  return result;
}

// This member's share of the words of a tile that are not what was sent.
GCOORD_HD inline std::uint64_t wrong_words(const SlotTile& tile,
                                           std::uint32_t lane,
                                           const ProbeOptions& options) {
  std::uint64_t wrong = 0;
  tile.for_each_word([&](std::uint32_t index, std::uint32_t word, std::uint32_t value) {
    const std::uint64_t root = probe_root(options.seed, lane, tile.first + index);
    wrong += value != probe_word(root, word) ? 1u : 0u;
  });
  if (tile.payload_bytes != 0) {
    wrong += tile.payload_bytes != options.payload_bytes ? 1u : 0u;
    const std::uint64_t root = probe_root(options.seed, lane, tile.first);
    const auto* words = reinterpret_cast<const Words128*>(tile.payload);
    std::uint64_t mixed = 0;
    for (std::uint32_t at = warp_rank(); at < tile.payload_bytes / 16; at += warp_lanes()) {
      const Words128 expected = probe_payload(root, at);
      mixed |= (words[at].low ^ expected.low) | (words[at].high ^ expected.high);
    }
    wrong += options.verify != 0 && mixed != 0 ? 1u : 0u;
  }
  return wrong;
}

// Receives options.slot_count slots from `lane` and checks every word. result.wrong_words is this
// member's share.
GCOORD_HD inline ProbeResult probe_receive(const GpuChannelDevice& channel,
                                           std::uint32_t lane,
                                           const ProbeOptions& options) {
  ProbeResult result;
  LaneReceiver receiver = open_receiver(channel, options.band, lane);
  const WaitGate gate = gate_of(channel, deadline_after(options.timeout_ns));
  while (result.slots < options.slot_count && result.status == WaitStatus::Ready) {
    SlotTile tile;
    result.status = bounded_wait(gate, [&] {
      tile = receiver.poll(smaller(options.slot_count - result.slots, options.batch_slots));
      return tile.slot_count != 0;
    });
    if (result.slots == 0) {
      result.began_ns = device_now_ns();
    }
    result.wrong_words += wrong_words(tile, lane, options);
    receiver.release(tile);
    result.slots += tile.slot_count;
  }
  result.ended_ns = device_now_ns();
  receiver.grant();
  close_receiver(channel, options.band, lane, receiver);
  return result;
}

// Waits until one slot may be sent; empty when the wait ended otherwise.
GCOORD_HD inline Reservation reserve_one(LaneSender& sender,
                                         const WaitGate& gate,
                                         WaitStatus& status) {
  Reservation place;
  status = bounded_wait(gate, [&] {
    place = sender.reserve(1);
    return place.slot_count != 0;
  });
  return place;
}

// Waits for one slot; an empty tile when the wait ended otherwise.
GCOORD_HD inline SlotTile await_one(LaneReceiver& receiver,
                                    const WaitGate& gate,
                                    WaitStatus& status) {
  SlotTile tile;
  status = bounded_wait(gate, [&] {
    tile = receiver.poll(1);
    return tile.slot_count != 0;
  });
  return tile;
}

// options.slot_count round trips, one at a time; `round_trip_ns` has room for each of them: from
// the call that publishes a slot until its echo is in registers. The next place is reserved while
// the slot is under way, as anybody would who cares.
GCOORD_HD inline ProbeResult probe_ping(const GpuChannelDevice& channel,
                                        std::uint32_t lane,
                                        const ProbeOptions& options,
                                        std::uint32_t* round_trip_ns) {
  ProbeResult result;
  LaneSender sender = open_sender(channel, options.band, lane);
  LaneReceiver receiver = open_receiver(channel, options.band, lane);
  const WaitGate gate = gate_of(channel, deadline_after(options.timeout_ns));
  result.began_ns = device_now_ns();
  Reservation place = reserve_one(sender, gate, result.status);
  while (result.slots < options.slot_count && result.status == WaitStatus::Ready) {
    const std::uint64_t root = probe_root(options.seed, lane, result.slots);
    const std::uint64_t sent_ns = device_now_ns();
    sender.publish(place,
                   [root](std::uint32_t, std::uint32_t word) { return probe_word(root, word); });
    place = result.slots + 1 < options.slot_count ? sender.reserve(1) : Reservation{};
    const SlotTile tile = await_one(receiver, gate, result.status);
    const std::uint64_t came_ns = device_now_ns();
    tile.for_each_word([&](std::uint32_t, std::uint32_t word, std::uint32_t value) {
      result.wrong_words += value != probe_word(root, word) ? 1u : 0u;
    });
    receiver.release(tile);
    if (result.status == WaitStatus::Ready) {
      if (warp_rank() == 0) {
        round_trip_ns[result.slots] = static_cast<std::uint32_t>(came_ns - sent_ns);
      }
      ++result.slots;
      if (place.slot_count == 0 && result.slots < options.slot_count) {
        place = reserve_one(sender, gate, result.status);
      }
    } else if (place.slot_count != 0) {
      sender.cancel(place);
    }
  }
  result.ended_ns = device_now_ns();
  close_sender(channel, options.band, lane, sender);
  close_receiver(channel, options.band, lane, receiver);
  return result;
}

// The other side of probe_ping: sends back what comes, from the registers that it came in.
GCOORD_HD inline ProbeResult probe_pong(const GpuChannelDevice& channel,
                                        std::uint32_t lane,
                                        const ProbeOptions& options) {
  ProbeResult result;
  LaneSender sender = open_sender(channel, options.band, lane);
  LaneReceiver receiver = open_receiver(channel, options.band, lane);
  const WaitGate gate = gate_of(channel, deadline_after(options.timeout_ns));
  while (result.slots < options.slot_count && result.status == WaitStatus::Ready) {
    const Reservation place = reserve_one(sender, gate, result.status);
    if (result.status != WaitStatus::Ready) {
      break;
    }
    const SlotTile tile = await_one(receiver, gate, result.status);
    if (tile.slot_count != 0) {
      sender.publish_tile(place, tile);
      receiver.release(tile);
      ++result.slots;
    } else {
      sender.cancel(place);
    }
  }
  close_sender(channel, options.band, lane, sender);
  close_receiver(channel, options.band, lane, receiver);
  return result;
}

// All that a probe's groups need. `results` has one place per lane; `round_trip_ns`, for Ping,
// slot_count places for lane 0.
struct ProbeWork {
  ProbeKind kind = ProbeKind::Send;
  GpuChannelDevice channel;
  ProbeOptions probe;
  std::uint32_t lane_count = 0;
  ProbeResult* results = nullptr;
  std::uint32_t* round_trip_ns = nullptr;
};

// The sum of all members' numbers, to all.
GCOORD_HD inline std::uint64_t group_sum(std::uint64_t value) {
  std::uint64_t sum = 0;
  for (std::uint32_t from = 0; from < warp_lanes(); ++from) {
    sum += warp_broadcast(value, from);
  }
  return sum;
}

// One group's share of the work: the probe of one lane, its result stored.
template <ProbeKind kind>
GCOORD_HD void run_probe(const ProbeWork& work, std::uint32_t lane) {
  ProbeResult result;
  if constexpr (kind == ProbeKind::Send) {
    result = probe_send(work.channel, lane, work.probe);
  } else if constexpr (kind == ProbeKind::Receive) {
    result = probe_receive(work.channel, lane, work.probe);
  } else if constexpr (kind == ProbeKind::Ping) {
    result = probe_ping(work.channel, lane, work.probe, work.round_trip_ns);
  } else {
    result = probe_pong(work.channel, lane, work.probe);
  }
  result.wrong_words = group_sum(result.wrong_words);
  if (warp_rank() == 0) {
    work.results[lane] = result;
  }
}

}  // namespace gcoord::netcore
