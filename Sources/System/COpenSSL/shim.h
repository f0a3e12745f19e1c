#pragma once
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// A parameter list keeps the addresses of its names, and Swift gives a string literal one only for
// the length of a call.
static inline int coffer_mac_set_digest(EVP_MAC_CTX *context, const char *digest) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(context, parameters);
}

// Variadic or a macro, and so out of Swift's reach.
static inline EVP_PKEY *coffer_generate_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *coffer_generate_rsa_key(size_t bits) { return EVP_RSA_gen(bits); }

static inline STACK_OF(X509) *coffer_certificates(void) { return sk_X509_new_null(); }
// The stack borrows its certificates: release it, not them.
static inline int coffer_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
  return sk_X509_push(stack, certificate);
}
static inline int coffer_certificates_count(const STACK_OF(X509) *stack) {
  return sk_X509_num(stack);
}
static inline X509 *coffer_certificates_at(const STACK_OF(X509) *stack, int index) {
  return sk_X509_value(stack, index);
}
static inline void coffer_certificates_release(STACK_OF(X509) *stack) { sk_X509_free(stack); }

// OpenSSL 3 saves no digest that is under way, except by these functions, which it deprecates.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int coffer_sha256_begin(SHA256_CTX *state) { return SHA256_Init(state); }
static inline int coffer_sha256_update(SHA256_CTX *state, const void *bytes, size_t count) {
  return SHA256_Update(state, bytes, count);
}
static inline int coffer_sha256_end(unsigned char *digest, SHA256_CTX *state) {
  return SHA256_Final(digest, state);
}
#pragma GCC diagnostic pop
