// Looks up the functions of a library that was opened at run time. A program links
// ${CMAKE_DL_LIBS}. One thread per object.
#pragma once

#include <dlfcn.h>

#include <string>

namespace gcoord {

class LibrarySymbols {
 public:
  // What dlopen() returned.
  explicit LibrarySymbols(void* library) : library_(library) {}

  // Null when it is missing.
  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr && missing_.empty()) {
      missing_ = name;
    }
  }

  // The first name that was missing; empty when none was.
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace gcoord
