// Groups, for C.
#include "gcoord/group.h"

#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_groups.h"

#include <chrono>
#include <string_view>
#include <utility>

using namespace gcoord::client;

struct gcoord_group {
  Group group;
};

struct gcoord_group_views {
  GroupViews views;
};

struct gcoord_group_view {
  GroupView view;
};

namespace {

// Bytes of which there may be none.
Result<std::string_view> payload_of(const gcoord_group_membership& member) {
  if (member.payload == nullptr && member.payload_bytes != 0) {
    return failure(gcoord::protocol::ErrorCode::OptionMissing, "payload");
  }
  return std::string_view{member.payload != nullptr ? member.payload : "", member.payload_bytes};
}

Result<std::chrono::milliseconds> time_of(std::int64_t ms, const char* name) {
  if (ms < 0) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid, std::string{name} + " is negative");
  }
  return std::chrono::milliseconds{ms};
}

}  // namespace

gcoord_group* gcoord_group_make(gcoord_session* session, const char* name, gcoord_error* error) {
  return make_handle<gcoord_group>(error, {{session, "session"}, {name, "name"}}, [&] {
    return Result{Group{session->session, name}};
  });
}

void gcoord_group_free(gcoord_group* group) {
  delete group;
}

gcoord_status gcoord_group_join(gcoord_group* group,
                                gcoord_group_membership* member,
                                gcoord_error* error) {
  return border(error, {{group, "group"}, {member, "member"}}, [&]() -> Status {
    GCOORD_TRY_STATUS(required({{member->id, "id"}}));
    GCOORD_TRY(const auto said, payload_of(*member));
    GCOORD_TRY(const GroupMembership made, group->group.join(member->id, said));
    member->epoch = made.epoch;
    member->rank = made.rank;
    return {};
  });
}

gcoord_status gcoord_group_leave(gcoord_group* group, gcoord_error* error) {
  return border(error, {{group, "group"}}, [&] { return group->group.leave(); });
}

gcoord_status gcoord_group_update(gcoord_group* group,
                                  const gcoord_group_membership* member,
                                  gcoord_error* error) {
  return border(error, {{group, "group"}, {member, "member"}}, [&]() -> Status {
    GCOORD_TRY(const auto said, payload_of(*member));
    return group->group.update(said);
  });
}

gcoord_status gcoord_group_barrier(gcoord_group* group,
                                   const gcoord_barrier_options* options,
                                   gcoord_error* error) {
  return border(error, {{group, "group"}, {options, "options"}}, [&]() -> Status {
    GCOORD_TRY(const auto timeout, time_of(options->timeout_ms, "timeout_ms"));
    return group->group.barrier({.size = options->size, .timeout = timeout});
  });
}

gcoord_status gcoord_group_join_async(gcoord_group* group,
                                      const gcoord_group_membership* member,
                                      gcoord_group_joined_callback callback,
                                      void* user,
                                      gcoord_error* error) {
  return begin_async(
      {{group, "group"}, {member, "member"}},
      callback,
      error,
      [&]() -> Result<Future<Result<GroupMembership>>> {
        GCOORD_TRY_STATUS(required({{member->id, "id"}}));
        GCOORD_TRY(const auto said, payload_of(*member));
        return group->group.join_async(member->id, said);
      },
      telling<GroupMembership>(callback, user, [](const GroupMembership& made) {
        return gcoord_group_membership{.id = nullptr,
                                       .payload = nullptr,
                                       .payload_bytes = 0,
                                       .epoch = made.epoch,
                                       .rank = made.rank};
      }));
}

gcoord_status gcoord_group_leave_async(gcoord_group* group,
                                       gcoord_group_done_callback callback,
                                       void* user,
                                       gcoord_error* error) {
  return begin_change(
      {{group, "group"}}, callback, user, error, [&] { return group->group.leave_async(); });
}

gcoord_status gcoord_group_update_async(gcoord_group* group,
                                        const gcoord_group_membership* member,
                                        gcoord_group_done_callback callback,
                                        void* user,
                                        gcoord_error* error) {
  return begin_change({{group, "group"}, {member, "member"}},
                      callback,
                      user,
                      error,
                      [&]() -> Result<Future<Status>> {
                        GCOORD_TRY(const auto said, payload_of(*member));
                        return group->group.update_async(said);
                      });
}

gcoord_status gcoord_group_barrier_async(gcoord_group* group,
                                         const gcoord_barrier_options* options,
                                         gcoord_group_done_callback callback,
                                         void* user,
                                         gcoord_error* error) {
  return begin_change(
      {{group, "group"}, {options, "options"}},
      callback,
      user,
      error,
      [&]() -> Result<Future<Status>> {
        GCOORD_TRY(const auto timeout, time_of(options->timeout_ms, "timeout_ms"));
        return group->group.barrier_async({.size = options->size, .timeout = timeout});
      });
}

gcoord_group_views* gcoord_group_views_open(gcoord_client* client,
                                            const char* name,
                                            gcoord_error* error) {
  return make_handle<gcoord_group_views>(error, {{client, "client"}, {name, "name"}}, [&] {
    return Result{GroupViews{client->client, name}};
  });
}

void gcoord_group_views_free(gcoord_group_views* views) {
  delete views;
}

gcoord_group_view* gcoord_group_views_now(gcoord_group_views* views, gcoord_error* error) {
  return make_handle<gcoord_group_view>(
      error, {{views, "views"}}, [&] { return views->views.now(); });
}

gcoord_group_view* gcoord_group_views_next(gcoord_group_views* views,
                                           int64_t wait_ms,
                                           gcoord_error* error) {
  return make_handle<gcoord_group_view>(error, {{views, "views"}}, [&]() -> Result<GroupView> {
    GCOORD_TRY(const auto wait, time_of(wait_ms, "wait_ms"));
    return views->views.next(wait);
  });
}

gcoord_status gcoord_group_views_now_async(gcoord_group_views* views,
                                           gcoord_group_view_callback callback,
                                           void* user,
                                           gcoord_error* error) {
  return begin_async(
      {{views, "views"}},
      callback,
      error,
      [&] { return Result{views->views.now_async()}; },
      giving_to<gcoord_group_view, GroupView>(callback, user));
}

gcoord_status gcoord_group_views_next_async(gcoord_group_views* views,
                                            int64_t wait_ms,
                                            gcoord_group_view_callback callback,
                                            void* user,
                                            gcoord_error* error) {
  return begin_async(
      {{views, "views"}},
      callback,
      error,
      [&]() -> Result<Future<Result<GroupView>>> {
        GCOORD_TRY(const auto wait, time_of(wait_ms, "wait_ms"));
        return views->views.next_async(wait);
      },
      giving_to<gcoord_group_view, GroupView>(callback, user));
}

void gcoord_group_view_free(gcoord_group_view* view) {
  delete view;
}

uint64_t gcoord_group_view_epoch(const gcoord_group_view* view) {
  return view != nullptr ? view->view.epoch : 0;
}

bool gcoord_group_view_gap(const gcoord_group_view* view) {
  return view != nullptr && view->view.gap;
}

size_t gcoord_group_view_size(const gcoord_group_view* view) {
  return view != nullptr ? view->view.members.size() : 0;
}

gcoord_group_member gcoord_group_view_member(const gcoord_group_view* view, size_t rank) {
  if (view == nullptr || rank >= view->view.members.size()) {
    return {};
  }
  const GroupMember& member = view->view.members[rank];
  return {member.session_id, member.id.c_str(), member.payload.c_str(), member.payload.size()};
}
