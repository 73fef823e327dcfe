// Stops of waits, for C.
#include "client/c/border.h"
#include "gcoord/gcoord_stop.h"

#include <new>

gcoord_stop* gcoord_stop_new(void) {
  try {
    return new gcoord_stop{};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void gcoord_stop_request(gcoord_stop* stop) {
  if (stop != nullptr) {
    stop->source.request_stop();
  }
}

void gcoord_stop_free(gcoord_stop* stop) {
  delete stop;
}
