/* The baseline of `ops/bench webhooks`: libmicrohttpd reads the body and answers 200.
 *
 *   bare PORT    listens on 127.0.0.1 until SIGTERM
 *
 * Configured like coffer-billing: epoll, a pool of two threads, keep-alive. It checks and stores
 * nothing, so its result shows the cost of the library alone.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { thread_count = 2, connection_count_max = 1024 };

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_size, void **state) {
  (void)url, (void)method, (void)version, (void)data;
  static int started;
  if (*state == NULL) { /* the head is complete, the body is not */
    *state = &started;
    return MHD_YES;
  }
  if (*data_size > 0) {
    *data_size = 0;
    return MHD_YES;
  }
  return MHD_queue_response(connection, MHD_HTTP_OK, context);
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: bare PORT\n");
    return 64;
  }
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(arguments[1])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct MHD_Response *answer =
      MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL); /* the pool's threads inherit it */
  struct MHD_Daemon *daemon = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, answer, MHD_OPTION_SOCK_ADDR,
      (struct sockaddr *)&address, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)thread_count,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)connection_count_max, MHD_OPTION_END);
  if (daemon == NULL) {
    fprintf(stderr, "bare: cannot listen on 127.0.0.1:%s\n", arguments[1]);
    return 69;
  }
  int received;
  sigwait(&signals, &received);
  MHD_stop_daemon(daemon);
  MHD_destroy_response(answer);
  return 0;
}
