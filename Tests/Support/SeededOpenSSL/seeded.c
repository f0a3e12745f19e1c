// OpenSSL 3 deprecates replacing its generator, and has no other way without a provider.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "seeded.h"

#include <openssl/rand.h>
#include <stdatomic.h>

static _Atomic uint64_t state;

// SplitMix64, as in SeededRandom.
static uint64_t next(void) {
  uint64_t z = atomic_fetch_add(&state, 0x9E3779B97F4A7C15) + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

static int fill(unsigned char *bytes, int count) {
  for (int index = 0; index < count; index++) bytes[index] = (unsigned char)(next() >> 32);
  return 1;
}

static int is_ready(void) { return 1; }

static const RAND_METHOD method = {.bytes = fill, .pseudorand = fill, .status = is_ready};

int seed_openssl(uint64_t seed) {
  atomic_store(&state, seed);
  return RAND_set_rand_method(&method);
}
