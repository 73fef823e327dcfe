// A copy of a session clock's deadlines where a SweepDevice works, for looks at all of them.
//
// Who is the authority: the clock, on the host. Keep-alives arrive there and only raise deadlines,
// so the copy is not told of them; what lowers one marks its slice (lowered_slices.h), and marked
// slices are brought over before a look. Then every deadline of the copy is at most the true one.
// So a look names every row that is due, and some that were renewed since; the clock goes through
// the named rows alone and takes those whose own deadline is past (SessionClock::collect_among).
// What the device says can make an expiry late, if its memory forgets, and never early. Late by
// kForgottenTicksMax at most: a look is relied on for kLookTicksMax ticks, and each look has the
// clock see itself of some slices whether it missed one (DueQuery::own), so that it goes round all
// of them in kHostRoundTicks. Where it did, the device is not in order.
//
// Bounded: a look brings slices_per_look() over at most. While more are marked, as after an
// election, the answer is that the host looks itself, which is right at any time. A look names rows
// for the tick that it was asked for; its words stand until the next one. Contract: one thread;
// errors as SweepDevice, and after one the mirror is not used again. Host only.
#pragma once

#include "common/status.h"
#include "sessions/clock.h"
#include "sessions/sweep_device.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::sessions {

// A megabyte of deadlines: some 0.1 ms.
inline constexpr std::uint32_t kSlicesPerLook = 32;

// Of a long column a sixteenth, which adds little to the look that the host takes meanwhile: so the
// copy is whole again after some 16 looks.
constexpr std::uint32_t slices_per_look(std::uint32_t slices) {
  return slices / 16 > kSlicesPerLook ? slices / 16 : kSlicesPerLook;
}

// A look says for so many ticks at most that nobody else is due: then the device is asked again.
inline constexpr std::uint64_t kLookTicksMax = 128;

// The clock sees every row itself within so many ticks, and those of two looks (twice that while
// the column doubles). 10 s with ticks of 10 ms, as long as sessions mostly live on unheard; of 8
// million rows it is two slices a tick, some 10 us.
inline constexpr std::uint64_t kHostRoundTicks = 1024;

// What a device forgot makes an end late by so many ticks at most: then the clock has found it out.
inline constexpr std::uint64_t kForgottenTicksMax = kHostRoundTicks + 2 * kLookTicksMax;

// Goes round a column slice by slice, as fast as time does.
class HostRound {
 public:
  // The slices of a look at `now`, as rows; the round begins at the first look.
  RowRange next(std::uint32_t row_end, Tick now);

 private:
  std::optional<Tick> last_;
  std::uint32_t slice_ = 0;   // Where it goes on.
  std::uint64_t credit_ = 0;  // In slices times kHostRoundTicks.
};

class DeadlineMirror {
 public:
  // `device` works; it outlives this.
  explicit DeadlineMirror(SweepDevice& device) : device_(device) {}

  // Who may be due among the clock's rows. Nothing: slices are behind, and the host has to look.
  Result<std::optional<DueQuery>> look(SessionClock& clock, Tick now);

 private:
  Status reserve(std::uint32_t row_end);
  Status follow(SessionClock& clock);

  SweepDevice& device_;
  HostRound round_;
  std::uint32_t capacity_ = 0;  // Rows.
  SweepMemory deadline_;
  SweepMemory due_words_;
  SweepMemory summary_;
  SweepMemory host_summary_;
  std::vector<std::uint32_t> words_;
};

}  // namespace gcoord::sessions
