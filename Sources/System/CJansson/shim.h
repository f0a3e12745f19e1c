#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// jansson's own function has the name of its enumeration, which Swift cannot tell apart.
static inline int coffer_json_error_code(const json_error_t *error) {
  return (int)json_error_code(error);
}

// A document's memory, given out piece by piece and given back all at once. A tree of 5 kB has some
// 700 pieces, and finding and joining each in the heap took longer than half of the parsing.
struct coffer_json_chunk {
  struct coffer_json_chunk *previous;
};

struct coffer_json_arena {
  struct coffer_json_chunk *last;
  char *next, *end;
  size_t chunk_byte_count;
};

// The arena of the document that this thread is parsing. jansson keeps nothing between calls, and
// its readers allocate nothing, so whatever it allocates meanwhile is the document's.
static inline struct coffer_json_arena **coffer_json_current(void) {
  static _Thread_local struct coffer_json_arena *current;
  return &current;
}

static inline void *coffer_json_malloc(size_t byte_count) {
  struct coffer_json_arena *arena = *coffer_json_current();
  if (arena == NULL) return malloc(byte_count);
  const size_t alignment = 16;  // as malloc gives
  if (byte_count > SIZE_MAX / 2) return NULL;
  byte_count = (byte_count + alignment - 1) & ~(alignment - 1);
  if ((size_t)(arena->end - arena->next) < byte_count) {
    size_t size = arena->chunk_byte_count;
    if (size < byte_count + alignment) size = byte_count + alignment;
    struct coffer_json_chunk *chunk = malloc(size);
    if (chunk == NULL) return NULL;
    chunk->previous = arena->last;
    arena->last = chunk;
    arena->next = (char *)chunk + alignment;
    arena->end = (char *)chunk + size;
  }
  void *piece = arena->next;
  arena->next += byte_count;
  return piece;
}

static inline void coffer_json_free(void *piece) {
  if (*coffer_json_current() == NULL) free(piece);
}

// Before the first document.
static inline void coffer_json_use_arenas(void) {
  json_set_alloc_funcs(coffer_json_malloc, coffer_json_free);
}

// json_loadb into the arena, whose tree must never be released by json_decref.
static inline json_t *coffer_json_load(
    const char *bytes, size_t byte_count, size_t flags, json_error_t *error,
    struct coffer_json_arena *arena) {
  *coffer_json_current() = arena;
  json_t *root = json_loadb(bytes, byte_count, flags, error);
  *coffer_json_current() = NULL;
  return root;
}

static inline void coffer_json_release(struct coffer_json_arena *arena) {
  struct coffer_json_chunk *chunk = arena->last;
  while (chunk != NULL) {
    struct coffer_json_chunk *previous = chunk->previous;
    free(chunk);
    chunk = previous;
  }
}
