#pragma once
#include <jansson.h>

// jansson's own function has the name of its enumeration, which Swift cannot tell apart.
static inline int coffer_json_error_code(const json_error_t *error) {
  return (int)json_error_code(error);
}
