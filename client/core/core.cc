#include "client/core/core.h"

#include "client/core/session_impl.h"
#include "client/net/asio.h"
#include "client/net/failure.h"
#include "common/assert.h"

#include <algorithm>
#include <iterator>
#include <latch>
#include <random>
#include <utility>

namespace gcoord::client {
namespace {

// How long the last releases may take when a client is closed. Real time: nothing waits for it but
// the end of the thread.
constexpr std::chrono::milliseconds kDrainTime{200};

ClientOptions completed(ClientOptions options) {
  const CredentialsWiper wiper{options.credentials};  // Of what a move leaves behind.
  if (options.seed == 0) {
    options.seed = std::random_device{}();
  }
  if (options.clock == nullptr) {
    options.clock = boot_clock();
  }
  return ClientOptions{std::move(options)};
}

}  // namespace

struct Core::Loop {
  asio::io_context context{1};
  asio::steady_timer drain_timer{context};
  std::latch ended{1};  // The thread has.
};

Core::Core(ClientOptions options)
    : options_(completed(std::move(options))),
      loop_(std::make_unique<Loop>()),
      nodes_(loop_->context, options_, node_events()),
      dispatcher_(options_,
                  nodes_,
                  [this](const std::shared_ptr<SessionRecord>& session) { keeper_.lose(session); }),
      keeper_(options_, nodes_, dispatcher_),
      timer_(loop_->context, *options_.clock, [this] { settle(); }) {
  wipe(options_.credentials);  // The login has them.
  wipe(options.credentials);   // What the move has left.
}

Core::~Core() {
  stop();
}

asio::io_context& Core::context() {
  return loop_->context;
}

NodeSet::Events Core::node_events() {
  NodeSet::Events events;
  events.on_ready = [this](NodeId node) {
    features_.store(nodes_.cluster()->features, std::memory_order_relaxed);
    shard_count_.store(nodes_.cluster()->shard_count, std::memory_order_relaxed);
    dispatcher_.leaders().resize(nodes_.cluster()->shard_count);
    keeper_.on_ready(node);
    dispatcher_.on_ready(node);
    settle();
  };
  events.on_lost = [this](NodeId node, const std::string& reason) {
    dispatcher_.on_lost(node, reason);
    settle();
  };
  events.on_failed = [this](NodeId node) {
    dispatcher_.on_failed(node);
    settle();
  };
  events.on_reply = [this](NodeId node, const protocol::ReplySlot& slot, auto payload) {
    dispatcher_.on_reply(node, slot, payload);
  };
  events.on_batch_end = [this] { settle(); };
  events.on_view = [this] { keeper_.on_view(); };
  return events;
}

void Core::start(StatusCallback on_connected) {
  options_.clock->notify_moves([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->post([] {});  // settle() follows every command.
    }
  });
  const TimePoint deadline = clock().now() + TimePoint{options_.connect_timeout};
  post([this, deadline, callback = std::move(on_connected)] {
    waits_.push_back({WaitFor::AnyNode, !options_.wait_for_cluster, deadline, callback});
    nodes_.start();
  });
  thread_ = std::thread{[this] { run(); }};
}

void Core::run() {
  thread_id_.store(std::this_thread::get_id());
  const auto work = asio::make_work_guard(loop_->context);
  loop_->context.run();
  refuse_late_comers();
  loop_->ended.count_down();
}

void Core::stop() {
  if (!thread_.joinable()) {
    return;
  }
  GCOORD_ASSERT(!on_own_thread());
  options_.clock->notify_moves({});
  begin_stop();
  thread_.join();
  thread_id_.store({});
}

void Core::begin_stop() {
  post([this] {
    if (!stopping_) {
      end_calls();
    }
  });
}

void Core::end_calls() {
  stopping_ = true;
  for (const LastCall& call : std::exchange(last_calls_, {})) {
    if (const auto owner = call.owner.lock()) {
      call.command();
    }
  }
  alarms_.clear();  // They may be the last owners.
  SessionImpl::end_all(*this);
  end_waits();
  loop_->drain_timer.expires_after(kDrainTime);
  loop_->drain_timer.async_wait([this](const asio::error_code&) { loop_->context.stop(); });
}

void Core::end_if_drained() {
  const bool nobody_answers = nodes_.ready_count() == 0;
  if (stopping_ && (nobody_answers || dispatcher_.outstanding_count() == 0)) {
    loop_->context.stop();
  }
}

void Core::refuse_late_comers() {
  dispatcher_.fail_all(protocol::ErrorCode::ClientClosed, Dispatcher::Spare::Nothing);
  std::vector<OperationPtr> operations;
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock{mutex_};
    mailbox_closed_ = true;
    operations.swap(mailbox_operations_);
    commands.swap(mailbox_commands_);
  }
  for (const auto& command : commands) {
    command();
  }
  for (OperationPtr& operation : operations) {
    dispatcher_.submit(std::move(operation));
  }
  dispatcher_.fail_all(protocol::ErrorCode::ClientClosed, Dispatcher::Spare::Nothing);
  end_waits();
}

void Core::end_waits() {
  for (ReadyWait& wait : std::exchange(waits_, {})) {
    wait.callback(failure(protocol::ErrorCode::ClientClosed));
  }
}

void Core::submit(OperationPtr operation) {
  {
    const std::lock_guard lock{mutex_};
    if (!mailbox_closed_) {
      mailbox_operations_.push_back(std::move(operation));
      return wake_thread();
    }
  }
  if (operation->callback) {
    operation->callback(Answer{failure(protocol::ErrorCode::ClientClosed), {}, {}});
  }
}

void Core::submit_all(std::vector<OperationPtr> operations) {
  {
    const std::lock_guard lock{mutex_};
    if (!mailbox_closed_) {
      mailbox_operations_.insert(mailbox_operations_.end(),
                                 std::make_move_iterator(operations.begin()),
                                 std::make_move_iterator(operations.end()));
      return wake_thread();
    }
  }
  for (const OperationPtr& operation : operations) {
    if (operation->callback) {
      operation->callback(Answer{failure(protocol::ErrorCode::ClientClosed), {}, {}});
    }
  }
}

bool Core::post(std::function<void()> command) {
  const std::lock_guard lock{mutex_};
  if (mailbox_closed_) {
    return false;
  }
  mailbox_commands_.push_back(std::move(command));
  wake_thread();
  return true;
}

void Core::wait_ended() const {
  loop_->ended.wait();
}

void Core::wake_thread() {
  if (!mailbox_woken_) {
    mailbox_woken_ = true;
    asio::post(loop_->context, [this] { drain_mailbox(); });
  }
}

void Core::drain_mailbox() {
  std::vector<OperationPtr> operations;
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock{mutex_};
    operations.swap(mailbox_operations_);
    commands.swap(mailbox_commands_);
    mailbox_woken_ = false;
  }
  // Operations first: a session's requests go out before the command that closes it.
  for (OperationPtr& operation : operations) {
    dispatcher_.submit(std::move(operation));
  }
  for (const auto& command : commands) {
    command();
  }
  settle();
}

void Core::settle() {
  const TimePoint now = clock().now();
  ring(now);
  keeper_.advance(now);
  dispatcher_.advance(now);
  nodes_.advance(now);
  check_waits(now);
  nodes_.flush();
  TimePoint next = std::min({keeper_.next_event(), dispatcher_.next_event(), nodes_.next_event()});
  for (const ReadyWait& wait : waits_) {
    next = std::min(next, wait.deadline);
  }
  for (const Alarm& alarm : alarms_) {
    next = std::min(next, alarm.moment);
  }
  if (next != kTimeNever) {
    timer_.wake_at(next);
  }
  end_if_drained();
}

void Core::call_at(TimePoint moment, std::function<void()> command) {
  if (!stopping_) {
    alarms_.push_back({moment, std::move(command)});
  }
}

void Core::call_at_stop(const std::weak_ptr<void>& owner, std::function<void()> command) {
  if (stopping_) {
    return command();
  }
  std::erase_if(last_calls_, [](const LastCall& call) { return call.owner.expired(); });
  last_calls_.push_back({owner, std::move(command)});
}

// What a command orders for later is looked at the next time.
void Core::ring(TimePoint now) {
  const auto due = std::ranges::stable_partition(
      alarms_, [now](const Alarm& alarm) { return now < alarm.moment; });
  const std::vector<Alarm> ringing{std::make_move_iterator(due.begin()),
                                   std::make_move_iterator(due.end())};
  alarms_.erase(due.begin(), due.end());
  for (const Alarm& alarm : ringing) {
    alarm.command();
  }
}

void Core::wait_for(WaitFor what, TimePoint deadline, StatusCallback callback) {
  waits_.push_back({what, false, deadline, std::move(callback)});
}

Status Core::majority() const {
  return stopping_ ? failure(protocol::ErrorCode::ClientClosed) : client::majority(nodes_);
}

bool Core::arrived(WaitFor what) const {
  switch (what) {
    case WaitFor::AnyNode:
      return nodes_.ready_count() > 0;
    case WaitFor::AllNodes:
      return nodes_.complete();
    case WaitFor::Majority:
      return nodes_.tried() || (nodes_.cluster() != nullptr && nodes_.has_majority());
    case WaitFor::EveryNodeTried:
      break;
  }
  return nodes_.tried();
}

bool Core::decide(const ReadyWait& wait, TimePoint now, Status& status) const {
  if (arrived(wait.what)) {
    return true;
  }
  if (now >= wait.deadline || (wait.give_up_early && nodes_.all_failed())) {
    status = unreachable(nodes_);
    return true;
  }
  return false;
}

void Core::check_waits(TimePoint now) {
  std::vector<std::pair<StatusCallback, Status>> decided;
  std::erase_if(waits_, [&](ReadyWait& wait) {
    Status status;
    const bool over = decide(wait, now, status);
    if (over) {
      decided.emplace_back(std::move(wait.callback), std::move(status));
    }
    return over;
  });
  for (auto& [callback, status] : decided) {
    callback(std::move(status));
  }
}

}  // namespace gcoord::client
