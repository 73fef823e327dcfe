// A file descriptor with one owner, closed when that ends. One thread at a time.
#pragma once

#include <unistd.h>

namespace gcoord {

class OwnedDescriptor {
 public:
  // Below 0: none.
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}

  ~OwnedDescriptor() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }

  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace gcoord
