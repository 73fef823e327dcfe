// The first failure of an engine, kept for good.
#pragma once

#include "common/status.h"

namespace gcoord::server {

class FailureLatch {
 public:
  bool ok() const { return status_.ok(); }

  const Status& status() const { return status_; }

  // Counts only while there was none.
  void set(const Status& status) {
    if (status_.ok()) {
      status_ = status;
    }
  }

 private:
  Status status_;
};

}  // namespace gcoord::server
