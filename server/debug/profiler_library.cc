#include "server/debug/profiler_library.h"

#include "common/library_symbols.h"

#include <dlfcn.h>

namespace gcoord::server {

Result<ProfilerLibrary> open_profiler_library(const std::string& file) {
  void* opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    return Status{
        StatusCode::Unavailable,
        std::string{"no CPU profiler: "} + ::dlerror() + "; install libgoogle-perftools4"};
  }
  ProfilerLibrary library;
  LibrarySymbols symbols{opened};
  symbols.find(library.start, "ProfilerStart");
  symbols.find(library.stop, "ProfilerStop");
  if (!symbols.missing().empty()) {
    return Status{StatusCode::Unavailable, file + " has no " + symbols.missing()};
  }
  return library;
}

}  // namespace gcoord::server
