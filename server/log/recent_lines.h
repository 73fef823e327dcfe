// The newest lines of a log, in memory: a ring of bytes, in which the oldest are overwritten.
//
// Its size is its memory, whatever is logged. Thread-safe.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace gcoord::server {

class RecentLines {
 public:
  explicit RecentLines(std::size_t bytes) : bytes_(bytes) {}

  // A finished line, with its end or without. One that is longer than a quarter of the ring is cut
  // to that.
  void add(std::string_view line);

  // The lines that are whole, the oldest first, each with its end.
  std::string text() const;

 private:
  void put(std::string_view text);

  const std::size_t bytes_;
  mutable std::mutex mutex_;
  std::string ring_;          // Under mutex_. As long as what came, and then bytes_.
  std::size_t next_ = 0;      // Under mutex_. Where the next byte goes.
  bool overwritten_ = false;  // Under mutex_. What is oldest may be a part of a line.
};

}  // namespace gcoord::server
