/* Measures the disk alone. `ops/bench webhooks` compares the servers with the result.
 *
 *   durable FILE BYTES ITEMS SECONDS   appends groups of ITEMS times BYTES, with fdatasync after
 *                                      each group; prints the items per second
 *
 * At 64 MiB it starts again at the beginning of the file, as SQLite's log does after a checkpoint.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { file_size_max = 64 << 20 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  size_t bytes = count == 5 ? strtoul(arguments[2], NULL, 10) : 0;
  size_t items = count == 5 ? strtoul(arguments[3], NULL, 10) : 0;
  double seconds = count == 5 ? strtod(arguments[4], NULL) : 0;
  if (bytes == 0 || items == 0 || seconds <= 0 || bytes * items > file_size_max) {
    fprintf(stderr, "usage: durable FILE BYTES ITEMS SECONDS\n");
    return 64;
  }
  int file = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  char *group = malloc(bytes * items);
  if (file < 0 || group == NULL) {
    perror("durable");
    return 70;
  }
  for (size_t i = 0; i < bytes * items; i++) group[i] = (char)(i * 2654435761u >> 13);
  size_t position = 0, durable = 0;
  double start = now();
  while (now() - start < seconds) {
    if (position + bytes * items > file_size_max) position = 0;
    if (pwrite(file, group, bytes * items, (off_t)position) != (ssize_t)(bytes * items) ||
        fdatasync(file) != 0) {
      perror("durable");
      return 70;
    }
    position += bytes * items;
    durable += items;
  }
  printf("%.1f\n", (double)durable / (now() - start));
  return unlink(arguments[1]) == 0 ? 0 : 70;
}
