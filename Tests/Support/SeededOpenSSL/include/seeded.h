#pragma once
#include <stdint.h>

// Makes every random byte of OpenSSL in this process come from the seed: keys, nonces, identifiers.
// For simulations, which a seed has to repeat. Returns 1 if it worked.
int seed_openssl(uint64_t seed);
