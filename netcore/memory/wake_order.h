// The order between a side that is about to sleep and one that may have to wake it (rule O12 of
// docs/internals/memory_order.md); part of order.h, apart because few need it.
//
// Each side stores its own word and then loads the other's. Release and acquire would let both miss
// the other's store, and the sleeper would never be woken. Host and device.
#pragma once

#include "common/device/sequence_device.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::netcore {

struct WakeOrder {
  // As SystemOrder::publish() of `word`; then what `other` holds. Pairs with itself on the other
  // side, with the words exchanged, and with SystemOrder::observe() of `word`.
  GCOORD_HD static std::uint64_t publish_then_look(std::uint64_t& word,
                                                   std::uint64_t value,
                                                   const std::uint64_t& other) {
    return store_then_load_system(&word, value, &other);
  }
};

}  // namespace gcoord::netcore
