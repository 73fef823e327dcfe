// What looks at locks found, for C: descriptions and pages of them.
#include "client/c_border.h"

using namespace gcoord::client;

void gcoord_description_free(gcoord_description* description) {
  delete description;
}

gcoord_lock_facts gcoord_description_lock(const gcoord_description* description) {
  if (description == nullptr) {
    return {.name = "", .note = ""};
  }
  const LockDescription& lock = description->lock;
  return {.name = lock.name.c_str(),
          .shard = lock.shard,
          .holder_session = lock.holder_session,
          .token = lock.token,
          .acquired_index = lock.acquired_index,
          .ttl_left_ms = lock.ttl_left.count(),
          .waiter_count = lock.waiter_count,
          .hold_count = lock.hold_count,
          .permits_max = lock.permits_max,
          .note = lock.note.c_str(),
          .note_bytes = lock.note.size()};
}

size_t gcoord_description_waiters(const gcoord_description* description) {
  return description != nullptr ? description->lock.waiters.size() : 0;
}

gcoord_waiter gcoord_description_waiter(const gcoord_description* description, size_t index) {
  if (index >= gcoord_description_waiters(description)) {
    return {};
  }
  const Waiter& waiter = description->lock.waiters[index];
  return {waiter.session_id, waiter.sequence, waiter.waited.count()};
}

size_t gcoord_description_sharers(const gcoord_description* description) {
  return description != nullptr ? description->lock.holders.size() : 0;
}

gcoord_sharer gcoord_description_sharer(const gcoord_description* description, size_t index) {
  if (index >= gcoord_description_sharers(description)) {
    return {};
  }
  const Holder& holder = description->lock.holders[index];
  return {holder.session_id, holder.token, holder.acquired_index, holder.permits};
}

void gcoord_page_free(gcoord_page* page) {
  delete page;
}

size_t gcoord_page_size(const gcoord_page* page) {
  return page != nullptr ? page->locks.size() : 0;
}

const gcoord_description* gcoord_page_lock(const gcoord_page* page, size_t index) {
  return index < gcoord_page_size(page) ? &page->locks[index] : nullptr;
}

const char* gcoord_page_cursor(const gcoord_page* page) {
  return page != nullptr ? page->next_cursor.c_str() : "";
}

bool gcoord_page_complete(const gcoord_page* page) {
  return page != nullptr && page->complete;
}

uint32_t gcoord_page_node_id(const gcoord_page* page) {
  return page != nullptr ? page->node_id : 0;
}

size_t gcoord_page_shards(const gcoord_page* page) {
  return page != nullptr ? page->shards.size() : 0;
}

gcoord_freshness gcoord_page_shard(const gcoord_page* page, size_t index) {
  if (index >= gcoord_page_shards(page)) {
    return {};
  }
  const Freshness& at = page->shards[index];
  return {at.shard, at.index, at.age.has_value() ? at.age->count() : -1};
}
