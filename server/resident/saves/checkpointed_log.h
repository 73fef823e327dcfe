// A replicated log whose requested checkpoints come from a part of it, which may be absent. Kept
// apart from the log's own work. One thread, as replicated_log.h says.
#pragma once

#include "common/status.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "server/interfaces/replicated_log.h"

#include <cstdint>
#include <optional>

namespace gcoord::server {

// What makes them. Calls as in replicated_log.h.
class CheckpointSource {
 public:
  virtual ~CheckpointSource() = default;

  virtual const ledger::CheckpointStore& checkpoint_store() const = 0;
  virtual std::uint64_t request_checkpoint() = 0;
  virtual std::optional<Status> checkpoint_outcome(std::uint64_t number) const = 0;
};

class CheckpointedLog : public ReplicatedLog {
 public:
  const ledger::CheckpointStore* checkpoints() const override {
    return source_ == nullptr ? nullptr : &source_->checkpoint_store();
  }

  std::uint64_t request_checkpoint() override {
    return source_ == nullptr ? 0 : source_->request_checkpoint();
  }

  std::optional<Status> checkpoint_outcome(std::uint64_t number) const override {
    return source_ == nullptr ? std::nullopt : source_->checkpoint_outcome(number);
  }

 protected:
  // Once, before the first turn. It lives as long as the log.
  void set_checkpoint_source(CheckpointSource& source) { source_ = &source; }

 private:
  CheckpointSource* source_ = nullptr;
};

}  // namespace gcoord::server
