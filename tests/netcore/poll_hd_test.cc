// The looks of a poll set, on host and device alike: what stamps, headers and cursors say.
#include "common/random.h"
#include "netcore/gpu_channel/lane_peek.h"
#include "tests/hd_test.h"

namespace gcoord::netcore {
namespace {

constexpr std::uint32_t kEpoch = 7;

GCOORD_HD ReceiverView view_at(std::uint64_t cursor) {
  ReceiverView view;
  view.received = cursor;
  view.slots_end = cursor + 8;
  view.slot_shift = 3;
  view.epoch = kEpoch;
  view.stamp_bits = epoch_bits(kEpoch);
  view.payload_capacity = kPayloadRingBytesMin;
  view.payload_end = kPayloadRingBytesMin;
  return view;
}

HD_TEST(PollLook, Row213StampsAreReadyStrangeOrNothing) {
  const std::uint64_t cursor = mix64(seed) >> 20;
  const ReceiverView view = view_at(cursor);
  const std::uint32_t expected = packet_stamp(kEpoch, cursor / 8);
  const std::uint32_t before = cursor < 8 ? 0 : packet_stamp(kEpoch, cursor / 8 - 1);
  Packet packet[kSlotPackets];
  for (Packet& one : packet) {
    one.stamp = expected;
  }
  HD_EXPECT(look_at_stamps(view, packet) == LanePeek::Ready);
  Packet& odd = packet[seed % kSlotPackets];
  odd.stamp = before;
  HD_EXPECT(look_at_stamps(view, packet) == LanePeek::Nothing);
  odd.stamp = 0;
  HD_EXPECT(look_at_stamps(view, packet) == LanePeek::Nothing);
  odd.stamp = packet_stamp(kEpoch, cursor / 8 + 1 + seed % 1000);
  HD_EXPECT(look_at_stamps(view, packet) == LanePeek::Broken);
  odd.stamp = packet_stamp(kEpoch + 1 + seed % 1000, seed);
  HD_EXPECT(look_at_stamps(view, packet) == LanePeek::Nothing);
}

HD_TEST(PollLook, Row213HeadersAreSoundOrBroken) {
  ReceiverView view = view_at(seed);
  Packet header;
  header.word[kEpochWord] = kEpoch;
  HD_EXPECT(look_at_header(view, header) == LanePeek::Ready);
  header.word[kPayloadBytesWord] = seed % kLanePayloadBytesMax + 1;
  HD_EXPECT(look_at_header(view, header) == LanePeek::Ready);
  header.word[kPayloadBytesWord] = kLanePayloadBytesMax + 1 + seed;
  HD_EXPECT(look_at_header(view, header) == LanePeek::Broken);
  header.word[kEpochWord] = kEpoch + 1;
  HD_EXPECT(look_at_header(view, header) == LanePeek::Ready);  // To be dropped and counted.
  view.slots_end = view.received;
  HD_EXPECT(look_at_header(view, header) == LanePeek::Broken);
}

HD_TEST(PollLook, Row213RoomIsWhatCursorsSay) {
  SenderView view;
  view.ring_slots = 64;
  view.payload_capacity = kPayloadRingBytesMin;
  view.consumed = mix64(seed) >> 24;
  view.sent = view.consumed + seed % 65;
  view.slots_min = 1 + seed % 32;
  const std::uint32_t left = 64 - seed % 65;
  HD_EXPECT(has_room(view) == (view.slots_min + kControlReserveSlots <= left));
  view.kind = CreditClass::Control;
  HD_EXPECT(has_room(view) == (view.slots_min <= left));
  view.slots_min = 1;
  view.payload_bytes = kLanePayloadBytesMax;
  view.payload_sent = view.payload_consumed + kPayloadRingBytesMin - kLanePayloadBytesMax;
  HD_EXPECT(has_room(view) == (left != 0));
  view.payload_sent += kPayloadAlignment;
  HD_EXPECT(!has_room(view));
}

}  // namespace
}  // namespace gcoord::netcore
