// Work that checks poll sets by what they wait for: what benchmarks and tests run, on host and
// device alike.
//
// Receive: one group waits for many lanes, on which others stream (probe_send in channel_probe.h),
// and checks every word, so "n received, 0 wrong" is a proof that no lane was forgotten and none
// was served twice. Ping and Echo: one group sends a slot on a lane drawn by lot among many, and
// the other waits for all of them and sends it back; each round trip is kept, lane ends being
// opened and put away at the echo's side within it. Wake: a group waits for event words and rings a
// bell for each. Tickets: groups take a ticket lock again and again, waiting in sets of their own,
// and add to words that it protects.
//
// Each ends at its deadline at the latest and says how. Host and device.
#pragma once

#include "common/device/member_group.h"
#include "common/hd.h"
#include "common/random.h"
#include "netcore/gpu_channel/lane_layout.h"
#include "netcore/memory/bell.h"
#include "netcore/poll/lane.h"
#include "netcore/poll/set.h"
#include "netcore/probe/channel_probe.h"
#include "netcore/probe/ticket_probe.h"

#include <cstdint>

namespace gcoord::netcore {

// Which members wait in Wake: WakeAlone is one thread among others of its warp.
enum class PollProbeKind : std::uint8_t { Receive, Ping, Echo, Wake, WakeAlone, Tickets };

// Sets that one object's memory has room for, of an entry each: states share a line.
inline constexpr std::uint32_t kPollProbeGroupsMax = kLineBytes / sizeof(PollSetState);

struct PollProbeResult {
  std::uint64_t slots = 0;        // Received, or echoed; of Wake, raises seen; of Tickets, holds.
  std::uint64_t wrong_words = 0;  // 0, or something is broken.
  std::uint64_t waits = 0;        // That ended with events.
  std::uint64_t events = 0;       // Reported.
  std::uint64_t empty = 0;        // Reported as ready with nothing there: 0 among honest peers.
  std::uint64_t began_ns = 0;     // When the first came.
  std::uint64_t ended_ns = 0;
  WaitStatus status = WaitStatus::Ready;  // Ready: all of it.
};

// What Tickets needs beside a set with an entry for each group.
struct PollTicketWork {
  TicketLockDevice lock;
  TicketGuarded* guarded = nullptr;
  TicketWait* waits = nullptr;      // One for each group, in memory of the device.
  std::uint32_t short_of_1024 = 0;  // So many takes of 1024 only ask, and leave the line.
};

// All that a probe's groups need; lanes 0 to lane_count - 1 of the band.
struct PollProbeWork {
  PollSetDevice set;  // Not of Ping.
  GpuChannelDevice channel;
  ProbeOptions probe;  // slot_count: per lane of Receive, of all lanes together otherwise.
  std::uint32_t lane_count = 0;
  std::uint32_t word_count = 0;            // Of Wake: event words, a line each, from `words` on.
  const std::uint64_t* words = nullptr;    // GpuEvents::word(0).
  std::uint64_t* bell = nullptr;           // Of Wake.
  std::uint32_t* round_trip_ns = nullptr;  // Of Ping: slot_count places.
  PollTicketWork tickets;
  std::uint32_t group_count = 1;  // More than one only of Tickets; then each has a result.
  PollProbeResult* result = nullptr;
};

// Has every lane's receiving end in the set, as it stands.
GCOORD_HD inline void put_receivers(PollSet<>& set, const PollProbeWork& work) {
  for (std::uint32_t lane = 0; lane < work.lane_count; ++lane) {
    const std::uint32_t number = lane_number(work.channel.layout, work.probe.band, lane);
    set.put(
        lane,
        receiver_entry(work.channel, work.probe.band, lane, work.channel.states[number].receiver));
  }
}

// Waits once more and counts what came. False: the probe is over.
template <typename Members>
GCOORD_HD bool next_batch(PollSet<Members>& set,
                          std::uint64_t deadline_ns,
                          PollProbeResult& result,
                          PollBatch<Members>& batch) {
  PollOptions options;
  options.deadline_ns = deadline_ns;
  batch = set.wait(options);
  result.status = batch.status;
  if (batch.status != WaitStatus::Ready) {
    return false;
  }
  if (result.waits++ == 0) {
    result.began_ns = device_now_ns();
  }
  result.events += batch.size();
  return true;
}

// What is told beside In or Out ends a probe.
GCOORD_HD inline WaitStatus status_of(const PollEvent& event) {
  if ((event.events & (kPollErr | kPollBad)) != 0) {
    return WaitStatus::ChannelReset;
  }
  return (event.events & kPollHup) != 0 ? WaitStatus::EpochChanged : WaitStatus::Ready;
}

// Takes what came on a lane: opens its end, gives each tile to `f`, and puts the end away.
template <typename Function>
GCOORD_HD void serve_lane(PollSet<>& set,
                          const PollProbeWork& work,
                          std::uint32_t lane,
                          PollProbeResult& result,
                          const Function& f) {
  LaneReceiver receiver = open_receiver(work.channel, work.probe.band, lane);
  const std::uint32_t came =
      receive_polled(set.entry(lane), receiver, work.probe.batch_slots, [&](const SlotTile& tile) {
        result.wrong_words += wrong_words(tile, lane, work.probe);
        f(tile);
      });
  result.slots += came;
  result.empty += came == 0 ? 1 : 0;
  rest_receiver(work.channel, work.probe.band, lane, receiver);
}

GCOORD_HD inline PollProbeResult poll_receive(const PollProbeWork& work) {
  PollProbeResult result;
  const std::uint64_t deadline_ns = deadline_after(work.probe.timeout_ns);
  PollSet<> set{work.set};
  put_receivers(set, work);
  const std::uint64_t wanted = work.probe.slot_count * work.lane_count;
  PollBatch<> batch;
  while (result.slots < wanted && result.status == WaitStatus::Ready &&
         next_batch(set, deadline_ns, result, batch)) {
    batch.for_each([&](const PollEvent& event) {
      result.status = result.status == WaitStatus::Ready ? status_of(event) : result.status;
      serve_lane(set, work, event.index, result, [](const SlotTile&) {});
    });
  }
  result.ended_ns = device_now_ns();
  set.close();
  return result;
}

// Sends back what came, from the registers that it came in.
GCOORD_HD inline PollProbeResult poll_echo(const PollProbeWork& work) {
  PollProbeResult result;
  const std::uint64_t deadline_ns = deadline_after(work.probe.timeout_ns);
  const WaitGate gate = gate_of(work.channel, deadline_ns);
  PollSet<> set{work.set};
  put_receivers(set, work);
  PollBatch<> batch;
  while (result.slots < work.probe.slot_count && result.status == WaitStatus::Ready &&
         next_batch(set, deadline_ns, result, batch)) {
    batch.for_each([&](const PollEvent& event) {
      LaneSender sender = open_sender(work.channel, work.probe.band, event.index);
      WaitStatus status = status_of(event);
      serve_lane(set, work, event.index, result, [&](const SlotTile& tile) {
        const Reservation place = reserve_one(sender, gate, status);
        if (place.slot_count != 0) {
          sender.publish_tile(place, tile);
        }
      });
      rest_sender(work.channel, work.probe.band, event.index, sender);
      result.status = result.status == WaitStatus::Ready ? status : result.status;
    });
  }
  result.ended_ns = device_now_ns();
  set.close();
  return result;
}

// One slot on `lane`, there and back. Its content is what a stream would have at that cursor.
GCOORD_HD inline WaitStatus ping_lane(const PollProbeWork& work,
                                      const WaitGate& gate,
                                      std::uint32_t lane,
                                      PollProbeResult& result) {
  LaneSender sender = open_sender(work.channel, work.probe.band, lane);
  LaneReceiver receiver = open_receiver(work.channel, work.probe.band, lane);
  WaitStatus status = WaitStatus::Ready;
  const Reservation place = reserve_one(sender, gate, status);
  if (status != WaitStatus::Ready) {
    return status;
  }
  const std::uint64_t root = probe_root(work.probe.seed, lane, place.first);
  warp_sync();
  const std::uint64_t sent_ns = device_now_ns();
  sender.publish<1>(place,
                    [root](std::uint32_t, std::uint32_t word) { return probe_word(root, word); });
  const SlotTile tile = await_one(receiver, gate, status);
  const std::uint64_t came_ns = device_now_ns();
  result.wrong_words += wrong_words(tile, lane, work.probe);
  receiver.release(tile);
  if (status == WaitStatus::Ready) {
    if (warp_rank() == 0) {
      work.round_trip_ns[result.slots] = static_cast<std::uint32_t>(came_ns - sent_ns);
    }
    ++result.slots;
  }
  rest_sender(work.channel, work.probe.band, lane, sender);
  rest_receiver(work.channel, work.probe.band, lane, receiver);
  return status;
}

GCOORD_HD inline PollProbeResult poll_ping(const PollProbeWork& work) {
  PollProbeResult result;
  const WaitGate gate = gate_of(work.channel, deadline_after(work.probe.timeout_ns));
  result.began_ns = device_now_ns();
  while (result.slots < work.probe.slot_count && result.status == WaitStatus::Ready) {
    const std::uint64_t word = random64(work.probe.seed, 1, result.slots);
    const auto lane = static_cast<std::uint32_t>(random_below(word, work.lane_count));
    result.status = ping_lane(work, gate, lane, result);
  }
  result.ended_ns = device_now_ns();
  return result;
}

// Rings the bell for every event word that was raised, until all raises were seen.
template <typename Members>
GCOORD_HD PollProbeResult poll_wake(const PollProbeWork& work) {
  PollProbeResult result;
  const std::uint64_t deadline_ns = deadline_after(work.probe.timeout_ns);
  PollSet<Members> set{work.set};
  for (std::uint32_t word = 0; word < work.word_count; ++word) {
    set.put(word, word_entry(work.words + word * (kLineBytes / sizeof(std::uint64_t)), 0));
  }
  BellRinger<Members> ringer{work.bell};
  PollBatch<Members> batch;
  while (result.slots < work.probe.slot_count && result.status == WaitStatus::Ready &&
         next_batch(set, deadline_ns, result, batch)) {
    batch.for_each([&](const PollEvent& event) {
      result.slots += event.value - set.entry(event.index).target.word.seen;
      set.see(event.index, event.value);
      ringer.ring();
    });
  }
  result.ended_ns = device_now_ns();
  set.close();
  return result;
}

// A set of one entry for each group, cut from one object's memory.
GCOORD_HD inline PollSetDevice set_of_group(const PollProbeWork& work, std::uint32_t group) {
  PollSetDevice set = work.set;
  GCOORD_ASSERT(group < set.capacity && group < kPollProbeGroupsMax);
  set.state += group;
  set.entries += group;
  set.capacity = 1;
  return set;
}

// Joins the line, waits in the set, and takes the lock or leaves. What ended it, Busy if it left.
GCOORD_HD inline TicketVerdict take_polled(const TicketLock<>& lock,
                                           PollSet<>& set,
                                           const PollTicketWork& work,
                                           const PollOptions& options,
                                           TicketWait* wait,
                                           TicketHold* hold) {
  const TicketVerdict joined = lock.join(options.deadline_ns, wait);
  if (joined != TicketVerdict::Busy) {
    return joined;
  }
  set.put(0, ticket_entry(work.lock, wait));
  set.wait(options);
  set.remove(0);
  const TicketVerdict verdict = lock.settle(*wait, ~std::uint64_t{0}, hold);
  return verdict == TicketVerdict::TimedOut ? TicketVerdict::Busy : verdict;
}

GCOORD_HD inline PollProbeResult poll_tickets(const PollProbeWork& work, std::uint32_t group) {
  PollProbeResult result;
  const TicketLock<> lock{work.tickets.lock};
  PollSet<> set{set_of_group(work, group)};
  TicketGuarded& guarded = *work.tickets.guarded;
  result.began_ns = device_now_ns();
  const std::uint64_t end_ns = result.began_ns + work.probe.timeout_ns;
  for (std::uint64_t take = 0; take < work.probe.slot_count; ++take) {
    const std::uint64_t chance = random64(work.probe.seed, group, take) % 1024;
    PollOptions options;
    options.deadline_ns = chance < work.tickets.short_of_1024 ? 0 : end_ns;
    TicketHold hold;
    const TicketVerdict verdict =
        take_polled(lock, set, work.tickets, options, work.tickets.waits + group, &hold);
    if (verdict == TicketVerdict::Held) {
      ++guarded.holds[warp_rank()];
      result.wrong_words += guarded.token < hold.fencing_token() ? 0 : 1;
      warp_sync();
      if (warp_rank() == 0) {
        guarded.token = hold.fencing_token();
      }
      ++result.slots;
      lock.release(hold);
    } else if (verdict != TicketVerdict::Busy && verdict != TicketVerdict::Full) {
      result.status = WaitStatus::ChannelReset;
      break;
    }
  }
  result.ended_ns = device_now_ns();
  set.close();
  return result;
}

// One group's work, its result stored.
template <PollProbeKind kind>
GCOORD_HD void run_poll_probe(const PollProbeWork& work, std::uint32_t group = 0) {
  if constexpr (kind == PollProbeKind::WakeAlone) {
    *work.result = poll_wake<OneMember>(work);
    return;
  }
  PollProbeResult result;
  if constexpr (kind == PollProbeKind::Receive) {
    result = poll_receive(work);
  } else if constexpr (kind == PollProbeKind::Ping) {
    result = poll_ping(work);
  } else if constexpr (kind == PollProbeKind::Echo) {
    result = poll_echo(work);
  } else if constexpr (kind == PollProbeKind::Tickets) {
    result = poll_tickets(work, group);
  } else {
    result = poll_wake<WarpMembers>(work);
  }
  result.wrong_words = group_sum(result.wrong_words);
  if (warp_rank() == 0) {
    work.result[group] = result;
  }
}

}  // namespace gcoord::netcore
