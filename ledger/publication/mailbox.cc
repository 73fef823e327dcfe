#include "ledger/publication/mailbox.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace gcoord::server {
namespace {

template <typename T>
void move_behind(std::vector<T>& all, std::vector<T>&& more) {
  if (all.empty()) {
    all = std::move(more);
    return;
  }
  for (T& each : more) {
    all.push_back(std::move(each));
  }
}

}  // namespace

// A thread that is held up by its disk must not cost memory for every entry that is applied
// meanwhile: one size of each shard says as much.
void PublicationMailbox::fold_applied() {
  auto& applied = input_.applied;
  if (applied.size() < fold_at_) {
    return;
  }
  std::ranges::sort(applied, std::greater());
  const auto of_one_shard = [](const std::pair<ShardId, std::uint64_t>& first,
                               const std::pair<ShardId, std::uint64_t>& second) {
    return first.first == second.first;
  };
  applied.erase(std::unique(applied.begin(), applied.end(), of_one_shard), applied.end());
  fold_at_ = std::max(kAppliedMax, 2 * applied.size());  // So that it costs little for each.
}

std::size_t PublicationMailbox::put(PublicationInput&& input) {
  std::size_t dropped = 0;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    napping_ = napping_ && input.can_wait();
    wakes = !napping_;
    move_behind(input_.applied, std::move(input.applied));
    fold_applied();
    move_behind(input_.rounds, std::move(input.rounds));
    if (input.state) {
      input_.state = std::move(input.state);
    }
    if (input.publisher) {
      input_.publisher = input.publisher;
    }
    if (input.members) {
      input_.members = std::move(input.members);
    }
    input_.lost |= input.lost;
    input_.prune |= input.prune;
    input_.settle = std::max(input_.settle, input.settle);
    for (PublicationInput::Message& message : input.messages) {
      if (input_.messages.size() < kMessagesMax) {
        input_.messages.push_back(std::move(message));
      } else {
        ++dropped;
      }
    }
  }
  if (wakes) {
    arrived_.notify_one();
  }
  return dropped;
}

PublicationOutput PublicationMailbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(output_, PublicationOutput{});
}

std::optional<PublicationInput> PublicationMailbox::wait(std::uint64_t wait_ms,
                                                         std::uint64_t sizes_wait_ms) {
  std::unique_lock lock(mutex_);
  napping_ = input_.can_wait();
  arrived_.wait_for(
      lock, std::chrono::milliseconds(sizes_wait_ms), [this] { return closed_ || !napping_; });
  napping_ = false;
  arrived_.wait_for(
      lock, std::chrono::milliseconds(wait_ms), [this] { return closed_ || !input_.empty(); });
  if (closed_) {
    return std::nullopt;
  }
  return std::exchange(input_, PublicationInput{});
}

bool PublicationMailbox::put(PublicationOutput&& output) {
  const std::lock_guard lock(mutex_);
  const bool fresh = output_.empty() && !output.empty();
  move_behind(output_.messages, std::move(output.messages));
  move_behind(output_.proposals, std::move(output.proposals));
  move_behind(output_.alarms, std::move(output.alarms));
  move_behind(output_.quarantine, std::move(output.quarantine));
  if (output.refusal) {
    output_.refusal = std::move(output.refusal);
  }
  if (output_.failure.ok()) {
    output_.failure = std::move(output.failure);
  }
  return fresh;
}

void PublicationMailbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_one();
}

}  // namespace gcoord::server
