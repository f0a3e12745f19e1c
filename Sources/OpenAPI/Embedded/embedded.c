#include "embedded.h"

// SwiftPM's embedInCode writes an array literal instead, which takes minutes to compile at this size.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char sync_json[] = {
#embed "../sync.json"
};

static const unsigned char billing_json[] = {
#embed "../billing.json"
};

struct embedded_file embedded_sync_json(void) {
  return (struct embedded_file){sync_json, sizeof sync_json};
}

struct embedded_file embedded_billing_json(void) {
  return (struct embedded_file){billing_json, sizeof billing_json};
}
