// A descriptor that is readable while something waits to be taken: a level, for a program's event
// loop (docs/adr/0061).
//
// It is made when it is first asked for: who never asks pays a comparison for each change. What it
// says is written anew with each of them, even where it was so already, so that a program that
// reads it, as it would an eventfd of its own, misses nothing. Not thread-safe: the lock that
// guards what waits guards it too, or poll() would see one without the other.
#pragma once

namespace gcoord {

class EventLevel {
 public:
  EventLevel() = default;

  ~EventLevel() { close(); }

  EventLevel(const EventLevel&) = delete;
  EventLevel& operator=(const EventLevel&) = delete;

  // The same each time. Negative when the process may have no more of them: errno, negated.
  int get(bool ready);

  // Whether it is readable from now on.
  void set(bool ready);

  void close();

 private:
  int fd_ = -1;
  bool readable_ = false;  // Perhaps: the program may have read it.
};

}  // namespace gcoord
