// A file of a fixed size that several processes map and write to, for counts and wishes that one of
// them must find although another was stopped or killed. Linux; thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <filesystem>

namespace gcoord::chaos {

// Made if there is none, of zeros; mapped for reading and writing.
Result<void*> map_shared_page(const std::filesystem::path& file, std::size_t bytes);
void unmap_shared_page(void* page, std::size_t bytes);

}  // namespace gcoord::chaos
