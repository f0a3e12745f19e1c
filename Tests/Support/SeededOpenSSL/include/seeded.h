#pragma once
#include <stdint.h>

// From now on every random byte of OpenSSL in this process comes from the seed: keys, nonces,
// identifiers. For simulations, which a seed has to repeat. 1 where it worked.
int seed_openssl(uint64_t seed);
