// Numbers of the checkpoints of this life, and how they ended. One thread.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace gcoord::server {

class CheckpointEnds {
 public:
  // Of the checkpoint that begins next.
  std::uint64_t next_number() const { return begun_ + 1; }

  void begin() { ++begun_; }

  void end(const Status& status) {
    unread_ = status;
    close(status);
  }

  // It had nothing to do: all that was applied lies in the store.
  void end_empty() { close(Status{}); }

  // How the checkpoint of that number ended, or a later one that held what it held; nothing before.
  std::optional<Status> outcome(std::uint64_t number) const {
    return ended_ >= number ? std::optional(last_) : std::nullopt;
  }

  // How the last checkpoint ended that had something to do, once.
  std::optional<Status> take() { return std::exchange(unread_, std::nullopt); }

 private:
  void close(const Status& status) {
    ended_ = begun_;
    last_ = status;
  }

  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  Status last_;
  std::optional<Status> unread_;
};

}  // namespace gcoord::server
