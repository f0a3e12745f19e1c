#pragma once

// A file that the program carries. Its bytes live as long as the program and never change.
struct embedded_file {
  const unsigned char *_Nonnull bytes;
  long count;
};

struct embedded_file embedded_sync_json(void);
struct embedded_file embedded_billing_json(void);
