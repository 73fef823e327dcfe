// An element that a search found, or none: a reference on a host, a copy on a device.
//
// Why: code that runs on both looks through short arrays that a device keeps in registers, which
// have no address. A copy costs nothing there, because only the fields that are looked at are ever
// selected. On a host it is the pointer that a search returns anyway.
// Contract: what was searched outlives this and does not change meanwhile. Ask `found()` first;
// operator-> asserts nothing. Host and device.
#pragma once

#include "common/hd.h"

namespace gcoord {

template <typename T>
class Found {
 public:
  Found() = default;

#if defined(__CUDA_ARCH__)
  GCOORD_HD explicit Found(const T& element, bool found = true)
      : element_(element), found_(found) {}

  GCOORD_HD bool found() const {
    return found_;
  }

  GCOORD_HD const T* operator->() const {
    return &element_;
  }

  GCOORD_HD const T& operator*() const {
    return element_;
  }

 private:
  T element_{};
  bool found_ = false;
#else
  explicit Found(const T& element, bool found = true) : element_(found ? &element : nullptr) {}

  bool found() const {
    return element_ != nullptr;
  }

  const T* operator->() const {
    return element_;
  }

  const T& operator*() const {
    return *element_;
  }

 private:
  const T* element_ = nullptr;
#endif
};

}  // namespace gcoord
