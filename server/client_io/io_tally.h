// Tally of what client I/O costs one thread: system calls by kind, and copies of bytes by stage.
//
// Plain numbers of the thread that has it, which moves them into the node's counters once per pass
// (IoCounters): a request costs a few additions and no atomic operation. A byte of a request in
// plain text, or in shared memory, is copied by Receive alone; a byte of a reply by Reply and Send,
// and by Assemble where it is of a payload or other frames wait. TLS adds Decrypt, Frame and
// Encrypt, io_uring adds Frame. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gcoord::server {

// A system call for client sockets. Labels a metric.
enum class IoCall : std::uint8_t {
  Wait = 0,     // Of an I/O thread: epoll_wait or io_uring_enter.
  Loop = 1,     // Of the loop: epoll_wait, for peers and timers as well.
  Receive = 2,  // recv; with io_uring only where it found no buffer.
  Send = 3,     // send; none with io_uring.
  Wake = 4,  // A write to the eventfd of a thread that sleeps, and the read that answers it; a bell
             // to a client with shared memory that sleeps.
  Count = 5,
};

// A stage that copies bytes. Labels a metric.
enum class IoCopy : std::uint8_t {
  Receive = 0,   // From the kernel or a ring.
  Decrypt = 1,   // TLS.
  Frame = 2,     // Into the buffer where frames are checked: of plain text what found no memory
                 // there, and all that TLS or io_uring read.
  Slot = 3,      // Slots that are not aligned in their frame, out of it.
  Reply = 4,     // Slots and payloads of replies into a frame.
  Assemble = 5,  // Payloads behind the slots of a frame, and frames behind others that wait.
  Join = 6,      // Output behind other output of an I/O thread.
  Encrypt = 7,   // TLS.
  Send = 8,      // To the kernel or a ring.
  Count = 9,
};

// Things that are counted by their number. Labels and names of metrics.
enum class IoEvent : std::uint8_t {
  Request = 0,   // Taken from a frame.
  Reply = 1,     // Put into a frame.
  FrameIn = 2,   // Taken.
  FrameOut = 3,  // Finished.
  Count = 4,
};

class IoTally {
 public:
  template <typename Kind>
  using Counts = std::array<std::uint64_t, static_cast<std::size_t>(Kind::Count)>;

  void add(IoCall call) { ++calls_[static_cast<std::size_t>(call)]; }

  void add(IoCopy stage, std::size_t bytes) { copied_[static_cast<std::size_t>(stage)] += bytes; }

  void add(IoEvent event, std::uint64_t count) {
    events_[static_cast<std::size_t>(event)] += count;
  }

  const Counts<IoCall>& calls() const { return calls_; }

  const Counts<IoCopy>& copied() const { return copied_; }

  const Counts<IoEvent>& events() const { return events_; }

  void clear() { *this = IoTally{}; }

 private:
  Counts<IoCall> calls_{};
  Counts<IoCopy> copied_{};
  Counts<IoEvent> events_{};
};

// "wait", "receive" and the like, as the labels have them. Not of Count.
std::string_view io_call_name(IoCall call);
std::string_view io_copy_name(IoCopy stage);

// "requests", "replies", "frames_in", "frames_out".
std::string_view io_event_name(IoEvent event);

}  // namespace gcoord::server
