#include "gcoord/watch.h"

#include "client/net/failure.h"
#include "client/watches/watch_state.h"

#include <utility>

namespace gcoord::client {

Watch::Watch(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}

Watch::~Watch() {
  end();
}

Watch::Watch(Watch&&) noexcept = default;

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    end();
    state_ = std::move(other.state_);
  }
  return *this;
}

// Who feeds the state may have it for a moment longer, and the descriptor must not be.
void Watch::end() {
  if (state_ != nullptr) {
    state_->close();
    state_->retire_event_fd();
  }
}

Result<WatchBatch> Watch::next() {
  auto batch = state_->take(std::nullopt);
  if (!batch.ok()) {
    return batch.status();
  }
  return std::move(*std::move(batch).value());
}

Result<std::optional<WatchBatch>> Watch::next(std::chrono::milliseconds timeout) {
  return state_->take(timeout);
}

void Watch::close() {
  state_->close();
}

Result<int> Watch::event_fd() {
  return state_->event_fd();
}

std::vector<Revision> Watch::revisions() const {
  return state_->revisions();
}

Result<std::vector<Revision>> Watch::progress(std::chrono::milliseconds timeout) {
  return state_->progress(timeout);
}

Revision Watch::first_revision() const {
  return state_->first_revision();
}

}  // namespace gcoord::client
