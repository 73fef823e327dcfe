// Decision when a resident node begins its turn.
//
// Who may have promised something goes on at once and with nobody. A directory that not every node
// has admitted may stand for one that is lost, so it never begins (docs/adr/0012): two of three
// nodes whose third was never met may be all that is left of a cluster that the third remembers, or
// the one that was wiped and the one that was never there. Once all have admitted each other
// nothing is to be asked any more; the others are waited for so that none leads everything because
// it was first, but not for ever: whoever ended meanwhile is joined when it comes back. Pure.
#pragma once

#include <cstdint>

namespace gcoord::server {

// Longer than others need to load the kernels of their turns, which they do before they meet.
inline constexpr std::uint64_t kMeetPatienceMs = 10'000;

struct ResidentMeeting {
  bool promised = false;        // Rows of this directory may have, before this start.
  bool established = false;     // Every node has admitted this directory.
  bool all_ready = false;       // All are connected, and have said so.
  std::uint64_t waited_ms = 0;  // Since it was established.
};

constexpr bool may_begin(const ResidentMeeting& meeting) {
  return meeting.promised ||
         (meeting.established && (meeting.all_ready || meeting.waited_ms >= kMeetPatienceMs));
}

}  // namespace gcoord::server
