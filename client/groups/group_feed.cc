#include "client/groups/group_feed.h"

#include "client/net/failure.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

// A look that waits is asked again after so long, whatever happens.
constexpr milliseconds kLookWait{20'000};

// Whether the nodes may answer the same look later.
bool passes(const Status& status) {
  const auto code = static_cast<protocol::ErrorCode>(status.detail());
  return protocol::is_passing(code) || code == protocol::ErrorCode::DeadlineExceeded ||
         code == protocol::ErrorCode::Unreachable || code == protocol::ErrorCode::ConnectionLost ||
         code == protocol::ErrorCode::NotLeader;
}

GroupView view_of(const protocol::GroupAnswer& answer) {
  GroupView view{.epoch = answer.epoch,
                 .members = {},
                 .arrived = answer.arrived,
                 .barrier_size = answer.barrier_size};
  for (const protocol::GroupChangeRow& row : answer.rows) {
    view.members.push_back({row.session.value, row.id, row.payload});
  }
  return view;
}

void apply(const protocol::GroupChangeRow& row, GroupView& view) {
  const auto of_row = [&](const GroupMember& member) {
    return member.session_id == row.session.value;
  };
  view.epoch = row.epoch;
  if (row.kind == protocol::GroupChangeKind::Joined) {
    view.members.push_back({row.session.value, row.id, row.payload});
  } else if (row.kind == protocol::GroupChangeKind::Left) {
    std::erase_if(view.members, of_row);
  } else if (const auto at = std::ranges::find_if(view.members, of_row); at != view.members.end()) {
    at->payload = row.payload;
  }
}

}  // namespace

void GroupFeed::look(const Known& known, Callback<Result<protocol::GroupAnswer>> callback) {
  auto code = protocol::check_group_name(name_);
  if (code == protocol::ErrorCode::None && !core_->has(protocol::Feature::Groups)) {
    code = protocol::ErrorCode::FeatureMissing;
  }
  if (code != protocol::ErrorCode::None) {
    return refuse<Result<protocol::GroupAnswer>>(*core_, std::move(callback), failure(code));
  }
  OperationPtr operation = name_operation(*core_, protocol::RequestKind::GroupGet, name_);
  operation->payload =
      protocol::text_of(protocol::encode_group_query({known.epoch, known.member_count, name_}));
  if (known.wait > milliseconds{0}) {
    operation->slot.set(protocol::RequestFlag::Wait);
    operation->wait_until = core_->clock().now() + TimePoint{known.wait};
    operation->deadline += TimePoint{known.wait};
  }
  operation->callback = [callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    auto decoded = protocol::decode_group_answer(answer.payload);
    if (!decoded.ok()) {
      return callback(failure(protocol::ErrorCode::ReplyMalformed, "view of a group"));
    }
    callback(std::move(decoded).value());
  };
  core_->submit(std::move(operation));
}

void GroupFeed::now(Callback<Result<GroupView>> callback) {
  look({}, [callback = std::move(callback)](const Result<protocol::GroupAnswer>& answer) {
    callback(answer.ok() ? Result<GroupView>{view_of(answer.value())}
                         : Result<GroupView>{answer.status()});
  });
}

// Under the mutex.
void GroupFeed::take(const protocol::GroupAnswer& answer) {
  if (answer.whole) {
    const bool gap = seen_;
    view_ = view_of(answer);
    view_.gap = gap;
    seen_ = true;
    ready_.push_back(view_);
    return;
  }
  for (std::size_t k = 0; k < answer.rows.size(); ++k) {
    apply(answer.rows[k], view_);
    const bool last = k + 1 == answer.rows.size() || answer.rows[k + 1].epoch != view_.epoch;
    if (last) {
      view_.gap = false;
      view_.arrived = answer.arrived;
      view_.barrier_size = answer.barrier_size;
      ready_.push_back(view_);
    }
  }
}

void GroupFeed::next(milliseconds wait, Callback<Result<GroupView>> callback) {
  next_until(core_->clock().now() + TimePoint{wait}, callback);
}

void GroupFeed::next_until(TimePoint until, const Callback<Result<GroupView>>& callback) {
  Known known;
  std::optional<GroupView> ready;
  {
    const std::lock_guard lock{mutex_};
    if (!ready_.empty()) {
      ready = std::move(ready_.front());
      ready_.pop_front();
    }
    known = {view_.epoch, static_cast<std::uint32_t>(view_.members.size())};
  }
  if (ready.has_value()) {
    return callback(*std::move(ready));
  }
  const TimePoint left = until - core_->clock().now();
  if (known.epoch != 0 && left <= TimePoint{0}) {
    return callback(failure(protocol::ErrorCode::DeadlineExceeded, "the group has no other view"));
  }
  known.wait = std::min(kLookWait, std::chrono::ceil<milliseconds>(left));
  look(known,
       [self = shared_from_this(), until, callback](const Result<protocol::GroupAnswer>& answer) {
         const bool late = self->core_->clock().now() >= until;
         if (!answer.ok() && (!passes(answer.status()) || late)) {
           return callback(answer.status());
         }
         if (answer.ok()) {
           const std::lock_guard lock{self->mutex_};
           self->take(answer.value());
         }
         self->next_until(until, callback);
       });
}

void GroupFeed::begin(ViewCallback callback) {
  {
    const std::lock_guard lock{mutex_};
    callback_ = std::move(callback);
  }
  go_on();
}

void GroupFeed::stop() {
  const std::lock_guard lock{mutex_};
  stopped_ = true;
}

void GroupFeed::go_on() {
  Known known;
  {
    const std::lock_guard lock{mutex_};
    known = {view_.epoch, static_cast<std::uint32_t>(view_.members.size()), kLookWait};
  }
  look(known, [self = shared_from_this()](const Result<protocol::GroupAnswer>& answer) {
    self->on_answer(answer);
  });
}

void GroupFeed::on_answer(const Result<protocol::GroupAnswer>& answer) {
  {
    const std::lock_guard lock{mutex_};
    if (stopped_) {
      return;
    }
    if (answer.ok()) {
      take(answer.value());
      for (const GroupView& view : ready_) {
        callback_(view);
      }
      ready_.clear();
    } else if (!passes(answer.status())) {
      return callback_(answer.status());
    }
  }
  go_on();
}

}  // namespace gcoord::client
