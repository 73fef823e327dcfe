// The decision whether rights are granted on a name, on the host and on a device.
//
// Grants lie by rising prefix, and each has the rights of all shorter prefixes of its own, too. So
// the longest prefix of a name that is granted anything says everything; it is the last grant that
// is not above the name, or one of the prefixes of that grant, which each one names by `parent`.
// Bytes compare as unsigned. Pure; no allocation; every loop is bounded by the table or the name.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord::security {

struct GrantEntry {
  std::uint32_t text_at = 0;  // Of its prefix, in GrantsView::text.
  std::uint32_t text_bytes = 0;
  std::uint32_t parent = 0;  // 1 + the place of the longest shorter prefix of it; 0: none.
  std::uint32_t reserved = 0;
  std::uint64_t rights = 0;
};

// Bytes of a prefix or a name; not owned.
struct NameBytes {
  const char* at = nullptr;
  std::uint32_t count = 0;
};

// Not owned.
struct GrantsView {
  const GrantEntry* entries = nullptr;
  const char* text = nullptr;
  std::uint32_t count = 0;

  GCOORD_HD NameBytes text_of(std::uint32_t place) const {
    return {text + entries[place].text_at, entries[place].text_bytes};
  }
};

// How many bytes both have at their beginning.
GCOORD_HD inline std::uint32_t common_bytes(const NameBytes& a, const NameBytes& b) {
  const std::uint32_t end = a.count < b.count ? a.count : b.count;
  std::uint32_t count = 0;
  while (count < end && a.at[count] == b.at[count]) {
    ++count;
  }
  return count;
}

// Whether `a` comes after `b`.
GCOORD_HD inline bool is_above(const NameBytes& a, const NameBytes& b) {
  const std::uint32_t same = common_bytes(a, b);
  if (same == a.count || same == b.count) {
    return same != a.count;
  }
  return static_cast<unsigned char>(a.at[same]) > static_cast<unsigned char>(b.at[same]);
}

// How many entries are not above the name.
GCOORD_HD inline std::uint32_t entries_up_to(const GrantsView& grants, const NameBytes& name) {
  std::uint32_t begin = 0;
  std::uint32_t end = grants.count;
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    const bool above = is_above(grants.text_of(middle), name);
    begin = above ? begin : middle + 1;
    end = above ? middle : end;
  }
  return begin;
}

// What is granted on prefixes of the name.
GCOORD_HD inline std::uint64_t rights_by_prefix(const GrantsView& prefixes, const NameBytes& name) {
  std::uint32_t place = entries_up_to(prefixes, name);
  if (place == 0) {
    return 0;
  }
  const std::uint32_t same = common_bytes(prefixes.text_of(place - 1), name);
  while (place != 0 && prefixes.entries[place - 1].text_bytes > same) {
    place = prefixes.entries[place - 1].parent;
  }
  return place == 0 ? 0 : prefixes.entries[place - 1].rights;
}

// What is granted on exactly the name; the entries' `parent` means nothing here.
GCOORD_HD inline std::uint64_t rights_by_name(const GrantsView& names, const NameBytes& name) {
  const std::uint32_t place = entries_up_to(names, name);
  if (place == 0) {
    return 0;
  }
  const NameBytes last = names.text_of(place - 1);
  const bool same = last.count == name.count && common_bytes(last, name) == name.count;
  return same ? names.entries[place - 1].rights : 0;
}

}  // namespace gcoord::security
